//! What a model reports, as text: the summary, tables and pictures.

mod agreement;
mod class_names;
mod classes;
mod coefficients;
mod further;
mod pass;
mod picture;
mod quantiles;
mod summary;
mod table;

pub use agreement::heterogeneity_note;
pub use classes::{
    ClassFitSummary, class_coefficients_text, class_scores_text, confusion_text,
    level_coefficients_text,
};
pub use coefficients::{coefficient_table, main_coefficients};
pub use further::{FitPasses, FurtherPasses, Shards};
pub use pass::{PassReport, Speed, print_report, weights_note};
#[cfg(feature = "lab")]
pub use picture::write_picture;
pub use picture::{Curve, losses};
pub use quantiles::{
    QuantileFitSummary, quantile_coefficients_text, quantile_scores_text, quantile_title,
};
pub use summary::{FitSummary, SORTED_NOTE, conformal_text, scores_text};
pub use table::Table;

use crate::format::{counted, grouped};
use crate::visible::visible_line;
use std::fmt::Write;

/// What progressive scores are of, unless the coefficients are means of iterates.
const ON_NEW_DATA: &str = "so this is performance on new data";

/// What follows the title of a summary: rows left out, values filled in, and what the scores below
/// are of.
fn progressive_head(skipped: u64, imputed: u64, of: &str) -> String {
    let mut out = String::new();
    if skipped > 0 {
        let _ = write!(out, ", {} skipped", grouped(skipped));
    }
    if imputed > 0 {
        let _ = write!(out, ", {} imputed", counted(imputed, "value"));
    }
    let _ = writeln!(out, "\n\nprogressive: every row predicted before it was learned, {of}");
    out
}

/// The target, with the label that counts as 1.
pub fn target(name: &str, positive: Option<&str>) -> String {
    let name = visible_line(name);
    positive
        .map_or(format!("`{name}`"), |label| format!("`{name}` (1 is `{}`)", visible_line(label)))
}
