//! Rows one by one on the dense form: one fused pass over half of `P` a row.

use super::{Dense, TILE};
use crate::error::{Error, Result};
use crate::linalg::{Buffer, vector};
use crate::rule::Step;
use pulp::{Arch, Simd, WithSimd};

/// Largest $\sum_i |x_i (Px)_i| / x^\top Px$: beyond it fewer than four digits of $s$ are left.
const LARGEST_CANCELLATION: f64 = 1e12;

/// Columns handled together, so that a loaded line of `v` and `x` serves all of them.
const GROUP: usize = 4;

/// Scratch of the row pass.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    x: Buffer,
    v: Buffer,
    next: Buffer,
    dots: Buffer,
}

impl Work {
    pub fn new(stride: usize) -> Self {
        let line = Buffer::zeros(stride);
        Self { x: line.clone(), v: line.clone(), next: line.clone(), dots: line }
    }
}

/// Learns rows in order, fusing the update of one with the product of the next.
pub(super) fn learn<D>(p: &mut Dense, theta: &mut Buffer, x: &[f64], first: usize, decide: &mut D) -> Result<()>
where
    D: FnMut(usize, f64, f64) -> Result<Step>,
{
    Arch::new().dispatch(Learn { p, theta, x, first, decide })
}

struct Learn<'a, D> {
    p: &'a mut Dense,
    theta: &'a mut Buffer,
    x: &'a [f64],
    first: usize,
    decide: &'a mut D,
}

impl<D: FnMut(usize, f64, f64) -> Result<Step>> WithSimd for Learn<'_, D> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<()> {
        let Learn { p: Dense { dim, stride, p, work, .. }, theta, x, first, decide } = self;
        let (dim, stride) = (*dim, *stride);
        let mut rows = x.chunks_exact(dim).enumerate();
        let Some((_, row)) = rows.next() else { return Ok(()) };
        work.x[..dim].copy_from_slice(row);
        pass(simd, p, dim, stride, None, &work.x, &mut work.next, &mut work.dots);
        let mut i = 0;
        loop {
            std::mem::swap(&mut work.v, &mut work.next);
            let m = vector::dot(simd, theta, &work.x);
            let s = variance(simd, &work.x, &work.v).map_err(|value| Error::PrecisionLost { row: first + i, value })?;
            let step = decide(first + i, m, s)?;
            vector::axpy(simd, step.gain, &work.v, theta);
            let update = Some((step.contraction(s), &*work.v));
            match rows.next() {
                Some((next, row)) => {
                    work.x[..dim].copy_from_slice(row);
                    pass(simd, p, dim, stride, update, &work.x, &mut work.next, &mut work.dots);
                    i = next;
                }
                None => {
                    work.x.fill(0.0);
                    pass(simd, p, dim, stride, update, &work.x, &mut work.next, &mut work.dots);
                    return Ok(());
                }
            }
        }
    }
}

/// $s = x^\top v$, or what is left of it when cancellation ate its digits.
#[inline(always)]
fn variance<S: Simd>(simd: S, x: &[f64], v: &[f64]) -> std::result::Result<f64, f64> {
    let (x, _) = S::as_simd_f64s(x);
    let (v, _) = S::as_simd_f64s(v);
    let mut sum = simd.splat_f64s(0.0);
    let mut size = sum;
    for (x, v) in x.iter().zip(v) {
        let product = simd.mul_f64s(*x, *v);
        sum = simd.add_f64s(sum, product);
        size = simd.add_f64s(size, simd.abs_f64s(product));
    }
    let (s, size) = (simd.reduce_sum_f64s(sum), simd.reduce_sum_f64s(size));
    if size <= LARGEST_CANCELLATION * s { Ok(s) } else { Err(s) }
}

/// $P \mathrel{-}= c\,vv^\top$ (where given), and $y = Px$ with the new $P$, in one pass over the upper tiles.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn pass<S: Simd>(
    simd: S,
    p: &mut [f64],
    dim: usize,
    stride: usize,
    update: Option<(f64, &[f64])>,
    x: &[f64],
    y: &mut [f64],
    dots: &mut [f64],
) {
    y.fill(0.0);
    let (xs, _) = S::as_simd_f64s(x);
    let lanes_per_tile = TILE / S::F64_LANES;
    for (group, columns) in p.chunks_exact_mut(GROUP * stride).take(dim.div_ceil(GROUP)).enumerate() {
        let j = group * GROUP;
        let above = j / TILE * lanes_per_tile;
        let (c0, rest) = columns.split_at_mut(stride);
        let (c1, rest) = rest.split_at_mut(stride);
        let (c2, c3) = rest.split_at_mut(stride);
        let end = above + lanes_per_tile;
        let columns = [c0, c1, c2, c3].map(|c| &mut S::as_mut_simd_f64s(c).0[..end]);
        let xj = [0, 1, 2, 3].map(|k| simd.splat_f64s(x[j + k]));
        let (ys, _) = S::as_mut_simd_f64s(y);
        let ys = &mut ys[..end];
        let sums = match update {
            Some((c, v)) => {
                let cv = [0, 1, 2, 3].map(|k| simd.splat_f64s(-c * v[j + k]));
                let (vs, _) = S::as_simd_f64s(v);
                group_pass::<S, true>(simd, columns, cv, &vs[..end], xj, &xs[..end], ys, above)
            }
            None => group_pass::<S, false>(simd, columns, xj, &xs[..end], xj, &xs[..end], ys, above),
        };
        dots[j..j + GROUP].copy_from_slice(&sums.map(|sum| simd.reduce_sum_f64s(sum)));
    }
    for (y, dot) in y.iter_mut().zip(dots.iter()) {
        *y += dot;
    }
}

/// One group of columns: tiles above the diagonal count for both triangles, the diagonal tile is stored in full and counts once.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn group_pass<S: Simd, const UPDATE: bool>(
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
            if UPDATE {
                p = simd.mul_add_f64s(cv[$k], v[$r], p);
                $c[$r] = p;
            }
            $y = simd.mul_add_f64s(p, xj[$k], $y);
            if $dot {
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
