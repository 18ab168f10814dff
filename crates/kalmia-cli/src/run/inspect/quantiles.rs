//! What the file of a model of several quantiles holds.

use super::{ColumnView, MemberView, column_table, columns, mixture_table, origin_text};
use crate::error::Result;
use crate::format::counted;
use crate::report::{quantile_coefficients_text, quantile_scores_text, quantile_title};
use crate::visible::visible_line;
use kalmia_model::{History, QuantileModel, QuantileSummary, Settings};
use serde::Serialize;
use std::fmt::Write;

/// What `--json` prints.
#[derive(Serialize)]
pub struct Inspection<'a> {
    version: String,
    #[serde(flatten)]
    summary: QuantileSummary,
    /// Rows whose values the file contains.
    kept_rows: usize,
    columns: Vec<ColumnView<'a>>,
    /// The members of each level, by level.
    mixtures: Vec<Vec<MemberView>>,
    settings: &'a Settings,
    history: &'a History,
}

/// What there is to say of a model.
pub fn inspection(model: &QuantileModel, version: String) -> Result<Inspection<'_>> {
    let members = |learner: &kalmia::Auto<kalmia::Quantile>| {
        learner.weights().into_iter().map(MemberView::from).collect()
    };
    Ok(Inspection {
        version,
        summary: QuantileSummary::new(model)?,
        kept_rows: model.learner.kept_rows(),
        columns: columns(&model.encoder),
        mixtures: model.learner.learners().iter().map(members).collect(),
        settings: &model.settings,
        history: &model.history,
    })
}

/// The same for people.
pub fn text(view: &Inspection<'_>) -> String {
    let summary = &view.summary;
    let mut out = format!(
        "{}, {} per level, written by kalmia {}\n\n{}",
        quantile_title(summary),
        counted(summary.features as u64, "feature"),
        visible_line(&view.version),
        column_table(&view.columns),
    );
    out.push_str(&quantile_coefficients_text(&summary.levels));
    if summary.progressive.loss.is_finite() {
        let _ = write!(out, "\nprogressive\n{}", quantile_scores_text(&summary.progressive));
    }
    for (level, mixture) in summary.levels.iter().zip(&view.mixtures) {
        let _ = write!(out, "\nlevel {}{}", level.level, mixture_table(mixture));
    }
    out.push_str(&origin_text(view.history, view.kept_rows));
    out
}
