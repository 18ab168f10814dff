//! Predictions of a filter, row by row and in batches.

use super::Filter;
use crate::covariance::Covariance;
use crate::error::{Result, require_len};
use crate::family::Family;
use crate::learner::labels::{LabelBelief, PREDICTED_ROWS, predict_labels};
use crate::learner::{Learner, Predict, predict_densified};
use crate::linalg::row_products;
use crate::predict::Prediction;
use crate::rows::Inputs;
use crate::rule::Rule;
use crate::sparse::SparseInputs;

impl<F: Family, R: Rule, C: Covariance> Predict for Filter<F, R, C> {
    type Family = F;
    type Prediction = Prediction<F>;

    fn family(&self) -> F {
        self.family.clone()
    }

    fn predict(&self, x: &[f64], offset: f64) -> Result<Prediction<F>> {
        let m = self.linear(x)?;
        Prediction::new(self.family.clone(), m + offset, self.belief.covariance.variance(x))
    }

    fn predict_many(
        &self,
        inputs: Inputs<'_>,
        take: &mut dyn FnMut(usize, &Prediction<F>) -> Result<()>,
    ) -> Result<()> {
        inputs.check(self.dim())?;
        let mut linear = vec![0.0; PREDICTED_ROWS.min(inputs.len())];
        let mut variance = linear.clone();
        let level = self.new_variance();
        for (first, rows) in inputs.blocks(PREDICTED_ROWS) {
            let linear = &mut linear[..rows.len()];
            let variance = &mut variance[..rows.len()];
            row_products(rows.features(), self.dim(), &self.belief.theta, linear);
            self.belief.covariance.variances(rows.features(), variance, self.threads);
            for i in 0..rows.len() {
                let m = linear[i] + rows.offset(i);
                let s = variance[i] + f64::from(rows.unseen(i)) * level;
                take(first + i, &Prediction::new(self.family.clone(), m, s)?)?;
            }
        }
        Ok(())
    }

    fn predict_sparse(
        &self,
        inputs: SparseInputs<'_>,
        take: &mut dyn FnMut(usize, &Prediction<F>) -> Result<()>,
    ) -> Result<()> {
        match self.predict_as_sparse(inputs, take) {
            Some(predicted) => predicted,
            None => predict_densified(self, inputs, take),
        }
    }

    fn predict_means(&self, inputs: Inputs<'_>, means: &mut [f64]) -> Result<()> {
        require_len("means", means.len(), inputs.len())?;
        if self.family.normal_noise().is_none() {
            return self.predict_many(inputs, &mut |i, prediction| {
                means[i] = prediction.mean;
                Ok(())
            });
        }
        inputs.check(self.dim())?;
        row_products(inputs.features(), self.dim(), &self.belief.theta, means);
        means.iter_mut().enumerate().for_each(|(i, mean)| *mean += inputs.offset(i));
        Ok(())
    }

    fn predict_labels(&self, inputs: Inputs<'_>, labels: &mut [bool]) -> Result<()> {
        let belief = LabelBelief::new(&self.belief.theta, &self.belief.covariance);
        predict_labels(self, inputs, &[belief], labels)
    }

    fn covariance_entry(&self, i: usize, j: usize) -> Option<f64> {
        Some(self.belief.covariance.entry(i, j))
    }

    /// The new coefficient has the prior variance of the last one (1 if it is the first).
    fn grow(&mut self) -> Result<()> {
        self.grow_with(self.new_variance())
    }

    fn shrink(&mut self) -> Result<()> {
        self.drop_last()
    }
}
