//! The members side by side: how they learn, how their weights move, and which are dropped.

use super::layout::{Layout, Scalars};
use super::member::Member;
use crate::error::Result;
use crate::learner::auto::MemberWeight;
use crate::learner::categorical::{ClassObserver, ClassRow, add_scaled};
use crate::learner::standing;
use crate::rows::Rows;

/// Members with weights that sum to 1.
#[derive(Debug, Clone, Default)]
pub(super) struct Mixture {
    pub members: Vec<Member>,
    /// Of a row: the weights after it, the probability of each level, its scalar observations.
    next: Vec<f64>,
    probabilities: Vec<f64>,
    scalars: Scalars,
}

impl Mixture {
    /// From members whose weights are relative to each other.
    pub fn new(mut members: Vec<Member>) -> Self {
        standing::renormalize(&mut members);
        standing::restart_influence(&mut members);
        Self::with_weights(members)
    }

    /// From members whose weights sum to 1.
    pub fn with_weights(members: Vec<Member>) -> Self {
        let next = vec![0.0; members.len()];
        Self { members, next, ..Self::default() }
    }

    /// Each member learns row `i`, then the weights follow.
    pub fn learn(
        &mut self,
        layout: &Layout,
        rows: Rows<'_>,
        i: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        let observation = rows.observation(i);
        let level = observation.y as usize;
        let Self { members, scalars, .. } = self;
        layout.scalars(rows.x(i), level, scalars);
        for member in members {
            member.learn(layout, scalars, observation.weight)?;
        }
        if let Some(observer) = observer {
            self.mix(layout.levels);
            observer.row(&ClassRow {
                index: i,
                x: rows.x(i),
                class: level,
                weight: observation.weight,
                probabilities: &self.probabilities,
                loss: -log_chance(&self.probabilities, level),
            });
        }
        self.weigh(level, observation.weight);
        Ok(())
    }

    /// The probability of each level at the last row.
    fn mix(&mut self, levels: usize) {
        let Self { members, probabilities, .. } = self;
        probabilities.clear();
        probabilities.resize(levels, 0.0);
        for member in members {
            add_scaled(member.standing.weight, &member.prediction.probabilities, probabilities);
        }
    }

    /// Moves the weights after a row by the probability that each member gave to its level.
    fn weigh(&mut self, level: usize, weight: f64) {
        let Self { members, next, .. } = self;
        if members.len() < 2 || weight == 0.0 {
            return;
        }
        for (next, member) in next.iter_mut().zip(&*members) {
            *next = weight * log_chance(&member.prediction.probabilities, level);
        }
        standing::weigh(members, next, false);
    }

    /// Drops members that no longer matter after `count` rows.
    pub fn drop_idle(&mut self, count: u64) {
        standing::drop_idle(&mut self.members, count);
        self.next.truncate(self.members.len());
    }

    pub fn weights(&self) -> Vec<MemberWeight> {
        let weight = |member: &Member| MemberWeight {
            prior_size: member.prior_size,
            centered: member.basis.is_centered(),
            variance_share: 1.0,
            process_noise: 0.0,
            weight: member.standing.weight,
        };
        self.members.iter().map(weight).collect()
    }

    /// Gives the coefficient of an unseen feature its prior.
    pub fn set_prior(&mut self, coordinate: usize, scale: f64) {
        self.members.iter_mut().for_each(|member| member.set_prior(coordinate, scale));
    }
}

/// The logarithm of the probability of a level.
fn log_chance(probabilities: &[f64], level: usize) -> f64 {
    probabilities[level].max(f64::MIN_POSITIVE).ln()
}
