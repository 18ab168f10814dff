//! Looking inside: coefficients, draws of them, metrics.

use super::{ClassLearner, ClassState};
use crate::error::plain;
use crate::learner::{Coefficient, check_level, line};
use crate::metrics::class_report;
use crate::schema::Schema;
use kalmia::file::Metadata;
use kalmia::{Categorical, Error, Ordinal};
use kalmia_model::{
    ClassCoefficients, DriftStatus, LevelCoefficients, ModelLearner, contrast_coefficients,
    level_coefficients,
};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// Coefficients and their standard errors.
type Estimates<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Coefficients, cutpoints, and the covariance of both.
type LevelsEstimate<'py> =
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

/// Coefficients and their covariance.
type Contrast<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

impl ClassLearner {
    /// The learner of dense rows, for calls that need a covariance.
    fn dense<'a>(&self, state: &'a ClassState) -> PyResult<&'a Categorical> {
        let lacks = match state.learner.ordinal() {
            Some(_) => "ordered levels share their coefficients; `levels_estimate` has them",
            None => {
                "a wide learner keeps only a part of its covariance: it draws no coefficients, but \
                 they have standard errors"
            }
        };
        state.learner.dense().ok_or_else(|| plain(Error::State(lacks.into())))
    }

    /// The learner of ordered levels.
    fn ordinal<'a>(&self, state: &'a ClassState) -> PyResult<&'a Ordinal> {
        let lacks = "the classes have no order; `contrast` has their coefficients";
        state.learner.ordinal().ok_or_else(|| plain(Error::State(lacks.into())))
    }
}

#[pymethods]
impl ClassLearner {
    /// The coefficients of a class against another, and their covariance.
    ///
    /// Parameters
    /// ----------
    /// class_ : int
    ///     The class.
    /// reference : int
    ///     The class that it is compared with.
    ///
    /// Returns
    /// -------
    /// coefficients : ndarray of shape (dim,)
    ///     How much each feature raises the logarithm of the odds between the two.
    /// covariance : ndarray of shape (dim, dim)
    fn contrast<'py>(
        &self,
        py: Python<'py>,
        class_: usize,
        reference: usize,
    ) -> PyResult<Contrast<'py>> {
        let state = self.state(py)?;
        let dense = self.dense(&state)?;
        let contrast = dense.contrast(class_, reference).map_err(plain)?;
        let dim = dense.dim();
        let covariance = PyArray1::from_vec(py, contrast.covariance).reshape([dim, dim])?;
        Ok((PyArray1::from_vec(py, contrast.coefficients), covariance))
    }

    /// The coefficients and cutpoints of ordered levels, and the covariance of both.
    ///
    /// Returns
    /// -------
    /// coefficients : ndarray of shape (features,)
    ///     How much each feature raises the logarithm of the odds of a higher level.
    /// cutpoints : ndarray of shape (levels - 1,)
    /// covariance : ndarray of shape (features + levels - 1, features + levels - 1)
    fn levels_estimate<'py>(&self, py: Python<'py>) -> PyResult<LevelsEstimate<'py>> {
        let state = self.state(py)?;
        let estimate = self.ordinal(&state)?.estimate();
        let coefficients = estimate.coefficients().to_vec();
        let cutpoints = estimate.cutpoints().to_vec();
        let size = coefficients.len() + cutpoints.len();
        let covariance = PyArray1::from_slice(py, estimate.covariance()).reshape([size, size])?;
        Ok((PyArray1::from_vec(py, coefficients), PyArray1::from_vec(py, cutpoints), covariance))
    }

    /// The table of coefficients of ordered levels, then of the cutpoints between them, as
    /// :meth:`Learner.coefficients`.
    ///
    /// Parameters
    /// ----------
    /// names : list of str
    ///     A name per feature, in order.
    /// levels : list of str
    ///     The names of the levels, the lowest first.
    /// level : float
    ///     Probability of the intervals, strictly between 0 and 1.
    ///
    /// Returns
    /// -------
    /// list of tuple
    #[pyo3(signature = (names, levels, level=0.95))]
    fn level_coefficients(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        levels: Vec<String>,
        level: f64,
    ) -> PyResult<Vec<Coefficient>> {
        check_level(level)?;
        let state = self.state(py)?;
        let learner = self.ordinal(&state)?;
        let found = level_coefficients(learner, names.into_iter(), &levels, level);
        let LevelCoefficients { coefficients, cutpoints } = found.map_err(crate::error::model)?;
        Ok(coefficients.into_iter().chain(cutpoints).map(line).collect())
    }

    /// The coefficients of several classes against another, class after class, and the covariance
    /// of all of them.
    ///
    /// Parameters
    /// ----------
    /// classes : list of int
    ///     The classes.
    /// reference : int
    ///     The class that they are compared with.
    ///
    /// Returns
    /// -------
    /// coefficients : ndarray of shape (classes * dim,)
    /// covariance : ndarray of shape (classes * dim, classes * dim)
    fn contrasts<'py>(
        &self,
        py: Python<'py>,
        classes: Vec<usize>,
        reference: usize,
    ) -> PyResult<Contrast<'py>> {
        let state = self.state(py)?;
        let contrasts = self.dense(&state)?.contrasts(&classes, reference).map_err(plain)?;
        let size = contrasts.coefficients.len();
        let covariance = PyArray1::from_vec(py, contrasts.covariance).reshape([size, size])?;
        Ok((PyArray1::from_vec(py, contrasts.coefficients), covariance))
    }

    /// The coefficients of a class against another, and their standard errors.
    ///
    /// Parameters
    /// ----------
    /// class_, reference : int
    ///     The class, and that which it is compared with.
    ///
    /// Returns
    /// -------
    /// coefficients, standard_errors : ndarray of shape (dim,)
    fn contrast_errors<'py>(
        &self,
        py: Python<'py>,
        class_: usize,
        reference: usize,
    ) -> PyResult<Estimates<'py>> {
        let state = self.state(py)?;
        let contrast = state.learner.contrast_table(class_, reference).map_err(plain)?;
        let errors = PyArray1::from_vec(py, contrast.standard_errors);
        Ok((PyArray1::from_vec(py, contrast.coefficients), errors))
    }

    /// The coefficients of a wide learner that a summary lists, of each class against the first:
    /// the numbers, and the 100 others that are the most standard errors from 0.
    ///
    /// Parameters
    /// ----------
    /// schema : Schema
    ///     The names.
    /// codes : list of int
    ///     The classes in their order.
    /// level : float
    ///     Probability of the intervals, strictly between 0 and 1.
    ///
    /// Returns
    /// -------
    /// list of list of tuple
    ///     Of each class but the first.
    #[pyo3(signature = (schema, codes, level=0.95))]
    fn main_coefficients(
        &self,
        py: Python<'_>,
        schema: &Schema,
        codes: Vec<usize>,
        level: f64,
    ) -> PyResult<Vec<Vec<Coefficient>>> {
        check_level(level)?;
        let whole = crate::class_file::model(py, self, &schema.0, Metadata::default())?;
        let tables = py.detach(|| whole.main_class_coefficients_in(&codes, level));
        let tables = tables.map_err(crate::error::model)?;
        let lines = |one: ClassCoefficients| one.coefficients.into_iter().map(line).collect();
        Ok(tables.into_iter().map(lines).collect())
    }

    /// The table of coefficients of a class against another, as :meth:`Learner.coefficients`.
    ///
    /// Parameters
    /// ----------
    /// names : list of str
    ///     A name per coefficient, in order.
    /// class_, reference : int
    ///     The class, and that which it is compared with.
    /// level : float
    ///     Probability of the intervals, strictly between 0 and 1.
    ///
    /// Returns
    /// -------
    /// list of tuple
    #[pyo3(signature = (names, class_, reference, level=0.95))]
    fn coefficients(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        class_: usize,
        reference: usize,
        level: f64,
    ) -> PyResult<Vec<Coefficient>> {
        check_level(level)?;
        let state = self.state(py)?;
        let contrast = state.learner.contrast_table(class_, reference).map_err(plain)?;
        let names = names.into_iter();
        let table = contrast_coefficients(&contrast, names, level).map_err(crate::error::model)?;
        Ok(table.into_iter().map(line).collect())
    }

    /// Draws from the belief about the coefficients of all classes. Only differences between
    /// classes have a meaning.
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
    /// ndarray of shape (draws, classes, dim)
    fn sample_coefficients<'py>(
        &self,
        py: Python<'py>,
        draws: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let state = self.state(py)?;
        let learner = self.dense(&state)?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let found = py.detach(|| learner.sample_coefficients(draws, &mut rng)).map_err(plain)?;
        let shape = [draws, learner.classes(), learner.dim()];
        PyArray1::from_vec(py, found.concat()).reshape(shape)
    }

    /// Number of classes.
    #[getter]
    fn classes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.state(py)?.learner.classes())
    }

    /// Number of coefficients per class, the constant included.
    #[getter]
    fn dim(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.state(py)?.learner.dim())
    }

    /// Number of rows learned.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.state(py)?.learner.count())
    }

    /// Whether the learner puts a constant before the features itself.
    #[getter]
    fn intercept(&self) -> bool {
        self.intercept
    }

    /// The method's name.
    #[getter]
    fn method(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.state(py)?.learner.method())
    }

    /// The family's name.
    #[getter]
    fn family(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.state(py)?.learner.family_name())
    }

    /// Always empty: the family has no parameters.
    #[getter]
    fn family_parameters<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        PyDict::new(py)
    }

    /// Always None: several classes have no certificate.
    #[getter]
    fn certificate(&self) -> Option<f64> {
        None
    }

    /// The indices of the features that the coefficients of a wide learner belong to, in order;
    /// None for a learner of dense rows.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<u32>>>> {
        let state = self.state(py)?;
        let features = state.learner.wide().map(|wide| wide.features());
        Ok(features.map(|features| PyArray1::from_vec(py, features)))
    }

    /// ``"followed"`` if the coefficients follow a drift; else None.
    #[getter]
    fn drift(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        let state = self.state(py)?;
        let follows = state.learner.dense().is_some_and(|dense| dense.is_following());
        Ok(follows.then_some("followed"))
    }

    /// What there is to say about a drift; None if nothing.
    #[getter]
    fn drift_note(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let status = DriftStatus::of_classes(&self.state(py)?.learner);
        Ok(status.and_then(|status| status.note("drift=\"adapt\"")))
    }

    /// Whether the rows seem sorted by their class.
    #[getter]
    fn is_sorted(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.state(py)?.metrics.is_sorted())
    }

    /// The mean of the weights; None if none were given.
    #[getter]
    fn mean_weight(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.state(py)?.weights.mean())
    }

    /// Metrics of the predictions made before each row was learned.
    #[getter]
    fn progressive<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        class_report(&self.state(py)?.metrics, py)
    }
}
