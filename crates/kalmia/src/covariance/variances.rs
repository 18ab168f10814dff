//! $x^\top Px$ of many rows at once: which share of the rows a core takes, and when rows go one by
//! one.

use super::Covariance;
use crate::linalg::Threads;

/// Rows from which a matrix product is faster than row by row.
const MIN_ROWS: usize = 4;
/// Multiplications of a block from which starting a second core is worth it.
const MIN_WORK_FOR_THREADS: usize = 1 << 24;

/// Runs `block(x, s)` on parts of the rows, one per core; a few rows go through
/// [`Covariance::variance`].
pub(super) fn share<C: Covariance>(
    covariance: &C,
    x: &[f64],
    s: &mut [f64],
    threads: Threads,
    block: impl Fn(&[f64], &mut [f64]) + Sync,
) {
    let dim = covariance.dim();
    if s.len() < MIN_ROWS || dim == 0 {
        for (i, s) in s.iter_mut().enumerate() {
            *s = covariance.variance(&x[i * dim..(i + 1) * dim]);
        }
        return;
    }
    let large = s.len() * dim * dim >= MIN_WORK_FOR_THREADS;
    let threads = if large { threads } else { Threads::ONE };
    let part = s.len().div_ceil(threads.count());
    threads.each(x.chunks(part * dim).zip(s.chunks_mut(part)), |(x, s)| block(x, s));
}

#[cfg(test)]
mod tests {
    use crate::covariance::{Covariance, Dense, Factored, Kernel};
    use crate::linalg::Threads;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn agree<C: Covariance>(dim: usize, rows: usize, threads: usize) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(dim as u64);
        let mut number = || rng.random_range(-1.0..1.0);
        // a diagonal that dominates is positive definite
        let mut matrix = vec![0.0; dim * dim];
        for j in 0..dim {
            for i in 0..=j {
                let value = number() + if i == j { dim as f64 } else { 0.0 };
                matrix[i * dim + j] = value;
                matrix[j * dim + i] = value;
            }
        }
        let x: Vec<f64> = (0..dim * rows).map(|_| number()).collect();
        let covariance = C::from_matrix(&matrix, dim).unwrap();
        let mut found = vec![f64::NAN; rows];
        covariance.variances(&x, &mut found, Threads::new(threads).unwrap());
        for (x, found) in x.chunks(dim).zip(found) {
            let alone = covariance.variance(x);
            assert!((found - alone).abs() <= 1e-13 * alone, "d {dim}, {rows}: {found} {alone}");
        }
    }

    #[test]
    fn many_rows_are_the_rows_one_by_one() {
        for dim in [1, 2, 7, 11, 16, 31, 32, 33, 40, 95, 96, 97, 129, 200, 300] {
            for rows in [1, 3, 4, 17, 200] {
                agree::<Factored>(dim, rows, 1);
                agree::<Dense>(dim, rows, 1);
            }
        }
        agree::<Factored>(300, 250, 3);
        agree::<Dense>(300, 250, 3);
    }

    #[test]
    fn no_features_have_no_variance() {
        let none = Factored::from_diagonal(&[]).unwrap();
        let mut found = [f64::NAN; 5];
        none.variances(&[], &mut found, Threads::ONE);
        assert_eq!(found, [0.0; 5]);
    }
}
