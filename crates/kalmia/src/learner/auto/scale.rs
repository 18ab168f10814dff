//! The scale of each feature, from the first rows: what makes the prior relative to the data.

use serde::{Deserialize, Serialize};

/// A spread below this share of the size counts as constant.
const CONSTANT: f64 = 1e-8;

/// Rows from which the spread about the mean is trusted: that of two or three rows may be tiny by
/// chance.
const CENTRED_FROM: f64 = 8.0;

/// Running size of each feature, then its frozen scale.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Scales {
    /// Whether feature 0 is the constant 1, so that the others are centred.
    intercept: bool,
    rows: f64,
    mean: Vec<f64>,
    /// Sum of squared deviations from the mean.
    deviation: Vec<f64>,
    /// Scale in use; 0 while the feature has been zero in every row.
    scale: Vec<f64>,
    centre: Vec<f64>,
}

impl Scales {
    pub fn new(dim: usize, intercept: bool) -> Self {
        let zeros = vec![0.0; dim];
        Self {
            intercept,
            rows: 0.0,
            mean: zeros.clone(),
            deviation: zeros.clone(),
            scale: zeros.clone(),
            centre: zeros,
        }
    }

    pub fn grow(&mut self) {
        for v in [&mut self.mean, &mut self.deviation, &mut self.scale, &mut self.centre] {
            v.push(0.0);
        }
    }

    /// Counts a row of the warm-up.
    pub fn add(&mut self, x: &[f64]) {
        self.rows += 1.0;
        for ((mean, deviation), &x) in self.mean.iter_mut().zip(&mut self.deviation).zip(x) {
            let before = x - *mean;
            *mean += before / self.rows;
            *deviation += before * (x - *mean);
        }
    }

    /// Takes scales (and, with an intercept, centres) from the rows counted so far.
    pub fn settle(&mut self) {
        for j in 0..self.mean.len() {
            let (mean, variance) = (self.mean[j], self.deviation[j] / self.rows.max(1.0));
            let size = (mean * mean + variance).sqrt();
            let spread = variance.sqrt();
            let centred =
                self.intercept && j > 0 && self.rows >= CENTRED_FROM && spread > CONSTANT * size;
            self.scale[j] = if centred { spread } else { size };
            self.centre[j] = if centred { mean } else { 0.0 };
        }
    }

    /// Gives features without a scale that of their first value other than zero; calls `set(j,
    /// scale)` for each.
    #[inline]
    pub fn complete(&mut self, x: &[f64], mut set: impl FnMut(usize, f64)) {
        for (j, (scale, &x)) in self.scale.iter_mut().zip(x).enumerate() {
            if *scale == 0.0 && x != 0.0 {
                *scale = x.abs();
                set(j, *scale);
            }
        }
    }

    /// Whether a row has the first value of a feature that waits for it.
    pub fn completed_by(&self, x: &[f64]) -> bool {
        self.scale.iter().zip(x).any(|(scale, x)| *scale == 0.0 && *x != 0.0)
    }

    /// Takes over the scales of features that only `other` has seen; calls `set(j, scale)` for
    /// each.
    pub fn adopt(&mut self, other: &Self, set: impl FnMut(usize, f64)) {
        let theirs: Vec<f64> = other.scale.clone();
        self.complete(&theirs, set);
    }

    /// Whether a feature still waits for its first value.
    pub fn incomplete(&self) -> bool {
        self.scale.contains(&0.0)
    }

    pub fn has_intercept(&self) -> bool {
        self.intercept
    }

    /// Checks the lengths of a restored value.
    pub fn check(&self, dim: usize) -> crate::error::Result<()> {
        [&self.mean, &self.deviation, &self.scale, &self.centre]
            .iter()
            .try_for_each(|v| crate::error::require_len("scales", v.len(), dim))
    }

    /// Prior variances at `p`, those of unseen features provisional.
    pub fn variances(&self, p: f64) -> Vec<f64> {
        self.scale.iter().map(|&scale| variance(p, scale)).collect()
    }

    pub fn centres(&self) -> &[f64] {
        &self.centre
    }
}

/// $p/r^2$.
pub(super) fn variance(p: f64, scale: f64) -> f64 {
    if scale == 0.0 { p } else { (p / (scale * scale)).clamp(1e-280, 1e280) }
}
