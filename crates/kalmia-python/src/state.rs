//! What learning changes: the learner, its metrics and the count of weights.

use crate::any::{AnyModel, either};
use crate::error::plain;
use kalmia::evaluate::Metrics;
use kalmia::{Learner, Observer, RowView, Rows};
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
        let mut seen: Option<RowView<'static>> = None;
        let mut watch = |row: &RowView<'_>| seen = Some(RowView { x: &[], ..*row });
        let observer: Option<&mut dyn Observer> =
            if self.metrics.is_some() { Some(&mut watch) } else { None };
        let result = either!(&mut self.learner, inner => inner.learn_observed(rows, observer));
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
