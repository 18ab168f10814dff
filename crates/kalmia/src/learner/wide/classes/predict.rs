//! Probabilities of the classes at new rows.

use super::learn::believe;
use super::{RowSums, WideCategorical};
use crate::error::Result;
use crate::family::Bernoulli;
use crate::learner::categorical::add_scaled;
use crate::learner::class_predictions::{predict_one, refuse_offsets, require_rival};
use crate::learner::wide::row::{RowEntries, SparseParts};
use crate::predict::{MixturePrediction, Prediction};
use crate::rows::{Inputs, check_features};
use crate::rule::{LinearRow, softmax_odds, softmax_probabilities};
use crate::sparse::{SparseInputs, SparseRow};

/// One row, class after class.
struct RowScratch {
    row: RowEntries,
    sums: Vec<RowSums>,
    linear: Vec<LinearRow>,
    own: Vec<f64>,
}

impl RowScratch {
    fn new(learner: &WideCategorical) -> Self {
        let classes = learner.classes();
        Self {
            row: RowEntries::new(learner.numbers()),
            sums: vec![RowSums::ZERO; classes],
            linear: vec![LinearRow::new(0.0, 0.0); classes],
            own: vec![0.0; classes],
        }
    }
}

impl WideCategorical {
    /// The probability of each class at a dense row, in which column `j` is feature `j`; see
    /// [`predict_sparse`](Self::predict_sparse).
    pub fn predict(&self, x: &[f64]) -> Result<Vec<f64>> {
        check_features(x, x.len())?;
        let inputs = Inputs::new(x.len(), x)?;
        predict_one(|take| self.predict_many(inputs, take))
    }

    /// As [`predict_sparse`](Self::predict_sparse), for dense rows.
    pub fn predict_many(
        &self,
        inputs: Inputs<'_>,
        take: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<()> {
        inputs.check(inputs.dim())?;
        let parts = SparseParts::of_dense(inputs.features(), inputs.dim(), inputs.len());
        self.predict_sparse(SparseInputs::with_extras(parts.matrix()?, inputs), take)
    }

    /// Calls `take(i, probabilities)` with the probability of each class of each row, in order,
    /// averaged over what is not known of the coefficients; they sum to 1. A feature that no row
    /// had makes a row less certain. The first error ends it; an illegal row is found before the
    /// first call. Offsets must be 0.
    pub fn predict_sparse(
        &self,
        inputs: SparseInputs<'_>,
        take: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<()> {
        inputs.check(u64::MAX)?;
        let offsets = (0..inputs.len()).map(|i| inputs.offset(i));
        refuse_offsets(offsets, "must be 0: all classes would share it")?;
        let mut scratch = RowScratch::new(self);
        let mut mixed = vec![0.0; self.classes()];
        for i in 0..inputs.len() {
            self.look_at(inputs.x(i), inputs.unseen(i), &mut scratch);
            let RowScratch { sums, linear, own, .. } = &mut scratch;
            mixed.fill(0.0);
            for (k, member) in self.members.all.iter().enumerate() {
                believe(member.assumption.share, k, sums, linear);
                softmax_probabilities(linear, own);
                add_scaled(member.weight, own, &mut mixed);
            }
            take(i, &mixed)?;
        }
        Ok(())
    }

    /// What is known of class `class` against all others in a row: a belief about the logarithm of
    /// the odds, from which intervals of its probability follow. `unseen` is the number of levels
    /// that no row had. Needs at least two classes.
    pub fn odds(
        &self,
        x: SparseRow<'_>,
        class: usize,
        unseen: u32,
    ) -> Result<MixturePrediction<Bernoulli>> {
        let starts = [0, x.indices.len()];
        crate::sparse::SparseMatrix::new(&starts, x.indices, x.values)?.check(u64::MAX)?;
        require_rival(class, self.classes())?;
        let mut scratch = RowScratch::new(self);
        self.look_at(x, unseen, &mut scratch);
        let RowScratch { sums, linear, own, .. } = &mut scratch;
        let mut parts = Vec::with_capacity(self.members.lanes());
        for (k, member) in self.members.all.iter().enumerate() {
            believe(member.assumption.share, k, sums, linear);
            softmax_odds(linear, own);
            let LinearRow { m, s, .. } = linear[class];
            parts.push((member.weight, Prediction::new(Bernoulli, m, s)?));
        }
        MixturePrediction::new(parts)
    }

    /// As [`odds`](Self::odds), for a dense row.
    pub fn dense_odds(
        &self,
        x: &[f64],
        class: usize,
        unseen: u32,
    ) -> Result<MixturePrediction<Bernoulli>> {
        check_features(x, x.len())?;
        self.odds(SparseParts::of_dense(x, x.len(), 1).row(0), class, unseen)
    }

    /// What all members know of a row, class after class.
    fn look_at(&self, x: SparseRow<'_>, unseen: u32, scratch: &mut RowScratch) {
        let priors = self.priors();
        self.features.look_up(x, self.count, &mut scratch.row);
        scratch.row.unseen += f64::from(unseen);
        for (belief, sums) in self.beliefs.iter().zip(&mut scratch.sums) {
            *sums = belief.sums(&scratch.row, &priors);
        }
    }
}
