//! Blocks of rows on the dense form: two products with `P` a block, at matrix-product speed.

use super::Dense;
use super::row::LARGEST_CANCELLATION;
use crate::covariance::Decide;
use crate::covariance::block::{self, Outcome, SMALLEST_SHARE, STRIP, Scalars, gram};
use crate::error::Result;
use crate::linalg::{Buffer, Threads, View, ViewMut, cut, multiply};
use pulp::{Arch, Simd, WithSimd};

/// Columns of `P` that go through a product together.
const PANEL: usize = 96;

/// Scratch of a block, made at the first block and kept.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    /// $U = PX$, then the scaled $V$.
    u: Buffer,
    v: Buffer,
    t: Buffer,
    scalars: Scalars,
    /// Whether the diagonal panels of $P$ hold both triangles.
    pub mirrored: bool,
}

impl Work {
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
    let (dim, stride) = (p.dim, p.stride);
    let rows = x.len() / dim;
    p.block.reserve(stride, rows.max(block::rows(dim)));
    if !p.block.mirrored {
        mirror(p);
    }
    let Dense { p: matrix, block: work, .. } = p;
    // each core takes some of the rows
    let share = rows.div_ceil(threads.0);
    threads.each(
        work.u[..stride * rows].chunks_mut(share * stride).zip(x.chunks(share * dim)),
        |(u, x)| {
            product(matrix, dim, stride, x, u);
        },
    );
    let (columns, products) =
        (View::columns(x, dim, rows, dim), View::columns(&work.u, dim, rows, stride));
    gram(&mut work.scalars.g[..rows * rows], columns, products, rows, threads);
    if !keeps_digits(matrix, stride, x, dim, &work.scalars.g) {
        return Ok(Outcome::Short { rows: 0, next: None });
    }
    let outcome = work.scalars.decide(theta, x, dim, decide)?;
    close(p, theta, rows, outcome.decided(rows), threads);
    Ok(outcome)
}

/// Whether $\sum_i x_i^2P_{ii} / x^\top Px$ is small for all rows at the start of the block;
/// $x^\top Px$ may still fall by [`SMALLEST_SHARE`] in it.
fn keeps_digits(p: &[f64], stride: usize, x: &[f64], dim: usize, g: &[f64]) -> bool {
    let rows = x.len() / dim;
    let largest = LARGEST_CANCELLATION * SMALLEST_SHARE;
    x.chunks_exact(dim).enumerate().all(|(i, x)| {
        // eight sums, so that one addition need not wait for another
        let mut sums = [0.0; Buffer::LINE];
        for (j, x) in x.iter().enumerate() {
            sums[j % Buffer::LINE] += x * x * p[j * stride + j];
        }
        sums.iter().sum::<f64>() <= largest * g[i * rows + i]
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

/// Copies the upper triangle of the diagonal panels to the lower one, which only blocks read; they
/// keep it so.
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

/// $U = PX$ from the upper panels: each serves both triangles.
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
    let Dense { dim, stride, p, block: work, .. } = p;
    let (dim, stride) = (*dim, *stride);
    Arch::new().dispatch(Transform { work, stride: stride_rows, rows });
    let Work { u, v, t, scalars, .. } = work;
    let (z, u) =
        (View::columns(&scalars.z, rows, 1, rows), View::columns(u, dim, stride_rows, stride));
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
            multiply(
                ViewMut::columns(&mut p[(start - range.start) * stride..], end, width, stride),
                true,
                -1.0,
                lhs,
                rhs,
            );
        }
    });
}
