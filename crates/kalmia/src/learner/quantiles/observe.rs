//! What observers see of a row of several quantiles.

use crate::rows::Observation;

/// What a [`Quantiles`](super::Quantiles) predicted for a row before it learned it.
#[derive(Debug, Clone, Copy)]
pub struct QuantileRow<'a> {
    /// The row within the call, from 0.
    pub index: usize,
    /// Its features.
    pub x: &'a [f64],
    /// Its target, weight and offset.
    pub observation: Observation,
    /// The prediction of each level, in ascending order.
    pub predictions: &'a [f64],
}

/// Watches the rows that a [`Quantiles`](super::Quantiles) learns.
///
/// If a call of `learn` fails, the learner returns to its state before the call, but its observer
/// keeps the rows that it has seen.
pub trait QuantileObserver {
    /// Called once per row, in order, with what was predicted before the row was learned.
    fn row(&mut self, row: &QuantileRow<'_>);
}

impl<F: FnMut(&QuantileRow<'_>)> QuantileObserver for F {
    fn row(&mut self, row: &QuantileRow<'_>) {
        self(row)
    }
}
