//! Row kernel of small dense matrices: both triangles are stored, and the vectors of a row stay in
//! `N` SIMD registers.

use super::row::decide_checked;
use super::{Dense, MAX_FULL_DIM};
use crate::covariance::{Learn, next_variance};
use crate::error::Result;
use crate::linalg::{Lines, StackCopy, vector};
use pulp::Simd;

/// Rows after which the accumulated process noise is added to the stored diagonal.
const ROWS_PER_FOLD: usize = 16;

/// As [`super::row`], for a dimension of at most `N` registers and columns `W` registers apart.
/// With `NOISE`, $P$ is the stored matrix plus a separate diagonal, `beside`, to which each row
/// adds the process noise.
#[inline(always)]
pub(super) fn learn<S: Simd, const N: usize, const W: usize, const NOISE: bool>(
    simd: S,
    learn: Learn<'_, '_, Dense>,
) -> Result<()> {
    let Learn { p, theta: coefficients, x, first, decide, noise } = learn;
    if x.is_empty() {
        return Ok(());
    }
    let dim = p.dim;
    let mut line = Lines([0.0; MAX_FULL_DIM]);
    let pending_line = &mut line.0;
    for (j, value) in pending_line[..dim].iter_mut().enumerate() {
        *value = p.p[j * p.stride + j];
    }
    let mut diagonal: [S::f64s; N] = vector::registers(simd, pending_line);
    let mut theta: [S::f64s; N] = vector::registers(simd, coefficients);
    let mut copy = StackCopy::new(&p.p, x.len() / dim);
    let mut matrix =
        Matrix::<S, N, W> { simd, columns: S::as_mut_simd_f64s(copy.numbers(&mut p.p)).0, dim };
    let zero = [simd.splat_f64s(0.0); N];
    // the step that is not yet applied to the matrix: c, and v in registers and in `pending_line`
    let mut pending_c = 0.0;
    let mut pending_v = zero;
    pending_line.fill(0.0);
    let mut rest = x;
    let mut row: [S::f64s; N] = vector::head(simd, rest, dim);
    let mut v = matrix.product(rest);
    let noise: [S::f64s; N] = vector::registers(simd, noise);
    let mut beside = noise;
    if NOISE {
        vector::add_product_registers(simd, beside, row, &mut v);
        vector::axpy_registers(simd, 1.0, noise, &mut diagonal);
    }
    let mut m = vector::dot_registers(simd, theta, row);
    let mut s = vector::dot_registers(simd, v, row);
    let mut outcome = Ok(());
    for i in first.. {
        let (gain, c) = match decide_checked(simd, i, m, s, &row, &diagonal, decide) {
            Ok(step) => (step.gain, step.contraction),
            Err(error) => {
                outcome = Err(error);
                matrix.apply(pending_c, pending_line, pending_v);
                break;
            }
        };
        // The products of the next row do not wait for the decision: its rank-one effect on them is
        // added afterwards.
        rest = &rest[dim..];
        let more = !rest.is_empty();
        if NOISE && (i - first) % ROWS_PER_FOLD == ROWS_PER_FOLD - 1 {
            matrix.add_diagonal(beside);
            beside = zero;
        }
        let mut product = if more {
            matrix.apply_and_multiply(pending_c, pending_line, pending_v, rest)
        } else {
            matrix.apply(pending_c, pending_line, pending_v);
            zero
        };
        pending_v = v;
        pending_c = c;
        vector::store_registers::<S, N>(v, pending_line);
        if !more {
            vector::axpy_registers(simd, gain, v, &mut theta);
            matrix.apply(pending_c, pending_line, pending_v);
            break;
        }
        row = vector::head(simd, rest, dim);
        if NOISE {
            vector::axpy_registers(simd, 1.0, noise, &mut beside);
            vector::axpy_registers(simd, 1.0, noise, &mut diagonal);
            vector::add_product_registers(simd, beside, row, &mut product);
        }
        let overlap = vector::dot_registers(simd, v, row);
        let before_row = vector::dot_registers(simd, product, row);
        m = vector::dot_registers(simd, theta, row) + gain * overlap;
        vector::axpy_registers(simd, gain, v, &mut theta);
        v = product;
        vector::axpy_registers(simd, -c * overlap, pending_v, &mut v);
        s = match next_variance(before_row, c, overlap) {
            Some(s) => s,
            None => vector::dot_registers(simd, v, row),
        };
        vector::add_squares_registers(simd, -c, pending_v, &mut diagonal);
    }
    if NOISE {
        matrix.add_diagonal(beside);
    }
    copy.write_back(&mut p.p);
    vector::write_registers(theta, S::as_mut_simd_f64s(coefficients).0);
    outcome
}

/// The stored matrix: columns of `N` registers, `W` apart.
struct Matrix<'a, S: Simd, const N: usize, const W: usize> {
    simd: S,
    columns: &'a mut [S::f64s],
    dim: usize,
}

impl<S: Simd, const N: usize, const W: usize> Matrix<'_, S, N, W> {
    /// Whether a product takes two alternating sums, so that an addition does not wait for the
    /// previous one. Without enough registers for them, the `N` sums of a column must do.
    const ALTERNATES: bool = 3 * N + 3 <= if S::F64_LANES == 8 { 32 } else { 16 };

    /// $Px$ for the first row of `x`.
    #[inline(always)]
    fn product(&self, x: &[f64]) -> [S::f64s; N] {
        let zero = [self.simd.splat_f64s(0.0); N];
        let mut sum = zero;
        let mut other = zero;
        for (column, x) in self.columns.chunks_exact(W).zip(&x[..self.dim]) {
            let x = self.simd.splat_f64s(*x);
            for r in 0..N {
                sum[r] = self.simd.mul_add_f64s(column[r], x, sum[r]);
            }
            if Self::ALTERNATES {
                std::mem::swap(&mut sum, &mut other);
            }
        }
        vector::axpy_registers(self.simd, 1.0, other, &mut sum);
        sum
    }

    /// $P \mathrel{-}= c\,vv^\top$ (`v` in memory and in registers), and $Px$ with the new $P$ for
    /// the first row of `x`.
    #[inline(always)]
    fn apply_and_multiply(
        &mut self,
        c: f64,
        v: &[f64],
        mut registers: [S::f64s; N],
        x: &[f64],
    ) -> [S::f64s; N] {
        let simd = self.simd;
        vector::scale_registers(simd, -c, &mut registers);
        let zero = [simd.splat_f64s(0.0); N];
        let mut sum = zero;
        let mut other = zero;
        for ((column, v), x) in
            self.columns.chunks_exact_mut(W).zip(&v[..self.dim]).zip(&x[..self.dim])
        {
            let v = simd.splat_f64s(*v);
            let x = simd.splat_f64s(*x);
            for r in 0..N {
                let p = simd.mul_add_f64s(v, registers[r], column[r]);
                column[r] = p;
                sum[r] = simd.mul_add_f64s(p, x, sum[r]);
            }
            if Self::ALTERNATES {
                std::mem::swap(&mut sum, &mut other);
            }
        }
        vector::axpy_registers(simd, 1.0, other, &mut sum);
        sum
    }

    /// $P \mathrel{+}= \mathrm{diag}(q)$.
    #[inline(always)]
    fn add_diagonal(&mut self, q: [S::f64s; N]) {
        let mut line = [0.0; MAX_FULL_DIM];
        vector::store_registers::<S, N>(q, &mut line);
        for (j, q) in line[..self.dim].iter().enumerate() {
            let column = &mut self.columns[j * W..][..N];
            let entries: &mut [f64] = pulp::bytemuck::cast_slice_mut(column);
            entries[j] += q;
        }
    }

    /// $P \mathrel{-}= c\,vv^\top$.
    #[inline(always)]
    fn apply(&mut self, c: f64, v: &[f64], mut registers: [S::f64s; N]) {
        if c == 0.0 {
            return;
        }
        vector::scale_registers(self.simd, -c, &mut registers);
        for (column, v) in self.columns.chunks_exact_mut(W).zip(&v[..self.dim]) {
            let v = self.simd.splat_f64s(*v);
            for r in 0..N {
                column[r] = self.simd.mul_add_f64s(v, registers[r], column[r]);
            }
        }
    }
}
