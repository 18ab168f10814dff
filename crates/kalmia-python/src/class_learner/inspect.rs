//! Looking inside: coefficients, draws of them, metrics.

use super::ClassLearner;
use crate::error::plain;
use crate::learner::{Coefficient, check_level, line};
use crate::metrics::class_report;
use kalmia_model::{DriftStatus, contrast_coefficients};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// Coefficients and their covariance.
type Contrast<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

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
        let contrast = state.learner.contrast(class_, reference).map_err(plain)?;
        let dim = state.learner.dim();
        let covariance = PyArray1::from_vec(py, contrast.covariance).reshape([dim, dim])?;
        Ok((PyArray1::from_vec(py, contrast.coefficients), covariance))
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
        let contrasts = state.learner.contrasts(&classes, reference).map_err(plain)?;
        let size = contrasts.coefficients.len();
        let covariance = PyArray1::from_vec(py, contrasts.covariance).reshape([size, size])?;
        Ok((PyArray1::from_vec(py, contrasts.coefficients), covariance))
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
        let contrast = state.learner.contrast(class_, reference).map_err(plain)?;
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
        let learner = &state.learner;
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
    fn method(&self) -> &'static str {
        "auto"
    }

    /// The family's name.
    #[getter]
    fn family(&self) -> &'static str {
        "categorical"
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

    /// Always None: the coefficients are those of dense features, in order.
    #[getter]
    fn features(&self) -> Option<f64> {
        None
    }

    /// ``"followed"`` if the coefficients follow a drift; else None.
    #[getter]
    fn drift(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        Ok(self.state(py)?.learner.is_following().then_some("followed"))
    }

    /// What there is to say about a drift; None if nothing.
    #[getter]
    fn drift_note(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(DriftStatus::of_classes(&self.state(py)?.learner).note("drift=\"adapt\""))
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
