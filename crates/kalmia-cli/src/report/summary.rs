//! The summary of a fit or an update.

use super::{heterogeneity_note, main_coefficients, target};
use crate::format::{counted, grouped, number};
use crate::learn::ShardedFit;
use kalmia::learner::Heterogeneity;
use kalmia::sums::Polished;
use kalmia_model::{ConformalScores, Model, Scores, Summary, WeightKind};
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
    /// The mean of frequency weights, if it is far from 1.
    #[serde(skip)]
    unusual_weights: Option<f64>,
    /// Seconds of this command.
    pub seconds: f64,
    /// Rows of this command divided by those seconds.
    pub rows_per_second: f64,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    shards: Option<Shards>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    further: Option<FurtherPasses>,
}

/// What the shards of a fit were.
#[derive(Debug, Serialize)]
pub struct Shards {
    shards: u64,
    heterogeneity: Heterogeneity,
}

impl Shards {
    /// Of a fit.
    pub fn new(fit: &ShardedFit) -> Self {
        Self { shards: fit.shards, heterogeneity: fit.heterogeneity }
    }

    fn text(&self) -> String {
        let Heterogeneity { q, degrees, p_value } = self.heterogeneity;
        let agreement = match degrees {
            0 => String::new(),
            _ => format!(
                "; Q = {} on {degrees} degrees of freedom, p = {}",
                number(q),
                number(p_value)
            ),
        };
        format!(
            "learned in {} at the same time and merged{agreement}",
            counted(self.shards, "shard")
        )
    }
}

/// What the passes after the first did.
#[derive(Debug, Serialize)]
pub struct FurtherPasses {
    polish_passes: usize,
    /// How far the last step moved, in standard errors.
    moved: f64,
    moved_most: f64,
}

impl FurtherPasses {
    /// Of so many passes, by the last step.
    pub fn new(passes: usize, polished: &Polished) -> Self {
        let moved = polished.moved();
        Self { polish_passes: passes, moved: moved.rms, moved_most: moved.max }
    }

    fn text(&self) -> String {
        let passes = match self.polish_passes {
            1 => "one more pass".into(),
            passes => format!("{passes} more passes"),
        };
        format!(
            "polished by {passes}; the last step moved {} standard errors (at most {})",
            number(self.moved),
            number(self.moved_most)
        )
    }
}

impl FitSummary {
    /// The summary of a model after `rows` rows in `time`.
    pub fn new(model: &Model, rows: u64, time: Duration) -> kalmia_model::Result<Self> {
        let seconds = time.as_secs_f64();
        let rows_per_second = if seconds > 0.0 { rows as f64 / seconds } else { 0.0 };
        let frequencies = model.settings.weight_kind == WeightKind::Frequency;
        let unusual_weights = model.weights.unusual_mean().filter(|_| frequencies);
        Ok(Self {
            model: Summary::new(model)?,
            unusual_weights,
            seconds,
            rows_per_second,
            shards: None,
            further: None,
        })
    }

    /// With what a fit of several shards or passes did.
    pub fn with_passes(mut self, shards: Option<Shards>, further: Option<FurtherPasses>) -> Self {
        self.shards = shards;
        self.further = further;
        self
    }

    /// What the user should know of the rows.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let disagreement = self.shards.as_ref().map(|shards| &shards.heterogeneity);
        notes.extend(disagreement.and_then(|found| heterogeneity_note("shards", found)));
        if self.model.sorted {
            notes.push(SORTED_NOTE.into());
        }
        if let Some(found) = self.model.overdispersion {
            let learned = ["auto", "wide"].contains(&&*self.model.method);
            let remedy = (!learned).then_some("--method auto");
            notes.push(format!("note: {}", found.text(&self.model.family, remedy)));
        }
        if let Some(mean) = self.unusual_weights {
            let mean = number(mean);
            notes.push(format!(
                "note: the mean weight is {mean}; a weight counts as that many rows, so standard \
                 errors depend on the scale of the weights. --weight-kind precision divides them \
                 by their mean"
            ));
        }
        notes
    }

    /// The summary for people.
    pub fn text(&self) -> String {
        let model = &self.model;
        let mut out = format!(
            "{} of {} by {}{}, {}",
            model.family,
            target(&model.target, model.positive.as_deref()),
            if model.averaged { "averaged " } else { "" },
            model.method,
            counted(model.rows, "row")
        );
        if model.skipped > 0 {
            let _ = write!(out, ", {} skipped", grouped(model.skipped));
        }
        if model.imputed > 0 {
            let _ = write!(out, ", {} imputed", counted(model.imputed, "value"));
        }
        let says = match model.averaged {
            true => "by the iterates, of which the coefficients below are the mean",
            false => "so this is performance on new data",
        };
        let _ = writeln!(out, "\n\nprogressive: every row predicted before it was learned, {says}");
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
        if let Some(shards) = &self.shards {
            let _ = writeln!(out, "{}", shards.text());
        }
        if let Some(further) = &self.further {
            let _ = writeln!(out, "{}", further.text());
        }
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
    let loss = number(scores.loss);
    let baseline = number(scores.baseline_loss);
    let mut out = format!("loss       {loss}  (constant predictor {baseline})\n");
    if let Some(half) = &scores.last_half {
        let loss = number(half.loss);
        let baseline = number(half.baseline_loss);
        let rows = match half.of_parts {
            true => "of each part".into(),
            false => format!("rows {} to {}", grouped(half.first_row), grouped(half.last_row)),
        };
        let _ = writeln!(out, "last half  {loss}  (constant predictor {baseline}), {rows}");
    }
    if let (Some(accuracy), Some(auc), Some(brier), Some(error)) =
        (scores.accuracy, scores.auc, scores.brier, scores.calibration_error)
    {
        let _ = write!(out, "accuracy   {accuracy:.4}   AUC {auc:.4}   Brier {brier:.4}   ");
        let _ = writeln!(out, "calibration error {error:.4}");
    } else if let (Some(rmse), Some(mae)) = (scores.rmse, scores.mae) {
        let _ = write!(out, "RMSE       {}   MAE {}", number(rmse), number(mae));
    } else {
        let _ = write!(out, "deviance   {} per row", number(scores.deviance));
        let pearson = scores.last_half.as_ref().and_then(|half| half.pearson_dispersion);
        if let Some(pearson) = pearson {
            let _ = write!(out, "   Pearson dispersion {}", number(pearson));
        }
    }
    if let Some(coverage) = scores.coverage.filter(|_| scores.accuracy.is_none()) {
        let _ = writeln!(out, "   95 % intervals held {:.1} %", 100.0 * coverage);
    } else if scores.accuracy.is_none() {
        out.push('\n');
    }
    out
}
