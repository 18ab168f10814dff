//! The negative binomial family with log link: counts of mean $\mu = e^u$ and variance $\mu +
//! \alpha\mu^2$.

use super::fast::{CdfTransition, ShapeTerms, own_fast_paths};
use super::log_link::{MAX_COUNT, capped_exp, count};
use super::{Family, FastPaths};
use crate::error::{Error, Result, require};
use crate::math::{beta_regularized, digamma_ratio, ln_gamma_ratio, logistic, smallest, softplus};
use crate::rows::Observation;
use libm::lgamma;
use rand::{Rng, RngExt};

/// $\ell(y,u) = \frac1\alpha\ln(1 + \alpha e^u) + y\ln(1 + e^{-u}/\alpha)$, dispersion $\alpha$.
///
/// A count is Poisson with a rate that varies around $e^u$ like a gamma variable of shape
/// $1/\alpha$. As $\alpha \to 0$ it is [`Poisson`](super::Poisson). Use it when counts vary more
/// than Poisson counts and a large mean goes with a still larger variance: visits, claims, sales.
///
/// $\alpha$ does not divide the loss, so it is no dispersion in the sense of
/// [`Family::dispersion`]. The default learner learns it together with the coefficients; a filter
/// keeps the one that it was given.
///
/// Targets are whole numbers. A count of exposure $e$ has the offset $\ln e$: a rate with a weight
/// would have another law.
///
/// ```
/// use kalmia::{Family, NegativeBinomial, Poisson};
/// let visits = NegativeBinomial::new(0.5)?;
/// let u = 4f64.ln();
/// assert!((visits.variance(u) - (4.0 + 0.5 * 16.0)).abs() < 1e-12);
/// assert!(visits.log_density(20.0, u) > Poisson.log_density(20.0, u) + 5.0);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Parameters")]
pub struct NegativeBinomial {
    dispersion: f64,
    /// $\ln\alpha$, which every loss needs.
    #[serde(skip)]
    ln_dispersion: f64,
}

#[derive(serde::Deserialize)]
struct Parameters {
    dispersion: f64,
}

impl TryFrom<Parameters> for NegativeBinomial {
    type Error = Error;
    fn try_from(given: Parameters) -> Result<Self> {
        NegativeBinomial::new(given.dispersion)
    }
}

impl Default for NegativeBinomial {
    fn default() -> Self {
        Self { dispersion: 1.0, ln_dispersion: 0.0 }
    }
}

/// Range of $\alpha$: at the lower end no data show a difference from Poisson counts.
const MIN_DISPERSION: f64 = 1e-8;
const MAX_DISPERSION: f64 = 1e8;
/// Smallest count, and smallest mean, whose distribution function is not summed.
const MAX_SUMMED: f64 = 48.0;
const MAX_SUMMED_MEAN: f64 = 500.0;
/// Largest $\alpha$ times the size of a count for which a Poisson law is as good as rounding.
const MAX_POISSON: f64 = 1e-15;
/// Largest variance of a linear predictor whose row says something of $\alpha$, as a share of
/// $\alpha$ and at least: the belief about the mean must not be wider than the law.
const MAX_VARIANCE_SHARE: f64 = 0.5;
const MAX_VARIANCE: f64 = 0.25;

impl NegativeBinomial {
    /// Dispersion $\alpha$ in $[10^{-8}, 10^8]$.
    pub fn new(dispersion: f64) -> Result<Self> {
        require(
            (MIN_DISPERSION..=MAX_DISPERSION).contains(&dispersion),
            "dispersion",
            dispersion,
            "must lie between 1e-8 and 1e8",
        )?;
        Ok(Self { dispersion, ln_dispersion: dispersion.ln() })
    }

    /// $\alpha$.
    pub fn dispersion(&self) -> f64 {
        self.dispersion
    }

    /// $k = 1/\alpha$.
    fn size(&self) -> f64 {
        1.0 / self.dispersion
    }

    /// $\sum_{j \le y} p(j)$ by the recurrence of the probabilities.
    fn summed_cdf(&self, mean: f64, y: f64) -> f64 {
        let a = self.dispersion;
        let factor = mean / (1.0 + a * mean);
        let mut term = 1.0;
        let mut sum = 1.0;
        let mut j = 0.0;
        while j + 1.0 <= y {
            term *= factor * (1.0 + a * j) / (j + 1.0);
            sum += term;
            j += 1.0;
        }
        (sum * (-(a * mean).ln_1p() / a).exp()).min(1.0)
    }
}

impl Family for NegativeBinomial {
    fn name(&self) -> &str {
        "negative-binomial"
    }

    fn domain(&self) -> &str {
        "a whole number from 0 to 9e15"
    }

    #[inline(always)]
    fn canonical(&self, y: f64) -> Option<f64> {
        count(y, MAX_COUNT)
    }

    #[inline(always)]
    fn loss(&self, y: f64, u: f64) -> f64 {
        // both terms are positive: a large count does not cancel
        let v = u + self.ln_dispersion;
        self.size() * softplus(v) + y * softplus(-v)
    }

    #[inline(always)]
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        let k = self.size();
        let share = logistic(u + self.ln_dispersion);
        let rest = logistic(-u - self.ln_dispersion);
        (k * share - y * rest, (y + k) * share * rest)
    }

    fn log_base(&self, y: f64) -> f64 {
        ln_gamma_ratio(self.size(), y) - lgamma(y + 1.0) - y * self.ln_dispersion
    }

    #[inline(always)]
    fn mean(&self, u: f64) -> f64 {
        capped_exp(u)
    }

    fn variance(&self, u: f64) -> f64 {
        let mean = capped_exp(u);
        mean * (1.0 + self.dispersion * mean)
    }

    fn quantile(&self, u: f64, q: f64) -> f64 {
        if q >= 1.0 {
            return f64::INFINITY;
        }
        let mean = capped_exp(u);
        let deviation = self.variance(u).sqrt();
        smallest(|y| self.cdf(u, y), q, mean - deviation, mean + deviation, 0.0, true)
    }

    fn cdf(&self, u: f64, y: f64) -> f64 {
        if y < 0.0 {
            return 0.0;
        }
        if y == f64::INFINITY {
            return 1.0;
        }
        let mean = capped_exp(u);
        if y < MAX_SUMMED && mean < MAX_SUMMED_MEAN {
            return self.summed_cdf(mean, y.floor());
        }
        let scaled = self.dispersion * mean;
        if scaled * mean.max(y) < MAX_POISSON {
            return super::Poisson.cdf(u, y);
        }
        beta_regularized(
            self.size(),
            y.floor() + 1.0,
            1.0 / (1.0 + scaled),
            scaled / (1.0 + scaled),
        )
    }

    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        let scale = self.dispersion * capped_exp(u);
        let rate = rand_distr::Gamma::new(self.size(), scale).map_or(0.0, |law| rng.sample(law));
        super::Poisson.sample(rate.max(f64::MIN_POSITIVE).ln(), rng)
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

impl FastPaths for NegativeBinomial {
    own_fast_paths!();

    fn log_link(&self) -> bool {
        true
    }

    #[inline(always)]
    fn information(&self, u: f64) -> f64 {
        let mean = capped_exp(u);
        mean / (1.0 + self.dispersion * mean)
    }

    fn least_loss(&self, y: f64) -> f64 {
        if y == 0.0 {
            return 0.0;
        }
        let scaled = self.dispersion * y;
        self.size() * scaled.ln_1p() + y * scaled.recip().ln_1p()
    }

    /// The logit of $\alpha\mu/(1+\alpha\mu)$ given the count is that of a beta variable of
    /// parameters $y+1$ and $k$.
    fn cdf_transition(&self, y: f64) -> Option<CdfTransition> {
        let shape = y.floor() + 1.0;
        let legal = shape > 0.0 && shape.is_finite();
        let a = self.dispersion;
        // psi(k) is about ln k - 1/(2k) for a large k, and -1/k for a small one
        let center = shape.ln() + 0.5 * a;
        legal.then(|| CdfTransition { center, width: (1.0 / shape + a + a * a).sqrt() })
    }

    fn shape(&self) -> Option<f64> {
        Some(self.dispersion)
    }

    #[inline(always)]
    fn with_shape_unchecked(&self, shape: f64) -> Self {
        let dispersion = shape.clamp(MIN_DISPERSION, MAX_DISPERSION);
        Self { dispersion, ln_dispersion: dispersion.ln() }
    }

    /// The derivative of the log density in $\alpha$. A belief of variance $s$ about `u` makes
    /// counts vary like a dispersion of $\alpha + s$, so it is taken there. The information is
    /// $\mu^2/(2(1+\alpha\mu)^2)$ for a small $\alpha$; the last factor was fitted to sums over the
    /// law and is within a factor 1.5 for $\alpha \le 100$ and $0.01 \le \mu \le 100$. It only sets
    /// how fast the estimate moves, not where to.
    fn shape_terms(&self, observation: &Observation, m: f64, s: f64) -> ShapeTerms {
        let Observation { y, weight, offset } = *observation;
        let u = m + offset;
        let useful = s <= MAX_VARIANCE + MAX_VARIANCE_SHARE * self.dispersion
            && u.abs() < super::EXPONENT_CAP;
        if weight == 0.0 || !useful {
            return ShapeTerms::default();
        }
        let mean = (u + 0.5 * s).exp();
        let a = self.dispersion + s;
        let log = (a * mean).ln_1p();
        let rate = (mean - y) * a / (1.0 + a * mean);
        let score = (log - digamma_ratio(1.0 / a, y) - rate) / (a * a);
        let ratio = mean / (1.0 + a * mean);
        let information = 0.5 * ratio * ratio / (1.0 + a / (1.0 + 1.5 * log));
        ShapeTerms {
            weight,
            score: weight * score,
            information: weight * information,
            level: weight * mean,
            ..ShapeTerms::default()
        }
    }

    /// In $\ln(\alpha + 1/\mu)$, at a typical mean $\mu$, a row has about the information 1/2
    /// whatever $\alpha$ is.
    fn shape_offset(&self, level: f64) -> f64 {
        1.0 / level
    }
}

#[cfg(test)]
mod tests;
