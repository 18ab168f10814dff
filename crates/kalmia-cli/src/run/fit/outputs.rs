//! What a fit writes and prints at its end.

use crate::error::Result;
use crate::format::{counted, grouped};
use crate::learn::CommandLearner;
use crate::output::{self, ModelOutput};
use crate::plan::FitPlan;
use crate::progress::Ui;
use crate::report::{self, Curve, PassReport, Speed, print_report};
use kalmia::evaluate::CoursePoint;
use kalmia_model::ModelOf;
use std::path::Path;

/// Writes every output that can be written; the first failure is returned.
pub fn write<L: CommandLearner>(
    plan: &FitPlan,
    model: &ModelOf<L>,
    output: Option<ModelOutput>,
) -> Result<()> {
    let saved = output.map_or(Ok(()), |mut output| output.save(model));
    let traced = plan.trace.as_ref().map_or(Ok(()), |path| write_trace(path, model));
    let drawn = plan.plot.as_ref().map_or(Ok(()), |path| draw(path, model));
    saved.and(traced).and(drawn)
}

/// Prints a report, and how fast the fit was.
pub fn show(plan: &FitPlan, report: &dyn PassReport, rows: u64, ui: Ui) -> Result<()> {
    report.notes().iter().for_each(|note| ui.note(note));
    print_report(report, plan.json)?;
    if plan.json {
        return Ok(());
    }
    let Speed { seconds, rows_per_second } = report.speed();
    let rate = grouped(rows_per_second as u64);
    ui.note(&format!("{} in {seconds:.2} s, {rate} rows/s", counted(rows, "row")));
    if plan.output.is_none() {
        ui.note("the model was not kept; -o MODEL writes it to a file for predict and update");
    }
    Ok(())
}

fn write_trace<L: CommandLearner>(path: &Path, model: &ModelOf<L>) -> Result<()> {
    let mut text = String::from("rows,loss,baseline_loss\n");
    for CoursePoint { rows, loss, constant_loss } in L::course(&model.metrics) {
        text.push_str(&format!("{rows},{loss},{constant_loss}\n"));
    }
    output::write_file(path, text.as_bytes())
}

fn draw<L: CommandLearner>(path: &Path, model: &ModelOf<L>) -> Result<()> {
    let course = L::course(&model.metrics);
    let loss = Curve::new(model.learner.method(), &course, |point| point.loss);
    let constant = Curve::constant_predictor(&course);
    let title = format!("Progressive loss of {}", model.target());
    report::losses(path, &title, &[loss, constant])
}
