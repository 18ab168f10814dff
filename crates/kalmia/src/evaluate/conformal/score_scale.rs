//! The scale on which a target is compared with its prediction: scores are about standard normal
//! if the model is right, and every score stands for a value that a target can have.

use super::super::Predicted;
use crate::family::{AnyFamily, Family, FastPaths};
use crate::math::normal_quantile;
use crate::predict::Interval;

/// Largest variance of a linear predictor under a log link that counts, and largest squared
/// coefficient of variation that moves the center: what is known beyond is nothing.
const MAX_LOG_VARIANCE: f64 = 5.0;
const MAX_RELATIVE_VARIANCE: f64 = 4.0;

/// How scores are made of targets, for one prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ScoreScale {
    /// Normal and Student's noise, quantiles: $(y - \mu)/\sigma$.
    Location { center: f64, spread: f64 },
    /// Amounts and counts: the cube root of $y$ in units of its mean (Wilson and Hilferty 1931).
    CubeRoot { base: f64, center: f64, spread: f64, counts: Option<Counts> },
    /// Successes out of `trials`: $\arcsin\sqrt{p}$, whose variance hardly depends on $p$.
    Arcsine { center: f64, spread: f64, trials: f64 },
}

/// Counts per so many units of exposure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Counts {
    exposure: f64,
}

/// A count `y` stands for all numbers between $y - 1/2$ and $y + 1/2$.
const HALF: f64 = 0.5;

impl ScoreScale {
    /// For a prediction, and `exposure` units of exposure if targets are rates of counts.
    pub fn new(family: &AnyFamily, row: &Predicted, exposure: f64) -> Self {
        let Predicted { variance, dispersion, mean, .. } = *row;
        let spread_of_linear = variance.min(MAX_LOG_VARIANCE).exp();
        match family {
            AnyFamily::Gaussian(_) => {
                Self::Location { center: mean, spread: (dispersion + variance).sqrt() }
            }
            AnyFamily::Student(_) => {
                let spread = (dispersion * dispersion + variance).sqrt();
                Self::Location { center: mean, spread }
            }
            AnyFamily::Gamma(_) => {
                Self::cube_root(mean, (1.0 + dispersion) * spread_of_linear - 1.0, None)
            }
            AnyFamily::Poisson(_) => {
                let mean = mean * exposure;
                let within = dispersion.max(1.0) * mean;
                let variance = within + mean * mean * (spread_of_linear - 1.0);
                Self::counts(mean, variance, exposure)
            }
            AnyFamily::NegativeBinomial(_) => {
                let excess = (1.0 + dispersion) * spread_of_linear - 1.0;
                Self::counts(mean, mean + mean * mean * excess, 1.0)
            }
            AnyFamily::Binomial(binomial) => {
                let trials = binomial.trials().unwrap_or(1) as f64;
                let p = (mean / trials).clamp(0.0, 1.0);
                let factor = dispersion.max(1.0) + trials * p * (1.0 - p) * variance;
                let spread = 0.5 * (factor.min(trials) / trials).sqrt();
                Self::Arcsine { center: angle(mean, trials), spread, trials }
            }
            // a quantile; `Conformal::new` refuses all others
            _ => Self::Location { center: mean, spread: dispersion },
        }
    }

    fn counts(mean: f64, variance: f64, exposure: f64) -> Self {
        let base = mean + HALF;
        Self::cube_root(base, variance / (base * base), Some(Counts { exposure }))
    }

    fn cube_root(base: f64, relative: f64, counts: Option<Counts>) -> Self {
        let center = 1.0 - relative.min(MAX_RELATIVE_VARIANCE) / 9.0;
        Self::CubeRoot { base, center, spread: (relative / 9.0).sqrt(), counts }
    }

    /// The score of a target. A count is moved by `jitter`, between -1/2 and 1/2, so that every
    /// share of scores has a threshold.
    pub fn score(&self, y: f64, jitter: f64) -> f64 {
        match *self {
            Self::Location { center, spread } => score_of(y - center, spread),
            Self::CubeRoot { base, center, spread, counts } => {
                let amount = match counts {
                    Some(Counts { exposure }) => y * exposure + HALF + jitter,
                    None => y,
                };
                score_of((amount / base).cbrt() - center, spread)
            }
            Self::Arcsine { center, spread, trials } => {
                score_of(angle(y + jitter, trials) - center, spread)
            }
        }
    }

    /// The interval between two scores, in the family's support. Counts are rounded to those that
    /// the ends stand for, so an interval that holds the moved count holds the count.
    pub fn interval(&self, lower: f64, upper: f64) -> Interval {
        Interval { lower: self.value(lower), upper: self.value(upper) }
    }

    fn value(&self, score: f64) -> f64 {
        match *self {
            Self::Location { center, spread } => center + score * spread,
            Self::CubeRoot { base, center, spread, counts } => {
                let root = (center + score * spread).max(0.0);
                let amount = base * (root * root * root);
                match counts {
                    Some(Counts { exposure }) => (amount - HALF).round().max(0.0) / exposure,
                    None => amount,
                }
            }
            Self::Arcsine { center, spread, trials } => {
                let angle = (center + score * spread).clamp(0.0, std::f64::consts::FRAC_PI_2);
                let share = angle.sin() * angle.sin();
                (share * (trials + 1.0) - HALF).round().clamp(0.0, trials)
            }
        }
    }
}

/// $\arcsin\sqrt{(y+1/2)/(n+1)}$.
fn angle(y: f64, trials: f64) -> f64 {
    ((y + HALF) / (trials + 1.0)).clamp(0.0, 1.0).sqrt().asin()
}

/// A residual in units of its spread; without a spread, infinite unless the residual is 0.
fn score_of(residual: f64, spread: f64) -> f64 {
    if spread == 0.0 && residual == 0.0 { 0.0 } else { residual / spread }
}

/// The score below which the model itself expects this share of the targets: the quantile of its
/// noise at unit scale, or of the normal law.
pub(super) fn model_quantile(family: &AnyFamily, probability: f64) -> f64 {
    match family {
        AnyFamily::Student(_) | AnyFamily::Quantile(_) => {
            family.with_shape_unchecked(1.0).quantile(0.0, probability)
        }
        _ => normal_quantile(probability),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predicted(mean: f64) -> Predicted {
        Predicted { linear: 0.0, variance: 0.02, dispersion: 0.7, mean }
    }

    #[test]
    fn values_invert_scores() {
        for family in ["gaussian", "student:4", "quantile:0.3", "gamma"] {
            let scale = ScoreScale::new(&family.parse().unwrap(), &predicted(3.0), 1.0);
            for y in [0.001, 0.4, 3.0, 70.0] {
                let back = scale.value(scale.score(y, 0.0));
                assert!((back / y - 1.0).abs() < 1e-9, "{family}: {y} {back}");
            }
        }
        for family in ["poisson", "negative-binomial", "binomial:12"] {
            let scale = ScoreScale::new(&family.parse().unwrap(), &predicted(3.0), 1.0);
            for (y, jitter) in [(0.0, -0.49), (0.0, 0.3), (2.0, 0.49), (12.0, -0.2)] {
                assert_eq!(scale.value(scale.score(y, jitter)), y, "{family}");
            }
        }
        let rates = ScoreScale::new(&"poisson".parse().unwrap(), &predicted(0.25), 8.0);
        assert_eq!(rates.value(rates.score(0.375, 0.2)), 0.375);
    }

    #[test]
    fn every_value_is_in_the_support() {
        for family in ["poisson", "negative-binomial", "gamma", "binomial:12"] {
            let scale = ScoreScale::new(&family.parse().unwrap(), &predicted(2.5), 1.0);
            for score in [-1e100, -50.0, -3.0, 0.0, 3.0, 50.0] {
                let value = scale.value(score);
                let legal = value >= 0.0 && (family != "binomial:12" || value <= 12.0);
                let whole = family == "gamma" || value.fract() == 0.0;
                assert!(legal && whole, "{family} at {score}: {value}");
            }
        }
    }

    /// Against quantiles of the laws themselves: scores are about normal if the model is right.
    #[test]
    fn normal_scores_are_quantiles_of_the_law() {
        let cases = [
            ("poisson", 9.0, 1.0, [4.0, 15.0]),
            ("binomial:40", 10.0, 1.0, [5.0, 16.0]),
            // scipy.stats.gamma.ppf([0.025, 0.975], 4, scale=1/4)
            ("gamma", 1.0, 0.25, [0.272_466_3, 2.191_818_2]),
        ];
        for (family, mean, dispersion, expected) in cases {
            let row = Predicted { linear: 0.0, variance: 0.0, dispersion, mean };
            let scale = ScoreScale::new(&family.parse().unwrap(), &row, 1.0);
            let interval = scale.interval(-1.96, 1.96);
            for (found, expected) in [interval.lower, interval.upper].into_iter().zip(expected) {
                let error = if family == "gamma" { 0.02 } else { 1.0 };
                let close = f64::abs(found - expected) <= error;
                assert!(close, "{family}: {found} {expected}");
            }
        }
    }
}
