//! `kalmia fit`: one pass, a model, its progressive loss, a coefficient table and a picture.

mod outputs;

use crate::args::{FitArgs, MissingArgs};
use crate::error::{Failure, Result};
use crate::format::{command_line, counted, grouped, shell_word};
use crate::interrupt;
use crate::learn::{
    CommandLearner, CutFiles, Feed, Pass, Passes, PolishOptions, PolishedModel, ShardedFit, Start,
    count_rows, family, fit_shards, polish, report_columns, report_left_out, shuffle,
};
use crate::output::ModelOutput;
use crate::plan::{FitPlan, SourcePlan, start_failure};
use crate::progress::Ui;
use crate::report::{FitPasses, FurtherPasses, Shards};
use kalmia::file::Claim;
use kalmia::{AnyLearner, Learner};
use kalmia_data::{Block, Encoder, Mode, Shuffled, Target};
use kalmia_model::{
    AnyModel, ClassModel, History, MergeLearner, Model, ModelOf, PolishLearner, PolishPrior,
    QuantileModel, Repeat, Settings,
};
use outputs::{show, write};
use std::path::Path;
use std::time::Duration;

/// A model with what this command added to it.
struct Fitted<L: CommandLearner> {
    model: ModelOf<L>,
    rows: u64,
    time: Duration,
}

/// Runs the command.
pub fn run(args: &FitArgs, ui: Ui) -> Result<()> {
    let plan = FitPlan::new(args)?;
    interrupt::catch();
    let mut output = output(&plan)?;
    if let Some(path) = &plan.resume {
        return match AnyModel::load(path)?.content {
            AnyModel::Numbers(model) => {
                let fitted = resumed(&plan, path, *model, output.as_mut(), ui)?;
                polish_and_finish(&plan, None, fitted, output, ui)
            }
            AnyModel::Classes(model) => {
                let fitted = resumed(&plan, path, *model, output.as_mut(), ui)?;
                polish_and_finish(&plan, None, fitted, output, ui)
            }
            AnyModel::Quantiles(model) => {
                let fitted = resumed(&plan, path, *model, output.as_mut(), ui)?;
                finish(&plan, fitted, output, ui)
            }
        };
    }
    if let Some(count) = plan.shards {
        let files = CutFiles::new(&plan, count)?;
        report_columns(&files.start.encoder, ui);
        if has_classes(&files.start.encoder) {
            refuse_start(&plan)?;
            let make = |settings, _: &Target, encoder| Ok(ClassModel::new(settings, encoder)?);
            return finish_shards(&plan, fit_shards(&plan, files, make, ui)?, output, ui);
        }
        let make = |settings: Settings, target: &Target, encoder| {
            let family = family(&settings.family, target, ui)?;
            Ok(Model::new(settings, family, encoder)?)
        };
        return finish_shards(&plan, fit_shards(&plan, files, make, ui)?, output, ui);
    }
    let first = FirstRows::read(&plan, ui)?;
    if has_classes(&first.start.encoder) {
        let fitted = fresh(&plan, first, class_model, output.as_mut(), ui)?;
        polish_and_finish(&plan, None, fitted, output, ui)
    } else if plan.settings.family.quantiles().is_some() {
        let fitted = fresh(&plan, first, quantile_model, output.as_mut(), ui)?;
        finish(&plan, fitted, output, ui)
    } else {
        let fitted = fresh(&plan, first, number_model, output.as_mut(), ui)?;
        polish_and_finish(&plan, None, fitted, output, ui)
    }
}

/// What was read before a model is made: the first block, or with `--shuffle` all rows.
struct FirstRows {
    start: Start,
    history: History,
    shuffled: Option<Shuffled>,
}

impl FirstRows {
    fn read(plan: &FitPlan, ui: Ui) -> Result<Self> {
        let read = if plan.shuffle.is_some() { Start::read_to_shuffle } else { Start::read };
        let mut start = read(&plan.source, &plan.encoder)?;
        report_columns(&start.encoder, ui);
        let history = History::starting(start.reader.fingerprints()?);
        for repeat in history.repeats() {
            ui.note(&repeat_note(&repeat));
        }
        let file = plan.source.inputs.first().map_or("the input", |input| input.name());
        let shuffled = plan.shuffle.map(|seed| shuffle(&mut start, file, seed, ui)).transpose()?;
        Ok(Self { start, history, shuffled })
    }
}

/// Whether the target has several classes.
fn has_classes(encoder: &Encoder) -> bool {
    encoder.target().is_some_and(|target| target.classes().is_some())
}

/// Polishes and writes a model of several shards.
fn finish_shards<L: CommandLearner + MergeLearner>(
    plan: &FitPlan,
    sharded: ShardedFit<L>,
    output: Option<ModelOutput>,
    ui: Ui,
) -> Result<()> {
    let shards = Shards::new(&sharded);
    let ShardedFit { model, time, parts, .. } = sharded;
    let fitted = Fitted { rows: model.learner.count(), model, time };
    polish_and_finish(plan, Some((shards, parts)), fitted, output, ui)
}

/// Writes a model and shows what was learned, even if it cannot be written.
fn finish<L: CommandLearner>(
    plan: &FitPlan,
    Fitted { model, rows, time }: Fitted<L>,
    output: Option<ModelOutput>,
    ui: Ui,
) -> Result<()> {
    let written = write(plan, &model, output);
    show(plan, &*L::report(&model, rows, time, FitPasses::default())?, rows, ui)?;
    written
}

/// The same after the passes that were asked for, over the parts of a sharded fit or over all.
fn polish_and_finish<L: CommandLearner + PolishLearner>(
    plan: &FitPlan,
    sharded: Option<(Shards, Vec<SourcePlan>)>,
    fitted: Fitted<L>,
    mut output: Option<ModelOutput>,
    ui: Ui,
) -> Result<()> {
    let (shards, parts) = match sharded {
        Some((shards, parts)) => (Some(shards), parts),
        None => (None, vec![plan.source.clone()]),
    };
    let (fitted, further) = further_passes(plan, &parts, fitted, output.as_mut(), ui)?;
    let written = write(plan, &fitted.model, output);
    let Fitted { model, rows, time } = fitted;
    let summary = L::report(&model, rows, time, FitPasses { shards, further })?;
    show(plan, &*summary, rows, ui)?;
    written
}

/// The passes after the first. If they fail, the model of the first pass is written, so that its
/// work is not lost.
fn further_passes<L: CommandLearner + PolishLearner>(
    plan: &FitPlan,
    parts: &[SourcePlan],
    fitted: Fitted<L>,
    output: Option<&mut ModelOutput>,
    ui: Ui,
) -> Result<(Fitted<L>, Option<FurtherPasses>)> {
    let passes = match (plan.passes, plan.shards) {
        (Some(1), _) | (None, None) => return Ok((fitted, None)),
        (None, _) if !fitted.model.learner.has_polish() => return Ok((fitted, None)),
        (Some(passes), _) => Passes::AtMost(passes - 1),
        (None, Some(_)) => Passes::UntilClose,
    };
    let options = PolishOptions {
        prior: PolishPrior::Fitted,
        robust: false,
        passes,
        missing: MissingArgs::default(),
    };
    let Fitted { model, rows, time } = fitted;
    match polish(model.clone(), parts, &options, ui) {
        Ok(PolishedModel { model, polished, passes }) => {
            let further = FurtherPasses::new(passes, &polished);
            Ok((Fitted { model, rows, time }, Some(further)))
        }
        Err(failure) => {
            if let Some(output) = output {
                output.save(&model)?;
                let path = output.path().display();
                ui.note(&format!("note: the model of the first pass was written to {path}"));
            }
            Err(failure)
        }
    }
}

/// Where the model goes. One that is resumed is claimed before it is read.
fn output(plan: &FitPlan) -> Result<Option<ModelOutput>> {
    let Some(path) = &plan.output else { return Ok(None) };
    Ok(Some(match plan.resume {
        Some(_) => ModelOutput::Continued(Claim::new(path)?),
        None => ModelOutput::New(path.clone()),
    }))
}

fn pass<'a>(plan: &FitPlan, output: Option<&'a mut ModelOutput>, ui: Ui) -> Pass<'a> {
    let mut again = command_line();
    if let (None, Some(path)) = (&plan.resume, &plan.output) {
        again.push_str(&format!(" --resume {}", shell_word(&path.to_string_lossy())));
    }
    let again = plan.shuffle.is_none().then_some(again);
    Pass { output, every: plan.every, ui, again }
}

/// How a model is made once the target is known.
type Make<L> = fn(&FitPlan, &Target, Encoder, Ui) -> Result<ModelOf<L>>;

/// A model of numbers or two labels that has learned nothing.
fn number_model(plan: &FitPlan, target: &Target, encoder: Encoder, ui: Ui) -> Result<Model> {
    let mut settings = plan.settings.clone();
    if settings.method.needs_horizon() {
        settings.method = settings.method.with_horizon(count_rows(&plan.source, &plan.encoder)?);
    }
    let family = family(&settings.family, target, ui)?;
    let model = match &plan.start {
        Some((start, path)) => Model::started(settings, start, family, encoder)
            .map_err(|error| start_failure(path, error))?,
        None => Model::new(settings, family, encoder)?,
    };
    if let Some(note) = memory_note(&model) {
        ui.note(&note);
    }
    Ok(model)
}

/// A model of several classes that has learned nothing.
fn class_model(plan: &FitPlan, _: &Target, encoder: Encoder, _: Ui) -> Result<ClassModel> {
    refuse_start(plan)?;
    Ok(ClassModel::new(plan.settings.clone(), encoder)?)
}

/// Several classes start where auto does.
fn refuse_start(plan: &FitPlan) -> Result<()> {
    match &plan.start {
        None => Ok(()),
        Some((_, path)) => Err(Failure::usage(format!(
            "--start {}: a target of several classes takes no start; leave it out",
            path.display()
        ))),
    }
}

/// A model of several quantiles that has learned nothing.
fn quantile_model(plan: &FitPlan, _: &Target, encoder: Encoder, _: Ui) -> Result<QuantileModel> {
    Ok(QuantileModel::new(plan.settings.clone(), encoder)?)
}

/// From the first row on.
fn fresh<L: CommandLearner>(
    plan: &FitPlan,
    FirstRows { start, history, shuffled }: FirstRows,
    make: Make<L>,
    output: Option<&mut ModelOutput>,
    ui: Ui,
) -> Result<Fitted<L>> {
    let Start { mut reader, encoder, block } = start;
    let feed = Feed::new(&mut reader, shuffled);
    let mut model = make(plan, &feed.target(&encoder)?, encoder, ui)?;
    // settings hold what was asked for, not a horizon that was counted
    model.settings = plan.settings.clone();
    model.history = history;
    let time = pass(plan, output, ui).run(&mut model, feed, block)?;
    report_left_out(&reader, ui);
    model.check_weights()?;
    match model.learner.count() {
        0 => Err(Failure::no_rows(model.encoder.counts())),
        rows => Ok(Fitted { model, rows, time }),
    }
}

/// A learner that takes more bytes than this is announced.
const MIN_NOTED_BYTES: usize = 1 << 30;

/// What a large learner takes, before it takes it.
fn memory_note(model: &Model) -> Option<String> {
    if matches!(model.learner, AnyLearner::Wide(_)) {
        return None;
    }
    let dim = model.learner.dim();
    let bytes = model.learner.memory(dim);
    (bytes > MIN_NOTED_BYTES).then(|| {
        format!(
            "note: {} take up to {} of memory, the square of their number; --features or \
             --exclude chooses columns",
            counted(dim as u64, "feature"),
            kalmia::memory::text(bytes)
        )
    })
}

/// From the last row of a checkpoint on.
fn resumed<L: CommandLearner>(
    plan: &FitPlan,
    path: &Path,
    mut model: ModelOf<L>,
    output: Option<&mut ModelOutput>,
    ui: Ui,
) -> Result<Fitted<L>> {
    let refuse =
        |reason: String| Failure::usage(format!("cannot resume from {}: {reason}", path.display()));
    let run = match &model.history {
        History { runs, merged: None } if runs.len() == 1 => runs[0].clone(),
        _ => return Err(refuse("it was updated or merged since it was fitted".into())),
    };
    let columns = model.encoder.options();
    if let Some(found) = model.settings.difference(columns, &plan.settings, &plan.encoder) {
        let name = found.name.replace('_', "-");
        return Err(refuse(format!("`{name}` was {} and is now {}", found.before, found.now)));
    }
    let mut reader = plan.source.open(&mut model.encoder, Mode::Learn)?;
    let then: Vec<_> = run.files.iter().map(|file| file.name.as_str()).collect();
    let now: Vec<_> = plan.source.inputs.iter().map(|input| input.name()).collect();
    if then != now {
        let [then, now] = [then, now].map(|names| names.join(", "));
        return Err(refuse(format!("it was learning {then}; this command names {now}")));
    }
    reader.check_unchanged(&run.files)?;
    if run.finished {
        let path = path.display();
        ui.note(&format!("{path} holds the finished fit; there is nothing left to learn"));
        return Ok(Fitted { model, rows: 0, time: Duration::ZERO });
    }
    reader.seek(run.position)?;
    let before = model.learner.count();
    ui.note(&format!("continuing after row {}", grouped(run.position.rows)));
    let time = pass(plan, output, ui).run(&mut model, Feed::InOrder(&mut reader), Block::new())?;
    report_left_out(&reader, ui);
    model.check_weights()?;
    let rows = model.learner.count() - before;
    Ok(Fitted { model, rows, time })
}

/// What to say of a file whose rows come twice.
fn repeat_note(Repeat { file, earlier }: &Repeat<'_>) -> String {
    match file.name == earlier.name {
        true => format!("note: {} is given twice; its rows count twice", file.name),
        false => format!(
            "note: {} holds the same bytes as {}; its rows count twice",
            file.name, earlier.name
        ),
    }
}
