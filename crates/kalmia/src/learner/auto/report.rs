//! What observers are shown of a row: the mixture's prediction, density and mean.

use super::bank::{Bank, Context, MemberBelief};
use super::dispersion::{Dispersion, Kind};
use super::mean::{LinearBelief, predicted_mean};
use super::posterior::posterior_of_logs;
use crate::covariance::Covariance;
use crate::family::{Family, FastPaths};
use crate::observe::RowView;
use crate::predict::Prediction;
use crate::rows::{Observation, Rows};
use crate::rule::{Evidence, moments};

/// One row under a mixture: what its members share, and the evidence that moved their weights.
pub(in crate::learner) struct MixtureRow<'a, F> {
    pub family: &'a F,
    pub dispersion: &'a Dispersion,
    pub observation: Observation,
    pub evidence: Evidence,
}

impl<F: Family> MixtureRow<'_, F> {
    /// The log density that the mixture predicted, that of one observation whatever its weight.
    pub fn log_density(&self, beliefs: impl Iterator<Item = MemberBelief> + Clone) -> f64 {
        let Self { family, dispersion, observation, evidence } = *self;
        if observation.weight == 1.0 && !dispersion.is_pearson() {
            let common = match dispersion.kind {
                Kind::Normal => dispersion.common_term(1.0),
                _ => family.log_base(observation.y),
            };
            return evidence.ln() + common;
        }
        let mut logs: Vec<f64> =
            beliefs.clone().map(|belief| self.member_density(belief)).collect();
        posterior_of_logs(beliefs.map(|belief| belief.weight), &mut logs)
    }

    /// The log density that a member predicted.
    fn member_density(&self, belief: MemberBelief) -> f64 {
        let Self { family, dispersion, observation, .. } = *self;
        let single = Observation { weight: 1.0, ..observation };
        let MemberBelief { residual, linear: m, variance: s, .. } = belief;
        if dispersion.kind == Kind::Normal {
            let added = dispersion.residual(family, &single, m, s, residual);
            return dispersion.member_term(residual, added, 1.0, s) + dispersion.common_term(1.0);
        }
        let estimate = dispersion.estimate(residual);
        let family = family.fast().with_dispersion_unchecked(estimate);
        if dispersion.kind == Kind::Quasi {
            return Prediction::new(family, m + observation.offset, estimate * s)
                .and_then(|prediction| prediction.with_overdispersion(estimate))
                .map_or(f64::NAN, |prediction| prediction.log_density(observation.y));
        }
        moments(&family, &single, m, estimate * s).evidence.ln() + family.log_base(observation.y)
    }

    /// The mean that the mixture predicted.
    pub fn mean(&self, beliefs: impl Iterator<Item = MemberBelief> + Clone) -> f64 {
        let Self { family, dispersion, observation, evidence } = *self;
        // For labels the evidence already contains the mean, unless a weight has sharpened it.
        if observation.weight == 1.0
            && let Some(mean) = family.fast().mean_from_evidence(observation.y, evidence)
        {
            return mean;
        }
        let belief = |belief: MemberBelief| LinearBelief {
            weight: belief.weight,
            linear: belief.linear + observation.offset,
            variance: dispersion.estimate(belief.residual) * belief.variance,
        };
        predicted_mean(family, beliefs.map(belief))
    }
}

/// The variance of the linear predictor around `linear`, within the members and between them.
pub(in crate::learner) fn mixture_variance(
    dispersion: &Dispersion,
    linear: f64,
    beliefs: impl Iterator<Item = MemberBelief>,
) -> f64 {
    let part = |belief: MemberBelief| {
        let within = dispersion.estimate(belief.residual) * belief.variance;
        belief.weight * (within + (belief.linear - linear).powi(2))
    };
    beliefs.map(part).sum()
}

impl<C: Covariance> Bank<C> {
    /// The members' beliefs about row `i` of the chunk, in units of the dispersion.
    fn row_beliefs(&self, i: usize) -> impl Iterator<Item = MemberBelief> + Clone {
        self.members.iter().map(move |member| MemberBelief {
            weight: member.standing.weight,
            prior_size: member.p,
            residual: member.residual,
            linear: member.predictions.linear[i],
            variance: member.predictions.variance[i],
        })
    }

    /// The mixture's linear predictor of row `i`.
    pub(super) fn linear(&self, i: usize) -> f64 {
        match &self.members[..] {
            [only] => only.predictions.linear[i],
            members => members.iter().map(|m| m.standing.weight * m.predictions.linear[i]).sum(),
        }
    }

    /// Its variance.
    pub(super) fn variance(&self, dispersion: &Dispersion, i: usize) -> f64 {
        mixture_variance(dispersion, self.linear(i), self.row_beliefs(i))
    }

    /// Row `i` for an observer: the mixture's prediction, the heaviest member's step. Without a
    /// loss if the observer uses none.
    pub(super) fn row_view<'a, F: Family>(
        &self,
        context: &Context<'_, F>,
        rows: Rows<'a>,
        row: MixtureRow<'_, F>,
        i: usize,
        with_loss: bool,
    ) -> RowView<'a> {
        let linear = self.linear(i);
        let best = self.best();
        RowView {
            index: context.first + i,
            x: rows.x(i),
            observation: row.observation,
            linear,
            variance: self.variance(context.dispersion, i),
            dispersion: context
                .family
                .fast()
                .shape()
                .unwrap_or_else(|| self.dispersion(context.dispersion)),
            mean: row.mean(self.row_beliefs(i)),
            loss: if with_loss { -row.log_density(self.row_beliefs(i)) } else { f64::NAN },
            gradient: best.predictions.slope[i],
            step: best.predictions.step[i],
        }
    }
}
