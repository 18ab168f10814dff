//! The scalar steps of a block of `B` rows, from the `B x B` matrix of their inner products.

use super::{Decide, MIN_VARIANCE_SHARE};
use crate::error::Result;
use crate::linalg::{Buffer, Threads, View, ViewMut, cut, multiply};
use crate::math::arch;
use crate::rule::Step;
use pulp::{Simd, WithSimd};

/// Largest $\sum_t \alpha_t x_t^\top P x_t$ of a block; above it the elimination loses too much
/// precision.
const MAX_SUM_ALPHA_S: f64 = 1e5;

/// Rows of a block: enough for matrix products to run at full speed, few compared to the dimension.
pub(super) fn rows(dim: usize) -> usize {
    if dim < 1536 { 128 } else { 192 }
}

/// Columns of a triangular product that are computed together. Half of each `STRIP x STRIP` square
/// on the diagonal is wasted.
pub(super) const STRIP: usize = 32;

/// The inner products $a_i^\top b_k$, $i \ge k$, of the columns of two matrices: column `k` of `g`
/// from its diagonal on.
pub(super) fn gram(g: &mut [f64], a: View<'_>, b: View<'_>, rows: usize, threads: Threads) {
    threads.each(cut(g, rows, threads.falling(rows, STRIP)), |(range, g)| {
        for start in range.clone().step_by(STRIP) {
            let width = STRIP.min(range.end - start);
            let from = (start - range.start) * rows + start;
            let lhs = a.cols(start..rows).t();
            let rhs = b.cols(start..start + width);
            let strip = ViewMut::columns(&mut g[from..], rows - start, width, rows);
            multiply(strip, false, 1.0, lhs, rhs);
        }
    });
}

/// How far a block got.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Outcome {
    /// All rows are decided.
    Complete,
    /// The first `rows` are decided; `next` is the step of the row after them if it was already
    /// computed.
    Short { rows: usize, next: Option<Step> },
}

impl Outcome {
    /// Rows decided, of a block of `rows`.
    pub fn decided(&self, rows: usize) -> usize {
        match *self {
            Outcome::Complete => rows,
            Outcome::Short { rows, .. } => rows,
        }
    }
}

/// The scalars of a block: inner products, linear predictors, decisions.
#[derive(Debug, Clone, Default)]
pub(super) struct Scalars {
    /// $X^\top PX$, each row from the diagonal on; [`Decisions::run`] overwrites it.
    pub g: Buffer,
    /// The linear predictors.
    m: Vec<f64>,
    /// $z$ with $\sum_t g_t P_t x_t = (PX) z$.
    pub z: Vec<f64>,
    pub decisions: Decisions,
}

impl Scalars {
    pub fn reserve(&mut self, rows: usize) {
        self.g.reserve(rows * rows);
        for v in [&mut self.m, &mut self.z] {
            v.resize(rows.max(v.len()), 0.0);
        }
        self.decisions.reserve(rows);
    }

    /// Decides the rows of `x`, whose inner products are in `g`, and solves for `z`.
    pub fn decide(
        &mut self,
        theta: &[f64],
        x: &[f64],
        dim: usize,
        decide: &mut Decide<'_>,
    ) -> Result<Outcome> {
        let rows = x.len() / dim;
        let xs = View::columns(x, dim, rows, dim);
        let theta = View::columns(theta, dim, 1, dim);
        multiply(ViewMut::columns(&mut self.m, rows, 1, rows), false, 1.0, xs.t(), theta);
        arch().dispatch(DecideBlock { scalars: self, rows, decide })
    }
}

struct DecideBlock<'a, 'd> {
    scalars: &'a mut Scalars,
    rows: usize,
    decide: &'a mut Decide<'d>,
}

impl WithSimd for DecideBlock<'_, '_> {
    type Output = Result<Outcome>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Result<Outcome> {
        let Scalars { g, m, z, decisions } = self.scalars;
        let outcome = decisions.run(g, self.rows, &mut m[..self.rows], self.decide)?;
        decisions.solve_gain(g, self.rows, &mut z[..outcome.decided(self.rows)]);
        Ok(outcome)
    }
}

/// The decisions of a block: all that is needed to apply it.
#[derive(Debug, Clone, Default)]
pub(super) struct Decisions {
    /// $g_t$.
    gain: Vec<f64>,
    /// $\alpha_t$.
    pub curvature: Vec<f64>,
    /// $c_t$.
    contraction: Vec<f64>,
    /// $x_t^\top Px_t$ at the start of the block.
    start: Vec<f64>,
}

impl Decisions {
    pub fn reserve(&mut self, rows: usize) {
        for v in [&mut self.gain, &mut self.curvature, &mut self.contraction, &mut self.start] {
            v.resize(rows.max(v.len()), 0.0);
        }
    }

    /// Runs the rows: on entry `g[i * stride + k]` holds $x_i^\top P x_k$ for $k \ge i$ and `m` the
    /// linear predictors under the belief before the block; on return row `j` of `g` holds
    /// $x_j^\top P_j x_k$, from which the corrections of later rows follow.
    #[inline(always)]
    pub fn run(
        &mut self,
        g: &mut [f64],
        stride: usize,
        m: &mut [f64],
        decide: &mut Decide<'_>,
    ) -> Result<Outcome> {
        let rows = m.len();
        for j in 0..rows {
            self.start[j] = g[j * stride + j];
        }
        let mut growth = 0.0;
        for j in 0..rows {
            let (head, tail) = g.split_at_mut((j + 1) * stride);
            let row = &head[j * stride..][..rows];
            let s = row[j];
            if s < MIN_VARIANCE_SHARE * self.start[j] {
                return Ok(Outcome::Short { rows: j, next: None });
            }
            let step = decide(j, m[j], s.max(0.0))?;
            growth += step.curvature * self.start[j];
            if growth > MAX_SUM_ALPHA_S {
                return Ok(Outcome::Short { rows: j, next: Some(step) });
            }
            let c = step.contraction;
            self.gain[j] = step.gain;
            self.curvature[j] = step.curvature;
            self.contraction[j] = c;
            for (m, &r) in m[j + 1..].iter_mut().zip(&row[j + 1..]) {
                *m += step.gain * r;
            }
            for (below, i) in tail.chunks_mut(stride).zip(j + 1..rows) {
                let factor = c * row[i];
                for (value, &r) in below[i..rows].iter_mut().zip(&row[i..rows]) {
                    *value -= factor * r;
                }
            }
        }
        Ok(Outcome::Complete)
    }

    /// $z$ with $\sum_t g_t P_t x_t = (PX) z$: solves $(I + C N) z = g$ backwards, $N$ the strict
    /// upper triangle of `g`.
    #[inline(always)]
    pub fn solve_gain(&self, g: &[f64], stride: usize, z: &mut [f64]) {
        let rows = z.len();
        for j in (0..rows).rev() {
            let row = &g[j * stride..][..rows];
            let tail: f64 = row[j + 1..].iter().zip(&z[j + 1..]).map(|(n, z)| n * z).sum();
            z[j] = self.gain[j] - self.contraction[j] * tail;
        }
    }

    /// $T$ with $(\sqrt{c_1} P_1x_1, \dots) = (PX)\,T$: upper triangular, column-major with the
    /// same stride.
    #[inline(always)]
    pub fn transform(&self, g: &[f64], stride: usize, rows: usize, t: &mut [f64]) {
        t[..stride * rows].fill(0.0);
        for j in 0..rows {
            let (done, rest) = t.split_at_mut(j * stride);
            let column = &mut rest[..rows];
            for k in 0..j {
                let factor = self.contraction[k] * g[k * stride + j];
                for (value, &left) in column.iter_mut().zip(&done[k * stride..][..=k]) {
                    *value -= factor * left;
                }
            }
            column[j] = 1.0;
        }
        for (column, c) in t.chunks_mut(stride).zip(&self.contraction[..rows]) {
            let root = c.sqrt();
            column.iter_mut().for_each(|v| *v *= root);
        }
    }
}
