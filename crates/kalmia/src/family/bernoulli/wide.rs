//! Moments of the logistic function under a belief of medium width: the trapezoid rule, all nodes
//! at once in SIMD.
//!
//! For a Gaussian times a function with poles at $\pm i\pi$ the rule converges exponentially; the
//! two sizes give the moment-matching step to $10^{-10}$, most of that error being what lies beyond
//! the last node.

use crate::math::{MAX_LANES, Number, Register, arch, exp, logistic};
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

/// Nodes in deviations, the first of them and their distance, and their weights, which sum to 1.
struct Rule<const N: usize> {
    first: f64,
    distance: f64,
    weights: [f64; N],
}

impl<const N: usize> Rule<N> {
    const fn new(distance: f64) -> Self {
        let first = -0.5 * (N - 1) as f64 * distance;
        let mut weights = [0.0; N];
        let mut k = 0;
        while k < N {
            let node = first + k as f64 * distance;
            weights[k] = distance * INVERSE_ROOT_TAU * exp(-0.5 * node * node);
            k += 1;
        }
        Self { first, distance, weights }
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

impl<const N: usize> WithSimd for Sums<'_, N> {
    type Output = [f64; 4];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 4] {
        let Self { m, deviation, rule } = self;
        // from node to node e^u grows by the same factor, so two exponentials are enough
        let growth = exp(deviation * rule.distance);
        let mut values = [exp(m + deviation * rule.first); MAX_LANES];
        let mut register_growth = growth;
        for lane in 1..S::F64_LANES {
            values[lane] = values[lane - 1] * growth;
            register_growth *= growth;
        }
        let mut e = Register::load(simd, &values);
        let growth = e.constant(register_growth);
        let one = e.constant(1.0);
        let mut sums = [e.constant(0.0); 4];
        for weights in rule.weights.chunks_exact(S::F64_LANES) {
            let weight = Register::load(simd, weights);
            let q = one / (one + e);
            let p = e * q;
            let slope = weight * (p * q);
            sums[0] = sums[0] + weight * p;
            sums[1] = sums[1] + weight * q;
            sums[2] = sums[2] + slope;
            sums[3] = sums[3] + slope * (q - p);
            e = e * growth;
        }
        let mut totals = [0.0; 4];
        for (total, sum) in totals.iter_mut().zip(sums) {
            *total = sum.total();
        }
        totals
    }
}
