//! The algorithms, built from a family, a rule and a covariance.

mod any;
pub mod auto;
mod averaged;
mod averaged_sgd;
mod filter;
mod merge;
mod online_newton;
mod prior;
mod seen;

pub use any::{AnyLearner, AnyState};
pub use auto::{Auto, AutoDrift, AutoState, DriftReport};
pub use averaged::{Averaged, AveragedState};
pub use averaged_sgd::{AveragedSgd, AveragedSgdState, default_step, oracle_step};
pub use filter::{Drift, Filter, FilterState};
pub use merge::Merged;
pub use online_newton::{
    NewtonSettings, OnlineNewtonState, OnlineNewtonStep, Projection, ln_ball_constant, project,
};
pub use prior::Prior;

use crate::error::Result;
use crate::rows::{Observation, Rows};
use crate::rule::Step;

/// What a learner knew of a row before it learned it, and what it then did.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
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
    /// The dispersion as known before the row (noise variance, or Gamma's $\phi$); 1 for families
    /// without one.
    pub dispersion: f64,
    /// The mean predicted for `y`.
    pub mean: f64,
    /// The loss suffered: $\ell(y, m + o)$, or minus the log predictive density for a mixture; not
    /// multiplied by the weight.
    pub loss: f64,
    /// $w\,\ell'(y, m + o)$.
    pub gradient: f64,
    /// What the rule decided.
    pub step: Step,
}

/// Watches rows go by: losses, certificates, traces and progress live here, outside the algorithms.
pub trait Observer {
    /// Called once a row, in order, before the row is learned.
    fn row(&mut self, seen: &Seen<'_>);
}

impl<F: FnMut(&Seen<'_>)> Observer for F {
    fn row(&mut self, seen: &Seen<'_>) {
        self(seen)
    }
}

/// Two observers side by side.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn row(&mut self, seen: &Seen<'_>) {
        self.0.row(seen);
        self.1.row(seen);
    }
}

/// An algorithm that learns rows one after the other.
pub trait Learner {
    /// Number of coefficients.
    fn dim(&self) -> usize;

    /// Rows learned so far.
    fn count(&self) -> u64;

    /// The coefficients that predict now.
    fn coefficients(&self) -> &[f64];

    /// Learns rows in order, showing each to the observer first. One row or a million is the same
    /// method with the same answer; a batch with an illegal row is refused as a whole and changes
    /// nothing.
    fn learn_observed(&mut self, rows: Rows<'_>, observer: Option<&mut dyn Observer>)
    -> Result<()>;

    /// Learns rows in order.
    fn learn(&mut self, rows: Rows<'_>) -> Result<()> {
        self.learn_observed(rows, None)
    }

    /// The linear predictor $\theta^\top x$.
    fn linear(&self, x: &[f64]) -> Result<f64> {
        crate::rows::check_features(x, self.dim())?;
        Ok(self.coefficients().iter().zip(x).map(|(t, x)| t * x).sum())
    }
}

/// Lends an optional observer on.
fn reborrow<'a>(observer: &'a mut Option<&mut dyn Observer>) -> Option<&'a mut dyn Observer> {
    match observer {
        Some(observer) => Some(&mut **observer),
        None => None,
    }
}
