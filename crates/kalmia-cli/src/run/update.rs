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
    let mut encoder = model.encoder.clone();
    args.missing.apply(&mut encoder)?;
    let mut reader = Reader::open(source.inputs, source.options, encoder, Mode::Learn)?;
    ui::catch_interrupts();
    begin(&mut model, &mut reader, args, ui)?;
    let before = model.learner.count();
    let again = format!("kalmia update {} (with the same arguments as now)", output.display());
    let time = Pass { output: Some(output), every, ui, again }.run(&mut model, &mut reader, None)?;
    model.encoder = reader.into_encoder();
    model.save(output)?;
    let summary = Summary::new(&model, model.learner.count() - before, time)?;
    ui::print(&if args.json { summary.json()? } else { summary.text() })
}

/// Starts a run, or goes to where an interrupted one stopped.
fn begin(model: &mut Model, reader: &mut Reader, args: &UpdateArgs, ui: Ui) -> Result<()> {
    let first = model.history.runs.len() <= 1 && model.history.merged.is_none();
    match model.history.runs.last().filter(|run| !run.finished) {
        Some(_) if first => Err(Failure::usage(format!(
            "{} is the checkpoint of a fit that did not finish; finish it first with `kalmia fit ... --resume {0}`",
            args.model.display()
        ))),
        Some(run) => {
            reader.check_unchanged(&run.files)?;
            reader.seek(run.position)?;
            ui.note(&format!("going on after row {}", ui::grouped(run.position.rows)));
            Ok(())
        }
        None => {
            let (files, before) = (reader.fingerprints()?, model.learner.count());
            model.history.runs.push(Run { files, before, position: Position::default(), finished: false });
            Ok(())
        }
    }
}
