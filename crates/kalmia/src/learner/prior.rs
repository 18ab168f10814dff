//! Where a filter starts: the mean and covariance of the coefficients before any row.

use crate::covariance::Covariance;
use crate::error::{Error, Result, require_len};
use serde::{Deserialize, Serialize};

/// $\theta_1$ and $P_1$; a diagonal $P_1$ is kept as such.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prior {
    mean: Vec<f64>,
    spread: Spread,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Spread {
    Diagonal(Vec<f64>),
    Full(Vec<f64>),
}

impl Prior {
    /// $N(0, vI)$; the paper takes $v = 1$.
    pub fn isotropic(dim: usize, variance: f64) -> Result<Self> {
        Self::diagonal(vec![variance; dim])
    }

    /// $N(0, \mathrm{diag}(v))$.
    pub fn diagonal(variances: Vec<f64>) -> Result<Self> {
        match variances.iter().position(|v| !(*v > 0.0 && v.is_finite())) {
            Some(pivot) => Err(Error::NotPositiveDefinite { name: "covariance", pivot, value: variances[pivot] }),
            None => Ok(Self { mean: vec![0.0; variances.len()], spread: Spread::Diagonal(variances) }),
        }
    }

    /// $N(0, P_1)$ with a dense symmetric positive definite matrix, row after row.
    pub fn full(matrix: Vec<f64>, dim: usize) -> Result<Self> {
        crate::covariance::Factored::from_matrix(&matrix, dim)?;
        Ok(Self { mean: vec![0.0; dim], spread: Spread::Full(matrix) })
    }

    /// With another mean.
    pub fn with_mean(mut self, mean: &[f64]) -> Result<Self> {
        require_len("mean", mean.len(), self.mean.len())?;
        if let Some(&value) = mean.iter().find(|v| !v.is_finite()) {
            return Err(Error::Parameter { name: "mean", value, expected: "must be finite" });
        }
        self.mean.copy_from_slice(mean);
        Ok(self)
    }

    /// Number of coefficients.
    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    /// $\theta_1$.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// $P_1$, dense.
    pub fn matrix(&self) -> Vec<f64> {
        match &self.spread {
            Spread::Full(matrix) => matrix.clone(),
            Spread::Diagonal(variances) => {
                let dim = self.dim();
                let mut matrix = vec![0.0; dim * dim];
                variances.iter().enumerate().for_each(|(j, v)| matrix[j * dim + j] = *v);
                matrix
            }
        }
    }

    /// The variance of coefficient `j`.
    pub fn variance(&self, j: usize) -> f64 {
        match &self.spread {
            Spread::Full(matrix) => matrix[j * self.dim() + j],
            Spread::Diagonal(variances) => variances[j],
        }
    }

    /// The covariance in the form of the learner.
    pub fn covariance<C: Covariance>(&self) -> Result<C> {
        match &self.spread {
            Spread::Full(matrix) => C::from_matrix(matrix, self.dim()),
            Spread::Diagonal(variances) => C::from_diagonal(variances),
        }
    }

    /// One more coefficient, independent of the others.
    pub(crate) fn grow(&mut self, variance: f64) {
        let dim = self.dim();
        match &mut self.spread {
            Spread::Diagonal(variances) => variances.push(variance),
            Spread::Full(matrix) => {
                let mut grown = vec![0.0; (dim + 1) * (dim + 1)];
                for i in 0..dim {
                    grown[i * (dim + 1)..][..dim].copy_from_slice(&matrix[i * dim..][..dim]);
                }
                grown[(dim + 1) * (dim + 1) - 1] = variance;
                *matrix = grown;
            }
        }
        self.mean.push(0.0);
    }
}
