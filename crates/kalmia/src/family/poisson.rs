//! The Poisson family with log link: $y \sim \mathrm{Poisson}(e^u)$.

use super::fast::own_fast_paths;
use super::fast::{CdfTransition, Counts};
use super::log_link::{MAX_COUNT, capped_exp, count, tangent_exp};
use super::{Family, FastPaths};
use crate::math::{gamma_pair, ln_1p, smallest};
use crate::rows::Observation;
use crate::step::{Evidence, Moments, Step};
use libm::lgamma;
use rand::{Rng, RngExt};

/// $\ell(y,u) = e^u - yu$, for counts up to $2^{53}$.
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
        "a whole number, 0 or more"
    }

    #[inline(always)]
    fn canonical(&self, y: f64) -> Option<f64> {
        count(y, MAX_COUNT)
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

    /// For a count of 0 with a small mean: the series of $e^{-x}$, $x = we^u$, with $E[x^k] = w^k
    /// e^{km + k^2 s/2}$. The terms left out are smaller than the first of them.
    #[inline]
    fn exact_moments(&self, observation: &Observation, m: f64, s: f64) -> Option<Moments> {
        let u = m + observation.offset;
        if observation.y != 0.0 || u + 3.0 * s > -5.0 {
            return None;
        }
        let half = (0.5 * s).exp();
        let slope = observation.weight * u.exp();
        let growth = half * half;
        let x = slope * half;
        let x2 = x * growth * x;
        let x3 = x2 * growth * growth * x;
        let x4 = x3 * growth.powi(3) * x;
        let x5 = x4 * growth.powi(4) * x;
        // The fifth term of Z'' against the first; NaN is false here and goes to the integral.
        let converges = 25.0 / 120.0 * x5 <= 1e-10 * x;
        if !converges || x == 0.0 {
            return None;
        }
        let below = -x + x2 / 2.0 - x3 / 6.0 + x4 / 24.0;
        let inverse = 1.0 / (1.0 + below);
        let gain = (-x + x2 - x3 / 2.0 + x4 / 6.0) * inverse;
        let contraction = gain * gain + (x - 2.0 * x2 + 1.5 * x3 - x4 * (2.0 / 3.0)) * inverse;
        let step = Step { gain, curvature: contraction / (1.0 - contraction * s), contraction };
        Some(Moments { evidence: Evidence::Log(ln_1p(below)), slope, step })
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

    /// $E[f(u)]$ for $u \sim N(m, s)$ by the trapezoid rule.
    fn expectation(m: f64, s: f64, f: impl Fn(f64) -> f64) -> f64 {
        let node = |k: i32| f64::from(k) * 0.05;
        let term = |z: f64| (-0.5 * z * z).exp() * f(m + s.sqrt() * z);
        (-400..=400).map(|k| term(node(k))).sum::<f64>() * 0.05 / std::f64::consts::TAU.sqrt()
    }

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

    #[test]
    fn an_expected_zero_steps_as_the_integral_does() {
        let mut closed = 0;
        for m in [-40.0, -25.0, -12.0, -8.0, -6.5, -5.6] {
            for s in [1e-6, 0.01, 0.1, 0.5, 1.0, 2.0, 6.0] {
                for weight in [0.2, 1.0, 3.0] {
                    let row = Observation { y: 0.0, weight, offset: 0.0 };
                    let Some(found) = Poisson.exact_moments(&row, m, s) else { continue };
                    closed += 1;
                    let x = |u: f64| weight * u.exp();
                    let below = expectation(m, s, |u| (-x(u)).exp_m1());
                    let z = 1.0 + below;
                    let first = expectation(m, s, |u| x(u) * (-x(u)).exp()) / z;
                    let second = expectation(m, s, |u| (x(u) - x(u) * x(u)) * (-x(u)).exp()) / z;
                    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
                    let same = close(found.step.gain, -first)
                        && close(found.step.contraction, second + first * first)
                        && close(found.evidence.ln(), below.ln_1p())
                        && close(found.slope, row.derivatives(&Poisson, m).0);
                    assert!(same, "m {m}, s {s}, weight {weight}: {found:?}");
                }
            }
        }
        assert!(closed > 60, "{closed}");
    }
}
