//! The summary of a fit or an update.

use super::{coefficient_table, target};
use crate::format::{counted, grouped, number};
use kalmia_model::{Model, Scores, Summary};
use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

/// What `fit` and `update` print; as JSON, one flat object.
#[derive(Debug, Serialize)]
pub struct FitSummary {
    #[serde(flatten)]
    model: Summary,
    /// Seconds of this command.
    pub seconds: f64,
    /// Rows of this command divided by those seconds.
    pub rows_per_second: f64,
}

impl FitSummary {
    /// The summary of a model after `rows` rows in `time`.
    pub fn new(model: &Model, rows: u64, time: Duration) -> kalmia_model::Result<Self> {
        let seconds = time.as_secs_f64();
        let rows_per_second = if seconds > 0.0 { rows as f64 / seconds } else { 0.0 };
        Ok(Self { model: Summary::new(model)?, seconds, rows_per_second })
    }

    /// The summary for people.
    pub fn text(&self) -> String {
        let model = &self.model;
        let mut out = format!(
            "{} of {} by {}, {}",
            model.family,
            target(&model.target, model.positive.as_deref()),
            model.method,
            counted(model.rows, "row")
        );
        if model.skipped > 0 {
            let _ = write!(out, ", {} skipped", grouped(model.skipped));
        }
        if model.imputed > 0 {
            let _ = write!(out, ", {} imputed", counted(model.imputed, "value"));
        }
        let _ = writeln!(out, "\n\nprogressive: every row predicted before it was learned");
        out.push_str(&scores_text(&model.progressive));
        if let Some(dispersion) = model.dispersion {
            let name = if model.family == "gaussian" { "noise var " } else { "dispersion" };
            let _ = writeln!(out, "{name} {}", number(dispersion));
        }
        out.push('\n');
        out.push_str(&coefficient_table(&model.coefficients));
        if let Some(drift) = model.drift.as_ref().and_then(|drift| drift.note("--drift adapt")) {
            let _ = writeln!(out, "\ndrift: {drift}");
        }
        out
    }
}

/// Losses and scores in two lines.
pub fn scores_text(scores: &Scores) -> String {
    let loss = number(scores.loss);
    let baseline = number(scores.baseline_loss);
    let mut out = format!("loss       {loss}  (constant predictor {baseline})\n");
    if let (Some(accuracy), Some(auc), Some(brier), Some(error)) =
        (scores.accuracy, scores.auc, scores.brier, scores.calibration_error)
    {
        let _ = write!(out, "accuracy   {accuracy:.4}   AUC {auc:.4}   Brier {brier:.4}   ");
        let _ = writeln!(out, "calibration error {error:.4}");
    } else if let (Some(rmse), Some(mae)) = (scores.rmse, scores.mae) {
        let _ = write!(out, "RMSE       {}   MAE {}", number(rmse), number(mae));
        if let Some(coverage) = scores.coverage {
            let _ = write!(out, "   95 % intervals held {:.1} %", 100.0 * coverage);
        }
        out.push('\n');
    } else {
        let _ = writeln!(out, "deviance   {} per row", number(scores.deviance));
    }
    out
}
