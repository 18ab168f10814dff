//! The upper part of a normal law: Mills' ratio, mean and variance, without cancellation far out.

use libm::erfc;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2};

/// Smallest $t$ at which the continued fraction is used.
const MIN_FRACTION: f64 = 6.0;
/// Terms of the continued fraction: at $t = 6$ the error is below $10^{-13}$.
const FRACTION_TERMS: u32 = 40;

/// A standard normal $z$ given $z > t$, for $t \ge -37$.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HalfNormal {
    /// Mills' ratio $\Phi(-t)/\varphi(t)$.
    pub mills: f64,
    /// $E[z - t \mid z > t]$.
    pub excess: f64,
    /// $\mathrm{Var}[z \mid z > t]$.
    pub variance: f64,
}

impl HalfNormal {
    pub fn above(t: f64) -> Self {
        if t < MIN_FRACTION {
            let mills = FRAC_PI_2.sqrt() * erfc(t * FRAC_1_SQRT_2) * (0.5 * t * t).exp();
            let hazard = 1.0 / mills;
            let excess = hazard - t;
            return Self { mills, excess, variance: 1.0 - hazard * excess };
        }
        // 1/(t + 1/(t + 2/(t + 3/(t + ...))))
        let mut tail = 0.0;
        for k in (3..FRACTION_TERMS).rev() {
            tail = f64::from(k) / (t + tail);
        }
        let inner = 1.0 / (t + tail);
        let excess = 1.0 / (t + 2.0 * inner);
        Self { mills: 1.0 / (t + excess), excess, variance: (2.0 * inner - excess) * excess }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// $\int_0^\infty x^k e^{-tx - x^2/2}\,dx$ by the trapezoid rule.
    fn moment(t: f64, k: i32) -> f64 {
        let scale = 1.0 / t.abs().max(1.0);
        let step = 1e-3;
        // x = scale * e^v
        let term = |i: i32| {
            let x = scale * (f64::from(i) * step).exp();
            x.powi(k + 1) * (-t * x - 0.5 * x * x).exp()
        };
        (-40_000..=8000).map(term).sum::<f64>() * step
    }

    #[test]
    fn all_three_are_the_integrals() {
        for t in [-6.0, -1.3, 0.0, 0.7, 3.0, 5.99, 6.01, 9.0, 40.0, 1e4] {
            let HalfNormal { mills, excess, variance } = HalfNormal::above(t);
            let mass = moment(t, 0);
            let mean = moment(t, 1) / mass;
            let spread = moment(t, 2) / mass - mean * mean;
            let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
            assert!(close(mills, mass), "{t}: {mills} {mass}");
            assert!(close(excess, mean) && close(variance, spread), "{t}: {excess} {variance}");
        }
    }
}
