//! The Poisson family with log link: $y \sim \mathrm{Poisson}(e^u)$.

mod zero;

use super::fast::own_fast_paths;
use super::fast::{CdfTransition, Counts};
use super::log_link::{MAX_COUNT, capped_exp, tangent_exp};
use super::{Family, FastPaths};
use crate::math::{gamma_pair, smallest};
use crate::rows::Observation;
use crate::step::Moments;
use libm::lgamma;
use rand::{Rng, RngExt};

/// $\ell(y,u) = e^u - yu$, for counts up to $2^{53}$.
///
/// `y` need not be a whole number: a rate $y = c/e$, for the count $c$ of a row with exposure $e$,
/// has the loss of the count if the row's weight is $e$. Quantiles and intervals are those of a
/// count, that is of exposure 1.
///
/// Beyond $u = 300$ the exponential saturates (see [`EXPONENT_CAP`](super::EXPONENT_CAP)): the loss
/// continues as its tangent, and $\ell'$, $\ell''$, mean and variance keep their values at 300.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Poisson;

/// Smallest count whose distribution function is not summed.
const MAX_SUMMED: f64 = 48.0;
/// Smallest mean at which it is not summed: $e^{-500}$ is far above the smallest number.
const MAX_SUMMED_MEAN: f64 = 500.0;

/// $e^{-\mu}\sum_{k\le y}\mu^k/k!$: faster than the incomplete gamma function for a small count.
fn summed_cdf(mean: f64, y: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    let mut k = 1.0;
    while k <= y {
        term *= mean / k;
        sum += term;
        k += 1.0;
    }
    (sum * (-mean).exp()).min(1.0)
}

impl Family for Poisson {
    fn name(&self) -> &str {
        "poisson"
    }

    fn domain(&self) -> &str {
        "a number from 0 to 9e15"
    }

    #[inline(always)]
    fn canonical(&self, y: f64) -> Option<f64> {
        // `+ 0.0` turns -0 into 0, so that equal targets have equal bits
        (0.0..=MAX_COUNT).contains(&y).then_some(y + 0.0)
    }

    #[inline(always)]
    fn loss(&self, y: f64, u: f64) -> f64 {
        tangent_exp(u) - y * u
    }

    #[inline(always)]
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        let mean = capped_exp(u);
        (mean - y, mean)
    }

    fn log_base(&self, y: f64) -> f64 {
        -lgamma(y + 1.0)
    }

    #[inline(always)]
    fn mean(&self, u: f64) -> f64 {
        capped_exp(u)
    }

    fn variance(&self, u: f64) -> f64 {
        capped_exp(u)
    }

    fn quantile(&self, u: f64, q: f64) -> f64 {
        if q >= 1.0 {
            return f64::INFINITY;
        }
        let mean = capped_exp(u);
        let deviation = mean.sqrt();
        smallest(|y| self.cdf(u, y), q, mean - deviation, mean + deviation, 0.0, true)
    }

    fn cdf(&self, u: f64, y: f64) -> f64 {
        if y < 0.0 {
            0.0
        } else if y == f64::INFINITY {
            1.0
        } else {
            let mean = capped_exp(u);
            if y < MAX_SUMMED && mean < MAX_SUMMED_MEAN {
                return summed_cdf(mean, y);
            }
            gamma_pair(y.floor() + 1.0, mean).1
        }
    }

    /// Above a mean of $10^{18}$ an `f64` cannot separate neighboring counts: the draw is a rounded
    /// normal.
    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        let mean = capped_exp(u);
        if mean > 1e18 {
            let z: f64 = rng.sample(rand_distr::StandardNormal);
            return (mean + mean.sqrt() * z).round();
        }
        rand_distr::Poisson::new(mean).map_or(0.0, |law| rng.sample(law))
    }

    fn discrete(&self) -> bool {
        true
    }

    fn largest_linear(&self) -> f64 {
        super::EXPONENT_CAP
    }

    fn moderated_mean(&self, m: f64, s: f64) -> f64 {
        capped_exp(m + 0.5 * s)
    }

    #[inline(always)]
    fn fast(&self) -> impl FastPaths<Family = Self> {
        *self
    }
}

impl FastPaths for Poisson {
    own_fast_paths!();

    fn least_loss(&self, y: f64) -> f64 {
        if y > 0.0 { y - y * y.ln() } else { 0.0 }
    }

    fn log_link(&self) -> bool {
        true
    }

    #[inline(always)]
    fn information(&self, u: f64) -> f64 {
        capped_exp(u)
    }

    /// A count of 0 only.
    #[inline]
    fn exact_moments(&self, observation: &Observation, m: f64, s: f64) -> Option<Moments> {
        if observation.y != 0.0 {
            return None;
        }
        zero::moments(observation, m, s)
    }

    fn counts(&self) -> Option<Counts> {
        Some(Counts::Unbounded)
    }

    /// $e^u$ given the count is a gamma variable of shape $y+1$.
    fn cdf_transition(&self, y: f64) -> Option<CdfTransition> {
        let shape = y.floor() + 1.0;
        let legal = shape > 0.0 && shape.is_finite();
        legal.then(|| CdfTransition { center: shape.ln(), width: 1.0 / shape.sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_the_incomplete_gamma_function() {
        for y in [0.0, 1.0, 7.0, 30.0, 47.0] {
            for mean in [1e-9, 0.3, 4.0, 33.0, 120.0, 499.0] {
                let sum = summed_cdf(mean, y);
                let exact = gamma_pair(y + 1.0, mean).1;
                assert!((sum - exact).abs() <= 1e-12 * exact, "{y} {mean}: {sum} {exact}");
            }
        }
    }
}
