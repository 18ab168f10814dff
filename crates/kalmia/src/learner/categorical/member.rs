//! One softmax filter of the mixture: a belief per class, a prior size, a weight.

use crate::covariance::{FactoredBelief, Kernel, TogetherScratch, learn_together};
use crate::error::{Error, Result};
use crate::learner::auto::member_prior::Basis;
use crate::learner::auto::scale::{Enlarged, Scales, variance};
use crate::learner::standing::{MixtureMember, Standing};
use crate::rows::Rows;
use crate::rule::{LinearRow, Step, softmax_steps};

/// Prior variance of a coefficient per prior size of a difference between two classes.
pub(in crate::learner) const BLOCK_SHARE: f64 = 0.5;

/// A belief per class, with their standing in the mixture.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Prior size of a difference between two classes, relative to the scaled features.
    pub prior_size: f64,
    /// The features that the prior is independent in.
    pub basis: Basis,
    /// Share of $x^\top Px$ that it believes.
    pub variance_share: f64,
    /// Process noise per row relative to the prior of size 1, 0 for a static member.
    pub process_noise: f64,
    /// One per class.
    pub blocks: Vec<FactoredBelief>,
    pub standing: Standing,
    /// Log-likelihood of the rows that were looked at again, each predicted by those before it in
    /// one pass.
    pub prior_evidence: Option<f64>,
    pub predictions: Predictions,
}

/// A member's prediction for each row of a chunk. Scratch, so a copy of the member starts without
/// it.
#[derive(Debug, Default)]
pub(super) struct Predictions {
    /// Row after row, a probability per class.
    pub probabilities: Vec<f64>,
    /// Of each row, the logarithm.
    pub evidence: Vec<f64>,
    rows: Vec<LinearRow>,
}

impl Clone for Predictions {
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
    pub fn new(prior_size: f64, basis: Basis, blocks: Vec<FactoredBelief>) -> Self {
        Self {
            prior_size,
            basis,
            variance_share: 1.0,
            process_noise: 0.0,
            blocks,
            standing: Standing::default(),
            prior_evidence: None,
            predictions: Predictions::default(),
        }
    }

    /// Learns a chunk after `count` rows and records its predictions.
    pub fn learn(
        &mut self,
        rows: Rows<'_>,
        count: u64,
        scratch: &mut TogetherScratch,
    ) -> Result<()> {
        let Self { blocks, predictions, variance_share, .. } = self;
        let share = *variance_share;
        let classes = blocks.len();
        let Predictions { probabilities, evidence, rows: linear } = predictions;
        probabilities.resize(rows.len() * classes, 0.0);
        evidence.resize(rows.len(), 0.0);
        linear.resize(classes, LinearRow::new(0.0, 0.0));
        let mut decide = |i: usize, linear: &mut [LinearRow]| {
            let observation = rows.observation(i);
            let probabilities = &mut probabilities[i * classes..][..classes];
            let class = observation.y as usize;
            evidence[i] = softmax_steps(class, observation.weight, share, linear, probabilities);
            check_finite(i, linear)
        };
        learn_together(blocks, linear, rows.features(), count, scratch, &mut decide)
    }

    /// Adds the process noise of `rows` rows. Features that no row had keep their prior.
    pub fn add_process_noise(&mut self, scales: &Scales, rows: u64) {
        let size = BLOCK_SHARE * self.process_noise * rows as f64;
        let noise = |j: usize| {
            let scale = scales.scale(j);
            if scale == 0.0 { 0.0 } else { variance(size, scale) }
        };
        for block in &mut self.blocks {
            block.covariance.add_centered_diagonal(noise, scales.centers());
        }
    }

    /// Narrows the prior of coefficients whose features turned out to be larger. A prior of more
    /// precision is a row $e_j$ of target 0 with normal noise, so nothing learned is lost.
    pub fn tighten(
        &mut self,
        enlarged: &[Enlarged],
        dim: usize,
        scratch: &mut TogetherScratch,
    ) -> Result<()> {
        // a polished belief keeps the prior that it was polished with, which may be flat
        if self.variance_share < 1.0 {
            return Ok(());
        }
        let p = BLOCK_SHARE * self.prior_size;
        let basis = self.basis;
        let added = enlarged.iter().map(|one| (one.feature, one.added_precision(p, basis)));
        let added: Vec<(usize, f64)> = added.filter(|(_, precision)| *precision > 0.0).collect();
        if added.is_empty() {
            return Ok(());
        }
        let mut x = vec![0.0; added.len() * dim];
        for (row, (feature, _)) in x.chunks_exact_mut(dim).zip(&added) {
            row[*feature] = 1.0;
        }
        let mut linear = vec![LinearRow::new(0.0, 0.0); self.blocks.len()];
        let mut decide = |i: usize, linear: &mut [LinearRow]| {
            let (_, precision) = added[i];
            for row in linear {
                let gain = -precision * row.m / (1.0 + precision * row.s);
                row.step = Step::new(gain, precision, row.s);
            }
            Ok(())
        };
        learn_together(&mut self.blocks, &mut linear, &x, 0, scratch, &mut decide)
    }

    /// Gives an unseen coefficient its prior.
    pub fn set_prior(&mut self, j: usize, scale: f64) {
        let variance = variance(BLOCK_SHARE * self.prior_size, scale);
        for block in &mut self.blocks {
            block.covariance.set_untouched(j, variance);
        }
    }

    /// One more coefficient per class.
    pub fn grow(&mut self) {
        let variance = BLOCK_SHARE * self.prior_size;
        self.blocks.iter_mut().for_each(|block| block.grow(variance));
    }
}

/// Refuses a row after which a belief would not be finite.
pub(super) fn check_finite(row: usize, linear: &[LinearRow]) -> Result<()> {
    // an infinite m or s of one class shows in the steps of all
    let finite = |row: &LinearRow| {
        row.m.is_finite() && row.step.gain.is_finite() && (row.step.curvature * row.s).is_finite()
    };
    match linear.iter().find(|row| !finite(row)) {
        Some(bad) => {
            Err(Error::Diverged { row, quantity: "the linear predictor's variance", value: bad.s })
        }
        None => Ok(()),
    }
}
