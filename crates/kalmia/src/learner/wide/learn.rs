//! One row: predicted by all members, weighed, learned.

use super::belief::{LaneSteps, RowSums};
use super::{MAX_LANES, PerLane, Wide};
use crate::error::{Error, Result};
use crate::family::{Family, FastPaths};
use crate::learner::auto::bank::MemberBelief;
use crate::learner::auto::dispersion::Kind;
use crate::learner::auto::outliers::noise_share;
use crate::learner::auto::report::{MixtureRow, mixture_variance};
use crate::observe::{Observer, RowView, observation};
use crate::rows::Observation;
use crate::rule::{Evidence, Moments, Step};
use crate::sparse::{SparseRow, SparseRows};

/// Largest $\alpha s$ of a row, which keeps the precision of the dense core.
pub(super) const MAX_ALPHA_S: f64 = 1e7;
/// Rows between two steps of the shape.
const SHAPE_ROWS: u64 = 256;
/// Rows between two looks at the noise that rows are judged by.
const NOISE_ROWS: u64 = 32;

/// What the members predict for a row and do with it.
struct Decisions {
    linear: PerLane,
    /// The share of $s$ that each member believes.
    variance: PerLane,
    slope: PerLane,
    step: [Step; MAX_LANES],
    evidence: [Evidence; MAX_LANES],
    /// What the row adds to the residual sums.
    added: PerLane,
    /// The share of the row that each member learns.
    share: PerLane,
}

impl<F: Family> Wide<F> {
    /// Learns row `i` of validated rows.
    pub(super) fn learn_row(
        &mut self,
        rows: SparseRows<'_>,
        i: usize,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        if self.warm_up.is_some() {
            return self.warm_up(rows, i, observer);
        }
        let observed = observation(&self.family, &rows.observations(), i);
        self.step(rows.x(i), observed, i, observer)?;
        self.count += 1;
        if self.count.is_multiple_of(SHAPE_ROWS) {
            self.move_shape();
        }
        if self.count.is_multiple_of(NOISE_ROWS) {
            self.take_noise();
        }
        if !self.keeps_all
            && let Some(kept) = self.members.review(self.count)
        {
            self.members.keep(&kept);
            self.belief.keep_lanes(&kept)?;
        }
        Ok(())
    }

    /// Predicts and learns a row; `index` is its number for the observer.
    pub(super) fn step(
        &mut self,
        x: SparseRow<'_>,
        observation: Observation,
        index: usize,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        // A row of weight 0 is predicted, and nothing else.
        let ignored = observation.weight == 0.0;
        let priors = self.priors();
        let Self { features, belief, row, count, .. } = self;
        let sums = if ignored {
            features.look_up(x, *count, row);
            belief.sums(row, &priors)
        } else {
            features.enter(x, *count, &priors, std::slice::from_mut(belief), row);
            let mut sums = RowSums::ZERO;
            belief.add_sums(row, &mut sums);
            sums
        };
        let mut decisions = self.decide(&observation, &sums)?;
        let lanes = self.members.lanes();
        let evidence = self.members.weigh(&decisions.evidence[..lanes]);
        if let Some(observer) = observer {
            self.notify(&decisions, observation, evidence, index, observer);
        }
        if ignored {
            return Ok(());
        }
        let share = self.weigh_share(&mut decisions, &observation);
        if self.dispersion.has_shape() {
            let linear = self.beliefs(&decisions).map(|b| b.weight * b.linear).sum();
            let variance = mixture_variance(&self.dispersion, linear, self.beliefs(&decisions));
            // what is far from its prediction says little of the scale
            let weight = observation.weight * noise_share(share);
            let counted = Observation { weight, ..observation };
            self.dispersion.shape.add(&self.family, &counted, linear, variance);
        }
        let fixed = usize::from(self.features.scales.has_intercept());
        self.belief.take_step(&self.row, &LaneSteps::new(&decisions.step), &priors, fixed);
        self.members.move_weights(&decisions.added[..lanes]);
        self.dispersion.count(observation.weight, share);
        Ok(())
    }

    /// If outliers count less: replaces evidence and residuals by those of the share of the row
    /// that all members count in common, and returns it. All are judged by the same share: by its
    /// own, one that predicts badly would hardly be judged.
    fn weigh_share(&mut self, decisions: &mut Decisions, observation: &Observation) -> f64 {
        if self.dispersion.downweighting.is_none() {
            return 1.0;
        }
        let shares = self.members.all.iter().zip(&decisions.share);
        // exactly 1 if all are
        let share = 1.0 - shares.map(|(m, share)| m.weight * (1.0 - share)).sum::<f64>();
        let counted = Observation { weight: share * observation.weight, ..*observation };
        for (k, member) in self.members.all.iter().enumerate() {
            decisions.added[k] *= self.dispersion.residual_share(share);
            if share == 1.0 {
                continue;
            }
            let (m, s) = (decisions.linear[k], decisions.variance[k]);
            let residual = member.residual;
            decisions.evidence[k] = Evidence::Log(match self.dispersion.kind {
                Kind::Normal => {
                    let added = self.dispersion.residual(&self.family, &counted, m, s, residual);
                    self.dispersion.member_term(residual, added, counted.weight, s)
                }
                _ => share * decisions.evidence[k].ln(),
            });
        }
        if share < 1.0 {
            self.members.weigh(&decisions.evidence[..self.members.lanes()]);
        }
        share
    }

    /// Judges rows from now on by the noise that the rows so far show.
    pub(super) fn take_noise(&mut self) {
        if self.dispersion.downweighting.is_some() {
            let noise = self.loss_divisor();
            self.dispersion.take_noise(noise);
        }
    }

    /// The members' predictions and steps for a row with $m = \theta^\top x$ and $s = x^\top Px$.
    fn decide(&self, observation: &Observation, sums: &RowSums) -> Result<Decisions> {
        let RowSums { m, s } = sums;
        let matcher = self.dispersion.matcher(&self.family);
        let mut decisions = Decisions {
            linear: *m,
            variance: [0.0; MAX_LANES],
            slope: [0.0; MAX_LANES],
            step: [Step::NONE; MAX_LANES],
            evidence: [Evidence::Log(0.0); MAX_LANES],
            added: [0.0; MAX_LANES],
            share: [1.0; MAX_LANES],
        };
        let unbounded = !self.family.bounded_gradient();
        let location = self.family.fast().location_level().is_some();
        for (k, member) in self.members.all.iter().enumerate() {
            // rounding may leave a tiny negative number
            let all = s[k].max(0.0);
            let mut believed = member.assumption.share * all;
            let mut moments = matcher.moments(observation, m[k], believed);
            let alpha_s = moments.step.curvature * all;
            let moved = moments.step.gain.abs() * all;
            if location && moved > (observation.y - observation.offset - m[k]).abs() {
                // the slope of the loss does not fall on the way to the target: a smaller share
                // would carry the linear predictor past it, by any number of scales
                believed = all;
                moments = matcher.moments(observation, m[k], believed);
            } else if unbounded && alpha_s * (1.0 - member.assumption.share) > 1.0 {
                // a smaller share would carry the linear predictor past what the row asks for
                believed = all * (1.0 - 1.0 / alpha_s);
                moments = matcher.moments(observation, m[k], believed);
            }
            if let Some(judge) = matcher.judge {
                (decisions.share[k], moments) =
                    matcher.judged(judge, observation, moments, m[k], believed);
            }
            let Moments { evidence, slope, step } = moments;
            if !(m[k].is_finite() && step.gain.is_finite() && (step.curvature * all).is_finite()) {
                return Err(Error::Diverged {
                    row: 0,
                    quantity: "the linear predictor's variance",
                    value: all,
                });
            }
            let curvature = match step.curvature * all > MAX_ALPHA_S {
                true => MAX_ALPHA_S / all,
                false => step.curvature,
            };
            // the belief contracts by all of s, whatever share was believed
            decisions.step[k] = Step::new(step.gain, curvature, all);
            decisions.variance[k] = believed;
            decisions.slope[k] = slope;
            let residual = member.residual;
            let added =
                self.dispersion.residual(&self.family, observation, m[k], believed, residual);
            decisions.added[k] = added;
            decisions.evidence[k] = match self.dispersion.kind {
                Kind::Normal => {
                    let weight = observation.weight;
                    Evidence::Log(self.dispersion.member_term(residual, added, weight, believed))
                }
                _ => evidence,
            };
        }
        Ok(decisions)
    }

    /// What the members believe of a row.
    fn beliefs(&self, decisions: &Decisions) -> impl Iterator<Item = MemberBelief> + Clone {
        self.members.all.iter().enumerate().map(|(k, member)| MemberBelief {
            weight: member.weight,
            prior_size: member.assumption.prior_size,
            residual: member.residual,
            linear: decisions.linear[k],
            variance: decisions.variance[k],
        })
    }

    /// Moves the shape of the family by what the rows since the last move say of it.
    pub(super) fn move_shape(&mut self) {
        if let Some(moved) = self.dispersion.moved_family(&self.family, true) {
            self.family = moved;
        }
    }

    /// Shows the mixture's prediction and the heaviest member's step.
    fn notify(
        &self,
        decisions: &Decisions,
        observation: Observation,
        evidence: Evidence,
        index: usize,
        observer: &mut dyn Observer,
    ) {
        let beliefs = self.beliefs(decisions);
        let family = &self.family;
        let row = MixtureRow { family, dispersion: &self.dispersion, observation, evidence };
        let linear = beliefs.clone().map(|belief| belief.weight * belief.linear).sum();
        let best = self.members.heaviest();
        observer.row(&RowView {
            index,
            x: &[],
            observation,
            linear,
            variance: mixture_variance(&self.dispersion, linear, beliefs.clone()),
            dispersion: self.dispersion(),
            mean: row.mean(beliefs.clone()),
            loss: if observer.uses_loss() { -row.log_density(beliefs) } else { f64::NAN },
            gradient: decisions.slope[best],
            step: decisions.step[best],
        });
    }
}
