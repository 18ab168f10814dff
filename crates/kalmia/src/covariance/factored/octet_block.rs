//! A block of rows on the factored form by Bierman's recursion itself, in another order: all rows
//! are projected first, then decided one after another, then applied.
//!
//! Rows are decided from their inner products $x_i^\top Px_j$, which a step changes by a rank-one
//! term. So rows that alternate between many beliefs need a few kilobytes of each. Then each belief
//! takes all steps, eight at a time. A step corrects the projections of the rows after it as the
//! sweep would correct the matrix, so the numbers are those of the row-by-row form, except for
//! rounding. The matrix is read twice and written once per block.

use super::octet::{self, Decision, MAX_BLOCK, OCTET, OCTETS, Steps};
use super::side_by_side::{SideBySide, products, project};
use super::{Factored, FactoredBelief};
use crate::covariance::MIN_VARIANCE_SHARE;
use crate::linalg::Buffer;
use crate::rule::Step;
use pulp::Simd;
use std::ops::Range;

/// What a belief needs to apply a block. Beliefs take turns with it.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockSteps {
    steps: [Steps; OCTETS],
}

impl BlockSteps {
    /// Makes room for a block of some octets.
    pub fn reserve(&mut self, stride: usize, octets: usize) {
        self.steps[..octets].iter_mut().for_each(|steps| steps.reserve(stride));
    }
}

/// One belief's side of a block.
#[derive(Debug, Clone, Default)]
pub(super) struct OctetBlock {
    /// The projections $f$ of each octet.
    f: [Buffer; OCTETS],
    /// A number per row: linear predictors, and $s$ before the block.
    m: Buffer,
    start: Buffer,
    /// $x_i^\top Px_j$ for $i \le j$ after the rows that are decided; rows are [`MAX_BLOCK`] apart.
    /// Entries with $i > j$ have no meaning.
    gram: Buffer,
    decisions: [Decision; MAX_BLOCK],
}

impl OctetBlock {
    /// Makes room for a block of some octets.
    pub fn reserve(&mut self, stride: usize, octets: usize) {
        self.m.reserve(MAX_BLOCK);
        self.start.reserve(MAX_BLOCK);
        self.gram.reserve(octets * OCTET * MAX_BLOCK);
        self.f[..octets].iter_mut().for_each(|f| f.reserve(OCTET * stride));
    }

    /// Opens a block of the rows in `x`.
    #[inline(always)]
    pub fn open<S: Simd>(&mut self, simd: S, belief: &FactoredBelief, x: &SideBySide) {
        let Factored { dim, stride, ref u, ref d, .. } = belief.covariance;
        project(simd, u, dim, stride, x, &mut self.f);
        products(simd, &belief.theta[..dim], x, &mut self.m);
        let d = &d[..dim];
        for (a, f) in self.f.iter().take(x.octets()).enumerate() {
            let rows = &mut self.gram[a * OCTET * MAX_BLOCK..];
            octet::gram::<S, true>(simd, d, f, f, &mut rows[a * OCTET..]);
            for (b, other) in self.f.iter().enumerate().take(x.octets()).skip(a + 1) {
                octet::gram::<S, false>(simd, d, f, other, &mut rows[b * OCTET..]);
            }
        }
        for (j, start) in self.start.iter_mut().take(x.octets() * OCTET).enumerate() {
            *start = self.gram[j * (MAX_BLOCK + 1)];
        }
    }

    /// The linear predictor of row `j`.
    #[inline(always)]
    pub fn predictor(&self, j: usize) -> f64 {
        self.m[j]
    }

    /// $s$ of row `j`, the next one; `None` if the steps before it have cost precision, and the
    /// block must end.
    #[inline(always)]
    pub fn variance(&self, j: usize) -> Option<f64> {
        let s = self.gram[j * (MAX_BLOCK + 1)];
        (s >= MIN_VARIANCE_SHARE * self.start[j]).then_some(s)
    }

    /// Takes the decision of row `j` of a block of `rows`: what the rows after it see of it.
    #[inline(always)]
    pub fn decide<S: Simd>(&mut self, simd: S, rows: usize, j: usize, step: Step) {
        let Step { gain, curvature, contraction } = step;
        self.decisions[j] = Decision { gain, curvature };
        let (row, later) = self.gram[j * MAX_BLOCK..].split_at_mut(MAX_BLOCK);
        let padded = Buffer::padded(rows);
        let overlaps = S::as_simd_f64s(&row[..padded]).0;
        let from = j / S::F64_LANES;
        let gain = simd.splat_f64s(gain);
        let m = S::as_mut_simd_f64s(&mut self.m[..padded]).0;
        for (m, overlap) in m[from..].iter_mut().zip(&overlaps[from..]) {
            *m = simd.mul_add_f64s(gain, *overlap, *m);
        }
        for (i, later) in (j + 1..rows).zip(later.chunks_exact_mut(MAX_BLOCK)) {
            let factor = simd.splat_f64s(-contraction * row[i]);
            let from = i / S::F64_LANES;
            let later = S::as_mut_simd_f64s(&mut later[..padded]).0;
            for (later, overlap) in later[from..].iter_mut().zip(&overlaps[from..]) {
                *later = simd.mul_add_f64s(factor, *overlap, *later);
            }
        }
    }

    /// Applies the decisions of the first `rows` rows.
    #[inline(always)]
    pub fn apply<S: Simd>(
        &mut self,
        simd: S,
        belief: &mut FactoredBelief,
        rows: usize,
        scratch: &mut BlockSteps,
    ) {
        let FactoredBelief { theta, covariance } = belief;
        let Factored { dim, stride, ref mut u, ref mut d, .. } = *covariance;
        let BlockSteps { steps } = scratch;
        let octets = rows.div_ceil(OCTET);
        let padded = Buffer::padded(dim);
        for octet in 0..octets {
            let (f, later) = self.f[octet..octets].split_first_mut().expect("octets are left");
            let f = &mut f[..OCTET * padded];
            let steps = &mut steps[octet];
            f[OCTET * dim..].fill(0.0);
            let first = octet * OCTET;
            let decisions = &self.decisions[first..rows.min(first + OCTET)];
            for (t, decision) in decisions.iter().enumerate() {
                octet::prefetch_strip(u, stride, part_of(dim, first + t, rows));
                steps.take(simd, t, f, *decision, d);
            }
            if decisions.len() < OCTET {
                steps.clear_from(decisions.len());
            }
            for f in later {
                let steps = std::slice::from_ref(steps);
                octet::sweep::<S, false>(simd, f, OCTET, dim, steps, &mut [0.0; OCTET]);
            }
        }
        octet::sweep::<S, true>(simd, u, stride, dim, &steps[..octets], theta);
    }
}

/// Part `i` of `parts` of the numbers below `len`.
#[inline(always)]
fn part_of(len: usize, i: usize, parts: usize) -> Range<usize> {
    len * i / parts..len * (i + 1) / parts
}
