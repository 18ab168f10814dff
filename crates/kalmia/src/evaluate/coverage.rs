//! Whether a row's target lies in its 95 % interval, judged from a few numbers of the prediction.

use crate::family::{AnyFamily, Family, FastPaths};
use crate::math::{beta_regularized, gamma_pair};
use crate::observe::RowView;
use crate::predict::MixturePrediction;

/// The normal quantile of a 95 % interval.
pub(super) const QUANTILE_95: f64 = 1.959_963_984_540_054;
/// Probability below the interval, and above it.
const TAIL: f64 = 0.025;
/// Largest variance of the linear predictor at which two moments describe a log-link family well.
const MAX_VARIANCE: f64 = 1.0;

/// Counts above it are judged by the normal distribution: the incomplete integrals take as many
/// steps as the root of the count.
const MAX_COUNT: f64 = 1e5;

/// What was known of a row before it was learned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// Mean of the linear predictor, the offset included.
    pub linear: f64,
    /// Its variance.
    pub variance: f64,
    /// The dispersion: noise variance, Gamma's $\varphi$, the negative binomial $\alpha$, or the
    /// factor by which counts vary more than their family allows (1 if they do not).
    pub dispersion: f64,
    /// The predicted mean of the target.
    pub mean: f64,
}

impl Predicted {
    /// Of a prediction by a learner of this dispersion, as [`RowView::dispersion`] defines it.
    pub fn new<F: Family>(prediction: &MixturePrediction<F>, dispersion: f64) -> Self {
        Self {
            linear: prediction.linear,
            variance: prediction.linear_variance,
            dispersion,
            mean: prediction.mean,
        }
    }
}

/// What an observer sees of a row before it is learned.
impl From<&RowView<'_>> for Predicted {
    fn from(row: &RowView<'_>) -> Self {
        Self {
            linear: row.linear + row.observation.offset,
            variance: row.variance,
            dispersion: row.dispersion,
            mean: row.mean,
        }
    }
}

/// Whether `y` lies in the 95 % interval of its prediction: neither $P(Y \le y)$ nor $P(Y \ge y)$
/// is below 2.5 %. For counts the ends are included, so an interval holds more than 95 %.
///
/// It replaces the predictive distribution by one of the same mean and variance: a normal,
/// gamma or negative binomial distribution, or a binomial one of fewer trials. That takes one or
/// two incomplete integrals, where the exact distribution takes dozens. Proportions, and rates of
/// the Poisson family, are judged as counts of `trials` trials or units of exposure.
///
/// ```
/// use kalmia::evaluate::{Predicted, covers};
/// let row = Predicted { linear: 1f64.ln(), variance: 0.0, dispersion: 1.0, mean: 1.0 };
/// let inside = |y: f64| covers(&"poisson".parse().unwrap(), &row, y, 1.0);
/// // P(Y <= 3) = 0.981, so the interval is 0 to 3
/// assert!(inside(0.0) && inside(3.0) && !inside(4.0));
/// ```
pub fn covers(family: &AnyFamily, row: &Predicted, y: f64, trials: f64) -> bool {
    let Predicted { linear, variance, dispersion, mean } = *row;
    match family {
        AnyFamily::Gaussian(_) => (y - mean).abs() <= QUANTILE_95 * (dispersion + variance).sqrt(),
        // of the asymmetric Laplace law, which targets need not follow
        AnyFamily::Quantile(quantile) => {
            let below = quantile.with_shape_unchecked(dispersion).cdf(mean, y);
            (TAIL..=1.0 - TAIL).contains(&below)
        }
        AnyFamily::Student(student) => {
            let scale = (dispersion * dispersion + variance).sqrt();
            let below = student.with_shape_unchecked(scale).cdf(mean, y);
            (TAIL..=1.0 - TAIL).contains(&below)
        }
        AnyFamily::Bernoulli(_) => (if y > 0.5 { mean } else { 1.0 - mean }) >= TAIL,
        AnyFamily::Binomial(binomial) => match binomial.trials() {
            Some(n) => count_of_trials(y, mean, n as f64, row),
            None => count_of_trials(y * trials, mean * trials, trials, row),
        },
        AnyFamily::Poisson(_) | AnyFamily::Gamma(_) | AnyFamily::NegativeBinomial(_)
            if variance > MAX_VARIANCE =>
        {
            // hardly anything is known yet: the uncertainty of the mean, on the log scale
            let noise = match family {
                AnyFamily::Gamma(_) => dispersion,
                AnyFamily::NegativeBinomial(_) => dispersion + 1.0 / mean.max(0.5),
                _ => dispersion / mean.max(0.5),
            };
            let distance = (y.max(0.5 * mean.min(1.0)).ln() - linear).abs();
            distance <= QUANTILE_95 * (variance + noise).sqrt()
        }
        AnyFamily::Poisson(_) => {
            let mean = mean * trials;
            count(y * trials, mean, (dispersion.max(1.0) - 1.0) / mean + variance.exp_m1())
        }
        AnyFamily::NegativeBinomial(_) => count(y, mean, (1.0 + dispersion) * variance.exp() - 1.0),
        AnyFamily::Gamma(_) => {
            let relative = (1.0 + dispersion) * variance.exp() - 1.0;
            let below = gamma_pair(1.0 / relative, y / (mean * relative)).0;
            (TAIL..=1.0 - TAIL).contains(&below)
        }
    }
}

/// A count of this mean and of the variance mean + mean^2 excess: Poisson, or negative binomial if
/// it varies more.
fn count(y: f64, mean: f64, excess: f64) -> bool {
    // P(Y >= 1) is at most the mean, which may also have underflowed to 0
    if mean < TAIL {
        return y < 0.5;
    }
    let size = 1.0 / excess;
    if mean > MAX_COUNT && size > MAX_COUNT {
        return inside_normal(y, mean, mean * (1.0 + mean * excess));
    }
    if excess * mean < 1e-3 {
        return inside(y, |y| gamma_pair(y + 1.0, mean).1);
    }
    let chance = size / (size + mean);
    inside(y, |y| beta_regularized(size, y + 1.0, chance, mean / (size + mean)))
}

/// A count of this mean out of `n` trials. One that varies more is judged as `n / f` trials of
/// which `y / f` succeed, with the factor `f` of the variance.
fn count_of_trials(y: f64, mean: f64, n: f64, row: &Predicted) -> bool {
    let chance = (mean / n).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
    let factor = row.dispersion.max(1.0) + n * chance * (1.0 - chance) * row.variance;
    let factor = factor.min(n).max(1.0);
    if mean.min(n - mean) > MAX_COUNT * factor {
        return inside_normal(y, mean, mean * (1.0 - chance) * factor);
    }
    inside(y, |y| {
        if y >= n {
            return 1.0;
        }
        let successes = (y + 0.5) / factor + 0.5;
        let failures = (n - y - 0.5) / factor + 0.5;
        beta_regularized(failures.max(1e-9), successes.max(1e-9), 1.0 - chance, chance)
    })
}

/// Whether neither tail beyond the count `y` is too small, with its distribution function.
fn inside(y: f64, cdf: impl Fn(f64) -> f64) -> bool {
    cdf(y) >= TAIL && (y < 0.5 || cdf(y - 1.0) < 1.0 - TAIL)
}

/// The same for a distribution so close to the normal one that the difference is lost in rounding
/// to counts.
fn inside_normal(y: f64, mean: f64, variance: f64) -> bool {
    (y - mean).abs() <= QUANTILE_95 * variance.sqrt() + 0.5
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{Binomial, Gamma, Poisson};
    use crate::predict::Prediction;

    /// The probability of the targets that the exact interval and the judgment disagree about.
    /// `targets` are in steps of `step`, all that there are for counts.
    fn disagreement(family: AnyFamily, m: f64, s: f64, targets: &[f64], step: f64) -> f64 {
        let exact = Prediction::new(family, m, s).unwrap();
        let ends = exact.interval(0.95).unwrap();
        let dispersion = family.dispersion().unwrap_or(1.0);
        let row = Predicted { linear: m, variance: s, dispersion, mean: exact.mean };
        let differs =
            |y: &&f64| covers(&family, &row, **y, 1.0) != (ends.lower <= **y && **y <= ends.upper);
        let differing = targets.iter().filter(differs);
        differing.map(|y| exact.cdf(*y) - exact.cdf(y - step)).sum()
    }

    #[test]
    fn the_judgment_is_that_of_the_exact_interval() {
        let counts: Vec<f64> = (0..400).map(f64::from).collect();
        let amounts: Vec<f64> = (1..4000).map(|k| 0.02 * f64::from(k)).collect();
        for m in [-4.0, -1.0, 0.0, 0.7, 2.0, 3.5] {
            for (s, most) in [(0.0, 0.0), (0.001, 0.03), (0.02, 0.03), (0.2, 0.04)] {
                let found = [
                    disagreement(Poisson.into(), m, s, &counts, 1.0),
                    disagreement(Binomial::new(30).unwrap().into(), m, s, &counts[..31], 1.0),
                    disagreement(Gamma::new(0.4).unwrap().into(), m, s, &amounts, 0.02),
                ];
                // an atom at an end of the interval may fall on either side
                assert!(found.iter().all(|&share| share <= most), "m {m}, s {s}: {found:?}");
            }
        }
    }

    #[test]
    fn overdispersed_counts_and_rates_are_judged_by_their_variance() {
        let row = |dispersion| Predicted { linear: 0.0, variance: 0.0, dispersion, mean: 9.0 };
        let poisson: AnyFamily = Poisson.into();
        let largest = |dispersion: f64, trials: f64| {
            let inside = |y: &i32| covers(&poisson, &row(dispersion), f64::from(*y), trials);
            (0..200).filter(inside).max().unwrap()
        };
        // negative binomial of mean 9 and variance 9, 18, 36: R's qnbinom(0.975, ...)
        assert_eq!([1.0, 2.0, 4.0].map(|phi| largest(phi, 1.0)), [15, 19, 24]);
        // 100 units of exposure: the rate's deviation is 0.3
        assert_eq!(largest(1.0, 100.0), 9);
        let family: AnyFamily = Binomial::new(20).unwrap().into();
        let half = |dispersion| Predicted { linear: 0.0, variance: 0.0, dispersion, mean: 10.0 };
        let held = |dispersion: f64| {
            (0..=20).filter(|y| covers(&family, &half(dispersion), f64::from(*y), 1.0)).count()
        };
        assert!(held(1.0) < held(2.0) && held(2.0) < held(6.0), "{}", held(2.0));
        assert_eq!(held(1.0), 9);
    }

    #[test]
    fn a_mean_of_nearly_0_covers_0_alone() {
        let poisson: AnyFamily = Poisson.into();
        for mean in [0.0, 1e-300, 1e-3, 0.024] {
            for dispersion in [1.0, 3.0] {
                let row = Predicted { linear: -9.0, variance: 0.0, dispersion, mean };
                let inside = [0.0, 1.0, 2.0].map(|y| covers(&poisson, &row, y, 1.0));
                assert_eq!(inside, [true, false, false], "{mean} {dispersion}");
            }
        }
    }

    #[test]
    fn huge_counts_are_judged_as_the_incomplete_integral_would() {
        let mean = 4.0 * MAX_COUNT;
        let row = Predicted { linear: mean.ln(), variance: 0.0, dispersion: 1.0, mean };
        let end = |judge: &dyn Fn(f64) -> bool| {
            (0..3000).map(|k| mean + f64::from(k)).take_while(|y| judge(*y)).count()
        };
        let normal = end(&|y| covers(&Poisson.into(), &row, y, 1.0));
        let exact = end(&|y| inside(y, |y| gamma_pair(y + 1.0, mean).1));
        assert!(normal.abs_diff(exact) <= 2 && exact > 1000, "{normal} {exact}");
        // half of 8e5 trials: the variance is half as large
        let half = Predicted { linear: 0.0, ..row };
        let family: AnyFamily = Binomial::new(8 * MAX_COUNT as u64).unwrap().into();
        let binomial = end(&|y| covers(&family, &half, y, 1.0));
        assert!((binomial as f64 / normal as f64 - 0.5f64.sqrt()).abs() < 0.01, "{binomial}");
    }
}
