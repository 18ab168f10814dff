//! The prior of a filter: mean and covariance of the coefficients before any row.

use crate::covariance::{Covariance, Factored, Kernel};
use crate::error::{Error, Result, require_len};
use serde::{Deserialize, Serialize};

/// $\theta_1$ and $P_1$; a diagonal $P_1$ is kept as such.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Prior {
    mean: Vec<f64>,
    spread: Spread,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Spread {
    Diagonal(Vec<f64>),
    Full(#[serde(with = "crate::covariance::packed")] Vec<f64>),
}

/// A prior as stored in a file, before validation.
#[derive(Deserialize)]
struct Stored {
    mean: Vec<f64>,
    spread: Spread,
}

impl TryFrom<Stored> for Prior {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        let prior = match stored.spread {
            Spread::Diagonal(variances) => Self::diagonal(variances)?,
            Spread::Full(matrix) => Self::full(matrix, stored.mean.len())?,
        };
        prior.with_mean(&stored.mean)
    }
}

impl Prior {
    /// $N(0, vI)$; the paper takes $v = 1$.
    pub fn isotropic(dim: usize, variance: f64) -> Result<Self> {
        Self::diagonal(vec![variance; dim])
    }

    /// $N(0, \mathrm{diag}(v))$.
    pub fn diagonal(variances: Vec<f64>) -> Result<Self> {
        match variances.iter().position(|v| !(*v > 0.0 && v.is_finite())) {
            Some(pivot) => Err(Error::NotPositiveDefinite {
                name: "covariance",
                pivot,
                value: variances[pivot],
            }),
            None => {
                Ok(Self { mean: vec![0.0; variances.len()], spread: Spread::Diagonal(variances) })
            }
        }
    }

    /// $N(0, P_1)$ with a dense symmetric positive definite matrix, row after row.
    pub fn full(matrix: Vec<f64>, dim: usize) -> Result<Self> {
        Factored::from_matrix(&matrix, dim)?;
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

    /// The variances of all coefficients, if $P_1$ is kept as a diagonal.
    pub(crate) fn variances(&self) -> Option<&[f64]> {
        match &self.spread {
            Spread::Full(_) => None,
            Spread::Diagonal(variances) => Some(variances),
        }
    }

    /// $P_1$ in the form `C`.
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

impl Prior {
    /// Removes the last coefficient; undoes [`Prior::grow`].
    pub(crate) fn shrink(&mut self) {
        let dim = self.dim();
        match &mut self.spread {
            Spread::Diagonal(variances) => variances.truncate(dim - 1),
            Spread::Full(matrix) => {
                *matrix = matrix[..dim * (dim - 1)]
                    .chunks_exact(dim)
                    .flat_map(|row| &row[..dim - 1])
                    .copied()
                    .collect();
            }
        }
        self.mean.truncate(dim - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_cannot_hold_a_prior_that_no_constructor_makes() {
        for prior in
            [Prior::isotropic(2, 3.0).unwrap(), Prior::full(vec![2.0, 0.5, 0.5, 1.0], 2).unwrap()]
        {
            let text = serde_json::to_string(&prior.with_mean(&[1.0, -2.0]).unwrap()).unwrap();
            let back: Prior = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&back).unwrap(), text);
        }
        for bad in [
            r#"{"mean":[0.0],"spread":{"diagonal":[1.0,1.0]}}"#,
            r#"{"mean":[0.0],"spread":{"diagonal":[-1.0]}}"#,
            r#"{"mean":[0.0,0.0],"spread":{"full":[1.0,2.0,2.0,1.0]}}"#,
        ] {
            assert!(serde_json::from_str::<Prior>(bad).is_err(), "{bad}");
        }
    }
}
