//! Row kernels of the dense form: one sweep over the stored part of `P` applies two rows and computes
//! the products of the next two.

use super::{Dense, MAX_FULL_DIM, TILE, small};
use crate::covariance::pairs::{self, GROUP, Pairs, split_columns};
use crate::covariance::{Decide, Kernel, Learn};
use crate::error::{Error, Result};
use crate::linalg::{Buffer, vector};
use crate::rule::Step;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Largest $\sum_i x_i^2P_{ii} / x^\top Px$: above it, cancellation leaves $x^\top Px$ fewer than four
/// significant digits.
pub(super) const MAX_CANCELLATION: f64 = 1e12;

/// Largest $\alpha s$ of a row: it leaves half of the precision to the rows that follow.
const MAX_ALPHA_S_DENSE: f64 = 1e8;

/// Scratch of the row kernels: two rows at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    rows: [Row; 2],
    /// The diagonal of $P$ after all decided rows.
    diagonal: Buffer,
}

/// The vectors of a row.
#[derive(Debug, Clone, Default)]
struct Row {
    x: Buffer,
    /// $Px$ of the row to be decided.
    v: Buffer,
    /// $Px$ of the row whose step is being applied.
    applied: Buffer,
    /// The share of the unstored lower triangle in $Px$.
    dots: Buffer,
    /// $c$ of the decided row.
    contraction: f64,
}

impl Scratch {
    pub fn new(stride: usize) -> Self {
        let line = Buffer::zeros(stride);
        let row = Row {
            x: line.clone(),
            v: line.clone(),
            applied: line.clone(),
            dots: line.clone(),
            contraction: 0.0,
        };
        Self { rows: [row.clone(), row], diagonal: line }
    }
}

impl WithSimd for Learn<'_, '_, Dense> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<()> {
        // small dimensions in registers of 8 or 4 lanes; everything else takes the general kernels
        match (S::F64_LANES, self.p.stride, self.noise.is_empty()) {
            (8, 16, true) => small::learn::<S, 2, false>(simd, self),
            (8, 16, false) => small::learn::<S, 2, true>(simd, self),
            (8, 32, true) => small::learn::<S, 4, false>(simd, self),
            (8, 32, false) => small::learn::<S, 4, true>(simd, self),
            (4, 16, true) => small::learn::<S, 4, false>(simd, self),
            (4, 16, false) => small::learn::<S, 4, true>(simd, self),
            (4, 32, true) => small::learn::<S, 8, false>(simd, self),
            (4, 32, false) => small::learn::<S, 8, true>(simd, self),
            (_, _, true) => two_by_two(simd, self),
            (_, _, false) => row_by_row(simd, self),
        }
    }
}

#[inline(always)]
fn two_by_two<S: Simd>(simd: S, learn: Learn<'_, '_, Dense>) -> Result<()> {
    let Learn { p: Dense { dim, stride, p, scratch, .. }, theta, x, first, decide, .. } = learn;
    let shape = Shape { dim: *dim, stride: *stride };
    for (j, value) in scratch.diagonal[..shape.dim].iter_mut().enumerate() {
        *value = p[j * shape.stride + j];
    }
    pairs::learn(simd, &mut PairInFlight { shape, p, scratch }, shape.dim, theta, x, first, decide)
}

/// Process noise for the general kernels: added to the matrix before each row.
#[inline(always)]
fn row_by_row<S: Simd>(simd: S, learn: Learn<'_, '_, Dense>) -> Result<()> {
    let Learn { p, theta, x, first, decide, noise } = learn;
    for (i, x) in x.chunks_exact(p.dim).enumerate() {
        p.add_diagonal(noise);
        two_by_two(simd, Learn { p, theta, x, first: first + i, decide, noise: &[] })?;
    }
    Ok(())
}

/// The decision of row `i`; refused if $x^\top Px$ has lost its precision, or would lose it when the
/// row reduces it to $s/(1+\alpha s)$.
#[inline(always)]
pub(super) fn decide_row<S: Simd>(
    simd: S,
    i: usize,
    (m, s): (f64, f64),
    x: &[S::f64s],
    diagonal: &[S::f64s],
    decide: &mut Decide<'_>,
) -> Result<Step> {
    check_precision(simd, i, s, x, diagonal)?;
    let step = decide(i, m, s)?;
    check_step(i, s, step)?;
    Ok(step)
}

#[inline(always)]
fn check_precision<S: Simd>(
    simd: S,
    i: usize,
    s: f64,
    x: &[S::f64s],
    diagonal: &[S::f64s],
) -> Result<()> {
    let mut size = simd.splat_f64s(0.0);
    for (x, p) in x.iter().zip(diagonal) {
        size = simd.mul_add_f64s(simd.mul_f64s(*x, *p), *x, size);
    }
    let kept = simd.reduce_sum_f64s(size) <= MAX_CANCELLATION * s && s >= 0.0;
    if kept { Ok(()) } else { Err(Error::PrecisionLost { row: i, value: s }) }
}

#[inline(always)]
fn check_step(i: usize, s: f64, step: Step) -> Result<()> {
    if step.curvature * s > MAX_ALPHA_S_DENSE {
        return Err(Error::PrecisionLost { row: i, value: s - step.contraction * s * s });
    }
    Ok(())
}

/// Sizes of the stored matrix.
#[derive(Clone, Copy)]
struct Shape {
    dim: usize,
    stride: usize,
}

/// A pair of rows that the matrix is learning.
struct PairInFlight<'a> {
    shape: Shape,
    p: &'a mut [f64],
    scratch: &'a mut Scratch,
}

impl Pairs for PairInFlight<'_> {
    #[inline(always)]
    fn load<S: Simd>(&mut self, simd: S, pair: &[f64]) {
        for (row, x) in self.scratch.rows.iter_mut().zip(pair.chunks_exact(self.shape.dim)) {
            vector::load(simd, x, &mut row.x);
        }
    }

    #[inline(always)]
    fn x(&self, row: usize) -> &[f64] {
        &self.scratch.rows[row].x
    }

    #[inline(always)]
    fn sweep<S: Simd, const APPLY: bool, const PREPARE: bool>(&mut self, simd: S, rows: usize) {
        for row in &mut self.scratch.rows {
            std::mem::swap(&mut row.v, &mut row.applied);
        }
        let [first, second] = &mut self.scratch.rows;
        if rows == 1 {
            sweep::<S, 1, APPLY, PREPARE>(simd, self.p, self.shape, [first]);
        } else {
            sweep::<S, 2, APPLY, PREPARE>(simd, self.p, self.shape, [first, second]);
        }
    }

    #[inline(always)]
    fn variance<S: Simd>(&mut self, simd: S, row: usize, i: usize) -> Result<f64> {
        let Row { x, v, .. } = &self.scratch.rows[row];
        let s = vector::dot(simd, v, x);
        check_precision(
            simd,
            i,
            s,
            S::as_simd_f64s(x).0,
            S::as_simd_f64s(&self.scratch.diagonal).0,
        )?;
        Ok(s)
    }

    #[inline(always)]
    fn take_step<S: Simd>(
        &mut self,
        simd: S,
        row: usize,
        i: usize,
        s: f64,
        step: Step,
    ) -> Result<()> {
        check_step(i, s, step)?;
        let row = &mut self.scratch.rows[row];
        row.contraction = step.contraction;
        vector::add_squares(simd, -step.contraction, &row.v, &mut self.scratch.diagonal);
        Ok(())
    }

    #[inline(always)]
    fn correct_second<S: Simd>(&mut self, simd: S, step: Step) -> f64 {
        let [first, second] = &mut self.scratch.rows;
        let overlap = vector::dot(simd, &first.v, &second.x);
        vector::axpy(simd, -step.contraction * overlap, &first.v, &mut second.v);
        overlap
    }

    #[inline(always)]
    fn direction(&self, row: usize) -> &[f64] {
        &self.scratch.rows[row].applied
    }
}

/// Applies $P \mathrel{-}= c\,vv^\top$ for each of one or two rows (with `APPLY`), then computes
/// $y = Px$ with the new $P$ for each (with `PREPARE`), in one sweep. Tiles above the diagonal count
/// for both triangles; tiles on the diagonal are stored in full and count once.
#[inline(always)]
fn sweep<S: Simd, const R: usize, const APPLY: bool, const PREPARE: bool>(
    simd: S,
    p: &mut [f64],
    shape: Shape,
    mut rows: [&mut Row; R],
) {
    let Shape { dim, stride } = shape;
    let lanes_per_tile = TILE / S::F64_LANES;
    let full = stride <= MAX_FULL_DIM;
    if PREPARE {
        for row in &mut rows {
            vector::clear(simd, &mut row.v);
        }
    }
    let groups = p.chunks_exact_mut(GROUP * stride).take(dim.div_ceil(GROUP));
    for (index, columns) in groups.enumerate() {
        let j = index * GROUP;
        let tile = j / TILE * lanes_per_tile;
        let (above, end) =
            if full { (0, stride / S::F64_LANES) } else { (tile, tile + lanes_per_tile) };
        let mut columns = split_columns::<S>(columns, stride, end);
        let mut group = Group::<S, R>::new(simd, &rows, j);
        group.lines::<APPLY, PREPARE, true>(&mut columns, &mut rows, 0..above);
        group.lines::<APPLY, PREPARE, false>(&mut columns, &mut rows, above..end);
        if PREPARE && above > 0 {
            for k in 0..R {
                vector::reduce4(simd, group.dots[k], &mut rows[k].dots[j..]);
            }
        }
    }
    if PREPARE && !full {
        for row in rows {
            for (y, dot) in row.v[TILE..].iter_mut().zip(&row.dots[TILE..]) {
                *y += dot;
            }
        }
    }
}

/// What a sweep holds for a group of columns $j$, per row.
struct Group<S: Simd, const R: usize> {
    simd: S,
    /// $-cv_j$ of the row to apply.
    cv: [[S::f64s; GROUP]; R],
    /// $x_j$ of the row to prepare.
    x: [[S::f64s; GROUP]; R],
    /// $\sum_i P_{ij}x_i$ over the lines above the diagonal tile.
    dots: [[S::f64s; GROUP]; R],
}

/// What a sweep holds for a register of lines, per row.
struct Line<S: Simd, const R: usize> {
    v: [S::f64s; R],
    x: [S::f64s; R],
    y: [S::f64s; R],
}

impl<S: Simd, const R: usize> Group<S, R> {
    #[inline(always)]
    fn new(simd: S, rows: &[&mut Row; R], j: usize) -> Self {
        let zeros = [[simd.splat_f64s(0.0); GROUP]; R];
        let mut group = Self { simd, cv: zeros, x: zeros, dots: zeros };
        for k in 0..R {
            group.cv[k] = vector::splat4(simd, -rows[k].contraction, &rows[k].applied[j..]);
            group.x[k] = vector::splat4(simd, 1.0, &rows[k].x[j..]);
        }
        group
    }

    /// The registers `range` of the columns; with `DOT` they also count for the other triangle.
    #[inline(always)]
    fn lines<const APPLY: bool, const PREPARE: bool, const DOT: bool>(
        &mut self,
        [c0, c1, c2, c3]: &mut [&mut [S::f64s]; GROUP],
        rows: &mut [&mut Row; R],
        range: Range<usize>,
    ) {
        for r in range {
            let zero = [self.simd.splat_f64s(0.0); R];
            let mut line = Line { v: zero, x: zero, y: zero };
            for k in 0..R {
                line.v[k] = S::as_simd_f64s(&rows[k].applied).0[r];
                line.x[k] = S::as_simd_f64s(&rows[k].x).0[r];
                line.y[k] = S::as_simd_f64s(&rows[k].v).0[r];
            }
            self.entries::<APPLY, PREPARE, DOT>(0, &mut c0[r], &mut line);
            self.entries::<APPLY, PREPARE, DOT>(1, &mut c1[r], &mut line);
            self.entries::<APPLY, PREPARE, DOT>(2, &mut c2[r], &mut line);
            self.entries::<APPLY, PREPARE, DOT>(3, &mut c3[r], &mut line);
            if PREPARE {
                for k in 0..R {
                    S::as_mut_simd_f64s(&mut rows[k].v).0[r] = line.y[k];
                }
            }
        }
    }

    /// One register of column `g` of the group.
    #[inline(always)]
    fn entries<const APPLY: bool, const PREPARE: bool, const DOT: bool>(
        &mut self,
        g: usize,
        stored: &mut S::f64s,
        line: &mut Line<S, R>,
    ) {
        let simd = self.simd;
        let mut p = *stored;
        if APPLY {
            for k in 0..R {
                p = simd.mul_add_f64s(self.cv[k][g], line.v[k], p);
            }
            *stored = p;
        }
        if !PREPARE {
            return;
        }
        for k in 0..R {
            line.y[k] = simd.mul_add_f64s(p, self.x[k][g], line.y[k]);
            if DOT {
                self.dots[k][g] = simd.mul_add_f64s(p, line.x[k], self.dots[k][g]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_instruction_set_gives_the_same_answer() {
        crate::covariance::simd_tests::check::<super::Dense>(|_| &[]);
        crate::covariance::simd_tests::check::<super::Dense>(|dim| &[0.01; 50][..dim]);
    }
}
