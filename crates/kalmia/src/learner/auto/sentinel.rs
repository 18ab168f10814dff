//! A cheap watch for drift beside a static learner.
//!
//! [`Scores`] hold the evidence that the coefficients move, and two correctors (memories of about
//! 100 and 1000 rows) measure what following them gains. A drift is detected if the evidence is
//! beyond doubt and following it pays.

use super::corrector::{Corrector, LossAt};
use super::scores::Scores;
use crate::family::Family;
use crate::rows::Observation;
use serde::{Deserialize, Serialize};

/// Squared steady-state gains of the correctors.
const SQUARED_GAINS: [f64; 2] = [1e-4, 1e-6];
/// Smallest recent gain, in nats per row, that is worth following.
const MIN_GAIN: f64 = 1e-3;

/// How much following a drift would have gained.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DriftReport {
    /// Rows watched.
    pub rows: u64,
    /// Loss per row that following the drift would have saved at least; negative if it would have
    /// cost more.
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
pub(super) struct WatchedRow<'a> {
    pub x: &'a [f64],
    /// The static learner's linear predictor, without the offset.
    pub linear: f64,
    /// The family's dispersion.
    pub dispersion: f64,
    /// Rows learned, this one included.
    pub count: u64,
    /// Center of each feature, in units of feature 0.
    pub centers: &'a [f64],
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Sentinel {
    #[serde(rename = "walkers")]
    correctors: [Corrector; SQUARED_GAINS.len()],
    /// Mean curvature, and mean square of the correctors' features: they set the correctors' scale.
    curvature: f64,
    size: f64,
    #[serde(default)]
    first_size: f64,
    rows: u64,
    #[serde(default)]
    scores: Scores,
    #[serde(default)]
    detected_at: Option<u64>,
}

impl Sentinel {
    /// Watches a row that the static learner predicted, with its loss per unit dispersion.
    pub fn row<F: Family>(
        &mut self,
        family: &F,
        observation: &Observation,
        row: &WatchedRow<'_>,
    ) {
        if observation.weight == 0.0 {
            return;
        }
        self.rows += 1;
        let rate = 1.0 / self.rows as f64;
        let u = row.linear + observation.offset;
        let first = row.x.first().copied().unwrap_or(0.0);
        let along = self.scores.along(row.x);
        let still = LossAt::new(family, observation.y, u);
        self.curvature += (still.second - self.curvature) * rate;
        self.size += (along * along - self.size) * rate;
        self.first_size += (first * first - self.first_size) * rate;
        let curvature = self.curvature.max(1e-12);
        let units = [self.first_size, self.size].map(|size| 1.0 / (curvature * size.max(1e-12)));
        for (corrector, q) in self.correctors.iter_mut().zip(SQUARED_GAINS) {
            let noise = units.map(|unit| q * unit);
            corrector.row(family, observation.y, u, &still, [first, along], noise);
        }
        // Per unit dispersion the size of the scores would follow its estimate.
        let scale = observation.weight * row.dispersion;
        let score = -scale * still.first;
        let expected = scale * scale * still.second;
        if self.scores.row(row.x, score, expected, row.centers) && self.detected_at.is_none() {
            let pays = self.correctors.iter().any(|corrector| corrector.recent > MIN_GAIN);
            self.detected_at = (pays && self.scores.certain()).then_some(row.count);
        }
    }

    /// Whether a drift was detected.
    pub fn detected(&self) -> bool {
        self.detected_at.is_some()
    }

    /// Rows of an older file, which has no evidence to continue from, are forgotten.
    pub fn restored(self) -> Self {
        if self.rows > 0 && self.scores.is_empty() { Self::default() } else { self }
    }

    /// The better corrector's gain in nats.
    pub fn report(&self) -> DriftReport {
        let n = self.rows.max(1) as f64;
        let best = self
            .correctors
            .iter()
            .max_by(|a, b| a.gain.total_cmp(&b.gain))
            .expect("two correctors");
        let gain = best.gain / n;
        DriftReport {
            rows: self.rows,
            gain,
            standard_error: ((best.square / n - gain * gain).max(0.0) / n).sqrt(),
            detected_at: self.detected_at,
        }
    }
}
