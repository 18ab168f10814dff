//! The summary of a fit, an update or an evaluation.

use super::coefficients::{Coefficient, coefficients, table};
use super::{number, target};
use crate::error::Result;
use crate::model::Model;
use crate::ui::{counted, grouped};
use kalmia::evaluate::{Progressive, Report};
use kalmia::learner::DriftMode;
use kalmia::{AnyLearner, Family, Learner};
use kalmia_data::Target;
use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

/// What `--json` prints.
#[derive(Debug, Serialize)]
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
    /// The label that counts as 1, where the labels are texts.
    pub positive: Option<String>,
    /// Losses of predictions made before each row was learned.
    pub progressive: Scores,
    /// The coefficients.
    pub coefficients: Vec<Coefficient>,
    /// Noise variance or dispersion, where the family has one.
    pub dispersion: Option<f64>,
    /// What the sentinel saw.
    pub drift: Option<DriftNote>,
    /// Seconds of this command.
    pub seconds: f64,
    /// Rows of this command by those seconds.
    pub rows_per_second: f64,
}

/// Averages over rows.
#[derive(Debug, Serialize)]
pub struct Scores {
    /// Mean loss: half the mean deviance.
    pub loss: f64,
    /// That of the constant predictor.
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

/// A drift that was watched for, and what following it would have gained where it is not followed.
#[derive(Debug, Serialize)]
pub struct DriftNote {
    /// Loss a row.
    pub gain: Option<f64>,
    /// Its standard error.
    pub standard_error: Option<f64>,
    /// Whether it is beyond doubt.
    pub seen: bool,
    /// Whether it was found on the way and is followed since.
    pub followed: bool,
}

impl DriftNote {
    /// None where no drift is watched for.
    fn of(model: &Model) -> Option<Self> {
        let AnyLearner::Auto(auto) = &model.learner else { return None };
        match auto.drift_report() {
            Some(report) => Some(Self {
                gain: Some(report.gain),
                standard_error: Some(report.standard_error),
                seen: report.drift(),
                followed: false,
            }),
            // members walk from the first row on unless the drift had to be found first
            None if model.settings.drift == DriftMode::Detect.name()
                && auto.weights().iter().any(|member| member.process_noise > 0.0) =>
            {
                Some(Self { gain: None, standard_error: None, seen: true, followed: true })
            }
            None => None,
        }
    }

    /// What there is to say.
    fn text(&self) -> Option<String> {
        if self.followed {
            return Some(
                "a drift was found and is followed; coefficients are those of the last rows".into(),
            );
        }
        let (gain, error) = (number(self.gain?), number(self.standard_error?));
        let gained =
            || format!("--drift adapt would gain at least {gain} a row (standard error {error})");
        self.seen.then(|| format!("the coefficients seem to move; {}", gained()))
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

    /// Lines of text.
    pub fn text(&self) -> String {
        let mut out = format!(
            "loss       {}  (constant predictor {})\n",
            number(self.loss),
            number(self.baseline_loss)
        );
        if let (Some(accuracy), Some(auc), Some(brier), Some(error)) =
            (self.accuracy, self.auc, self.brier, self.calibration_error)
        {
            let _ = writeln!(
                out,
                "accuracy   {accuracy:.4}   AUC {auc:.4}   Brier {brier:.4}   calibration error {error:.4}"
            );
        } else if let (Some(rmse), Some(mae)) = (self.rmse, self.mae) {
            let _ = write!(out, "RMSE       {}   MAE {}", number(rmse), number(mae));
            let _ = self.coverage.map(|c| write!(out, "   95 % intervals held {:.1} %", 100.0 * c));
            out.push('\n');
        } else {
            let _ = writeln!(out, "deviance   {} a row", number(self.deviance));
        }
        out
    }
}

impl Summary {
    /// Of a model, after `rows` rows in `time`.
    pub fn new(model: &Model, rows: u64, time: Duration) -> Result<Self> {
        let counts = model.encoder.counts();
        let seconds = time.as_secs_f64();
        Ok(Self {
            rows: model.learner.count(),
            skipped: counts.skipped,
            imputed: counts.imputed,
            family: model.family().name().into(),
            method: model.learner.method().into(),
            target: model.encoder.target().map_or_else(String::new, |target| target.name.clone()),
            positive: model.encoder.target().and_then(Target::positive).map(String::from),
            progressive: Scores::new(&model.metrics.progressive),
            coefficients: coefficients(model)?,
            dispersion: model.family().dispersion(),
            drift: DriftNote::of(model),
            seconds,
            rows_per_second: if seconds > 0.0 { rows as f64 / seconds } else { 0.0 },
        })
    }

    /// The summary for people.
    pub fn text(&self) -> String {
        let mut out = format!(
            "{} of {} by {}, {}",
            self.family,
            target(&self.target, self.positive.as_deref()),
            self.method,
            counted(self.rows, "row")
        );
        if self.skipped > 0 {
            let _ = write!(out, ", {} skipped", grouped(self.skipped));
        }
        if self.imputed > 0 {
            let _ = write!(out, ", {} imputed", counted(self.imputed, "value"));
        }
        let _ = writeln!(out, "\n\nprogressive: every row predicted before it was learned");
        out.push_str(&self.progressive.text());
        if let Some(dispersion) = self.dispersion {
            let _ = writeln!(
                out,
                "{} {}",
                if self.family == "gaussian" { "noise var " } else { "dispersion" },
                number(dispersion)
            );
        }
        out.push('\n');
        out.push_str(&table(&self.coefficients));
        if let Some(drift) = self.drift.as_ref().and_then(DriftNote::text) {
            let _ = writeln!(out, "\ndrift: {drift}");
        }
        out
    }

    /// The summary for programs.
    pub fn json(&self) -> Result<String> {
        super::json(self)
    }
}
