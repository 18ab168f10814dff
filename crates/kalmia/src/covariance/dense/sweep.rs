//! The sweep of the dense form: applies one or two rows to `P` and computes the products of the
//! next.

use super::{MAX_FULL_DIM, TILE};
use crate::covariance::pairs::{GROUP, split_columns};
use crate::linalg::{Buffer, vector};
use pulp::Simd;
use std::ops::Range;

/// The vectors of a row.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub x: Buffer,
    /// $Px$ of the row to be decided.
    pub v: Buffer,
    /// $Px$ of the row whose step is being applied.
    pub applied: Buffer,
    /// The share of the unstored lower triangle in $Px$.
    pub dots: Buffer,
    /// $c$ of the decided row.
    pub contraction: f64,
}

/// Sizes of the stored matrix.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub dim: usize,
    pub stride: usize,
}

/// Applies $P \mathrel{-}= c\,vv^\top$ for each of one or two rows (with `APPLY`), then computes $y
/// = Px$ with the new $P$ for each (with `PREPARE`), in one sweep. Tiles above the diagonal count
/// for both triangles; tiles on the diagonal are stored in full and count once.
#[inline(always)]
pub(super) fn sweep<S: Simd, const R: usize, const APPLY: bool, const PREPARE: bool>(
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
            for (row, dots) in rows.iter_mut().zip(group.dots) {
                vector::reduce4(simd, dots, &mut row.dots[j..]);
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
        for (k, row) in rows.iter().enumerate() {
            group.cv[k] = vector::splat4(simd, -row.contraction, &row.applied[j..]);
            group.x[k] = vector::splat4(simd, 1.0, &row.x[j..]);
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
            for (k, row) in rows.iter().enumerate() {
                line.v[k] = S::as_simd_f64s(&row.applied).0[r];
                line.x[k] = S::as_simd_f64s(&row.x).0[r];
                line.y[k] = S::as_simd_f64s(&row.v).0[r];
            }
            self.entries::<APPLY, PREPARE, DOT>(0, &mut c0[r], &mut line);
            self.entries::<APPLY, PREPARE, DOT>(1, &mut c1[r], &mut line);
            self.entries::<APPLY, PREPARE, DOT>(2, &mut c2[r], &mut line);
            self.entries::<APPLY, PREPARE, DOT>(3, &mut c3[r], &mut line);
            if PREPARE {
                for (row, y) in rows.iter_mut().zip(line.y) {
                    S::as_mut_simd_f64s(&mut row.v).0[r] = y;
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
