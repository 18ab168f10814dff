//! Rows that wait to be counted: what the metrics need of each, without its features.

use super::Metrics;
use crate::observe::{Observer, RowView};
use crate::rows::Observation;
use crate::rule::Step;

/// What the metrics need of a row.
#[derive(Debug, Clone, Copy)]
struct WaitingRow {
    observation: Observation,
    linear: f64,
    variance: f64,
    dispersion: f64,
    mean: f64,
    loss: f64,
    step: Step,
}

impl WaitingRow {
    fn view(&self, index: usize) -> RowView<'_> {
        let Self { observation, linear, variance, dispersion, mean, loss, step } = *self;
        RowView {
            index,
            x: &[],
            observation,
            linear,
            variance,
            dispersion,
            mean,
            loss,
            gradient: 0.0,
            step,
        }
    }
}

/// An observer that keeps rows until they are counted by [`Metrics`], or dropped because the
/// learner refused their batch. An observer keeps what it has seen of a refused batch, so metrics
/// that observe directly would have to be copied before each one.
///
/// ```
/// use kalmia::evaluate::{Metrics, RowBuffer};
/// use kalmia::{AnyFamily, Auto, Learner, Rows};
/// let family: AnyFamily = "poisson".parse()?;
/// let mut model = Auto::new(family, 1)?;
/// let mut metrics = Metrics::new(family)?;
/// let mut buffer = RowBuffer::default();
/// for (x, y) in [([1.0, 2.0], [1.0, 3.0]), ([3.0, 4.0], [2.0, -1.0])] {
///     buffer.start(&metrics);
///     match model.learn_observed(Rows::new(1, &x, &y)?, Some(&mut buffer)) {
///         Ok(()) => buffer.apply_to(&mut metrics),
///         Err(_) => buffer.clear(), // -1 is no count
///     }
/// }
/// assert_eq!(metrics.progressive.rows(), 2);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct RowBuffer {
    rows: Vec<WaitingRow>,
    leaves_loss_out: bool,
}

impl RowBuffer {
    /// Empties the buffer for rows that these metrics may count. Its memory is kept.
    pub fn start(&mut self, metrics: &Metrics) {
        self.clear();
        self.leaves_loss_out = !metrics.uses_loss();
    }

    /// Drops the rows. The memory is kept.
    pub fn clear(&mut self) {
        self.rows.clear();
    }

    /// Counts the rows in their order, and drops them. The features of a row are not kept, so
    /// [`RowView::x`] is empty.
    pub fn apply_to(&mut self, metrics: &mut Metrics) {
        self.rows.iter().enumerate().for_each(|(index, row)| metrics.row(&row.view(index)));
        self.clear();
    }
}

impl Observer for RowBuffer {
    fn row(&mut self, row: &RowView<'_>) {
        let RowView { observation, linear, variance, dispersion, mean, loss, step, .. } = *row;
        self.rows.push(WaitingRow { observation, linear, variance, dispersion, mean, loss, step });
    }

    fn uses_loss(&self) -> bool {
        !self.leaves_loss_out
    }
}
