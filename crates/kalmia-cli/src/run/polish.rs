//! `kalmia polish`: further passes over the files of a model, to the batch fit.

use crate::args::PolishArgs;
use crate::error::{Failure, Result};
use crate::format::{counted, number};
use crate::interrupt;
use crate::learn::{Passes, PolishOptions, PolishedModel, polish};
use crate::output::{self, ModelOutput};
use crate::plan::SourcePlan;
use crate::progress::Ui;
use crate::report::{Table, class_coefficients_text, coefficient_table};
use kalmia::AnyFamily;
use kalmia::sums::Polished;
use kalmia_model::{
    AnyModel, ClassCoefficients, ClassErrors, ClassModel, Coefficient, Model, ModelOf,
    PolishLearner,
};
use serde::Serialize;

/// What `--json` prints; `C` are the coefficients and `E` their robust standard errors.
#[derive(Serialize)]
struct Report<C: Serialize, E: Serialize> {
    rows: u64,
    passes: usize,
    /// How far the last step moved, in standard errors.
    moved: f64,
    moved_most: f64,
    deviance: f64,
    dispersion: f64,
    coefficients: C,
    #[serde(skip_serializing_if = "Option::is_none")]
    robust_std_errors: Option<E>,
}

/// Runs the command.
pub fn run(args: &PolishArgs, ui: Ui) -> Result<()> {
    let source = SourcePlan::new(&args.source)?;
    if args.passes != Some(1) && !source.can_be_read_again() {
        return Err(Failure::usage(
            "polish reads its files several times, which standard input and pipes do not allow; \
             write the rows to a file, or give --passes 1",
        ));
    }
    let output = source.continued_model(&args.model, args.output.as_deref())?;
    match AnyModel::load(&args.model)?.content {
        AnyModel::Classes(model) => polish_classes(*model, args, source, output, ui),
        AnyModel::Numbers(model) => polish_numbers(*model, args, source, output, ui),
        // refused as a file of another kind
        AnyModel::Quantiles(_) => Model::load(&args.model).map(|_| ()).map_err(Failure::from),
    }
}

fn polish_numbers(
    model: Model,
    args: &PolishArgs,
    source: SourcePlan,
    output: ModelOutput,
    ui: Ui,
) -> Result<()> {
    let PolishedModel { model, polished, passes } =
        polish_and_save(model, args, source, output, ui)?;
    let errors = args.robust.then(|| polished.robust_standard_errors()).transpose()?;
    let mut report = report(&polished, passes, model.coefficients(0.95)?, errors);
    // the sums take these as they are: they are part of the law
    match model.family() {
        AnyFamily::NegativeBinomial(family) => report.dispersion = family.dispersion(),
        AnyFamily::Student(family) => report.dispersion = family.scale(),
        _ => {}
    }
    match args.json {
        true => output::print_json(&report),
        false => output::print(&(head(&report) + &numbers_text(&report))),
    }
}

fn polish_classes(
    model: ClassModel,
    args: &PolishArgs,
    source: SourcePlan,
    output: ModelOutput,
    ui: Ui,
) -> Result<()> {
    let PolishedModel { model, polished, passes } =
        polish_and_save(model, args, source, output, ui)?;
    let errors = args.robust.then(|| model.robust_errors(&polished)).transpose()?;
    let report = report(&polished, passes, model.class_coefficients(0.95)?, errors);
    if args.json {
        return output::print_json(&report);
    }
    let reference = model.reference().map(|class| &*model.classes()[class]);
    let features = model.learner.dim();
    let mut text =
        head(&report) + &class_coefficients_text(reference, &report.coefficients, features);
    if let Some(errors) = &report.robust_std_errors {
        text.push_str(&class_robust_text(&report.coefficients, errors));
    }
    output::print(&text)
}

fn polish_and_save<L: PolishLearner>(
    model: ModelOf<L>,
    args: &PolishArgs,
    source: SourcePlan,
    mut output: ModelOutput,
    ui: Ui,
) -> Result<PolishedModel<L>> {
    interrupt::catch();
    let options = PolishOptions {
        prior: args.prior,
        robust: args.robust,
        passes: args.passes.map_or(Passes::UntilStill, Passes::AtMost),
        missing: args.missing.clone(),
    };
    let learned = model.learner.count();
    let found = polish(model, &[source], &options, ui)?;
    check_rows(learned, found.polished.rows(), args, ui)?;
    output.save(&found.model)?;
    Ok(found)
}

/// A polish keeps what its own rows say and nothing else. So a model is not replaced by one of
/// fewer rows, and a note says if another file gets one.
fn check_rows(learned: u64, polished: u64, args: &PolishArgs, ui: Ui) -> Result<()> {
    if polished >= learned {
        return Ok(());
    }
    let (learned, rows) = (counted(learned, "row"), counted(polished, "row"));
    let text = format!("the model learned {learned}, but these files have {rows}");
    if args.output.is_some() {
        let lost = "the polished model knows these rows alone; give all files of the model";
        ui.note(&format!("note: {text}; {lost}"));
        return Ok(());
    }
    let model = args.model.display();
    Err(Failure::usage(format!(
        "{text}: a polish forgets all others, so {model} stays as it is; give all files of the \
         model, or -o for a model of these rows alone"
    )))
}

fn report<C: Serialize, E: Serialize>(
    polished: &Polished,
    passes: usize,
    coefficients: C,
    robust_std_errors: Option<E>,
) -> Report<C, E> {
    Report {
        rows: polished.rows(),
        passes,
        moved: polished.moved().rms,
        moved_most: polished.moved().max,
        deviance: polished.deviance(),
        dispersion: polished.dispersion(),
        coefficients,
        robust_std_errors,
    }
}

fn head<C: Serialize, E: Serialize>(report: &Report<C, E>) -> String {
    format!(
        "polished over {} in {} passes; the last step moved {} standard errors (at most {})\n\
         deviance {}, dispersion {}\n",
        counted(report.rows, "row"),
        report.passes,
        number(report.moved),
        number(report.moved_most),
        number(report.deviance),
        number(report.dispersion),
    )
}

/// What robust standard errors are.
const ROBUST: &str = "robust to a wrong variance (White's sandwich)";

fn numbers_text(report: &Report<Vec<Coefficient>, Vec<f64>>) -> String {
    let mut text = format!("\n{}", coefficient_table(&report.coefficients));
    if let Some(errors) = &report.robust_std_errors {
        let table = robust_table(&report.coefficients, errors);
        text.push_str(&format!("\n{ROBUST}:\n{table}"));
    }
    text
}

fn class_robust_text(classes: &[ClassCoefficients], errors: &[ClassErrors]) -> String {
    let table = |(class, errors): (&ClassCoefficients, &ClassErrors)| {
        let table = robust_table(&class.coefficients, &errors.std_errors);
        format!("\n`{}`, {ROBUST}:\n{table}", class.class)
    };
    classes.iter().zip(errors).map(table).collect()
}

fn robust_table(coefficients: &[Coefficient], errors: &[f64]) -> String {
    let mut table = Table::new(["coefficient", "robust std error", "z"]);
    for (coefficient, error) in coefficients.iter().zip(errors) {
        let z = format!("{:.2}", coefficient.estimate / error);
        table.row([coefficient.name.clone(), number(*error), z]);
    }
    table.render()
}
