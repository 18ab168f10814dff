//! Merges two wide learners, where that is possible.

use super::Wide;
use crate::error::{Error, Result};
use crate::family::{Family, FastPaths};
use crate::learner::{Learner, Merged};

impl<F: Family + PartialEq> Wide<F> {
    /// Merges the rows of both, if one learner is still in its warm-up (128 rows): the other learns
    /// its rows, which is exact. Otherwise refused: the learners have chosen different features
    /// for their cores and different members, and adding such beliefs would count what they share
    /// twice.
    pub fn merge(&self, other: &Self) -> Result<Merged<Self>> {
        let intercepts =
            self.features.scales.has_intercept() == other.features.scales.has_intercept();
        let shapeless = |wide: &Self| wide.family.fast().with_shape_unchecked(1.0);
        if shapeless(self) != shapeless(other)
            || self.numbers() != other.numbers()
            || self.drift != other.drift
            || !intercepts
        {
            return Err(Error::State(
                "only learners with the same family, numbers, intercept and drift can be merged"
                    .into(),
            ));
        }
        for (short, long) in [(other, self), (self, other)] {
            if let Some(rows) = &short.warm_up {
                let mut merged = long.clone();
                rows.with_rows(|rows| merged.learn_sparse(rows))?;
                return Ok(Merged::Exact(merged));
            }
        }
        Err(Error::State(
            "wide learners of more than 128 rows cannot be merged; learn the rows of both with one \
             of them"
                .into(),
        ))
    }
}
