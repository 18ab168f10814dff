//! How good the predictions of several quantiles were: what their learners do not keep themselves.

use crate::error::{file as refuse, input, model as translate, plain};
use crate::learner::Numbers;
use crate::learning::{check_order, scale_weights};
use crate::metrics::quantile_report;
use crate::shared::{Held, Shared};
use kalmia::evaluate::QuantileMetrics;
use kalmia::file::{Metadata, ModelFile};
use kalmia_model::{WeightKind, Weights};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::{Deserialize, Serialize};
use std::sync::RwLockReadGuard;

/// What the container holds for pickled scores.
const KIND: &str = "python-quantile-scores";

/// What counting rows changes, as a pickle holds it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScoreState {
    pub levels: Vec<f64>,
    pub metrics: QuantileMetrics,
    /// What weights mean.
    pub kind: WeightKind,
    /// The weights of the rows, as they were given.
    #[serde(default, skip_serializing_if = "Weights::is_empty")]
    pub weights: Weights,
}

/// The progressive scores of several quantiles, judged in ascending order as they are given out.
///
/// The estimators use it beside one learner per level.
///
/// Parameters
/// ----------
/// levels : list of float
///     The levels, in ascending order.
/// weights : {"frequency", "precision"}
///     What weights mean.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from kalmia._kalmia import QuantileScores
/// >>> scores = QuantileScores([0.25, 0.75])
/// >>> scores.count([1.0, 2.0], np.array([[0.0, 1.0], [1.0, 3.0]]))
/// >>> scores.progressive["loss"]  # the first row is not judged
/// 0.25
#[pyclass(frozen, module = "kalmia._kalmia")]
pub struct QuantileScores(Shared<ScoreState>);

impl QuantileScores {
    pub fn restored(state: ScoreState) -> Self {
        Self(Shared::new(state))
    }

    /// The scores, once no other call changes them.
    pub fn state(&self, py: Python<'_>) -> PyResult<Held<RwLockReadGuard<'_, ScoreState>>> {
        self.0.read(py)
    }
}

#[pymethods]
impl QuantileScores {
    #[new]
    #[pyo3(signature = (levels, weights="frequency"))]
    fn new(levels: Vec<f64>, weights: &str) -> PyResult<Self> {
        Ok(Self::restored(ScoreState {
            metrics: QuantileMetrics::new(&levels).map_err(plain)?,
            levels,
            kind: weights.parse().map_err(translate)?,
            weights: Weights::default(),
        }))
    }

    /// Counts rows that were predicted before they were learned. A refused call changes nothing.
    ///
    /// Parameters
    /// ----------
    /// y : array_like of shape (n,)
    ///     Targets.
    /// predictions : ndarray of shape (n, levels)
    ///     The prediction of each level, in ascending order.
    /// weight : array_like of shape (n,), optional
    ///     Weights, as the learners were given them.
    /// order : array_like of shape (n,), optional
    ///     The rows in the order in which they were learned.
    /// whole : bool
    ///     Whether these are all rows, as for :meth:`Learner.learn_many`.
    #[pyo3(signature = (y, predictions, weight=None, *, order=None, whole=false))]
    fn count(
        &self,
        py: Python<'_>,
        y: Numbers<'_>,
        predictions: PyReadonlyArray2<'_, f64>,
        weight: Option<Numbers<'_>>,
        order: Option<Vec<usize>>,
        whole: bool,
    ) -> PyResult<()> {
        let mut guard = self.0.write(py)?;
        let mut state = guard.clone();
        let y = y.as_array();
        let predictions = predictions.as_array();
        let rows = y.len();
        if predictions.dim() != (rows, state.levels.len()) {
            return Err(input("predictions must hold one number per row and level"));
        }
        if let Some(order) = &order {
            check_order(order, rows)?;
        }
        let place = |i: usize| order.as_ref().map_or(i, |order| order[i]);
        let mut scaled = None;
        if let Some(weight) = weight {
            let weight = weight.as_array();
            if weight.len() != rows {
                return Err(input("weight must hold one number per row"));
            }
            let mut given: Vec<f64> = (0..rows).map(|i| weight[place(i)]).collect();
            let kind = state.kind;
            scale_weights(kind, &mut state.weights, &mut given, whole);
            scaled = Some(given);
        }
        let mut sorted = vec![0.0; state.levels.len()];
        for i in 0..rows {
            let row = predictions.row(place(i));
            sorted.iter_mut().zip(row).for_each(|(to, from)| *to = *from);
            let weight = scaled.as_ref().map_or(1.0, |scaled| scaled[i]);
            state.metrics.row(y[place(i)], &sorted, weight).map_err(plain)?;
        }
        *guard = state;
        Ok(())
    }

    /// The levels, in ascending order.
    #[getter]
    fn levels(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        Ok(self.state(py)?.levels.clone())
    }

    /// Whether the rows seem sorted by their target.
    #[getter]
    fn is_sorted(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.state(py)?.metrics.is_sorted())
    }

    /// The scores by name: means over the levels, and those of each level.
    #[getter]
    fn progressive<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        quantile_report(&self.state(py)?.metrics, py)
    }

    /// An independent copy.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::restored(self.state(py)?.clone()))
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    /// The state as bytes: the same state gives the same bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.state(py)?;
        let file = ModelFile::new(KIND, &*state, Metadata::default()).map_err(refuse)?;
        Ok(PyBytes::new(py, &file.to_bytes()))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let restore = py.import("kalmia._kalmia")?.getattr("restore_quantile_scores")?;
        Ok((restore, (self.to_bytes(py)?,)))
    }
}

/// The scores that :meth:`QuantileScores.to_bytes` stored. They continue exactly where they were.
#[pyfunction]
pub fn restore_quantile_scores(data: &[u8]) -> PyResult<QuantileScores> {
    let state: ScoreState =
        ModelFile::from_bytes(data).and_then(|file| file.state(KIND)).map_err(refuse)?;
    state.metrics.check(&state.levels).map_err(plain)?;
    Ok(QuantileScores::restored(state))
}
