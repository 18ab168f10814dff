//! One filter of the mixture: a joint belief about slopes and cutpoints, a prior size, a weight.

use super::layout::{Layout, Scalar, Scalars};
use super::probabilities::level_probabilities;
use crate::covariance::{Covariance, FactoredBelief, Kernel};
use crate::error::{Error, Result};
use crate::family::Bernoulli;
use crate::learner::auto::member_prior::Basis;
use crate::learner::auto::scale::variance;
use crate::learner::standing::{MixtureMember, Standing};
use crate::linalg::Threads;
use crate::rows::Observation;
use crate::rule::{LinearRow, Step, gap_step, moments, order_step};

/// A gap whose mean is below so many standard deviations is truncated at 0 again. Normal beliefs
/// know no order, so rows without a level would push its gap below 0. Truncation gives a ratio of
/// at least 1, so one per gap is enough.
const MIN_GAP_RATIO: f64 = 1.0;
/// Truncating one gap may move others; so often are all looked at.
const ORDER_PASSES: usize = 3;

/// A belief with its standing in the mixture.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Prior size relative to the scaled features.
    pub prior_size: f64,
    /// The features that the prior is independent in.
    pub basis: Basis,
    pub belief: FactoredBelief,
    pub standing: Standing,
    /// The prediction of a row, before it was learned.
    pub prediction: LevelPrediction,
}

/// What a member predicted for a row. Scratch, so a copy of the member starts without it.
#[derive(Debug, Default)]
pub(super) struct LevelPrediction {
    pub probabilities: Vec<f64>,
    cuts: Vec<LinearRow>,
    /// The features of a gap.
    gap: Vec<f64>,
}

impl Clone for LevelPrediction {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl MixtureMember for Member {
    fn standing(&self) -> &Standing {
        &self.standing
    }

    fn standing_mut(&mut self) -> &mut Standing {
        &mut self.standing
    }
}

impl Member {
    pub fn new(prior_size: f64, basis: Basis, belief: FactoredBelief) -> Self {
        Self {
            prior_size,
            basis,
            belief,
            standing: Standing::default(),
            prediction: LevelPrediction::default(),
        }
    }

    /// Learns the scalar observations of a row of this weight and records its prediction.
    pub fn learn(&mut self, layout: &Layout, scalars: &Scalars, weight: f64) -> Result<()> {
        let LevelPrediction { probabilities, cuts, .. } = &mut self.prediction;
        cuts.resize(layout.cuts(), LinearRow::new(0.0, 0.0));
        let mut decide = |i: usize, m: f64, s: f64| {
            let step = match scalars.kinds[i] {
                Scalar::Probe { cut } => {
                    cuts[cut] = LinearRow::new(m, s);
                    Step::NONE
                }
                Scalar::First { cut, label } => {
                    cuts[cut] = LinearRow::new(m, s);
                    label_step(label, weight, m, s)
                }
                Scalar::Label { label } => label_step(label, weight, m, s),
                Scalar::Gap => gap_step(m, s, weight),
            };
            finite(step, m, s)
        };
        let FactoredBelief { theta, covariance } = &mut self.belief;
        covariance.learn(theta, &scalars.z, &mut decide, Threads::ONE)?;
        probabilities.resize(layout.levels, 0.0);
        level_probabilities(cuts, probabilities);
        if weight > 0.0 {
            self.keep_order(layout)?;
        }
        Ok(())
    }

    /// Truncates the gaps that are not clearly positive.
    pub fn keep_order(&mut self, layout: &Layout) -> Result<()> {
        let FactoredBelief { theta, covariance } = &mut self.belief;
        let z = &mut self.prediction.gap;
        z.resize(layout.size(), 0.0);
        for _ in 0..ORDER_PASSES {
            let mut changed = false;
            for gap in layout.gap_places() {
                let deviation = covariance.entry(gap, gap).sqrt();
                if theta[gap] >= MIN_GAP_RATIO * deviation {
                    continue;
                }
                changed = true;
                z.fill(0.0);
                z[gap] = 1.0;
                let mut decide = |_: usize, m: f64, s: f64| finite(order_step(m, s), m, s);
                covariance.learn(theta, z, &mut decide, Threads::ONE)?;
            }
            if !changed {
                break;
            }
        }
        Ok(())
    }

    /// Gives the coefficient of an unseen feature its prior.
    pub fn set_prior(&mut self, coordinate: usize, scale: f64) {
        self.belief.covariance.set_untouched(coordinate, variance(self.prior_size, scale));
    }
}

fn label_step(label: f64, weight: f64, m: f64, s: f64) -> Step {
    let observation = Observation { y: label, weight, offset: 0.0 };
    moments(&Bernoulli, &observation, m, s).step
}

/// Refuses a step after which the belief would not be finite.
fn finite(step: Step, m: f64, s: f64) -> Result<Step> {
    if m.is_finite() && step.gain.is_finite() && (step.curvature * s).is_finite() {
        return Ok(step);
    }
    Err(Error::Diverged { row: 0, quantity: "the linear predictor's variance", value: s })
}
