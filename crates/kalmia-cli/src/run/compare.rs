//! `kalmia compare`: every applicable method on the same rows in one pass.

mod contestant;
mod ranking;
mod table;

use crate::args::CompareArgs;
use crate::error::{Failure, Result};
use crate::format::counted;
use crate::interrupt;
use crate::learn::{Feed, Levels, Next, Start, family, next, report_columns, report_left_out};
use crate::output;
use crate::plan::ComparePlan;
use crate::progress::Ui;
use crate::report::{self, Curve};
use contestant::{Contestant, contestants};
use kalmia::Family;
use ranking::{Differences, Ranking};

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
    let mut differences = Differences::new(contestants.len());
    let mut meter = ui.progress(reader.progress());
    let mut levels = Levels::default();
    let interrupted = loop {
        levels.report_new(&encoder, ui);
        for one in contestants.iter_mut().filter(|one| one.stopped.is_none()) {
            one.learn(&block, &encoder)?;
        }
        differences.add(&contestants);
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
    if let Some(one) = contestants.first() {
        one.model.check_weights()?;
        if one.model.metrics.is_sorted() {
            ui.note(report::SORTED_NOTE);
        }
    }
    let ranking = Ranking::new(contestants, &differences);
    // the table is printed even if the picture cannot be written
    let drawn = plan.plot.as_ref().map_or(Ok(()), |path| {
        report::losses(path, &format!("Progressive loss of {target}"), &curves(&ranking))
    });
    if plan.json {
        output::print_json(&ranking.json(family.name(), &target))?;
    } else {
        output::print(&table::text(family, &target, &ranking))?;
    }
    drawn?;
    if interrupted {
        return Err(Failure::Interrupted(format!(
            "interrupted after {}; the table covers these",
            counted(reader.position().rows, "row")
        )));
    }
    Ok(())
}

/// The losses as they evolved, best first, and the constant predictor's.
fn curves(ranking: &Ranking) -> Vec<Curve> {
    let course = |one: &Contestant| one.model.metrics.course();
    let ranked = ranking.places.iter().map(|place| &place.contestant);
    let mut curves: Vec<Curve> =
        ranked.clone().map(|one| Curve::new(&one.name, &course(one), |p| p.loss)).collect();
    if let Some(longest) = ranked.max_by_key(|one| one.rows()) {
        curves.push(Curve::constant_predictor(&course(longest)));
    }
    curves
}
