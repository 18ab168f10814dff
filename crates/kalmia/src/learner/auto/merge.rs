//! Merges default learners: the information of their rows adds.

use super::Auto;
use crate::error::{Error, Result};
use crate::family::{Family, FastPaths};
use crate::learner::pool::{self, Pool};
use crate::learner::warm_up::WarmUpRows;
use crate::learner::{Information, Learner, Merged, MergedMany};
use std::cmp::Ordering;

impl<F: Family + PartialEq> Auto<F> {
    /// Merges the rows of both; see [`Auto::merge_many`].
    pub fn merge(&self, other: &Self) -> Result<Merged<Self>> {
        Ok(Self::merge_many(&[self, other])?.merged)
    }

    /// Merges the rows of any number of learners, at least one; their order changes only rounding.
    ///
    /// Learners in their warm-up still have their rows, which the others learn: with at most one
    /// learner past its warm-up the merge is exact. Otherwise the information that each learner's
    /// heaviest member has beyond its prior is added. Then all members are built anew: from the
    /// priors of the learner with the most rows, with weights that follow from the information
    /// itself. For normal noise the information is exact; for other families it is off by what each
    /// belief's normal form is off, which adds up over many shards: follow it by a pass of
    /// [`polish`](crate::sums::polish). Learners that follow a drift are refused.
    pub fn merge_many(learners: &[&Self]) -> Result<MergedMany<Self>> {
        pool::merge_many(learners)
    }
}

impl<F: Family + PartialEq> Pool for Auto<F> {
    fn rows(&self) -> u64 {
        self.count
    }

    fn kept(&self) -> Option<&WarmUpRows> {
        self.warm_up.as_ref()
    }

    fn order(&self, other: &Self) -> Ordering {
        let coefficients = |auto: &Self| auto.mean.clone().into_iter();
        pool::compare(coefficients(self), coefficients(other)).then(self.dim.cmp(&other.dim))
    }

    fn pooled(&self, parts: &[&Self]) -> Result<MergedMany<Self>> {
        let reference = self.mean.clone();
        let mut whole = self.clone();
        let mut information = Information::none(reference.clone());
        for part in parts {
            information.add(&part.information(reference.clone())?)?;
            whole.adopt_scales(part);
        }
        whole.with_information(&information)
    }

    fn learn_kept(&mut self, rows: &WarmUpRows) -> Result<()> {
        self.learn(rows.rows(self.dim)?)
    }

    fn require_mergeable(&self, other: &Self) -> Result<()> {
        let intercepts = self.scales.has_intercept() == other.scales.has_intercept();
        // what the rows show of the law's shape may differ
        let shapeless = |auto: &Self| auto.family.fast().with_shape_unchecked(1.0);
        if shapeless(self) != shapeless(other)
            || self.dim != other.dim
            || self.drift != other.drift
            || !intercepts
        {
            return Err(Error::State(
                "only learners with the same family, features, intercept and drift can be merged"
                    .into(),
            ));
        }
        self.static_members()?;
        other.static_members().map(|_| ())
    }
}
