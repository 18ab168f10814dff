//! Blocks of rows on the dense form: two products with `P` per block, at matrix-product speed.

use super::Dense;
use super::row::MAX_CANCELLATION;
use crate::covariance::block::{self, Outcome, STRIP, Scalars, gram};
use crate::covariance::{Decide, MIN_VARIANCE_SHARE};
use crate::error::Result;
use crate::linalg::{Buffer, Threads, View, ViewMut, cut, multiply};
use crate::math::{arch, dot};
use pulp::{Simd, WithSimd};

/// Columns of `P` that a product takes at a time.
const PANEL: usize = 96;

/// Scratch of a block, allocated at the first block and reused.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    /// $U = PX$, then the scaled $V$.
    u: Buffer,
    v: Buffer,
    t: Buffer,
    scalars: Scalars,
    /// Whether the diagonal panels of $P$ hold both triangles.
    pub mirrored: bool,
}

impl Scratch {
    fn reserve(&mut self, stride: usize, rows: usize) {
        self.u.reserve(stride * rows);
        self.v.reserve(stride * rows);
        self.t.reserve(rows * rows);
        self.scalars.reserve(rows);
    }
}

/// Learns one block of rows; see [`Outcome`] for blocks that end early.
pub(super) fn learn(
    p: &mut Dense,
    theta: &mut Buffer,
    x: &[f64],
    decide: &mut Decide<'_>,
    threads: Threads,
) -> Result<Outcome> {
    let Dense { dim, stride, .. } = *p;
    let rows = x.len() / dim;
    p.block.reserve(stride, rows.max(block::rows(dim)));
    if !p.block.mirrored {
        mirror(p);
    }
    let Dense { p: matrix, block: scratch, .. } = p;
    // each core takes a part of the rows
    let share = rows.div_ceil(threads.count());
    threads.each(
        scratch.u[..stride * rows].chunks_mut(share * stride).zip(x.chunks(share * dim)),
        |(u, x)| {
            product(matrix, dim, stride, x, u);
        },
    );
    let columns = View::columns(x, dim, rows, dim);
    let products = View::columns(&scratch.u, dim, rows, stride);
    gram(&mut scratch.scalars.g[..rows * rows], columns, products, rows, threads);
    if !is_precise(matrix, stride, x, dim, &scratch.scalars.g) {
        return Ok(Outcome::Short { rows: 0, next: None });
    }
    let outcome = scratch.scalars.decide(theta, x, dim, decide)?;
    close(p, theta, rows, outcome.decided(rows), threads);
    Ok(outcome)
}

/// $x_i^\top Px_i$, by panels of columns: twice what stands above the panel's diagonal block, and
/// the block itself, of which only the upper triangle is sure to be stored.
pub(super) fn variances(p: &Dense, x: &[f64], s: &mut [f64]) {
    let Dense { dim, stride, .. } = *p;
    let rows = s.len();
    let mut products = Buffer::zeros(PANEL * rows);
    let mut diagonal = Buffer::zeros(PANEL * PANEL);
    s.fill(0.0);
    for start in (0..dim).step_by(PANEL) {
        let width = PANEL.min(dim - start);
        for j in 0..width {
            for i in 0..=j {
                let entry = p.p[(start + j) * stride + start + i];
                diagonal[j * PANEL + i] = entry;
                diagonal[i * PANEL + j] = entry;
            }
        }
        let own = View::columns(&x[start..], width, rows, dim);
        let block = View::columns(&diagonal, width, width, PANEL);
        let target = ViewMut::columns(&mut products, width, rows, PANEL);
        multiply(target, false, 1.0, block, own);
        let columns = View::columns(&p.p[start * stride..], start, width, stride);
        let above = View::columns(x, start, rows, dim);
        let target = ViewMut::columns(&mut products, width, rows, PANEL);
        multiply(target, true, 2.0, columns.t(), above);
        for (i, s) in s.iter_mut().enumerate() {
            *s += dot(&x[i * dim + start..][..width], &products[i * PANEL..][..width]);
        }
    }
    s.iter_mut().for_each(|s| *s = s.max(0.0));
}

/// Whether cancellation in $x^\top Px$ is small for all rows at the start of the block, even after
/// the block reduces it to [`MIN_VARIANCE_SHARE`] of its value.
fn is_precise(p: &[f64], stride: usize, x: &[f64], dim: usize, g: &[f64]) -> bool {
    let rows = x.len() / dim;
    let largest = MAX_CANCELLATION * MIN_VARIANCE_SHARE;
    x.chunks_exact(dim).enumerate().all(|(i, x)| {
        // eight sums: an addition does not wait for the previous one
        let mut sums = [0.0; Buffer::LINE];
        for (j, x) in x.iter().enumerate() {
            sums[j % Buffer::LINE] += x * x * p[j * stride + j];
        }
        sums.iter().sum::<f64>() <= largest * g[i * rows + i]
    })
}

struct Transform<'a> {
    scratch: &'a mut Scratch,
    stride: usize,
    rows: usize,
}

impl WithSimd for Transform<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Scratch { scalars: Scalars { g, decisions, .. }, t, .. } = self.scratch;
        decisions.transform(g, self.stride, self.rows, t);
    }
}

/// Copies the upper triangle of the diagonal panels to the lower one. Only blocks read it, and they
/// keep it up to date.
fn mirror(p: &mut Dense) {
    p.block.mirrored = true;
    for start in (0..p.dim).step_by(PANEL) {
        let end = p.dim.min(start + PANEL);
        for j in start..end {
            for i in j + 1..end {
                p.p[j * p.stride + i] = p.p[i * p.stride + j];
            }
        }
    }
}

/// $U = PX$ from the upper panels; each counts for both triangles.
fn product(p: &[f64], dim: usize, stride: usize, x: &[f64], u: &mut [f64]) {
    let rows = x.len() / dim;
    for start in (0..dim).step_by(PANEL) {
        let width = PANEL.min(dim - start);
        let columns = &p[start * stride..];
        let here = View::columns(&x[start..], width, rows, dim);
        let full = View::columns(columns, start + width, width, stride);
        let all = View::columns(x, start + width, rows, dim);
        multiply(ViewMut::columns(&mut u[start..], width, rows, stride), false, 1.0, full.t(), all);
        if start > 0 {
            let above = View::columns(columns, start, width, stride);
            multiply(ViewMut::columns(u, start, rows, stride), true, 1.0, above, here);
        }
    }
}

/// $\theta \mathrel{+}= Uz$ and $P \mathrel{-}= VV^\top$, $V = UT$, for the first `rows` of a block
/// of `stride_rows`.
fn close(p: &mut Dense, theta: &mut Buffer, stride_rows: usize, rows: usize, threads: Threads) {
    if rows == 0 {
        return;
    }
    let Dense { dim, stride, p, block: scratch, .. } = p;
    let dim = *dim;
    let stride = *stride;
    arch().dispatch(Transform { scratch, stride: stride_rows, rows });
    let Scratch { u, v, t, scalars, .. } = scratch;
    let z = View::columns(&scalars.z, rows, 1, rows);
    let u = View::columns(u, dim, stride_rows, stride);
    multiply(ViewMut::columns(theta, dim, 1, dim), true, 1.0, u.cols(0..rows), z);
    threads.each(cut(v, stride, threads.rising(rows, STRIP)), |(range, v)| {
        for start in range.clone().step_by(STRIP) {
            let width = STRIP.min(range.end - start);
            let t = View::columns(&t[start * stride_rows..], start + width, width, stride_rows);
            let v = ViewMut::columns(&mut v[(start - range.start) * stride..], dim, width, stride);
            multiply(v, false, 1.0, u.cols(0..start + width), t);
        }
    });
    threads.each(cut(p, stride, threads.rising(dim, PANEL)), |(range, p)| {
        for start in range.clone().step_by(PANEL) {
            let width = PANEL.min(range.end - start);
            let end = start + width;
            let lhs = View::columns(v, end, rows, stride);
            let rhs = View::columns(&v[start..], width, rows, stride).t();
            let panel = &mut p[(start - range.start) * stride..];
            multiply(ViewMut::columns(panel, end, width, stride), true, -1.0, lhs, rhs);
        }
    });
}
