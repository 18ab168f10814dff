//! A cheap watch for drift beside a static learner.
//!
//! [`Scores`] hold the evidence that the coefficients move, and a [`Corrector`] measures what
//! following them gains. A drift is detected if the evidence is beyond doubt and following it pays.

use super::corrector::{Corrector, LossAt};
use super::scores::{BATCH, Scores};
use crate::error::{Result, require_count};
use crate::family::Family;
use crate::rows::Observation;
use serde::{Deserialize, Serialize};

/// Squared steady-state gain of the corrector: a memory of about 300 rows.
const SQUARED_GAIN: f64 = 1e-5;
/// Smallest weight of a new batch in the sizes of the corrector's features.
const SIZE_RATE: f64 = 1.0 / 32.0;
/// Smallest recent gain, in nats per row, that is worth following.
const MIN_GAIN: f64 = 1e-3;

/// How much following a drift would have gained.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DriftReport {
    /// Rows watched.
    pub rows: u64,
    /// Loss per row, at unit dispersion (for normal noise half the squared error), that following
    /// the drift would have saved at least; negative if it would have cost more.
    pub gain: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Rows learned when a drift was detected, if it was.
    pub detected_at: Option<u64>,
}

impl DriftReport {
    /// Whether a drift was detected beyond doubt.
    pub fn drift(&self) -> bool {
        self.detected_at.is_some()
    }
}

/// What the sentinel sees of a row beside the observation.
pub(in crate::learner) struct WatchedRow<'a> {
    pub x: &'a [f64],
    /// The static learner's linear predictor, without the offset.
    pub linear: f64,
    /// The dispersion.
    pub dispersion: f64,
    /// Its inverse if it is no parameter of the family, else 1.
    pub precision: f64,
    /// Rows learned, this one included.
    pub count: u64,
    /// Center of each feature, in units of feature 0.
    pub centers: &'a [f64],
    /// Sentinels that watch the same rows; the more there are, the more evidence each needs.
    pub watches: usize,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(in crate::learner) struct Sentinel {
    #[serde(default)]
    corrector: Corrector,
    rows: u64,
    /// Sums of the curvature and of the squares of the corrector's features, over the batch in
    /// progress, and their recent means.
    #[serde(default)]
    sums: [f64; 3],
    #[serde(default)]
    sizes: [f64; 3],
    /// Process noise that the means give the corrector, renewed after each batch.
    #[serde(default)]
    noise: [f64; 2],
    #[serde(default)]
    scores: Scores,
    #[serde(default)]
    detected_at: Option<u64>,
}

impl Sentinel {
    /// Watches a row that the static learner predicted, with its loss per unit dispersion.
    pub fn row<F: Family>(&mut self, family: &F, observation: &Observation, row: &WatchedRow<'_>) {
        if observation.weight == 0.0 {
            return;
        }
        self.rows += 1;
        let u = row.linear + observation.offset;
        let features = [row.x.first().copied().unwrap_or(0.0), self.scores.along(row.x)];
        let still = LossAt::new(family, observation.y, u, row.precision);
        self.sums[0] += still.second;
        self.sums[1] += features[0] * features[0];
        self.sums[2] += features[1] * features[1];
        self.corrector.row(family, observation.y, u, &still, features, self.noise);
        // Per unit dispersion the size of the scores would follow its estimate.
        let scale = observation.weight * row.dispersion;
        self.scores.row(row.x, -scale * still.first, scale * scale * still.second);
        if self.scores.is_complete() {
            self.close_batch(row);
        }
    }

    #[inline(never)]
    fn close_batch(&mut self, row: &WatchedRow<'_>) {
        self.scores.close(row.centers);
        let batches = self.rows as f64 / f64::from(BATCH);
        let rate = SIZE_RATE.max(1.0 / batches);
        for (size, sum) in self.sizes.iter_mut().zip(&mut self.sums) {
            *size += (std::mem::take(sum) / f64::from(BATCH) - *size) * rate;
        }
        let [curvature, sizes @ ..] = self.sizes;
        // a feature that has been 0 so far waits
        self.noise = sizes.map(|size| {
            let noise = SQUARED_GAIN / (curvature * size);
            if noise.is_finite() { noise } else { 0.0 }
        });
        let pays = self.corrector.recent > MIN_GAIN;
        if self.detected_at.is_none() && pays && self.scores.certain(row.watches) {
            self.detected_at = Some(row.count);
        }
    }

    /// Whether a drift was detected.
    /// Checks a restored value.
    pub fn check(&self, dim: usize) -> Result<()> {
        require_count("rows", self.rows)?;
        self.scores.check(dim)
    }

    pub fn detected(&self) -> bool {
        self.detected_at.is_some()
    }

    /// Rows of an older file, which has no evidence to continue from, are forgotten.
    pub fn restored(self) -> Self {
        if self.rows > 0 && self.scores.is_empty() { Self::default() } else { self }
    }

    /// The corrector's gain, in losses of unit dispersion.
    pub fn report(&self, dispersion: f64) -> DriftReport {
        let n = self.rows.max(1) as f64;
        let gain = self.corrector.gain / n;
        let variance = (self.corrector.square / n - gain * gain).max(0.0) / n;
        DriftReport {
            rows: self.rows,
            gain: dispersion * gain,
            standard_error: dispersion * variance.sqrt(),
            detected_at: self.detected_at,
        }
    }
}
