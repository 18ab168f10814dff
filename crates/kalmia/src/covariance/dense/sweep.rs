//! The sweep of the dense form: applies one or two rows to `P` and computes the products of the
//! next.

// one index runs over the vectors of several rows and columns
#![allow(clippy::needless_range_loop)]

use super::{MAX_FULL_DIM, TILE};
use crate::covariance::pairs::Columns;
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

/// A row as a sweep sees it. Slices taken once per sweep: through the row itself each step of the
/// inner loop would load their pointers anew.
pub(super) struct RowSlices<'a> {
    x: &'a [f64],
    y: &'a mut [f64],
    applied: &'a [f64],
    dots: &'a mut [f64],
    contraction: f64,
}

impl<'a> RowSlices<'a> {
    #[inline(always)]
    pub fn new(row: &'a mut Row) -> Self {
        let Row { x, v, applied, dots, contraction } = row;
        Self { x, y: v, applied, dots, contraction: *contraction }
    }

    /// Whether each vector that the inner loop reads or writes has `len` numbers.
    #[inline(always)]
    fn reaches(&self, len: usize) -> bool {
        len <= self.x.len() && len <= self.y.len() && len <= self.applied.len()
    }
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
pub(super) fn sweep<
    S: Simd,
    const G: usize,
    const R: usize,
    const APPLY: bool,
    const PREPARE: bool,
>(
    simd: S,
    p: &mut [f64],
    shape: Shape,
    mut rows: [RowSlices<'_>; R],
) {
    let Shape { dim, stride } = shape;
    let lanes_per_tile = TILE / S::F64_LANES;
    let full = stride <= MAX_FULL_DIM;
    if PREPARE {
        for row in &mut rows {
            vector::clear(simd, row.y);
        }
    }
    let groups = p.chunks_exact_mut(G * stride).take(dim.div_ceil(G));
    for (index, columns) in groups.enumerate() {
        let j = index * G;
        let tile = j / TILE * lanes_per_tile;
        let (above, end) =
            if full { (0, stride / S::F64_LANES) } else { (tile, tile + lanes_per_tile) };
        let mut columns = Columns::new(columns, stride, G);
        let mut group = Group::<S, G, R>::new(simd, &rows, j);
        group.lines::<APPLY, PREPARE, true>(&mut columns, &mut rows, 0..above);
        group.lines::<APPLY, PREPARE, false>(&mut columns, &mut rows, above..end);
        if PREPARE && above > 0 {
            for k in 0..R {
                vector::reduce(simd, group.dots[k], &mut rows[k].dots[j..]);
            }
        }
    }
    if PREPARE && !full {
        for row in rows {
            for (y, dot) in row.y[TILE..].iter_mut().zip(&row.dots[TILE..]) {
                *y += dot;
            }
        }
    }
}

/// What a sweep holds for a group of columns $j$, per row.
struct Group<S: Simd, const G: usize, const R: usize> {
    simd: S,
    /// $-cv_j$ of the row to apply.
    cv: [[S::f64s; G]; R],
    /// $x_j$ of the row to prepare.
    x: [[S::f64s; G]; R],
    /// $\sum_i P_{ij}x_i$ over the lines above the diagonal tile.
    dots: [[S::f64s; G]; R],
}

/// What a sweep holds for a register of lines, per row.
struct Line<S: Simd, const R: usize> {
    v: [S::f64s; R],
    x: [S::f64s; R],
    y: [S::f64s; R],
}

impl<S: Simd, const G: usize, const R: usize> Group<S, G, R> {
    #[inline(always)]
    fn new(simd: S, rows: &[RowSlices<'_>; R], j: usize) -> Self {
        let zeros = [[simd.splat_f64s(0.0); G]; R];
        let mut group = Self { simd, cv: zeros, x: zeros, dots: zeros };
        for k in 0..R {
            let row = &rows[k];
            group.cv[k] = vector::splats(simd, -row.contraction, &row.applied[j..]);
            group.x[k] = vector::splats(simd, 1.0, &row.x[j..]);
        }
        group
    }

    /// The registers `range` of the columns; with `DOT` they also count for the other triangle.
    #[inline(always)]
    fn lines<const APPLY: bool, const PREPARE: bool, const DOT: bool>(
        &mut self,
        columns: &mut Columns<'_, S>,
        rows: &mut [RowSlices<'_>; R],
        range: Range<usize>,
    ) {
        // Checked here and not in each step of the loop, which would take a third of its time.
        for row in rows.iter() {
            assert!(row.reaches(range.end * S::F64_LANES));
        }
        assert!(columns.reach(range.end));
        for r in range {
            let zero = [self.simd.splat_f64s(0.0); R];
            let mut line = Line { v: zero, x: zero, y: zero };
            for k in 0..R {
                // SAFETY: each vector reaches beyond `r`.
                unsafe {
                    line.v[k] = *S::as_simd_f64s(rows[k].applied).0.get_unchecked(r);
                    line.x[k] = *S::as_simd_f64s(rows[k].x).0.get_unchecked(r);
                    line.y[k] = *S::as_simd_f64s(rows[k].y).0.get_unchecked(r);
                }
            }
            for g in 0..G {
                // SAFETY: each column reaches beyond `r`.
                let stored = unsafe { columns.register(g, r) };
                self.entries::<APPLY, PREPARE, DOT>(g, stored, &mut line);
            }
            if PREPARE {
                for k in 0..R {
                    // SAFETY: as above.
                    let y = unsafe { S::as_mut_simd_f64s(rows[k].y).0.get_unchecked_mut(r) };
                    *y = line.y[k];
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
