//! Rows one by one on a small dense matrix: both triangles stored, and the vectors of a row held in
//! `N` SIMD registers.

use super::row::decided;
use super::{Dense, FULL_UP_TO};
use crate::covariance::{Learn, next_variance};
use crate::error::Result;
use crate::linalg::{Lines, Near, vector};
use pulp::Simd;

/// Rows after which a walk is added to the stored diagonal.
const FOLD: usize = 16;

/// As [`super::row`], for a padded dimension of exactly `N` registers. With `WALK`, $P$ is the
/// stored matrix and a diagonal beside it, which grows with each row and is added to the matrix now
/// and then.
#[inline(always)]
pub(super) fn learn<S: Simd, const N: usize, const WALK: bool>(
    simd: S,
    learn: Learn<'_, '_, Dense>,
) -> Result<()> {
    let Learn { p, theta: coefficients, x, first, decide, walk } = learn;
    if x.is_empty() {
        return Ok(());
    }
    let dim = p.dim;
    let mut line = Lines([0.0; FULL_UP_TO]);
    let before = &mut line.0;
    for (j, value) in before[..dim].iter_mut().enumerate() {
        *value = p.p[j * p.stride + j];
    }
    let mut diagonal: [S::f64s; N] = vector::registers(simd, before);
    let mut theta: [S::f64s; N] = vector::registers(simd, coefficients);
    let mut near = Near::new(&p.p, x.len() / dim);
    let mut matrix =
        Matrix::<S, N> { simd, columns: S::as_mut_simd_f64s(near.numbers(&mut p.p)).0, dim };
    let zero = [simd.splat_f64s(0.0); N];
    let (mut owed, mut paid) = (0.0, zero);
    before.fill(0.0);
    let mut rest = x;
    let mut at: [S::f64s; N] = vector::head(simd, rest, dim);
    let mut v = matrix.product(rest);
    let walk: [S::f64s; N] = vector::registers(simd, walk);
    let mut beside = walk;
    if WALK {
        vector::add_product_registers(simd, beside, at, &mut v);
        vector::axpy_registers(simd, 1.0, walk, &mut diagonal);
    }
    let (mut m, mut s) =
        (vector::dot_registers(simd, theta, at), vector::dot_registers(simd, v, at));
    let mut outcome = Ok(());
    for i in first.. {
        let (gain, c) = match decided(simd, i, (m, s), &at, &diagonal, decide) {
            Ok(step) => (step.gain, step.contraction),
            Err(error) => {
                outcome = Err(error);
                matrix.pay(owed, before, paid);
                break;
            }
        };
        // what the next row needs does not wait for the decision; its rank-one effect is added
        // afterwards
        rest = &rest[dim..];
        let more = !rest.is_empty();
        if WALK && (i - first) % FOLD == FOLD - 1 {
            matrix.add_diagonal(beside);
            beside = zero;
        }
        let mut product = if more {
            matrix.pass(owed, before, paid, rest)
        } else {
            matrix.pay(owed, before, paid);
            zero
        };
        paid = v;
        owed = c;
        vector::store_registers::<S, N>(v, before);
        if !more {
            vector::axpy_registers(simd, gain, v, &mut theta);
            matrix.pay(owed, before, paid);
            break;
        }
        at = vector::head(simd, rest, dim);
        if WALK {
            vector::axpy_registers(simd, 1.0, walk, &mut beside);
            vector::axpy_registers(simd, 1.0, walk, &mut diagonal);
            vector::add_product_registers(simd, beside, at, &mut product);
        }
        let (overlap, before_row) =
            (vector::dot_registers(simd, v, at), vector::dot_registers(simd, product, at));
        m = vector::dot_registers(simd, theta, at) + gain * overlap;
        vector::axpy_registers(simd, gain, v, &mut theta);
        v = product;
        vector::axpy_registers(simd, -c * overlap, paid, &mut v);
        s = match next_variance(before_row, c, overlap) {
            Some(s) => s,
            None => vector::dot_registers(simd, v, at),
        };
        vector::add_squares_registers(simd, -c, paid, &mut diagonal);
    }
    if WALK {
        matrix.add_diagonal(beside);
    }
    near.put_back(&mut p.p);
    vector::write_registers(theta, S::as_mut_simd_f64s(coefficients).0);
    outcome
}

/// The stored matrix, `N` registers a column.
struct Matrix<'a, S: Simd, const N: usize> {
    simd: S,
    columns: &'a mut [S::f64s],
    dim: usize,
}

impl<S: Simd, const N: usize> Matrix<'_, S, N> {
    /// $Px$ for the first row of `x`.
    #[inline(always)]
    fn product(&self, x: &[f64]) -> [S::f64s; N] {
        let zero = [self.simd.splat_f64s(0.0); N];
        let (mut sum, mut other) = (zero, zero);
        for (column, x) in self.columns.chunks_exact(N).zip(&x[..self.dim]) {
            let x = self.simd.splat_f64s(*x);
            for r in 0..N {
                sum[r] = self.simd.mul_add_f64s(column[r], x, sum[r]);
            }
            std::mem::swap(&mut sum, &mut other);
        }
        vector::axpy_registers(self.simd, 1.0, other, &mut sum);
        sum
    }

    /// $P \mathrel{-}= c\,vv^\top$ (`v` in memory and in registers), and $Px$ with the new $P$ for
    /// the first row of `x`.
    #[inline(always)]
    fn pass(&mut self, c: f64, v: &[f64], mut registers: [S::f64s; N], x: &[f64]) -> [S::f64s; N] {
        let simd = self.simd;
        vector::scale_registers(simd, -c, &mut registers);
        let zero = [simd.splat_f64s(0.0); N];
        let (mut sum, mut other) = (zero, zero);
        for ((column, v), x) in
            self.columns.chunks_exact_mut(N).zip(&v[..self.dim]).zip(&x[..self.dim])
        {
            let (v, x) = (simd.splat_f64s(*v), simd.splat_f64s(*x));
            for r in 0..N {
                let p = simd.mul_add_f64s(v, registers[r], column[r]);
                column[r] = p;
                sum[r] = simd.mul_add_f64s(p, x, sum[r]);
            }
            // the columns in turn, so that one addition need not wait for another
            std::mem::swap(&mut sum, &mut other);
        }
        vector::axpy_registers(simd, 1.0, other, &mut sum);
        sum
    }

    /// $P \mathrel{+}= \mathrm{diag}(q)$.
    #[inline(always)]
    fn add_diagonal(&mut self, q: [S::f64s; N]) {
        let mut line = [0.0; FULL_UP_TO];
        vector::store_registers::<S, N>(q, &mut line);
        for (j, q) in line[..self.dim].iter().enumerate() {
            let column = &mut self.columns[j * N..][..N];
            let entries: &mut [f64] = pulp::bytemuck::cast_slice_mut(column);
            entries[j] += q;
        }
    }

    /// $P \mathrel{-}= c\,vv^\top$.
    #[inline(always)]
    fn pay(&mut self, c: f64, v: &[f64], mut registers: [S::f64s; N]) {
        if c == 0.0 {
            return;
        }
        vector::scale_registers(self.simd, -c, &mut registers);
        for (column, v) in self.columns.chunks_exact_mut(N).zip(&v[..self.dim]) {
            let v = self.simd.splat_f64s(*v);
            for r in 0..N {
                column[r] = self.simd.mul_add_f64s(v, registers[r], column[r]);
            }
        }
    }
}
