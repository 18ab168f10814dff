//! A block of rows on the factored form by Bierman's recursion itself, in another order: all rows
//! are projected first, then decided one after another, then applied eight at a time.
//!
//! A step corrects the projections of the rows after it as the sweep would correct the matrix, so
//! the numbers are those of the row-by-row form, except for rounding. The matrix is read twice and
//! written once per eight rows, while it is in the cache.

use super::octet::{self, MAX_BLOCK, OCTET, OCTETS, Steps};
use super::row::running_sums;
use super::side_by_side::{SideBySide, products, project};
use super::{Factored, FactoredBelief};
use crate::covariance::MIN_VARIANCE_SHARE;
use crate::linalg::Buffer;
use crate::rule::Step;
use pulp::Simd;

/// A number per row of a block.
#[derive(Debug, Clone)]
struct Lanes([f64; MAX_BLOCK]);

impl Default for Lanes {
    fn default() -> Self {
        Self([0.0; MAX_BLOCK])
    }
}

/// One belief's side of a block.
#[derive(Debug, Clone, Default)]
pub(super) struct OctetBlock {
    /// Of each octet: the projections $f$, and the steps.
    f: [Buffer; OCTETS],
    steps: [Steps; OCTETS],
    /// Linear predictors, and $s$ before the block.
    m: Lanes,
    start: Lanes,
    /// $D$ after the rows so far.
    d: Buffer,
    /// The next row: $f$, $v$, its terms $d_jf_j^2$, their sums below each coefficient, their
    /// total, and the vectors of its step.
    row: Buffer,
    v: Buffer,
    terms: Buffer,
    below: Buffer,
    s: f64,
    inverse: Buffer,
    lambda: Buffer,
}

impl OctetBlock {
    /// Makes room for a block of some octets.
    pub fn reserve(&mut self, p: &Factored, octets: usize) {
        let lines = [
            &mut self.d,
            &mut self.row,
            &mut self.v,
            &mut self.terms,
            &mut self.below,
            &mut self.inverse,
            &mut self.lambda,
        ];
        lines.into_iter().for_each(|line| line.reserve(p.stride));
        for (f, steps) in self.f.iter_mut().zip(&mut self.steps).take(octets) {
            f.reserve(OCTET * p.stride);
            steps.reserve(p.stride);
        }
    }

    /// Opens a block of the rows in `x`.
    #[inline(always)]
    pub fn open<S: Simd>(&mut self, simd: S, belief: &FactoredBelief, x: &SideBySide) {
        let Factored { dim, stride, ref u, ref d, .. } = belief.covariance;
        self.d[..dim].copy_from_slice(&d[..dim]);
        project(simd, u, dim, stride, x, &mut self.f);
        products(simd, &belief.theta[..dim], x, &mut self.m.0);
        for (f, start) in self.f.iter().zip(self.start.0.chunks_exact_mut(OCTET)).take(x.octets()) {
            octet::squares(simd, &d[..dim], &f[..OCTET * dim], start);
        }
        self.prepare(dim, 0);
    }

    /// The linear predictor of row `j`.
    #[inline(always)]
    pub fn predictor(&self, j: usize) -> f64 {
        self.m.0[j]
    }

    /// $s$ of row `j`, the next one; `None` if the corrections of its projection have cost
    /// precision, and the block must end.
    #[inline(always)]
    pub fn variance(&self, j: usize) -> Option<f64> {
        (self.s >= MIN_VARIANCE_SHARE * self.start.0[j]).then_some(self.s)
    }

    /// Reads row `j` after all steps before it.
    #[inline(always)]
    fn prepare(&mut self, dim: usize, j: usize) {
        let f = self.f[j / OCTET].chunks_exact(OCTET);
        let lane = j % OCTET;
        let row = &mut self.row[..dim];
        for (row, f) in row.iter_mut().zip(f) {
            *row = f[lane];
        }
        let v = &mut self.v[..dim];
        let terms = &mut self.terms[..dim];
        let d = &self.d[..dim];
        for j in 0..dim {
            v[j] = d[j] * row[j];
            terms[j] = v[j] * row[j];
        }
        self.s = running_sums(terms, &mut self.below[..dim]);
    }

    /// Takes the step of row `j` of a block of `rows`, and reads the next row.
    #[inline(always)]
    pub fn take<S: Simd>(&mut self, simd: S, dim: usize, rows: usize, j: usize, step: Step) {
        self.record(dim, j, step);
        let octet = j / OCTET;
        if j + 1 == rows {
            return;
        }
        if !(j + 1).is_multiple_of(OCTET) {
            let v = &self.v[..Buffer::padded(dim)];
            let lambda = &self.lambda[..Buffer::padded(dim)];
            let m = &mut self.m.0[octet * OCTET..][..OCTET];
            octet::correct(simd, v, lambda, step.gain, &mut self.f[octet], m);
        } else {
            let later = self.f.iter_mut().zip(self.m.0.chunks_exact_mut(OCTET));
            for (f, m) in later.take(rows.div_ceil(OCTET)).skip(octet + 1) {
                octet::sweep::<S, false>(simd, f, OCTET, dim, &self.steps[octet], m);
            }
        }
        self.prepare(dim, j + 1);
    }

    /// The scalars of the step, as in the row-by-row form.
    #[inline(always)]
    fn record(&mut self, dim: usize, j: usize, step: Step) {
        let alpha = step.curvature;
        let f = &self.row[..dim];
        let d = &mut self.d[..dim];
        let below = &self.below[..dim];
        let terms = &self.terms[..dim];
        let inverse = &mut self.inverse[..dim];
        let lambda = &mut self.lambda[..dim];
        for j in 0..dim {
            inverse[j] = 1.0 / (1.0 + alpha * (below[j] + terms[j]));
            d[j] *= (1.0 + alpha * below[j]) * inverse[j];
        }
        lambda[0] = -alpha * f[0];
        for j in 1..dim {
            lambda[j] = -alpha * f[j] * inverse[j - 1];
        }
        let padded = Buffer::padded(dim);
        let steps = &mut self.steps[j / OCTET];
        steps.set(j % OCTET, &self.v[..padded], &self.lambda[..padded], step.gain);
    }

    /// Applies the steps of the first `rows` rows.
    #[inline(always)]
    pub fn apply<S: Simd>(&mut self, simd: S, belief: &mut FactoredBelief, rows: usize) {
        if !rows.is_multiple_of(OCTET) {
            self.steps[rows / OCTET].clear_from(rows % OCTET);
        }
        let FactoredBelief { theta, covariance } = belief;
        let Factored { dim, stride, u, d, .. } = covariance;
        for steps in &self.steps[..rows.div_ceil(OCTET)] {
            octet::sweep::<S, true>(simd, u, *stride, *dim, steps, theta);
        }
        d[..*dim].copy_from_slice(&self.d[..*dim]);
    }
}
