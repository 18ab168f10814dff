//! The members side by side: how they learn, how their weights move, and which are dropped.

use super::drift::Watch;
use super::member::Member;
use super::observe::{ClassObserver, ClassRow};
use super::sharpening::Sharpening;
use crate::covariance::TogetherScratch;
use crate::error::Result;
use crate::learner::auto::MemberWeight;
use crate::learner::auto::scale::Enlarged;
use crate::learner::standing;
use crate::rows::Rows;

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
    pub fn new(mut members: Vec<Member>) -> Self {
        standing::renormalize(&mut members);
        standing::restart_influence(&mut members);
        let mut mixture = Self::with_weights(members);
        mixture.start_sharpening();
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
            add_scaled(member.standing.weight, own, probabilities);
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
        let exchange = members.iter().any(|member| member.process_noise > 0.0);
        standing::weigh(members, next, exchange);
    }

    /// Drops members that no longer matter after `count` rows, and the sharpening with them.
    pub fn drop_idle(&mut self, count: u64) {
        let doubled = standing::drop_idle(&mut self.members, count);
        self.next.truncate(self.members.len());
        if doubled && self.sharpening.as_ref().is_some_and(Sharpening::is_over) {
            self.sharpening = None;
        }
    }

    pub fn weights(&self) -> Vec<MemberWeight> {
        let weight = |member: &Member| MemberWeight {
            prior_size: member.prior_size,
            centered: member.basis.is_centered(),
            variance_share: member.variance_share,
            process_noise: member.process_noise,
            weight: member.standing.weight,
        };
        self.members.iter().map(weight).collect()
    }

    /// The share of the variance that the heaviest member believes.
    pub fn variance_share(&self) -> f64 {
        let heaviest =
            self.members.iter().max_by(|a, b| a.standing.weight.total_cmp(&b.standing.weight));
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
