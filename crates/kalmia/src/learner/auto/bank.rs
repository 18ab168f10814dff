//! The members side by side: weights, losses, and who is dropped.

use super::dispersion::{Dispersion, Kind};
use super::member::{Judge, Member};
use super::sentinel::Sentinel;
use super::{CHUNK, WALKS};
use crate::covariance::{Covariance, Dense, Factored, Kernel};
use crate::error::Result;
use crate::family::{Family, FastPaths};
use crate::learner::seen::observation;
use crate::learner::{Observer, Seen};
use crate::linalg::{Threads, dot};
use crate::math::{exp_m1, ln_1p};
use crate::rows::{Observation, Rows};
use crate::rule::{Evidence, moments};

/// A member below this weight is dropped at the next look.
const SMALLEST_WEIGHT: f64 = 1e-12;
/// No weight falls below this between looks, so that a member that was dismissed too early can come
/// back.
const LEAST: f64 = 1e-300;
/// A member whose weight strayed by less than this a row over the last doubling of the rows is
/// dropped.
///
/// Bayes' mixture telescopes: without a member of weight $w_t$ its total loss from row `t` to row
/// `T` changes by exactly $\ln\frac{1-w_t}{1-w_T}$. So a member matters by how far its weight still
/// moves, which the last doubling tells.
const SMALLEST_INFLUENCE: f64 = 1e-9;
/// Log evidences this close are weighed by their differences.
const ALIKE: f64 = 1.0;
/// Smallest dispersion that is guessed.
const SMALLEST_DISPERSION: f64 = 1e-9;
/// Share of the weight that walking members exchange a row.
const SHARE: f64 = 1e-3;

/// What the mixture knows beside its members.
pub(super) struct Context<'a, F> {
    pub family: &'a F,
    pub dispersion: &'a mut Dispersion,
    pub sentinel: Option<&'a mut Sentinel>,
    /// Index of the first row for observers.
    pub first: usize,
    pub threads: Threads,
}

impl<F: Family> Context<'_, F> {
    /// By what members judge a row.
    fn judge(&self) -> Judge<'_, F> {
        Judge {
            family: self.family,
            dispersion: if self.dispersion.kind == Kind::Pearson {
                self.dispersion.guess
            } else {
                1.0
            },
        }
    }
}

/// Members with weights that sum to 1.
#[derive(Debug, Clone)]
pub(super) struct Bank<C> {
    pub members: Vec<Member<C>>,
    /// What is taken off each feature, in units of feature 0, before the members see it; empty
    /// where they take it as it comes. A walk of a slope would otherwise move the level as well, by
    /// the mean of its feature.
    pub centres: Vec<f64>,
    /// The rows at hand less the centres.
    centred: Vec<f64>,
    /// Of a row, one a member: its evidence, the weights after it, and what it adds to the
    /// residuals.
    evidence: Vec<Evidence>,
    next: Vec<f64>,
    added: Vec<f64>,
}

impl<C: Covariance> Default for Bank<C> {
    fn default() -> Self {
        Self::with_weights(Vec::new())
    }
}

impl<C: Covariance> Bank<C> {
    pub fn new(mut members: Vec<Member<C>>) -> Self {
        let share = 1.0 / members.len() as f64;
        for member in &mut members {
            member.weight = share;
            member.anchor = share;
        }
        Self::with_weights(members)
    }

    pub fn with_weights(members: Vec<Member<C>>) -> Self {
        let zeros = vec![0.0; members.len()];
        let evidence = vec![Evidence::Log(0.0); members.len()];
        Self {
            members,
            centres: Vec::new(),
            centred: Vec::new(),
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
        let mut centred = std::mem::take(&mut self.centred);
        let learned = self.learn_members(&context, self.centre(rows, &mut centred));
        self.centred = centred;
        learned?;
        for i in 0..rows.len() {
            let observation = observation(context.family, &rows, i);
            let evidence = self.weigh(&context, &observation, i);
            if let Some(observer) = &mut observer {
                let loss = -self.log_density(&context, &observation, i, evidence);
                let seen = self.seen(&context, rows, observation, i, evidence);
                observer.row(&Seen { index: context.first + i, loss, ..seen });
            }
            if context.sentinel.is_some() {
                let (linear, dispersion) = (self.linear(i), self.dispersion(context.dispersion));
                if let Some(sentinel) = &mut context.sentinel {
                    sentinel.row(
                        &context.family.fast().with_dispersion_unchecked(dispersion),
                        &observation,
                        linear,
                    );
                }
            }
            self.settle();
            context.dispersion.rows += observation.weight;
        }
        Ok(())
    }

    fn learn_members<F: Family>(&mut self, context: &Context<'_, F>, rows: Rows<'_>) -> Result<()> {
        if C::CAN_LOSE_PRECISION {
            return self.learn_apart(context, rows);
        }
        self.members.chunks_mut(2).try_for_each(|members| match members {
            [first, second] => {
                Member::learn_two([first, second], context.judge(), rows, context.threads)
            }
            members => {
                members.iter_mut().try_for_each(|m| m.learn(context.judge(), rows, context.threads))
            }
        })
    }

    /// The rows as the members see them.
    fn centre<'a>(&self, rows: Rows<'a>, centred: &'a mut Vec<f64>) -> Rows<'a> {
        if self.centres.is_empty() {
            return rows;
        }
        centred.clear();
        centred.extend_from_slice(rows.features());
        centred.chunks_exact_mut(self.centres.len()).for_each(|x| take_off(&self.centres, x));
        rows.with_features(centred)
    }

    /// Each member by itself: one that loses its digits leaves the mixture, and an error is what
    /// leaves no member.
    fn learn_apart<F: Family>(&mut self, context: &Context<'_, F>, rows: Rows<'_>) -> Result<()> {
        let mut lost = None;
        self.members.retain_mut(|member| {
            match member.learn(context.judge(), rows, context.threads) {
                Ok(()) => true,
                Err(error) => {
                    lost = Some(error);
                    false
                }
            }
        });
        match lost {
            Some(error) if self.members.is_empty() => Err(error),
            Some(_) => {
                self.share_out();
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// After members have left, weights that sum to 1 and as much scratch as members.
    fn share_out(&mut self) {
        let total: f64 = self.members.iter().map(|m| m.weight).sum();
        self.members.iter_mut().for_each(|m| m.weight /= total);
        self.evidence.truncate(self.members.len());
        self.next.truncate(self.members.len());
        self.added.truncate(self.members.len());
    }

    /// Whether members walk.
    pub fn walks(&self) -> bool {
        self.members.iter().any(|m| m.q > 0.0)
    }

    /// How likely the mixture found a row; leaves the weights after it in `next`.
    fn weigh<F: Family>(
        &mut self,
        context: &Context<'_, F>,
        observation: &Observation,
        i: usize,
    ) -> Evidence {
        let dispersion = &*context.dispersion;
        let Self { members, evidence, next, added, .. } = self;
        for ((member, evidence), added) in members.iter().zip(&mut *evidence).zip(added) {
            let (m, s) = (member.trail.linear[i], member.trail.variance[i]);
            *added = dispersion.residual(context.family, observation, m, s, member.residual);
            *evidence = match dispersion.kind {
                Kind::Normal => {
                    Evidence::Log(dispersion.own(member.residual, *added, observation.weight, s))
                }
                _ => member.trail.evidence[i],
            };
        }
        if let [only] = evidence[..] {
            next[0] = 1.0;
            return only;
        }
        posterior(members.iter().map(|member| member.weight), evidence, next)
    }

    /// The log density that the mixture predicted for row `i`, that of one observation whatever its
    /// weight; `evidence` is what the weights saw of it.
    fn log_density<F: Family>(
        &self,
        context: &Context<'_, F>,
        observation: &Observation,
        i: usize,
        evidence: Evidence,
    ) -> f64 {
        let dispersion = &*context.dispersion;
        if observation.weight == 1.0 && dispersion.kind != Kind::Pearson {
            let shared = match dispersion.kind {
                Kind::Normal => dispersion.shared(1.0),
                _ => context.family.log_base(observation.y),
            };
            return evidence.ln() + shared;
        }
        let single = Observation { weight: 1.0, ..*observation };
        let member = |member: &Member<C>| {
            let (m, s) = (member.trail.linear[i], member.trail.variance[i]);
            if dispersion.kind == Kind::Normal {
                let added = dispersion.residual(context.family, &single, m, s, member.residual);
                return dispersion.own(member.residual, added, 1.0, s) + dispersion.shared(1.0);
            }
            let estimate = dispersion.estimate(member.residual);
            let family = context.family.fast().with_dispersion_unchecked(estimate);
            moments(&family, &single, m, estimate * s).evidence.ln()
                + family.log_base(observation.y)
        };
        let mut logs: Vec<f64> = self.members.iter().map(member).collect();
        posterior_of_logs(self.members.iter().map(|member| member.weight), &mut logs)
    }

    /// Moves weights and residuals after a row.
    fn settle(&mut self) {
        let several = self.members.len() > 1;
        let (walks, even) = (self.walks(), SHARE / self.members.len() as f64);
        for ((member, &next), added) in self.members.iter_mut().zip(&self.next).zip(&self.added) {
            member.residual += added;
            if several {
                member.weight = if walks { (1.0 - SHARE) * next + even } else { next.max(LEAST) };
                member.influence = member.influence.max((member.weight - member.anchor).abs());
            }
        }
    }

    /// The mixture's linear predictor of row `i`.
    fn linear(&self, i: usize) -> f64 {
        match &self.members[..] {
            [only] => only.trail.linear[i],
            members => members.iter().map(|m| m.weight * m.trail.linear[i]).sum(),
        }
    }

    /// What an observer is shown of row `i`: the mixture's prediction, the heaviest member's step.
    fn seen<'a, F: Family>(
        &self,
        context: &Context<'_, F>,
        rows: Rows<'a>,
        observation: Observation,
        i: usize,
        evidence: Evidence,
    ) -> Seen<'a> {
        let linear = self.linear(i);
        let beliefs =
            || self.members.iter().map(|m| (m.weight, m, m.trail.linear[i], m.trail.variance[i]));
        let spread = |m: &Member<C>, s: f64| context.dispersion.estimate(m.residual) * s;
        let variance =
            beliefs().map(|(w, member, m, s)| w * (spread(member, s) + (m - linear).powi(2))).sum();
        let mean = self.predicted(context, &observation, evidence, i);
        let best = self.best();
        let (gradient, step) = (best.trail.slope[i], best.trail.step[i]);
        let (x, dispersion) = (rows.x(i), self.dispersion(context.dispersion));
        Seen {
            index: i,
            x,
            observation,
            linear,
            variance,
            dispersion,
            mean,
            loss: 0.0,
            gradient,
            step,
        }
    }

    /// The mean that the mixture predicts for row `i`.
    fn predicted<F: Family>(
        &self,
        context: &Context<'_, F>,
        observation: &Observation,
        evidence: Evidence,
        i: usize,
    ) -> f64 {
        let family = context.family;
        // of labels the evidence, which the weights need anyway, is the mean already; a weight
        // would have sharpened it
        if observation.weight == 1.0
            && let Some(mean) = family.fast().mean_from_evidence(observation.y, evidence)
        {
            return mean;
        }
        let belief = |member: &Member<C>| {
            let spread = context.dispersion.estimate(member.residual) * member.trail.variance[i];
            (member.weight, member.trail.linear[i] + observation.offset, spread)
        };
        mean_of(family, self.members.iter().map(belief))
    }

    /// The member with the largest weight.
    pub fn best(&self) -> &Member<C> {
        self.members
            .iter()
            .max_by(|a, b| a.weight.total_cmp(&b.weight))
            .expect("a bank has members")
    }

    /// The best member's estimate of the dispersion.
    pub fn dispersion(&self, dispersion: &Dispersion) -> f64 {
        if dispersion.kind == Kind::None { 1.0 } else { dispersion.estimate(self.best().residual) }
    }

    pub fn weights(&self) -> Vec<(f64, f64, f64)> {
        self.members.iter().map(|m| (m.p, m.q, m.weight)).collect()
    }

    /// The mean of the coefficients.
    pub fn mean(&self, mean: &mut [f64]) {
        mean.fill(0.0);
        for member in &self.members {
            let weight = member.weight;
            mean.iter_mut().zip(member.theta.iter()).for_each(|(mean, t)| *mean += weight * t);
        }
        if !self.centres.is_empty() {
            mean[0] -= dot(&self.centres, mean);
        }
    }

    /// Coefficient `i` of a member.
    fn coefficient(&self, member: &Member<C>, i: usize) -> f64 {
        let off = if i == 0 { dot(&self.centres, &member.theta) } else { 0.0 };
        member.theta[i] - off
    }

    /// Entry $(i,j)$ of a member's covariance.
    fn member_entry(&self, member: &Member<C>, i: usize, j: usize) -> f64 {
        if self.centres.is_empty() || (i > 0 && j > 0) {
            return member.covariance.entry(i, j);
        }
        let parts = |i: usize| {
            let centres = if i == 0 { &self.centres[..] } else { &[] };
            std::iter::once((i, 1.0))
                .chain(centres.iter().enumerate().filter(|c| *c.1 != 0.0).map(|(k, c)| (k, -c)))
        };
        parts(i)
            .flat_map(|a| parts(j).map(move |b| (a, b)))
            .map(|(a, b)| a.1 * b.1 * member.covariance.entry(a.0, b.0))
            .sum()
    }

    /// Entry $(i,j)$ of the covariance, within the members and between them.
    pub fn entry(&self, dispersion: &Dispersion, mean: &[f64], i: usize, j: usize) -> f64 {
        let part = |m: &Member<C>| {
            let within = dispersion.estimate(m.residual) * self.member_entry(m, i, j);
            m.weight
                * (within + (self.coefficient(m, i) - mean[i]) * (self.coefficient(m, j) - mean[j]))
        };
        self.members.iter().map(part).sum()
    }

    /// Weight, prior size, residual, $\theta^\top x$ and $x^\top Px$ of each member.
    pub fn beliefs(&self, x: &[f64]) -> Vec<(f64, f64, f64, f64, f64)> {
        let mut x = x.to_vec();
        take_off(&self.centres, &mut x);
        let belief = |m: &Member<C>| {
            (m.weight, m.p, m.residual, dot(&x, &m.theta), m.covariance.variance(&x))
        };
        self.members.iter().map(belief).collect()
    }
}

impl Bank<Factored> {
    /// Replaces residual sums, and with them the guess of the dispersion, after a re-run of the
    /// warm-up.
    pub fn refit<F: Family>(&mut self, family: &F, dispersion: &mut Dispersion, rows: Rows<'_>) {
        for member in &mut self.members {
            let Some(residual) = dispersion.refit(family, rows, &member.theta) else { return };
            member.residual = residual;
        }
        dispersion.guess = (self.best().residual / dispersion.rows)
            .clamp(SMALLEST_DISPERSION, 1.0 / SMALLEST_DISPERSION);
    }

    /// Drops members that no longer matter after `count` rows: by weight at every look, by
    /// influence at the powers of two.
    pub fn drop_idle(&mut self, count: u64) {
        let heaviest = self.best().weight;
        let doubled = count.is_power_of_two() && count > CHUNK;
        let idle = |m: &Member<Factored>| {
            m.weight < SMALLEST_WEIGHT
                || (doubled && m.influence < SMALLEST_INFLUENCE * count as f64)
        };
        self.members.retain(|m| m.weight == heaviest || !idle(m));
        self.share_out();
        if doubled {
            for member in &mut self.members {
                member.anchor = member.weight;
                member.influence = 0.0;
            }
        }
    }
}

impl Bank<Dense> {
    /// Walking members that start from one belief; `prior` are the variances that the walks are
    /// relative to.
    pub fn walking(start: &Member<Factored>, prior: &[f64], centres: &[f64]) -> Result<Self> {
        let centres = if centres.iter().all(|centre| *centre == 0.0) { &[] } else { centres };
        let covariance =
            Dense::from_matrix(&start.covariance.clone().recentred(centres).matrix(), prior.len())?;
        let mut theta = start.theta.clone();
        theta[0] += dot(centres, &start.theta);
        let member = |&q: &f64| {
            let mut member = Member::new(start.p, q, theta.clone(), covariance.clone());
            member.residual = start.residual;
            if q > 0.0 {
                member.walk = prior.iter().map(|v| q * v).collect();
            }
            member
        };
        Ok(Self { centres: centres.to_vec(), ..Self::new(WALKS.iter().map(member).collect()) })
    }
}

/// The mean of beliefs $(w, m, s)$ about the linear predictor. Where it grows without bound in $u$,
/// the mean over members would be that of the vaguest one alone, and its expectation that of the
/// belief's far tail: there, unless all are sure to one unit, the member in the middle speaks, half
/// of the weight being on either side, with a variance of at most 1.
pub(super) fn mean_of<F: Family>(
    family: &F,
    beliefs: impl Iterator<Item = (f64, f64, f64)> + Clone,
) -> f64 {
    if family.bounded_gradient()
        || family.normal_noise().is_some()
        || beliefs.clone().all(|belief| belief.2 <= 1.0)
    {
        return beliefs.map(|(weight, m, s)| weight * family.moderated_mean(m, s)).sum();
    }
    let up_to =
        |m: f64| beliefs.clone().filter(|other| other.1 <= m).map(|other| other.0).sum::<f64>();
    let total: f64 = beliefs.clone().map(|belief| belief.0).sum();
    let upper = beliefs.clone().filter(|belief| up_to(belief.1) >= 0.5 * total);
    upper
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map_or(f64::NAN, |(_, m, s)| family.moderated_mean(m, s.min(1.0)))
}

/// $x_j \mathrel{-}= \mu_jx_0$.
fn take_off(centres: &[f64], x: &mut [f64]) {
    let first = x.first().copied().unwrap_or(0.0);
    x.iter_mut().zip(centres).for_each(|(x, centre)| *x -= centre * first);
}

/// Bayes' rule: the weights after a row, in `next`, and the evidence of the mixture.
fn posterior(
    weights: impl Iterator<Item = f64> + Clone,
    evidence: &[Evidence],
    next: &mut [f64],
) -> Evidence {
    let (mut total, mut rest) = (0.0, 0.0);
    let labels = weights.clone().zip(evidence).zip(&mut *next).all(|((weight, evidence), next)| {
        let Evidence::Label { own, other } = *evidence else { return false };
        *next = weight * own;
        total += *next;
        rest += weight * other;
        true
    });
    if labels {
        next.iter_mut().for_each(|next| *next /= total);
        return Evidence::Label { own: total, other: rest };
    }
    next.iter_mut().zip(evidence).for_each(|(next, evidence)| *next = evidence.ln());
    Evidence::Log(posterior_of_logs(weights, next))
}

/// The same where `next` holds the log evidences; returns that of the mixture.
fn posterior_of_logs(weights: impl Iterator<Item = f64> + Clone, next: &mut [f64]) -> f64 {
    let heaviest =
        weights.clone().zip(&*next).max_by(|a, b| a.0.total_cmp(&b.0)).map_or(0.0, |(_, &log)| log);
    if next.iter().all(|log| (log - heaviest).abs() <= ALIKE) {
        // members soon agree, and little is left to work out
        let mut change = 0.0;
        for (weight, next) in weights.clone().zip(&mut *next) {
            *next = exp_m1(*next - heaviest);
            change += weight * *next;
        }
        weights
            .zip(next)
            .for_each(|(weight, next)| *next = weight * (1.0 + *next) / (1.0 + change));
        return heaviest + ln_1p(change);
    }
    let largest = next.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for (weight, next) in weights.zip(&mut *next) {
        *next = weight * (*next - largest).exp();
        total += *next;
    }
    next.iter_mut().for_each(|next| *next /= total);
    largest + total.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: [f64; 4] = [0.2, 1e-200, 0.7, 0.1];

    fn check(logs: [f64; 4], found: f64, next: [f64; 4], what: &str) {
        let joint = |k: usize| f64::ln(WEIGHTS[k]) + logs[k];
        let largest = (0..4).map(joint).fold(f64::NEG_INFINITY, f64::max);
        let expected = largest + (0..4).map(|k| (joint(k) - largest).exp()).sum::<f64>().ln();
        assert!(
            (found - expected).abs() < 1e-14 * (1.0 + expected.abs()),
            "{what}: {found} {expected}"
        );
        for (k, next) in next.iter().enumerate() {
            let weight = (joint(k) - expected).exp();
            assert!((next - weight).abs() < 1e-12 * weight, "{what}, {k}: {next} {weight}");
        }
    }

    #[test]
    fn every_way_is_bayes_rule() {
        let mut next = [0.0; 4];
        for spread in [1e-9, 1e-3, 0.02, 0.9, 3.0, 300.0] {
            let logs = [-2.0, -2.0 + spread, -2.0 - spread, -2.0 - 0.3 * spread];
            let found = posterior(WEIGHTS.into_iter(), &logs.map(Evidence::Log), &mut next);
            check(logs, found.ln(), next, "logs");
        }
        for own in [1e-7, 0.3, 0.6, 1.0 - 1e-7] {
            let chances = [own, 0.9 * own, 0.5 * own, own];
            let labels = chances.map(|own| Evidence::Label { own, other: 1.0 - own });
            let found = posterior(WEIGHTS.into_iter(), &labels, &mut next);
            check(chances.map(f64::ln), found.ln(), next, "labels");
            // a member that has a logarithm turns all to logarithms
            let mixed = [labels[0], labels[1], Evidence::Log(chances[2].ln()), labels[3]];
            let found = posterior(WEIGHTS.into_iter(), &mixed, &mut next);
            check(chances.map(f64::ln), found.ln(), next, "mixed");
        }
    }
}
