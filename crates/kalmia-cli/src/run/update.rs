//! `kalmia update`: goes on learning from more files.

use crate::args::UpdateArgs;
use crate::error::{Failure, Result};
use crate::learn::Pass;
use crate::model::{Model, Run};
use crate::plan::{Every, SourcePlan, writable};
use crate::report::Summary;
use crate::ui::{self, Ui};
use kalmia::Learner;
use kalmia_data::{Mode, Position, Reader};

/// Runs the command.
pub fn run(args: &UpdateArgs, ui: Ui) -> Result<()> {
    let every = args.checkpoint_every.as_deref().map(Every::parse).transpose()?;
    let output = args.output.as_ref().unwrap_or(&args.model);
    writable(output)?;
    let source = SourcePlan::new(&args.source)?;
    let (mut model, _) = Model::load(&args.model)?;
    if let Some(checkpoint) = checkpoint(&model, args) {
        model = checkpoint;
    }
    args.missing.apply(&mut model.encoder)?;
    let mut reader = Reader::open(source.inputs, source.options, &mut model.encoder, Mode::Learn)?;
    ui::catch_interrupts();
    begin(&mut model, &mut reader, args, ui)?;
    let before = model.learner.count();
    let time = Pass { output: Some(output), every, ui, again: ui::command_line() }.run(
        &mut model,
        &mut reader,
        None,
    )?;
    model.save(output)?;
    let summary = Summary::new(&model, model.learner.count() - before, time)?;
    ui::print(&if args.json { summary.json()? } else { summary.text() })
}

/// What `-o` holds, where that is an update of this very model that did not finish.
fn checkpoint(model: &Model, args: &UpdateArgs) -> Option<Model> {
    let (other, _) = Model::load(args.output.as_ref()?).ok()?;
    let (run, before) = other.history.runs.split_last()?;
    let same_rows = before == model.history.runs && other.history.merged == model.history.merged;
    let same_way =
        other.settings == model.settings && other.encoder.options() == model.encoder.options();
    (same_rows && same_way && !run.finished && run.before == model.learner.count()).then_some(other)
}

/// Starts a run, or goes to where an interrupted one stopped.
fn begin(model: &mut Model, reader: &mut Reader, args: &UpdateArgs, ui: Ui) -> Result<()> {
    match model.history.runs.last().filter(|run| !run.finished) {
        // an update has rows before it
        Some(run) if run.before == 0 => Err(Failure::usage(format!(
            "{} is the checkpoint of a fit that did not finish; finish it first with `kalmia fit ... --resume {0}`",
            args.model.display()
        ))),
        Some(run) => {
            let refuse = |error| {
                let path = args.output.as_ref().unwrap_or(&args.model).display();
                Failure::usage(format!(
                    "{path} holds an update that did not finish and goes on with its own files only: {error}"
                ))
            };
            reader.check_unchanged(&run.files).map_err(refuse)?;
            reader.seek(run.position)?;
            ui.note(&format!("going on after row {}", ui::grouped(run.position.rows)));
            Ok(())
        }
        None => {
            let (files, before) = (reader.fingerprints()?, model.learner.count());
            model.history.runs.push(Run {
                files,
                before,
                position: Position::default(),
                finished: false,
            });
            Ok(())
        }
    }
}
