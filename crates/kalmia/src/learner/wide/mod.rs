//! The default learner for sparse and wide rows: a mixture of moment-matching filters whose cost
//! per row depends on the features of the row alone.
//!
//! A belief about a million coefficients cannot keep a full covariance. It has two parts: the
//! *core*, the features that almost every row has, with a covariance; and the *tail*, all others,
//! with a variance each. The recursion is the one of every filter,
//!
//! $$m = \theta^\top x, \qquad s = x_c^\top P x_c + \sum_{j \in \text{tail}} x_j^2 v_j,$$
//!
//! one scalar step, and each part moves by its own $Px$.
//!
//! | file | owns |
//! |---|---|
//! | `builder`, `settings` | choices before the first row |
//! | `assumption`, `lane_priors` | what members assume: prior size, share of $s$ |
//! | `member` | the members and their weights; which ones leave |
//! | `belief`, `tail`, `core` | the belief and its two parts, all members side by side |
//! | `features`, `slots`, `index` | the features: their units, counts and places |
//! | `row` | a row in the coordinates of the belief |
//! | `learn`, `warm_up` | one row; the first rows, which are learned again at better scales |
//! | `predict`, `coefficients` | predictions; coefficients and their covariance |
//! | `prune` | a smaller model |
//! | `classes` | several classes: a belief each about the same features |
//! | `state`, `stored`, `merge` | storing and merging |

mod assumption;
mod belief;
mod builder;
mod classes;
mod coefficients;
mod core;
mod features;
mod index;
mod lane_priors;
mod learn;
mod member;
mod merge;
mod predict;
mod prune;
mod row;
mod settings;
mod slots;
mod state;
mod stored;
mod tail;
#[cfg(test)]
mod tests;
mod warm_up;

pub use builder::WideBuilder;
pub use classes::{ContrastTable, WideCategorical, WideCategoricalBuilder, WideCategoricalState};
pub use member::WideWeight;
pub use state::WideState;

use super::auto::dispersion::Dispersion;
use super::auto::prior::PriorCenter;
use super::{Checkpoint, DriftMode, Learner, Outliers};
use crate::error::Result;
use crate::family::{Family, FastPaths};
use crate::observe::Observer;
use crate::rows::Rows;
use crate::sparse::SparseRows;
use belief::Belief;
use features::Features;
use lane_priors::LanePriors;
use member::Members;
use row::RowEntries;
use slots::Slots;
use std::borrow::Cow;
use warm_up::WarmUpRows;

/// Members at the start, and numbers side by side for each feature.
const MAX_LANES: usize = 8;

/// A number per member.
type PerLane = [f64; MAX_LANES];

/// Whether one word can decide the target: for numbers it changes the linear predictor by a small
/// part of their spread.
fn is_label<F: Family>(family: &F) -> bool {
    family.bounded_gradient() && family.fast().location_level().is_none()
}

/// The default learner for sparse rows: text, hashed features, identifiers, one-hot categories.
///
/// Nothing is to be tuned or scaled. Features are known by any `u32`; memory grows with the
/// features seen, and a row costs as much as it has features. Use [`Auto`](super::Auto) below some
/// thousand features, where a full covariance is affordable: it predicts better and its standard
/// errors are exact. Here a feature outside the core is taken as independent of all others, so the
/// standard errors of correlated features are too small.
///
/// [`WideBuilder::numbers`] says how many leading features are numbers that every row has: they
/// are centered, scaled and kept in the core.
///
/// ```
/// use kalmia::{Bernoulli, Learner, Predict, SparseInputs, SparseMatrix, SparseRows, Wide};
///
/// let mut wide = Wide::builder(Bernoulli).intercept().build()?; // feature 0 is the constant 1
/// let x = SparseMatrix::new(&[0, 2, 4, 6], &[0, 17, 0, 90_000, 0, 17], &[1.0; 6])?;
/// wide.learn_sparse(SparseRows::new(x, &[1.0, 0.0, 1.0])?)?;
/// let next = SparseMatrix::new(&[0, 2], &[0, 17], &[1.0, 1.0])?;
/// wide.predict_sparse(SparseInputs::new(next), &mut |_, prediction| {
///     assert!(prediction.mean > 0.5);
///     Ok(())
/// })?;
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Wide<F> {
    /// With unit dispersion, and the shape as learned so far.
    family: F,
    drift: DriftMode,
    count: u64,
    features: Features,
    dispersion: Dispersion,
    prior: PriorCenter,
    warm_up: Option<WarmUpRows>,
    members: Members,
    belief: Belief,
    /// Scratch: the current row.
    row: RowEntries,
    /// Drops no member: for a test that measures what dropping costs.
    keeps_all: bool,
}

impl<F: Family> Wide<F> {
    /// An untrained learner without an intercept; see [`builder`](Self::builder) for others.
    pub fn new(family: F) -> Result<Self> {
        Self::builder(family).build()
    }

    /// Choices before the first row.
    pub fn builder(family: F) -> WideBuilder<F> {
        WideBuilder::new(family)
    }

    fn untrained(family: F, features: Features, drift: DriftMode) -> Result<Self> {
        let family = family.fast().with_dispersion_unchecked(1.0);
        let labels = is_label(&family);
        let mut wide = Self {
            dispersion: Dispersion::new(&family),
            family,
            drift,
            count: 0,
            members: Members::new(drift, labels),
            belief: Belief::new(features.capacity(), features.numbers(), MAX_LANES)?,
            row: RowEntries::new(features.numbers()),
            features,
            prior: PriorCenter::default(),
            warm_up: Some(WarmUpRows::default()),
            keeps_all: false,
        };
        wide.rebuild();
        Ok(wide)
    }

    /// Leading features that are numbers, the intercept included.
    pub fn numbers(&self) -> usize {
        self.features.numbers()
    }

    /// Most features that the learner takes; see [`WideBuilder::limit`].
    pub fn limit(&self) -> usize {
        self.features.limit
    }

    /// With another limit on the number of features, at any time.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.features.limit = limit;
        self
    }

    /// The drift mode.
    pub fn drift_mode(&self) -> DriftMode {
        self.drift
    }

    /// What a target counts that is far from its prediction.
    pub fn outliers(&self) -> Outliers {
        self.dispersion.downweighting.into()
    }

    /// Features that share a covariance, besides the numbers.
    pub fn core_features(&self) -> usize {
        self.features.promoted().len()
    }

    /// The estimated dispersion (noise variance, Gamma's $\phi$, or the negative binomial
    /// $\alpha$); 1 for families without one.
    pub fn dispersion(&self) -> f64 {
        self.family.fast().shape().unwrap_or_else(|| self.loss_divisor())
    }

    /// The estimated dispersion if it divides the loss, else 1.
    fn loss_divisor(&self) -> f64 {
        let residual = self.members.best().residual;
        if self.dispersion.has_shape() { 1.0 } else { self.dispersion.estimate(residual) }
    }

    /// The members still in the mixture.
    pub fn weights(&self) -> Vec<WideWeight> {
        self.members.weights()
    }

    /// Rows that the learner still holds, and so does its stored state: the first ones, until
    /// the scales of the features are known.
    pub fn kept_rows(&self) -> usize {
        self.warm_up.as_ref().map_or(0, WarmUpRows::len)
    }

    /// Bytes that the learner takes with so many features, at most.
    pub fn memory(&self, features: usize) -> usize {
        let belief = Belief::bytes(self.features.capacity(), self.members.lanes(), features);
        Slots::bytes(features).saturating_add(belief)
    }

    /// All rows of a call; a row that cannot be learned leaves the rows before it learned.
    fn run(&mut self, rows: SparseRows<'_>, mut observer: Option<&mut dyn Observer>) -> Result<()> {
        for i in 0..rows.len() {
            self.learn_row(rows, i, crate::observe::reborrow(&mut observer))
                .map_err(|error| error.at_row(i))?;
        }
        Ok(())
    }

    /// What each member assumes of a feature that no row had, in units of the dispersion.
    fn priors(&self) -> LanePriors {
        LanePriors::new(&self.members.all, self.prior.scale.slopes)
    }
}

impl<F: Family> Learner for Wide<F> {
    /// The numbers and the features seen so far.
    fn dim(&self) -> usize {
        self.features.len()
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn takes_new_features(&self) -> bool {
        true
    }

    /// In the order of [`Wide::features`].
    fn coefficients(&self) -> Cow<'_, [f64]> {
        Cow::Owned(self.mean())
    }

    /// Column `j` of dense rows is feature `j`; zeros are left out.
    fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        rows.check(&self.family, rows.dim())?;
        let parts = row::SparseParts::of_dense(rows.features(), rows.dim(), rows.len());
        self.learn_sparse_observed(SparseRows::with_observations(parts.matrix()?, rows), observer)
    }

    fn learn_sparse_observed(
        &mut self,
        rows: SparseRows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        let moderate = rows.features().check(u64::MAX)?
            & rows.observations().check_observations(&self.family)?;
        self.features.check_limit(rows)?;
        self.features.require_room(rows, 1, self.members.lanes())?;
        if moderate {
            // validated rows of moderate size cannot fail
            return self.run(rows, observer);
        }
        Checkpoint::default().transaction(self, |wide| {
            wide.run(rows, observer)?;
            wide.features.check_range(rows, std::slice::from_ref(&wide.belief))
        })
    }

    fn linear(&self, x: &[f64]) -> Result<f64> {
        crate::rows::check_features(x, x.len())?;
        let parts = row::SparseParts::of_dense(x, x.len(), 1);
        Ok(self.mean_linear(parts.row(0)))
    }
}
