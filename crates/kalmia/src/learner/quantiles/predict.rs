//! Predictions of all levels, in ascending order.

use super::Quantiles;
use crate::error::Result;
use crate::learner::Predict;
use crate::rows::Inputs;
use crate::sparse::SparseInputs;

/// Rows that are predicted level after level.
const CHUNK: usize = 1024;

impl Quantiles {
    /// The quantiles of the target at `x`, one per level in ascending order.
    pub fn predict(&self, x: &[f64], offset: f64) -> Result<Vec<f64>> {
        let level = |level: &crate::learner::Auto<_>| Ok(level.predict(x, offset)?.mean);
        let mut predictions = self.levels.iter().map(level).collect::<Result<Vec<f64>>>()?;
        predictions.sort_by(f64::total_cmp);
        Ok(predictions)
    }

    /// Calls `take(i, quantiles)` for each row, in order. Faster than [`predict`](Self::predict)
    /// row by row, with the same results up to rounding. The first error ends it; an illegal row is
    /// found before the first call.
    pub fn predict_many(
        &self,
        inputs: Inputs<'_>,
        take: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<()> {
        inputs.check(self.dim())?;
        let count = self.levels.len();
        let mut predicted = vec![0.0; count * inputs.len().min(CHUNK)];
        for (first, part) in inputs.blocks(CHUNK) {
            for (k, level) in self.levels.iter().enumerate() {
                level.predict_many(part, &mut |i, prediction| {
                    predicted[i * count + k] = prediction.mean;
                    Ok(())
                })?;
            }
            for (i, predictions) in predicted.chunks_exact_mut(count).take(part.len()).enumerate() {
                predictions.sort_by(f64::total_cmp);
                take(first + i, predictions)?;
            }
        }
        Ok(())
    }

    /// As [`predict_many`](Self::predict_many), for sparse rows.
    pub fn predict_sparse(
        &self,
        inputs: SparseInputs<'_>,
        take: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<()> {
        inputs.check(self.dim() as u64)?;
        for first in (0..inputs.len()).step_by(CHUNK) {
            let rows = first..inputs.len().min(first + CHUNK);
            inputs.densified(self.dim(), rows, |rows| {
                self.predict_many(rows, &mut |i, predictions| take(first + i, predictions))
            })?;
        }
        Ok(())
    }
}
