//! One row: predicted by all members, weighed, learned by all classes.

use super::{LaneSteps, RowSums, Scratch, WideCategorical};
use crate::error::{Error, Result};
use crate::learner::categorical::add_scaled;
use crate::learner::wide::learn::MAX_ALPHA_S;
use crate::learner::wide::member::Members;
use crate::learner::wide::{MAX_LANES, PerLane};
use crate::learner::{ClassObserver, ClassRow};
use crate::rows::Observation;
use crate::rule::{Evidence, LinearRow, Step, softmax_steps};
use crate::sparse::{SparseRow, SparseRows};

/// No member has a residual sum here.
const NO_RESIDUALS: PerLane = [0.0; MAX_LANES];

impl WideCategorical {
    /// Learns row `i` of validated rows.
    pub(super) fn learn_row(
        &mut self,
        rows: SparseRows<'_>,
        i: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        if self.warm_up.is_some() {
            return self.warm_up(rows, i, observer);
        }
        self.step(rows.x(i), rows.observation(i), i, observer)?;
        self.count += 1;
        if let Some(kept) = self.members.review(self.count) {
            self.keep_members(&kept)?;
        }
        Ok(())
    }

    /// Keeps these members alone.
    pub(super) fn keep_members(&mut self, kept: &[usize]) -> Result<()> {
        self.members.keep(kept);
        self.beliefs.iter_mut().try_for_each(|belief| belief.keep_lanes(kept))
    }

    /// Predicts and learns a row; `index` is its number for the observer.
    pub(super) fn step(
        &mut self,
        x: SparseRow<'_>,
        observation: Observation,
        index: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        let priors = self.priors();
        let Observation { y, weight, .. } = observation;
        let class = y as usize;
        // A row of weight 0 is predicted, and nothing else.
        let ignored = weight == 0.0;
        let Self { features, beliefs, row, scratch, members, count, .. } = self;
        scratch.resize(beliefs.len());
        if ignored {
            features.look_up(x, *count, row);
            for (belief, sums) in beliefs.iter().zip(&mut scratch.sums) {
                *sums = belief.sums(row, &priors);
            }
        } else {
            features.enter(x, *count, &priors, beliefs, row);
            for (belief, sums) in beliefs.iter_mut().zip(&mut scratch.sums) {
                *sums = RowSums::ZERO;
                belief.add_sums(row, sums);
            }
        }
        let evidence = scratch.decide(members, class, weight)?;
        members.weigh(&evidence[..members.lanes()]);
        if let Some(observer) = observer {
            let probabilities = &scratch.mixed[..];
            let loss = -probabilities[class].max(f64::MIN_POSITIVE).ln();
            observer.row(&ClassRow { index, x: &[], class, weight, probabilities, loss });
        }
        if ignored {
            return Ok(());
        }
        let fixed = usize::from(features.scales.has_intercept());
        for (belief, steps) in beliefs.iter_mut().zip(&scratch.steps) {
            belief.take_step(row, steps, &priors, fixed);
        }
        members.move_weights(&NO_RESIDUALS[..members.lanes()]);
        Ok(())
    }
}

impl Scratch {
    /// The members' steps for a row of class `class`, and the probabilities of the mixture; returns
    /// the evidence of each member.
    fn decide(
        &mut self,
        members: &Members,
        class: usize,
        weight: f64,
    ) -> Result<[Evidence; MAX_LANES]> {
        let Self { sums, steps, linear, own, mixed } = self;
        mixed.fill(0.0);
        let mut evidence = [Evidence::Log(0.0); MAX_LANES];
        for (k, member) in members.all.iter().enumerate() {
            let share = member.assumption.share;
            believe(1.0, k, sums, linear);
            evidence[k] = Evidence::Log(softmax_steps(class, weight, share, linear, own));
            add_scaled(member.weight, own, mixed);
            for ((row, sums), steps) in linear.iter().zip(&*sums).zip(&mut *steps) {
                steps.set(k, bounded_step(row.step, sums.m[k], row.s)?);
            }
        }
        Ok(evidence)
    }
}

/// What member `k` knows of the linear predictor of each class, with this share of its variance.
pub(super) fn believe(share: f64, k: usize, sums: &[RowSums], linear: &mut [LinearRow]) {
    for (row, sums) in linear.iter_mut().zip(sums) {
        // rounding may leave a tiny negative number
        *row = LinearRow::new(sums.m[k], share * sums.s[k].max(0.0));
    }
}

/// The step with a curvature that keeps the precision of the dense core.
fn bounded_step(step: Step, m: f64, s: f64) -> Result<Step> {
    if !(m.is_finite() && step.gain.is_finite() && (step.curvature * s).is_finite()) {
        let quantity = "the linear predictor's variance";
        return Err(Error::Diverged { row: 0, quantity, value: s });
    }
    match step.curvature * s > MAX_ALPHA_S {
        true => Ok(Step::new(step.gain, MAX_ALPHA_S / s, s)),
        false => Ok(step),
    }
}

impl LaneSteps {
    fn set(&mut self, lane: usize, step: Step) {
        self.gain[lane] = step.gain;
        self.contraction[lane] = step.contraction;
    }
}
