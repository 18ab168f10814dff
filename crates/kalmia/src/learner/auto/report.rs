//! What observers are shown of a row: the mixture's prediction, density and mean.

use super::bank::{Bank, Context};
use super::dispersion::Kind;
use super::mean::{LinearBelief, predicted_mean};
use super::member::Member;
use super::posterior::posterior_of_logs;
use crate::covariance::Covariance;
use crate::family::{Family, FastPaths};
use crate::observe::RowView;
use crate::predict::Prediction;
use crate::rows::{Observation, Rows};
use crate::rule::{Evidence, moments};

impl<C: Covariance> Bank<C> {
    /// The log density that the mixture predicted for row `i`, that of one observation whatever its
    /// weight; `evidence` is what moved the weights.
    pub(super) fn log_density<F: Family>(
        &self,
        context: &Context<'_, F>,
        observation: &Observation,
        i: usize,
        evidence: Evidence,
    ) -> f64 {
        let dispersion = &*context.dispersion;
        if observation.weight == 1.0 && !dispersion.is_pearson() {
            let common = match dispersion.kind {
                Kind::Normal => dispersion.common_term(1.0),
                _ => context.family.log_base(observation.y),
            };
            return evidence.ln() + common;
        }
        let single = Observation { weight: 1.0, ..*observation };
        let member = |member: &Member<C>| {
            let m = member.predictions.linear[i];
            let s = member.predictions.variance[i];
            if dispersion.kind == Kind::Normal {
                let added = dispersion.residual(context.family, &single, m, s, member.residual);
                return dispersion.member_term(member.residual, added, 1.0, s)
                    + dispersion.common_term(1.0);
            }
            let estimate = dispersion.estimate(member.residual);
            let family = context.family.fast().with_dispersion_unchecked(estimate);
            if dispersion.kind == Kind::Quasi {
                let linear = m + observation.offset;
                return Prediction::new(family, linear, estimate * s)
                    .and_then(|prediction| prediction.with_overdispersion(estimate))
                    .map_or(f64::NAN, |prediction| prediction.log_density(observation.y));
            }
            moments(&family, &single, m, estimate * s).evidence.ln()
                + family.log_base(observation.y)
        };
        let mut logs: Vec<f64> = self.members.iter().map(member).collect();
        posterior_of_logs(self.members.iter().map(|member| member.weight), &mut logs)
    }

    /// The mixture's linear predictor of row `i`.
    pub(super) fn linear(&self, i: usize) -> f64 {
        match &self.members[..] {
            [only] => only.predictions.linear[i],
            members => members.iter().map(|m| m.weight * m.predictions.linear[i]).sum(),
        }
    }

    /// Row `i` for an observer: the mixture's prediction, the heaviest member's step. The caller
    /// fills in the loss.
    pub(super) fn row_view<'a, F: Family>(
        &self,
        context: &Context<'_, F>,
        rows: Rows<'a>,
        observation: Observation,
        i: usize,
        evidence: Evidence,
    ) -> RowView<'a> {
        let linear = self.linear(i);
        let part = |member: &Member<C>| {
            let m = member.predictions.linear[i];
            let s = member.predictions.variance[i];
            let within = context.dispersion.estimate(member.residual) * s;
            member.weight * (within + (m - linear).powi(2))
        };
        let best = self.best();
        RowView {
            index: i,
            x: rows.x(i),
            observation,
            linear,
            variance: self.members.iter().map(part).sum(),
            dispersion: self.dispersion(context.dispersion),
            mean: self.mean_of_row(context, &observation, evidence, i),
            loss: 0.0,
            gradient: best.predictions.slope[i],
            step: best.predictions.step[i],
        }
    }

    /// The mean that the mixture predicts for row `i`.
    fn mean_of_row<F: Family>(
        &self,
        context: &Context<'_, F>,
        observation: &Observation,
        evidence: Evidence,
        i: usize,
    ) -> f64 {
        let family = context.family;
        // For labels the evidence already contains the mean, unless a weight has sharpened it.
        if observation.weight == 1.0
            && let Some(mean) = family.fast().mean_from_evidence(observation.y, evidence)
        {
            return mean;
        }
        let belief = |member: &Member<C>| LinearBelief {
            weight: member.weight,
            linear: member.predictions.linear[i] + observation.offset,
            variance: context.dispersion.estimate(member.residual) * member.predictions.variance[i],
        };
        predicted_mean(family, self.members.iter().map(belief))
    }
}
