//! Probabilities of the classes at new rows.

use super::Categorical;
use super::member::{BLOCK_SHARE, Member};
use super::mixture::add_scaled;
use super::sharpening::Sharpening;
use crate::covariance::{Covariance, FactoredBelief, Kernel};
use crate::error::Result;
use crate::family::Bernoulli;
use crate::learner::class_predictions::{
    predict_in_blocks, predict_one, refuse_offsets, require_rival,
};
use crate::linalg::{Threads, row_products};
use crate::math::dot;
use crate::predict::{MixturePrediction, Prediction};
use crate::rows::{Inputs, check_features};
use crate::rule::{LinearRow, softmax_odds, softmax_probabilities};

/// The beliefs of one member about the rows of a block.
#[derive(Default)]
struct Scratch {
    /// Class after class, row after row.
    linear: Vec<f64>,
    variance: Vec<f64>,
    /// One row, class after class.
    row: Vec<LinearRow>,
    own: Vec<f64>,
    /// The features without those that no row had, and the number of these per row.
    seen: Vec<f64>,
    unseen: Vec<f64>,
}

impl Categorical {
    /// The probability of each class at `x`, averaged over what is not known of the coefficients;
    /// they sum to 1.
    pub fn predict(&self, x: &[f64]) -> Result<Vec<f64>> {
        check_features(x, self.dim)?;
        let inputs = Inputs::new(self.dim, x)?;
        predict_one(|take| self.predict_many(inputs, take))
    }

    /// Calls `take(i, probabilities)` with the probability of each class of each row, in order. The
    /// first error ends it; an illegal row is found before the first call. Offsets must be 0.
    pub fn predict_many(
        &self,
        inputs: Inputs<'_>,
        take: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<()> {
        inputs.check(self.dim)?;
        let offsets = (0..inputs.len()).map(|i| inputs.offset(i));
        refuse_offsets(offsets, "must be 0: all classes would share it")?;
        let mut scratch = Scratch::default();
        predict_in_blocks(inputs, self.classes, take, |rows, mixed| {
            self.add_block(rows, &mut scratch, mixed);
        })
    }

    /// What is known of class `class` against all others at `x`: a belief about the logarithm of
    /// the odds, from which intervals of its probability follow. `unseen` is the number of levels
    /// that no row had. Its mean is the probability before all are divided by their sum, which is
    /// close to 1. Needs at least two classes.
    pub fn odds(
        &self,
        x: &[f64],
        class: usize,
        unseen: u32,
    ) -> Result<MixturePrediction<Bernoulli>> {
        check_features(x, self.dim)?;
        require_rival(class, self.classes)?;
        let mut seen = x.to_vec();
        let unseen = f64::from(unseen) + self.scales.hide_unseen(&mut seen);
        let mut exponentials = vec![0.0; self.classes];
        // Averaged over its variance a label has log odds of about $m/\sqrt{1+\pi s/8}$, so a power
        // of its probability is that of a larger $m$.
        let power = self.mixture.sharpening.as_ref().map_or(1.0, Sharpening::power);
        let mut parts = Vec::with_capacity(self.mixture.members.len());
        for member in &self.mixture.members {
            let added = unseen * BLOCK_SHARE * member.prior_size;
            let belief = |block: &FactoredBelief| {
                let variance = block.covariance.variance(&seen) + added;
                let believed = member.variance_share * variance;
                LinearRow::new(power * dot(&seen, block.coefficients()), believed)
            };
            let mut rows: Vec<LinearRow> = member.blocks.iter().map(belief).collect();
            softmax_odds(&mut rows, &mut exponentials);
            let LinearRow { m, s, .. } = rows[class];
            parts.push((member.standing.weight, Prediction::new(Bernoulli, m, s)?));
        }
        MixturePrediction::new(parts)
    }

    /// Adds the probabilities of a block to `mixed`.
    fn add_block(&self, rows: Inputs<'_>, scratch: &mut Scratch, mixed: &mut [f64]) {
        let n = rows.len();
        scratch.seen.clear();
        scratch.seen.extend_from_slice(rows.features());
        scratch.unseen.clear();
        scratch.unseen.extend((0..n).map(|i| f64::from(rows.unseen(i))));
        if self.scales.incomplete() {
            let seen = scratch.seen.chunks_exact_mut(self.dim);
            for (x, unseen) in seen.zip(&mut scratch.unseen) {
                *unseen += self.scales.hide_unseen(x);
            }
        }
        scratch.linear.resize(n * self.classes, 0.0);
        scratch.variance.resize(n * self.classes, 0.0);
        scratch.row.resize(self.classes, LinearRow::new(0.0, 0.0));
        scratch.own.resize(self.classes, 0.0);
        for member in &self.mixture.members {
            self.add_member(member, n, scratch, mixed);
        }
        if let Some(sharpening) = &self.mixture.sharpening {
            mixed.chunks_exact_mut(self.classes).for_each(|row| sharpening.apply(row));
        }
    }

    /// Adds a member's share to the probabilities of a block of `n` rows.
    fn add_member(&self, member: &Member, n: usize, scratch: &mut Scratch, mixed: &mut [f64]) {
        let Scratch { linear, variance, row, own, seen, unseen } = scratch;
        let parts = linear.chunks_exact_mut(n).zip(variance.chunks_exact_mut(n));
        for (block, (linear, variance)) in member.blocks.iter().zip(parts) {
            row_products(seen, self.dim, &block.theta, linear);
            block.covariance.variances(seen, variance, Threads::ONE);
        }
        for (i, mixed) in mixed.chunks_exact_mut(self.classes).enumerate() {
            let added = unseen[i] * BLOCK_SHARE * member.prior_size;
            for (k, row) in row.iter_mut().enumerate() {
                let believed = member.variance_share * (variance[k * n + i] + added);
                *row = LinearRow::new(linear[k * n + i], believed);
            }
            softmax_probabilities(row, own);
            add_scaled(member.standing.weight, own, mixed);
        }
    }
}
