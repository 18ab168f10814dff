//! Merges any number of default learners: those in their warm-up still have their rows, the others
//! have information that adds.

use super::warm_up::WarmUpRows;
use super::{Heterogeneity, Merged, MergedMany};
use crate::error::{Error, Result};
use std::cmp::Ordering;

/// A learner that keeps its first rows.
pub(super) trait Pool: Clone {
    /// Rows learned so far.
    fn rows(&self) -> u64;
    /// The rows of its warm-up; `None` after it.
    fn kept(&self) -> Option<&WarmUpRows>;
    /// Any order of learners that does not depend on where they stand.
    fn order(&self, other: &Self) -> Ordering;
    /// Refuses a learner that cannot be merged with this one.
    fn require_mergeable(&self, other: &Self) -> Result<()>;
    /// The learner of the information of all parts, from the priors of this one.
    fn pooled(&self, parts: &[&Self]) -> Result<MergedMany<Self>>;
    /// Learns rows that another learner kept.
    fn learn_kept(&mut self, rows: &WarmUpRows) -> Result<()>;
}

/// One learner of the rows of all, at least one; their order changes only rounding. With at most
/// one learner past its warm-up the merge is exact.
pub(super) fn merge_many<L: Pool>(learners: &[&L]) -> Result<MergedMany<L>> {
    let Some(base) = largest(learners) else {
        return Err(Error::State("there are no learners to merge".into()));
    };
    learners.iter().try_for_each(|part| base.require_mergeable(part))?;
    let is_short = |part: &&L| part.kept().is_some();
    let (mut short, mut long): (Vec<&L>, Vec<&L>) = learners.iter().copied().partition(is_short);
    if long.is_empty() {
        let place = short.iter().position(|part| std::ptr::eq(*part, base)).unwrap_or(0);
        long.push(short.swap_remove(place));
    }
    let mut result = match long[..] {
        [alone] => MergedMany {
            merged: Merged::Exact(alone.clone()),
            heterogeneity: Heterogeneity::new(0.0, 0),
        },
        _ => largest(&long).unwrap_or(base).pooled(&long)?,
    };
    short.sort_by(|a, b| a.rows().cmp(&b.rows()).then_with(|| a.order(b)));
    for rows in short.iter().filter_map(|part| part.kept()) {
        let (Merged::Exact(learner) | Merged::Approximate(learner)) = &mut result.merged;
        learner.learn_kept(rows)?;
    }
    Ok(result)
}

/// The learner with the most rows.
fn largest<'a, L: Pool>(learners: &[&'a L]) -> Option<&'a L> {
    let larger = |a: &&'a L, b: &&'a L| a.rows().cmp(&b.rows()).then(a.order(b));
    learners.iter().copied().max_by(larger)
}

/// By numbers, such as coefficients.
pub(super) fn compare(a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> Ordering {
    a.zip(b).map(|(a, b)| a.total_cmp(&b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}
