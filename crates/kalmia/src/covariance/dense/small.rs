//! Rows one by one on a small dense matrix: both triangles stored, and the vectors of a row held in `N` SIMD registers.

use super::Dense;
use super::row::checked;
use crate::covariance::{Learn, next_variance};
use crate::error::Result;
use crate::linalg::vector;
use pulp::Simd;

/// As [`super::row`], for a padded dimension of exactly `N` registers.
#[inline(always)]
pub(super) fn learn<S: Simd, const N: usize>(simd: S, learn: Learn<'_, '_, Dense>) -> Result<()> {
    let Learn { p, theta, x, first, decide } = learn;
    let dim = p.dim;
    let before = &mut p.work.before;
    before.fill(0.0);
    for j in 0..dim {
        before[j] = p.p[j * p.stride + j];
    }
    let mut diagonal = [simd.splat_f64s(0.0); N];
    diagonal.copy_from_slice(&S::as_simd_f64s(before).0[..N]);
    let mut matrix = Matrix::<S, N> { simd, columns: S::as_mut_simd_f64s(&mut p.p).0, dim };
    let coefficients = S::as_mut_simd_f64s(theta).0;
    let mut theta = [simd.splat_f64s(0.0); N];
    for (theta, value) in theta.iter_mut().zip(coefficients.iter()) {
        *theta = *value;
    }
    let mut rows = x.chunks_exact(dim);
    let Some(mut row) = rows.next() else { return Ok(()) };
    let zero = [simd.splat_f64s(0.0); N];
    let (mut owed, mut paid) = (0.0, zero);
    before.fill(0.0);
    let mut at: [S::f64s; N] = vector::registers(simd, row);
    let mut v = matrix.pass(0.0, before, paid, row);
    let (mut m, mut s) = (vector::dot_registers(simd, theta, at), vector::dot_registers(simd, v, at));
    let mut outcome = Ok(());
    for i in first.. {
        let step = match checked(simd, i, s, &at, &diagonal) {
            Ok(()) => decide(i, m, s),
            Err(lost) => Err(lost),
        };
        let (gain, c) = match step {
            Ok(step) => (step.gain, step.contraction(s)),
            Err(error) => {
                outcome = Err(error);
                matrix.pay(owed, before, paid);
                break;
            }
        };
        // what the next row needs does not wait for the decision; its rank-one effect is added afterwards
        let upcoming = rows.next();
        let product = match upcoming {
            Some(upcoming) => matrix.pass(owed, before, paid, upcoming),
            None => {
                matrix.pay(owed, before, paid);
                zero
            }
        };
        paid = v;
        owed = c;
        vector::store_registers::<S, N>(v, before);
        let Some(upcoming) = upcoming else {
            vector::axpy_registers(simd, gain, v, &mut theta);
            matrix.pay(owed, before, paid);
            break;
        };
        row = upcoming;
        at = vector::registers(simd, row);
        let (overlap, before_row) = (vector::dot_registers(simd, v, at), vector::dot_registers(simd, product, at));
        m = vector::dot_registers(simd, theta, at) + gain * overlap;
        vector::axpy_registers(simd, gain, v, &mut theta);
        v = product;
        vector::axpy_registers(simd, -c * overlap, paid, &mut v);
        s = match next_variance(before_row, c, overlap) {
            Some(s) => s,
            None => vector::dot_registers(simd, v, at),
        };
        for r in 0..N {
            let scaled = simd.mul_f64s(simd.splat_f64s(-c), paid[r]);
            diagonal[r] = simd.mul_add_f64s(scaled, paid[r], diagonal[r]);
        }
    }
    for (value, theta) in coefficients.iter_mut().zip(theta) {
        *value = theta;
    }
    outcome
}

/// The stored matrix, `N` registers a column.
struct Matrix<'a, S: Simd, const N: usize> {
    simd: S,
    columns: &'a mut [S::f64s],
    dim: usize,
}

impl<S: Simd, const N: usize> Matrix<'_, S, N> {
    /// $P \mathrel{-}= c\,vv^\top$ (`v` in memory and in registers), and $Px$ with the new $P$.
    #[inline(always)]
    fn pass(&mut self, c: f64, v: &[f64], registers: [S::f64s; N], x: &[f64]) -> [S::f64s; N] {
        let simd = self.simd;
        let (mut even, mut odd) = ([simd.splat_f64s(0.0); N], [simd.splat_f64s(0.0); N]);
        let (v, x) = (&v[..self.dim], &x[..self.dim]);
        let columns = &mut self.columns[..self.dim * N];
        // two sums, so that one column need not wait for the column before
        macro_rules! column {
            ($column:expr, $j:expr, $sum:ident) => {
                let (cv, xj) = (simd.splat_f64s(-c * v[$j]), simd.splat_f64s(x[$j]));
                for r in 0..N {
                    let p = simd.mul_add_f64s(cv, registers[r], $column[r]);
                    $column[r] = p;
                    $sum[r] = simd.mul_add_f64s(p, xj, $sum[r]);
                }
            };
        }
        let mut pairs = columns.chunks_exact_mut(2 * N);
        let mut j = 0;
        for pair in &mut pairs {
            let (a, b) = pair.split_at_mut(N);
            column!(a, j, even);
            column!(b, j + 1, odd);
            j += 2;
        }
        let last = pairs.into_remainder();
        if !last.is_empty() {
            column!(last, j, even);
        }
        for r in 0..N {
            even[r] = simd.add_f64s(even[r], odd[r]);
        }
        even
    }

    /// $P \mathrel{-}= c\,vv^\top$.
    #[inline(always)]
    fn pay(&mut self, c: f64, v: &[f64], registers: [S::f64s; N]) {
        for (column, &v) in self.columns.chunks_exact_mut(N).zip(&v[..self.dim]) {
            let cv = self.simd.splat_f64s(-c * v);
            for r in 0..N {
                column[r] = self.simd.mul_add_f64s(cv, registers[r], column[r]);
            }
        }
    }
}
