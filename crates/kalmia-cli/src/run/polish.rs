//! `kalmia polish`: further passes over the files of a model, to the batch fit.

use crate::args::PolishArgs;
use crate::error::{Failure, Result};
use crate::format::{counted, number};
use crate::interrupt;
use crate::learn::{Passes, PolishOptions, PolishedModel, polish};
use crate::output;
use crate::plan::SourcePlan;
use crate::progress::Ui;
use crate::report::{Table, coefficient_table};
use kalmia_model::{Coefficient, Model};
use serde::Serialize;

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    rows: u64,
    passes: usize,
    /// How far the last step moved, in standard errors.
    moved: f64,
    moved_most: f64,
    deviance: f64,
    dispersion: f64,
    coefficients: Vec<Coefficient>,
    #[serde(skip_serializing_if = "Option::is_none")]
    robust_std_errors: Option<Vec<f64>>,
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
    let mut output = source.continued_model(&args.model, args.output.as_deref())?;
    let model = Model::load(&args.model)?.content;
    interrupt::catch();
    let options = PolishOptions {
        prior: args.prior,
        robust: args.robust,
        passes: args.passes.map_or(Passes::UntilStill, Passes::AtMost),
        missing: args.missing.clone(),
    };
    let PolishedModel { model, polished, passes } = polish(model, &[source], &options, ui)?;
    output.save(&model)?;
    let report = Report {
        rows: polished.rows(),
        passes,
        moved: polished.moved().rms,
        moved_most: polished.moved().max,
        deviance: polished.deviance(),
        dispersion: polished.dispersion(),
        coefficients: model.coefficients(0.95)?,
        robust_std_errors: match args.robust {
            true => Some(polished.robust_standard_errors()?),
            false => None,
        },
    };
    if args.json {
        return output::print_json(&report);
    }
    output::print(&text(&report))
}

fn text(report: &Report) -> String {
    let mut text = format!(
        "polished over {} in {} passes; the last step moved {} standard errors (at most {})\n\
         deviance {}, dispersion {}\n\n{}",
        counted(report.rows, "row"),
        report.passes,
        number(report.moved),
        number(report.moved_most),
        number(report.deviance),
        number(report.dispersion),
        coefficient_table(&report.coefficients)
    );
    if let Some(errors) = &report.robust_std_errors {
        let mut table = Table::new(["coefficient", "robust std error", "z"]);
        for (coefficient, error) in report.coefficients.iter().zip(errors) {
            let z = format!("{:.2}", coefficient.estimate / error);
            table.row([coefficient.name.clone(), number(*error), z]);
        }
        text.push_str(&format!(
            "\nrobust to a wrong variance (White's sandwich):\n{}",
            table.render()
        ));
    }
    text
}
