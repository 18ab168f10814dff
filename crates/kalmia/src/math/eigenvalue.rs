//! Eigenvalues of small symmetric matrices.

/// The smallest eigenvalue of a symmetric matrix of `dim` rows, by Jacobi's rotations. It is as
/// precise as the matrix is well scaled, and takes a time cubic in `dim`.
///
/// ```
/// let lowest = kalmia::math::smallest_eigenvalue(vec![2.0, 1.0, 1.0, 2.0], 2);
/// assert!((lowest - 1.0).abs() < 1e-15);
/// ```
pub fn smallest_eigenvalue(mut a: Vec<f64>, dim: usize) -> f64 {
    // Convergence is quadratic: ten sweeps are ample, and a sweep without a rotation ends them.
    for _ in 0..60 {
        let mut rotated = false;
        for p in 0..dim {
            for q in p + 1..dim {
                rotated |= rotate(&mut a, dim, p, q);
            }
        }
        if !rotated {
            break;
        }
    }
    (0..dim).map(|j| a[j * dim + j]).fold(f64::INFINITY, f64::min)
}

/// Zeroes entry $(p,q)$; `false` if it is already negligible.
fn rotate(a: &mut [f64], dim: usize, p: usize, q: usize) -> bool {
    let app = a[p * dim + p];
    let aqq = a[q * dim + q];
    let apq = a[p * dim + q];
    if apq.abs() <= f64::EPSILON * (app * aqq).abs().sqrt() {
        return false;
    }
    let tau = (aqq - app) / (2.0 * apq);
    let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
    let c = 1.0 / (1.0 + t * t).sqrt();
    let s = t * c;
    for k in 0..dim {
        let kp = a[k * dim + p];
        let kq = a[k * dim + q];
        a[k * dim + p] = c * kp - s * kq;
        a[k * dim + q] = s * kp + c * kq;
    }
    for k in 0..dim {
        let pk = a[p * dim + k];
        let qk = a[q * dim + k];
        a[p * dim + k] = c * pk - s * qk;
        a[q * dim + k] = s * pk + c * qk;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_eigenvalue_of_matrices_with_known_spectra() {
        // second differences: 2 - 2 cos(k pi / (n + 1))
        let n = 7;
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            a[i * n + i] = 2.0;
            if i + 1 < n {
                a[i * n + i + 1] = -1.0;
                a[(i + 1) * n + i] = -1.0;
            }
        }
        let exact = 2.0 - 2.0 * (std::f64::consts::PI / 8.0).cos();
        assert!((smallest_eigenvalue(a, n) - exact).abs() < 1e-14);
        assert_eq!(smallest_eigenvalue(vec![3.0, 0.0, 0.0, 0.5], 2), 0.5);
    }
}
