//! Blocks of rows on the factored form: Bierman's recursion with a block in place of a scalar, at matrix-product speed.
//!
//! With $L = UD^{1/2}$, $F = L^\top X$ and the block's curvatures $A = \mathrm{diag}(\alpha)$, the new matrix is
//! $L\,(I + FAF^\top)^{-1}L^\top$. Its triangular factor is built panel by panel of columns $J$: with $W = \sum_{I<J} L_I F_I$ and
//! $H = (A^{-1} + \sum_{I<J} F_I^\top F_I)^{-1}$,
//!
//! ```text
//! S = I + F_J H F_J' = R'R,   L_J <- (L_J - W H F_J') R^-1,   W += L_J F_J (old L_J),   H -= H F_J' S^-1 F_J H
//! ```
//!
//! Every `S` has eigenvalues of at least 1, so no step can fail. At the end $W = PX$, which moves the coefficients.

use super::Factored;
use crate::covariance::Decide;
use crate::covariance::block::{Outcome, Scalars, block_rows};
use crate::error::Result;
use crate::linalg::{Buffer, Threads, View, ViewMut, cholesky_upper, invert_upper, multiply};
use pulp::{Arch, Simd, WithSimd};

/// Columns of a panel $J$.
const PANEL: usize = 32;
/// Columns that go through the projection $U^\top X$ together.
const PROJECTION: usize = 128;

/// Scratch of a block, made at the first block and kept. Matrices over the coefficients have columns `stride` apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    /// $F$, one column a row of the block.
    f: Buffer,
    /// $W$.
    w: Buffer,
    /// $L_J$ before and after.
    panel: Buffer,
    moved: Buffer,
    /// $F_J A^{1/2}$, $Y = F_J A^{1/2} H$, $Z = R^{-T} Y$, all `PANEL` rows.
    fj: Buffer,
    y: Buffer,
    z: Buffer,
    /// $H$ in the scale where $A = I$.
    h: Buffer,
    s: Buffer,
    inverse: Buffer,
    root_d: Buffer,
    root_alpha: Vec<f64>,
    scalars: Scalars,
}

impl Work {
    fn reserve(&mut self, stride: usize, rows: usize) {
        for (buffer, len) in [
            (&mut self.f, stride * rows),
            (&mut self.w, stride * rows),
            (&mut self.panel, stride * PANEL),
            (&mut self.moved, stride * PANEL),
            (&mut self.fj, PANEL * rows),
            (&mut self.y, PANEL * rows),
            (&mut self.z, PANEL * rows),
            (&mut self.h, rows * rows),
            (&mut self.s, PANEL * PANEL),
            (&mut self.inverse, PANEL * PANEL),
            (&mut self.root_d, stride),
        ] {
            buffer.reserve(len);
        }
        self.root_alpha.resize(rows.max(self.root_alpha.len()), 0.0);
        self.scalars.reserve(rows);
    }
}

/// Learns one block of rows; see [`Outcome`] for blocks that end early.
pub(super) fn learn(
    p: &mut Factored,
    theta: &mut Buffer,
    x: &[f64],
    decide: &mut Decide<'_>,
    threads: Threads,
) -> Result<Outcome> {
    let (dim, stride) = (p.dim, p.stride);
    let rows = x.len() / dim;
    p.block.reserve(stride, rows.max(block_rows(dim)));
    project(p, x, rows, threads);
    let work = &mut p.block;
    let f = View::columns(&work.f, dim, rows, stride);
    multiply(ViewMut::columns(&mut work.scalars.g, rows, rows, rows), false, 1.0, f.t(), f, Threads::ONE);
    let outcome = work.scalars.decide(theta, x, dim, decide)?;
    let done = outcome.decided(rows);
    for (root, alpha) in work.root_alpha.iter_mut().zip(&work.scalars.decisions.curvature[..done]) {
        *root = alpha.sqrt();
    }
    if done > 0 {
        close(p, theta, done, threads);
    }
    Ok(outcome)
}

/// $F = D^{1/2}U^\top X$, by panels of columns of `U`.
fn project(p: &mut Factored, x: &[f64], rows: usize, threads: Threads) {
    let Factored { dim, stride, u, d, block: work, .. } = p;
    let (dim, stride) = (*dim, *stride);
    for (root, d) in work.root_d.iter_mut().zip(d.iter()) {
        *root = d.sqrt();
    }
    for start in (0..dim).step_by(PROJECTION) {
        let width = PROJECTION.min(dim - start);
        let columns = View::columns(&u[start * stride..], start + width, width, stride);
        let above = View::columns(x, start + width, rows, dim);
        multiply(ViewMut::columns(&mut work.f[start..], width, rows, stride), false, 1.0, columns.t(), above, threads);
    }
    for column in work.f.chunks_exact_mut(stride).take(rows) {
        for (f, root) in column[..dim].iter_mut().zip(work.root_d.iter()) {
            *f *= root;
        }
    }
}

/// Moves the factor and the coefficients by the first `rows` decisions.
fn close(p: &mut Factored, theta: &mut Buffer, rows: usize, threads: Threads) {
    let Factored { dim, stride, u, d, block: work, .. } = p;
    let (dim, stride) = (*dim, *stride);
    work.w[..stride * rows].fill(0.0);
    work.h[..rows * rows].fill(0.0);
    for i in 0..rows {
        work.h[i * rows + i] = 1.0;
    }
    for start in (0..dim).step_by(PANEL) {
        let width = PANEL.min(dim - start);
        let end = start + width;
        small_factors(work, start, width, rows, stride);
        let columns = &mut u[start * stride..];
        // L_J before, and W H F_J' taken from it
        for (j, (panel, moved)) in
            work.panel.chunks_exact_mut(stride).zip(work.moved.chunks_exact_mut(stride)).take(width).enumerate()
        {
            let root = work.root_d[start + j];
            for ((panel, moved), u) in panel[..end].iter_mut().zip(moved).zip(&columns[j * stride..]) {
                *panel = root * u;
                *moved = *panel;
            }
        }
        if start > 0 {
            let w = View::columns(&work.w, start, rows, stride);
            let y = View::columns(&work.y, width, rows, PANEL).t();
            multiply(ViewMut::columns(&mut work.moved, start, width, stride), true, -1.0, w, y, threads);
        }
        let (panel, fj) = (
            View::columns(&work.panel, end, width, stride),
            View { data: &work.f[start..], rows: width, cols: rows, row: 1, col: stride },
        );
        multiply(ViewMut::columns(&mut work.w, end, rows, stride), true, 1.0, panel, fj, threads);
        // L_J R^-1, back in unit upper form
        for j in 0..width {
            let root = work.root_d[start + j] * work.inverse[j * PANEL + j];
            d[start + j] = root * root;
            work.inverse[j * PANEL..][..=j].iter_mut().for_each(|v| *v /= root);
        }
        let moved = View::columns(&work.moved, end, width, stride);
        let inverse = View::columns(&work.inverse, width, width, PANEL);
        multiply(ViewMut::columns(columns, end, width, stride), false, 1.0, moved, inverse, threads);
        for j in 0..width {
            let diagonal = j * stride + start + j;
            columns[diagonal] = 1.0;
            columns[diagonal + 1..j * stride + end].fill(0.0);
        }
    }
    let w = View::columns(&work.w, dim, rows, stride);
    let gain = View::columns(&work.scalars.z, rows, 1, rows);
    multiply(ViewMut::columns(theta, dim, 1, dim), true, 1.0, w, gain, Threads::ONE);
}

/// The small matrices of a panel: $R^{-1}$ in `inverse`, $HF_J^\top$ (transposed, scaled) in `y`, and the next $H$.
fn small_factors(work: &mut Work, start: usize, width: usize, rows: usize, stride: usize) {
    for (i, root) in work.root_alpha[..rows].iter().enumerate() {
        for j in 0..width {
            work.fj[i * PANEL + j] = root * work.f[i * stride + start + j];
        }
    }
    let fj = View::columns(&work.fj, width, rows, PANEL);
    let h = View::columns(&work.h, rows, rows, rows);
    multiply(ViewMut::columns(&mut work.y, width, rows, PANEL), false, 1.0, fj, h, Threads::ONE);
    let y = View::columns(&work.y, width, rows, PANEL);
    multiply(ViewMut::columns(&mut work.s, width, width, width), false, 1.0, y, fj.t(), Threads::ONE);
    for j in 0..width {
        work.s[j * width + j] += 1.0;
    }
    Arch::new().dispatch(Invert { s: &mut work.s, inverse: &mut work.inverse, width });
    let inverse = View::columns(&work.inverse, width, width, PANEL);
    multiply(ViewMut::columns(&mut work.z, width, rows, PANEL), false, 1.0, inverse.t(), y, Threads::ONE);
    let z = View::columns(&work.z, width, rows, PANEL);
    multiply(ViewMut::columns(&mut work.h, rows, rows, rows), true, -1.0, z.t(), z, Threads::ONE);
    for (i, root) in work.root_alpha[..rows].iter().enumerate() {
        work.y[i * PANEL..][..width].iter_mut().for_each(|y| *y *= root);
    }
}

struct Invert<'a> {
    s: &'a mut [f64],
    inverse: &'a mut [f64],
    width: usize,
}

impl WithSimd for Invert<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        cholesky_upper(self.s, self.width);
        invert_upper(self.s, self.width, self.inverse, PANEL);
    }
}
