//! Moments of the logistic function under a belief of medium width: the trapezoid rule, all nodes
//! at once in SIMD.
//!
//! For a Gaussian times a function with poles at $\pm i\pi$ the rule converges exponentially; the
//! two sizes give the moment-matching step to $10^{-10}$, most of that error being what lies beyond
//! the last node.

use crate::math::logistic;
use crate::step::{Evidence, Moments, Step};
use pulp::{Arch, Simd, WithSimd};

/// Largest variance of this path.
pub(super) const MAX_VARIANCE: f64 = 5.0;
/// Largest $-m$, for an unexpected label: beyond it the terms of $c$ cancel too much.
pub(super) const MAX_SURPRISE: f64 = 6.0;

/// Largest variance for which the smaller rule is accurate.
const MAX_SMALL_VARIANCE: f64 = 1.2;
const SMALL: Rule<32> = Rule::new(0.5);
const LARGE: Rule<64> = Rule::new(0.28);

/// Nodes in deviations, and their weights, which sum to 1.
struct Rule<const N: usize> {
    nodes: [f64; N],
    weights: [f64; N],
}

impl<const N: usize> Rule<N> {
    const fn new(distance: f64) -> Self {
        let mut nodes = [0.0; N];
        let mut weights = [0.0; N];
        let mut k = 0;
        while k < N {
            nodes[k] = (k as f64 - 0.5 * (N - 1) as f64) * distance;
            weights[k] = distance * INVERSE_ROOT_TAU * exp(-0.5 * nodes[k] * nodes[k]);
            k += 1;
        }
        Self { nodes, weights }
    }
}

const INVERSE_ROOT_TAU: f64 = 0.398_942_280_401_432_7;

/// $e^x$ for $-700 < x \le 0$ to rounding: $e^x = 2^n e^r$, $|r| \le \frac12\ln 2$, and twelve
/// terms; for the compiler to turn into SIMD.
#[inline(always)]
const fn exp(x: f64) -> f64 {
    /// Adding it rounds to a whole number, which then stands in the last bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * 0.693_147_180_369_123_8) - n * 1.908_214_929_270_587_7e-10;
    let high = 1.0 / 362_880.0
        + r * (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0 + r * (1.0 / 479_001_600.0)));
    let middle =
        1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5_040.0 + r * (1.0 / 40_320.0 + r * high)));
    let value = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * middle))));
    value * f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0f64.to_bits()))
}

/// The moment-matching step of a label 1 for $s \le$ [`MAX_VARIANCE`], $-m \le$ [`MAX_SURPRISE`].
#[inline]
pub(super) fn moments(m: f64, s: f64) -> Moments {
    let deviation = s.sqrt();
    let [own, other, first, second] = if s <= MAX_SMALL_VARIANCE {
        Arch::new().dispatch(Sums { m, deviation, rule: &SMALL })
    } else {
        Arch::new().dispatch(Sums { m, deviation, rule: &LARGE })
    };
    let inverse = 1.0 / own;
    let gain = first * inverse;
    let contraction = gain * gain - second * inverse;
    let step = Step { gain, curvature: contraction / (1.0 - contraction * s), contraction };
    Moments { evidence: Evidence::Label { own, other }, slope: -logistic(-m), step }
}

/// $E[\sigma(u)]$, $E[\sigma(-u)]$, $E[\sigma'(u)]$ and $E[\sigma''(u)]$.
struct Sums<'a, const N: usize> {
    m: f64,
    deviation: f64,
    rule: &'a Rule<N>,
}

/// Numbers in the widest register.
const LANES: usize = 8;

impl<const N: usize> WithSimd for Sums<'_, N> {
    type Output = [f64; 4];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> [f64; 4] {
        let Self { m, deviation, rule } = self;
        let mut sums = [[0.0; LANES]; 4];
        for (nodes, weights) in rule.nodes.chunks_exact(LANES).zip(rule.weights.chunks_exact(LANES))
        {
            for lane in 0..LANES {
                let u = m + deviation * nodes[lane];
                let e = exp(-u.abs());
                let r = 1.0 / (1.0 + e);
                let (p, q) = if u >= 0.0 { (r, e * r) } else { (e * r, r) };
                let slope = weights[lane] * (e * r * r);
                sums[0][lane] += weights[lane] * p;
                sums[1][lane] += weights[lane] * q;
                sums[2][lane] += slope;
                sums[3][lane] += slope * (q - p);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_the_standard_librarys() {
        for k in 0..4000 {
            let x = -f64::from(k) * 0.0107;
            assert!((exp(x) / x.exp() - 1.0).abs() < 4.0 * f64::EPSILON, "{x}");
        }
    }
}
