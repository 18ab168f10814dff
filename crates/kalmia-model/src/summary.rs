//! What a model reports about itself, as `fit --json` and the service print it.

use crate::coefficients::Coefficient;
use crate::drift::DriftStatus;
use crate::error::Result;
use crate::model::Model;
use kalmia::evaluate::{Progressive, Report};
use kalmia::{Family, Learner};
use kalmia_data::Target;
use serde::Serialize;

/// Probability of the coefficients' intervals.
const LEVEL: f64 = 0.95;

/// A model in numbers.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Rows learned in all.
    pub rows: u64,
    /// Rows left out for a missing value.
    pub skipped: u64,
    /// Missing values replaced.
    pub imputed: u64,
    /// The family's name.
    pub family: String,
    /// The method's name.
    pub method: String,
    /// The target column.
    pub target: String,
    /// The label that counts as 1, if labels are texts.
    pub positive: Option<String>,
    /// Losses of predictions made before each row was learned.
    pub progressive: Scores,
    /// The coefficients, with 95 % intervals.
    pub coefficients: Vec<Coefficient>,
    /// Noise variance or dispersion, if the family has one.
    pub dispersion: Option<f64>,
    /// What was found about drift, if the method looks for it.
    pub drift: Option<DriftStatus>,
}

/// Averages over rows.
#[derive(Debug, Clone, Serialize)]
pub struct Scores {
    /// Mean loss: half the mean deviance.
    pub loss: f64,
    /// Mean loss of the constant predictor.
    pub baseline_loss: f64,
    /// Mean deviance.
    pub deviance: f64,
    /// Labels: share predicted right.
    pub accuracy: Option<f64>,
    /// Labels: area under the ROC curve.
    pub auc: Option<f64>,
    /// Labels: mean squared error of the probability.
    pub brier: Option<f64>,
    /// Labels: expected calibration error.
    pub calibration_error: Option<f64>,
    /// Gaussian: root mean square error.
    pub rmse: Option<f64>,
    /// Gaussian: mean absolute error.
    pub mae: Option<f64>,
    /// Share of rows inside their 95 % interval.
    pub coverage: Option<f64>,
}

impl Summary {
    /// The summary of a model.
    pub fn new(model: &Model) -> Result<Self> {
        let counts = model.encoder.counts();
        let progressive = Scores::new(&model.metrics.progressive);
        Ok(Self {
            rows: model.learner.count(),
            skipped: counts.skipped,
            imputed: counts.imputed,
            family: model.family().name().into(),
            method: model.learner.method().into(),
            target: model.target().into(),
            positive: model.encoder.target().and_then(Target::positive).map(String::from),
            coefficients: model.coefficients(LEVEL)?,
            dispersion: model.family().dispersion(),
            drift: DriftStatus::new(&model.learner, Some(progressive.loss)),
            progressive,
        })
    }
}

impl Scores {
    /// From running sums.
    pub fn new(progressive: &Progressive) -> Self {
        let Report { loss, constant_loss, deviance, classification, regression, coverage, .. } =
            progressive.report();
        Self {
            loss,
            baseline_loss: constant_loss,
            deviance,
            accuracy: classification.as_ref().map(|c| c.accuracy),
            auc: classification.as_ref().map(|c| c.auc),
            brier: classification.as_ref().map(|c| c.brier),
            calibration_error: classification.as_ref().map(|c| c.calibration_error),
            rmse: regression.map(|r| r.rmse),
            mae: regression.map(|r| r.mae),
            coverage: coverage.map(|c| c.covered),
        }
    }
}
