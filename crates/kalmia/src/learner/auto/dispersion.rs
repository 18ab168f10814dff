//! The estimate of the dispersion: normal-inverse-gamma for normal noise, Pearson's estimator for
//! the other families that have one, and for counts.

use super::member::MomentMatcher;
use super::outliers::{Downweighting, Judge, kept_spread, noise_share};
use super::pearson::{MAX_PEARSON, pearson};
use super::shape::ShapeSums;
use crate::error::{Error, Result, require};
use crate::family::{Family, FastPaths};
use crate::math::ln_gamma;
use crate::rows::Observation;
use serde::{Deserialize, Serialize};

/// Shape $a_1$ of the inverse-gamma prior, which counts as one row.
const PRIOR_SHAPE: f64 = 0.5;

/// Smallest scale, relative to the spread of `y` in the warm-up. The widest prior has a variance of
/// 1e15 in units of its square; with 1e21 a step would lose all significant digits.
const MIN_SCALE: f64 = 1e-6;

/// Runs over the warm-up if moments depend on an estimate.
const ESTIMATE_RUNS: usize = 3;

/// How the dispersion is learned.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::learner) enum Kind {
    /// There is none.
    None,
    /// Normal noise: exact, Student predictive.
    Normal,
    /// A parameter of the family: a point estimate.
    Pearson,
    /// Counts that vary more than their family allows: a point estimate of at least 1.
    Quasi,
    /// The law has a parameter that does not divide the loss; the learner's family holds it.
    Shape,
    /// The same for a scale; the prior is relative to the spread of `y`, which is the guess.
    Scale,
}

/// The part of the dispersion's belief that all members share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(in crate::learner) struct Dispersion {
    pub kind: Kind,
    /// Guess before the rows, from the warm-up.
    pub guess: f64,
    /// Sum of weights, or number of rows if [`weight_is_size`](Self::weight_is_size).
    pub rows: f64,
    /// Whether a row's weight is its number of trials or its exposure, so that a row with weight
    /// is one row; otherwise the weight is a number of rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weight_is_size: bool,
    /// Rows that say nothing about the noise: the first one, if it only sets an intercept with a
    /// flat prior.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spent: f64,
    /// Variance that beliefs are in units of: the squared scale of the law, if it has one to learn.
    /// A scale that turns out larger then widens all beliefs.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub unit: f64,
    /// What the rows say of the law's shape, if it has one to learn.
    #[serde(default, skip_serializing_if = "ShapeSums::is_empty")]
    pub shape: ShapeSums,
    /// The target that all rows so far had, if the law has a scale to learn and they had only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_target: Option<f64>,
    /// How rows are judged that are far from their prediction, if these count less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downweighting: Option<Downweighting>,
}

/// For fields that older files do not have.
pub(in crate::learner) fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

fn one() -> f64 {
    1.0
}

fn is_one(value: &f64) -> bool {
    *value == 1.0
}

impl Dispersion {
    pub fn new<F: Family>(family: &F) -> Self {
        let kind = match (family.dispersion(), family.normal_noise()) {
            _ if family.fast().location_level().is_some() => Kind::Scale,
            _ if family.fast().shape().is_some() => Kind::Shape,
            (None, _) if family.fast().overdispersed() => Kind::Quasi,
            (None, _) => Kind::None,
            (Some(_), Some(_)) => Kind::Normal,
            (Some(_), None) => Kind::Pearson,
        };
        let weight_is_size = family.fast().weight_is_trials();
        Self {
            kind,
            guess: 1.0,
            rows: 0.0,
            weight_is_size,
            spent: 0.0,
            unit: 1.0,
            shape: ShapeSums::default(),
            only_target: None,
            downweighting: None,
        }
    }

    /// Refuses a restored value that this family cannot have.
    pub fn check<F: Family>(&self, family: &F) -> Result<()> {
        let kind = Self::new(family).kind;
        // counts of earlier versions have no dispersion
        let older = self.kind == Kind::None && kind == Kind::Quasi;
        if self.kind != kind && !older {
            return Err(Error::State("the dispersion is that of another family".into()));
        }
        for (name, value) in [("rows", self.rows), ("spent", self.spent)] {
            require(value.is_finite() && value >= 0.0, name, value, "must be finite, 0 or more")?;
        }
        self.shape.check()?;
        let target = self.only_target.unwrap_or(0.0);
        require(target.is_finite(), "only target", target, "must be finite")?;
        self.downweighting.map_or(Ok(()), |downweighting| downweighting.check())?;
        let unit = self.unit;
        require(unit > 0.0 && unit.is_finite(), "unit", unit, "must be positive")?;
        let guess = self.guess;
        require(guess > 0.0 && guess.is_finite(), "dispersion", guess, "must be positive")
    }

    /// Whether the dispersion is a point estimate, which moments depend on.
    pub fn is_pearson(&self) -> bool {
        matches!(self.kind, Kind::Pearson | Kind::Quasi)
    }

    /// How often the rows of the warm-up are learned anew: several times if moments depend on an
    /// estimate, because both are found in turns.
    pub fn warm_up_runs(&self) -> usize {
        let estimates = self.is_pearson() || self.has_shape() || self.downweighting.is_some();
        if estimates { ESTIMATE_RUNS } else { 1 }
    }

    /// Whether the learner's family has a shape to learn.
    pub fn has_shape(&self) -> bool {
        matches!(self.kind, Kind::Shape | Kind::Scale)
    }

    /// The family with the shape that the rows so far show; `None` if it stays.
    ///
    /// With `sparse` rows, those whose belief is wider than the law count too.
    pub fn moved_family<F: Family>(&mut self, family: &F, sparse: bool) -> Option<F> {
        let moved =
            self.shape.step(family, self.least_scale(), self.kind == Kind::Scale, sparse)?;
        self.take_unit(&moved);
        Some(moved)
    }

    /// The smallest scale that the law may have, if it has one to learn.
    pub fn least_scale(&self) -> f64 {
        if self.kind == Kind::Scale { MIN_SCALE * self.guess } else { 0.0 }
    }

    /// Takes the unit of beliefs from the scale of a law.
    pub fn take_unit<F: Family>(&mut self, family: &F) {
        if let (Kind::Scale, Some(scale)) = (self.kind, family.fast().shape()) {
            self.unit = scale * scale;
        }
    }

    /// The step of rows, with beliefs in units of the dispersion.
    pub fn matcher<'a, F: Family>(&self, family: &'a F) -> MomentMatcher<'a, F> {
        let dispersion = if self.is_pearson() { self.guess } else { 1.0 };
        MomentMatcher { family, dispersion, unit: dispersion * self.unit, judge: self.judge() }
    }

    /// What decides how much of a row counts, if not every row counts in full.
    pub fn judge(&self) -> Option<Judge> {
        self.downweighting.map(|d| d.judge(self.kind, self.weight_is_size))
    }

    /// Takes the scale by which rows are judged from an estimate of the dispersion.
    pub fn take_noise(&mut self, estimate: f64) {
        let noise = if self.has_shape() { 1.0 } else { estimate };
        if let Some(downweighting) = &mut self.downweighting {
            downweighting.take_noise(noise);
        }
    }

    /// Forgets the rows, for a new run over them.
    pub fn reset(&mut self) {
        self.rows = 0.0;
        self.shape = ShapeSums::default();
    }

    /// The number of rows that a row of this weight counts as.
    pub(super) fn rows_of(&self, weight: f64) -> f64 {
        if self.weight_is_size && weight > 0.0 { 1.0 } else { weight }
    }

    /// Counts a row of which a share was learned.
    pub fn count(&mut self, weight: f64, share: f64) {
        self.rows += self.rows_of(weight) * noise_share(share);
        if let Some(downweighting) = &mut self.downweighting
            && weight > 0.0
        {
            downweighting.count(share);
        }
    }

    /// The factor of a row's part in the residual sum.
    pub fn residual_share(&self, share: f64) -> f64 {
        match self.downweighting {
            Some(_) => noise_share(share) / kept_spread(self.kind),
            None => 1.0,
        }
    }

    /// Rows that the estimate rests on.
    fn informative_rows(&self) -> f64 {
        (self.rows - self.spent).max(0.0)
    }

    /// Degrees of freedom of the predictive distribution.
    pub fn degrees(&self) -> f64 {
        if self.kind == Kind::Normal {
            2.0 * PRIOR_SHAPE + self.informative_rows()
        } else {
            f64::INFINITY
        }
    }

    /// The estimate from a member's residual sum.
    pub fn estimate(&self, residual: f64) -> f64 {
        let prior = 2.0 * PRIOR_SHAPE;
        let estimate = (prior * self.guess + residual) / (prior + self.informative_rows());
        match self.kind {
            Kind::None | Kind::Shape => 1.0,
            Kind::Scale => self.shape.inflation() * self.unit,
            Kind::Normal | Kind::Pearson => estimate,
            Kind::Quasi => estimate.max(1.0),
        }
    }

    /// The residual sum that gives this estimate.
    pub fn residual_of(&self, estimate: f64) -> f64 {
        let prior = 2.0 * PRIOR_SHAPE;
        (estimate * (prior + self.informative_rows()) - prior * self.guess).max(0.0)
    }

    /// The log marginal likelihood of all rows under normal noise as far as it depends on the
    /// residual sum: $-a\ln b$.
    pub fn log_marginal(&self, residual: f64) -> f64 {
        let a = PRIOR_SHAPE + 0.5 * self.informative_rows();
        let b = PRIOR_SHAPE * self.guess + 0.5 * residual;
        -a * b.ln()
    }

    /// What a row adds to the residual sum: for normal noise $w r^2/(1+ws)$, else the counterpart
    /// with Pearson's residual and the expected curvature, capped at [`MAX_PEARSON`].
    pub fn residual<F: Family>(
        &self,
        family: &F,
        observation: &Observation,
        m: f64,
        s: f64,
        so_far: f64,
    ) -> f64 {
        let Observation { y, weight, offset } = *observation;
        match self.kind {
            _ if weight == 0.0 => 0.0,
            Kind::None | Kind::Shape | Kind::Scale => 0.0,
            Kind::Normal => weight * (y - m - offset).powi(2) / (1.0 + weight * s),
            Kind::Pearson | Kind::Quasi => {
                let u = m + offset;
                let spread = 1.0 + weight * family.fast().information(u) * s;
                let largest = MAX_PEARSON * self.estimate(so_far) * self.rows_of(weight);
                (weight * pearson(family, y, u) / spread).min(largest)
            }
        }
    }

    /// The term of a row's log evidence that is common to all members: $\ln\Gamma(a+w/2) -
    /// \ln\Gamma(a) - \tfrac w2\ln 2\pi$.
    pub fn common_term(&self, weight: f64) -> f64 {
        let a = PRIOR_SHAPE + 0.5 * self.informative_rows();
        let half = 0.5 * weight;
        // Stirling's series for large a, where the difference of two log-gammas loses precision
        let gammas = if a > 1e4 {
            half * (a + 0.5 * (half - 1.0)).ln()
        } else {
            ln_gamma(a + half) - ln_gamma(a)
        };
        gammas - half * std::f64::consts::TAU.ln()
    }

    /// The member's own term for normal noise: $a\ln b - (a+w/2)\ln b' - \tfrac12\ln(1+ws)$,
    /// $b' = b + \text{added}/2$.
    pub fn member_term(&self, residual: f64, added: f64, weight: f64, s: f64) -> f64 {
        let a = PRIOR_SHAPE + 0.5 * self.informative_rows();
        let b = PRIOR_SHAPE * self.guess + 0.5 * residual;
        -a * (0.5 * added / b).ln_1p()
            - 0.5 * weight * (b + 0.5 * added).ln()
            - 0.5 * (weight * s).ln_1p()
    }
}
