//! What a target far from its prediction counts: the option, and the share of a row that counts.

use super::dispersion::{Dispersion, Kind};
use super::member::MomentMatcher;
use crate::error::{Error, Result, require};
use crate::family::{Family, FastPaths};
use crate::rows::Observation;
use crate::rule::Evidence;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};
use std::str::FromStr;

/// What a learner does with a target that is far from its prediction.
///
/// ```
/// use kalmia::{Auto, Gaussian, Learner, Outliers, Predict, Rows};
///
/// let x: Vec<f64> = (0..600).flat_map(|i| [1.0, f64::from(i % 10)]).collect();
/// let clean = |i: i32| 3.0 + 2.0 * f64::from(i % 10) + 0.1 * f64::from(i % 7 - 3);
/// let y: Vec<f64> = (0..600).map(|i| if i == 300 { 1e9 } else { clean(i) }).collect();
/// let builder = Auto::builder(Gaussian::default(), 2).intercept();
/// let mut auto = builder.outliers(Outliers::Downweight).build()?;
/// auto.learn(Rows::new(2, &x, &y)?)?;
/// assert!((auto.predict(&[1.0, 5.0], 0.0)?.mean - 13.0).abs() < 0.1);
/// assert!(auto.dispersion() < 0.1);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outliers {
    /// Every row counts in full.
    #[default]
    Keep,
    /// A row whose target is $k > 1$ times as far from its mean as a target 3 predictive standard
    /// deviations away counts as $1/k^2$ of a row, for the coefficients and for the weights of the
    /// mixture, and as $1/k^6$ of a row for the noise.
    ///
    /// This is the weighted-observation likelihood filter of Duran-Martin et al. (arXiv
    /// 2405.05646) with a weight that is 1 for all rows that the family can explain. Their weight
    /// $1/(1+z^2/c^2)$ is below 1 for nearly all rows, which for a skewed law biases the mean.
    ///
    /// For laws that are not normal, the distance of 3 deviations is that of the quantile of the
    /// same probability, and for counts at least 1. Pearson's residual instead would take any count
    /// as impossible if the mean is near 0. A deviance grows so slowly (like $\ln y$ for the
    /// negative binomial law) that a huge target would keep its influence. A label that is as
    /// improbable as 3 deviations counts less, and so does the other label of the same row: if only
    /// the rare label did, probabilities would be biased.
    Downweight,
}

impl Outliers {
    /// All choices.
    pub const ALL: [Self; 2] = [Self::Keep, Self::Downweight];

    /// Name in settings and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Downweight => "downweight",
        }
    }

    /// Refuses to count outliers less for a family that they hardly move.
    pub(in crate::learner) fn check<F: Family>(self, family: &F) -> Result<()> {
        if self == Self::Keep || family.fast().location_level().is_none() {
            return Ok(());
        }
        Err(Error::Choice {
            name: "outliers",
            value: self.to_string(),
            expected: "keep: outliers hardly move this family",
        })
    }

    /// Refuses a learner that counts outliers less, for what counts every row in full.
    pub(crate) fn require_full_rows(self) -> Result<()> {
        match self {
            Self::Keep => Ok(()),
            Self::Downweight => Err(Error::State(
                "the learner counts outliers less, but further passes would count them in full; \
                 leave out one of the two"
                    .into(),
            )),
        }
    }

    /// How rows are judged from the first one on.
    pub(in crate::learner) fn downweighting(self) -> Option<Downweighting> {
        (self == Self::Downweight).then(Downweighting::default)
    }
}

impl From<Option<Downweighting>> for Outliers {
    fn from(downweighting: Option<Downweighting>) -> Self {
        if downweighting.is_some() { Self::Downweight } else { Self::Keep }
    }
}

impl Display for Outliers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Outliers {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name).ok_or_else(|| Error::Choice {
            name: "outliers",
            value: name.into(),
            expected: "keep or downweight",
        })
    }
}

/// Distance, in predictive standard deviations, up to which a row counts in full. One clean row of
/// 370 is beyond it under normal noise, and still counts for the most part.
const REACH: f64 = 3.0;
/// Probability that a normal variable is within that distance, or on the other side.
const WITHIN_REACH: f64 = 0.998_650_101_968_369_9;
/// Squared distance, in units of the variance, up to which no quantile is needed.
const SURELY_WITHIN: f64 = 4.0;
/// Mean of $v z^2$ over that of $v$, $v = \min(1, 9/z^2)^3$, under the normal law: what the noise
/// estimate misses without outliers.
const KEPT_SPREAD: f64 = 0.989_517_813_359_501_3;
/// Rows between two looks at the mean share.
const MIN_LOOK_ROWS: f64 = 32.0;
/// If rows count less than this on average, the predictions are wrong, not the rows.
const MIN_MEAN_SHARE: f64 = 0.5;
/// Factor by which the noise is then taken as wider, until the rows count again.
const WIDENING: f64 = 4.0;
/// Largest such factor.
const MAX_WIDENING: f64 = 1e12;

/// The scale by which a learner judges rows whose targets may be far from their predictions, as its
/// state holds it. It moves at fixed row counts only, so results do not depend on how rows are cut
/// into batches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Downweighting {
    /// The dispersion.
    noise: f64,
    /// Factor on it while the predictions are wrong, at least 1.
    widening: f64,
    /// Rows since the last look, and the sum of their shares.
    rows: f64,
    shares: f64,
}

impl Default for Downweighting {
    fn default() -> Self {
        Self { noise: 1.0, widening: 1.0, rows: 0.0, shares: 0.0 }
    }
}

impl Downweighting {
    /// Refuses a restored value that no rows can give.
    pub(in crate::learner) fn check(&self) -> Result<()> {
        let Self { noise, widening, rows, shares } = *self;
        require(noise > 0.0 && noise.is_finite(), "noise", noise, "must be positive and finite")?;
        let legal = (1.0..=MAX_WIDENING).contains(&widening);
        require(legal, "widening", widening, "must lie between 1 and 1e12")?;
        for value in [rows, shares] {
            require(
                value.is_finite() && value >= 0.0,
                "shares",
                value,
                "must be finite, 0 or more",
            )?;
        }
        Ok(())
    }

    /// Counts a row.
    pub(in crate::learner) fn count(&mut self, share: f64) {
        self.rows += 1.0;
        self.shares += share;
    }

    /// Takes the noise that rows are judged by from now on.
    ///
    /// After a jump of the coefficients no row would count, and nothing would be learned any more.
    /// But more than half of all rows cannot be outliers.
    pub(in crate::learner) fn take_noise(&mut self, noise: f64) {
        self.noise = noise;
        if self.rows < MIN_LOOK_ROWS {
            return;
        }
        let counted = self.shares >= MIN_MEAN_SHARE * self.rows;
        let factor = if counted { 1.0 / WIDENING } else { WIDENING };
        self.widening = (self.widening * factor).clamp(1.0, MAX_WIDENING);
        self.rows = 0.0;
        self.shares = 0.0;
    }

    /// The judge of rows.
    pub(in crate::learner) fn judge(&self, kind: Kind, weight_is_size: bool) -> Judge {
        Judge { kind, noise: self.noise * self.widening, weight_is_size }
    }
}

/// Judges the rows of a single filter, whose dispersion is fixed: the predictive deviation is what
/// the filter believes.
pub(in crate::learner) struct FilterJudge<'a> {
    downweighting: &'a mut Downweighting,
    kind: Kind,
    /// The dispersion of the family, 1 if it is not one that divides the loss.
    noise: f64,
    weight_is_size: bool,
}

impl<'a> FilterJudge<'a> {
    pub fn new<F: Family>(downweighting: &'a mut Downweighting, family: &F) -> Self {
        let Dispersion { kind, weight_is_size, .. } = Dispersion::new(family);
        let divides = matches!(kind, Kind::Normal | Kind::Pearson);
        let noise = family.dispersion().filter(|_| divides).unwrap_or(1.0);
        Self { downweighting, kind, noise, weight_is_size }
    }

    /// The row with the weight that counts if its linear predictor without the offset is $N(m, s)$.
    pub fn counted<F: Family>(
        &mut self,
        family: &F,
        observation: &Observation,
        m: f64,
        s: f64,
    ) -> Observation {
        let Observation { y, weight, offset } = *observation;
        if weight == 0.0 {
            return *observation;
        }
        // the widening, if predictions are wrong, acts on the noise
        let noise = self.noise * self.downweighting.widening;
        let judge = Judge { kind: self.kind, noise, weight_is_size: self.weight_is_size };
        let share = match self.kind {
            Kind::Normal => {
                let distance = weight * (y - offset - m).powi(2) / (1.0 + weight * s / self.noise);
                share_of(REACH * REACH * noise, distance)
            }
            _ => judge.share_at(family, observation, m, s),
        };
        self.downweighting.count(share);
        self.downweighting.take_noise(self.noise);
        Observation { weight: share * weight, ..*observation }
    }
}

/// The factor of a row in the noise estimate, if a share of it counts for the coefficients.
/// Outliers would otherwise widen the noise, and so count more.
pub(in crate::learner) fn noise_share(share: f64) -> f64 {
    share * share * share
}

/// What the noise estimate must be divided by, because far rows count less.
pub(super) fn kept_spread(kind: Kind) -> f64 {
    if kind == Kind::Normal { KEPT_SPREAD } else { 1.0 }
}

/// Decides how much of a row is learned.
#[derive(Debug, Clone, Copy)]
pub(in crate::learner) struct Judge {
    kind: Kind,
    /// The dispersion that rows are judged by.
    noise: f64,
    /// Whether a row's weight is its exposure or number of trials.
    weight_is_size: bool,
}

/// The squared ratio of two distances, at most 1.
fn share_of(reach: f64, distance: f64) -> f64 {
    if distance > reach { reach / distance } else { 1.0 }
}

impl Judge {
    /// The share of a row that counts, given its evidence as a full row and the linear predictor
    /// without the offset, $N(m, s)$ with $s$ in units of `unit`.
    pub fn share<F: Family>(
        &self,
        matcher: &MomentMatcher<'_, F>,
        observation: &Observation,
        full: Evidence,
        m: f64,
        s: f64,
    ) -> f64 {
        let Observation { y, weight, offset } = *observation;
        if weight == 0.0 {
            return 1.0;
        }
        if self.kind == Kind::Normal {
            let distance = weight * (y - offset - m).powi(2) / (1.0 + weight * s);
            return share_of(REACH * REACH * self.noise, distance);
        }
        if matcher.family.fast().is_label() {
            let distance = -2.0 * rarer_label(full, weight);
            return share_of(REACH * REACH * self.noise, distance);
        }
        self.share_at(matcher.family, observation, m, matcher.unit * s)
    }

    /// The same for a law that is neither normal nor one of labels; $s$ is the variance.
    pub fn share_at<F: Family>(
        &self,
        family: &F,
        observation: &Observation,
        m: f64,
        s: f64,
    ) -> f64 {
        let Observation { y, weight, offset } = *observation;
        let u = m + offset;
        let law = family.fast().with_dispersion_unchecked(self.noise);
        // a parameter of the law, or a factor on its variance
        let factor = if self.kind == Kind::Pearson { 1.0 } else { self.noise };
        let size = if self.weight_is_size { weight } else { 1.0 };
        let residual = y - family.mean(u);
        let square = residual * residual;
        if square * size <= SURELY_WITHIN * factor * law.variance(u) {
            return 1.0;
        }
        let width = 3.0 * s.sqrt();
        let information = |u: f64| family.fast().information(u);
        let largest = information(u).max(information(u - width)).max(information(u + width));
        let information = size * largest / self.noise;
        // how far the predictor may be off, for the predictive law to be 3 deviations wide
        let off = REACH * ((1.0 + information * s).sqrt() - 1.0) / information.sqrt();
        let off = if off.is_finite() { off.min(width) } else { width };
        let farthest = match residual > 0.0 {
            true => law.quantile(u + off, WITHIN_REACH),
            false => law.quantile(u - off, 1.0 - WITHIN_REACH),
        };
        let reach = (farthest - family.mean(u)).abs() * (factor / size).sqrt();
        let counts = family.discrete() || family.fast().weight_is_trials();
        let reach = if counts { reach.max(1.0 / size) } else { reach };
        share_of(reach * reach, square)
    }
}

/// The log evidence of the rarer of both labels.
fn rarer_label(evidence: Evidence, weight: f64) -> f64 {
    match evidence {
        Evidence::Label { own, other } => own.min(other).ln(),
        Evidence::Log(log) => {
            let own = (log / weight).exp();
            weight * own.min(1.0 - own).ln()
        }
    }
}
