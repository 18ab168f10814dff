//! The Poisson family with log link: $y \sim \mathrm{Poisson}(e^u)$.

use super::Family;
use super::invert::smallest;
use super::log_link::{LARGEST_COUNT, capped_exp, count, tangent_exp};
use super::special::gamma_pair;
use libm::lgamma;
use rand::{Rng, RngExt};

/// $\ell(y,u) = e^u - yu$, for counts up to $2^{53}$.
///
/// Beyond $u = 300$ the exponential saturates (see [`EXPONENT_CAP`](super::EXPONENT_CAP)): the loss goes on as its tangent, and
/// $\ell'$, $\ell''$, mean and variance keep their values at 300.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Poisson;

impl Family for Poisson {
    fn name(&self) -> &'static str {
        "poisson"
    }

    fn domain(&self) -> &'static str {
        "a whole number, 0 or more"
    }

    #[inline(always)]
    fn canonical(&self, y: f64) -> Option<f64> {
        count(y, LARGEST_COUNT)
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
            gamma_pair(y.floor() + 1.0, capped_exp(u)).1
        }
    }

    /// Above a mean of $10^{18}$, where no `f64` tells a count from its neighbours, the draw is normal and rounded.
    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        let mean = capped_exp(u);
        if mean > 1e18 {
            let z: f64 = rng.sample(rand_distr::StandardNormal);
            return (mean + mean.sqrt() * z).round();
        }
        rand_distr::Poisson::new(mean).map_or(0.0, |law| rng.sample(law))
    }

    fn largest_linear(&self) -> f64 {
        super::EXPONENT_CAP
    }

    /// $e^u$ given the count is a gamma variable of shape $y+1$.
    fn fall(&self, y: f64) -> Option<(f64, f64)> {
        let shape = y.floor() + 1.0;
        (shape > 0.0 && shape.is_finite()).then(|| (shape.ln(), 1.0 / shape.sqrt()))
    }

    fn moderated_mean(&self, m: f64, s: f64) -> f64 {
        capped_exp(m + 0.5 * s)
    }

    fn discrete(&self) -> bool {
        true
    }
}
