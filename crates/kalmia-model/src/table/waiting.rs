//! Rows that wait to be counted until their whole batch is learned.

use kalmia::evaluate::{ClassMetrics, QuantileMetrics, RowBuffer};
use kalmia::learner::{ClassObserver, ClassRow, QuantileObserver, QuantileRow};
use kalmia::rows::Observation;

/// Memory for the rows of a batch that are counted if the learner takes all of them, for models of
/// every kind. An observer keeps what it has seen of a refused batch, so metrics that observe
/// directly would have to be copied before each one.
#[derive(Debug, Default)]
pub struct WaitingRows {
    pub(crate) numbers: RowBuffer,
    pub(crate) classes: WaitingClasses,
    pub(crate) quantiles: WaitingQuantiles,
}

/// Rows of several classes.
#[derive(Debug, Default)]
pub(crate) struct WaitingClasses {
    rows: Vec<WaitingClass>,
    /// Row after row; classes may be added on the way.
    probabilities: Vec<f64>,
}

#[derive(Debug)]
struct WaitingClass {
    class: usize,
    weight: f64,
    classes: usize,
}

impl WaitingClasses {
    /// Drops the rows. The memory is kept.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.probabilities.clear();
    }

    /// Counts the rows in their order, and drops them.
    pub(crate) fn apply_to(&mut self, metrics: &mut ClassMetrics) {
        let mut rest = &self.probabilities[..];
        for &WaitingClass { class, weight, classes } in &self.rows {
            let (probabilities, later) = rest.split_at(classes);
            metrics.row(class, probabilities, weight);
            rest = later;
        }
        self.clear();
    }
}

impl ClassObserver for WaitingClasses {
    fn row(&mut self, row: &ClassRow<'_>) {
        let ClassRow { class, weight, probabilities, .. } = *row;
        self.rows.push(WaitingClass { class, weight, classes: probabilities.len() });
        self.probabilities.extend_from_slice(probabilities);
    }
}

/// Rows of several quantiles.
#[derive(Debug, Default)]
pub(crate) struct WaitingQuantiles {
    rows: Vec<Observation>,
    /// Row after row, level after level.
    predictions: Vec<f64>,
}

impl WaitingQuantiles {
    /// Drops the rows. The memory is kept.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.predictions.clear();
    }

    /// Counts the rows in their order, and drops them.
    pub(crate) fn apply_to(&mut self, metrics: &mut QuantileMetrics) {
        let levels = metrics.levels().len();
        let rows = self.rows.iter().zip(self.predictions.chunks_exact(levels));
        for (index, (&observation, predictions)) in rows.enumerate() {
            let row = QuantileRow { index, x: &[], observation, predictions };
            QuantileObserver::row(metrics, &row);
        }
        self.clear();
    }
}

impl QuantileObserver for WaitingQuantiles {
    fn row(&mut self, row: &QuantileRow<'_>) {
        self.rows.push(row.observation);
        self.predictions.extend_from_slice(row.predictions);
    }
}
