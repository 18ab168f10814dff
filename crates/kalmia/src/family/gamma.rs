//! The gamma family with log link: $y > 0$ with mean $e^u$ and variance $\varphi e^{2u}$.

use super::fast::CdfTransition;
use super::fast::own_fast_paths;
use super::log_link::{capped_exp, clamped_exp, tangent_exp};
use super::{Family, FastPaths};
use crate::error::{Error, Result, require};
use crate::math::gamma_pair;
use crate::rows::MAX_FEATURE;
use libm::lgamma;
use rand::{Rng, RngExt};

/// $\ell(y,u) = (y e^{-u} + u)/\varphi$, dispersion $\varphi$ (the shape is $1/\varphi$; $\varphi =
/// 1$ is the exponential law).
///
/// Beyond $|u| = 300$ the exponential saturates (see [`EXPONENT_CAP`](super::EXPONENT_CAP)): for $u
/// < -300$ the loss continues as its tangent, and $\ell'$, $\ell''$ are constant; mean, variance
/// and distribution are constant on both sides.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Parameters")]
pub struct Gamma {
    dispersion: f64,
}

#[derive(serde::Deserialize)]
struct Parameters {
    dispersion: f64,
}

impl TryFrom<Parameters> for Gamma {
    type Error = Error;
    fn try_from(given: Parameters) -> Result<Self> {
        Gamma::new(given.dispersion)
    }
}

impl Default for Gamma {
    fn default() -> Self {
        Self { dispersion: 1.0 }
    }
}

impl Gamma {
    /// Dispersion $\varphi$ in $[10^{-12}, 10^{12}]$.
    pub fn new(dispersion: f64) -> Result<Self> {
        require(
            (1e-12..=1e12).contains(&dispersion),
            "dispersion",
            dispersion,
            "must lie between 1e-12 and 1e12",
        )?;
        Ok(Self { dispersion })
    }

    /// $\varphi$.
    pub fn dispersion(&self) -> f64 {
        self.dispersion
    }

    fn shape(&self) -> f64 {
        1.0 / self.dispersion
    }

    /// Quantile of the law of shape $a$ and scale 1, by bisection of $\ln y$ (a small shape spreads
    /// over hundreds of decades).
    fn standard_quantile(&self, q: f64) -> f64 {
        let a = self.shape();
        let below = |v: f64| gamma_pair(a, v.exp()).0 < q;
        let mut low = -745.0;
        let mut high = (a + 1.0).ln() + 1.0;
        while below(high) && high < 700.0 {
            high += 1.0;
        }
        while high - low > 1e-15 * high.abs().max(0.1) {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if below(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        high.exp()
    }
}

impl Family for Gamma {
    fn name(&self) -> &str {
        "gamma"
    }

    fn domain(&self) -> &str {
        "a number above 0, at most 1e120"
    }

    #[inline(always)]
    fn canonical(&self, y: f64) -> Option<f64> {
        (y > 0.0 && y <= MAX_FEATURE).then_some(y)
    }

    #[inline(always)]
    fn loss(&self, y: f64, u: f64) -> f64 {
        (y * tangent_exp(-u) + u) / self.dispersion
    }

    #[inline(always)]
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        let ratio = y * capped_exp(-u);
        ((1.0 - ratio) / self.dispersion, ratio / self.dispersion)
    }

    fn log_base(&self, y: f64) -> f64 {
        let shape = self.shape();
        shape * shape.ln() - lgamma(shape) + (shape - 1.0) * y.ln()
    }

    #[inline(always)]
    fn mean(&self, u: f64) -> f64 {
        clamped_exp(u)
    }

    fn variance(&self, u: f64) -> f64 {
        let mean = clamped_exp(u);
        self.dispersion * mean * mean
    }

    fn quantile(&self, u: f64, q: f64) -> f64 {
        if q <= 0.0 {
            0.0
        } else if q >= 1.0 {
            f64::INFINITY
        } else {
            self.standard_quantile(q) * self.dispersion * clamped_exp(u)
        }
    }

    fn cdf(&self, u: f64, y: f64) -> f64 {
        if y <= 0.0 {
            0.0
        } else if y == f64::INFINITY {
            1.0
        } else {
            gamma_pair(self.shape(), self.shape() * (y * clamped_exp(-u))).0
        }
    }

    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        let law = rand_distr::Gamma::new(self.shape(), self.dispersion)
            .expect("positive shape and scale");
        // A tiny shape can round to zero, which is not a legal y.
        (rng.sample(law) * clamped_exp(u)).max(f64::MIN_POSITIVE)
    }

    fn largest_linear(&self) -> f64 {
        super::EXPONENT_CAP
    }

    fn dispersion(&self) -> Option<f64> {
        Some(self.dispersion)
    }

    fn with_dispersion(&self, dispersion: f64) -> Result<Self> {
        Self::new(dispersion)
    }

    fn moderated_mean(&self, m: f64, s: f64) -> f64 {
        clamped_exp(m + 0.5 * s)
    }

    #[inline(always)]
    fn fast(&self) -> impl FastPaths<Family = Self> {
        *self
    }
}

impl FastPaths for Gamma {
    own_fast_paths!();

    fn log_link(&self) -> bool {
        true
    }

    #[inline(always)]
    fn information(&self, _u: f64) -> f64 {
        1.0
    }

    fn cdf_transition(&self, y: f64) -> Option<CdfTransition> {
        let legal = y > 0.0 && y.is_finite();
        legal.then(|| CdfTransition { center: y.ln(), width: self.dispersion.sqrt() })
    }

    fn least_loss(&self, y: f64) -> f64 {
        (1.0 + y.ln()) / self.dispersion
    }

    fn gamma_shape(&self) -> Option<f64> {
        Some(self.shape())
    }

    #[inline(always)]
    fn with_dispersion_unchecked(&self, dispersion: f64) -> Self {
        Self { dispersion }
    }
}
