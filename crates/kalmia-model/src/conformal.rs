//! Conformal intervals of a model: what a front end needs to make them and to report them.

use crate::error::{Error, Result};
use crate::summary::Dispersion;
use kalmia::evaluate::{Conformal, ConformalReport, Metrics, Predicted};
use kalmia::predict::{Interval, MixturePrediction};
use kalmia::{AnyFamily, AnyLearner, Family};
use serde::Serialize;

/// Makes the conformal intervals of a model, with the thresholds as they are after its rows.
#[derive(Debug, Clone)]
pub struct ConformalIntervals {
    conformal: Conformal,
    dispersion: f64,
}

impl ConformalIntervals {
    /// Of a learner and the metrics of its rows. Refuses metrics without conformal intervals.
    pub fn new(learner: &AnyLearner, metrics: &Metrics) -> Result<Self> {
        let conformal = metrics.conformal().ok_or(Error::NotConformal)?.clone();
        Ok(Self { conformal, dispersion: Dispersion::of(learner).value.unwrap_or(1.0) })
    }

    /// Refuses a level above 0.99, or that is no probability.
    pub fn check_level(level: f64) -> Result<()> {
        Conformal::check_level(level).map_err(|_| Error::ConformalLevel { level })
    }

    /// The learner's dispersion, for [`Predicted::dispersion`].
    pub fn dispersion(&self) -> f64 {
        self.dispersion
    }

    /// The interval of the target of a row predicted like this.
    pub fn interval_of(&self, row: &Predicted, level: f64) -> kalmia::Result<Interval> {
        self.conformal.interval(row, level)
    }

    /// The interval of the target of a row that the learner predicted.
    pub fn interval(
        &self,
        prediction: &MixturePrediction<AnyFamily>,
        level: f64,
    ) -> kalmia::Result<Interval> {
        self.interval_of(&Predicted::new(prediction, self.dispersion), level)
    }
}

/// Metrics that also learn conformal intervals. Refuses a family that has none.
pub fn with_conformal(metrics: Metrics) -> Result<Metrics> {
    let family = metrics.progressive.family().name().to_owned();
    metrics.with_conformal().map_err(|_| Error::NoConformal { family })
}

/// Coverage and mean width of 95 % intervals, the conformal ones beside the model's own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConformalScores {
    /// Rows judged.
    pub rows: u64,
    /// Share of rows inside the conformal interval.
    pub coverage: f64,
    /// Its mean width.
    pub width: f64,
    /// Share of rows inside the model's own interval.
    pub model_coverage: f64,
    /// Its mean width.
    pub model_width: f64,
}

impl ConformalScores {
    /// Of the rows that a model has learned; `None` without conformal intervals, or before the
    /// 33rd row.
    pub fn of(metrics: &Metrics) -> Option<Self> {
        let report = metrics.conformal()?.report();
        let ConformalReport { rows, covered, width, model_covered, model_width } = report;
        (rows > 0).then_some(Self {
            rows,
            coverage: covered,
            width,
            model_coverage: model_covered,
            model_width,
        })
    }
}

/// Sums over rows that a model predicts without learning them.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConformalSums {
    rows: u64,
    covered: u64,
    width: f64,
    model_covered: u64,
    model_width: f64,
}

impl ConformalSums {
    /// Counts a row by its two intervals.
    pub fn row(&mut self, y: f64, conformal: Interval, model: Interval) {
        let inside = |interval: Interval| u64::from(interval.lower <= y && y <= interval.upper);
        self.rows += 1;
        self.covered += inside(conformal);
        self.width += conformal.upper - conformal.lower;
        self.model_covered += inside(model);
        self.model_width += model.upper - model.lower;
    }

    /// The averages; `None` before the first row.
    pub fn scores(&self) -> Option<ConformalScores> {
        let mean = |sum: f64| sum / self.rows as f64;
        (self.rows > 0).then(|| ConformalScores {
            rows: self.rows,
            coverage: mean(self.covered as f64),
            width: mean(self.width),
            model_coverage: mean(self.model_covered as f64),
            model_width: mean(self.model_width),
        })
    }
}
