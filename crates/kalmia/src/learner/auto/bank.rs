//! The members side by side: how they learn, and how their weights move.

use super::center::center;
use super::dispersion::{Dispersion, Kind};
use super::member::{Member, MomentMatcher};
use super::outliers::noise_share;
use super::posterior::posterior;
use super::report::MixtureRow;
use super::sandwich::Sandwich;
use super::scale::Scales;
use super::sentinel::{Sentinel, WatchedRow};
use crate::covariance::{Covariance, Factored};
use crate::error::Result;
use crate::family::{Family, FastPaths};
use crate::learner::standing;
use crate::linalg::Threads;
use crate::observe::{Observer, observation};
use crate::rows::{Observation, Rows};
use crate::rule::Evidence;

/// What the mixture knows beside its members.
pub(super) struct Context<'a, F> {
    pub family: &'a F,
    pub dispersion: &'a mut Dispersion,
    pub sentinel: Option<&'a mut Sentinel>,
    pub sandwich: Option<&'a mut Sandwich>,
    pub scales: &'a Scales,
    /// Center of each feature, in units of feature 0, for the sentinel.
    pub centers: &'a [f64],
    /// Rows learned before.
    pub count: u64,
    /// Index of the first row for observers.
    pub first: usize,
    pub threads: Threads,
}

impl<F: Family> Context<'_, F> {
    fn matcher(&self) -> MomentMatcher<'_, F> {
        self.dispersion.matcher(self.family)
    }
}

/// A member's belief about the linear predictor of one row, in units of the dispersion.
#[derive(Debug, Clone, Copy)]
pub(in crate::learner) struct MemberBelief {
    pub weight: f64,
    pub prior_size: f64,
    pub residual: f64,
    /// $\theta^\top x$.
    pub linear: f64,
    /// $x^\top Px$.
    pub variance: f64,
}

/// Members with weights that sum to 1.
#[derive(Debug, Clone)]
pub(super) struct Bank<C> {
    pub members: Vec<Member<C>>,
    /// Center of each feature, in units of feature 0; empty if the members take features as they
    /// come. Without centering, process noise of a slope would also move the level, by the mean of
    /// its feature.
    pub centers: Vec<f64>,
    /// The rows of the chunk less the centers.
    centered: Vec<f64>,
    /// Of a row, one per member: its evidence, the weights after it, and what it adds to the
    /// residuals.
    pub(super) evidence: Vec<Evidence>,
    pub(super) next: Vec<f64>,
    pub(super) added: Vec<f64>,
}

impl<C: Covariance> Default for Bank<C> {
    fn default() -> Self {
        Self::with_weights(Vec::new())
    }
}

impl<C: Covariance> Bank<C> {
    /// From members whose weights are relative to each other.
    pub fn new(mut members: Vec<Member<C>>) -> Self {
        standing::renormalize(&mut members);
        standing::restart_influence(&mut members);
        Self::with_weights(members)
    }

    pub fn with_weights(members: Vec<Member<C>>) -> Self {
        let zeros = vec![0.0; members.len()];
        let evidence = vec![Evidence::Log(0.0); members.len()];
        Self {
            members,
            centers: Vec::new(),
            centered: Vec::new(),
            evidence,
            next: zeros.clone(),
            added: zeros,
        }
    }

    /// Each member learns the rows, then the weights follow row by row.
    pub fn learn<F: Family>(
        &mut self,
        mut context: Context<'_, F>,
        rows: Rows<'_>,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        let mut centered = std::mem::take(&mut self.centered);
        let learned = self.learn_members(&context, self.center(rows, &mut centered));
        self.centered = centered;
        learned?;
        let with_loss = observer.as_ref().is_some_and(|observer| observer.uses_loss());
        for i in 0..rows.len() {
            let observation = observation(context.family, &rows, i);
            let evidence = self.weigh(&context, &observation, i);
            let judged = context.dispersion.downweighting.is_some();
            let share = if judged { self.share(i) } else { 1.0 };
            if let Some(observer) = &mut observer {
                let row = MixtureRow {
                    family: context.family,
                    dispersion: context.dispersion,
                    observation,
                    evidence,
                };
                observer.row(&self.row_view(&context, rows, row, i, with_loss));
            }
            if context.dispersion.has_shape() {
                let linear = self.linear(i);
                let variance = self.variance(context.dispersion, i);
                // what is far from its prediction says little of the scale
                let weight = observation.weight * noise_share(share);
                let counted = Observation { weight, ..observation };
                context.dispersion.shape.add(context.family, &counted, linear, variance);
                if let Some(sandwich) = &mut context.sandwich {
                    let row = (rows.x(i), &counted);
                    sandwich.add(context.family, context.scales, row, linear, variance);
                }
            }
            if context.sentinel.is_some() {
                let linear = self.linear(i);
                let quasi = context.dispersion.kind == Kind::Quasi;
                let dispersion = self.dispersion(context.dispersion);
                if let Some(sentinel) = &mut context.sentinel {
                    sentinel.row(
                        &context.family.fast().with_dispersion_unchecked(dispersion),
                        &observation,
                        &WatchedRow {
                            x: rows.x(i),
                            linear,
                            dispersion,
                            precision: if quasi { 1.0 / dispersion } else { 1.0 },
                            count: context.count + i as u64 + 1,
                            centers: context.centers,
                            watches: 1,
                        },
                    );
                }
            }
            if judged {
                self.weigh_share(&context, &observation, i, share);
            }
            self.take_weights();
            context.dispersion.count(observation.weight, share);
        }
        Ok(())
    }

    fn learn_members<F: Family>(&mut self, context: &Context<'_, F>, rows: Rows<'_>) -> Result<()> {
        if C::CAN_LOSE_PRECISION {
            return self.learn_separately(context, rows);
        }
        let matcher = context.matcher();
        self.members.chunks_mut(2).try_for_each(|members| match members {
            [first, second] => Member::learn_two([first, second], matcher, rows, context.threads),
            members => members.iter_mut().try_for_each(|m| m.learn(matcher, rows, context.threads)),
        })
    }

    /// The rows as the members see them.
    fn center<'a>(&self, rows: Rows<'a>, centered: &'a mut Vec<f64>) -> Rows<'a> {
        if self.centers.is_empty() {
            return rows;
        }
        centered.clear();
        centered.extend_from_slice(rows.features());
        centered.chunks_exact_mut(self.centers.len()).for_each(|x| center(&self.centers, x));
        rows.with_features(centered)
    }

    /// Each member by itself. One that loses its precision leaves the mixture; if none is left,
    /// that is an error.
    fn learn_separately<F: Family>(
        &mut self,
        context: &Context<'_, F>,
        rows: Rows<'_>,
    ) -> Result<()> {
        let mut lost = None;
        let mut left = self.members.len();
        self.members.retain_mut(|member| {
            match member.learn(context.matcher(), rows, context.threads) {
                Ok(()) => true,
                Err(error) => {
                    lost = Some(error);
                    left -= 1;
                    // a mixture is never empty, even if it cannot continue
                    left == 0
                }
            }
        });
        let Some(error) = lost else { return Ok(()) };
        standing::renormalize(&mut self.members);
        self.truncate_scratch();
        if left == 0 { Err(error) } else { Ok(()) }
    }

    /// Leaves scratch for the members that have not left.
    fn truncate_scratch(&mut self) {
        self.evidence.truncate(self.members.len());
        self.next.truncate(self.members.len());
        self.added.truncate(self.members.len());
    }

    /// Whether members have process noise.
    pub fn has_process_noise(&self) -> bool {
        self.members.iter().any(|m| m.q > 0.0)
    }

    /// The mixture's evidence of a row; leaves the weights after it in `next`.
    fn weigh<F: Family>(
        &mut self,
        context: &Context<'_, F>,
        observation: &Observation,
        i: usize,
    ) -> Evidence {
        let dispersion = &*context.dispersion;
        let Self { members, evidence, next, added, .. } = self;
        for ((member, evidence), added) in members.iter().zip(&mut *evidence).zip(added) {
            let m = member.predictions.linear[i];
            let s = member.predictions.variance[i];
            *added = dispersion.residual(context.family, observation, m, s, member.residual);
            *evidence = match dispersion.kind {
                Kind::Normal => Evidence::Log(dispersion.member_term(
                    member.residual,
                    *added,
                    observation.weight,
                    s,
                )),
                _ => member.predictions.evidence[i],
            };
        }
        if let [only] = evidence[..] {
            next[0] = 1.0;
            return only;
        }
        posterior(members.iter().map(|member| member.standing.weight), evidence, next)
    }

    /// Moves weights and residuals after a row.
    fn take_weights(&mut self) {
        for (member, added) in self.members.iter_mut().zip(&self.added) {
            member.residual += added;
        }
        if self.members.len() > 1 {
            let exchange = self.has_process_noise();
            standing::move_weights(&mut self.members, &self.next, exchange);
        }
    }

    /// The member with the largest weight.
    pub fn best(&self) -> &Member<C> {
        self.members
            .iter()
            .max_by(|a, b| a.standing.weight.total_cmp(&b.standing.weight))
            .expect("a bank has members")
    }

    /// The best member's estimate of the dispersion.
    pub fn dispersion(&self, dispersion: &Dispersion) -> f64 {
        let divides = dispersion.kind != Kind::None && !dispersion.has_shape();
        if divides { dispersion.estimate(self.best().residual) } else { 1.0 }
    }

    /// One more coefficient.
    pub fn grow(&mut self, prior_scale: f64) {
        self.members.iter_mut().for_each(|m| m.grow(prior_scale * m.p));
        if !self.centers.is_empty() {
            self.centers.push(0.0);
        }
    }
}

impl Bank<Factored> {
    /// Drops members that no longer matter after `count` rows.
    pub fn drop_idle(&mut self, count: u64) {
        standing::drop_idle(&mut self.members, count);
        self.truncate_scratch();
    }

    /// After a re-run of the warm-up, replaces the residual sums and with them the guess of the
    /// dispersion.
    pub fn refit<F: Family>(&mut self, family: &F, dispersion: &mut Dispersion, rows: Rows<'_>) {
        for member in &mut self.members {
            let Some(residual) = dispersion.refit(family, rows, &member.theta) else { return };
            member.residual = residual;
        }
        dispersion.guess_from(self.best().residual);
    }
}
