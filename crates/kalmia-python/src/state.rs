//! What learning changes: the learner, its metrics and the count of weights.

use crate::any::{AnyModel, either};
use crate::error::plain;
use kalmia::evaluate::Metrics;
use kalmia::{Learner, Observer, RowView, Rows, SparseRows};
use kalmia_model::Weights;
use pyo3::PyResult;

/// What learning changes.
#[derive(Debug, Clone)]
pub struct State {
    pub learner: AnyModel,
    pub metrics: Option<Metrics>,
    /// The weights of the rows, as they were given.
    pub weights: Weights,
}

impl State {
    /// Learns one row, which the metrics count once it is learned.
    pub fn learn_one(&mut self, rows: Rows<'_>) -> PyResult<()> {
        self.observed(
            |learner, observer| either!(learner, inner => inner.learn_observed(rows, observer)),
        )
    }

    /// As [`State::learn_one`], for a wide learner.
    pub fn learn_sparse(&mut self, rows: SparseRows<'_>) -> PyResult<()> {
        self.observed(|learner, observer| {
            either!(learner, inner => inner.learn_sparse_observed(rows, observer))
        })
    }

    fn observed(
        &mut self,
        learn: impl FnOnce(&mut AnyModel, Option<&mut dyn Observer>) -> kalmia::Result<()>,
    ) -> PyResult<()> {
        let mut seen: Option<RowView<'static>> = None;
        let mut watch = |row: &RowView<'_>| seen = Some(RowView { x: &[], ..*row });
        let observer: Option<&mut dyn Observer> =
            if self.metrics.is_some() { Some(&mut watch) } else { None };
        let result = learn(&mut self.learner, observer);
        if let Some(family) = self.learner.custom_family() {
            family.check()?;
        }
        result.map_err(plain)?;
        if let (Some(metrics), Some(row)) = (&mut self.metrics, seen) {
            metrics.row(&row);
        }
        Ok(())
    }
}
