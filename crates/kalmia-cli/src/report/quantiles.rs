//! The summary of a fit of several quantiles, and its scores.

use super::{
    ON_NEW_DATA, PassReport, SORTED_NOTE, Speed, Table, coefficient_table, progressive_head,
    target, weights_note,
};
use crate::error::Result;
use crate::format::{counted, number};
use crate::output;
use kalmia_model::{QuantileLevel, QuantileModel, QuantileScores, QuantileSummary};
use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

/// What `fit` and `update` print; as JSON, one flat object.
#[derive(Debug, Serialize)]
pub struct QuantileFitSummary {
    #[serde(flatten)]
    model: QuantileSummary,
    #[serde(skip)]
    weights_note: Option<String>,
    #[serde(flatten)]
    speed: Speed,
}

impl QuantileFitSummary {
    /// The summary of a model after `rows` rows in `time`.
    pub fn new(model: &QuantileModel, rows: u64, time: Duration) -> kalmia_model::Result<Self> {
        Ok(Self {
            weights_note: weights_note(model),
            model: QuantileSummary::new(model)?,
            speed: Speed::new(rows, time),
        })
    }
}

impl PassReport for QuantileFitSummary {
    fn notes(&self) -> Vec<String> {
        let sorted = self.model.sorted.then(|| SORTED_NOTE.into());
        sorted.into_iter().chain(self.weights_note.clone()).collect()
    }

    fn text(&self) -> String {
        let model = &self.model;
        let mut out = quantile_title(model);
        out.push_str(&progressive_head(model.skipped, model.imputed, ON_NEW_DATA));
        out.push_str(&quantile_scores_text(&model.progressive));
        out.push_str(&quantile_coefficients_text(&model.levels));
        for QuantileLevel { level, drift, .. } in &model.levels {
            if let Some(note) = drift.note("--drift adapt") {
                let _ = writeln!(out, "\ndrift at level {level}: {note}");
            }
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

/// What was learned, from how many rows.
pub fn quantile_title(model: &QuantileSummary) -> String {
    let levels: Vec<String> = model.levels.iter().map(|level| level.level.to_string()).collect();
    format!(
        "quantiles {} of {} by {}, {}",
        levels.join(", "),
        target(&model.target, None),
        model.method,
        counted(model.rows, "row")
    )
}

/// The losses of all levels, and a table with a line for each.
pub fn quantile_scores_text(scores: &QuantileScores) -> String {
    let mut out = format!(
        "loss       {}  (constant predictor {}), mean of the levels\n",
        number(scores.loss),
        number(scores.baseline_loss)
    );
    let mut table = Table::new(["level", "loss", "constant", "share below", "last half", "below"]);
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    for one in &scores.levels {
        let half = one.last_half.as_ref();
        table.row([
            one.level.to_string(),
            number(one.loss),
            number(one.baseline_loss),
            percent(one.share_below),
            half.map_or(String::new(), |half| number(half.loss)),
            half.and_then(|half| half.share_below).map_or(String::new(), percent),
        ]);
    }
    out.push_str(&table.render());
    out
}

/// A table of coefficients per level.
pub fn quantile_coefficients_text(levels: &[QuantileLevel]) -> String {
    let mut out = String::new();
    for QuantileLevel { level, coefficients, .. } in levels {
        let _ = write!(out, "\nlevel {level}\n{}", coefficient_table(coefficients));
    }
    out
}
