//! Probabilities of the levels at new rows.

use super::Ordinal;
use super::member::Member;
use super::probabilities::level_probabilities;
use crate::covariance::Kernel;
use crate::error::Result;
use crate::learner::categorical::add_scaled;
use crate::learner::class_predictions::{predict_in_blocks, predict_one, refuse_offsets};
use crate::linalg::{Threads, row_products};
use crate::rows::{Inputs, check_features};
use crate::rule::LinearRow;

/// The beliefs of one member about the rows of a block.
#[derive(Default)]
struct Scratch {
    /// Row after row, the features of each $q_k$.
    z: Vec<f64>,
    /// Of each row, the number of features that no row had.
    unseen: Vec<f64>,
    linear: Vec<f64>,
    variance: Vec<f64>,
    /// Of one row.
    cuts: Vec<LinearRow>,
    own: Vec<f64>,
}

impl Ordinal {
    /// The probability of each level at `x`, averaged over what is not known of the coefficients
    /// and cutpoints; they sum to 1.
    pub fn predict(&self, x: &[f64]) -> Result<Vec<f64>> {
        check_features(x, self.layout.dim)?;
        let inputs = Inputs::new(self.layout.dim, x)?;
        predict_one(|take| self.predict_many(inputs, take))
    }

    /// Calls `take(i, probabilities)` with the probability of each level of each row, in order. The
    /// first error ends it; an illegal row is found before the first call. Offsets must be 0.
    pub fn predict_many(
        &self,
        inputs: Inputs<'_>,
        take: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<()> {
        inputs.check(self.layout.dim)?;
        let offsets = (0..inputs.len()).map(|i| inputs.offset(i));
        refuse_offsets(offsets, "must be 0: ordered levels take no offset")?;
        let mut scratch = Scratch::default();
        predict_in_blocks(inputs, self.layout.levels, take, |rows, mixed| {
            self.add_block(rows, &mut scratch, mixed);
        })
    }

    /// Adds the probabilities of a block to `mixed`.
    fn add_block(&self, rows: Inputs<'_>, scratch: &mut Scratch, mixed: &mut [f64]) {
        let cuts = self.layout.cuts();
        scratch.z.clear();
        scratch.unseen.clear();
        for i in 0..rows.len() {
            let mut x = self.layout.without_constant(rows.x(i));
            let hidden = self.scales.hide_unseen(&mut x);
            scratch.unseen.push(f64::from(rows.unseen(i)) + hidden);
            (0..cuts).for_each(|cut| self.layout.push_cut(cut, &x[1..], &mut scratch.z));
        }
        scratch.linear.resize(rows.len() * cuts, 0.0);
        scratch.variance.resize(rows.len() * cuts, 0.0);
        scratch.cuts.resize(cuts, LinearRow::new(0.0, 0.0));
        scratch.own.resize(self.layout.levels, 0.0);
        for member in &self.mixture.members {
            self.add_member(member, scratch, mixed);
        }
    }

    /// Adds a member's share to the probabilities of a block.
    fn add_member(&self, member: &Member, scratch: &mut Scratch, mixed: &mut [f64]) {
        let Scratch { z, unseen, linear, variance, cuts, own } = scratch;
        row_products(z, self.layout.size(), &member.belief.theta, linear);
        member.belief.covariance.variances(z, variance, Threads::ONE);
        let beliefs = linear.chunks_exact(cuts.len()).zip(variance.chunks_exact(cuts.len()));
        let rows = mixed.chunks_exact_mut(own.len()).zip(&*unseen).zip(beliefs);
        for ((mixed, unseen), (linear, variance)) in rows {
            let added = unseen * member.prior_size;
            for (cut, (m, s)) in cuts.iter_mut().zip(linear.iter().zip(variance)) {
                *cut = LinearRow::new(*m, s + added);
            }
            level_probabilities(cuts, own);
            add_scaled(member.standing.weight, own, mixed);
        }
    }
}
