//! The Kalman recursion: a family, a rule and a covariance form.

mod predict;
mod sparse;
mod state;
mod steps;

pub use state::FilterState;

use super::auto::outliers::FilterJudge;
use super::checkpoint::{Checkpoint, Transactional};
use super::drift::forget;
use super::{Downweighting, Drift, Learner, Outliers, Prior, used_feature};
use crate::covariance::{Covariance, Factored};
use crate::error::{Error, Result, require};
use crate::family::{Family, FastPaths};
use crate::linalg::{Buffer, Threads, require_memory};
use crate::observe::Observer;
use crate::rows::{MAX_MODERATE, Rows};
use crate::rule::Rule;
use crate::sparse::SparseRows;
use std::borrow::Cow;
use steps::Steps;

/// A belief $N(\theta, P)$ about the coefficients, updated row by row. With the Gaussian family it
/// is the exact Kalman filter, that is ridge regression.
///
/// ```
/// use kalmia::{Bernoulli, Filter, Learner, MomentMatch, Predict, Prior, Rows};
///
/// let mut filter = Filter::new(Bernoulli, MomentMatch, Prior::isotropic(2, 100.0)?)?;
/// let x = [1.0, 0.3, 1.0, -0.8, 1.0, 1.1];
/// filter.learn(Rows::new(2, &x, &[1.0, 0.0, 1.0])?)?;
/// let prediction = filter.predict(&[1.0, 0.5], 0.0)?;
/// assert!(prediction.mean > 0.5 && filter.standard_errors().unwrap()[1] < 10.0);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Filter<F, R, C = Factored> {
    family: F,
    rule: R,
    prior: Prior,
    drift: Drift,
    count: u64,
    belief: Belief<C>,
    threads: Threads,
    /// Whether every prior variance is at most [`MAX_MODERATE`].
    prior_is_moderate: bool,
    checkpoint: Checkpoint<Belief<C>>,
    /// Scratch of [`forget`].
    units: Vec<f64>,
}

/// All that a row moves.
#[derive(Debug)]
pub(super) struct Belief<C> {
    theta: Buffer,
    covariance: C,
    /// How rows are judged that are far from their prediction, if these count less.
    downweighting: Option<Downweighting>,
}

impl<C: Clone> Clone for Belief<C> {
    fn clone(&self) -> Self {
        Self {
            theta: self.theta.clone(),
            covariance: self.covariance.clone(),
            downweighting: self.downweighting,
        }
    }

    fn clone_from(&mut self, source: &Self) {
        self.theta.clone_from(&source.theta);
        self.covariance.clone_from(&source.covariance);
        self.downweighting = source.downweighting;
    }
}

impl<F: Family, R: Rule> Filter<F, R> {
    /// An untrained filter with the factored covariance, which is the one to use unless speed at
    /// small dimensions matters more than precision.
    pub fn new(family: F, rule: R, prior: Prior) -> Result<Self> {
        Self::with_covariance(family, rule, prior)
    }

    /// An untrained filter with another form of the covariance:
    /// `Filter::with_covariance::<Dense>(family, rule, prior)`.
    pub fn with_covariance<C: Covariance>(
        family: F,
        rule: R,
        prior: Prior,
    ) -> Result<Filter<F, R, C>> {
        let theta = Buffer::from_slice(prior.mean());
        let belief = Belief { theta, covariance: prior.covariance()?, downweighting: None };
        Ok(Filter {
            family,
            rule,
            prior_is_moderate: is_moderate(&prior),
            prior,
            drift: Drift::Off,
            count: 0,
            belief,
            threads: Threads::all(),
            checkpoint: Checkpoint::default(),
            units: Vec::new(),
        })
    }
}

impl<F: Family, R: Rule, C: Covariance> Filter<F, R, C> {
    /// With coefficients that move between rows. Refused once the filter has learned rows, which it
    /// learned under another model.
    pub fn with_drift(mut self, drift: Drift) -> Result<Self> {
        if self.count > 0 {
            return Err(Error::State(format!(
                "the filter has learned {} rows: set the drift before the first",
                self.count
            )));
        }
        drift.check(self.dim())?;
        self.drift = drift;
        Ok(self)
    }

    /// With targets that count less the further they are from their prediction, in predictive
    /// standard deviations of the filter; its dispersion is fixed, so give the right one. Refused
    /// for labels, for quantiles and Student's law, which outliers hardly move, and once the filter
    /// has learned rows.
    ///
    /// ```
    /// use kalmia::{Ekf, Filter, Gaussian, Learner, Outliers, Prior, Rows};
    /// let filter = Filter::new(Gaussian::default(), Ekf, Prior::isotropic(1, 100.0)?)?;
    /// let mut filter = filter.with_outliers(Outliers::Downweight)?;
    /// filter.learn(Rows::new(1, &[1.0; 4], &[2.0, 1.0, 1e6, 3.0])?)?;
    /// assert!((filter.coefficients()[0] - 2.0).abs() < 0.1);
    /// # Ok::<(), kalmia::Error>(())
    /// ```
    pub fn with_outliers(mut self, outliers: Outliers) -> Result<Self> {
        if self.count > 0 {
            return Err(Error::State(format!(
                "the filter has learned {} rows: choose what outliers count before the first",
                self.count
            )));
        }
        outliers.check(&self.family)?;
        if outliers == Outliers::Downweight && self.family.fast().is_label() {
            return Err(Error::Choice {
                name: "outliers",
                value: outliers.to_string(),
                expected: "keep: a wrong label does a single filter little harm",
            });
        }
        self.belief.downweighting = outliers.downweighting();
        Ok(self)
    }

    /// What a target counts that is far from its prediction.
    pub fn outliers(&self) -> Outliers {
        self.belief.downweighting.into()
    }

    /// With at most this many cores, at any time; 0 counts as 1. Results do not change. The default
    /// is all cores; below dimension 640 one is used, because that is fastest.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = Threads::new(threads).unwrap_or(Threads::ONE);
        self
    }

    /// The rule.
    pub fn rule(&self) -> &R {
        &self.rule
    }

    /// The prior.
    pub fn prior(&self) -> &Prior {
        &self.prior
    }

    /// The drift.
    pub fn drift(&self) -> &Drift {
        &self.drift
    }

    /// The covariance.
    pub fn covariance(&self) -> &C {
        &self.belief.covariance
    }

    /// Appends a feature that was zero in every row so far, with the given prior variance; see
    /// [`Predict::grow`](super::Predict::grow) for the variance of its neighbor.
    pub fn grow_with(&mut self, variance: f64) -> Result<()> {
        require(
            variance > 0.0 && variance.is_finite(),
            "variance",
            variance,
            "must be finite and positive",
        )?;
        require_memory(self.belief.covariance.growth_bytes())?;
        self.prior.grow(variance);
        self.prior_is_moderate = is_moderate(&self.prior);
        self.belief.covariance.grow(variance);
        let dim = self.dim();
        let mut theta = Buffer::zeros(dim);
        theta[..dim - 1].copy_from_slice(&self.belief.theta[..dim - 1]);
        self.belief.theta = theta;
        if let Drift::Walk { variances } = &mut self.drift {
            variances.push(0.0);
        }
        self.checkpoint = Checkpoint::default();
        Ok(())
    }

    /// Removes the last feature, if its belief is still the prior and independent of the others.
    fn drop_last(&mut self) -> Result<()> {
        let last = self.dim().checked_sub(1).ok_or_else(used_feature)?;
        let covariance = &self.belief.covariance;
        let unused = self.belief.theta[last] == self.prior.mean()[last]
            && (0..last).all(|i| covariance.entry(i, last) == 0.0)
            && covariance.entry(last, last) == self.prior.variance(last);
        if !unused {
            return Err(used_feature());
        }
        self.prior.shrink();
        self.prior_is_moderate = is_moderate(&self.prior);
        self.belief.covariance.shrink();
        let mut theta = Buffer::zeros(last);
        theta[..last].copy_from_slice(&self.belief.theta[..last]);
        self.belief.theta = theta;
        if let Drift::Walk { variances } = &mut self.drift {
            variances.truncate(last);
        }
        self.checkpoint = Checkpoint::default();
        Ok(())
    }

    /// The prior variance of a coefficient that is added: that of the last one.
    pub(super) fn new_variance(&self) -> f64 {
        self.dim().checked_sub(1).map_or(1.0, |j| self.prior.variance(j))
    }

    /// Replaces the belief, keeping family, rule and prior.
    pub(crate) fn with_belief(mut self, theta: &[f64], covariance: C, count: u64) -> Self {
        self.belief.theta = Buffer::from_slice(theta);
        self.belief.covariance = covariance;
        self.count = count;
        self
    }

    /// Whether no legal step from here can overflow on moderate rows (see [`Rows::check`]): steps
    /// are bounded by $10^{152}$, the families' largest slope.
    fn is_moderate(&self) -> bool {
        // no early end, for SIMD
        self.prior_is_moderate
            && self.belief.theta.iter().fold(true, |all, value| all & (value.abs() <= 1e120))
    }

    /// All rows of a call, without and with drift.
    fn run(&mut self, rows: Rows<'_>, observer: Option<&mut dyn Observer>) -> Result<()> {
        let Self { family, rule, prior, drift, count, belief, threads, units, .. } = self;
        let Belief { theta, covariance, downweighting } = belief;
        let judge = downweighting.as_mut().map(|judged| FilterJudge::new(judged, family));
        let mut steps = Steps { rows, observer, judge };
        let mut decide =
            |i: usize, m: f64, s: f64| steps.decide(family, rule, i, m, s, *count + i as u64 + 1);
        match drift {
            Drift::Off => covariance.learn(theta, rows.features(), &mut decide, *threads),
            Drift::Walk { variances } => covariance.learn_with_process_noise(
                theta,
                rows.features(),
                variances,
                &mut decide,
                *threads,
            ),
            Drift::Forget { factor } => {
                for i in 0..rows.len() {
                    forget(
                        *factor,
                        prior,
                        *count + i as u64 + 1,
                        theta,
                        covariance,
                        units,
                        *threads,
                    )?;
                    covariance.learn(theta, rows.x(i), &mut |_, m, s| decide(i, m, s), *threads)?;
                }
                Ok(())
            }
        }
    }
}

fn is_moderate(prior: &Prior) -> bool {
    (0..prior.dim()).all(|j| prior.variance(j) <= MAX_MODERATE)
}

impl<F: Family, R: Rule, C: Covariance> Learner for Filter<F, R, C> {
    fn dim(&self) -> usize {
        self.prior.dim()
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn coefficients(&self) -> Cow<'_, [f64]> {
        Cow::Borrowed(&self.belief.theta[..self.prior.dim()])
    }

    fn learn_sparse_observed(
        &mut self,
        rows: SparseRows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        if self.takes_sparse() {
            return self.learn_as_sparse(rows, observer);
        }
        rows.densified(self.dim(), |rows| self.learn_observed(rows, observer))
    }

    fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        let moderate = rows.check(&self.family, self.dim())?;
        let fragile = C::CAN_LOSE_PRECISION || self.rule.can_diverge(&self.family);
        // A single row is rejected before any state changes, except with drift (applied first) or
        // values above `MAX_MODERATE`.
        let guarded = self.drift != Drift::Off
            || !moderate
            || !self.is_moderate()
            || (fragile && rows.len() > 1);
        self.transaction(guarded, |filter| {
            filter.run(rows, observer)?;
            if guarded && let Some(&value) = filter.belief.theta.iter().find(|v| !v.is_finite()) {
                // overflow in earlier rows shows in the linear predictor of the row after them
                let row = rows.len() - 1;
                return Err(Error::Diverged { row, quantity: "a coefficient", value });
            }
            Ok(())
        })?;
        self.count += rows.len() as u64;
        Ok(())
    }
}

impl<F: Family, R: Rule, C: Covariance> Transactional for Filter<F, R, C> {
    type Belief = Belief<C>;

    fn belief(&mut self) -> (&mut Belief<C>, &mut Checkpoint<Belief<C>>) {
        (&mut self.belief, &mut self.checkpoint)
    }
}
