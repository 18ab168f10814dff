//! Predictions of the mixture.

use super::Wide;
use super::belief::RowSums;
use super::row::{RowEntries, SparseParts};
use crate::error::{Error, Result, require};
use crate::family::{Family, FastPaths};
use crate::learner::auto::bank::MemberBelief;
use crate::learner::auto::predict::{member_prediction, moderate};
use crate::learner::{Learner, Predict};
use crate::predict::{MixturePrediction, Prediction};
use crate::rows::{Inputs, check_features};
use crate::sparse::{SparseInputs, SparseRow};

impl<F: Family> Wide<F> {
    /// The members' predictions of a row.
    fn parts(
        &self,
        x: SparseRow<'_>,
        offset: f64,
        unseen: u32,
        row: &mut RowEntries,
        parts: &mut Vec<(f64, Prediction<F>)>,
    ) -> Result<()> {
        self.features.look_up(x, self.count, row);
        row.unseen += f64::from(unseen);
        let RowSums { m, s } = self.belief.sums(row, &self.priors());
        parts.clear();
        for (k, member) in self.members.all.iter().enumerate() {
            let belief = MemberBelief {
                weight: member.weight,
                prior_size: member.assumption.prior_size,
                residual: member.residual,
                linear: m[k],
                variance: member.assumption.share * s[k].max(0.0),
            };
            let prediction = member_prediction(&self.family, &self.dispersion, belief, offset)?;
            parts.push((member.weight, prediction));
        }
        Ok(())
    }

    /// $\theta^\top x$ at the mixture's mean.
    pub(super) fn mean_linear(&self, x: SparseRow<'_>) -> f64 {
        let mut row = RowEntries::new(self.numbers());
        self.features.look_up(x, self.count, &mut row);
        let RowSums { m, .. } = self.belief.sums(&row, &self.priors());
        self.members.all.iter().zip(m).map(|(member, m)| member.weight * m).sum()
    }
}

impl<F: Family> Predict for Wide<F> {
    type Family = F;
    type Prediction = MixturePrediction<F>;

    fn family(&self) -> F {
        self.family.fast().with_dispersion_unchecked(self.loss_divisor())
    }

    /// Column `j` of a dense row is feature `j`.
    fn predict(&self, x: &[f64], offset: f64) -> Result<MixturePrediction<F>> {
        check_features(x, x.len())?;
        require(offset.is_finite(), "offset", offset, "must be finite")?;
        let dense = SparseParts::of_dense(x, x.len(), 1);
        let mut row = RowEntries::new(self.numbers());
        let mut parts = Vec::new();
        self.parts(dense.row(0), offset, 0, &mut row, &mut parts)?;
        let mut mixture = MixturePrediction::new(parts)?;
        moderate(&self.family, &mut mixture);
        Ok(mixture)
    }

    fn predict_many(
        &self,
        inputs: Inputs<'_>,
        take: &mut dyn FnMut(usize, &MixturePrediction<F>) -> Result<()>,
    ) -> Result<()> {
        inputs.check(inputs.dim())?;
        let dense = SparseParts::of_dense(inputs.features(), inputs.dim(), inputs.len());
        self.predict_sparse(SparseInputs::with_extras(dense.matrix()?, inputs), take)
    }

    fn predict_sparse(
        &self,
        inputs: SparseInputs<'_>,
        take: &mut dyn FnMut(usize, &MixturePrediction<F>) -> Result<()>,
    ) -> Result<()> {
        inputs.check(u64::MAX)?;
        let mut row = RowEntries::new(self.numbers());
        let mut parts = Vec::new();
        let mut mixture = None;
        for i in 0..inputs.len() {
            self.parts(inputs.x(i), inputs.offset(i), inputs.unseen(i), &mut row, &mut parts)
                .map_err(|error| error.at_row(i))?;
            let mixture = MixturePrediction::refill(&mut mixture, parts.drain(..))?;
            moderate(&self.family, mixture);
            take(i, mixture)?;
        }
        Ok(())
    }

    /// Of two coefficients in the order of [`Wide::features`]. Two features outside the core are
    /// independent within a member.
    fn covariance_entry(&self, i: usize, j: usize) -> Option<f64> {
        (i < self.dim() && j < self.dim()).then(|| self.entry(i, j))
    }

    fn standard_errors(&self) -> Option<Vec<f64>> {
        Some(self.deviations())
    }

    fn degrees_of_freedom(&self) -> f64 {
        self.dispersion.degrees()
    }

    fn grow(&mut self) -> Result<()> {
        Err(Error::State("a wide learner takes new features by itself, from the rows".into()))
    }
}
