//! Merges two filters that started from one prior.

use super::information::{PartBelief, PartNoise};
use super::{
    Drift, FeatureMap, Filter, Heterogeneity, Information, Learner, Predict, Prior, PriorPrecision,
};
use crate::covariance::Covariance;
use crate::error::{Error, Result, require_len};
use crate::family::Family;
use crate::linalg::{ScaledCholesky, cholesky_lower, inverse, solve_lower, solve_lower_transposed};
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

/// Several learners merged into one.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedMany<T> {
    /// The learner, and whether the merge is exact.
    pub merged: Merged<T>,
    /// Whether the parts agree.
    pub heterogeneity: Heterogeneity,
}

impl<T> MergedMany<T> {
    /// The same merge, of what `wrap` makes of the learner.
    pub fn map<U>(self, wrap: impl FnOnce(T) -> U) -> MergedMany<U> {
        MergedMany { merged: self.merged.map(wrap), heterogeneity: self.heterogeneity }
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
        Ok(merged.merged())
    }

    /// Merges the rows of any number of filters, at least one. As [`Filter::merge`], but without
    /// the rounding of each merge in turn, and with a test of whether the filters agree. Their
    /// order changes only rounding.
    pub fn merge_many(filters: &[&Self]) -> Result<MergedMany<Self>> {
        let Some(first) = filters.first() else {
            return Err(Error::State("there are no filters to merge".into()));
        };
        let reference = first.coefficients().into_owned();
        let mut information = Information::none(reference.clone());
        for filter in filters {
            first.require_mergeable(filter)?;
            information.add(&filter.information(reference.clone())?)?;
        }
        (*first).clone().with_information(&information)
    }

    /// Refuses a filter that cannot be merged with this one.
    fn require_mergeable(&self, other: &Self) -> Result<()> {
        let same = self.family() == other.family()
            && self.rule() == other.rule()
            && self.prior() == other.prior();
        if !same {
            return Err(Error::State(
                "only filters with the same family, rule and prior can be merged".into(),
            ));
        }
        self.require_static()?;
        other.require_static()
    }
}

impl<F: Family, R: Rule, C: Covariance> Filter<F, R, C> {
    /// What the rows say beyond the prior, around a reference. Refuses a filter with drift.
    pub fn information(&self, reference: Vec<f64>) -> Result<Information> {
        self.require_static()?;
        let rows = self.count();
        let belief = PartBelief {
            mean: &self.coefficients(),
            covariance: self.covariance().matrix(),
            prior: PriorPrecision::of(self.prior())?,
            noise: PartNoise::Pearson(0.0),
            effective_rows: rows as f64,
            rows,
            shape: None,
        };
        Information::of(belief, reference)
    }

    /// A filter without rows for the features of a whole. A feature that this filter does not have
    /// starts with the prior variance of the last one, as a feature that appears later does.
    pub fn mapped(&self, map: &FeatureMap) -> Result<Self> {
        require_len("features", map.part_dim(), self.dim())?;
        let prior = match self.prior().variances() {
            _ if map.is_identity() => self.prior().clone(),
            Some(variances) => {
                let new = self.new_variance();
                let own = map.select(variances);
                let variances: Vec<f64> =
                    own.into_iter().map(|v| if v > 0.0 { v } else { new }).collect();
                Prior::diagonal(variances)?.with_mean(&map.select(self.prior().mean()))?
            }
            None => {
                return Err(Error::State(
                    "filters that start from a full covariance are merged only if all have the \
                     same features"
                        .into(),
                ));
            }
        };
        Filter::with_covariance(self.family().clone(), self.rule().clone(), prior)
    }

    /// The filter of the rows that `information` is of, from the prior of this one.
    pub fn with_information(self, information: &Information) -> Result<MergedMany<Self>> {
        require_len("information", information.dim(), self.dim())?;
        let dim = self.dim();
        let prior = PriorPrecision::of(self.prior())?;
        let total: Vec<f64> =
            information.precision().iter().zip(prior.matrix()).map(|(a, l)| a + l).collect();
        let factor = ScaledCholesky::new(&total, dim)?;
        let pull = prior.pull(information.reference());
        let mut mean: Vec<f64> =
            information.weighted().iter().zip(pull).map(|(b, p)| b - p).collect();
        factor.solve(&mut mean);
        mean.iter_mut().zip(information.reference()).for_each(|(shift, r)| *shift += r);
        let covariance = C::from_matrix(&factor.inverse(), dim)?;
        let heterogeneity = information.heterogeneity(&mean, 1.0);
        let merged = self.with_belief(&mean, covariance, information.rows()).merged();
        Ok(MergedMany { merged, heterogeneity })
    }

    /// As the result of a merge: exact for normal noise and a rule that is then the Kalman filter.
    pub(crate) fn merged(self) -> Merged<Self> {
        let exact = self.family().normal_noise().is_some() && self.rule().is_kalman();
        if exact { Merged::Exact(self) } else { Merged::Approximate(self) }
    }

    fn require_static(&self) -> Result<()> {
        if self.drift() != &Drift::Off {
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
