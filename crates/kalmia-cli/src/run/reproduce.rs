//! `kalmia reproduce`: the paper's experiments, figures and report, by the laboratory.

use crate::args::ReproduceArgs;
use crate::error::{Failure, Result, refused_value};
use crate::format::grouped;
use crate::interrupt;
use crate::output;
use crate::plan::Files;
use crate::progress::{Ui, terminal_bar};
use crate::report::Table;
use indicatif::ProgressBar;
use kalmia_lab::{Error, Experiment, Figure, Progress, Report, Settings, Workers};
use std::io::{IsTerminal, stderr};
use std::path::Path;
use std::sync::Mutex;

/// Runs the command.
pub fn run(args: &ReproduceArgs, ui: Ui) -> Result<()> {
    if let Some(name) = &args.print_config {
        let file = Experiment::built_in().iter().find(|(known, _)| known == name);
        return output::print(file.map_or("", |(_, text)| text));
    }
    interrupt::catch();
    let bar = Bar::new(ui.talks());
    if args.figures.iter().any(|name| name == "theta-star") {
        if args.figures.len() > 1 {
            return Err(Failure::usage("theta-star is not a figure and must be the only name"));
        }
        if args.horizon.or(args.replicates).is_some() {
            return Err(Failure::usage(
                "theta-star is one long run: --iterations sets its length, not --horizon or \
                 --replicates",
            ));
        }
        return theta_star(args, &bar);
    }
    let figures = Figure::parse_list(args.figures.iter().map(|name| &**name)).map_err(failure)?;
    let report = match &args.config {
        Some(file) => own_experiment(args, file, &bar)?,
        None => kalmia_lab::reproduce(&figures, &settings(args, None), &bar, interrupt::flag())
            .map_err(failure)?,
    };
    if args.json {
        output::print_json(&report.to_json())?;
    } else {
        output::print(&summary(&report))?;
    }
    if report.interrupted {
        let kept = report.figures.len();
        return Err(Failure::Interrupted(format!(
            "interrupted: {kept} of {} figures are finished and kept",
            figures.len().max(1)
        )));
    }
    Ok(())
}

/// The settings of a run; an experiment file may say how long it is.
fn settings(args: &ReproduceArgs, file: Option<&Experiment>) -> Settings {
    let default = Settings::default();
    let horizon = args.horizon.or(file.and_then(|f| f.horizon)).unwrap_or(default.horizon);
    let given = args.replicates.map(|n| n as usize);
    let replicates = given.or(file.and_then(|f| f.replicates)).unwrap_or(default.replicates);
    Settings {
        horizon,
        replicates,
        seed: args.seed,
        threads: args.threads,
        out: args.out.clone(),
        ons_lambda: args.ons_lambda,
    }
}

/// Runs an experiment file.
fn own_experiment(args: &ReproduceArgs, file: &Path, bar: &Bar) -> Result<Report> {
    Files::default().reads("the experiment", file).check()?;
    let bad = |reason: String| Failure::usage(format!("{}: {reason}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
    let name = file.file_stem().map_or_else(|| "experiment".into(), |s| s.to_string_lossy());
    let mut experiment =
        Experiment::from_toml(&name, &text).map_err(|error| bad(error.to_string()))?;
    if let Some(lambda) = args.ons_lambda {
        experiment.set_ons_lambda(lambda);
    }
    let settings = settings(args, Some(&experiment));
    let command = settings.command(&format!("--config {}", file.display()));
    kalmia_lab::run_experiment(&experiment, &command, &settings, bar, interrupt::flag()).map_err(
        |error| match error {
            Error::Experiment { .. } => bad(error.to_string()),
            other => failure(other),
        },
    )
}

/// The claims with their verdicts, and where the report is.
fn summary(report: &Report) -> String {
    let mut text = String::new();
    for group in report.claims.chunk_by(|a, b| a.text == b.text) {
        text += &format!("{}\n", group[0].text);
        group.iter().for_each(|claim| {
            let at = claim.horizon.map_or(String::new(), |n| format!("n = {}", grouped(n)));
            text += &format!("    {:<24}  {at:<13}  {}\n", claim.panel, claim.verdict.words())
        });
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text += &format!(
        "{} files in {} after {:.0} s",
        report.files.len(),
        report.settings.out.display(),
        report.elapsed.as_secs_f64()
    );
    if let Some(page) = report.files.last() {
        text += &format!("; open {}", page.display());
    }
    text + "\n"
}

fn theta_star(args: &ReproduceArgs, bar: &Bar) -> Result<()> {
    let threads = if args.threads > 0 {
        args.threads
    } else {
        std::thread::available_parallelism().map_or(1, |n| n.get())
    };
    let workers = Workers { threads, progress: bar, cancel: interrupt::flag() };
    let star = kalmia_lab::theta_star(args.iterations, args.seed, &workers).map_err(failure)?;
    bar.finish();
    if args.json {
        let path: Vec<_> = star.path.iter().map(|p| (p.rows, p.distance)).collect();
        let view = serde_json::json!({
            "quadrature": star.quadrature,
            "estimate": star.estimate,
            "path": path,
        });
        return output::print_json(&view);
    }
    let mut table = Table::new(["coefficient", "quadrature", "static EKF"]);
    for (j, (exact, estimate)) in star.quadrature.iter().zip(star.estimate).enumerate() {
        table.row([j.to_string(), format!("{exact:.12}"), format!("{estimate:.6}")]);
    }
    let mut text = table.render() + "\n";
    for point in &star.path {
        let rows = grouped(point.rows);
        text += &format!("after {rows:>13} rows: distance {:.3e}\n", point.distance);
    }
    output::print(&text)
}

/// Bad requests are usage, the rest is failure.
fn failure(error: Error) -> Failure {
    match error {
        Error::UnknownFigure { .. } | Error::Experiment { .. } => Failure::usage(error.to_string()),
        Error::Setting { name, value, expected } => {
            Failure::usage(refused_value(&format!("--{name}"), value, expected))
        }
        Error::Output { path, source } => Failure::Output { path, reason: source },
        Error::Learner(error) => error.into(),
        Error::Cancelled => Failure::Interrupted("interrupted".into()),
        other => Failure::Other(other.to_string()),
    }
}

/// A progress bar on standard error, drawn only on a terminal.
struct Bar {
    shown: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Bar {
    fn new(talks: bool) -> Self {
        Self { shown: talks && stderr().is_terminal(), bar: Mutex::new(None) }
    }

    fn with(&self, act: impl FnOnce(&mut Option<ProgressBar>)) {
        if self.shown {
            act(&mut self.bar.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        }
    }
}

impl Progress for Bar {
    fn start(&self, task: &str, total: u64) {
        self.with(|bar| {
            let new = terminal_bar(Some(total)).with_prefix(task.to_owned());
            new.set_message(task.to_owned());
            *bar = Some(new);
        });
    }

    fn advance(&self, units: u64) {
        self.with(|bar| bar.iter().for_each(|bar| bar.inc(units)));
    }

    fn note(&self, text: &str) {
        self.with(|bar| {
            bar.iter().for_each(|bar| bar.set_message(format!("{}  {text}", bar.prefix())));
        });
    }

    fn finish(&self) {
        self.with(|bar| bar.take().iter().for_each(|bar| bar.finish_and_clear()));
    }
}
