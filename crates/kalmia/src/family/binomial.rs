//! The binomial family with the logistic link: $y$ successes of $n$ trials, or a proportion of
//! successes.

use super::fast::own_fast_paths;
use super::fast::{CdfTransition, Counts};
use super::log_link::count;
use super::{Family, FastPaths};
use crate::error::{Error, Result, require};
use crate::math::{beta_regularized, logistic, smallest, softplus};
use libm::lgamma;
use rand::{Rng, RngExt};

/// $\ell(y,u) = n\ln(1+e^u) - yu$ for $y$ successes of $n$ trials, each of probability
/// $1/(1+e^{-u})$.
///
/// [`Binomial::new`] fixes $n$ for all rows and takes counts. [`Binomial::proportion`] takes the
/// share $y = k/n$ and reads the number of trials of each row from its weight. Because
/// $n\,\ell_1(k/n, u) = \ell_n(k, u)$, both move the belief in the same way.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Parameters", into = "Parameters")]
pub struct Binomial {
    trials: f64,
    proportion: bool,
}

/// `trials` absent: proportions.
#[derive(serde::Serialize, serde::Deserialize)]
struct Parameters {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trials: Option<u64>,
}

impl From<Binomial> for Parameters {
    fn from(family: Binomial) -> Self {
        Self { trials: family.trials() }
    }
}

impl TryFrom<Parameters> for Binomial {
    type Error = Error;
    fn try_from(given: Parameters) -> Result<Self> {
        given.trials.map_or(Ok(Self::proportion()), Self::new)
    }
}

impl Binomial {
    /// Counts of successes among `trials` trials, 1 to $10^9$.
    pub fn new(trials: u64) -> Result<Self> {
        require(
            (1..=1_000_000_000).contains(&trials),
            "trials",
            trials as f64,
            "must be at least 1, at most 1e9",
        )?;
        Ok(Self { trials: trials as f64, proportion: false })
    }

    /// Proportions between 0 and 1; the weight of a row is its number of trials.
    ///
    /// A family does not know the weight, so mean, distribution, sampling and [`Family::log_base`]
    /// are those of one trial, without the row's binomial coefficient. To predict a count of `n`
    /// trials, give [`Binomial::new`]`(n)` to [`Prediction`](crate::predict::Prediction).
    pub fn proportion() -> Self {
        Self { trials: 1.0, proportion: true }
    }

    /// $(1-p)^n\sum_{j\le k}\binom nj r^j$ with the odds $r = e^u$: faster than the incomplete beta
    /// function for a few trials.
    fn summed_cdf(&self, u: f64, k: f64) -> f64 {
        let odds = u.exp();
        let mut term = 1.0;
        let mut sum = 1.0;
        let mut j = 1.0;
        while j <= k {
            term *= odds * (self.trials + 1.0 - j) / j;
            sum += term;
            j += 1.0;
        }
        (sum * (-self.trials * softplus(u)).exp()).min(1.0)
    }

    /// The fixed number of trials, or `None` for proportions.
    pub fn trials(&self) -> Option<u64> {
        (!self.proportion).then_some(self.trials as u64)
    }
}

/// Most trials whose distribution function is summed.
const MAX_SUMMED_TRIALS: f64 = 40.0;
/// Smallest logit at which it is not: $(1-p)^n$ stays far above the smallest number.
const MAX_SUMMED_LOGIT: f64 = 15.0;

impl Family for Binomial {
    fn name(&self) -> &str {
        "binomial"
    }

    fn domain(&self) -> &str {
        if self.proportion {
            "a proportion between 0 and 1"
        } else {
            "a whole number from 0 to the number of trials"
        }
    }

    #[inline(always)]
    fn canonical(&self, y: f64) -> Option<f64> {
        if self.proportion {
            (0.0..=1.0).contains(&y).then_some(y + 0.0)
        } else {
            count(y, self.trials)
        }
    }

    // Two non-negative terms: no cancellation for large |u|.
    #[inline(always)]
    fn loss(&self, y: f64, u: f64) -> f64 {
        y * softplus(-u) + (self.trials - y) * softplus(u)
    }

    #[inline(always)]
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        let e = (-u.abs()).exp();
        let r = 1.0 / (1.0 + e);
        let (success, failure) = if u >= 0.0 { (r, e * r) } else { (e * r, r) };
        ((self.trials - y) * success - y * failure, self.trials * (e * r * r))
    }

    fn log_base(&self, y: f64) -> f64 {
        if self.proportion {
            return 0.0;
        }
        lgamma(self.trials + 1.0) - lgamma(y + 1.0) - lgamma(self.trials - y + 1.0)
    }

    #[inline(always)]
    fn mean(&self, u: f64) -> f64 {
        self.trials * logistic(u)
    }

    fn variance(&self, u: f64) -> f64 {
        self.derivatives(0.0, u).1
    }

    fn quantile(&self, u: f64, q: f64) -> f64 {
        if q >= 1.0 {
            return self.trials;
        }
        let mean = self.mean(u);
        let deviation = self.variance(u).sqrt();
        let high = (mean + deviation).min(self.trials);
        smallest(|y| self.cdf(u, y), q, mean - deviation, high, 0.0, true)
    }

    fn cdf(&self, u: f64, y: f64) -> f64 {
        if y < 0.0 {
            return 0.0;
        }
        let k = y.floor();
        if k >= self.trials {
            return 1.0;
        }
        if self.trials <= MAX_SUMMED_TRIALS && u.abs() < MAX_SUMMED_LOGIT {
            return self.summed_cdf(u, k);
        }
        beta_regularized(self.trials - k, k + 1.0, logistic(-u), logistic(u))
    }

    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        let law =
            rand_distr::Binomial::new(self.trials as u64, logistic(u)).expect("a probability");
        rng.sample(law) as f64
    }

    fn discrete(&self) -> bool {
        true
    }

    fn bounded_gradient(&self) -> bool {
        true
    }

    fn moderated_mean(&self, m: f64, s: f64) -> f64 {
        self.trials * super::Bernoulli.moderated_mean(m, s)
    }

    #[inline(always)]
    fn fast(&self) -> impl FastPaths<Family = Self> {
        *self
    }
}

impl FastPaths for Binomial {
    own_fast_paths!();

    fn weight_is_trials(&self) -> bool {
        self.proportion
    }

    #[inline(always)]
    fn information(&self, u: f64) -> f64 {
        self.variance(u)
    }

    fn least_loss(&self, y: f64) -> f64 {
        let part = |k: f64| if k > 0.0 { k * (self.trials / k).ln() } else { 0.0 };
        part(y) + part(self.trials - y)
    }

    fn counts(&self) -> Option<Counts> {
        Some(Counts::OfTrials(self.trials))
    }

    /// The probability given the count is a beta variable of parameters $y+1$, $n-y$.
    fn cdf_transition(&self, y: f64) -> Option<CdfTransition> {
        let a = y.floor() + 1.0;
        let b = self.trials - y.floor();
        let legal = a > 0.0 && b > 0.0;
        legal.then(|| CdfTransition { center: (a / b).ln(), width: (1.0 / a + 1.0 / b).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_the_incomplete_beta_function() {
        for trials in [1, 2, 9, 40] {
            let family = Binomial::new(trials).unwrap();
            for u in [-14.9, -3.0, -0.2, 0.0, 1.4, 6.0, 14.9] {
                for k in 0..trials {
                    let k = k as f64;
                    let sum = family.summed_cdf(u, k);
                    let failures = family.trials - k;
                    let exact = beta_regularized(failures, k + 1.0, logistic(-u), logistic(u));
                    assert!((sum - exact).abs() < 1e-12, "{trials} {u} {k}: {sum} {exact}");
                }
            }
        }
    }
}
