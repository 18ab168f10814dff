//! The members side by side: how they learn, how their weights move, and which are dropped.

use super::layout::{Layout, Scalars};
use super::member::Member;
use crate::error::Result;
use crate::learner::auto::MemberWeight;
use crate::learner::auto::posterior::posterior_of_logs;
use crate::learner::auto::review::is_idle;
use crate::learner::categorical::{ClassObserver, ClassRow, add_scaled};
use crate::rows::Rows;

/// No weight falls below this between reviews, so that a member can recover from a bad start.
const MIN_WEIGHT: f64 = 1e-300;

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
    pub fn new(members: Vec<Member>) -> Self {
        let mut mixture = Self::with_weights(members);
        mixture.renormalize();
        mixture.members.iter_mut().for_each(|member| member.anchor = member.weight);
        mixture
    }

    /// From members whose weights sum to 1.
    pub fn with_weights(members: Vec<Member>) -> Self {
        let next = vec![0.0; members.len()];
        Self { members, next, ..Self::default() }
    }

    fn renormalize(&mut self) {
        let total: f64 = self.members.iter().map(|member| member.weight).sum();
        self.members.iter_mut().for_each(|member| member.weight /= total);
        self.next.truncate(self.members.len());
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
            add_scaled(member.weight, &member.prediction.probabilities, probabilities);
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
        posterior_of_logs(members.iter().map(|member| member.weight), next);
        for (member, &next) in members.iter_mut().zip(&*next) {
            member.weight = next.max(MIN_WEIGHT);
            member.influence = member.influence.max((member.weight - member.anchor).abs());
        }
    }

    /// Drops members that no longer matter after `count` rows: by weight at every review, by
    /// influence at the powers of two.
    pub fn drop_idle(&mut self, count: u64) {
        let heaviest = self.members.iter().map(|member| member.weight).fold(0.0, f64::max);
        let doubled = count.is_power_of_two() && count > super::CHUNK;
        self.members.retain(|member| {
            member.weight == heaviest || !is_idle(member.weight, member.influence, count, doubled)
        });
        self.renormalize();
        if doubled {
            for member in &mut self.members {
                member.anchor = member.weight;
                member.influence = 0.0;
            }
        }
    }

    pub fn weights(&self) -> Vec<MemberWeight> {
        let weight = |member: &Member| MemberWeight {
            prior_size: member.prior_size,
            centered: member.basis.is_centered(),
            variance_share: 1.0,
            process_noise: 0.0,
            weight: member.weight,
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
