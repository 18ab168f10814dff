//! A prior as mean and precision, which may be flat in some directions or in all.

use super::Prior;
use crate::error::{Error, Result, require, require_len};
use crate::linalg::inverse;

/// $N(m, \Lambda^{-1})$ with a precision $\Lambda$ that may be 0: no prior.
///
/// Where the dispersion is estimated, $\Lambda$ is relative to it, as in the default learner: the
/// coefficients are those of the family's own dispersion, and the covariance is scaled as a whole.
///
/// ```
/// use kalmia::{Prior, sums::PriorPrecision};
///
/// let prior = PriorPrecision::of(&Prior::isotropic(2, 4.0)?)?;
/// assert_eq!(prior.matrix(), [0.25, 0.0, 0.0, 0.25]);
/// assert!(PriorPrecision::flat(2).is_flat());
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PriorPrecision {
    mean: Vec<f64>,
    matrix: Vec<f64>,
}

impl PriorPrecision {
    /// No prior: the polished coefficients are those of maximum likelihood.
    pub fn flat(dim: usize) -> Self {
        Self { mean: vec![0.0; dim], matrix: vec![0.0; dim * dim] }
    }

    /// The prior that a filter started from.
    pub fn of(prior: &Prior) -> Result<Self> {
        let dim = prior.dim();
        let matrix = match prior.variances() {
            None => inverse(&prior.matrix(), dim, "covariance")?,
            Some(variances) => diagonal(variances.iter().map(|v| 1.0 / v)),
        };
        Ok(Self { mean: prior.mean().to_vec(), matrix })
    }

    /// Independent coefficients, each with its precision, 0 or more.
    pub fn diagonal(mean: Vec<f64>, precisions: &[f64]) -> Result<Self> {
        require_len("precisions", precisions.len(), mean.len())?;
        for &value in precisions {
            let legal = value >= 0.0 && value.is_finite();
            require(legal, "precision", value, "must be finite, 0 or more")?;
        }
        check_mean(&mean)?;
        Ok(Self { mean, matrix: diagonal(precisions.iter().copied()) })
    }

    /// Any symmetric precision without negative eigenvalues, row after row. A matrix that is not
    /// symmetric or has a negative diagonal is refused here; other illegal ones when they are used.
    pub fn full(mean: Vec<f64>, matrix: Vec<f64>) -> Result<Self> {
        let dim = mean.len();
        require_len("matrix", matrix.len(), dim * dim)?;
        check_mean(&mean)?;
        for i in 0..dim {
            let pivot = matrix[i * dim + i];
            if !(pivot >= 0.0 && pivot.is_finite()) {
                let name = "precision";
                return Err(Error::NotPositiveDefinite { name, pivot: i, value: pivot });
            }
            for j in 0..i {
                let entry = matrix[i * dim + j];
                require(entry.is_finite(), "precision", entry, "must be finite")?;
                let symmetric = entry == matrix[j * dim + i];
                require(symmetric, "precision", entry, "must be symmetric")?;
            }
        }
        Ok(Self { mean, matrix })
    }

    /// Coefficients that are independent once features are centered at `centers`, the first of
    /// which is the intercept, with the variances that they then have. Without centers, plain
    /// independent ones. With $c_0 = 1$ the precision is $\mathrm{diag}(1/v) + (cc^\top)/v_0$.
    pub(super) fn centered(
        mean: Vec<f64>,
        variances: &[f64],
        centers: Option<&[f64]>,
    ) -> Result<Self> {
        let dim = variances.len();
        let mut matrix = diagonal(variances.iter().map(|v| 1.0 / v));
        if let Some(centers) = centers {
            let mut centers = centers.to_vec();
            centers[0] = 1.0;
            matrix[0] = 0.0;
            for (i, row) in matrix.chunks_exact_mut(dim).enumerate() {
                for (entry, center) in row.iter_mut().zip(&centers) {
                    *entry += centers[i] * center / variances[0];
                }
            }
        }
        Self::full(mean, matrix)
    }

    /// If this is the prior of each of several independent classes, with mean 0, that of all but
    /// the first against the first: $\Lambda(\delta_{kl} - 1/K)$, class after class.
    pub(crate) fn of_differences(&self, classes: usize) -> Self {
        let dim = self.dim();
        let others = classes - 1;
        let mut matrix = vec![0.0; dim * others * dim * others];
        for (at, row) in matrix.chunks_exact_mut((dim * others).max(1)).enumerate() {
            let own = &self.matrix[at % dim * dim..][..dim];
            for (class, block) in row.chunks_exact_mut(dim).enumerate() {
                let same = f64::from(class == at / dim);
                let share = same - 1.0 / classes as f64;
                block.iter_mut().zip(own).for_each(|(entry, own)| *entry = share * own);
            }
        }
        Self { mean: vec![0.0; dim * others], matrix }
    }

    /// With every precision multiplied by a factor, which must be positive and finite.
    pub(crate) fn scaled(mut self, factor: f64) -> Self {
        self.matrix.iter_mut().for_each(|entry| *entry *= factor);
        self
    }

    /// Number of coefficients.
    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    /// $m$.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// $\Lambda$, row after row.
    pub fn matrix(&self) -> &[f64] {
        &self.matrix
    }

    /// Whether there is no prior at all.
    pub fn is_flat(&self) -> bool {
        self.matrix.iter().all(|&entry| entry == 0.0)
    }

    /// $\Lambda(\theta - m)$.
    pub(crate) fn pull(&self, theta: &[f64]) -> Vec<f64> {
        let away: Vec<f64> = theta.iter().zip(&self.mean).map(|(t, m)| t - m).collect();
        times(&self.matrix, &away)
    }

    /// $\tfrac12(\theta-m)^\top\Lambda(\theta-m)$.
    pub(crate) fn penalty(&self, theta: &[f64]) -> f64 {
        let pull = self.pull(theta);
        let away = theta.iter().zip(&self.mean).map(|(t, m)| t - m);
        0.5 * away.zip(pull).map(|(a, b)| a * b).sum::<f64>()
    }
}

/// A square matrix, row after row, times a vector.
pub(crate) fn times(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    let dim = x.len();
    let entry = |row: &[f64]| row.iter().zip(x).map(|(a, b)| a * b).sum();
    matrix.chunks_exact(dim.max(1)).take(dim).map(entry).collect()
}

fn diagonal(entries: impl ExactSizeIterator<Item = f64>) -> Vec<f64> {
    let dim = entries.len();
    let mut matrix = vec![0.0; dim * dim];
    entries.enumerate().for_each(|(j, entry)| matrix[j * dim + j] = entry);
    matrix
}

fn check_mean(mean: &[f64]) -> Result<()> {
    mean.iter().try_for_each(|&m| require(m.is_finite(), "mean", m, "must be finite"))
}
