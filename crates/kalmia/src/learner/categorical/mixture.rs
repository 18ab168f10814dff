//! The members side by side: how they learn, how their weights move, and which are dropped.

use super::drift::Watch;
use super::member::Member;
use super::observe::{ClassObserver, ClassRow};
use super::sharpening::Sharpening;
use crate::covariance::TogetherScratch;
use crate::error::Result;
use crate::learner::auto::MemberWeight;
use crate::learner::auto::bank::WEIGHT_EXCHANGE;
use crate::learner::auto::posterior::posterior_of_logs;
use crate::learner::auto::review::is_idle;
use crate::learner::auto::scale::Enlarged;
use crate::rows::Rows;

/// No weight falls below this between reviews, so that a member can recover from a bad start.
const MIN_WEIGHT: f64 = 1e-300;

/// Members with weights that sum to 1.
#[derive(Debug, Clone, Default)]
pub(super) struct Mixture {
    pub members: Vec<Member>,
    /// Of a row: the weights after it, and the probability of each class.
    next: Vec<f64>,
    probabilities: Vec<f64>,
    scratch: TogetherScratch,
    /// The watch for a drift, if there is one.
    pub watch: Option<Watch>,
    /// Of three classes or more, until it is over.
    pub sharpening: Option<Sharpening>,
}

impl Mixture {
    /// From members whose weights are relative to each other.
    pub fn new(members: Vec<Member>) -> Self {
        let mut mixture = Self::with_weights(members);
        mixture.start_sharpening();
        mixture.renormalize();
        mixture.restart_influence();
        mixture
    }

    /// From members whose weights sum to 1, without sharpening.
    pub fn with_weights(members: Vec<Member>) -> Self {
        let next = vec![0.0; members.len()];
        Self { members, next, ..Self::default() }
    }

    fn classes(&self) -> usize {
        self.members.first().map_or(0, |member| member.blocks.len())
    }

    /// Begins to sharpen the probabilities if there are three classes or more.
    pub fn start_sharpening(&mut self) {
        self.sharpening = (self.classes() > 2).then(Sharpening::default);
    }

    fn renormalize(&mut self) {
        let total: f64 = self.members.iter().map(|member| member.weight).sum();
        self.members.iter_mut().for_each(|member| member.weight /= total);
        self.next.truncate(self.members.len());
    }

    /// Each member learns the rows after `count` others, then the weights follow row by row. The
    /// watch needs the `centers` of the features; `first` is the index of the first row for
    /// observers and errors.
    pub fn learn(
        &mut self,
        rows: Rows<'_>,
        count: u64,
        centers: &[f64],
        first: usize,
        mut observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        let Self { members, scratch, .. } = self;
        members
            .iter_mut()
            .try_for_each(|member| member.learn(rows, count, scratch))
            .map_err(|error| error.after_rows(first))?;
        for i in 0..rows.len() {
            if observer.is_some() || self.watch.is_some() || self.sharpening.is_some() {
                self.mix(i);
            }
            if let Some(sharpening) = &mut self.sharpening {
                let observation = rows.observation(i);
                let class = observation.y as usize;
                sharpening.learn(class, observation.weight, &mut self.probabilities);
            }
            if let Some(observer) = &mut observer {
                self.notify(rows, first, i, &mut **observer);
            }
            if let Some(watch) = &mut self.watch {
                watch.row(&rows, i, &self.probabilities, centers, count + i as u64 + 1);
            }
            self.weigh(i);
        }
        Ok(())
    }

    /// Narrows the prior of coefficients whose features turned out to be larger.
    pub fn tighten(&mut self, enlarged: &[Enlarged], dim: usize) -> Result<()> {
        let Self { members, scratch, .. } = self;
        members.iter_mut().try_for_each(|member| member.tighten(enlarged, dim, scratch))
    }

    /// The probability of each class at row `i` of the chunk, before it is sharpened.
    fn mix(&mut self, i: usize) {
        let classes = self.classes();
        let Self { members, probabilities, .. } = self;
        probabilities.resize(classes, 0.0);
        probabilities.fill(0.0);
        for member in members {
            let own = &member.predictions.probabilities[i * classes..][..classes];
            add_scaled(member.weight, own, probabilities);
        }
    }

    /// Shows row `i` of the chunk to the observer.
    fn notify(&self, rows: Rows<'_>, first: usize, i: usize, observer: &mut dyn ClassObserver) {
        let probabilities = &self.probabilities;
        let observation = rows.observation(i);
        let class = observation.y as usize;
        observer.row(&ClassRow {
            index: first + i,
            x: rows.x(i),
            class,
            weight: observation.weight,
            probabilities,
            loss: -probabilities[class].max(f64::MIN_POSITIVE).ln(),
        });
    }

    /// Moves the weights after row `i` of the chunk.
    fn weigh(&mut self, i: usize) {
        let Self { members, next, .. } = self;
        if members.len() < 2 {
            return;
        }
        for (next, member) in next.iter_mut().zip(&*members) {
            *next = member.predictions.evidence[i];
        }
        posterior_of_logs(members.iter().map(|member| member.weight), next);
        let exchange = members.iter().any(|member| member.process_noise > 0.0);
        let even = WEIGHT_EXCHANGE / members.len() as f64;
        for (member, &next) in members.iter_mut().zip(&*next) {
            member.weight =
                if exchange { (1.0 - WEIGHT_EXCHANGE) * next + even } else { next.max(MIN_WEIGHT) };
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
        if doubled && self.sharpening.as_ref().is_some_and(Sharpening::is_over) {
            self.sharpening = None;
        }
        if doubled {
            self.restart_influence();
        }
    }

    /// Influence counts from the current weights.
    fn restart_influence(&mut self) {
        for member in &mut self.members {
            member.anchor = member.weight;
            member.influence = 0.0;
        }
    }

    pub fn weights(&self) -> Vec<MemberWeight> {
        let weight = |member: &Member| MemberWeight {
            prior_size: member.prior_size,
            centered: member.basis.is_centered(),
            variance_share: member.variance_share,
            process_noise: member.process_noise,
            weight: member.weight,
        };
        self.members.iter().map(weight).collect()
    }

    /// The share of the variance that the heaviest member believes.
    pub fn variance_share(&self) -> f64 {
        let heaviest = self.members.iter().max_by(|a, b| a.weight.total_cmp(&b.weight));
        heaviest.map_or(1.0, |member| member.variance_share)
    }

    /// A new class is watched too.
    pub fn watch_new_class(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.add_class();
        }
    }

    /// Gives an unseen coefficient its prior.
    pub fn set_prior(&mut self, j: usize, scale: f64) {
        self.members.iter_mut().for_each(|member| member.set_prior(j, scale));
    }
}

/// $y \mathrel{+}= ax$.
pub(in crate::learner) fn add_scaled(a: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}
