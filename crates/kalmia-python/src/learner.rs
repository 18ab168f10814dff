//! The base class of all learners; its methods are in the files of the folder `learner`.

mod inspect;
mod learn;
mod predict;

pub use inspect::{Coefficient, check_level, line};

use crate::any::{AnyModel, either};
use crate::file::Provenance;
use crate::rows::one_row;
use crate::shared::{Held, Shared};
use crate::state::State;
use crate::wide::WideRows;
use kalmia::evaluate::Metrics;
use kalmia::{Family, Learner as _, Predict};
use kalmia_model::Weights;
use numpy::{AllowTypeChange, PyArrayLike1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};

/// A vector that Python gives.
pub type Numbers<'py> = PyArrayLike1<'py, f64, AllowTypeChange>;

/// One row that Python gives.
#[derive(FromPyObject)]
pub enum RowArgument<'py> {
    /// For a wide learner.
    Wide(Bound<'py, WideRows>),
    Dense(Numbers<'py>),
}

/// The base of the learners :class:`Filter`, :class:`OnlineNewtonStep`, :class:`AveragedSGD`,
/// :class:`Averaged` and :class:`Auto`.
///
/// Threads may share a learner: a call that learns waits for the other calls, and they wait for it.
#[pyclass(subclass, frozen, module = "kalmia")]
pub struct Learner {
    state: Shared<State>,
    /// Whether the learner puts a constant before the features itself.
    pub intercept: bool,
    /// What a model file says beside the state; only learners of estimators have it.
    pub provenance: Option<Arc<Provenance>>,
}

impl Learner {
    /// A learner that keeps no metrics and takes its constant as a feature.
    pub fn bare(learner: AnyModel) -> Self {
        Self::new(learner, false, None)
    }

    pub fn new(learner: AnyModel, intercept: bool, metrics: Option<Metrics>) -> Self {
        let state = State { learner, metrics, weights: Weights::default() };
        Self { state: Shared::new(state), intercept, provenance: None }
    }

    /// What was learned, once no other call changes it.
    pub fn state(&self, py: Python<'_>) -> PyResult<Held<RwLockReadGuard<'_, State>>> {
        self.state.read(py)
    }

    /// What was learned, to change it, once no other call uses it.
    pub fn state_mut(&self, py: Python<'_>) -> PyResult<Held<RwLockWriteGuard<'_, State>>> {
        self.state.write(py)
    }

    /// What was learned, of a learner that Python does not have yet.
    pub fn inner(&mut self) -> &mut State {
        self.state.inner()
    }

    /// One row with its constant, for a learner that is not wide.
    pub fn row(&self, x: &Numbers<'_>, learner: &AnyModel) -> PyResult<Vec<f64>> {
        let dim = (!learner.is_wide()).then(|| learner.dim());
        one_row(x, dim, self.intercept)
    }
}

#[pymethods]
impl Learner {
    /// The state as bytes: the same state gives the same bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &crate::store::bytes(py, self)?))
    }

    /// An independent copy.
    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let State { learner, metrics, weights } = self.state(py)?.clone();
        let mut copy = Self::new(learner, self.intercept, metrics);
        copy.inner().weights = weights;
        copy.provenance.clone_from(&self.provenance);
        crate::kinds::wrap(py, copy)
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.copy(py)
    }

    fn __deepcopy__<'py>(
        &self,
        py: Python<'py>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.copy(py)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.import("kalmia._kalmia")?.getattr("restore")?, (self.to_bytes(py)?,)))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let class = slf.get_type().name()?;
        let state = slf.get().state(slf.py())?;
        Ok(either!(&state.learner, inner => format!(
            "<kalmia.{class}: {}, {}, {} coefficients, {} rows>",
            inner.family().name(),
            inner.method(),
            inner.dim(),
            inner.count()
        )))
    }
}
