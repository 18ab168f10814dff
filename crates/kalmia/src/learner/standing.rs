//! The standing of a member in its mixture: how its weight moves from row to row, and when it no
//! longer matters.

use super::auto::posterior::posterior_of_logs;
use crate::error::{Error, Result, require};

/// Members are reviewed after as many rows as its multiples, however rows are cut into batches.
pub(super) const REVIEW_ROWS: u64 = 256;
/// No weight falls below this between reviews, so that a member can recover from a bad start.
const MIN_WEIGHT: f64 = 1e-300;
/// Share of the weight that random-walk members exchange per row.
const WEIGHT_EXCHANGE: f64 = 1e-3;
/// A member below this weight is dropped at the next review.
const MIN_MEMBER_WEIGHT: f64 = 1e-12;
/// A member whose weight moved by less than this per row over the last doubling of the rows is
/// dropped.
///
/// Bayes' mixture telescopes: without a member of weight $w_t$ its total loss from row `t` to row
/// `T` changes by exactly $\ln\frac{1-w_t}{1-w_T}$. So a member matters by how far its weight still
/// moves, which is inferred from the last doubling.
const MIN_INFLUENCE: f64 = 1e-8;
/// A member of at least [`MIN_HEAVY`] whose weight moved by less than this over the last doubling
/// is dropped: about as many nats is what it would gain over the next.
const MIN_MOVE: f64 = 0.02;
const MIN_HEAVY: f64 = 1e-3;

/// How much a member counts in its mixture, and how far that still moves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// The weights of all members sum to 1.
    pub weight: f64,
    /// The weight at the last review by influence, and how far it has moved since.
    pub anchor: f64,
    pub influence: f64,
}

impl Default for Standing {
    /// Of a single member.
    fn default() -> Self {
        Self { weight: 1.0, anchor: 1.0, influence: 0.0 }
    }
}

impl Standing {
    /// Refuses numbers that no member can have.
    pub fn check(&self) -> Result<()> {
        for value in [self.weight, self.anchor, self.influence] {
            let legal = (0.0..=f64::MAX).contains(&value);
            require(legal, "member", value, "must be finite and not negative")?;
        }
        Ok(())
    }

    fn move_to(&mut self, weight: f64) {
        self.weight = weight;
        self.influence = self.influence.max((weight - self.anchor).abs());
    }

    /// Whether the member no longer matters after `count` rows, which have `doubled` since its last
    /// review by influence or not.
    fn is_idle(&self, count: u64, doubled: bool) -> bool {
        let light = self.weight < MIN_HEAVY;
        let least = if light { MIN_INFLUENCE * count as f64 } else { MIN_MOVE };
        self.weight < MIN_MEMBER_WEIGHT || (doubled && self.influence < least)
    }
}

/// A member of a mixture.
pub(super) trait MixtureMember {
    fn standing(&self) -> &Standing;
    fn standing_mut(&mut self) -> &mut Standing;
}

/// Divides the weights by their sum.
pub(super) fn renormalize<M: MixtureMember>(members: &mut [M]) {
    let total = total_weight(members);
    members.iter_mut().for_each(|member| member.standing_mut().weight /= total);
}

/// Influence counts from the current weights.
pub(super) fn restart_influence<M: MixtureMember>(members: &mut [M]) {
    for member in members {
        let standing = member.standing_mut();
        standing.anchor = standing.weight;
        standing.influence = 0.0;
    }
}

/// Moves the weights after a row. `next` holds its log evidence under each member, and then the
/// weights after it.
pub(super) fn weigh<M: MixtureMember>(members: &mut [M], next: &mut [f64], exchange: bool) {
    posterior_of_logs(members.iter().map(|member| member.standing().weight), next);
    move_weights(members, next, exchange);
}

/// Moves the weights to `next`, which sum to 1. Random-walk members `exchange` a part of them,
/// because another one may be the best later.
pub(super) fn move_weights<M: MixtureMember>(members: &mut [M], next: &[f64], exchange: bool) {
    let even = WEIGHT_EXCHANGE / members.len() as f64;
    for (member, &next) in members.iter_mut().zip(next) {
        let weight =
            if exchange { (1.0 - WEIGHT_EXCHANGE) * next + even } else { next.max(MIN_WEIGHT) };
        member.standing_mut().move_to(weight);
    }
}

/// Drops members that no longer matter after `count` rows: by weight at every review, by influence
/// at the powers of two. Returns whether it was a review by influence.
pub(super) fn drop_idle<M: MixtureMember>(members: &mut Vec<M>, count: u64) -> bool {
    let heaviest = members.iter().map(|member| member.standing().weight).fold(0.0, f64::max);
    let doubled = count.is_power_of_two() && count > REVIEW_ROWS;
    members.retain(|member| {
        member.standing().weight == heaviest || !member.standing().is_idle(count, doubled)
    });
    renormalize(members);
    if doubled {
        restart_influence(members);
    }
    doubled
}

/// Refuses restored members whose weights no mixture can have.
pub(super) fn check_total<M: MixtureMember>(members: &[M]) -> Result<()> {
    let total = total_weight(members);
    if total > 0.0 && total.is_finite() {
        return Ok(());
    }
    Err(Error::State(format!("the weights of the members add up to {total}")))
}

fn total_weight<M: MixtureMember>(members: &[M]) -> f64 {
    members.iter().map(|member| member.standing().weight).sum()
}
