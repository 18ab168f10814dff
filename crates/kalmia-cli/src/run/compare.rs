//! `kalmia compare`: every applicable method on the same rows in one pass.

use crate::args::CompareArgs;
use crate::error::{Failure, Result};
use crate::learn::{Levels, Next, build, choose_family, horizon, learn_block, next};
use crate::plan::ComparePlan;
use crate::report::{self, Curve, Scores, Table, number};
use crate::ui::{self, Ui, counted};
use kalmia::evaluate::Metrics;
use kalmia::{AnyFamily, AnyLearner, Family};
use kalmia_data::{Block, Encoder, Mode, Reader};
use serde::Serialize;
use std::time::{Duration, Instant};

/// A method in the race.
struct Runner {
    method: String,
    learner: AnyLearner,
    metrics: Metrics,
    time: Duration,
    /// Why it stopped, and after how many rows.
    stopped: Option<String>,
}

/// What `--json` prints of a method.
#[derive(Serialize)]
struct Line {
    method: String,
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
    ui::catch_interrupts();
    let encoder = Encoder::new(plan.encoder.clone());
    let mut reader = Reader::open(
        plan.source.inputs.clone(),
        plan.source.options.clone(),
        encoder,
        Mode::Learn,
    )?;
    let mut block = Block::new();
    reader.next_block(&mut block)?;
    let target = reader
        .encoder()
        .target()
        .ok_or_else(|| Failure::usage("name the target column with --target"))?
        .clone();
    let asked = plan.settings.first().map_or("auto", |settings| &settings.family);
    let chosen = choose_family(asked, &target)?;
    chosen.note.iter().for_each(|note| ui.note(&format!("note: {note}")));
    let mut runners = runners(&plan, chosen.family, block.dim, ui)?;
    let mut meter = ui.progress(reader.progress());
    let auto = asked == "auto";
    let mut levels = Levels::default();
    let interrupted = loop {
        levels.look(reader.encoder(), ui);
        for runner in runners.iter_mut().filter(|runner| runner.stopped.is_none()) {
            runner.learn(&block, reader.encoder(), auto)?;
        }
        meter.tick(reader.progress(), reader.position().rows, || None);
        match next(&mut reader, &mut block)? {
            Next::Block => {}
            Next::End => break false,
            Next::Stop => break true,
        }
    };
    meter.finish();
    let counts = reader.encoder().counts();
    if counts.rows == counts.skipped {
        return Err(Failure::no_rows(counts));
    }
    let rows = reader.position().rows;
    show(&plan, chosen.family, &target.name, runners)?;
    if interrupted {
        return Err(Failure::Interrupted(format!(
            "interrupted after {}; the methods are compared on these",
            counted(rows, "row")
        )));
    }
    Ok(())
}

/// The methods that apply; those that do not are told, or refused where they were named.
fn runners(plan: &ComparePlan, family: AnyFamily, dim: usize, ui: Ui) -> Result<Vec<Runner>> {
    let mut runners = Vec::new();
    for settings in &plan.settings {
        let learner = horizon(settings, &plan.source, &plan.encoder)
            .and_then(|horizon| build(settings, family, dim, plan.encoder.intercept, horizon));
        match learner {
            Ok(learner) => runners.push(Runner {
                method: settings.method.clone(),
                learner,
                metrics: Metrics::new(family)?,
                time: Duration::ZERO,
                stopped: None,
            }),
            Err(error) if plan.named => return Err(error),
            Err(error) => ui.note(&format!("note: without {}: {error}", settings.method)),
        }
    }
    Ok(runners)
}

impl Runner {
    /// A row that every method refuses is an error; one that this method alone cannot learn takes
    /// it out of the race.
    fn learn(&mut self, block: &Block, encoder: &Encoder, auto: bool) -> Result<()> {
        let start = Instant::now();
        let rows = self.metrics.progressive.rows();
        let before = self.metrics.clone();
        let outcome = learn_block(&mut self.learner, &mut self.metrics, block, encoder, auto);
        self.time += start.elapsed();
        match outcome {
            Err(Failure::Row { reason, .. }) if reason.contains("diverged") => {
                self.metrics = before;
                self.stopped = Some(format!("diverged after row {rows}"));
            }
            Err(Failure::Usage(reason)) => {
                self.metrics = before;
                self.stopped = Some(reason);
            }
            Err(Failure::Library(error)) => {
                self.metrics = before;
                self.stopped = Some(error.to_string());
            }
            other => return other,
        }
        Ok(())
    }
}

fn show(plan: &ComparePlan, family: AnyFamily, target: &str, runners: Vec<Runner>) -> Result<()> {
    if let Some(path) = &plan.plot {
        let mut curves: Vec<Curve> = runners
            .iter()
            .map(|runner| Curve {
                name: runner.method.clone(),
                points: runner
                    .metrics
                    .course()
                    .iter()
                    .map(|point| (point.rows as f64, point.loss))
                    .collect(),
                reference: false,
            })
            .collect();
        if let Some(longest) = runners.iter().max_by_key(|runner| runner.metrics.progressive.rows())
        {
            let points = longest
                .metrics
                .course()
                .iter()
                .map(|point| (point.rows as f64, point.constant_loss))
                .collect();
            curves.push(Curve { name: "constant predictor".into(), points, reference: true });
        }
        report::losses(path, &format!("Progressive loss of {target}"), &curves)?;
    }
    let lines: Vec<Line> = runners
        .into_iter()
        .map(|runner| Line {
            rows: runner.metrics.progressive.rows(),
            scores: Scores::new(&runner.metrics.progressive),
            seconds: runner.time.as_secs_f64(),
            course: runner
                .metrics
                .course()
                .iter()
                .map(|point| (point.rows, point.loss, point.constant_loss))
                .collect(),
            method: runner.method,
            stopped: runner.stopped,
        })
        .collect();
    if plan.json {
        let methods =
            serde_json::json!({ "family": family.name(), "target": target, "methods": lines });
        return ui::print(&report::json(&methods)?);
    }
    ui::print(&table(family, target, &lines))
}

fn table(family: AnyFamily, target: &str, lines: &[Line]) -> String {
    let second = match family {
        AnyFamily::Bernoulli(_) => "accuracy",
        AnyFamily::Gaussian(_) => "RMSE",
        _ => "deviance",
    };
    let mut table = Table::new(["method", "loss", second, "seconds", ""]);
    for line in lines {
        let score = line.scores.accuracy.or(line.scores.rmse).unwrap_or(line.scores.deviance);
        let remark = line.stopped.clone().unwrap_or_default();
        table.row([
            line.method.clone(),
            number(line.scores.loss),
            number(score),
            format!("{:.2}", line.seconds),
            remark,
        ]);
    }
    if let Some(line) = lines.iter().max_by_key(|line| line.rows) {
        table.row([
            "constant predictor".into(),
            number(line.scores.baseline_loss),
            String::new(),
            String::new(),
            String::new(),
        ]);
    }
    let rows = lines.iter().map(|line| line.rows).max().unwrap_or(0);
    format!(
        "{} of `{target}`, {}, progressive\n\n{}",
        family.name(),
        counted(rows, "row"),
        table.render()
    )
}
