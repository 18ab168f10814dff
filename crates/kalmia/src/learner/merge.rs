//! Merges two filters that started from one prior.

use super::{Drift, Filter, Learner, Predict};
use crate::covariance::Covariance;
use crate::error::{Error, Result};
use crate::family::Family;
use crate::linalg::{cholesky_lower, inverse, solve_lower, solve_lower_transposed};
use crate::rule::Rule;

/// A merged learner, and how good the merge is.
#[derive(Debug, Clone, PartialEq)]
pub enum Merged<T> {
    /// Equal, to rounding, to one learner that saw all rows (quadratic loss).
    Exact(T),
    /// The natural parameters were added and the prior counted once. Close to one learner that saw
    /// all rows, but not equal.
    Approximate(T),
}

impl<T> Merged<T> {
    /// The same kind of merge, of what `wrap` makes of the learner.
    pub fn map<U>(self, wrap: impl FnOnce(T) -> U) -> Merged<U> {
        match self {
            Merged::Exact(inner) => Merged::Exact(wrap(inner)),
            Merged::Approximate(inner) => Merged::Approximate(wrap(inner)),
        }
    }

    /// The learner.
    pub fn into_inner(self) -> T {
        match self {
            Merged::Exact(inner) | Merged::Approximate(inner) => inner,
        }
    }

    /// Whether the merge is exact.
    pub fn is_exact(&self) -> bool {
        matches!(self, Merged::Exact(_))
    }
}

impl<F: Family + PartialEq, R: Rule + PartialEq, C: Covariance> Filter<F, R, C> {
    /// Merges the rows of both: $\Lambda = \Lambda_a + \Lambda_b - \Lambda_1$, and the same for
    /// $\Lambda\theta$. Filters with another family, rule or prior, or with drift, are refused; so
    /// are those of a form that cannot hold every covariance ([`CoreTail`](crate::CoreTail) with a
    /// tail).
    pub fn merge(&self, other: &Self) -> Result<Merged<Self>> {
        self.require_mergeable(other)?;
        let dim = self.dim();
        let a = Natural::new(&self.coefficients(), &self.covariance().matrix())?;
        let b = Natural::new(&other.coefficients(), &other.covariance().matrix())?;
        let prior = Natural::new(self.prior().mean(), &self.prior().matrix())?;
        let combine = |a: &[f64], b: &[f64], prior: &[f64]| -> Vec<f64> {
            (0..a.len()).map(|i| a[i] + b[i] - prior[i]).collect()
        };
        let precision = combine(&a.precision, &b.precision, &prior.precision);
        let mut theta = combine(&a.weighted, &b.weighted, &prior.weighted);
        let covariance = inverse(&precision, dim, "covariance")?;
        let mut factor = precision;
        cholesky_lower(&mut factor, dim, "precision")?;
        solve_lower(&factor, dim, &mut theta);
        solve_lower_transposed(&factor, dim, &mut theta);
        let merged = self.clone().with_belief(
            &theta,
            C::from_matrix(&covariance, dim)?,
            self.count() + other.count(),
        );
        Ok(self.merged_as(merged))
    }

    /// The result of a merge with its kind.
    pub(crate) fn merged_as(&self, merged: Self) -> Merged<Self> {
        let exact = self.family().normal_noise().is_some() && self.rule().is_kalman();
        if exact { Merged::Exact(merged) } else { Merged::Approximate(merged) }
    }

    /// Refuses a filter that cannot be merged with this one.
    pub(crate) fn require_mergeable(&self, other: &Self) -> Result<()> {
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
                "filters with drift cannot be merged: the order of their rows matters".into(),
            ));
        }
        C::require_any_matrix(self.dim())
    }
}

/// The natural parameters of a belief.
pub(crate) struct Natural {
    /// $\Lambda = P^{-1}$.
    pub precision: Vec<f64>,
    /// $\Lambda\theta$.
    pub weighted: Vec<f64>,
}

impl Natural {
    pub fn new(theta: &[f64], covariance: &[f64]) -> Result<Self> {
        let dim = theta.len();
        let precision = inverse(covariance, dim, "covariance")?;
        let weighted = (0..dim)
            .map(|i| precision[i * dim..][..dim].iter().zip(theta).map(|(l, t)| l * t).sum())
            .collect();
        Ok(Self { precision, weighted })
    }
}
