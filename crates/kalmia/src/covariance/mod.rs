//! How `P` is stored and updated: dense symmetric, in factors, or in factors for the frequent
//! features alone; row by row or in exact blocks.

mod block;
mod core_tail;
mod dense;
mod factored;
mod kernel;
pub(crate) mod packed;
mod pairs;
#[cfg(test)]
mod simd_tests;
mod variances;

pub use core_tail::CoreTail;
pub use dense::Dense;
pub use factored::Factored;
pub(crate) use factored::{FactoredBelief, TogetherScratch, learn_together};
#[doc(hidden)]
pub use kernel::{Decide, DecideTwo, Kernel, SparseKernel};

use crate::error::{Error, Result, require, require_len};
use crate::linalg::cholesky_lower;
use kernel::{Learn, LearnTwo, MIN_VARIANCE_SHARE, next_variance};

/// The covariance $P$ of the coefficients: a positive definite matrix that learners update.
///
/// Name it as a bound to be generic in the form: [`Factored`] never loses precision and is the
/// default, [`Dense`] is faster, above all with process noise, [`CoreTail`] is for sparse rows with
/// very many features. The trait is sealed: the kernels that learn rows are internal.
///
/// ```
/// use kalmia::covariance::Covariance;
/// use kalmia::{Bernoulli, Ekf, Factored, Filter, Prior};
///
/// fn total_variance<C: Covariance>(p: &C) -> f64 {
///     (0..p.dim()).map(|j| p.entry(j, j)).sum()
/// }
///
/// let filter = Filter::<_, _, Factored>::new(Bernoulli, Ekf, Prior::isotropic(3, 0.5)?)?;
/// assert_eq!(total_variance(filter.covariance()), 1.5);
/// # Ok::<(), kalmia::Error>(())
/// ```
pub trait Covariance: Kernel {
    /// Name in messages and files.
    const NAME: &'static str;

    /// Number of coefficients.
    fn dim(&self) -> usize;

    /// $s = x^\top Px$, the variance of the linear predictor of a row; never negative.
    fn variance(&self, x: &[f64]) -> f64;

    /// Entry $(i,j)$ of $P$. Panics if an index is not below [`Covariance::dim`].
    fn entry(&self, i: usize, j: usize) -> f64;

    /// The matrix, dense and symmetric, `dim * dim` numbers.
    fn matrix(&self) -> Vec<f64> {
        let dim = self.dim();
        let mut matrix = vec![0.0; dim * dim];
        for j in 0..dim {
            for i in 0..=j {
                let value = self.entry(i, j);
                matrix[i * dim + j] = value;
                matrix[j * dim + i] = value;
            }
        }
        matrix
    }

    /// A matrix $L$ with $P = LL^\top$, column by column, `dim * dim` numbers; an error if rounding
    /// has left a dense matrix indefinite.
    fn square_root(&self) -> Result<Vec<f64>> {
        let dim = self.dim();
        let mut factor = self.matrix();
        cholesky_lower(&mut factor, dim, "covariance")?;
        for j in 0..dim {
            factor[j * dim..][..j].fill(0.0);
        }
        Ok(factor)
    }

    /// $\ln\det P$; an error if rounding has left a dense matrix indefinite.
    fn log_det(&self) -> Result<f64>;
}

/// Checks the length, finiteness and symmetry of a matrix given by the user.
fn check_matrix(matrix: &[f64], dim: usize) -> Result<()> {
    require_len("covariance", matrix.len(), dim * dim)?;
    for j in 0..dim {
        for i in 0..=j {
            let upper = matrix[j * dim + i];
            let lower = matrix[i * dim + j];
            let finite = upper.is_finite() && lower.is_finite();
            require(finite, "covariance", upper, "must have finite entries")?;
            let gap = upper - lower;
            let largest = upper.abs().max(lower.abs());
            require(gap.abs() <= 1e-12 * largest, "covariance", gap, "must be symmetric")?;
        }
    }
    Ok(())
}

/// Checks that variances given by the user are finite and positive.
fn check_variances(variances: &[f64]) -> Result<()> {
    match variances.iter().position(|v| !(*v > 0.0 && v.is_finite())) {
        Some(pivot) => {
            Err(Error::NotPositiveDefinite { name: "covariance", pivot, value: variances[pivot] })
        }
        None => Ok(()),
    }
}
