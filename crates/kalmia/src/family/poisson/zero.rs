//! The moment-matching step of a count of 0: a series if the mean is small, a fixed rule if the
//! belief is wide.

use super::capped_exp;
use crate::math::{Normal, SmoothStep, StepExpectations, StepValue, ln_1p};
use crate::rows::Observation;
use crate::step::{Evidence, Moments, Step};
use std::sync::LazyLock;

/// Smallest variance of the fixed rule; below it Gauss-Hermite is as fast.
const MIN_VARIANCE: f64 = 0.5;

/// $1 - e^{-e^{-v}}$, $v = -u$. The density's transform at the frequency $\omega = 2\pi/h$ of the
/// nodes is the rule's error: $2|\Gamma(1+i\omega)| = 2 \cdot 10^{-12}$.
static STEP: LazyLock<SmoothStep<32>> = LazyLock::new(|| {
    let normal = Normal { center: 0.37, width: 0.5 };
    SmoothStep::new(-4.0, 0.33, normal, |v| {
        let x = (-v).exp();
        StepValue { value: -(-x).exp_m1(), density: x * (-x).exp() }
    })
});

/// The step for a belief $N(m, s)$, if a closed form is accurate.
#[inline]
pub(super) fn moments(observation: &Observation, m: f64, s: f64) -> Option<Moments> {
    series(observation, m, s).or_else(|| fixed_rule(observation, m, s))
}

/// For a small mean: the series of $e^{-x}$, $x = we^u$, with $E[x^k] = w^k e^{km + k^2 s/2}$. The
/// terms left out are smaller than the first of them.
#[inline]
fn series(observation: &Observation, m: f64, s: f64) -> Option<Moments> {
    let u = m + observation.offset;
    if u + 3.0 * s > -5.0 {
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

/// For a wide belief about a mean of at most 1: the fixed rule.
#[inline]
fn fixed_rule(observation: &Observation, m: f64, s: f64) -> Option<Moments> {
    let u = m + observation.offset;
    let weight = observation.weight;
    let shift = if weight == 1.0 { 0.0 } else { weight.ln() };
    if s < MIN_VARIANCE || !(u + shift <= 0.0 && shift.is_finite()) {
        return None;
    }
    let StepExpectations { value, density, second } = STEP.expectation(-(u + shift), s)?;
    let inverse = 1.0 / (1.0 - value);
    let gain = -density * inverse;
    let contraction = gain * gain + second * inverse;
    let step = Step { gain, curvature: contraction / (1.0 - contraction * s), contraction };
    Some(Moments { evidence: Evidence::Log(ln_1p(-value)), slope: weight * capped_exp(u), step })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Poisson;

    /// $E[f(u)]$ for $u \sim N(m, s)$ by the trapezoid rule.
    fn expectation(m: f64, s: f64, f: impl Fn(f64) -> f64) -> f64 {
        let node = |k: i32| f64::from(k) * 0.05;
        let term = |z: f64| (-0.5 * z * z).exp() * f(m + s.sqrt() * z);
        (-400..=400).map(|k| term(node(k))).sum::<f64>() * 0.05 / std::f64::consts::TAU.sqrt()
    }

    #[test]
    fn an_expected_zero_steps_as_the_integral_does() {
        let mut closed = 0;
        for m in [-40.0, -25.0, -12.0, -8.0, -6.5, -5.6] {
            for s in [1e-6, 0.01, 0.1, 0.5, 1.0, 2.0, 6.0] {
                for weight in [0.2, 1.0, 3.0] {
                    let row = Observation { y: 0.0, weight, offset: 0.0 };
                    let Some(found) = series(&row, m, s) else { continue };
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
