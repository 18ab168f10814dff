//! `kalmia polish`: further passes over the files of a model, to the maximum likelihood.

use crate::args::PolishArgs;
use crate::error::{Failure, Result};
use crate::format::{counted, number};
use crate::interrupt;
use crate::learn::{Next, next, report_left_out};
use crate::output;
use crate::plan::SourcePlan;
use crate::progress::Ui;
use crate::report::{Table, coefficient_table};
use kalmia::AnyFamily;
use kalmia::sums::{Polished, Sums};
use kalmia_data::{Block, Mode};
use kalmia_model::{Coefficient, Model, Polishing};
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
    if args.passes != Some(1) && source.inputs.iter().any(|input| input.size().is_none()) {
        return Err(Failure::usage(
            "polish reads its files several times, which standard input and pipes do not allow; \
             write the rows to a file, or give --passes 1",
        ));
    }
    let mut output = source.continued_model(&args.model, args.output.as_deref())?;
    let model = Model::load(&args.model)?.content;
    interrupt::catch();
    let (polished, passes) = polish(args, &source, &model, ui)?;
    let model = model.polished(&polished)?;
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

/// Passes over the files until nothing moves, or until there were as many as allowed.
fn polish(
    args: &PolishArgs,
    source: &SourcePlan,
    model: &Model,
    ui: Ui,
) -> Result<(Polished, usize)> {
    let mut polishing = Polishing::new(model, args.robust)?;
    loop {
        let sums = pass(args, source, model, &polishing, ui)?;
        if let Some(polished) = polishing.step(&sums)? {
            return Ok((*polished, polishing.passes()));
        }
        let latest = polishing.latest().cloned();
        if let (Some(polished), Some(most)) = (latest, args.passes)
            && polishing.passes() as u64 >= most
        {
            return Ok((polished, polishing.passes()));
        }
    }
}

/// One pass.
fn pass(
    args: &PolishArgs,
    source: &SourcePlan,
    model: &Model,
    polishing: &Polishing,
    ui: Ui,
) -> Result<Sums<AnyFamily>> {
    let mut encoder = model.encoder.clone();
    encoder.reset_counts();
    args.missing.apply(&mut encoder)?;
    let mut reader = source.open(&mut encoder, Mode::Evaluate)?;
    let mut sums = polishing.sums()?;
    let mut block = Block::new();
    let mut meter = ui.progress(reader.progress());
    loop {
        match next(&mut reader, &mut encoder, &mut block)? {
            Next::Block => polishing.add(model, &block, &mut sums)?,
            Next::End => break,
            Next::Stop => {
                return Err(Failure::Interrupted(
                    "interrupted; the model is as it was before".into(),
                ));
            }
        }
        meter.tick(reader.progress(), sums.rows(), || None);
    }
    meter.finish();
    let counts = encoder.counts();
    if sums.rows() == 0 {
        return Err(Failure::no_rows(counts));
    }
    if polishing.passes() == 0 {
        report_left_out(&reader, ui);
        if counts.unseen > 0 {
            ui.note(&format!(
                "note: {} of levels that the model has not learned count as its baseline; \
                 `kalmia update` learns them first",
                counted(counts.unseen, "value")
            ));
        }
    }
    Ok(sums)
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
