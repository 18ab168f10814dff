//! Moments of the logistic function under a belief of medium width: the trapezoid rule, all nodes
//! at once in SIMD.
//!
//! For a Gaussian times a function with poles at $\pm i\pi$ the rule converges exponentially; the
//! two sizes give the moment-matching step to $10^{-10}$, most of that error being what lies beyond
//! the last node.

use super::narrow::{LabelsOf, StepOf};
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
    let expectations = if s <= MAX_SMALL_VARIANCE {
        arch().dispatch(Nodes { m, deviation, rule: &SMALL })
    } else {
        arch().dispatch(Nodes { m, deviation, rule: &LARGE })
    };
    let LabelsOf { own, other } = expectations.labels();
    let StepOf { gain, curvature, contraction } = expectations.step(s);
    let step = Step { gain, curvature, contraction };
    Moments { evidence: Evidence::Label { own, other }, slope: -logistic(-m), step }
}

/// The expectations for a register of labels 1 at once, under beliefs that [`moments`] serves or
/// narrower ones; `odds` are $e^m$.
#[inline(always)]
pub(super) fn expectations<S: Simd>(
    odds: Register<S>,
    s: Register<S>,
) -> Expectations<Register<S>> {
    if s.largest() <= MAX_SMALL_VARIANCE { SMALL.lanes(odds, s) } else { LARGE.lanes(odds, s) }
}

impl<const N: usize> Rule<N> {
    /// One node after another, for all labels.
    #[inline(always)]
    fn lanes<S: Simd>(&self, odds: Register<S>, s: Register<S>) -> Expectations<Register<S>> {
        let mut first = [0.0; MAX_LANES];
        let mut growth = [0.0; MAX_LANES];
        s.store(&mut growth);
        for (first, growth) in first.iter_mut().zip(&mut growth) {
            let deviation = growth.sqrt();
            *first = exp(deviation * self.first);
            *growth = exp(deviation * self.distance);
        }
        let mut e = odds * Register::load(odds.simd, &first);
        let growth = Register::load(odds.simd, &growth);
        let mut sums = Expectations::zero(e);
        for weight in self.weights {
            sums.add(e.constant(weight), e);
            e = e * growth;
        }
        sums
    }
}

/// Sums over nodes $u$.
#[derive(Clone, Copy)]
pub(super) struct Expectations<N> {
    /// $E[\sigma(u)]$ and $E[\sigma(-u)]$.
    own: N,
    other: N,
    /// $E[\sigma'(u)]$ and $E[\sigma''(u)]$.
    first: N,
    second: N,
}

impl<N: Number> Expectations<N> {
    #[inline(always)]
    fn zero(like: N) -> Self {
        let zero = like.constant(0.0);
        Self { own: zero, other: zero, first: zero, second: zero }
    }

    /// Adds a node, given by $e^u$.
    #[inline(always)]
    fn add(&mut self, weight: N, e: N) {
        let one = e.constant(1.0);
        let q = one / (one + e);
        let p = e * q;
        let slope = weight * (p * q);
        self.own = self.own + weight * p;
        self.other = self.other + weight * q;
        self.first = self.first + slope;
        self.second = self.second + slope * (q - p);
    }

    #[inline(always)]
    pub fn labels(&self) -> LabelsOf<N> {
        LabelsOf { own: self.own, other: self.other }
    }

    #[inline(always)]
    pub fn step(&self, s: N) -> StepOf<N> {
        let one = s.constant(1.0);
        let inverse = one / self.own;
        let gain = self.first * inverse;
        let contraction = gain * gain - self.second * inverse;
        StepOf { gain, curvature: contraction / (one - contraction * s), contraction }
    }
}

/// The nodes of one label, in registers.
struct Nodes<'a, const N: usize> {
    m: f64,
    deviation: f64,
    rule: &'a Rule<N>,
}

impl<const N: usize> WithSimd for Nodes<'_, N> {
    type Output = Expectations<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Expectations<f64> {
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
        let mut sums = Expectations::zero(e);
        for weights in rule.weights.chunks_exact(S::F64_LANES) {
            sums.add(Register::load(simd, weights), e);
            e = e * growth;
        }
        let Expectations { own, other, first, second } = sums;
        Expectations {
            own: own.total(),
            other: other.total(),
            first: first.total(),
            second: second.total(),
        }
    }
}
