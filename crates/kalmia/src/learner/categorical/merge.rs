//! Merges learners of several classes: the information of their rows adds.

use super::{Categorical, ClassInformation};
use crate::error::{Error, Result};
use crate::learner::pool::{self, Pool};
use crate::learner::warm_up::WarmUpRows;
use crate::learner::{Merged, MergedMany};
use std::cmp::Ordering;

impl Categorical {
    /// Merges the rows of both; see [`merge_many`](Self::merge_many).
    pub fn merge(&self, other: &Self) -> Result<Merged<Self>> {
        Ok(Self::merge_many(&[self, other])?.merged)
    }

    /// Merges the rows of any number of learners, at least one; their order changes only rounding.
    /// All need the same features and classes, by their indices; see
    /// [`ClassInformation::mapped`] for others.
    ///
    /// With at most one learner past its first 128 rows the merge is exact, because the others
    /// still have their rows. Otherwise it is as that of
    /// [`Auto::merge_many`](crate::Auto::merge_many), a belief per class: follow it by a pass of
    /// [`polish_classes`](crate::sums::polish_classes). Learners that follow a drift are refused.
    pub fn merge_many(learners: &[&Self]) -> Result<MergedMany<Self>> {
        pool::merge_many(learners)
    }
}

impl Pool for Categorical {
    fn rows(&self) -> u64 {
        self.count
    }

    fn kept(&self) -> Option<&WarmUpRows> {
        self.warm_up.as_ref()
    }

    fn order(&self, other: &Self) -> Ordering {
        let coefficients = |learner: &Self| learner.coefficients_against_first().into_iter();
        pool::compare(coefficients(self), coefficients(other))
    }

    fn require_mergeable(&self, other: &Self) -> Result<()> {
        let intercepts = self.scales.has_intercept() == other.scales.has_intercept();
        let sizes = self.dim == other.dim && self.classes == other.classes;
        if !sizes || self.drift != other.drift || !intercepts {
            return Err(Error::State(
                "only learners with the same classes, features, intercept and drift can be merged"
                    .into(),
            ));
        }
        self.require_static()?;
        other.require_static()
    }

    fn pooled(&self, parts: &[&Self]) -> Result<MergedMany<Self>> {
        let mut whole = self.clone();
        let mut information = ClassInformation::none(self.classes, self.dim);
        for part in parts {
            information.add(&part.information()?)?;
            whole.adopt_scales(part);
        }
        whole.with_information(&information)
    }

    fn learn_kept(&mut self, rows: &WarmUpRows) -> Result<()> {
        self.learn(rows.rows(self.dim)?)
    }
}
