//! Moments of the logistic function under a belief of middling width: the trapezoid rule, all nodes at once in SIMD.

use crate::rule::{Evidence, Moments, Step};
use pulp::{Arch, Simd, WithSimd};

/// Largest variance of this path, and largest $|m|$: beyond it the terms of $c$ cancel too far.
pub(super) const WIDE: f64 = 1.2;
pub(super) const NEAR: f64 = 6.0;

/// Nodes, a multiple of the SIMD widths.
const NODES: usize = 32;
/// Their distance in deviations: for a Gaussian times a function with poles at $\pm i\pi$ the rule errs by
/// less than $10^{-12}$ here, and by $10^{-10}$ for what is beyond the last node.
const DISTANCE: f64 = 0.5;

/// Nodes in deviations and their weights, which sum to 1.
const RULE: ([f64; NODES], [f64; NODES]) = {
    let (mut at, mut weight) = ([0.0; NODES], [0.0; NODES]);
    let mut k = 0;
    while k < NODES {
        at[k] = (k as f64 - 0.5 * (NODES - 1) as f64) * DISTANCE;
        weight[k] = DISTANCE * 0.398_942_280_401_432_7 * small_exp(-0.5 * at[k] * at[k]);
        k += 1;
    }
    (at, weight)
};

/// $e^x$ for $-700 < x \le 0$ to rounding: $e^x = 2^n e^r$, $|r| \le \frac12\ln 2$, and twelve terms.
#[inline(always)]
const fn small_exp(x: f64) -> f64 {
    /// Adding it rounds to a whole number, which then stands in the last bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * 0.693_147_180_369_123_8) - n * 1.908_214_929_270_587_7e-10;
    let high = 1.0 / 362_880.0 + r * (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0 + r * (1.0 / 479_001_600.0)));
    let middle = 1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5_040.0 + r * (1.0 / 40_320.0 + r * high)));
    let value = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * middle))));
    value * f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0f64.to_bits()))
}

/// The moment-matching step of a label 1, $s \le$ [`WIDE`], $|m| \le$ [`NEAR`].
#[inline]
pub(super) fn moments(m: f64, s: f64) -> Moments {
    let [own, other, first, second] = Arch::new().dispatch(Sums { m, deviation: s.sqrt() });
    let inverse = 1.0 / own;
    let gain = first * inverse;
    let contraction = gain * gain - second * inverse;
    let step = Step { gain, curvature: contraction / (1.0 - contraction * s), contraction };
    let e = (-m.abs()).exp();
    let slope = -if m >= 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) };
    Moments { evidence: Evidence::Label { own, other }, slope, step }
}

/// $E[\sigma(u)]$, $E[\sigma(-u)]$, $E[\sigma'(u)]$ and $E[\sigma''(u)]$.
struct Sums {
    m: f64,
    deviation: f64,
}

impl WithSimd for Sums {
    type Output = [f64; 4];

    /// Loops over arrays, which the compiler turns into SIMD of the width at hand.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> [f64; 4] {
        const LANES: usize = 8;
        let mut sums = [[0.0; LANES]; 4];
        for part in 0..NODES / LANES {
            for lane in 0..LANES {
                let k = part * LANES + lane;
                let u = self.m + self.deviation * RULE.0[k];
                let e = small_exp(-u.abs());
                let r = 1.0 / (1.0 + e);
                let (p, q) = if u >= 0.0 { (r, e * r) } else { (e * r, r) };
                let (weight, slope) = (RULE.1[k], e * r * r);
                sums[0][lane] += weight * p;
                sums[1][lane] += weight * q;
                sums[2][lane] += weight * slope;
                sums[3][lane] += weight * slope * (q - p);
            }
        }
        let mut totals = [0.0; 4];
        for (total, sums) in totals.iter_mut().zip(sums) {
            for sum in sums {
                *total += sum;
            }
        }
        totals
    }
}
