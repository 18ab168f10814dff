//! Rows one by one on the dense form: one fused pass over what is stored of `P` a row.

use super::{Dense, FULL_UP_TO, TILE, small};
use crate::covariance::{Covariance, Decide, Learn, next_variance};
use crate::error::{Error, Result};
use crate::linalg::{Buffer, vector};
use crate::rule::Step;
use pulp::{Simd, WithSimd};

/// Largest $\sum_i x_i^2P_{ii} / x^\top Px$, and largest $1+\alpha s$ of a row: beyond it fewer than four digits of $x^\top Px$ are left.
pub(super) const LARGEST_CANCELLATION: f64 = 1e12;

/// Columns handled together, so that a loaded line of `v` and `x` serves all of them.
const GROUP: usize = 4;

/// Scratch of the row pass.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    /// The row at hand and the one after it.
    x: Buffer,
    next: Buffer,
    /// $Px$ of the row at hand, of the row before, and of the row after.
    v: Buffer,
    pub before: Buffer,
    product: Buffer,
    dots: Buffer,
    /// The diagonal of $P$, nothing owed.
    diagonal: Buffer,
}

impl Work {
    pub fn new(stride: usize) -> Self {
        let line = Buffer::zeros(stride);
        Self {
            x: line.clone(),
            next: line.clone(),
            v: line.clone(),
            before: line.clone(),
            product: line.clone(),
            dots: line.clone(),
            diagonal: line,
        }
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
            (_, _, true) => fused(simd, self),
            (_, _, false) => row_by_row(simd, self),
        }
    }
}

/// Each pass over `P` pays what the row before owes and gives $Px$ of the row after.
#[inline(always)]
fn fused<S: Simd>(simd: S, learn: Learn<'_, '_, Dense>) -> Result<()> {
    let Learn { p: Dense { dim, stride, p, work, .. }, theta, x, first, decide, .. } = learn;
    let shape = Shape { dim: *dim, stride: *stride };
    let Work { x: row, next, v, before, product, dots, diagonal } = work;
    let mut rows = x.chunks_exact(shape.dim);
    let Some(head) = rows.next() else { return Ok(()) };
    vector::load(simd, head, row);
    for (j, value) in diagonal[..shape.dim].iter_mut().enumerate() {
        *value = p[j * shape.stride + j];
    }
    vector::clear(simd, before);
    pass::<S, false, true>(simd, p, shape, 0.0, before, row, v, dots);
    let (mut m, mut s) = (vector::dot(simd, theta, row), vector::dot(simd, v, row));
    // what the row before still owes to P: the pass of this row pays it
    let mut owed = 0.0;
    for i in first.. {
        let step = decided(simd, i, (m, s), S::as_simd_f64s(row).0, S::as_simd_f64s(diagonal).0, decide);
        let upcoming = rows.next();
        let (step, upcoming) = match (step, upcoming) {
            (Ok(step), Some(upcoming)) => (step, upcoming),
            (step, _) => {
                if owed != 0.0 {
                    pass::<S, true, false>(simd, p, shape, owed, before, next, product, dots);
                }
                let step = step?;
                pass::<S, true, false>(simd, p, shape, step.contraction, v, next, product, dots);
                vector::axpy(simd, step.gain, v, theta);
                return Ok(());
            }
        };
        let (gain, c) = (step.gain, step.contraction);
        // P_t x_{t+1}, theta_t'x_{t+1} and x_{t+1}'P_t x_{t+1} do not wait for the decision; its rank-one effect is added afterwards
        vector::load(simd, upcoming, next);
        pass::<S, true, true>(simd, p, shape, owed, before, next, product, dots);
        let (overlap, before_row) = (vector::dot(simd, v, next), vector::dot(simd, product, next));
        m = vector::dot(simd, theta, next) + gain * overlap;
        vector::axpy(simd, gain, v, theta);
        vector::axpy(simd, -c * overlap, v, product);
        s = match next_variance(before_row, c, overlap) {
            Some(s) => s,
            None => vector::dot(simd, product, next),
        };
        vector::add_squares(simd, -c, v, diagonal);
        owed = c;
        std::mem::swap(before, v);
        std::mem::swap(v, product);
        std::mem::swap(row, next);
    }
    Ok(())
}

/// A walk where no kernel takes it on the way.
#[inline(always)]
fn row_by_row<S: Simd>(simd: S, learn: Learn<'_, '_, Dense>) -> Result<()> {
    let Learn { p, theta, x, first, decide, walk } = learn;
    for (i, x) in x.chunks_exact(p.dim).enumerate() {
        p.add_diagonal(walk);
        fused(simd, Learn { p, theta, x, first: first + i, decide, walk: &[] })?;
    }
    Ok(())
}

/// The decision of row `i`, whose $x^\top Px$ must have its digits, and keep them when the row takes it to $s/(1+\alpha s)$.
#[inline(always)]
pub(super) fn decided<S: Simd>(
    simd: S,
    i: usize,
    (m, s): (f64, f64),
    x: &[S::f64s],
    diagonal: &[S::f64s],
    decide: &mut Decide<'_>,
) -> Result<Step> {
    let mut size = simd.splat_f64s(0.0);
    for (x, p) in x.iter().zip(diagonal) {
        size = simd.mul_add_f64s(simd.mul_f64s(*x, *p), *x, size);
    }
    let has_digits = simd.reduce_sum_f64s(size) <= LARGEST_CANCELLATION * s && s >= 0.0;
    if !has_digits {
        return Err(Error::PrecisionLost { row: i, value: s });
    }
    let step = decide(i, m, s)?;
    if step.curvature * s > LARGEST_CANCELLATION {
        return Err(Error::PrecisionLost { row: i, value: s - step.contraction * s * s });
    }
    Ok(step)
}

/// Sizes of the stored matrix.
#[derive(Clone, Copy)]
struct Shape {
    dim: usize,
    stride: usize,
}

/// $P \mathrel{-}= c\,vv^\top$ (with `PAY`) and $y = Px$ with the new $P$ (with `PRODUCT`), in one pass over what is stored.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn pass<S: Simd, const PAY: bool, const PRODUCT: bool>(simd: S, p: &mut [f64], shape: Shape, c: f64, v: &[f64], x: &[f64], y: &mut [f64], dots: &mut [f64]) {
    let Shape { dim, stride } = shape;
    vector::clear(simd, y);
    let (vs, _) = S::as_simd_f64s(v);
    let (xs, _) = S::as_simd_f64s(x);
    let lanes_per_tile = TILE / S::F64_LANES;
    let full = stride <= FULL_UP_TO;
    for (group, columns) in p.chunks_exact_mut(GROUP * stride).take(dim.div_ceil(GROUP)).enumerate() {
        let j = group * GROUP;
        let tile = j / TILE * lanes_per_tile;
        let (above, end) = if full { (0, stride / S::F64_LANES) } else { (tile, tile + lanes_per_tile) };
        let (c0, rest) = columns.split_at_mut(stride);
        let (c1, rest) = rest.split_at_mut(stride);
        let (c2, c3) = rest.split_at_mut(stride);
        let columns = [
            &mut S::as_mut_simd_f64s(c0).0[..end],
            &mut S::as_mut_simd_f64s(c1).0[..end],
            &mut S::as_mut_simd_f64s(c2).0[..end],
            &mut S::as_mut_simd_f64s(c3).0[..end],
        ];
        let xj = vector::splat4(simd, 1.0, &x[j..]);
        let cv = vector::splat4(simd, -c, &v[j..]);
        let (ys, _) = S::as_mut_simd_f64s(y);
        let sums = group_pass::<S, PAY, PRODUCT>(simd, columns, cv, &vs[..end], xj, &xs[..end], &mut ys[..end], above);
        if PRODUCT && above > 0 {
            vector::reduce4(simd, sums, &mut dots[j..]);
        }
    }
    if PRODUCT && !full {
        for (y, dot) in y[TILE..].iter_mut().zip(&dots[TILE..]) {
            *y += dot;
        }
    }
}

/// One group of columns: tiles above the diagonal count for both triangles, the diagonal tile is stored in full and counts once.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn group_pass<S: Simd, const PAY: bool, const PRODUCT: bool>(
    simd: S,
    columns: [&mut [S::f64s]; GROUP],
    cv: [S::f64s; GROUP],
    v: &[S::f64s],
    xj: [S::f64s; GROUP],
    x: &[S::f64s],
    y: &mut [S::f64s],
    above: usize,
) -> [S::f64s; GROUP] {
    let [c0, c1, c2, c3] = columns;
    let end = y.len();
    let (c0, c1, c2, c3) = (&mut c0[..end], &mut c1[..end], &mut c2[..end], &mut c3[..end]);
    let (v, x) = (&v[..end], &x[..end]);
    let mut sums = [simd.splat_f64s(0.0); GROUP];
    macro_rules! column {
        ($c:ident, $k:literal, $r:ident, $y:ident, $dot:literal) => {
            let mut p = $c[$r];
            if PAY {
                p = simd.mul_add_f64s(cv[$k], v[$r], p);
                $c[$r] = p;
            }
            if PRODUCT {
                $y = simd.mul_add_f64s(p, xj[$k], $y);
            }
            if PRODUCT && $dot {
                sums[$k] = simd.mul_add_f64s(p, x[$r], sums[$k]);
            }
        };
    }
    for r in 0..above {
        let mut yr = y[r];
        column!(c0, 0, r, yr, true);
        column!(c1, 1, r, yr, true);
        column!(c2, 2, r, yr, true);
        column!(c3, 3, r, yr, true);
        y[r] = yr;
    }
    for r in above..end {
        let mut yr = y[r];
        column!(c0, 0, r, yr, false);
        column!(c1, 1, r, yr, false);
        column!(c2, 2, r, yr, false);
        column!(c3, 3, r, yr, false);
        y[r] = yr;
    }
    sums
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_instruction_set_gives_the_same_answer() {
        crate::covariance::simd_tests::check::<super::Dense>(|_| &[]);
        crate::covariance::simd_tests::check::<super::Dense>(|dim| &[0.01; 50][..dim]);
    }
}
