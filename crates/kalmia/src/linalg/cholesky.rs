//! Triangular factors of small symmetric matrices, column-major with leading dimension `n`.

use crate::error::{Error, Result};

/// In place $A = LL^\top$: reads the lower triangle, writes $L$ there. Costs $n^3/3$ operations. A
/// pivot that is not positive and finite is an error with the matrix's `name`.
pub fn cholesky_lower(a: &mut [f64], n: usize, name: &'static str) -> Result<()> {
    for j in 0..n {
        let (done, rest) = a.split_at_mut(j * n);
        let column = &mut rest[..n];
        for k in 0..j {
            let left = &done[k * n..(k + 1) * n];
            let l = left[j];
            for i in j..n {
                column[i] -= l * left[i];
            }
        }
        let pivot = column[j];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return Err(Error::NotPositiveDefinite { name, pivot: j, value: pivot });
        }
        let inverse = 1.0 / pivot.sqrt();
        for value in &mut column[j..] {
            *value *= inverse;
        }
    }
    Ok(())
}

/// Solves $Lz = b$ in place.
pub fn solve_lower(l: &[f64], n: usize, b: &mut [f64]) {
    for j in 0..n {
        let z = b[j] / l[j * n + j];
        b[j] = z;
        for i in j + 1..n {
            b[i] -= z * l[j * n + i];
        }
    }
}

/// Solves $L^\top z = b$ in place.
pub fn solve_lower_transposed(l: &[f64], n: usize, b: &mut [f64]) {
    for j in (0..n).rev() {
        let column = &l[j * n..(j + 1) * n];
        let tail: f64 = (j + 1..n).map(|i| column[i] * b[i]).sum();
        b[j] = (b[j] - tail) / column[j];
    }
}

/// Solves $LL^\top z = b$ in place.
pub fn solve_cholesky(l: &[f64], n: usize, b: &mut [f64]) {
    solve_lower(l, n, b);
    solve_lower_transposed(l, n, b);
}

/// The inverse of a symmetric positive definite matrix, exactly symmetric.
pub fn inverse(matrix: &[f64], n: usize, name: &'static str) -> Result<Vec<f64>> {
    let mut factor = matrix.to_vec();
    cholesky_lower(&mut factor, n, name)?;
    let mut inverse = vec![0.0; n * n];
    for (j, column) in inverse.chunks_exact_mut(n.max(1)).enumerate() {
        column[j] = 1.0;
        solve_cholesky(&factor, n, column);
    }
    for j in 0..n {
        for i in 0..j {
            let mean = 0.5 * (inverse[j * n + i] + inverse[i * n + j]);
            inverse[j * n + i] = mean;
            inverse[i * n + j] = mean;
        }
    }
    Ok(inverse)
}

/// In place $A = R^\top R$ for a matrix whose eigenvalues are at least 1: reads and writes the
/// upper triangle.
#[inline(always)]
pub(crate) fn cholesky_upper(a: &mut [f64], n: usize) {
    for j in 0..n {
        for i in 0..=j {
            let ci = &a[i * n..i * n + i];
            let cj = &a[j * n..j * n + i];
            let sum: f64 = ci.iter().zip(cj).map(|(p, q)| p * q).sum();
            let value = a[j * n + i] - sum;
            a[j * n + i] = if i == j { value.max(1.0).sqrt() } else { value / a[i * n + i] };
        }
    }
}

/// Writes $R^{-1}$ of an upper triangular `r` into the columns of `inverse`, `stride` apart (upper
/// triangle; zeros below).
#[inline(always)]
pub(crate) fn invert_upper(r: &[f64], n: usize, inverse: &mut [f64], stride: usize) {
    for j in 0..n {
        // back substitution on e_j: column k of R times the unknown x_k
        let x = &mut inverse[j * stride..][..n];
        x.fill(0.0);
        x[j] = 1.0;
        for k in (0..=j).rev() {
            let (above, rest) = x.split_at_mut(k);
            rest[0] /= r[k * n + k];
            let xk = rest[0];
            for (x, r) in above.iter_mut().zip(&r[k * n..]) {
                *x -= xk * r;
            }
        }
    }
}
