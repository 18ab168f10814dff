//! The summary of a fit or an update.

use super::{
    FitPasses, ON_NEW_DATA, PassReport, Speed, main_coefficients, progressive_head, target,
    weights_note,
};
use crate::error::Result;
use crate::format::{brief, counted, grouped, number};
use crate::output;
use kalmia_model::{ConformalScores, LastHalfScores, Model, Scores, Summary};
use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

/// What to do about sorted rows.
pub const SORTED_NOTE: &str = "note: the rows seem sorted by the target; one pass learns them \
                               poorly, and its losses say nothing about new rows. \
                               `kalmia fit --shuffle` learns them in random order";

/// What `fit` and `update` print; as JSON, one flat object.
#[derive(Debug, Serialize)]
pub struct FitSummary {
    #[serde(flatten)]
    model: Summary,
    #[serde(skip)]
    weights_note: Option<String>,
    #[serde(flatten)]
    speed: Speed,
    #[serde(flatten)]
    passes: FitPasses,
}

impl FitSummary {
    /// The summary of a model after `rows` rows in `time`.
    pub fn new(
        model: &Model,
        rows: u64,
        time: Duration,
        passes: FitPasses,
    ) -> kalmia_model::Result<Self> {
        Ok(Self {
            model: Summary::new(model)?,
            weights_note: weights_note(model),
            speed: Speed::new(rows, time),
            passes,
        })
    }
}

impl PassReport for FitSummary {
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.passes.note());
        if self.model.sorted {
            notes.push(SORTED_NOTE.into());
        }
        if let Some(found) = self.model.overdispersion {
            let learned = ["auto", "wide"].contains(&&*self.model.method);
            let remedy = (!learned).then_some("--method auto");
            notes.push(format!("note: {}", found.text(&self.model.family, remedy)));
        }
        notes.extend(self.weights_note.clone());
        notes
    }

    fn text(&self) -> String {
        let model = &self.model;
        let mut out = format!(
            "{} of {} by {}{}, {}",
            model.family,
            target(&model.target, model.positive.as_deref()),
            if model.averaged { "averaged " } else { "" },
            model.method,
            counted(model.rows, "row")
        );
        let of = match model.averaged {
            true => "by the iterates, of which the coefficients below are the mean",
            false => ON_NEW_DATA,
        };
        out.push_str(&progressive_head(model.skipped, model.imputed, of));
        out.push_str(&scores_text(&model.progressive));
        if let Some(dispersion) = model.dispersion {
            let name = if model.family == "gaussian" { "noise variance" } else { "dispersion" };
            let how = match model.dispersion_learned {
                true => "  (learned; standard errors include it)",
                false => "  (as given)",
            };
            let _ = writeln!(out, "{name} {}{how}", number(dispersion));
        }
        if let Some(conformal) = &model.conformal {
            out.push_str(&conformal_text(conformal));
        }
        out.push_str(&self.passes.text());
        if let Some(certificate) = &model.certificate {
            let _ = writeln!(out, "certificate  {}", certificate.text());
        }
        out.push('\n');
        out.push_str(&main_coefficients(&model.coefficients, model.features));
        if let Some(drift) = model.drift.as_ref().and_then(|drift| drift.note("--drift adapt")) {
            let _ = writeln!(out, "\ndrift: {drift}");
        }
        out
    }

    fn print_json(&self) -> Result<()> {
        output::print_json(self)
    }

    fn speed(&self) -> Speed {
        self.speed
    }
}

/// The line of the last half.
pub(super) fn last_half_text(half: Option<&LastHalfScores>) -> String {
    let Some(half) = half else { return String::new() };
    let loss = number(half.loss);
    let baseline = number(half.baseline_loss);
    let rows = match half.of_parts {
        true => "of each part".into(),
        false => format!("rows {} to {}", grouped(half.first_row), grouped(half.last_row)),
    };
    format!("last half  {loss}  (constant predictor {baseline}), {rows}\n")
}

/// Coverage and width of conformal intervals beside the model's own, in a line.
pub fn conformal_text(scores: &ConformalScores) -> String {
    format!(
        "conformal  95 % intervals held {:.1} %, mean width {}; the model's own {:.1} %, {}\n",
        100.0 * scores.coverage,
        number(scores.width),
        100.0 * scores.model_coverage,
        number(scores.model_width)
    )
}

/// Losses and scores in some lines.
pub fn scores_text(scores: &Scores) -> String {
    if scores.loss.is_nan() {
        return "too few rows for a loss: the first one only shows how large targets are\n".into();
    }
    let loss = number(scores.loss);
    let baseline = number(scores.baseline_loss);
    let mut out = format!("loss       {loss}  (constant predictor {baseline})\n");
    out.push_str(&last_half_text(scores.last_half.as_ref()));
    if let (Some(accuracy), Some(auc), Some(brier), Some(error)) =
        (scores.accuracy, scores.auc, scores.brier, scores.calibration_error)
    {
        let _ = write!(out, "accuracy   {accuracy:.4}   AUC {auc:.4}   Brier {brier:.4}   ");
        let _ = writeln!(out, "calibration error {error:.4}");
    } else if let (Some(rmse), Some(mae)) = (scores.rmse, scores.mae) {
        let _ = write!(out, "RMSE       {}   MAE {}", number(rmse), number(mae));
    } else if scores.level.is_none() {
        let _ = write!(out, "deviance   {} per row", number(scores.deviance));
        let pearson = scores.last_half.as_ref().and_then(|half| half.pearson_dispersion);
        if let Some(pearson) = pearson {
            let _ = write!(out, "   Pearson dispersion {}", number(pearson));
        }
    }
    if let (Some(share), Some(level)) = (scores.share_below, scores.level) {
        let share = 100.0 * share;
        let _ = writeln!(out, "share below {share:.1} %  (level {} %)", brief(100.0 * level));
    } else if let Some(coverage) = scores.coverage.filter(|_| scores.accuracy.is_none()) {
        let _ = writeln!(out, "   95 % intervals held {:.1} %", 100.0 * coverage);
    } else if scores.accuracy.is_none() {
        out.push('\n');
    }
    out
}
