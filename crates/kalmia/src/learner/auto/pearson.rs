//! Pearson's estimate of the dispersion, from rows at known coefficients.

use super::dispersion::{Dispersion, Kind};
use super::outliers::noise_share;
use crate::family::Family;
use crate::rows::{Observation, Rows};

/// Largest contribution of one row to Pearson's sum, in units of the estimate.
pub(super) const MAX_PEARSON: f64 = 100.0;

/// Range of the guess.
const MIN_GUESS: f64 = 1e-9;
const MAX_GUESS: f64 = 1e9;

impl Dispersion {
    /// Takes the guess from a residual sum of the rows so far.
    pub fn guess_from(&mut self, residual: f64) {
        let least = if self.kind == Kind::Quasi { 1.0 } else { MIN_GUESS };
        self.guess = (residual / self.rows).clamp(least, MAX_GUESS);
    }

    /// The residual sum of rows already learned, at the coefficients after them; only for Pearson's
    /// estimator, because residuals before the coefficients are known are no use to it.
    pub fn refit<F: Family>(&self, family: &F, rows: Rows<'_>, theta: &[f64]) -> Option<f64> {
        let n = rows.len() as f64;
        let d = rows.dim() as f64;
        if !self.is_pearson() || n < d + 2.0 {
            return None;
        }
        let mut counted = 0.0;
        let mut row = |i: usize| {
            let observation = rows.observation(i);
            let Observation { y, weight, offset } = observation;
            let m: f64 = theta.iter().zip(rows.x(i)).map(|(t, x)| t * x).sum();
            let largest = MAX_PEARSON * self.guess * self.rows_of(weight);
            let share = match self.judge() {
                Some(judge) => noise_share(judge.share_at(family, &observation, m, 0.0)),
                None => 1.0,
            };
            counted += share * self.rows_of(weight);
            share * (weight * pearson(family, y, m + offset)).min(largest)
        };
        let sum = (0..rows.len()).map(&mut row).sum::<f64>();
        let rows = if self.downweighting.is_some() { self.rows / counted } else { 1.0 };
        Some(sum * n / (n - d) * rows)
    }
}

/// Pearson's squared residual under unit dispersion; 0 where both the residual and the variance
/// vanish.
pub(super) fn pearson<F: Family>(family: &F, y: f64, u: f64) -> f64 {
    let residual = y - family.mean(u);
    residual * residual / family.variance(u).max(f64::MIN_POSITIVE)
}
