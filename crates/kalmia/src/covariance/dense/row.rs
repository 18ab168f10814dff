//! Rows on the dense form: the update by two rows fused with the products of the next two, one pass
//! over what is stored of `P` a pair.

use super::{Dense, FULL_UP_TO, TILE, small};
use crate::covariance::pairs::{self, Pairs};
use crate::covariance::{Covariance, Decide, Learn};
use crate::error::{Error, Result};
use crate::linalg::{Buffer, vector};
use crate::rule::Step;
use pulp::{Simd, WithSimd};

/// Largest $\sum_i x_i^2P_{ii} / x^\top Px$: beyond it fewer than four digits of $x^\top Px$ are
/// left.
pub(super) const LARGEST_CANCELLATION: f64 = 1e12;

/// Largest $\alpha s$ of a row: it leaves half of the digits for the rows that follow.
const SHARPEST: f64 = 1e8;

/// Columns handled together, so that a loaded line of `v` and `x` serves all of them.
const GROUP: usize = 4;

/// Scratch of the row pass: two rows at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    rows: [Row; 2],
    /// The diagonal of $P$ with all settled rows in it.
    diagonal: Buffer,
}

/// What a row needs on its way.
#[derive(Debug, Clone, Default)]
struct Row {
    x: Buffer,
    /// $Px$, of a row to be decided and of one that was.
    v: Buffer,
    settled: Buffer,
    /// What the stored triangle says of the other one.
    dots: Buffer,
    /// $c$ of the row that was decided.
    contraction: f64,
}

impl Work {
    pub fn new(stride: usize) -> Self {
        let line = Buffer::zeros(stride);
        let row = Row {
            x: line.clone(),
            v: line.clone(),
            settled: line.clone(),
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
        // the two small sizes in registers of 8 and of 4 numbers; other widths take the general way
        match (S::F64_LANES, self.p.stride, self.walk.is_empty()) {
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
    let Learn { p: Dense { dim, stride, p, work, .. }, theta, x, first, decide, .. } = learn;
    let shape = Shape { dim: *dim, stride: *stride };
    for (j, value) in work.diagonal[..shape.dim].iter_mut().enumerate() {
        *value = p[j * shape.stride + j];
    }
    pairs::learn(simd, &mut OnTheWay { shape, p, work }, shape.dim, theta, x, first, decide)
}

/// A walk where no kernel takes it on the way.
#[inline(always)]
fn row_by_row<S: Simd>(simd: S, learn: Learn<'_, '_, Dense>) -> Result<()> {
    let Learn { p, theta, x, first, decide, walk } = learn;
    for (i, x) in x.chunks_exact(p.dim).enumerate() {
        p.add_diagonal(walk);
        two_by_two(simd, Learn { p, theta, x, first: first + i, decide, walk: &[] })?;
    }
    Ok(())
}

/// The decision of row `i`, whose $x^\top Px$ must have its digits, and keep them when the row
/// takes it to $s/(1+\alpha s)$.
#[inline(always)]
pub(super) fn decided<S: Simd>(
    simd: S,
    i: usize,
    (m, s): (f64, f64),
    x: &[S::f64s],
    diagonal: &[S::f64s],
    decide: &mut Decide<'_>,
) -> Result<Step> {
    has_digits(simd, i, s, x, diagonal)?;
    let step = decide(i, m, s)?;
    keeps_digits(i, s, step)?;
    Ok(step)
}

#[inline(always)]
fn has_digits<S: Simd>(
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
    let kept = simd.reduce_sum_f64s(size) <= LARGEST_CANCELLATION * s && s >= 0.0;
    if kept { Ok(()) } else { Err(Error::PrecisionLost { row: i, value: s }) }
}

#[inline(always)]
fn keeps_digits(i: usize, s: f64, step: Step) -> Result<()> {
    if step.curvature * s > SHARPEST {
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

/// A pair of rows on its way into the matrix.
struct OnTheWay<'a> {
    shape: Shape,
    p: &'a mut [f64],
    work: &'a mut Work,
}

impl Pairs for OnTheWay<'_> {
    #[inline(always)]
    fn load<S: Simd>(&mut self, simd: S, pair: &[f64]) {
        for (row, x) in self.work.rows.iter_mut().zip(pair.chunks_exact(self.shape.dim)) {
            vector::load(simd, x, &mut row.x);
        }
    }

    #[inline(always)]
    fn x(&self, row: usize) -> &[f64] {
        &self.work.rows[row].x
    }

    #[inline(always)]
    fn pass<S: Simd, const PAY: bool, const PREPARE: bool>(&mut self, simd: S, rows: usize) {
        for row in &mut self.work.rows {
            std::mem::swap(&mut row.v, &mut row.settled);
        }
        let [first, second] = &mut self.work.rows;
        if rows == 1 {
            pass::<S, 1, PAY, PREPARE>(simd, self.p, self.shape, [first]);
        } else {
            pass::<S, 2, PAY, PREPARE>(simd, self.p, self.shape, [first, second]);
        }
    }

    #[inline(always)]
    fn variance<S: Simd>(&mut self, simd: S, row: usize, i: usize) -> Result<f64> {
        let Row { x, v, .. } = &self.work.rows[row];
        let s = vector::dot(simd, v, x);
        has_digits(simd, i, s, S::as_simd_f64s(x).0, S::as_simd_f64s(&self.work.diagonal).0)?;
        Ok(s)
    }

    #[inline(always)]
    fn settle<S: Simd>(&mut self, simd: S, row: usize, i: usize, s: f64, step: Step) -> Result<()> {
        keeps_digits(i, s, step)?;
        let row = &mut self.work.rows[row];
        row.contraction = step.contraction;
        vector::add_squares(simd, -step.contraction, &row.v, &mut self.work.diagonal);
        Ok(())
    }

    #[inline(always)]
    fn carry<S: Simd>(&mut self, simd: S, step: Step) -> f64 {
        let [first, second] = &mut self.work.rows;
        let overlap = vector::dot(simd, &first.v, &second.x);
        vector::axpy(simd, -step.contraction * overlap, &first.v, &mut second.v);
        overlap
    }

    #[inline(always)]
    fn direction(&self, row: usize) -> &[f64] {
        &self.work.rows[row].settled
    }
}

/// For each of one or two rows $P \mathrel{-}= c\,vv^\top$ (with `PAY`), and then for each $y = Px$
/// with the new $P$ (with `PRODUCT`), in one pass over what is stored. Tiles above the diagonal
/// count for both triangles, the diagonal tile is stored in full and counts once.
#[inline(always)]
fn pass<S: Simd, const R: usize, const PAY: bool, const PRODUCT: bool>(
    simd: S,
    p: &mut [f64],
    shape: Shape,
    mut rows: [&mut Row; R],
) {
    let Shape { dim, stride } = shape;
    let lanes_per_tile = TILE / S::F64_LANES;
    let full = stride <= FULL_UP_TO;
    if PRODUCT {
        for row in &mut rows {
            vector::clear(simd, &mut row.v);
        }
    }
    for (group, columns) in p.chunks_exact_mut(GROUP * stride).take(dim.div_ceil(GROUP)).enumerate()
    {
        let j = group * GROUP;
        let tile = j / TILE * lanes_per_tile;
        let (above, end) =
            if full { (0, stride / S::F64_LANES) } else { (tile, tile + lanes_per_tile) };
        let (c0, rest) = columns.split_at_mut(stride);
        let (c1, rest) = rest.split_at_mut(stride);
        let (c2, c3) = rest.split_at_mut(stride);
        let (c0, c1) =
            (&mut S::as_mut_simd_f64s(c0).0[..end], &mut S::as_mut_simd_f64s(c1).0[..end]);
        let (c2, c3) =
            (&mut S::as_mut_simd_f64s(c2).0[..end], &mut S::as_mut_simd_f64s(c3).0[..end]);
        let zeros = [simd.splat_f64s(0.0); GROUP];
        let (mut cv, mut xj, mut sums) = ([zeros; R], [zeros; R], [zeros; R]);
        for k in 0..R {
            cv[k] = vector::splat4(simd, -rows[k].contraction, &rows[k].settled[j..]);
            xj[k] = vector::splat4(simd, 1.0, &rows[k].x[j..]);
        }
        macro_rules! column {
            ($c:ident, $g:literal, $r:ident, $v:ident, $x:ident, $y:ident, $dot:literal) => {
                let mut p = $c[$r];
                if PAY {
                    for k in 0..R {
                        p = simd.mul_add_f64s(cv[k][$g], $v[k], p);
                    }
                    $c[$r] = p;
                }
                if PRODUCT {
                    for k in 0..R {
                        $y[k] = simd.mul_add_f64s(p, xj[k][$g], $y[k]);
                        if $dot {
                            sums[k][$g] = simd.mul_add_f64s(p, $x[k], sums[k][$g]);
                        }
                    }
                }
            };
        }
        macro_rules! lines {
            ($range:expr, $dot:literal) => {
                for r in $range {
                    let (mut v, mut x, mut y) = ([zeros[0]; R], [zeros[0]; R], [zeros[0]; R]);
                    for k in 0..R {
                        v[k] = S::as_simd_f64s(&rows[k].settled).0[r];
                        x[k] = S::as_simd_f64s(&rows[k].x).0[r];
                        y[k] = S::as_simd_f64s(&rows[k].v).0[r];
                    }
                    column!(c0, 0, r, v, x, y, $dot);
                    column!(c1, 1, r, v, x, y, $dot);
                    column!(c2, 2, r, v, x, y, $dot);
                    column!(c3, 3, r, v, x, y, $dot);
                    if PRODUCT {
                        for k in 0..R {
                            S::as_mut_simd_f64s(&mut rows[k].v).0[r] = y[k];
                        }
                    }
                }
            };
        }
        lines!(0..above, true);
        lines!(above..end, false);
        if PRODUCT && above > 0 {
            for k in 0..R {
                vector::reduce4(simd, sums[k], &mut rows[k].dots[j..]);
            }
        }
    }
    if PRODUCT && !full {
        for row in rows {
            for (y, dot) in row.v[TILE..].iter_mut().zip(&row.dots[TILE..]) {
                *y += dot;
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
