//! `kalmia fit`: one pass, a model, its progressive loss, a coefficient table and a picture.

use crate::args::FitArgs;
use crate::error::{Failure, Result};
use crate::learn::{Pass, build, choose_family, horizon};
use crate::model::{History, Model, Run, Settings};
use crate::plan::FitPlan;
use crate::report::{self, Curve, Summary};
use crate::ui::{self, Ui};
use kalmia::Learner;
use kalmia::evaluate::CoursePoint;
use kalmia::evaluate::Metrics;
use kalmia_data::{Block, Encoder, EncoderOptions, Mode, Position, Reader};
use std::path::Path;
use std::time::Duration;

/// Runs the command.
pub fn run(args: &FitArgs, ui: Ui) -> Result<()> {
    let plan = FitPlan::new(args)?;
    ui::catch_interrupts();
    let (model, rows, time) = match &plan.resume {
        Some(path) => resumed(&plan, path, ui)?,
        None => fresh(&plan, ui)?,
    };
    if let Some(path) = &plan.output {
        model.save(path)?;
    }
    if let Some(path) = &plan.trace {
        write_trace(path, &model)?;
    }
    if let Some(path) = &plan.plot {
        picture(path, &model)?;
    }
    let summary = Summary::new(&model, rows, time)?;
    if plan.json {
        return ui::print(&summary.json()?);
    }
    ui::print(&summary.text())?;
    let rate = ui::grouped(summary.rows_per_second as u64);
    ui.note(&format!("{} in {:.2} s, {rate} rows/s", ui::counted(rows, "row"), summary.seconds));
    Ok(())
}

fn pass<'a>(plan: &'a FitPlan, ui: Ui) -> Pass<'a> {
    let mut again = ui::command_line();
    if let (None, Some(path)) = (&plan.resume, &plan.output) {
        again.push_str(&format!(" --resume {}", ui::shell_word(&path.to_string_lossy())));
    }
    Pass { output: plan.output.as_deref(), every: plan.every, ui, again }
}

/// From the first row on: the model, the rows learned and the time.
pub fn fresh(plan: &FitPlan, ui: Ui) -> Result<(Model, u64, Duration)> {
    let horizon = horizon(&plan.settings, &plan.source, &plan.encoder)?;
    let encoder = Encoder::new(plan.encoder.clone());
    let mut reader = Reader::open(
        plan.source.inputs.clone(),
        plan.source.options.clone(),
        encoder,
        Mode::Learn,
    )?;
    let files = reader.fingerprints()?;
    let mut block = Block::new();
    reader.next_block(&mut block)?;
    let target = reader
        .encoder()
        .target()
        .ok_or_else(|| Failure::usage("name the target column with --target"))?;
    let chosen = choose_family(&plan.settings.family, target)?;
    if let Some(note) = chosen.note {
        ui.note(&format!("note: {note}"));
    }
    let family = chosen.family;
    let mut model = Model {
        learner: build(&plan.settings, family, block.dim, plan.encoder.intercept, horizon)?,
        encoder: reader.encoder().clone(),
        settings: plan.settings.clone(),
        metrics: Metrics::new(family)?,
        history: History {
            runs: vec![Run { files, before: 0, position: Position::default(), finished: false }],
            merged: None,
        },
        metadata: Default::default(),
    };
    let time = pass(plan, ui).run(&mut model, &mut reader, Some(block))?;
    model.encoder = reader.into_encoder();
    match model.learner.count() {
        0 => Err(Failure::no_rows(model.encoder.counts())),
        rows => Ok((model, rows, time)),
    }
}

/// From the last row of a checkpoint on.
fn resumed(plan: &FitPlan, path: &Path, ui: Ui) -> Result<(Model, u64, Duration)> {
    let (mut model, _) = Model::load(path)?;
    let refuse =
        |reason: String| Failure::usage(format!("cannot resume from {}: {reason}", path.display()));
    let run = match &model.history {
        History { runs, merged: None } if runs.len() == 1 => runs[0].clone(),
        _ => return Err(refuse("it was updated or merged since it was fitted".into())),
    };
    if let Some(reason) =
        difference(&model.settings, &plan.settings, model.encoder.options(), &plan.encoder)?
    {
        return Err(refuse(reason));
    }
    let (inputs, options) = (plan.source.inputs.clone(), plan.source.options.clone());
    let mut reader = Reader::open(inputs, options, model.encoder.clone(), Mode::Learn)?;
    reader.check_unchanged(&run.files)?;
    if run.finished {
        ui.note(&format!(
            "{} holds the finished fit; there is nothing left to learn",
            path.display()
        ));
        return Ok((model, 0, Duration::ZERO));
    }
    reader.seek(run.position)?;
    let before = model.learner.count();
    ui.note(&format!("going on after row {}", ui::grouped(run.position.rows)));
    let time = pass(plan, ui).run(&mut model, &mut reader, None)?;
    model.encoder = reader.into_encoder();
    let rows = model.learner.count() - before;
    Ok((model, rows, time))
}

/// The first argument that was other when the checkpoint was written.
fn difference(
    old: &Settings,
    new: &Settings,
    old_roles: &EncoderOptions,
    new_roles: &EncoderOptions,
) -> Result<Option<String>> {
    fn fields(
        settings: &Settings,
        roles: &EncoderOptions,
    ) -> Option<serde_json::Map<String, serde_json::Value>> {
        let mut all = serde_json::to_value(settings).ok()?.as_object()?.clone();
        all.extend(serde_json::to_value(roles).ok()?.as_object()?.clone());
        Some(all)
    }
    let unreadable = || Failure::Other("settings that are no object".into());
    let (old, new) = (
        fields(old, old_roles).ok_or_else(unreadable)?,
        fields(new, new_roles).ok_or_else(unreadable)?,
    );
    let differs = new.iter().find(|(key, value)| old.get(*key) != Some(*value));
    Ok(differs.map(|(key, value)| {
        let before = old.get(key).map_or("absent".into(), |v| v.to_string());
        format!("`{}` was {before} and is now {value}", key.replace('_', "-"))
    }))
}

fn write_trace(path: &Path, model: &Model) -> Result<()> {
    let mut text = String::from("rows,loss,baseline_loss\n");
    model
        .metrics
        .course()
        .iter()
        .for_each(|p| text.push_str(&format!("{},{},{}\n", p.rows, p.loss, p.constant_loss)));
    ui::write_file(path, text.as_bytes())
}

fn picture(path: &Path, model: &Model) -> Result<()> {
    let course = model.metrics.course();
    let curve = |name: &str, reference, pick: fn(&CoursePoint) -> f64| Curve {
        name: name.into(),
        points: course.iter().map(|point| (point.rows as f64, pick(point))).collect(),
        reference,
    };
    let curves = [
        curve(model.learner.method(), false, |point| point.loss),
        curve("constant predictor", true, |point| point.constant_loss),
    ];
    let target = model.encoder.target().map_or("", |target| &target.name);
    report::losses(path, &format!("Progressive loss of {target}"), &curves)
}
