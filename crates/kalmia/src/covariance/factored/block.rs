//! Blocks of rows on the factored form: Bierman's recursion with a block in place of a scalar, at
//! matrix-product speed.
//!
//! With $L = UD^{1/2}$, $F = L^\top X$ and the block's curvatures $A = \mathrm{diag}(\alpha)$, the
//! new matrix is $L\,(I + FAF^\top)^{-1}L^\top$. Its triangular factor is built panel by panel of
//! columns $J$: with $W = \sum_{I<J} L_I F_I$ and $H = (A^{-1} + \sum_{I<J} F_I^\top F_I)^{-1}$,
//!
//! ```text
//! S = I + F_J H F_J' = R'R
//! L_J <- (L_J - W H F_J') R^-1
//! W += L_J F_J    with the old L_J
//! H -= H F_J' S^-1 F_J H
//! ```
//!
//! Every `S` has eigenvalues of at least 1, so no step can fail. At the end $W = PX$, the direction
//! in which the coefficients move.

use super::Factored;
use crate::covariance::Decide;
use crate::covariance::block::{self, Outcome, Scalars, gram};
use crate::error::Result;
use crate::linalg::{Buffer, Threads, View, ViewMut, cholesky_upper, invert_upper, multiply};
use crate::math::arch;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Columns of a panel $J$.
const PANEL: usize = 32;
/// Columns of $U$ that the projection $U^\top X$ takes at a time.
const PROJECTION: usize = 128;

/// Scratch of a block, allocated at the first block and reused. The columns of matrices with a row
/// per coefficient are `stride` apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    /// $F$, one column per row of the block.
    f: Buffer,
    /// $W$.
    w: Buffer,
    /// $L_J$ before and after, for the rows of each core.
    strips: Vec<[Buffer; 2]>,
    /// $F_J A^{1/2}$ and $Z = R^{-T} Y$, `PANEL` rows.
    fj: Buffer,
    z: Buffer,
    /// $Y = F_J H$ and $R^{-1}$ of each panel.
    y: Buffer,
    inverse: Buffer,
    /// $H$ in the scale where $A = I$.
    h: Buffer,
    s: Buffer,
    root_d: Buffer,
    root_alpha: Vec<f64>,
    scalars: Scalars,
}

impl Scratch {
    fn reserve(&mut self, stride: usize, rows: usize, threads: Threads) {
        let panels = stride.div_ceil(PANEL);
        for (buffer, len) in [
            (&mut self.f, stride * rows),
            (&mut self.w, stride * rows),
            (&mut self.fj, PANEL * rows),
            (&mut self.z, PANEL * rows),
            (&mut self.y, panels * PANEL * rows),
            (&mut self.inverse, panels * PANEL * PANEL),
            (&mut self.h, rows * rows),
            (&mut self.s, PANEL * PANEL),
            (&mut self.root_d, stride),
        ] {
            buffer.reserve(len);
        }
        self.strips.resize_with(threads.count().max(self.strips.len()), Default::default);
        for strip in self.strips.iter_mut().flatten() {
            strip.reserve(stride * PANEL);
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
    let Factored { dim, stride, .. } = *p;
    let rows = x.len() / dim;
    p.block.reserve(stride, rows.max(block::rows(dim)), threads);
    let Factored { u, d, block: scratch, .. } = p;
    for (root, d) in scratch.root_d.iter_mut().zip(d.iter()) {
        *root = d.sqrt();
    }
    // each core takes a part of the rows
    let share = rows.div_ceil(threads.count());
    threads.each(
        scratch.f[..stride * rows].chunks_mut(share * stride).zip(x.chunks(share * dim)),
        |(f, x)| {
            project(u, &scratch.root_d, dim, stride, x, f);
        },
    );
    let f = View::columns(&scratch.f, dim, rows, stride);
    gram(&mut scratch.scalars.g[..rows * rows], f, f, rows, threads);
    let outcome = scratch.scalars.decide(theta, x, dim, decide)?;
    let done = outcome.decided(rows);
    for (root, alpha) in
        scratch.root_alpha.iter_mut().zip(&scratch.scalars.decisions.curvature[..done])
    {
        *root = alpha.sqrt();
    }
    if done > 0 {
        close(p, theta, done, threads);
    }
    Ok(outcome)
}

/// $x_i^\top Px_i$, the squares of the columns of $F$.
pub(super) fn variances(p: &Factored, x: &[f64], s: &mut [f64]) {
    let mut f = Buffer::zeros(p.stride * s.len());
    let root_d: Vec<f64> = p.d.iter().map(|d| d.sqrt()).collect();
    project(&p.u, &root_d, p.dim, p.stride, x, &mut f);
    for (s, column) in s.iter_mut().zip(f.chunks_exact(p.stride)) {
        // eight sums: an addition does not wait for the previous one
        let mut sums = [0.0; Buffer::LINE];
        for line in column.chunks_exact(Buffer::LINE) {
            sums.iter_mut().zip(line).for_each(|(sum, f)| *sum += f * f);
        }
        *s = sums.iter().sum();
    }
}

/// $F = D^{1/2}U^\top X$, by panels of columns of `U`.
fn project(u: &[f64], root_d: &[f64], dim: usize, stride: usize, x: &[f64], f: &mut [f64]) {
    let rows = x.len() / dim;
    for start in (0..dim).step_by(PROJECTION) {
        let width = PROJECTION.min(dim - start);
        let columns = View::columns(&u[start * stride..], start + width, width, stride);
        let above = View::columns(x, start + width, rows, dim);
        let projected = ViewMut::columns(&mut f[start..], width, rows, stride);
        multiply(projected, false, 1.0, columns.t(), above);
    }
    for column in f.chunks_exact_mut(stride).take(rows) {
        for (f, root) in column[..dim].iter_mut().zip(root_d) {
            *f *= root;
        }
    }
}

/// Applies the first `rows` decisions to the factor and the coefficients: first the small matrices
/// of all panels, then the rows of `U`, which are independent of each other.
fn close(p: &mut Factored, theta: &mut Buffer, rows: usize, threads: Threads) {
    let Factored { dim, stride, u, d, block: scratch, .. } = p;
    let dim = *dim;
    let stride = *stride;
    scratch.h[..rows * rows].fill(0.0);
    for i in 0..rows {
        scratch.h[i * rows + i] = 1.0;
    }
    for (panel, start) in (0..dim).step_by(PANEL).enumerate() {
        let width = PANEL.min(dim - start);
        small_factors(scratch, panel, start, width, rows, stride);
        // scales R^-1 to give U a unit diagonal
        for j in 0..width {
            let column = &mut scratch.inverse[(panel * PANEL + j) * PANEL..][..=j];
            let root = scratch.root_d[start + j] * column[j];
            d[start + j] = root * root;
            column.iter_mut().for_each(|v| *v /= root);
        }
    }
    scratch.w[..stride * rows].fill(0.0);
    let factors = Factors {
        dim,
        stride,
        rows,
        root_d: &scratch.root_d,
        f: &scratch.f,
        y: &scratch.y,
        inverse: &scratch.inverse,
    };
    let mut rest = Some((
        ViewMut::columns(u, dim, dim, stride),
        ViewMut::columns(&mut scratch.w, dim, rows, stride),
    ));
    let parts = threads.falling(dim, PANEL).zip(&mut scratch.strips).map(|(range, strip)| {
        let (u, w) = rest.take().expect("rows are left");
        let ((u, u_rest), (w, w_rest)) = (u.split_rows(range.len()), w.split_rows(range.len()));
        rest = Some((u_rest, w_rest));
        (range, strip, u, w)
    });
    threads.each(parts, |(range, strip, u, w)| factors.move_rows(range, strip, u, w));
    for j in 0..dim {
        let column = &mut u[j * stride..][..dim.min((j / PANEL + 1) * PANEL)];
        column[j] = 1.0;
        column[j + 1..].fill(0.0);
    }
    let w = View::columns(&scratch.w, dim, rows, stride);
    let gain = View::columns(&scratch.scalars.z, rows, 1, rows);
    multiply(ViewMut::columns(theta, dim, 1, dim), true, 1.0, w, gain);
}

/// What the update of a row of `U` needs.
struct Factors<'a> {
    dim: usize,
    stride: usize,
    rows: usize,
    root_d: &'a [f64],
    f: &'a [f64],
    y: &'a [f64],
    inverse: &'a [f64],
}

impl Factors<'_> {
    /// The rows of `range`, panel by panel: $L_J \leftarrow (L_J - WHF_J^\top)R^{-1}$ and $W
    /// \mathrel{+}= L_JF_J$.
    fn move_rows(
        &self,
        range: Range<usize>,
        strip: &mut [Buffer; 2],
        mut u: ViewMut<'_>,
        mut w: ViewMut<'_>,
    ) {
        let &Self { dim, stride, rows, .. } = self;
        let [before, after] = strip;
        for start in (range.start..dim).step_by(PANEL) {
            let panel = start / PANEL;
            let width = PANEL.min(dim - start);
            let height = range.end.min(start + width) - range.start;
            let mut columns = u.part(0..height, start..start + width);
            for j in 0..width {
                let root = self.root_d[start + j];
                let before = &mut before[j * stride..];
                let after = &mut after[j * stride..];
                for ((before, after), u) in before.iter_mut().zip(after).zip(columns.column(j)) {
                    *before = root * *u;
                    *after = *before;
                }
            }
            // W is still 0 in the rows of this panel
            let above = height.min(start - range.start);
            let y = View::columns(&self.y[panel * PANEL * rows..], width, rows, PANEL).t();
            let updated = ViewMut::columns(after, above, width, stride);
            multiply(updated, true, -1.0, w.part(0..above, 0..rows).view(), y);
            let before = View::columns(before, height, width, stride);
            let fj = View::columns(&self.f[start..], width, rows, stride);
            multiply(w.part(0..height, 0..rows), true, 1.0, before, fj);
            let inverse =
                View::columns(&self.inverse[panel * PANEL * PANEL..], width, width, PANEL);
            multiply(columns, false, 1.0, View::columns(after, height, width, stride), inverse);
        }
    }
}

/// Computes the small matrices of a panel: $R^{-1}$ in `inverse`, $HF_J^\top$ (transposed and
/// scaled) in `y`, and the next $H$.
fn small_factors(
    scratch: &mut Scratch,
    panel: usize,
    start: usize,
    width: usize,
    rows: usize,
    stride: usize,
) {
    for (i, root) in scratch.root_alpha[..rows].iter().enumerate() {
        for j in 0..width {
            scratch.fj[i * PANEL + j] = root * scratch.f[i * stride + start + j];
        }
    }
    let ys = &mut scratch.y[panel * PANEL * rows..];
    let inverses = &mut scratch.inverse[panel * PANEL * PANEL..];
    let fj = View::columns(&scratch.fj, width, rows, PANEL);
    let h = View::columns(&scratch.h, rows, rows, rows);
    multiply(ViewMut::columns(ys, width, rows, PANEL), false, 1.0, fj, h);
    let y = View::columns(ys, width, rows, PANEL);
    multiply(ViewMut::columns(&mut scratch.s, width, width, width), false, 1.0, y, fj.t());
    for j in 0..width {
        scratch.s[j * width + j] += 1.0;
    }
    arch().dispatch(Invert { s: &mut scratch.s, inverse: inverses, width });
    let inverse = View::columns(inverses, width, width, PANEL);
    multiply(ViewMut::columns(&mut scratch.z, width, rows, PANEL), false, 1.0, inverse.t(), y);
    let z = View::columns(&scratch.z, width, rows, PANEL);
    multiply(ViewMut::columns(&mut scratch.h, rows, rows, rows), true, -1.0, z.t(), z);
    for (i, root) in scratch.root_alpha[..rows].iter().enumerate() {
        ys[i * PANEL..][..width].iter_mut().for_each(|y| *y *= root);
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
