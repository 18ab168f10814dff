//! The summary of a fit of several classes, and its scores.

use super::class_names::class_name_notes;
use super::summary::last_half_text;
use super::{
    FitPasses, ON_NEW_DATA, PassReport, SORTED_NOTE, Speed, Table, main_coefficients,
    progressive_head, target, weights_note,
};
use crate::error::Result;
use crate::format::{counted, grouped, number};
use crate::output;
use crate::visible::visible_line;
use kalmia_model::{ClassCoefficients, ClassModel, ClassScores, ClassSummary, LevelCoefficients};
use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

/// Classes whose coefficients are printed; `--json` and `export` have all.
const LISTED: usize = 12;
/// Ranks beside the first that are printed.
const RANKS: [usize; 3] = [2, 3, 5];
/// Classes whose confusions are printed; `--json` has all.
const CONFUSED: usize = 20;

/// What `fit` and `update` print; as JSON, one flat object.
#[derive(Debug, Serialize)]
pub struct ClassFitSummary {
    #[serde(flatten)]
    model: ClassSummary,
    #[serde(skip)]
    weights_note: Option<String>,
    #[serde(skip)]
    name_notes: Vec<String>,
    #[serde(flatten)]
    speed: Speed,
    #[serde(flatten)]
    passes: FitPasses,
}

impl ClassFitSummary {
    /// The summary of a model after `rows` rows in `time`.
    pub fn new(
        model: &ClassModel,
        rows: u64,
        time: Duration,
        passes: FitPasses,
    ) -> kalmia_model::Result<Self> {
        Ok(Self {
            passes,
            weights_note: weights_note(model),
            name_notes: class_name_notes(model.target(), model.classes(), model.metrics.shares()),
            model: ClassSummary::new(model)?,
            speed: Speed::new(rows, time),
        })
    }
}

impl PassReport for ClassFitSummary {
    fn notes(&self) -> Vec<String> {
        let sorted = self.model.sorted.then(|| SORTED_NOTE.into());
        let only = match &self.model.classes[..] {
            [class] => Some(format!(
                "note: all rows have the class `{}`, so there is nothing to tell apart yet; learn \
                 rows of other classes, too",
                visible_line(class)
            )),
            _ => None,
        };
        let first = self.passes.note().into_iter().chain(sorted).chain(only);
        first.chain(self.weights_note.clone()).chain(self.name_notes.clone()).collect()
    }

    fn text(&self) -> String {
        let model = &self.model;
        let classes = match (model.classes.len(), model.levels.is_some()) {
            (1, false) => "1 class".into(),
            (several, false) => format!("{several} classes"),
            (several, true) => format!("{several} levels"),
        };
        let mut out = format!(
            "{} of {} ({classes}) by {}, {}",
            model.family,
            target(&model.target, None),
            model.method,
            counted(model.rows, "row")
        );
        out.push_str(&progressive_head(model.skipped, model.imputed, ON_NEW_DATA));
        out.push_str(&class_scores_text(&model.progressive));
        out.push_str(&self.passes.text());
        out.push_str(&class_coefficients_text(
            model.reference.as_deref(),
            &model.coefficients,
            model.features,
        ));
        out.push_str(&level_coefficients_text(model.levels.as_ref()));
        if let Some(drift) = model.drift.as_ref().and_then(|drift| drift.note("--drift adapt")) {
            let _ = writeln!(out, "\ndrift: {drift}");
        }
        if model.levels.is_some() {
            let _ = writeln!(out, "\n{NO_DRIFT}");
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

/// Losses and scores in some lines.
pub fn class_scores_text(scores: &ClassScores) -> String {
    let mut out = format!(
        "loss       {}  (constant predictor {})\n",
        number(scores.loss),
        number(scores.baseline_loss)
    );
    out.push_str(&last_half_text(scores.last_half.as_ref()));
    let _ = write!(out, "accuracy   {:.4}", scores.accuracy);
    for rank in RANKS.into_iter().filter(|&rank| rank < scores.top.len()) {
        let _ = write!(out, "   top {rank} {:.4}", scores.top[rank - 1]);
    }
    let (brier, error) = (scores.brier, scores.calibration_error);
    let _ = writeln!(out, "   Brier {brier:.4}   calibration error {error:.4}");
    out
}

/// What the summary of ordered levels says in place of a drift.
const NO_DRIFT: &str = "drift: not looked for with ordered levels";

/// A table per class, each against the reference; `features` is the number of all coefficients of a
/// class, of which tables may have a part.
pub fn class_coefficients_text(
    reference: Option<&str>,
    all: &[ClassCoefficients],
    features: usize,
) -> String {
    let mut out = String::new();
    let Some(reference) = reference else { return out };
    for ClassCoefficients { class, coefficients } in all.iter().take(LISTED) {
        let [class, reference] = [class.as_str(), reference].map(visible_line);
        let _ = write!(out, "\n`{class}` against `{reference}`, as log odds\n");
        out.push_str(&main_coefficients(coefficients, features));
    }
    if all.len() > LISTED {
        let rest = all.len() - LISTED;
        let _ = writeln!(out, "\n{rest} more classes; `kalmia export MODEL` writes all");
    }
    out
}

/// The coefficients of ordered levels, and the cutpoints between them.
pub fn level_coefficients_text(levels: Option<&LevelCoefficients>) -> String {
    let Some(LevelCoefficients { coefficients, cutpoints }) = levels else { return String::new() };
    let mut out = String::new();
    if !coefficients.is_empty() {
        let _ = write!(out, "\na higher level, as log odds\n");
        out.push_str(&main_coefficients(coefficients, coefficients.len()));
    }
    let _ = write!(out, "\ncutpoints between the levels\n");
    out.push_str(&main_coefficients(cutpoints, cutpoints.len()));
    out
}

/// How often each class was predicted as each other, as a table: rows are the true classes.
pub fn confusion_text(classes: &[String], table: &[Vec<f64>]) -> String {
    if classes.len() > CONFUSED {
        return format!("the confusions of {} classes are in --json\n", classes.len());
    }
    let head = std::iter::once("true \\ predicted".to_owned()).chain(classes.iter().cloned());
    let mut text = Table::of_head(head);
    for (class, row) in classes.iter().zip(table) {
        text.row(std::iter::once(class.clone()).chain(row.iter().map(|&count| weight(count))));
    }
    text.render()
}

/// A weight of rows, which mostly counts them.
fn weight(value: f64) -> String {
    match value.fract() == 0.0 && value < 1e15 {
        true => grouped(value as u64),
        false => number(value),
    }
}
