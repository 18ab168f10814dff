//! `kalmia update`: continues learning from more files.

use crate::args::UpdateArgs;
use crate::error::{Failure, Result};
use crate::format::{command_line, grouped};
use crate::interrupt;
use crate::learn::{CommandLearner, Feed, Pass, report_left_out};
use crate::output::ModelOutput;
use crate::plan::{Every, SourcePlan};
use crate::progress::Ui;
use crate::report::{FitPasses, print_report};
use kalmia_data::{Block, Mode, Reader};
use kalmia_model::{AnyModel, ModelOf, Repeat};

/// Runs the command.
pub fn run(args: &UpdateArgs, ui: Ui) -> Result<()> {
    let every = args.checkpoint_every.as_deref().map(Every::parse).transpose()?;
    let source = SourcePlan::new(&args.source)?;
    let output = source.continued_model(&args.model, args.output.as_deref())?;
    match AnyModel::load(&args.model)?.content {
        AnyModel::Numbers(model) => update(*model, args, &source, every, output, ui),
        AnyModel::Classes(model) => update(*model, args, &source, every, output, ui),
        AnyModel::Quantiles(model) => update(*model, args, &source, every, output, ui),
    }
}

/// Learns the rows of a source.
fn update<L: CommandLearner>(
    mut model: ModelOf<L>,
    args: &UpdateArgs,
    source: &SourcePlan,
    every: Option<Every>,
    mut output: ModelOutput,
    ui: Ui,
) -> Result<()> {
    if let Some(checkpoint) = checkpoint(&model, args) {
        model = checkpoint;
    }
    args.missing.apply(&mut model.encoder)?;
    let mut reader = source.open(&mut model.encoder, Mode::Learn)?;
    interrupt::catch();
    begin(&mut model, &mut reader, args, ui)?;
    let before = model.learner.count();
    let again = Some(command_line());
    let time = Pass { output: Some(&mut output), every, ui, again }.run(
        &mut model,
        Feed::InOrder(&mut reader),
        Block::new(),
    )?;
    report_left_out(&reader, ui);
    // what was learned is shown even if it cannot be written
    let written = output.save(&model);
    let rows = model.learner.count() - before;
    let report = L::report(&model, rows, time, FitPasses::default())?;
    report.notes().iter().for_each(|note| ui.note(note));
    print_report(&*report, args.json)?;
    written
}

/// What `-o` holds, if that is an unfinished update of this very model.
fn checkpoint<L: CommandLearner>(model: &ModelOf<L>, args: &UpdateArgs) -> Option<ModelOf<L>> {
    let other = ModelOf::<L>::load(args.output.as_ref()?).ok()?.content;
    let (run, before) = other.history.runs.split_last()?;
    let same_rows = before == model.history.runs && other.history.merged == model.history.merged;
    let same_settings =
        other.settings == model.settings && other.encoder.options() == model.encoder.options();
    let unfinished = !run.finished && run.before == model.learner.count();
    (same_rows && same_settings && unfinished).then_some(other)
}

/// Starts a run, or goes to where an interrupted one stopped.
fn begin<L: CommandLearner>(
    model: &mut ModelOf<L>,
    reader: &mut Reader,
    args: &UpdateArgs,
    ui: Ui,
) -> Result<()> {
    let Some(run) = model.history.unfinished() else {
        let before = model.learner.count();
        model.history.begin(reader.fingerprints()?, before);
        for Repeat { file, earlier } in model.history.repeats() {
            let name = &file.name;
            let renamed = if *name == earlier.name {
                String::new()
            } else {
                format!(", as {}", earlier.name)
            };
            ui.note(&format!(
                "note: the model has learned from {name} before{renamed}; its rows count twice"
            ));
        }
        return Ok(());
    };
    // zero rows before it: a fit, not an update
    if run.before == 0 {
        let path = args.model.display();
        return Err(Failure::usage(format!(
            "{path} is the checkpoint of an unfinished fit; finish it first with \
             `kalmia fit ... --resume {path}`"
        )));
    }
    let path = args.output.as_ref().unwrap_or(&args.model).display();
    reader.check_unchanged(&run.files).map_err(|error| {
        Failure::usage(format!(
            "{path} holds an unfinished update, which continues only with the same files: {error}"
        ))
    })?;
    reader.seek(run.position)?;
    ui.note(&format!("continuing after row {}", grouped(run.position.rows)));
    Ok(())
}
