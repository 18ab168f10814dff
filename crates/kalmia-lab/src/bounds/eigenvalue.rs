//! The largest eigenvalue of a covariance.

use crate::world::D;

/// Largest eigenvalue of a symmetric positive definite matrix, by squaring it until the leading
/// direction dominates.
pub(super) fn largest_eigenvalue(p: &[[f64; D]; D]) -> f64 {
    let mut power = *p;
    for _ in 0..12 {
        let scale = (0..D).map(|i| power[i][i]).sum::<f64>();
        let half = power.map(|row| row.map(|v| v / scale));
        for i in 0..D {
            for j in 0..D {
                power[i][j] = (0..D).map(|k| half[i][k] * half[k][j]).sum();
            }
        }
    }
    // Rayleigh quotient of the trace form: tr(P M)/tr(M) with M = P^4096, exact up to
    // (lambda_2/lambda_1)^4096.
    let trace: f64 = (0..D).map(|i| power[i][i]).sum();
    let product: f64 = (0..D).map(|i| (0..D).map(|j| p[i][j] * power[j][i]).sum::<f64>()).sum();
    product / trace
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_eigenvalue_of_known_matrices() {
        // I/12 + 11'/4 bordered: the second moment of (1, Z) has the eigenvalue (43 + sqrt
        // 1801)/24.
        let mut sigma = [[0.25; D]; D];
        sigma[0] = [0.5; D];
        for (i, row) in sigma.iter_mut().enumerate() {
            row[0] = 0.5;
            row[i] = 1.0 / 3.0;
        }
        sigma[0][0] = 1.0;
        assert!((largest_eigenvalue(&sigma) - (43.0 + 1801f64.sqrt()) / 24.0).abs() < 1e-12);
        let mut diagonal = [[0.0; D]; D];
        (0..D).for_each(|i| diagonal[i][i] = 1.0 + (i % 5) as f64);
        assert!((largest_eigenvalue(&diagonal) - 5.0).abs() < 1e-12);
    }
}
