//! What a model of several quantiles reports about itself.

use crate::coefficients::{Coefficient, by_column};
use crate::drift::DriftStatus;
use crate::error::Result;
use crate::model::QuantileModel;
use crate::summary::{LEVEL, LastHalfScores};
use kalmia::evaluate::{Progressive, QuantileMetrics};
use kalmia::{Auto, Predict, Quantile};
use serde::Serialize;

/// A model of several quantiles in numbers, as `fit --json` prints it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuantileSummary {
    /// Rows learned in all.
    pub rows: u64,
    /// Rows left out for a missing value.
    pub skipped: u64,
    /// Missing values replaced.
    pub imputed: u64,
    /// `quantile`.
    pub family: &'static str,
    /// The method's name.
    pub method: &'static str,
    /// The target column.
    pub target: String,
    /// Losses of predictions made before each row was learned.
    pub progressive: QuantileScores,
    /// Coefficients per level.
    pub features: usize,
    /// What was learned of each level, in ascending order.
    pub levels: Vec<QuantileLevel>,
    /// Whether the rows seem sorted by the target; what was learned is then poor.
    pub sorted: bool,
}

/// What was learned of one level.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuantileLevel {
    /// The level.
    pub level: f64,
    /// The learned scale of the targets around the quantile.
    pub dispersion: f64,
    /// The coefficients, with 95 % intervals. Predictions are sorted over the levels, so one may be
    /// that of a neighbor.
    pub coefficients: Vec<Coefficient>,
    /// What was found about drift.
    pub drift: DriftStatus,
}

/// Averages over rows.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuantileScores {
    /// Mean pinball loss, over rows and levels.
    pub loss: f64,
    /// The same of the constant predictors.
    pub baseline_loss: f64,
    /// Each level, in ascending order.
    pub levels: Vec<QuantileLevelScores>,
}

/// Averages over rows for one level.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuantileLevelScores {
    /// The level.
    pub level: f64,
    /// Mean pinball loss.
    pub loss: f64,
    /// Mean pinball loss of the constant predictor, the running quantile.
    pub baseline_loss: f64,
    /// Share of targets that are at most the prediction, close to the level if the model is right.
    pub share_below: f64,
    /// The last half of the rows.
    pub last_half: Option<LastHalfScores>,
}

impl QuantileScores {
    /// From running sums.
    pub fn new(metrics: &QuantileMetrics) -> Self {
        Self {
            loss: metrics.loss(),
            baseline_loss: metrics.constant_loss(),
            levels: metrics.levels().iter().map(QuantileLevelScores::new).collect(),
        }
    }
}

impl QuantileLevelScores {
    fn new(progressive: &Progressive) -> Self {
        let report = progressive.report();
        Self {
            level: report.below.map_or(f64::NAN, |below| below.level),
            loss: report.loss,
            baseline_loss: report.constant_loss,
            share_below: report.below.map_or(f64::NAN, |below| below.share),
            last_half: report.last_half.map(LastHalfScores::from),
        }
    }
}

impl QuantileSummary {
    /// The summary of a model.
    pub fn new(model: &QuantileModel) -> Result<Self> {
        let counts = model.encoder.counts();
        let learned = model.learner.learners().iter().zip(model.metrics.levels());
        let levels = learned.zip(model.quantile_coefficients(LEVEL)?);
        let level = |((learner, progressive), coefficients): ((_, &Progressive), _)| {
            let learner: &Auto<Quantile> = learner;
            QuantileLevel {
                level: learner.family().tau(),
                dispersion: learner.dispersion(),
                coefficients: by_column(&model.encoder, coefficients),
                drift: DriftStatus::of_auto(learner, Some(progressive.loss())),
            }
        };
        Ok(Self {
            rows: model.learner.count(),
            skipped: counts.skipped,
            imputed: counts.imputed,
            family: "quantile",
            method: "auto",
            target: model.target().into(),
            progressive: QuantileScores::new(&model.metrics),
            features: model.learner.dim(),
            levels: levels.map(level).collect(),
            sorted: model.metrics.is_sorted(),
        })
    }
}
