//! What every pass reports, whatever was learned.

use crate::error::Result;
use crate::format::number;
use crate::output;
use kalmia_model::{ModelLearner, ModelOf, WeightKind};
use serde::Serialize;
use std::time::Duration;

/// The report of a fit or an update.
pub trait PassReport {
    /// What the user should know of the rows.
    fn notes(&self) -> Vec<String>;
    /// The report for people.
    fn text(&self) -> String;
    /// Prints the report as one JSON object.
    fn print_json(&self) -> Result<()>;
    /// How long it took.
    fn speed(&self) -> Speed;
}

/// Prints a report.
pub fn print_report(report: &dyn PassReport, json: bool) -> Result<()> {
    if json { report.print_json() } else { output::print(&report.text()) }
}

/// The time of a command.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Speed {
    /// Seconds of this command.
    pub seconds: f64,
    /// Rows of this command divided by those seconds.
    pub rows_per_second: f64,
}

impl Speed {
    /// Of so many rows.
    pub fn new(rows: u64, time: Duration) -> Self {
        let seconds = time.as_secs_f64();
        let rows_per_second = if seconds > 0.0 { rows as f64 / seconds } else { 0.0 };
        Self { seconds, rows_per_second }
    }
}

/// A note on frequency weights whose mean is far from 1.
pub fn weights_note<L: ModelLearner>(model: &ModelOf<L>) -> Option<String> {
    let frequencies = model.settings.weight_kind == WeightKind::Frequency;
    let mean = model.weights.unusual_mean().filter(|_| frequencies)?;
    Some(format!(
        "note: the mean weight is {}; a weight counts as that many rows, so standard errors \
         depend on the scale of the weights. --weight-kind precision divides them by their mean",
        number(mean)
    ))
}
