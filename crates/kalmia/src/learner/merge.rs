//! Two beliefs that grew from one prior, made one.

use super::{Filter, Learner};
use crate::covariance::Covariance;
use crate::error::{Error, Result};
use crate::family::Family;
use crate::learner::Drift;
use crate::linalg::{cholesky_lower, solve_cholesky};
use crate::rule::Rule;

/// A merged learner, and what the merging is worth.
#[derive(Debug, Clone, PartialEq)]
pub enum Merged<T> {
    /// Equal, to rounding, to one learner that saw all rows (quadratic loss).
    Exact(T),
    /// Natural parameters were added, the prior counted once: good, but not what one learner would
    /// have reached.
    Approximate(T),
}

impl<T> Merged<T> {
    /// The learner.
    pub fn into_inner(self) -> T {
        match self {
            Merged::Exact(inner) | Merged::Approximate(inner) => inner,
        }
    }

    /// Whether nothing was lost.
    pub fn is_exact(&self) -> bool {
        matches!(self, Merged::Exact(_))
    }
}

impl<F: Family + PartialEq, R: Rule + PartialEq, C: Covariance> Filter<F, R, C> {
    /// The belief after the rows of both: $\Lambda = \Lambda_a + \Lambda_b - \Lambda_1$, and the
    /// same for $\Lambda\theta$.
    pub fn merge(&self, other: &Self) -> Result<Merged<Self>> {
        let same = self.family() == other.family()
            && self.rule() == other.rule()
            && self.prior() == other.prior();
        if !same {
            return Err(Error::State(
                "only filters with the same family, rule and prior can be merged".into(),
            ));
        }
        if self.drift() != &Drift::Off || other.drift() != &Drift::Off {
            return Err(Error::State(
                "filters with drift cannot be merged: their rows have an order".into(),
            ));
        }
        let dim = self.dim();
        let (a, b) = (
            natural(self.coefficients(), &self.covariance().matrix())?,
            natural(other.coefficients(), &other.covariance().matrix())?,
        );
        let start = natural(self.prior().mean(), &self.prior().matrix())?;
        let combine = |k: usize| {
            (0..a[k].len()).map(|i| a[k][i] + b[k][i] - start[k][i]).collect::<Vec<f64>>()
        };
        let (precision, mut theta) = (combine(0), combine(1));
        let covariance = inverse(&precision, dim)?;
        let mut factor = precision;
        cholesky_lower(&mut factor, dim, "precision")?;
        solve_cholesky(&factor, dim, &mut theta);
        let merged = self.clone().with_belief(
            &theta,
            C::from_matrix(&covariance, dim)?,
            self.count() + other.count(),
        );
        let exact = self.family().normal_noise().is_some() && self.rule().is_kalman();
        Ok(if exact { Merged::Exact(merged) } else { Merged::Approximate(merged) })
    }
}

/// $[\Lambda, \Lambda\theta]$.
fn natural(theta: &[f64], covariance: &[f64]) -> Result<[Vec<f64>; 2]> {
    let dim = theta.len();
    let precision = inverse(covariance, dim)?;
    let weighted = (0..dim)
        .map(|i| precision[i * dim..][..dim].iter().zip(theta).map(|(l, t)| l * t).sum())
        .collect();
    Ok([precision, weighted])
}

/// The inverse of a symmetric positive definite matrix, symmetric to the bit.
pub(crate) fn inverse(matrix: &[f64], dim: usize) -> Result<Vec<f64>> {
    crate::linalg::inverse(matrix, dim, "covariance")
}
