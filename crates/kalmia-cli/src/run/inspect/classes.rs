//! What the file of a model of several classes holds.

use super::{ColumnView, MemberView, column_table, columns, mixture_table, origin_text};
use crate::error::Result;
use crate::format::counted;
use crate::report::{class_coefficients_text, class_scores_text, level_coefficients_text, target};
use crate::visible::visible_line;
use kalmia::learner::AnyCategorical;
use kalmia_model::{ClassModel, ClassSummary, History, Settings};
use serde::Serialize;
use std::fmt::Write;

/// What `--json` prints.
#[derive(Serialize)]
pub struct Inspection<'a> {
    version: String,
    #[serde(flatten)]
    summary: ClassSummary,
    /// Rows whose values the file contains.
    kept_rows: usize,
    columns: Vec<ColumnView<'a>>,
    mixture: Vec<MemberView>,
    settings: &'a Settings,
    history: &'a History,
}

/// What there is to say of a model.
pub fn inspection(model: &ClassModel, version: String) -> Result<Inspection<'_>> {
    Ok(Inspection {
        version,
        summary: ClassSummary::new(model)?,
        kept_rows: model.learner.kept_rows(),
        columns: columns(&model.encoder),
        mixture: match &model.learner {
            AnyCategorical::Dense(dense) => dense.weights().into_iter().map(From::from).collect(),
            AnyCategorical::Wide(wide) => wide.weights().into_iter().map(From::from).collect(),
            AnyCategorical::Ordinal(own) => own.weights().into_iter().map(From::from).collect(),
        },
        settings: &model.settings,
        history: &model.history,
    })
}

/// The same for people.
pub fn text(view: &Inspection<'_>) -> String {
    let summary = &view.summary;
    let names: Vec<_> = summary.classes.iter().map(|name| visible_line(name)).collect();
    let mut out = format!(
        "{} of {} by {}, {}, {}{}, written by kalmia {}\n{}: {}\n\n{}",
        summary.family,
        target(&summary.target, None),
        summary.method,
        counted(summary.rows, "row"),
        counted(summary.features as u64, "feature"),
        if summary.levels.is_some() { "" } else { " per class" },
        visible_line(&view.version),
        if summary.levels.is_some() { "levels" } else { "classes" },
        names.join(", "),
        column_table(&view.columns),
    );
    out.push_str(&class_coefficients_text(
        summary.reference.as_deref(),
        &summary.coefficients,
        summary.features,
    ));
    out.push_str(&level_coefficients_text(summary.levels.as_ref()));
    if summary.progressive.loss.is_finite() {
        let _ = write!(out, "\nprogressive\n{}", class_scores_text(&summary.progressive));
    }
    out.push_str(&mixture_table(&view.mixture));
    out.push_str(&origin_text(view.history, view.kept_rows));
    out
}
