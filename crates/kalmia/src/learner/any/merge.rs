//! Merges of learners chosen at run time.

use super::AnyLearner;
use crate::error::{Error, Result};
use crate::family::Family;
use crate::learner::{Auto, FeatureMap, Filter, Heterogeneity, Information, Merged, MergedMany};
use crate::rule::AnyRule;

impl<F: Family + PartialEq> AnyLearner<F> {
    /// Merges two learners of one method; see [`Merged`] for how good the result is. Refused for
    /// methods without a covariance.
    pub fn merge(&self, other: &Self) -> Result<Merged<Self>> {
        match (self, other) {
            (Self::Filter(a), Self::Filter(b)) => Ok(a.merge(b)?.map(Self::Filter)),
            (Self::Wide(a), Self::Wide(b)) => {
                Ok(a.merge(b)?.map(|merged| Self::Wide(Box::new(merged))))
            }
            (Self::Auto(a), Self::Auto(b)) => Ok(a.merge(b)?.map(Self::Auto)),
            _ => Err(self.unlike(other)),
        }
    }
}

impl<F: Family + PartialEq> AnyLearner<F> {
    /// Merges any number of learners of one method, at least one; their order changes only
    /// rounding. Wide learners, which merge only within their warm-up, are merged in turn and not
    /// tested for agreement.
    pub fn merge_many(learners: &[&Self]) -> Result<MergedMany<Self>> {
        let Some((first, others)) = learners.split_first() else {
            return Err(Error::State("there are no learners to merge".into()));
        };
        let mismatch =
            |other: &&&Self| std::mem::discriminant(**other) != std::mem::discriminant(*first);
        if let Some(other) = others.iter().find(mismatch) {
            return Err(first.unlike(other));
        }
        match first {
            Self::Auto(_) => {
                let parts: Vec<&Auto<F>> =
                    learners.iter().filter_map(|one| one.as_auto()).collect();
                Ok(Auto::merge_many(&parts)?.map(Self::Auto))
            }
            Self::Filter(_) => {
                let parts: Vec<&Filter<F, AnyRule>> =
                    learners.iter().filter_map(|one| one.as_filter()).collect();
                Ok(Filter::merge_many(&parts)?.map(Self::Filter))
            }
            _ => {
                let mut merged = Merged::Exact((*first).clone());
                for other in others {
                    let exact = merged.is_exact();
                    merged = merged.into_inner().merge(other)?;
                    if !exact {
                        merged = Merged::Approximate(merged.into_inner());
                    }
                }
                Ok(MergedMany { merged, heterogeneity: Heterogeneity::new(0.0, 0) })
            }
        }
    }

    fn as_auto(&self) -> Option<&Auto<F>> {
        match self {
            Self::Auto(inner) => Some(inner),
            _ => None,
        }
    }

    fn as_filter(&self) -> Option<&Filter<F, AnyRule>> {
        match self {
            Self::Filter(inner) => Some(inner),
            _ => None,
        }
    }

    fn unlike(&self, other: &Self) -> Error {
        Error::State(format!(
            "a model of method {} cannot be merged with one of {}",
            self.title(),
            other.title()
        ))
    }
}

impl<F: Family> AnyLearner<F> {
    /// What the rows say beyond the prior, around a reference; see [`Information`]. Refused for
    /// methods other than `auto` and single filters, and for learners that follow a drift.
    pub fn information(&self, reference: Vec<f64>) -> Result<Information> {
        match self {
            Self::Auto(inner) => inner.information(reference),
            Self::Filter(inner) => inner.information(reference),
            other => Err(other.no_information()),
        }
    }

    /// A learner without rows, from the same prior, for the features of a whole; see
    /// [`FeatureMap`].
    pub fn mapped(&self, map: &FeatureMap) -> Result<Self> {
        match self {
            Self::Auto(inner) => inner.mapped(map).map(Self::Auto),
            Self::Filter(inner) => inner.mapped(map).map(Self::Filter),
            other => Err(other.no_information()),
        }
    }

    /// The learner of the rows that `information` is of, from the prior of this one.
    pub fn with_information(self, information: &Information) -> Result<MergedMany<Self>> {
        match self {
            Self::Auto(inner) => Ok(inner.with_information(information)?.map(Self::Auto)),
            Self::Filter(inner) => Ok(inner.with_information(information)?.map(Self::Filter)),
            other => Err(other.no_information()),
        }
    }

    fn no_information(&self) -> Error {
        Error::State(format!(
            "models of method {} cannot be merged: use auto or a single filter, on rows that are \
             not wide",
            self.title()
        ))
    }
}
