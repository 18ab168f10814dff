//! The members of the mixture: what each assumes, how their weights move, and which ones leave.

use super::MAX_LANES;
use super::assumption::{Assumption, FOR_CLASSES, FOR_LABELS, FOR_NUMBERS, class_lanes};
use crate::error::{Result, require};
use crate::learner::DriftMode;
use crate::learner::auto::posterior::posterior;
use crate::rule::Evidence;
use serde::{Deserialize, Serialize};

/// Process noise of the last member, unless nothing may move.
const PROCESS_NOISE: f64 = 1e-4;

/// Share of the weight that members exchange per row: one that is right only later comes back.
const WEIGHT_EXCHANGE: f64 = 1e-4;

/// Rows of the first review; the next are at its doublings.
const FIRST_REVIEW: u64 = 2048;

/// Members stay until those with the largest mean weights since the last review have this share.
const MIN_SHARE_KEPT: f64 = 0.95;

/// A member of a [`Wide`](super::Wide) that is still in the mixture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WideWeight {
    /// Prior variance relative to the scale of a feature.
    pub prior_size: f64,
    /// Share of $x^\top Px$ that the member believes.
    pub variance_share: f64,
    /// Variance that a feature regains per row relative to its prior, 0 for a static member.
    pub process_noise: f64,
    /// The rate of a member whose precisions grow as the root of squared slopes; 0 for others.
    pub root_rate: f64,
    /// Share of the mixture.
    pub weight: f64,
}

/// One member.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Member {
    pub assumption: Assumption,
    /// Share of the mixture.
    pub weight: f64,
    /// Its residual sum, for the dispersion.
    pub residual: f64,
    /// Sum of its weights since the last review.
    pub total: f64,
}

impl Member {
    /// Refuses numbers that no member can have.
    fn check(&self) -> Result<()> {
        let Assumption { prior_size, share, process_noise, root_rate } = self.assumption;
        require(prior_size > 0.0 && prior_size.is_finite(), "prior size", prior_size, POSITIVE)?;
        require(share > 0.0 && share <= 1.0, "share", share, "must be above 0, at most 1")?;
        for value in [process_noise, root_rate, self.weight, self.residual, self.total] {
            require(value >= 0.0 && value.is_finite(), "member", value, "must be 0 or more")?;
        }
        Ok(())
    }
}

const POSITIVE: &str = "must be positive and finite";

/// The members, as many as there are lanes: 8, 4, 2 or 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Members {
    pub all: Vec<Member>,
    /// Of a row: the weights after it.
    next: [f64; MAX_LANES],
}

impl Members {
    /// The members at the start; `labels` if the slope of the loss is bounded.
    pub fn new(drift: DriftMode, labels: bool) -> Self {
        Self::at_start(if labels { &FOR_LABELS } else { &FOR_NUMBERS }, drift)
    }

    /// The members at the start for so many classes; two are those of labels.
    pub fn for_classes(drift: DriftMode, classes: usize) -> Self {
        let all = if classes > 2 { &FOR_CLASSES } else { &FOR_LABELS };
        Self::at_start(&all[..class_lanes(classes)], drift)
    }

    fn at_start(assumptions: &[Assumption], drift: DriftMode) -> Self {
        let weight = 1.0 / assumptions.len() as f64;
        let member =
            |&assumption: &Assumption| Member { assumption, weight, residual: 0.0, total: 0.0 };
        let mut all: Vec<Member> = assumptions.iter().map(member).collect();
        if drift != DriftMode::Off
            && let Some(last) = all.last_mut()
        {
            last.assumption.process_noise = PROCESS_NOISE;
        }
        Self::from(all)
    }

    /// From stored members.
    pub fn restore(all: Vec<Member>) -> Result<Self> {
        let lanes = all.len();
        let legal = lanes.is_power_of_two() && lanes <= MAX_LANES;
        require(legal, "members", lanes as f64, "must be 1, 2, 4 or 8")?;
        all.iter().try_for_each(Member::check)?;
        let total: f64 = all.iter().map(|member| member.weight).sum();
        require(total > 0.0 && total.is_finite(), "weights", total, "must add up to 1")?;
        Ok(Self::from(all))
    }

    pub fn lanes(&self) -> usize {
        self.all.len()
    }

    /// The lane of the largest weight.
    pub fn heaviest(&self) -> usize {
        let weight = |k: &usize| self.all[*k].weight;
        (0..self.all.len()).max_by(|a, b| weight(a).total_cmp(&weight(b))).unwrap_or(0)
    }

    /// The member with the largest weight.
    pub fn best(&self) -> &Member {
        &self.all[self.heaviest()]
    }

    pub fn weights(&self) -> Vec<WideWeight> {
        let weight = |member: &Member| WideWeight {
            prior_size: member.assumption.prior_size,
            variance_share: member.assumption.share,
            process_noise: member.assumption.process_noise,
            root_rate: member.assumption.root_rate,
            weight: member.weight,
        };
        self.all.iter().map(weight).collect()
    }

    /// The mixture's evidence of a row; [`move_weights`](Self::move_weights) then takes the weights
    /// after it.
    pub fn weigh(&mut self, evidence: &[Evidence]) -> Evidence {
        let weights = self.all.iter().map(|member| member.weight);
        posterior(weights, evidence, &mut self.next[..evidence.len()])
    }

    /// Moves the weights after a row, and the residual sums by `added`.
    pub fn move_weights(&mut self, added: &[f64]) {
        let even = WEIGHT_EXCHANGE / self.all.len() as f64;
        let several = self.all.len() > 1;
        for ((member, next), added) in self.all.iter_mut().zip(self.next).zip(added) {
            member.residual += added;
            if several {
                member.weight = (1.0 - WEIGHT_EXCHANGE) * next + even;
                member.total += member.weight;
            }
        }
    }

    /// The lanes that stay after `count` rows, if members leave then: as many as a power of two,
    /// those of the largest weights since the last review. A member with process noise stays,
    /// because what it is for may come late.
    pub fn review(&mut self, count: u64) -> Option<Vec<usize>> {
        if count < FIRST_REVIEW || !count.is_power_of_two() {
            return None;
        }
        let walks = |k: usize| self.all[k].assumption.process_noise > 0.0;
        let all: f64 = self.all.iter().map(|member| member.total).sum();
        if all <= 0.0 {
            // rows of weight 0 alone since the last review
            return None;
        }
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        order.sort_by(|&a, &b| self.all[b].total.total_cmp(&self.all[a].total));
        let mut share = 0.0;
        let heavy = |&&k: &&usize| {
            let needed = share < MIN_SHARE_KEPT * all;
            share += self.all[k].total;
            needed
        };
        let needed = order.iter().take_while(heavy).count();
        let late = order[needed..].iter().filter(|&&k| walks(k)).count();
        let lanes = (needed + late).max(1).next_power_of_two();
        // a stable sort: first those with process noise, then by weight
        order.sort_by_key(|&k| !walks(k));
        order.truncate(lanes);
        order.sort_unstable();
        let leave = lanes < self.all.len();
        self.all.iter_mut().for_each(|member| member.total = 0.0);
        leave.then_some(order)
    }

    /// The lanes of the `lanes` heaviest members, one with process noise among them if there is.
    pub fn heaviest_lanes(&self, lanes: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        order.sort_by(|&a, &b| self.all[b].weight.total_cmp(&self.all[a].weight));
        order.sort_by_key(|&k| self.all[k].assumption.process_noise == 0.0);
        order.truncate(lanes);
        order.sort_unstable();
        order
    }

    /// Keeps these lanes alone.
    pub fn keep(&mut self, lanes: &[usize]) {
        self.all = lanes.iter().map(|&k| self.all[k]).collect();
        let total: f64 = self.all.iter().map(|member| member.weight).sum();
        self.all.iter_mut().for_each(|member| member.weight /= total);
    }
}

impl From<Vec<Member>> for Members {
    fn from(all: Vec<Member>) -> Self {
        Self { all, next: [0.0; MAX_LANES] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_totals(totals: [f64; MAX_LANES]) -> Members {
        let mut members = Members::new(DriftMode::Adapt, true);
        members.all.iter_mut().zip(totals).for_each(|(member, total)| member.total = total);
        members
    }

    #[test]
    fn members_leave_by_powers_of_two_and_one_that_walks_stays() {
        let mut members = with_totals([50.0, 0.0, 35.0, 14.0, 0.0, 0.5, 0.0, 0.5]);
        assert_eq!(members.review(FIRST_REVIEW - 1), None);
        assert_eq!(members.review(FIRST_REVIEW), Some(vec![0, 2, 3, 7]));
        members.keep(&[0, 2, 3, 7]);
        assert_eq!(members.lanes(), 4);
        assert!((members.all.iter().map(|m| m.weight).sum::<f64>() - 1.0).abs() < 1e-15);
        let mut alone = with_totals([99.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5]);
        assert_eq!(alone.review(2 * FIRST_REVIEW), Some(vec![0, 7]));
        let mut all = with_totals([20.0; MAX_LANES]);
        assert_eq!(all.review(2 * FIRST_REVIEW), None);
    }
}
