//! The Gaussian family: $y \sim N(u, \sigma^2)$. The filter is then the exact Kalman filter, which
//! is ridge regression.

use super::fast::own_fast_paths;
use super::{Family, FastPaths};
use crate::error::{Error, Result, require};
use crate::math::{normal_cdf, normal_quantile};
use crate::rows::{MAX_FEATURE, Observation};
use crate::step::{Evidence, Moments, Step};
use rand::{Rng, RngExt};

/// $\ell(y,u) = (y-u)^2/(2\sigma^2)$.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Parameters")]
pub struct Gaussian {
    noise: f64,
}

#[derive(serde::Deserialize)]
struct Parameters {
    noise: f64,
}

impl TryFrom<Parameters> for Gaussian {
    type Error = Error;
    fn try_from(given: Parameters) -> Result<Self> {
        Gaussian::new(given.noise)
    }
}

impl Default for Gaussian {
    fn default() -> Self {
        Self { noise: 1.0 }
    }
}

impl Gaussian {
    /// Noise variance $\sigma^2 > 0$ (the paper's quadratic loss is $\sigma^2 = 1$, the default).
    pub fn new(noise: f64) -> Result<Self> {
        require(
            noise > 0.0 && noise.is_finite(),
            "noise",
            noise,
            "must be a finite positive variance",
        )?;
        Ok(Self { noise })
    }

    /// $\sigma^2$.
    pub fn noise(&self) -> f64 {
        self.noise
    }
}

impl Family for Gaussian {
    fn name(&self) -> &str {
        "gaussian"
    }

    fn domain(&self) -> &str {
        "a finite number, at most 1e120 in size"
    }

    #[inline(always)]
    fn canonical(&self, y: f64) -> Option<f64> {
        (y.abs() <= MAX_FEATURE).then_some(y)
    }

    #[inline(always)]
    fn loss(&self, y: f64, u: f64) -> f64 {
        0.5 * (y - u) * (y - u) / self.noise
    }

    #[inline(always)]
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        ((u - y) / self.noise, 1.0 / self.noise)
    }

    fn log_base(&self, _y: f64) -> f64 {
        -0.5 * (std::f64::consts::TAU * self.noise).ln()
    }

    #[inline(always)]
    fn mean(&self, u: f64) -> f64 {
        u
    }

    fn variance(&self, _u: f64) -> f64 {
        self.noise
    }

    fn quantile(&self, u: f64, q: f64) -> f64 {
        u + self.noise.sqrt() * normal_quantile(q)
    }

    fn cdf(&self, u: f64, y: f64) -> f64 {
        normal_cdf((y - u) / self.noise.sqrt())
    }

    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        let z: f64 = rng.sample(rand_distr::StandardNormal);
        u + self.noise.sqrt() * z
    }

    fn normal_noise(&self) -> Option<f64> {
        Some(self.noise)
    }

    fn dispersion(&self) -> Option<f64> {
        Some(self.noise)
    }

    fn with_dispersion(&self, noise: f64) -> Result<Self> {
        Self::new(noise)
    }

    fn moderated_mean(&self, m: f64, _s: f64) -> f64 {
        m
    }

    #[inline(always)]
    fn fast(&self) -> impl FastPaths<Family = Self> {
        *self
    }
}

impl FastPaths for Gaussian {
    own_fast_paths!();

    #[inline(always)]
    fn code(&self, y: f64) -> f64 {
        y
    }

    #[inline(always)]
    fn least_loss(&self, _y: f64) -> f64 {
        0.0
    }

    fn exact_moments(&self, observation: &Observation, m: f64, s: f64) -> Option<Moments> {
        let curvature = observation.weight / self.noise;
        let spread = 1.0 + curvature * s;
        let residual = observation.y - observation.offset - m;
        Some(Moments {
            evidence: Evidence::Log(
                -0.5 * (spread.ln() + curvature * residual * residual / spread),
            ),
            slope: -curvature * residual,
            step: Step::against(-curvature * residual, curvature, s),
        })
    }

    #[inline(always)]
    fn with_dispersion_unchecked(&self, noise: f64) -> Self {
        Self { noise }
    }
}
