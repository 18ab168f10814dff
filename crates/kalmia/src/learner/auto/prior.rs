//! The members' priors at the current scales: where the intercept starts, and how wide each
//! coefficient is.

use super::bank::Bank;
use super::dispersion::{Dispersion, Kind};
use super::downweight::largest_usual;
use super::member::Member;
use super::member_prior::{Basis, MemberPrior};
use super::warm_up::EQUAL;
use super::{Auto, Stage};
use crate::covariance::{Factored, Kernel};
use crate::error::{Result, require};
use crate::family::{Family, FastPaths};
use crate::learner::warm_up::WarmUpRows;
use crate::linalg::{Buffer, require_memory};
use crate::rows::Observation;
use serde::{Deserialize, Serialize};

/// Variance of the intercept under normal noise, relative to that of `y`: so wide that the
/// intercept is not shrunk.
const FLAT: f64 = 1e6;
/// The same for a family with a learned scale, whose intercept starts at a quantile of `y`.
const WIDE: f64 = 100.0;
/// The standard deviation of a normal law over the median distance from its center.
pub(super) const MEDIAN_TO_DEVIATION: f64 = 1.482_602_218_505_602;
/// Rows of the warm-up up to which a scale is taken from the spread of `y`, not from residuals.
const SPREAD_ROWS: usize = 3;
/// Smallest variance of the intercept for other families. An intercept is not small because the
/// slopes are; with wide slopes it is as wide as three of them.
pub(in crate::learner) const MIN_INTERCEPT: f64 = 3.0;
/// Smallest guess of the noise variance, relative to the variance of `y`.
const MIN_NOISE: f64 = 1e-12;

/// Prior variances of the coefficients in units of the dispersion (1 for families without one).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub(in crate::learner) struct PriorScale {
    /// Of a slope, relative to the prior size and the scale of its feature.
    pub slopes: f64,
    /// Of the intercept, if there is one.
    pub intercept: f64,
}

impl Default for PriorScale {
    fn default() -> Self {
        Self { slopes: 1.0, intercept: MIN_INTERCEPT }
    }
}

impl PriorScale {
    /// Refuses a restored value that no rows can give.
    pub fn check(&self) -> Result<()> {
        for value in [self.slopes, self.intercept] {
            let legal = value > 0.0 && value.is_finite();
            require(legal, "prior scale", value, "must be positive and finite")?;
        }
        Ok(())
    }
}

impl From<[f64; 2]> for PriorScale {
    fn from([slopes, intercept]: [f64; 2]) -> Self {
        Self { slopes, intercept }
    }
}

impl From<PriorScale> for [f64; 2] {
    fn from(scale: PriorScale) -> Self {
        [scale.slopes, scale.intercept]
    }
}

/// The targets of the warm-up, less their offsets.
pub(super) struct TargetSpread {
    pub rows: f64,
    pub mean: f64,
    pub mean_square: f64,
    /// With $n-1$ in the denominator; 0 for one row.
    pub variance: f64,
}

impl TargetSpread {
    fn of(rows: impl Iterator<Item = Observation> + Clone) -> Self {
        let values = || rows.clone().map(|o| o.y - o.offset);
        let rows = values().count() as f64;
        let mean = values().sum::<f64>() / rows;
        let deviation: f64 = values().map(|v| (v - mean).powi(2)).sum();
        Self {
            rows,
            mean,
            mean_square: values().map(|v| v * v).sum::<f64>() / rows,
            variance: deviation / (rows - 1.0).max(1.0),
        }
    }
}

/// The constant linear predictor that fits the rows best under the log link; half a count if there
/// is none.
fn log_level(rows: impl Iterator<Item = Observation> + Clone) -> Option<f64> {
    let total = |f: &dyn Fn(Observation) -> f64| rows.clone().map(f).sum::<f64>();
    let y = total(&|o| o.weight * o.y);
    let exposure = total(&|o| o.weight * o.offset.exp());
    let level = (if y > 0.0 { y } else { 0.5 } / exposure).ln();
    level.is_finite().then_some(level)
}

/// The value of rank `level`, with the values sorted; `None` if there is none.
pub(super) fn sample_quantile(values: &mut [f64], level: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some(values[(level * last as f64).round() as usize])
}

/// Where the prior of a mixture lies: how wide its coefficients are, and the intercept's mean.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in crate::learner) struct PriorCenter {
    pub scale: PriorScale,
    /// Prior mean of the intercept, if there is one.
    pub intercept_mean: f64,
}

impl PriorCenter {
    /// Centers the prior on rows: the intercept starts at their level, and for normal noise the
    /// prior's width is relative to the spread of `y`. So shifting or scaling `y` changes
    /// predictions by just that. `noise` is the estimate of the dispersion from the rows so far.
    pub fn center<F: Family>(
        &mut self,
        family: &F,
        dispersion: &mut Dispersion,
        noise: f64,
        intercept: bool,
        rows: impl Iterator<Item = Observation> + Clone,
    ) {
        if dispersion.kind == Kind::Normal {
            let robust = dispersion.downweighting.is_some();
            let targets = TargetSpread::of(rows.clone());
            let targets = if robust { targets.without_outliers(rows, intercept) } else { targets };
            self.center_normal(dispersion, noise, intercept, &targets);
            if robust {
                // a wider one would let an outlier in the first row take the intercept along
                self.scale.intercept = self.scale.intercept.min(WIDE * self.scale.slopes);
            }
            return;
        }
        if let (Kind::Scale, Some(level)) = (dispersion.kind, family.fast().location_level()) {
            self.center_location(dispersion, intercept, level, rows);
            return;
        }
        if dispersion.kind == Kind::Quasi && rows.clone().any(|o| o.y.fract() != 0.0) {
            // a rate per unit of exposure, which is the weight
            dispersion.weight_is_size = true;
        }
        // The prior is one of the linear predictor, whatever the dispersion.
        let PriorScale { slopes, intercept: level } = PriorScale::default();
        let guess = dispersion.guess;
        self.scale = PriorScale { slopes: slopes / guess, intercept: level / guess };
        if intercept && family.fast().log_link() {
            let most = match dispersion.downweighting {
                Some(_) => largest_usual(rows.clone()),
                None => f64::INFINITY,
            };
            let usual = rows.map(|o| Observation { y: o.y.min(most), ..o });
            self.intercept_mean = log_level(usual).unwrap_or(0.0);
        }
    }

    fn center_normal(
        &mut self,
        dispersion: &mut Dispersion,
        noise: f64,
        intercept: bool,
        targets: &TargetSpread,
    ) {
        let TargetSpread { rows, mean, mean_square, variance } = *targets;
        if rows == 0.0 {
            return;
        }
        let spread = if intercept && variance > 0.0 { variance } else { mean_square };
        if intercept {
            self.intercept_mean = mean;
            dispersion.spent = 1.0;
        }
        if spread > 0.0 {
            dispersion.guess =
                if rows < 3.0 { spread } else { noise.clamp(MIN_NOISE * spread, spread) };
            let slopes = (spread / dispersion.guess).max(1.0);
            self.scale = PriorScale { slopes, intercept: FLAT * slopes };
        }
    }

    /// The counterpart of [`PriorCenter::center_normal`] that outliers do not move: the intercept
    /// starts at the quantile of `y` that the family asks for, and the spread is the median
    /// distance from the median.
    fn center_location(
        &mut self,
        dispersion: &mut Dispersion,
        intercept: bool,
        level: f64,
        rows: impl Iterator<Item = Observation> + Clone,
    ) {
        self.scale = PriorScale::default();
        let mut targets: Vec<f64> = rows.clone().map(|o| o.y - o.offset).collect();
        let Some(start) = sample_quantile(&mut targets, level) else { return };
        let middle =
            if intercept { sample_quantile(&mut targets, 0.5).unwrap_or(0.0) } else { 0.0 };
        if intercept {
            self.intercept_mean = start;
        }
        let mut distances: Vec<f64> = targets.iter().map(|y| (y - middle).abs()).collect();
        let TargetSpread { variance, mean_square, .. } = TargetSpread::of(rows);
        let median = sample_quantile(&mut distances, 0.5).unwrap_or(0.0);
        // If most targets are equal, or all of them, rounding must not pass for a spread: that of
        // the targets themselves, and for the variance that of their mean.
        let size = mean_square.sqrt();
        let candidates = [
            (MEDIAN_TO_DEVIATION * median, EQUAL * middle.abs()),
            (variance.sqrt(), EQUAL * size),
            (size, 0.0),
        ];
        let spread =
            |(deviation, rounding): &(f64, f64)| deviation > rounding && deviation.is_finite();
        let Some((deviation, _)) = candidates.into_iter().find(spread) else {
            return;
        };
        dispersion.guess = deviation;
        let slopes = deviation * deviation;
        self.scale = PriorScale { slopes, intercept: WIDE * slopes };
    }

    /// After [`PriorCenter::center`], for a family with a scale: takes the prior into units of it.
    /// Returns the family with the first guess of its scale if the rows are few, or if its scale is
    /// that of equal targets which others have followed: the prior would be too wide for it by more
    /// than a number can show.
    pub fn center_scale<F: Family>(
        &mut self,
        family: &F,
        dispersion: &mut Dispersion,
        rows: usize,
    ) -> Option<F> {
        if dispersion.kind != Kind::Scale {
            return None;
        }
        let fast = family.fast();
        let first = fast.with_shape_unchecked(fast.shape_of_deviation(dispersion.guess));
        let outdated = fast.shape().is_some_and(|scale| scale < dispersion.least_scale());
        let fresh = outdated || rows <= SPREAD_ROWS;
        dispersion.take_unit(if fresh { &first } else { family });
        self.scale.slopes /= dispersion.unit;
        self.scale.intercept /= dispersion.unit;
        fresh.then_some(first)
    }

    /// Prior variance of the intercept under a prior of size `p`, in units of the dispersion.
    pub fn intercept_variance(&self, dispersion: &Dispersion, p: f64) -> f64 {
        let relative = matches!(dispersion.kind, Kind::Normal | Kind::Scale);
        if relative { self.scale.intercept } else { self.scale.intercept * p.max(1.0) }
    }
}

impl<F: Family> Auto<F> {
    /// Centers the prior on the kept rows.
    pub(super) fn center_prior(&mut self, kept: &WarmUpRows) {
        let noise = self.usual_noise(kept).unwrap_or_else(|| self.loss_divisor());
        let intercept = self.scales.has_intercept();
        self.prior.center(
            &self.family,
            &mut self.dispersion,
            noise,
            intercept,
            kept.observations(),
        );
        let first = self.prior.center_scale(&self.family, &mut self.dispersion, kept.len());
        if let Some(family) = first {
            self.family = family;
        }
    }

    /// New members from the prior at the current scales.
    pub(super) fn rebuild(&mut self) -> Result<()> {
        let priors = MemberPrior::all(self.scales.raw_differs());
        let mut old = self.take_matrices(priors.len())?.into_iter();
        let mut members = Vec::with_capacity(priors.len());
        for MemberPrior { size, basis, weight } in priors {
            let covariance = self.prior_covariance(size, basis, old.next())?;
            let mut member = Member::new(size, 0.0, self.prior_mean(), covariance);
            member.basis = basis;
            member.standing.weight = weight;
            members.push(member);
        }
        self.dispersion.reset();
        self.stage = Stage::Static(Bank::new(members));
        Ok(())
    }

    /// The members' matrices, whose memory the next `count` members use: they are nearly all of the
    /// memory that a learner takes. An error, before anything changes, if there is none for more.
    fn take_matrices(&mut self, count: usize) -> Result<Vec<Factored>> {
        let missing = count.saturating_sub(self.stage.members());
        require_memory(missing.saturating_mul(Factored::bytes(self.dim)))?;
        Ok(match std::mem::take(&mut self.stage) {
            Stage::Static(bank) => bank.members.into_iter().map(|m| m.covariance).collect(),
            Stage::RandomWalk(_) => Vec::new(),
        })
    }

    /// The prior mean of the coefficients.
    pub(super) fn prior_mean(&self) -> Buffer {
        let mut mean = Buffer::zeros(self.dim);
        if self.scales.has_intercept() {
            mean[0] = self.prior.intercept_mean;
        }
        mean
    }

    /// The prior variances of size `p` at the current scales, in units of the dispersion: of the
    /// features that are independent in this basis.
    pub(super) fn prior_variances(&self, p: f64, basis: Basis) -> Vec<f64> {
        let mut variances = self.scales.variances(p * self.prior.scale.slopes, basis);
        if self.scales.has_intercept() {
            variances[0] = self.prior.intercept_variance(&self.dispersion, p);
        }
        variances
    }

    /// The prior covariance of size `p` at the current scales, in units of the dispersion.
    /// It stands in the memory of `old` if there is one.
    pub(super) fn prior_covariance(
        &self,
        p: f64,
        basis: Basis,
        old: Option<Factored>,
    ) -> Result<Factored> {
        let variances = self.prior_variances(p, basis);
        let centers = match basis {
            Basis::Centered => self.scales.centers(),
            Basis::Raw => &[],
        };
        let Some(mut covariance) = old else {
            return Factored::centered(&variances, centers);
        };
        covariance.reset_centered(&variances, centers)?;
        Ok(covariance)
    }
}
