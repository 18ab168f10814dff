//! The default learner: a mixture of moment-matching filters that has no parameters to choose.
//!
//! Members differ in the size of their prior, relative to the scale of the first rows. Predictions
//! are weighted by past predictive likelihood, so that the price over the best member is at most
//! $\ln K$ in total loss. Members that no longer matter are dropped.
//!
//! | file | owns |
//! |---|---|
//! | `builder` | choices before the first row |
//! | `warm_up`, `scale`, `prior` | the first rows, the scales that they give, the priors at these |
//! | `member_prior` | the sizes of these priors, and the features that they are independent in |
//! | `stage`, `bank`, `member` | the members: static or with process noise, together, and one |
//! | `posterior`, `mean`, `dispersion`, `pearson`, `shape` | weights, predicted mean, noise |
//! | `sandwich` | the covariance of a quantile's coefficients, whatever the law of the targets |
//! | `outliers`, `downweight` | what targets far from their prediction count; how it is learned |
//! | `predict`, `shrink` | predictions, standard errors, growth; growth undone |
//! | `report`, `coefficients` | what observers see of a row; coefficients and their covariance |
//! | `drift` | the drift mode, and how following starts |
//! | `sentinel`, `scores`, `corrector` | the watch for a drift: its evidence, its cost |
//! | `state`, `information`, `merge` | storing; what the rows say beyond the prior; merging |

pub(super) mod bank;
mod builder;
mod center;
mod coefficients;
mod corrector;
pub(super) mod dispersion;
mod downweight;
mod drift;
pub(super) mod information;
pub(super) mod mean;
pub(super) mod member;
pub(super) mod member_prior;
mod merge;
pub(super) mod outliers;
mod pearson;
pub(super) mod posterior;
pub(super) mod predict;
pub(super) mod prior;
pub(super) mod report;
mod sample;
mod sandwich;
pub(super) mod scale;
mod scores;
pub(super) mod sentinel;
pub(super) mod shape;
mod shrink;
mod stage;
mod state;
mod warm_up;

pub use builder::AutoBuilder;
pub use drift::DriftMode;
pub(crate) use information::Residual;
pub use outliers::{Downweighting, Outliers};
pub use sentinel::DriftReport;
pub use state::AutoState;

use super::standing::REVIEW_ROWS;
use super::warm_up::WarmUpRows;
use super::{Checkpoint, Learner};
use crate::error::{Error, Result};
use crate::family::{Family, FastPaths};
use crate::linalg::{Threads, require_memory};
use crate::observe::{Observer, reborrow};
use crate::rows::Rows;
use bank::Context;
use dispersion::Dispersion;
pub use member_prior::PRIOR_SIZES;
use prior::PriorCenter;
use sandwich::Sandwich;
use scale::Scales;
use sentinel::Sentinel;
use stage::Stage;
use std::borrow::Cow;

/// Process noise of the members that follow a drift, relative to the prior of size 1 of centered
/// features.
pub const PROCESS_NOISES: [f64; 6] = [0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3];
/// Rows per feature before a drift is followed: the belief from which random-walk members start
/// keeps one prior size, so the mixture must have found it.
pub(super) const ROWS_BEFORE_DRIFT: u64 = 10;
/// Rows that go through the members together. A drift is followed from the end of a chunk on, so
/// chunks are as short as costs no speed: it depends on the kernel that `dim` features get.
fn chunk_rows(dim: usize) -> u64 {
    match dim {
        0..=32 => 32,
        33..640 => 128,
        _ => REVIEW_ROWS,
    }
}

/// A member of an [`Auto`] that is still in the mixture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemberWeight {
    /// Prior variance relative to the scaled features.
    pub prior_size: f64,
    /// Whether the prior is that of centered features, not of features as they come.
    pub centered: bool,
    /// Share of $x^\top Px$ that the member believes: less than 1 in a polished
    /// [`Categorical`](super::Categorical) of three classes or more, which predicts at the mode.
    pub variance_share: f64,
    /// Process noise per row relative to the prior of size 1, 0 for a static member.
    pub process_noise: f64,
    /// Share of the mixture.
    pub weight: f64,
}

/// The default learner. Feature scales do not matter.
///
/// ```
/// use kalmia::{Auto, Bernoulli, Learner, Predict, Rows};
///
/// let mut auto = Auto::builder(Bernoulli, 2).intercept().build()?; // feature 0 is the constant 1
/// let x = [1.0, 2e6, 1.0, 1e4, 1.0, 1.8e6, 1.0, 3e5];
/// auto.learn(Rows::new(2, &x, &[1.0, 0.0, 1.0, 0.0])?)?;
/// let prediction = auto.predict(&[1.0, 1.9e6], 0.0)?;
/// assert!(prediction.mean > 0.5);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Auto<F> {
    /// With unit dispersion, and the shape as learned so far.
    family: F,
    dim: usize,
    drift: DriftMode,
    count: u64,
    scales: Scales,
    dispersion: Dispersion,
    prior: PriorCenter,
    warm_up: Option<WarmUpRows>,
    stage: Stage,
    sentinel: Sentinel,
    /// What the rows after the warm-up say of the covariance, while a quantile's members are
    /// static.
    sandwich: Option<Box<Sandwich>>,
    /// Rows learned when random-walk members took over.
    follows_from: Option<u64>,
    mean: Vec<f64>,
    threads: Threads,
    /// Drops no member: for a test that measures what dropping costs.
    keeps_all: bool,
}

impl<F: Family> Auto<F> {
    /// An untrained learner of `dim` features, static and without an intercept; see
    /// [`builder`](Self::builder) for others.
    pub fn new(family: F, dim: usize) -> Result<Self> {
        Self::builder(family, dim).build()
    }

    /// Choices for a learner of `dim` features.
    pub fn builder(family: F, dim: usize) -> AutoBuilder<F> {
        AutoBuilder::new(family, dim)
    }

    fn untrained(family: F, scales: Scales, drift: DriftMode, threads: Threads) -> Result<Self> {
        let family = family.fast().with_dispersion_unchecked(1.0);
        let dim = scales.dim();
        let mut auto = Self {
            dispersion: Dispersion::new(&family),
            family,
            dim,
            drift,
            count: 0,
            scales,
            prior: PriorCenter::default(),
            warm_up: Some(WarmUpRows::default()),
            stage: Stage::default(),
            sentinel: Sentinel::default(),
            sandwich: None,
            follows_from: None,
            mean: vec![0.0; dim],
            threads,
            keeps_all: false,
        };
        require_memory(auto.memory(dim))?;
        auto.rebuild()?;
        Ok(auto)
    }

    /// The estimated dispersion (noise variance, Gamma's $\phi$, or the negative binomial
    /// $\alpha$); 1 for families without one.
    pub fn dispersion(&self) -> f64 {
        self.family.fast().shape().unwrap_or_else(|| self.loss_divisor())
    }

    /// The estimated dispersion if it divides the loss, else 1.
    fn loss_divisor(&self) -> f64 {
        self.stage.dispersion(&self.dispersion)
    }

    /// Moves the shape of the family by what the rows since the last move say of it.
    fn move_shape(&mut self) {
        if let Some(moved) = self.dispersion.moved_family(&self.family, false) {
            self.family = moved;
        }
    }

    /// The members still in the mixture.
    pub fn weights(&self) -> Vec<MemberWeight> {
        self.stage.weights()
    }

    /// Rows that the learner still holds, and so does its stored state: the first ones, until
    /// the scales of the features are known.
    pub fn kept_rows(&self) -> usize {
        self.warm_up.as_ref().map_or(0, WarmUpRows::len)
    }

    /// Bytes that its matrices take with `dim` coefficients, at most: nearly all of its memory.
    ///
    /// Until the mixture has found its prior it has 6 members, 12 with an intercept, and each has a
    /// matrix of `8 * dim * dim` bytes. Members that are dropped return their memory.
    pub fn memory(&self, dim: usize) -> usize {
        let bases = if self.scales.has_intercept() { 2 } else { 1 };
        let members = match self.warm_up {
            Some(_) => bases * PRIOR_SIZES.len(),
            None => self.stage.members(),
        };
        let sandwich = if Sandwich::is_for(&self.family) { Sandwich::bytes(dim) } else { 0 };
        self.stage.matrix_bytes(dim).saturating_mul(members).saturating_add(sandwich)
    }

    /// The drift mode.
    pub fn drift_mode(&self) -> DriftMode {
        self.drift
    }

    /// With another drift mode from now on. Refuses a learner that follows a drift already.
    pub fn with_drift_mode(mut self, drift: DriftMode) -> Result<Self> {
        if self.is_following() && drift != self.drift {
            return Err(Error::State(
                "the learner follows a drift already; its mode cannot change".into(),
            ));
        }
        self.drift = drift;
        Ok(self)
    }

    /// Whether the coefficients follow a drift; they then describe the last rows.
    pub fn is_following(&self) -> bool {
        !self.stage.is_static()
    }

    /// Rows learned when the coefficients began to follow a drift; `None` while they are constant,
    /// and for a state of an older version.
    pub fn follows_from(&self) -> Option<u64> {
        self.follows_from
    }

    /// What following a drift would have gained, as far as the sentinel can detect; `None` if the
    /// learner already follows it.
    pub fn drift_report(&self) -> Option<DriftReport> {
        self.is_watched().then(|| self.sentinel.report(self.loss_divisor()))
    }

    /// Whether the sentinel watches for a drift: the learner is static and may stay so.
    fn is_watched(&self) -> bool {
        self.drift != DriftMode::Adapt && self.stage.is_static()
    }

    /// Rows through the members, then through the mixture; `first` is the index of the first row
    /// for observers.
    fn chunk(
        &mut self,
        rows: Rows<'_>,
        first: usize,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        if self.scales.incomplete() {
            // Process noise has changed the provisional prior by the time a feature appears, so the
            // prior is set in the row where it appears, not at the start of the chunk.
            let appears = |i: &usize| self.scales.completed_by(rows.x(*i));
            if !self.stage.is_static()
                && let Some(at @ 1..) = (0..rows.len()).find(appears)
            {
                self.chunk(rows.slice(0..at), first, reborrow(&mut observer))?;
                return self.chunk(rows.slice(at..rows.len()), first + at, observer);
            }
            let slopes = self.prior.scale.slopes;
            for i in 0..rows.len() {
                let stage = &mut self.stage;
                self.scales.complete(rows.x(i), |j, scale| stage.set_prior(j, slopes, scale));
            }
        }
        let sentinel = self.is_watched().then_some(&mut self.sentinel);
        let context = Context {
            family: &self.family,
            dispersion: &mut self.dispersion,
            sentinel,
            sandwich: self.sandwich.as_deref_mut(),
            scales: &self.scales,
            centers: self.scales.centers(),
            count: self.count,
            first,
            threads: self.threads,
        };
        self.stage.learn(context, rows, observer)
    }

    /// All rows of a call.
    fn run(&mut self, rows: Rows<'_>, mut observer: Option<&mut dyn Observer>) -> Result<()> {
        let mut i = 0;
        while i < rows.len() {
            if self.warm_up.is_some() {
                self.warm_up(rows, i, reborrow(&mut observer))?;
                i += 1;
                if self.warm_up.is_none() {
                    self.follow_drift();
                }
                continue;
            }
            let chunk = chunk_rows(self.dim);
            let mut end = rows.len().min(i + (chunk - self.count % chunk) as usize);
            if let Some(other) = self.first_other_target(rows, i, end) {
                if other == i {
                    self.start_over()?;
                    continue;
                }
                end = other;
            }
            self.start_sandwich();
            self.chunk(rows.slice(i..end), i, reborrow(&mut observer))?;
            self.count += (end - i) as u64;
            i = end;
            if self.count.is_multiple_of(REVIEW_ROWS) {
                self.review_members();
                self.move_shape();
            }
            if self.count.is_multiple_of(chunk) {
                self.take_noise();
                self.follow_drift();
                self.refresh_sandwich();
            }
        }
        Ok(())
    }

    /// Drops members that no longer matter.
    fn review_members(&mut self) {
        if let Stage::Static(bank) = &mut self.stage
            && !self.keeps_all
        {
            bank.drop_idle(self.count);
        }
    }
}

impl<F: Family> Learner for Auto<F> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn coefficients(&self) -> Cow<'_, [f64]> {
        Cow::Borrowed(&self.mean)
    }

    fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        let moderate = rows.check(&self.family, self.dim)?;
        // A validated batch can still fail in two cases: values above `MAX_MODERATE` may overflow,
        // or every dense member may run out of precision.
        // A learner that starts over may find no memory.
        let starts_over = self.dispersion.only_target.is_some();
        let result = if !moderate || starts_over || self.stage.can_lose_precision() {
            Checkpoint::default().transaction(self, |auto| auto.run(rows, observer))
        } else {
            self.run(rows, observer)
        };
        self.stage.mean(&mut self.mean);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Bernoulli;
    use crate::observe::RowView;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn a_dropped_member_is_not_missed() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let dim = 4;
        let batch = 1 << 12;
        let mut dropping = Auto::builder(Bernoulli, dim).intercept().build().unwrap();
        let mut keeping = Auto { keeps_all: true, ..dropping.clone() };
        let mut with = 0.0;
        let mut without = 0.0;
        for _ in 0..1 << 6 {
            let x: Vec<f64> = (0..dim * batch)
                .map(|i| if i % dim == 0 { 1.0 } else { rng.random_range(-0.5..1.5) })
                .collect();
            let chance = |row: &[f64]| Bernoulli.mean(0.5 * row[0] + row[1] - 2.0 * row[2]);
            let y: Vec<f64> =
                x.chunks(dim).map(|row| f64::from(rng.random::<f64>() < chance(row))).collect();
            let rows = Rows::new(dim, &x, &y).unwrap();
            dropping
                .learn_observed(rows, Some(&mut |row: &RowView<'_>| without += row.loss))
                .unwrap();
            keeping.learn_observed(rows, Some(&mut |row: &RowView<'_>| with += row.loss)).unwrap();
        }
        let all = keeping.weights();
        let left = dropping.weights();
        assert_eq!(all.len(), 2 * PRIOR_SIZES.len());
        assert!(left.len() < all.len());
        // Members learn independently, so those left have the weights of the full mixture,
        // renormalized. Which ones are left depends on the draw.
        let same = |a: &MemberWeight, b: &MemberWeight| {
            (a.prior_size, a.centered) == (b.prior_size, b.centered)
        };
        let full = |member: &MemberWeight| all.iter().find(|m| same(m, member)).unwrap().weight;
        let kept: f64 = left.iter().map(full).sum();
        for member in &left {
            let expected = full(member) / kept;
            assert!((member.weight / expected - 1.0).abs() < 1e-9, "{member:?} {expected}");
        }
        // 0.011 nats were lost of 143 538. Dropping a member whose weight still moves fails here.
        assert!((without - with).abs() < 0.04, "{without} {with}");
    }
}
