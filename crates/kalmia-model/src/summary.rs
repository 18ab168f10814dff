//! What a model reports about itself, as `fit --json` and the service print it.

use crate::coefficients::Coefficient;
use crate::error::Result;
use crate::method::Method;
use crate::model::Model;
use kalmia::evaluate::{Progressive, Report};
use kalmia::{AnyLearner, DriftMode, Family, Learner};
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

/// A drift that the learner looks for, and what following it would have gained.
#[derive(Debug, Clone, Serialize)]
pub struct DriftStatus {
    /// Loss per row that following the drift would have saved; `None` once it is followed.
    pub gain: Option<f64>,
    /// Standard error of the gain.
    pub standard_error: Option<f64>,
    /// Whether the drift is certain.
    pub seen: bool,
    /// Whether it was detected on the way and is followed since.
    pub followed: bool,
}

impl Summary {
    /// The summary of a model.
    pub fn new(model: &Model) -> Result<Self> {
        let counts = model.encoder.counts();
        Ok(Self {
            rows: model.learner.count(),
            skipped: counts.skipped,
            imputed: counts.imputed,
            family: model.family().name().into(),
            method: model.learner.method().into(),
            target: model.target().into(),
            positive: model.encoder.target().and_then(Target::positive).map(String::from),
            progressive: Scores::new(&model.metrics.progressive),
            coefficients: model.coefficients(LEVEL)?,
            dispersion: model.family().dispersion(),
            drift: DriftStatus::new(model),
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

impl DriftStatus {
    /// `None` if the method does not look for a drift, or follows any from the first row on.
    fn new(model: &Model) -> Option<Self> {
        let AnyLearner::Auto(auto) = &model.learner else { return None };
        if let Some(report) = auto.drift_report() {
            return Some(Self {
                gain: Some(report.gain),
                standard_error: Some(report.standard_error),
                seen: report.drift(),
                followed: false,
            });
        }
        let detects = model.settings.method == Method::Auto { drift: DriftMode::Detect };
        let follows = auto.weights().iter().any(|member| member.process_noise > 0.0);
        (detects && follows).then_some(Self {
            gain: None,
            standard_error: None,
            seen: true,
            followed: true,
        })
    }
}
