//! The factor of a precision, in units in which every diagonal entry is 1.

use super::{cholesky_lower, solve_cholesky};
use crate::error::{Error, Result};

/// Smallest pivot in these units: the share of a feature's information that the features before it
/// leave. Below it the rounding of the sums decides the coefficient.
const MIN_PIVOT: f64 = 1e-13;

/// $A = S\,LL^\top S$ with a diagonal $S$, so that the units of the features do not matter.
pub(crate) struct ScaledCholesky {
    dim: usize,
    lower: Vec<f64>,
    scale: Vec<f64>,
}

impl ScaledCholesky {
    /// Refuses a matrix that is not positive definite, with the first feature at fault.
    pub fn new(matrix: &[f64], dim: usize) -> Result<Self> {
        let diagonal = (0..dim).map(|j| matrix[j * dim + j]);
        if let Some((feature, left)) =
            diagonal.clone().enumerate().find(|(_, d)| !(*d > 0.0 && d.is_finite()))
        {
            return Err(Error::Undetermined { feature, left });
        }
        let scale: Vec<f64> = diagonal.map(f64::sqrt).collect();
        let entry = |ij: usize| matrix[ij] / scale[ij / dim] / scale[ij % dim];
        let mut lower: Vec<f64> = (0..dim * dim).map(entry).collect();
        cholesky_lower(&mut lower, dim, "precision").map_err(|error| match error {
            Error::NotPositiveDefinite { pivot, value, .. } => {
                Error::Undetermined { feature: pivot, left: value }
            }
            other => other,
        })?;
        let pivots = (0..dim).map(|j| lower[j * dim + j] * lower[j * dim + j]);
        match pivots.enumerate().find(|(_, pivot)| *pivot < MIN_PIVOT) {
            Some((feature, left)) => Err(Error::Undetermined { feature, left }),
            None => Ok(Self { dim, lower, scale }),
        }
    }

    /// Solves $Az = b$ in place.
    pub fn solve(&self, b: &mut [f64]) {
        b.iter_mut().zip(&self.scale).for_each(|(b, scale)| *b /= scale);
        solve_cholesky(&self.lower, self.dim, b);
        b.iter_mut().zip(&self.scale).for_each(|(b, scale)| *b /= scale);
    }

    /// $\ln\det A$.
    pub fn log_det(&self) -> f64 {
        let lower = (0..self.dim).map(|j| self.lower[j * self.dim + j].ln());
        let scale = self.scale.iter().map(|scale| scale.ln());
        2.0 * lower.chain(scale).sum::<f64>()
    }

    /// $A^{-1}$, exactly symmetric.
    pub fn inverse(&self) -> Vec<f64> {
        let n = self.dim;
        let mut inverse = vec![0.0; n * n];
        for (j, column) in inverse.chunks_exact_mut(n.max(1)).enumerate() {
            column[j] = 1.0;
            self.solve(column);
        }
        for j in 0..n {
            for i in 0..j {
                let mean = 0.5 * (inverse[j * n + i] + inverse[i * n + j]);
                inverse[j * n + i] = mean;
                inverse[i * n + j] = mean;
            }
        }
        inverse
    }
}
