//! Which members of the mixture are dropped, and when.

use super::bank::Bank;
use super::member::Member;
use super::{Auto, CHUNK, Stage};
use crate::covariance::Factored;
use crate::family::Family;

/// A member below this weight is dropped at the next review.
const MIN_MEMBER_WEIGHT: f64 = 1e-12;
/// A member whose weight moved by less than this per row over the last doubling of the rows is
/// dropped.
///
/// Bayes' mixture telescopes: without a member of weight $w_t$ its total loss from row `t` to row
/// `T` changes by exactly $\ln\frac{1-w_t}{1-w_T}$. So a member matters by how far its weight still
/// moves, which is inferred from the last doubling.
const MIN_INFLUENCE: f64 = 1e-8;

impl<F: Family> Auto<F> {
    /// After `count` rows, at multiples of the chunk: drops members that no longer matter.
    pub(super) fn review_members(&mut self) {
        if let Stage::Static(bank) = &mut self.stage
            && !self.keeps_all
        {
            bank.drop_idle(self.count);
        }
    }
}

/// A member of at least [`MIN_HEAVY`] whose weight moved by less than this over the last doubling
/// is dropped: about as many nats is what it would gain over the next.
const MIN_MOVE: f64 = 0.02;
const MIN_HEAVY: f64 = 1e-3;

/// Whether a member no longer matters after `count` rows, which have `doubled` since its last
/// review by influence or not.
pub(in crate::learner) fn is_idle(weight: f64, influence: f64, count: u64, doubled: bool) -> bool {
    let least = if weight < MIN_HEAVY { MIN_INFLUENCE * count as f64 } else { MIN_MOVE };
    weight < MIN_MEMBER_WEIGHT || (doubled && influence < least)
}

impl Bank<Factored> {
    /// Drops members that no longer matter after `count` rows: by weight at every review, by
    /// influence at the powers of two.
    pub fn drop_idle(&mut self, count: u64) {
        let heaviest = self.best().weight;
        let doubled = count.is_power_of_two() && count > CHUNK;
        let idle = |m: &Member<Factored>| is_idle(m.weight, m.influence, count, doubled);
        self.members.retain(|m| m.weight == heaviest || !idle(m));
        self.renormalize();
        if doubled {
            for member in &mut self.members {
                member.anchor = member.weight;
                member.influence = 0.0;
            }
        }
    }
}
