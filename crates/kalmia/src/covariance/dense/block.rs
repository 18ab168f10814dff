//! Blocks of rows on the dense form: two products with `P` a block, at matrix-product speed.

use super::Dense;
use super::row::LARGEST_CANCELLATION;
use crate::covariance::Decide;
use crate::covariance::block::{Outcome, SMALLEST_SHARE, Scalars, block_rows};
use crate::error::Result;
use crate::linalg::{Buffer, Threads, View, ViewMut, multiply};
use pulp::{Arch, Simd, WithSimd};

/// Columns of `P` that go through a product together.
const PANEL: usize = 128;

/// Scratch of a block, made at the first block and kept.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    /// $U = PX$, then the scaled $V$.
    u: Buffer,
    v: Buffer,
    /// A diagonal panel of $P$, in full.
    diagonal: Buffer,
    t: Buffer,
    scalars: Scalars,
}

impl Work {
    fn reserve(&mut self, stride: usize, rows: usize) {
        self.u.reserve(stride * rows);
        self.v.reserve(stride * rows);
        self.diagonal.reserve(PANEL * PANEL);
        self.t.reserve(rows * rows);
        self.scalars.reserve(rows);
    }
}

/// Learns one block of rows; see [`Outcome`] for blocks that end early.
pub(super) fn learn(p: &mut Dense, theta: &mut Buffer, x: &[f64], decide: &mut Decide<'_>, threads: Threads) -> Result<Outcome> {
    let (dim, stride) = (p.dim, p.stride);
    let rows = x.len() / dim;
    p.block.reserve(stride, rows.max(block_rows(dim)));
    product(p, x, rows, threads);
    let work = &mut p.block;
    let xs = View::columns(x, dim, rows, dim);
    let us = View::columns(&work.u, dim, rows, stride);
    multiply(ViewMut::columns(&mut work.scalars.g, rows, rows, rows), false, 1.0, xs.t(), us, Threads::ONE);
    if !keeps_digits(&p.p, stride, x, dim, &work.scalars.g) {
        return Ok(Outcome::Short { rows: 0, next: None });
    }
    let outcome = work.scalars.decide(theta, x, dim, decide)?;
    close(p, theta, rows, outcome.decided(rows), threads);
    Ok(outcome)
}

/// Whether $\sum_i x_i^2P_{ii} / x^\top Px$ is small for all rows at the start of the block; $x^\top Px$ may still fall by [`SMALLEST_SHARE`] in it.
fn keeps_digits(p: &[f64], stride: usize, x: &[f64], dim: usize, g: &[f64]) -> bool {
    let rows = x.len() / dim;
    let largest = LARGEST_CANCELLATION * SMALLEST_SHARE;
    x.chunks_exact(dim).enumerate().all(|(i, x)| {
        let size: f64 = x.iter().enumerate().map(|(j, x)| x * x * p[j * stride + j]).sum();
        size <= largest * g[i * rows + i]
    })
}

struct Transform<'a> {
    work: &'a mut Work,
    stride: usize,
    rows: usize,
}

impl WithSimd for Transform<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Work { scalars: Scalars { g, decisions, .. }, t, .. } = self.work;
        decisions.transform(g, self.stride, self.rows, t);
    }
}

/// $U = PX$ from the upper panels: each serves both triangles, the diagonal one is mirrored first.
fn product(p: &mut Dense, x: &[f64], rows: usize, threads: Threads) {
    let Dense { dim, stride, p, block: work, .. } = p;
    let (dim, stride) = (*dim, *stride);
    for start in (0..dim).step_by(PANEL) {
        let width = PANEL.min(dim - start);
        let columns = &p[start * stride..];
        for j in 0..width {
            for i in 0..=j {
                let value = columns[j * stride + start + i];
                work.diagonal[j * PANEL + i] = value;
                work.diagonal[i * PANEL + j] = value;
            }
        }
        let here = View::columns(&x[start..], width, rows, dim);
        let above = View::columns(columns, start, width, stride);
        let diagonal = View::columns(&work.diagonal, width, width, PANEL);
        multiply(ViewMut::columns(&mut work.u[start..], width, rows, stride), false, 1.0, diagonal, here, threads);
        if start > 0 {
            let before = View::columns(x, start, rows, dim);
            multiply(ViewMut::columns(&mut work.u[start..], width, rows, stride), true, 1.0, above.t(), before, threads);
            multiply(ViewMut::columns(&mut work.u, start, rows, stride), true, 1.0, above, here, threads);
        }
    }
}

/// $\theta \mathrel{+}= Uz$ and $P \mathrel{-}= VV^\top$, $V = UT$, for the first `rows` of a block of `stride_rows`.
fn close(p: &mut Dense, theta: &mut Buffer, stride_rows: usize, rows: usize, threads: Threads) {
    if rows == 0 {
        return;
    }
    let Dense { dim, stride, p, block: work, .. } = p;
    let (dim, stride) = (*dim, *stride);
    Arch::new().dispatch(Transform { work, stride: stride_rows, rows });
    let u = View::columns(&work.u, dim, rows, stride);
    let z = View::columns(&work.scalars.z, rows, 1, rows);
    multiply(ViewMut::columns(theta, dim, 1, dim), true, 1.0, u, z, Threads::ONE);
    let t = View::columns(&work.t, rows, rows, stride_rows);
    multiply(ViewMut::columns(&mut work.v, dim, rows, stride), false, 1.0, u, t, threads);
    for start in (0..dim).step_by(PANEL) {
        let width = PANEL.min(dim - start);
        let end = start + width;
        let lhs = View::columns(&work.v, end, rows, stride);
        let rhs = View::columns(&work.v[start..], width, rows, stride).t();
        multiply(ViewMut::columns(&mut p[start * stride..], end, width, stride), true, -1.0, lhs, rhs, threads);
    }
}
