//! What a learner reports about each row, and the trait of observers.
//!
//! It lies below both the learners, which call observers, and the evaluation, which implements
//! them.

use crate::family::{Family, FastPaths};
use crate::rows::{Observation, Rows};
use crate::rule::Step;

/// What a learner predicted for a row before it learned it, and the step that it then took.
#[derive(Debug, Clone, Copy)]
pub struct RowView<'a> {
    /// The row within the call, from 0.
    pub index: usize,
    /// Its features.
    pub x: &'a [f64],
    /// Its target (canonical coding), weight and offset.
    pub observation: Observation,
    /// $m = \theta^\top x$, without the offset.
    pub linear: f64,
    /// $s = x^\top Px$, in the units of $m^2$ (0 for learners without a covariance).
    pub variance: f64,
    /// The dispersion as known before the row (noise variance, Gamma's $\phi$, or the negative
    /// binomial $\alpha$); 1 for families without one.
    pub dispersion: f64,
    /// The mean predicted for `y`.
    pub mean: f64,
    /// The loss of the prediction: $\ell(y, m + o)$, or minus the log predictive density for a
    /// mixture; not multiplied by the weight.
    pub loss: f64,
    /// $w\,\ell'(y, m + o)$.
    pub gradient: f64,
    /// The step of the rule.
    pub step: Step,
}

/// Watches the rows that a learner learns. Losses, certificates, traces and progress are observers,
/// so the algorithms contain none of them.
///
/// If a call of `learn` fails, the learner returns to its state before the call, but its observer
/// keeps the rows that it has seen.
pub trait Observer {
    /// Called once per row, in order, before the row is learned.
    fn row(&mut self, row: &RowView<'_>);

    /// Whether [`RowView::loss`] is used. If not, a mixture may leave it NaN: for counts and
    /// amounts the predictive density costs as much as learning the row.
    fn uses_loss(&self) -> bool {
        true
    }
}

impl<F: FnMut(&RowView<'_>)> Observer for F {
    fn row(&mut self, row: &RowView<'_>) {
        self(row)
    }
}

/// Two observers side by side.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn row(&mut self, row: &RowView<'_>) {
        self.0.row(row);
        self.1.row(row);
    }

    fn uses_loss(&self) -> bool {
        self.0.uses_loss() || self.1.uses_loss()
    }
}

/// Lends an optional observer for one call.
pub(crate) fn reborrow<'a>(
    observer: &'a mut Option<&mut dyn Observer>,
) -> Option<&'a mut dyn Observer> {
    match observer {
        Some(observer) => Some(&mut **observer),
        None => None,
    }
}

/// The observation of row `i` of validated rows, its target in the family's coding.
#[inline(always)]
pub(crate) fn observation<F: Family>(family: &F, rows: &Rows<'_>, i: usize) -> Observation {
    let mut observation = rows.observation(i);
    // legal by `Rows::validate`
    observation.y = family.fast().code(observation.y);
    observation
}

/// A row's linear predictor and step, from which [`notify`](Self::notify) makes the rest of a
/// [`RowView`] under the plug-in prediction.
pub(crate) struct PlugInRow {
    pub observation: Observation,
    pub linear: f64,
    pub variance: f64,
    pub gradient: f64,
    pub step: Step,
}

impl PlugInRow {
    /// Shows the row to the observer.
    pub fn notify<F: Family>(
        self,
        family: &F,
        rows: &Rows<'_>,
        index: usize,
        observer: &mut dyn Observer,
    ) {
        let Self { observation, linear, variance, gradient, step } = self;
        let u = linear + observation.offset;
        observer.row(&RowView {
            index,
            x: rows.x(index),
            observation,
            linear,
            variance,
            dispersion: family.fast().reported_dispersion(),
            mean: family.mean(u),
            loss: family.loss(observation.y, u),
            gradient,
            step,
        });
    }
}
