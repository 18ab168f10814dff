//! Looking inside: coefficients, covariance, metrics and what there is to say about the rows.

use super::Learner;
use crate::any::{self, either};
use crate::error::{input, model, plain};
use crate::schema::Schema;
use kalmia::learner::Sample;
use kalmia::{AnyFamily, AnyLearner, Family, Learner as _, Predict};
use kalmia_model::{CertificateReport, Dispersion, Overdispersion};
use numpy::{PyArray1, PyArray2, PyArrayMethods, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// Name, estimate, standard error, z, p-value and the interval's ends.
pub type Coefficient =
    (String, f64, Option<f64>, Option<f64>, Option<f64>, Option<f64>, Option<f64>);

/// A coefficient as Python takes it.
pub fn line(c: kalmia_model::Coefficient) -> Coefficient {
    (c.name, c.estimate, c.std_error, c.z, c.p, c.lower, c.upper)
}

/// Refuses a level that is no probability.
pub fn check_level(level: f64) -> PyResult<()> {
    if level > 0.0 && level < 1.0 {
        return Ok(());
    }
    Err(input(format!("level is {level}: it must lie strictly between 0 and 1")))
}

#[pymethods]
impl Learner {
    /// The table of coefficients.
    ///
    /// Parameters
    /// ----------
    /// names : list of str
    ///     A name per coefficient, in order.
    /// level : float
    ///     Probability of the intervals, strictly between 0 and 1.
    ///
    /// Returns
    /// -------
    /// list of tuple
    ///     Name, estimate, standard error, z, two-sided p-value, and the lower and upper ends of
    ///     the interval. All but the first two are None for a learner without a covariance.
    ///
    /// Examples
    /// --------
    /// >>> import kalmia
    /// >>> filter = kalmia.Filter(1, "gaussian")
    /// >>> filter.learn([1.0], 1.0)
    /// >>> name, estimate, error, *_ = filter.coefficients(["slope"])[0]
    /// >>> name, round(estimate, 12), round(error ** 2, 12)
    /// ('slope', 0.5, 0.5)
    #[pyo3(signature = (names, level=0.95))]
    fn coefficients(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        level: f64,
    ) -> PyResult<Vec<Coefficient>> {
        check_level(level)?;
        let state = self.state(py)?;
        let names = names.iter().map(String::as_str);
        let table = either!(&state.learner, inner => {
            kalmia_model::coefficients(inner, names, level)
        });
        Ok(table.map_err(model)?.into_iter().map(line).collect())
    }

    /// The coefficients of a wide learner that a summary lists, as :meth:`coefficients` has them:
    /// the numbers, and the 100 others that are the most standard errors from 0.
    ///
    /// Parameters
    /// ----------
    /// schema : Schema
    ///     The names.
    /// level : float
    ///     Probability of the intervals, strictly between 0 and 1.
    ///
    /// Returns
    /// -------
    /// list of tuple
    #[pyo3(signature = (schema, level=0.95))]
    fn main_coefficients(
        &self,
        py: Python<'_>,
        schema: &Schema,
        level: f64,
    ) -> PyResult<Vec<Coefficient>> {
        check_level(level)?;
        let whole = crate::file::model(py, self, &schema.0, &Default::default())?;
        let table = py.detach(|| whole.main_coefficients(level)).map_err(model)?;
        Ok(table.into_iter().map(line).collect())
    }

    /// The indices of the features that the coefficients of a wide learner belong to, in the order
    /// of `theta`; None for other learners.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<u32>>>> {
        let state = self.state(py)?;
        let found = either!(&state.learner, inner => match inner {
            AnyLearner::Wide(wide) => Some(wide.features()),
            _ => None,
        });
        Ok(found.map(|features| PyArray1::from_vec(py, features)))
    }

    /// Draws from the belief about the coefficients: a member of a mixture by its weight, then its
    /// normal law, or Student's where the noise is learned.
    ///
    /// Parameters
    /// ----------
    /// draws : int
    ///     Number of draws.
    /// seed : int
    ///     Seed of the random numbers.
    ///
    /// Returns
    /// -------
    /// ndarray of shape (draws, dim)
    #[pyo3(signature = (draws, seed))]
    fn sample_coefficients<'py>(
        &self,
        py: Python<'py>,
        draws: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let state = self.state(py)?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let found = py.detach(
            || either!(&state.learner, inner => inner.sample_coefficients(draws, &mut random)),
        );
        let dim = state.learner.dim();
        PyArray1::from_vec(py, found.map_err(plain)?).reshape([draws, dim])
    }

    /// The coefficients that predict now; the constant's is first if the learner adds it.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(either!(&self.state(py)?.learner, inner => inner.coefficients().to_pyarray(py)))
    }

    /// Covariance of the coefficients; None for learners without one.
    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let state = self.state(py)?;
        let dim = state.learner.dim();
        either!(&state.learner, inner => any::covariance(inner))
            .map(|matrix| PyArray1::from_vec(py, matrix).reshape([dim, dim]))
            .transpose()
    }

    /// Standard errors of the coefficients; None for learners without a covariance.
    #[getter]
    fn standard_errors<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let errors = either!(&self.state(py)?.learner, inner => inner.standard_errors());
        Ok(errors.map(|errors| PyArray1::from_vec(py, errors)))
    }

    /// Degrees of freedom of the coefficients' intervals; infinite unless the noise is learned.
    #[getter]
    fn degrees_of_freedom(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(either!(&self.state(py)?.learner, inner => inner.degrees_of_freedom()))
    }

    /// The dispersion in use, which ``auto`` learns: the noise variance, Gamma's, or the factor by
    /// which counts vary more than their family allows; None if it is 1 by definition.
    #[getter]
    fn dispersion(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        let state = self.state(py)?;
        Ok(state.learner.built_in().and_then(|inner| Dispersion::of(inner).value))
    }

    /// What to say about counts that vary more than the learner assumes; None if they do not.
    #[getter]
    fn dispersion_note(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let state = self.state(py)?;
        let (Some(inner), Some(metrics)) = (state.learner.built_in(), &state.metrics) else {
            return Ok(None);
        };
        let assumed = Dispersion::of(inner).value.unwrap_or(1.0);
        let found = Overdispersion::find(&metrics.progressive, assumed);
        let remedy = (!matches!(inner.method(), "auto" | "wide")).then_some("method=\"auto\"");
        Ok(found.map(|found| found.text(inner.family().name(), remedy)))
    }

    /// Whether the rows seem sorted by the target, which spoils what one pass learns. False if the
    /// learner keeps no metrics.
    #[getter]
    fn is_sorted(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.state(py)?.metrics.as_ref().is_some_and(|metrics| metrics.is_sorted()))
    }

    /// The mean of the weights above 0, as they were given to an estimator; else None.
    #[getter]
    fn mean_weight(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.state(py)?.weights.mean())
    }

    /// ``"followed"`` if the coefficients follow a drift and describe the last rows, ``"seen"`` if
    /// they do not follow a certain drift, else None. Only ``auto`` looks for drifts.
    #[getter]
    fn drift(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        Ok(either!(&self.state(py)?.learner, inner => any::drift(inner)))
    }

    /// What there is to say about a drift: from which row it is followed, or what following it
    /// would gain; None if there is nothing to say.
    #[getter]
    fn drift_note(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let state = self.state(py)?;
        let loss = state.metrics.as_ref().map(|metrics| metrics.progressive.report().loss);
        Ok(either!(&state.learner, inner => any::drift_note(inner, loss)))
    }

    /// Rows learned.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(either!(&self.state(py)?.learner, inner => inner.count()))
    }

    /// Number of coefficients.
    #[getter]
    fn dim(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.state(py)?.learner.dim())
    }

    /// Whether the coefficients are the mean of the method's iterates.
    #[getter]
    fn averaged(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(either!(&self.state(py)?.learner, inner => matches!(inner, AnyLearner::Averaged(_))))
    }

    /// Name of the method.
    #[getter]
    fn method(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(either!(&self.state(py)?.learner, inner => inner.method()))
    }

    /// Name of the family.
    #[getter]
    fn family(&self, py: Python<'_>) -> PyResult<String> {
        Ok(either!(&self.state(py)?.learner, inner => inner.family().name().to_owned()))
    }

    /// What the family has beside its name and what is learned, as a dictionary by the names that
    /// the estimators use: the quantile, the degrees of freedom, and the dispersion if it is fixed.
    #[getter]
    fn family_parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = self.state(py)?;
        let dict = PyDict::new(py);
        let Some(inner) = state.learner.built_in() else { return Ok(dict) };
        match inner.family() {
            AnyFamily::Quantile(family) => dict.set_item("quantile", family.tau())?,
            AnyFamily::Student(family) => {
                dict.set_item("degrees_of_freedom", family.degrees_of_freedom())?;
            }
            AnyFamily::NegativeBinomial(family) if !Dispersion::of(inner).learned => {
                dict.set_item("dispersion", family.dispersion())?;
            }
            _ => {}
        }
        Ok(dict)
    }

    /// Whether the learner puts the constant before the features itself.
    #[getter]
    fn intercept(&self) -> bool {
        self.intercept
    }

    /// The certificate of the rows learned, as a dictionary; None unless it was asked for.
    #[getter]
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let state = self.state(py)?;
        let (Some(inner), Some(metrics)) = (state.learner.built_in(), &state.metrics) else {
            return Ok(None);
        };
        let Some(sums) = metrics.certificate() else { return Ok(None) };
        let report = CertificateReport::new(inner, sums).map_err(model)?;
        report.map(|report| crate::metrics::certificate(&report, py)).transpose()
    }

    /// Metrics of the predictions made before each row was learned, as a dictionary; None if the
    /// learner does not keep them.
    #[getter]
    fn progressive<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let state = self.state(py)?;
        state.metrics.as_ref().map(|metrics| crate::metrics::report(metrics, py)).transpose()
    }
}
