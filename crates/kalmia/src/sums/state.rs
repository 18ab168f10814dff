//! Sums as they are stored and shipped.

use super::Sums;
use super::row_terms::Worker;
use super::totals::{Scalars, Totals};
use crate::error::Result;
use crate::family::Family;
use serde::{Deserialize, Serialize};

/// Everything that [`Sums`] need to be merged or continued elsewhere: $d^2 + 3d$ numbers for $d$
/// coefficients with squared scores, half as many without.
///
/// Each sum is rounded once. A merge on the other side carries its own rounding errors, so the
/// total of any number of shipped parts is off by one rounding per level of the tree of merges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SumsState<F> {
    /// The family.
    pub family: F,
    /// $\theta$.
    pub theta: Vec<f64>,
    /// Number of rows.
    pub rows: u64,
    /// Sum of the weights.
    pub weight: f64,
    /// Rows that the dispersion rests on: the sum of the weights, or the number of rows with weight
    /// if a weight is a number of trials.
    pub effective_rows: f64,
    /// The deviance.
    pub deviance: f64,
    /// Pearson's statistic.
    pub pearson: f64,
    /// The gradient.
    pub gradient: Vec<f64>,
    /// The lower triangle of the information, column after column.
    #[serde(with = "crate::covariance::packed")]
    pub information: Vec<f64>,
    /// The lower triangle of the squared scores, or empty.
    #[serde(with = "crate::covariance::packed")]
    pub squared_scores: Vec<f64>,
}

impl<F: Family> Sums<F> {
    /// The state, to be stored or shipped.
    pub fn state(&self) -> SumsState<F> {
        SumsState {
            family: self.family.clone(),
            theta: self.theta.clone(),
            rows: self.rows(),
            weight: self.weight(),
            effective_rows: self.scalars.effective_rows(),
            deviance: self.deviance(),
            pearson: self.pearson(),
            gradient: self.gradient(),
            information: self.packed_information(),
            squared_scores: self.packed_scores(),
        }
    }

    /// Sums that continue from a state. Refuses lengths that do not fit, numbers that are not
    /// finite, and negative ones among those that cannot be negative.
    pub fn restore(state: SumsState<F>) -> Result<Self> {
        let dim = state.theta.len();
        let totals =
            Totals::restore(dim, &state.gradient, &state.information, &state.squared_scores)?;
        let numbers = [state.weight, state.effective_rows, state.deviance, state.pearson];
        let scalars = Scalars::restore(state.rows, numbers)?;
        let mut sums = Self::new(state.family, &state.theta)?;
        if totals.scores.is_some() {
            sums = sums.with_scores()?;
        }
        sums.workers = vec![Worker::new(totals)];
        sums.scalars = scalars;
        Ok(sums)
    }
}
