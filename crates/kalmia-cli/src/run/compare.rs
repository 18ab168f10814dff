//! `kalmia compare`: every applicable method on the same rows in one pass.

use crate::args::CompareArgs;
use crate::error::{Failure, Result};
use crate::format::{counted, number};
use crate::interrupt;
use crate::learn::{
    Feed, Levels, Next, Start, count_rows, family, next, report_columns, report_left_out,
};
use crate::output;
use crate::plan::ComparePlan;
use crate::progress::Ui;
use crate::report::{self, Curve, Table};
use kalmia::{AnyFamily, Family};
use kalmia_data::{Block, Encoder};
use kalmia_model::{Error as ModelError, LastHalfScores, MethodName, Model, Scores};
use serde::Serialize;
use std::time::{Duration, Instant};

/// A method in the comparison.
struct Contestant {
    method: MethodName,
    model: Model,
    time: Duration,
    /// Why it stopped, and after how many rows.
    stopped: Option<String>,
}

/// What `--json` prints for a method.
#[derive(Serialize)]
struct Line {
    method: &'static str,
    rows: u64,
    #[serde(flatten)]
    scores: Scores,
    seconds: f64,
    stopped: Option<String>,
    course: Vec<(u64, f64, f64)>,
}

/// Runs the command.
pub fn run(args: &CompareArgs, ui: Ui) -> Result<()> {
    let plan = ComparePlan::new(args)?;
    interrupt::catch();
    let Start { mut reader, mut encoder, mut block } = Start::read(&plan.source, &plan.encoder)?;
    report_columns(&encoder, ui);
    let shown = Feed::InOrder(&mut reader).target(&encoder)?;
    let family = family(&args.roles.family, &shown, ui)?;
    let target = encoder.target().map_or_else(String::new, |target| target.name.clone());
    let mut contestants = contestants(&plan, family, &encoder, ui)?;
    let mut meter = ui.progress(reader.progress());
    let mut levels = Levels::default();
    let interrupted = loop {
        levels.report_new(&encoder, ui);
        for one in contestants.iter_mut().filter(|one| one.stopped.is_none()) {
            one.learn(&block, &encoder)?;
        }
        meter.tick(reader.progress(), reader.position().rows, || None);
        match next(&mut reader, &mut encoder, &mut block)? {
            Next::Block => {}
            Next::End => break false,
            Next::Stop => break true,
        }
    };
    meter.finish();
    report_left_out(&reader, ui);
    let counts = encoder.counts();
    if counts.rows == counts.skipped {
        return Err(Failure::no_rows(counts));
    }
    let rows = reader.position().rows;
    if let Some(one) = contestants.first() {
        one.model.check_weights()?;
        if one.model.metrics.is_sorted() {
            ui.note(report::SORTED_NOTE);
        }
    }
    show(&plan, family, &target, contestants)?;
    if interrupted {
        return Err(Failure::Interrupted(format!(
            "interrupted after {}; the table covers these",
            counted(rows, "row")
        )));
    }
    Ok(())
}

/// The methods that apply. One that does not apply is refused if it was named, else noted.
fn contestants(
    plan: &ComparePlan,
    family: AnyFamily,
    encoder: &Encoder,
    ui: Ui,
) -> Result<Vec<Contestant>> {
    let mut all = Vec::new();
    for settings in &plan.settings {
        let method = settings.method.name();
        let mut settings = settings.clone();
        let mut start = || -> Result<Model> {
            if settings.method.needs_horizon() {
                let rows = count_rows(&plan.source, &plan.encoder)?;
                settings.method = settings.method.with_horizon(rows);
            }
            Ok(Model::new(settings.clone(), family, encoder.clone())?)
        };
        match start() {
            Ok(model) => {
                all.push(Contestant { method, model, time: Duration::ZERO, stopped: None });
            }
            Err(error) if plan.named => return Err(error),
            Err(error) => ui.note(&format!("note: {method} is left out: {error}")),
        }
    }
    Ok(all)
}

impl Contestant {
    /// Learns a block. A row that every method refuses is an error; a row that this method alone
    /// cannot learn takes it out of the comparison.
    fn learn(&mut self, block: &Block, encoder: &Encoder) -> Result<()> {
        let start = Instant::now();
        let rows = self.model.metrics.progressive.rows();
        let mut metrics = self.model.metrics.clone();
        // the names of new features, for messages
        if self.model.encoder.dim() < encoder.dim() {
            self.model.encoder = encoder.clone();
        }
        let outcome = self.model.learn(block, Some(&mut metrics));
        self.time += start.elapsed();
        let Err(error) = outcome else {
            self.model.metrics = metrics;
            return Ok(());
        };
        self.stopped = Some(match &error {
            ModelError::Row(row) if matches!(row.cause, kalmia::Error::Diverged { .. }) => {
                format!("diverged after row {rows}")
            }
            ModelError::LateFeature { .. } | ModelError::Learner(_) => error.to_string(),
            _ => return Err(error.into()),
        });
        Ok(())
    }
}

fn show(
    plan: &ComparePlan,
    family: AnyFamily,
    target: &str,
    contestants: Vec<Contestant>,
) -> Result<()> {
    if let Some(path) = &plan.plot {
        let mut curves: Vec<Curve> = contestants
            .iter()
            .map(|one| Curve::new(one.method.name(), &one.model.metrics.course(), |p| p.loss))
            .collect();
        let longest = contestants.iter().max_by_key(|one| one.model.metrics.progressive.rows());
        if let Some(longest) = longest {
            curves.push(Curve::constant_predictor(&longest.model.metrics.course()));
        }
        report::losses(path, &format!("Progressive loss of {target}"), &curves)?;
    }
    let lines: Vec<Line> = contestants.into_iter().map(line).collect();
    if plan.json {
        return output::print_json(
            &serde_json::json!({ "family": family.name(), "target": target, "methods": lines }),
        );
    }
    output::print(&table(family, target, &lines))
}

fn line(one: Contestant) -> Line {
    let metrics = &one.model.metrics;
    let course = metrics.course().into_iter();
    Line {
        method: one.method.name(),
        rows: metrics.progressive.rows(),
        scores: Scores::new(&metrics.progressive),
        seconds: one.time.as_secs_f64(),
        stopped: one.stopped,
        course: course.map(|point| (point.rows, point.loss, point.constant_loss)).collect(),
    }
}

fn table(family: AnyFamily, target: &str, lines: &[Line]) -> String {
    let second = match family {
        AnyFamily::Bernoulli(_) => "accuracy",
        AnyFamily::Gaussian(_) => "RMSE",
        _ => "deviance",
    };
    let mut table = Table::new(["method", "loss", "last half", second, "seconds", ""]);
    let late = |line: &Line, of: fn(&LastHalfScores) -> f64| {
        line.scores.last_half.as_ref().map_or(String::new(), |half| number(of(half)))
    };
    for line in lines {
        let score = line.scores.accuracy.or(line.scores.rmse).unwrap_or(line.scores.deviance);
        table.row([
            line.method.into(),
            number(line.scores.loss),
            late(line, |half| half.loss),
            number(score),
            format!("{:.2}", line.seconds),
            line.stopped.clone().unwrap_or_default(),
        ]);
    }
    if let Some(line) = lines.iter().max_by_key(|line| line.rows) {
        let loss = number(line.scores.baseline_loss);
        let empty = String::new;
        let half = late(line, |half| half.baseline_loss);
        table.row(["constant predictor".into(), loss, half, empty(), empty(), empty()]);
    }
    let rows = lines.iter().map(|line| line.rows).max().unwrap_or(0);
    let head = format!("{} of `{target}`, {}, progressive", family.name(), counted(rows, "row"));
    format!("{head}\n\n{}", table.render())
}
