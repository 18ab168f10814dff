//! Merges default learners: the information of their rows adds.

use super::Auto;
use crate::error::{Error, Result};
use crate::family::{Family, FastPaths};
use crate::learner::{Heterogeneity, Information, Learner, Merged, MergedMany};

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
        let Some(base) = Self::base(learners) else {
            return Err(Error::State("there are no learners to merge".into()));
        };
        learners.iter().try_for_each(|part| base.require_mergeable(part))?;
        let is_short = |part: &&Self| part.warm_up.is_some();
        let (mut short, mut long): (Vec<&Self>, Vec<&Self>) =
            learners.iter().copied().partition(is_short);
        if long.is_empty() {
            let place = short.iter().position(|part| std::ptr::eq(*part, base)).unwrap_or(0);
            long.push(short.swap_remove(place));
        }
        let mut result = match long[..] {
            [alone] => MergedMany {
                merged: Merged::Exact(alone.clone()),
                heterogeneity: Heterogeneity::new(0.0, 0),
            },
            _ => Self::base(&long).unwrap_or(base).pooled(&long)?,
        };
        short.sort_by(|a, b| a.count.cmp(&b.count).then_with(|| order(a, b)));
        for rows in short.iter().filter_map(|part| part.warm_up.as_ref()) {
            let (Merged::Exact(learner) | Merged::Approximate(learner)) = &mut result.merged;
            learner.learn(rows.rows(base.dim)?)?;
        }
        Ok(result)
    }

    /// The learner of all parts, from the priors of this one.
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

    /// The learner with the most rows, by a rule that does not depend on the order.
    fn base<'a>(learners: &[&'a Self]) -> Option<&'a Self> {
        let larger = |a: &&'a Self, b: &&'a Self| a.count.cmp(&b.count).then(order(a, b));
        learners.iter().copied().max_by(larger)
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

/// By the coefficients.
fn order<F: Family>(a: &Auto<F>, b: &Auto<F>) -> std::cmp::Ordering {
    let pairs = a.mean.iter().zip(&b.mean);
    pairs.map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or(a.dim.cmp(&b.dim))
}
