//! The Bernoulli family with the logistic link: $P(y=1) = 1/(1+e^{-u})$.

use super::Family;
use crate::predict::gaussian_expectation;
use rand::{Rng, RngExt};

/// $\ell(y,u) = \ln(1+e^{-zu})$, $z = 2y-1$; labels 0/1, -1/+1 and booleans give the same trajectory.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Bernoulli;

/// $1/(1+e^{-u})$ without overflow.
#[inline(always)]
pub fn logistic(u: f64) -> f64 {
    let e = (-u.abs()).exp();
    if u >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

/// $\ln(1+e^{u})$ without overflow.
#[inline(always)]
pub fn softplus(u: f64) -> f64 {
    u.max(0.0) + (-u.abs()).exp().ln_1p()
}

/// Largest variance at which four terms of the series in `s` are exact to rounding.
const NARROW: f64 = 4e-3;

/// $\sum_k \frac{s^k}{2^kk!}\sigma^{(2k)}(m)$ for $k \le 4$, the derivatives of the logistic function in $p = \sigma(m)$ and $v = p(1-p)$; each
/// is a multiple of `v`, so that the tails keep their relative accuracy.
fn moderated_narrow(m: f64, s: f64) -> f64 {
    let e = (-m.abs()).exp();
    let r = 1.0 / (1.0 + e);
    let (p, v, h) = (if m >= 0.0 { r } else { e * r }, e * r * r, 0.5 * s);
    let fourth = 1.0 + v * (-252.0 + v * (5040.0 - 20160.0 * v));
    let third = 1.0 + v * (-60.0 + 360.0 * v);
    let series = 1.0 + h / 2.0 * (1.0 - 12.0 * v + h / 3.0 * (third + h / 4.0 * fourth));
    p + h * v * (1.0 - 2.0 * p) * series
}

impl Family for Bernoulli {
    fn name(&self) -> &'static str {
        "bernoulli"
    }

    fn domain(&self) -> &'static str {
        "0 or 1 (or -1 and +1)"
    }

    #[inline(always)]
    fn canonical(&self, y: f64) -> Option<f64> {
        if y == 1.0 {
            Some(1.0)
        } else if y == 0.0 || y == -1.0 {
            Some(0.0)
        } else {
            None
        }
    }

    #[inline(always)]
    fn code(&self, y: f64) -> f64 {
        y.max(0.0)
    }

    #[inline(always)]
    fn loss(&self, y: f64, u: f64) -> f64 {
        softplus(if y > 0.0 { -u } else { u })
    }

    // l' from the product zu and l'' from |u|, so that (x,y) -> (-x,-y) changes no bit (identity I22).
    #[inline(always)]
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        let z = if y > 0.0 { 1.0 } else { -1.0 };
        let e = (-u.abs()).exp();
        let r = 1.0 / (1.0 + e);
        let tail = if z * u >= 0.0 { e * r } else { r };
        (-z * tail, e * r * r)
    }

    /// One exponential for all three.
    #[inline(always)]
    fn look(&self, y: f64, u: f64) -> (f64, f64, f64) {
        let z = if y > 0.0 { 1.0 } else { -1.0 };
        let e = (-u.abs()).exp();
        let r = 1.0 / (1.0 + e);
        let tail = if z * u >= 0.0 { e * r } else { r };
        (if u >= 0.0 { r } else { e * r }, (-z * u).max(0.0) + e.ln_1p(), -z * tail)
    }

    fn log_base(&self, _y: f64) -> f64 {
        0.0
    }

    #[inline(always)]
    fn mean(&self, u: f64) -> f64 {
        logistic(u)
    }

    fn variance(&self, u: f64) -> f64 {
        self.derivatives(1.0, u).1
    }

    fn quantile(&self, u: f64, q: f64) -> f64 {
        if q <= logistic(-u) { 0.0 } else { 1.0 }
    }

    fn cdf(&self, u: f64, y: f64) -> f64 {
        if y < 0.0 {
            0.0
        } else if y < 1.0 {
            logistic(-u)
        } else {
            1.0
        }
    }

    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        if rng.random::<f64>() < logistic(u) { 1.0 } else { 0.0 }
    }

    /// The trapezoid rule, whose error for a Gaussian times a function with poles at $\pm i\pi$ is below $10^{-12}$ at these
    /// steps; a wide belief goes to the adaptive integral.
    fn moderated_mean(&self, m: f64, s: f64) -> f64 {
        let deviation = s.sqrt();
        if deviation > 4.0 {
            return gaussian_expectation(m, s, logistic);
        }
        if s <= NARROW {
            return moderated_narrow(m, s);
        }
        // The lower tail keeps its relative accuracy, and P(1) + P(0) = 1 to the last bit.
        if m > 0.0 {
            return 1.0 - self.moderated_mean(-m, s);
        }
        let step = if deviation > 1.0 { 0.6 / deviation } else { 0.6 };
        let (first, last) = ((-8.5 / step).floor() as i32, ((8.5 + deviation) / step).ceil() as i32);
        let sum: f64 = (first..=last)
            .map(|k| {
                let z = f64::from(k) * step;
                (-0.5 * z * z).exp() * logistic(m + deviation * z)
            })
            .sum();
        sum * step / std::f64::consts::TAU.sqrt()
    }

    fn mean_from_evidence(&self, y: f64, log_evidence: f64) -> Option<f64> {
        Some(if y == 1.0 { log_evidence.exp() } else { -log_evidence.exp_m1() }.clamp(0.0, 1.0))
    }

    fn discrete(&self) -> bool {
        true
    }

    fn bounded_gradient(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_look_is_the_three_functions() {
        for u in [-700.0, -3.0, -0.0, 0.0, 0.7, 40.0] {
            for y in [0.0, 1.0] {
                assert_eq!(Bernoulli.look(y, u), (Bernoulli.mean(u), Bernoulli.loss(y, u), Bernoulli.derivatives(y, u).0));
            }
        }
    }

    #[test]
    fn a_narrow_belief_moderates_as_the_integral_does() {
        for m in [-30.0, -8.0, -2.3, -1.0, -0.1, 0.0, 0.4, 1.7, 6.0, 20.0] {
            for s in [1e-9, 1e-5, 1e-3, NARROW] {
                let (series, integral) = (moderated_narrow(m, s), gaussian_expectation(m, s, logistic));
                assert!((series / integral - 1.0).abs() < 1e-12, "m {m}, s {s}: {series:e} {integral:e}");
                assert!((series + moderated_narrow(-m, s) - 1.0).abs() < 1e-15);
            }
        }
    }
}
