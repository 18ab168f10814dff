//! The members side by side: weights, losses, and who is dropped.

use super::dispersion::{Dispersion, Kind};
use super::member::Member;
use super::sentinel::Sentinel;
use super::{CHUNK, WALKS};
use crate::covariance::{Covariance, Dense, Factored};
use crate::error::Result;
use crate::family::Family;
use crate::learner::{Observer, Seen};
use crate::linalg::Threads;
use crate::rows::{Observation, Rows};

/// A member below this weight is dropped at the next look.
const SMALLEST_WEIGHT: f64 = 1e-12;
/// A member whose weight strayed by less than this a row over the last doubling of the rows is dropped.
///
/// Bayes' mixture telescopes: without a member of weight $w_t$ its total loss from row `t` to row `T` changes by exactly
/// $\ln\frac{1-w_t}{1-w_T}$. So a member matters by how far its weight still moves, which the last doubling tells.
const SMALLEST_INFLUENCE: f64 = 1e-9;
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

/// Members with weights that sum to 1.
#[derive(Debug, Clone)]
pub(super) struct Bank<C> {
    pub members: Vec<Member<C>>,
    /// A row's log predictive densities and residuals, one a member.
    log_density: Vec<f64>,
    added: Vec<f64>,
}

impl<C> Default for Bank<C> {
    fn default() -> Self {
        Self { members: Vec::new(), log_density: Vec::new(), added: Vec::new() }
    }
}

impl<C: Covariance> Bank<C> {
    pub fn new(mut members: Vec<Member<C>>) -> Self {
        let share = -(members.len() as f64).ln();
        for member in &mut members {
            member.set_log_weight(share);
            member.anchor = member.weight();
        }
        Self::with_weights(members)
    }

    pub fn with_weights(members: Vec<Member<C>>) -> Self {
        let zeros = vec![0.0; members.len()];
        Self { members, log_density: zeros.clone(), added: zeros }
    }

    /// Each member learns the rows, then the weights follow row by row.
    pub fn learn<F: Family>(
        &mut self,
        mut context: Context<'_, F>,
        rows: Rows<'_>,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        for member in &mut self.members {
            member.learn(context.family, rows, context.threads)?;
        }
        for i in 0..rows.len() {
            let mut observation = rows.observation(i);
            observation.y = context.family.code(observation.y);
            let log_mixture = self.weigh(&context, &observation, i);
            if let Some(observer) = &mut observer {
                let shared = if context.dispersion.kind == Kind::Normal {
                    context.dispersion.shared(observation.weight)
                } else {
                    context.family.log_base(observation.y)
                };
                let seen = self.seen(&context, rows, observation, i, log_mixture);
                observer.row(&Seen { index: context.first + i, loss: -(log_mixture + shared), ..seen });
            }
            if context.sentinel.is_some() {
                let (linear, dispersion) = (self.linear(i), self.dispersion(context.dispersion));
                if let Some(sentinel) = &mut context.sentinel {
                    sentinel.row(&context.family.with_dispersion(dispersion), &observation, linear);
                }
            }
            self.settle(log_mixture);
            context.dispersion.rows += observation.weight;
        }
        Ok(())
    }

    /// The log predictive density of each member, and of the mixture.
    fn weigh<F: Family>(&mut self, context: &Context<'_, F>, observation: &Observation, i: usize) -> f64 {
        let dispersion = &*context.dispersion;
        for ((member, log_density), added) in self.members.iter().zip(&mut self.log_density).zip(&mut self.added) {
            let (m, s) = (member.trail.linear[i], member.trail.variance[i]);
            *added = dispersion.residual(context.family, observation, m, s, member.residual);
            *log_density = match dispersion.kind {
                Kind::Normal => dispersion.own(member.residual, *added, observation.weight, s),
                _ => member.trail.evidence[i],
            };
        }
        if let [only] = self.log_density[..] {
            return only;
        }
        let joint = || self.members.iter().zip(&self.log_density).map(|(m, l)| m.log_weight() + l);
        let largest = joint().fold(f64::NEG_INFINITY, f64::max);
        largest + joint().map(|l| (l - largest).exp()).sum::<f64>().ln()
    }

    /// Moves weights and residuals after a row.
    fn settle(&mut self, log_mixture: f64) {
        if let [only] = &mut self.members[..] {
            only.residual += self.added[0];
            return;
        }
        for ((member, log_density), added) in self.members.iter_mut().zip(&self.log_density).zip(&self.added) {
            member.set_log_weight(member.log_weight() + (log_density - log_mixture));
            member.influence = member.influence.max((member.weight() - member.anchor).abs());
            member.residual += added;
        }
        if self.members.iter().any(|m| m.q > 0.0) {
            let even = SHARE / self.members.len() as f64;
            for member in &mut self.members {
                member.set_log_weight(((1.0 - SHARE) * member.weight() + even).ln());
            }
        }
    }

    /// The mixture's linear predictor of row `i`.
    fn linear(&self, i: usize) -> f64 {
        match &self.members[..] {
            [only] => only.trail.linear[i],
            members => members.iter().map(|m| m.weight() * m.trail.linear[i]).sum(),
        }
    }

    /// What an observer is shown of row `i`: the mixture's prediction, the heaviest member's step.
    fn seen<'a, F: Family>(
        &self,
        context: &Context<'_, F>,
        rows: Rows<'a>,
        observation: Observation,
        i: usize,
        log_mixture: f64,
    ) -> Seen<'a> {
        let (family, linear) = (context.family, self.linear(i));
        let beliefs = || self.members.iter().map(|m| (m.weight(), m, m.trail.linear[i], m.trail.variance[i]));
        let spread = |m: &Member<C>, s: f64| context.dispersion.estimate(m.residual) * s;
        let variance = beliefs().map(|(w, member, m, s)| w * (spread(member, s) + (m - linear).powi(2))).sum();
        let mean = self.predicted(family, &observation, log_mixture, i);
        let best = self.best();
        let gradient = observation.derivatives(family, best.trail.linear[i]).0;
        let (x, step, dispersion) = (rows.x(i), best.trail.step[i], self.dispersion(context.dispersion));
        Seen { index: i, x, observation, linear, variance, dispersion, mean, loss: 0.0, gradient, step }
    }

    /// The mean that the mixture predicts for row `i`.
    fn predicted<F: Family>(&self, family: &F, observation: &Observation, log_mixture: f64, i: usize) -> f64 {
        // of labels the evidence, which the weights need anyway, is the mean already; a weight would have sharpened it
        if observation.weight == 1.0
            && let Some(mean) = family.mean_from_evidence(observation.y, log_mixture)
        {
            return mean;
        }
        if family.bounded_gradient() || family.normal_noise().is_some() {
            let mean = |m: &Member<C>| family.moderated_mean(m.trail.linear[i] + observation.offset, m.trail.variance[i]);
            return self.members.iter().map(|member| member.weight() * mean(member)).sum();
        }
        let (m, s) = self.middle(i);
        family.moderated_mean(m + observation.offset, s.min(1.0))
    }

    /// The linear predictor of row `i` and its variance by the member in the middle, half of the weight being on either side. Where the mean
    /// grows without bound, the mean over members would be that of the vaguest one alone, and its expectation that of the belief's far tail.
    fn middle(&self, i: usize) -> (f64, f64) {
        let up_to = |m: f64| self.members.iter().filter(move |other| other.trail.linear[i] <= m).map(|other| other.weight());
        let total: f64 = self.members.iter().map(|member| member.weight()).sum();
        let upper = self.members.iter().filter(|member| up_to(member.trail.linear[i]).sum::<f64>() >= 0.5 * total);
        let middle = upper.min_by(|a, b| a.trail.linear[i].total_cmp(&b.trail.linear[i])).unwrap_or(self.best());
        (middle.trail.linear[i], middle.trail.variance[i])
    }

    /// The member with the largest weight.
    pub fn best(&self) -> &Member<C> {
        self.members.iter().max_by(|a, b| a.log_weight().total_cmp(&b.log_weight())).expect("a bank has members")
    }

    /// The best member's estimate of the dispersion.
    pub fn dispersion(&self, dispersion: &Dispersion) -> f64 {
        if dispersion.kind == Kind::None { 1.0 } else { dispersion.estimate(self.best().residual) }
    }

    pub fn weights(&self) -> Vec<(f64, f64, f64)> {
        self.members.iter().map(|m| (m.p, m.q, m.weight())).collect()
    }

    /// The mean of the coefficients.
    pub fn mean(&self, mean: &mut [f64]) {
        mean.fill(0.0);
        for member in &self.members {
            let weight = member.weight();
            mean.iter_mut().zip(member.theta.iter()).for_each(|(mean, t)| *mean += weight * t);
        }
    }

    /// Entry $(i,j)$ of the covariance, within the members and between them.
    pub fn entry(&self, dispersion: &Dispersion, mean: &[f64], i: usize, j: usize) -> f64 {
        let part = |m: &Member<C>| {
            let within = dispersion.estimate(m.residual) * m.covariance.entry(i, j);
            m.weight() * (within + (m.theta[i] - mean[i]) * (m.theta[j] - mean[j]))
        };
        self.members.iter().map(part).sum()
    }

    /// Weight, prior size, residual, $\theta^\top x$ and $x^\top Px$ of each member.
    pub fn beliefs(&self, x: &[f64]) -> Vec<(f64, f64, f64, f64, f64)> {
        let belief = |m: &Member<C>| {
            let linear = m.theta.iter().zip(x).map(|(t, x)| t * x).sum();
            (m.weight(), m.p, m.residual, linear, m.covariance.variance(x))
        };
        self.members.iter().map(belief).collect()
    }
}

impl Bank<Factored> {
    /// Replaces residual sums after a re-run of the warm-up.
    pub fn refit<F: Family>(&mut self, family: &F, dispersion: &Dispersion, rows: Rows<'_>) {
        for member in &mut self.members {
            if let Some(residual) = dispersion.refit(family, rows, &member.theta) {
                member.residual = residual;
            }
        }
    }

    /// Drops members that no longer matter after `count` rows: by weight at every look, by influence at the powers of two.
    pub fn drop_idle(&mut self, count: u64) {
        let heaviest = self.best().log_weight();
        let doubled = count.is_power_of_two() && count > CHUNK;
        let idle = |m: &Member<Factored>| {
            m.log_weight() < SMALLEST_WEIGHT.ln() || (doubled && m.influence < SMALLEST_INFLUENCE * count as f64)
        };
        self.members.retain(|m| m.log_weight() == heaviest || !idle(m));
        let total: f64 = self.members.iter().map(|m| m.weight()).sum();
        for member in &mut self.members {
            member.set_log_weight(member.log_weight() - total.ln());
            if doubled {
                member.anchor = member.weight();
                member.influence = 0.0;
            }
        }
        self.log_density.truncate(self.members.len());
        self.added.truncate(self.members.len());
    }
}

impl Bank<Dense> {
    /// Walking members that start from one belief; `prior` are the variances that the walks are relative to.
    pub fn walking(start: &Member<Factored>, covariance: &Dense, prior: &[f64]) -> Self {
        let member = |&q: &f64| {
            let mut member = Member::new(start.p, q, start.theta.clone(), covariance.clone());
            member.residual = start.residual;
            if q > 0.0 {
                member.walk = prior.iter().map(|v| q * v).collect();
            }
            member
        };
        Self::new(WALKS.iter().map(member).collect())
    }
}
