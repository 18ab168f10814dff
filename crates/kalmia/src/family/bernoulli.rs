//! The Bernoulli family with the logistic link: $P(y=1) = 1/(1+e^{-u})$.

mod narrow;
mod wide;

use super::Family;
use crate::predict::gaussian_expectation;
use crate::rows::Observation;
use crate::rule::{Evidence, Moments, Step};
use narrow::Narrow;
use rand::{Rng, RngExt};

/// $\ell(y,u) = \ln(1+e^{-zu})$, $z = 2y-1$; labels 0/1, -1/+1 and booleans give the same
/// trajectory.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Bernoulli;

/// Beyond it $e^{-u}$ comes close to the smallest number.
const FAR: f64 = 600.0;

/// $1/(1+e^{-u})$ without overflow.
#[inline(always)]
pub fn logistic(u: f64) -> f64 {
    let e = (-u.abs()).exp();
    if u >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

/// $\ln(1+e^{u})$ without overflow.
#[inline(always)]
pub fn softplus(u: f64) -> f64 {
    u.max(0.0) + ln_1p((-u.abs()).exp())
}

/// $\ln(1+e)$ for $-\frac12 \le e \le 1$, to two units in the last place: the logarithm of the
/// rounded sum, and its rounding added. Twice as fast as the standard library's, which serves a
/// wider range.
#[inline(always)]
fn ln_1p(e: f64) -> f64 {
    let sum = 1.0 + e;
    sum.ln() + (e - (sum - 1.0)) / sum
}

/// What one exponential tells of a label at `u`.
struct At {
    /// $e^{-|u|}$ and $1/(1+e^{-|u|})$.
    e: f64,
    r: f64,
    /// The probability of the label.
    own: f64,
    first: f64,
    second: f64,
}

impl At {
    // l' from the product zu and l'' from |u|, so that (x,y) -> (-x,-y) changes no bit (identity
    // I22).
    #[inline(always)]
    fn new(y: f64, u: f64) -> Self {
        let z = if y > 0.0 { 1.0 } else { -1.0 };
        let e = (-u.abs()).exp();
        let r = 1.0 / (1.0 + e);
        let (own, other) = if z * u >= 0.0 { (r, e * r) } else { (e * r, r) };
        Self { e, r, own, first: -z * other, second: e * r * r }
    }
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

    #[inline(always)]
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        let At { first, second, .. } = At::new(y, u);
        (first, second)
    }

    /// With $e = e^{-|u|}$, $\alpha = we/(1+e)^2$ and $\ell' = \mp\{1, e\}/(1+e)$, so that $c =
    /// we/D$ and $g = \pm w\{1,e\}(1+e)/D$ with $D = (1+e)^2 + wes$: the next row waits for one
    /// division in place of three.
    #[inline(always)]
    fn kalman_step(&self, observation: &Observation, m: f64, s: f64) -> Step {
        let u = m + observation.offset;
        let z = if observation.y > 0.0 { 1.0 } else { -1.0 };
        let e = (-u.abs()).exp();
        let (sum, own) = (1.0 + e, if z * u >= 0.0 { e } else { 1.0 });
        let (square, scaled) = (sum * sum, observation.weight * e);
        let inverse = 1.0 / (square + scaled * s);
        Step {
            gain: z * observation.weight * own * sum * inverse,
            curvature: scaled / square,
            contraction: scaled * inverse,
        }
    }

    /// One exponential for all three.
    #[inline(always)]
    fn look(&self, y: f64, u: f64) -> (f64, f64, f64) {
        let At { e, r, first, .. } = At::new(y, u);
        let mean = if u >= 0.0 { r } else { e * r };
        (mean, (if y > 0.0 { -u } else { u }).max(0.0) + ln_1p(e), first)
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

    /// The trapezoid rule, whose error for a Gaussian times a function with poles at $\pm i\pi$ is
    /// below $10^{-12}$ at these steps; a wide belief goes to the adaptive integral.
    fn moderated_mean(&self, m: f64, s: f64) -> f64 {
        let deviation = s.sqrt();
        if deviation > 4.0 {
            return gaussian_expectation(m, s, logistic);
        }
        if s <= narrow::NARROW_MEAN
            && let Some(narrow) = Narrow::new(m, s)
        {
            return narrow.mean();
        }
        // The lower tail keeps its relative accuracy, and P(1) + P(0) = 1 to the last bit.
        if m > 0.0 {
            return 1.0 - self.moderated_mean(-m, s);
        }
        let step = if deviation > 1.0 { 0.6 / deviation } else { 0.6 };
        let (first, last) =
            ((-8.5 / step).floor() as i32, ((8.5 + deviation) / step).ceil() as i32);
        let sum: f64 = (first..=last)
            .map(|k| {
                let z = f64::from(k) * step;
                (-0.5 * z * z).exp() * logistic(m + deviation * z)
            })
            .sum();
        sum * step / std::f64::consts::TAU.sqrt()
    }

    #[inline(always)]
    fn mean_from_evidence(&self, y: f64, evidence: Evidence) -> Option<f64> {
        Some(match (evidence, y == 1.0) {
            (Evidence::Label { own: mean, .. }, true)
            | (Evidence::Label { other: mean, .. }, false) => mean,
            (Evidence::Log(value), true) => value.exp(),
            (Evidence::Log(value), false) => -value.exp_m1(),
        })
        .map(|mean| mean.clamp(0.0, 1.0))
    }

    #[inline(always)]
    fn likelihood(&self, y: f64, u: f64) -> Option<(f64, f64, f64)> {
        let At { own, first, second, .. } = At::new(y, u);
        Some((own, first, second))
    }

    /// A series for a narrow belief, a fixed rule for a wider one.
    #[inline(always)]
    fn exact_moments(&self, observation: &Observation, m: f64, s: f64) -> Option<Moments> {
        let z = if observation.y > 0.0 { 1.0 } else { -1.0 };
        let u = z * (m + observation.offset);
        if observation.weight != 1.0 {
            return None;
        }
        // an expected label, u > 0, cancels nothing, however sure it was
        let narrow = if (-narrow::NEAR..=FAR).contains(&u) { Narrow::new(u, s) } else { None };
        let mut moments = match narrow {
            Some(narrow) => narrow.moments(s),
            None if s <= wide::WIDE && (-wide::NEAR..=FAR).contains(&u) => wide::moments(u, s),
            None => return None,
        };
        moments.step.gain *= z;
        moments.slope *= z;
        Some(moments)
    }

    fn fall(&self, y: f64) -> Option<(f64, f64)> {
        (0.0..1.0).contains(&y).then_some((0.0, std::f64::consts::SQRT_2))
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
    fn the_logarithm_is_the_standard_librarys() {
        for k in 0..=4000 {
            let e = (-f64::from(k) * 0.0101).exp();
            for e in [e, -0.5 * e] {
                assert!((ln_1p(e) / e.ln_1p() - 1.0).abs() <= 2.0 * f64::EPSILON, "{e:e}");
            }
        }
        assert_eq!(ln_1p(0.0), 0.0);
    }

    #[test]
    fn one_look_is_the_three_functions() {
        for u in [-700.0, -3.0, -0.0, 0.0, 0.7, 40.0] {
            for y in [0.0, 1.0] {
                let (likelihood, first, second) = Bernoulli.likelihood(y, u).unwrap();
                assert!((likelihood / (-Bernoulli.loss(y, u)).exp() - 1.0).abs() < 1e-13);
                assert_eq!((first, second), Bernoulli.derivatives(y, u));
                assert_eq!(
                    Bernoulli.look(y, u),
                    (Bernoulli.mean(u), Bernoulli.loss(y, u), Bernoulli.derivatives(y, u).0)
                );
            }
        }
    }

    #[test]
    fn one_division_gives_the_same_step() {
        for (y, weight, offset) in [(0.0, 1.0, 0.0), (1.0, 1.0, 0.3), (1.0, 7.0, -2.0)] {
            let observation = Observation { y, weight, offset };
            for m in [-700.0, -30.0, -1.2, 0.0, 0.4, 5.0, 40.0] {
                for s in [0.0, 1e-8, 0.3, 20.0, 1e9, 1e200] {
                    let (first, curvature) = observation.derivatives(&Bernoulli, m);
                    let (long, short) = (
                        Step::against(first, curvature, s),
                        Bernoulli.kalman_step(&observation, m, s),
                    );
                    let close = |a: f64, b: f64| (a - b).abs() <= 1e-15 * a.abs();
                    assert!(
                        close(long.gain, short.gain) && close(long.curvature, short.curvature),
                        "{m} {s}: {long:?} {short:?}"
                    );
                    assert!(
                        close(long.contraction, short.contraction),
                        "{m} {s}: {long:?} {short:?}"
                    );
                }
            }
        }
    }

    /// Against the integrals, which a weight of 1 + epsilon takes.
    #[test]
    fn a_belief_steps_as_the_integral_does() {
        for y in [0.0, 1.0] {
            for u in [
                -narrow::NEAR,
                -9.0,
                -wide::NEAR,
                -3.3,
                -1.0,
                -0.1,
                0.0,
                0.4,
                1.7,
                wide::NEAR,
                12.0,
                narrow::NEAR,
                40.0,
                FAR,
            ] {
                let m = if y > 0.0 { u } else { -u };
                let [very, quite, rather, just] = narrow::NARROW;
                for s in [
                    1e-9,
                    1e-5,
                    very,
                    1e-3,
                    quite,
                    2e-2,
                    rather,
                    5e-2,
                    just,
                    0.1,
                    0.4,
                    1.2,
                    1.3,
                    2.0,
                    wide::WIDE,
                ] {
                    let Some(series) = Bernoulli.exact_moments(&Observation::new(y), m, s) else {
                        assert!(s > just && u < -wide::NEAR);
                        continue;
                    };
                    let other = Observation { y, weight: 1.0 + f64::EPSILON, offset: 0.0 };
                    let integral = crate::rule::moments(&Bernoulli, &other, m, s);
                    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
                    let same = close(series.step.gain, integral.step.gain)
                        && close(series.step.contraction, integral.step.contraction)
                        && close(series.slope, integral.slope)
                        && (series.evidence.ln() - integral.evidence.ln()).abs()
                            < 1e-10 * integral.evidence.ln().abs() + 1e-15;
                    assert!(same, "y {y}, m {m}, s {s}: {series:?} {integral:?}");
                }
            }
        }
    }

    #[test]
    fn a_narrow_belief_moderates_as_the_integral_does() {
        for m in [-30.0, -8.0, -2.3, -1.0, -0.1, 0.0, 0.4, 1.7, 6.0, 20.0] {
            for s in [1e-9, 1e-5, 1e-3, narrow::NARROW_MEAN] {
                let (series, integral) =
                    (Bernoulli.moderated_mean(m, s), gaussian_expectation(m, s, logistic));
                assert!(
                    (series / integral - 1.0).abs() < 1e-12,
                    "m {m}, s {s}: {series:e} {integral:e}"
                );
                assert!((series + Bernoulli.moderated_mean(-m, s) - 1.0).abs() < 1e-15);
            }
        }
    }
}
