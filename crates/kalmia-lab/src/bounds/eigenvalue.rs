//! The eigenvalues of a covariance, by Jacobi's rotations.

use crate::world::D;

/// Sweeps over all pairs; convergence is quadratic, and 6 to 8 are usual for this size.
const MAX_SWEEPS: usize = 40;

/// Largest and smallest eigenvalue of a symmetric matrix, to a few units in the last place of the
/// largest. NaN if an entry is not finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Extremes {
    pub largest: f64,
    pub smallest: f64,
}

impl Extremes {
    /// Of the matrix `a`.
    pub fn of(mut a: [[f64; D]; D]) -> Self {
        if a.iter().flatten().any(|v| !v.is_finite()) {
            return Self { largest: f64::NAN, smallest: f64::NAN };
        }
        for _ in 0..MAX_SWEEPS {
            let mut rotated = false;
            for p in 0..D {
                for q in p + 1..D {
                    rotated |= rotate(&mut a, p, q);
                }
            }
            if !rotated {
                break;
            }
        }
        let diagonal = || (0..D).map(|i| a[i][i]);
        Self {
            largest: diagonal().fold(f64::NEG_INFINITY, f64::max),
            smallest: diagonal().fold(f64::INFINITY, f64::min),
        }
    }
}

/// Sets `a[p][q]` to 0 by a rotation in the plane of `p` and `q`; `false` if it is 0 to working
/// precision.
fn rotate(a: &mut [[f64; D]; D], p: usize, q: usize) -> bool {
    let apq = a[p][q];
    // Relative to the two diagonal entries, so small eigenvalues of a positive matrix keep their
    // digits.
    if apq.abs() <= f64::EPSILON * (a[p][p] * a[q][q]).abs().sqrt() {
        return false;
    }
    let gap = (a[q][q] - a[p][p]) / (2.0 * apq);
    let tangent = gap.signum() / (gap.abs() + (1.0 + gap * gap).sqrt());
    let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
    let sine = tangent * cosine;
    for row in a.iter_mut() {
        let before = row[p];
        row[p] = cosine * before - sine * row[q];
        row[q] = sine * before + cosine * row[q];
    }
    let (above, below) = a.split_at_mut(q);
    for (ap, aq) in above[p].iter_mut().zip(&mut below[0]) {
        let before = *ap;
        *ap = cosine * before - sine * *aq;
        *aq = sine * before + cosine * *aq;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::second_moment;

    #[test]
    fn eigenvalues_of_known_matrices() {
        // The second moment of (1, Z) has the roots of x² - 43/12 x + 1/12 and 1/12.
        let got = Extremes::of(second_moment());
        let root = 1801f64.sqrt();
        assert!((got.largest - (43.0 + root) / 24.0).abs() < 4e-15);
        assert!((got.smallest / (2.0 / (43.0 + root)) - 1.0).abs() < 1e-13);
        let mut diagonal = [[0.0; D]; D];
        (0..D).for_each(|i| diagonal[i][i] = 1.0 + (i % 5) as f64);
        assert_eq!(Extremes::of(diagonal), Extremes { largest: 5.0, smallest: 1.0 });
        diagonal[3][4] = f64::NAN;
        assert!(Extremes::of(diagonal).largest.is_nan());
    }

    /// A reflection of a known spectrum with two nearly equal leading eigenvalues, on which powers
    /// of the matrix converge slowly.
    #[test]
    fn close_eigenvalues_are_separated() {
        let spectrum: [f64; D] = std::array::from_fn(|i| match i {
            0 => 1.0,
            1 => 1.0 - 1e-6,
            _ => 10f64.powi(-(i as i32)),
        });
        let v: [f64; D] = std::array::from_fn(|i| 1.0 + 0.3 * i as f64);
        let norm2: f64 = v.iter().map(|v| v * v).sum();
        let reflection =
            |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * v[i] * v[j] / norm2;
        let entry =
            |i, j| (0..D).map(|k| reflection(i, k) * spectrum[k] * reflection(k, j)).sum::<f64>();
        let got = Extremes::of(std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j))));
        assert!((got.largest - 1.0).abs() < 1e-14, "{}", got.largest);
        assert!((got.smallest - 1e-10).abs() < 1e-15, "{}", got.smallest);
    }
}
