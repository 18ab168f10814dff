//! Moments of the logistic function under a belief of medium width: the trapezoid rule, all nodes
//! at once in SIMD.
//!
//! For a Gaussian times a function with poles at $\pm i\pi$ the rule converges exponentially; the
//! two sizes give the moment-matching step to $10^{-10}$, most of that error being what lies beyond
//! the last node.

use crate::math::{arch, exp, logistic};
use crate::step::{Evidence, Moments, Step};
use pulp::{Simd, WithSimd};

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

/// The moment-matching step of a label 1 for $s \le$ [`MAX_VARIANCE`], $-m \le$ [`MAX_SURPRISE`].
#[inline]
pub(super) fn moments(m: f64, s: f64) -> Moments {
    let deviation = s.sqrt();
    let [own, other, first, second] = if s <= MAX_SMALL_VARIANCE {
        arch().dispatch(Sums { m, deviation, rule: &SMALL })
    } else {
        arch().dispatch(Sums { m, deviation, rule: &LARGE })
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
