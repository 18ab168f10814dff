//! Further passes over the rows of a model: exact sums at fixed coefficients, then a Newton step.

use super::{Next, PartProgress, each_part, next, report_left_out};
use crate::args::MissingArgs;
use crate::error::{Failure, Result};
use crate::format::counted;
use crate::plan::SourcePlan;
use crate::progress::Ui;
use kalmia::sums::Polished;
use kalmia_data::{Block, Encoder, Mode};
use kalmia_model::{ModelOf, PassSums, PolishLearner, PolishPrior, Polishing, SumsPass};

/// When a polish ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    /// When no coefficient moves by more than 0.0001 standard errors.
    UntilStill,
    /// When more passes would change nothing that matters ([`Polishing::is_close`]).
    UntilClose,
    /// After so many passes, or before if nothing moves any more.
    AtMost(u64),
}

/// How to polish.
#[derive(Debug, Clone)]
pub struct PolishOptions {
    /// What is known before the rows.
    pub prior: PolishPrior,
    /// Whether squared scores are summed, for robust standard errors.
    pub robust: bool,
    /// When it ends.
    pub passes: Passes,
    /// What a missing value does, if not what the model says.
    pub missing: MissingArgs,
}

/// A model after a polish.
pub struct PolishedModel<L: PolishLearner> {
    /// The model.
    pub model: ModelOf<L>,
    /// The last step.
    pub polished: Polished,
    /// Passes over the rows.
    pub passes: usize,
}

/// Polishes a model over its rows, the parts of which are read at the same time.
pub fn polish<L: PolishLearner>(
    model: ModelOf<L>,
    parts: &[SourcePlan],
    options: &PolishOptions,
    ui: Ui,
) -> Result<PolishedModel<L>> {
    let mut polishing = Polishing::new(&model, options.prior, options.robust)?;
    let polished = loop {
        let first = polishing.passes() == 0;
        let sums = pass(polishing.pass(), parts, &options.missing, first, ui)?;
        if let Some(polished) = polishing.step(&sums)? {
            break *polished;
        }
        let passes = polishing.passes() as u64;
        let Some(latest) = polishing.latest() else { continue };
        let enough = match options.passes {
            Passes::UntilStill => false,
            Passes::UntilClose => polishing.is_close(),
            Passes::AtMost(most) => passes >= most,
        };
        if enough {
            break latest.clone();
        }
    };
    let passes = polishing.passes();
    Ok(PolishedModel { model: polishing.apply(model, &polished)?, polished, passes })
}

/// What one part of a pass found.
struct PartSums {
    sums: PassSums,
    encoder: Encoder,
}

/// One pass.
fn pass(
    pass: &SumsPass,
    parts: &[SourcePlan],
    missing: &MissingArgs,
    first: bool,
    ui: Ui,
) -> Result<PassSums> {
    let threads = if parts.len() > 1 { Some(1) } else { None };
    let found = each_part(parts, ui, |part, progress| {
        part_pass(pass, part, missing, threads, first.then_some(ui), progress)
    })?;
    let mut results = found.results.into_iter();
    let Some(PartSums { mut sums, encoder }) = results.next() else {
        return Err(Failure::usage("there is nothing to read"));
    };
    let mut counts = encoder.counts();
    for part in results {
        sums.merge(&part.sums)?;
        counts = counts.plus(part.encoder.counts());
    }
    if sums.rows() == 0 {
        return Err(Failure::no_rows(counts));
    }
    if first && counts.unseen > 0 {
        ui.note(&format!(
            "note: {} of levels that the model has not learned count as its baseline; `kalmia \
             update` learns them first",
            counted(counts.unseen, "value")
        ));
    }
    Ok(sums)
}

/// The sums over one part.
fn part_pass(
    pass: &SumsPass,
    part: &SourcePlan,
    missing: &MissingArgs,
    threads: Option<usize>,
    report: Option<Ui>,
    progress: &PartProgress,
) -> Result<PartSums> {
    let mut encoder = pass.encoder().clone();
    encoder.reset_counts();
    missing.apply(&mut encoder)?;
    let mut reader = part.open(&mut encoder, Mode::Evaluate)?;
    let mut sums = pass.sums()?;
    if let Some(threads) = threads {
        sums = sums.with_threads(threads);
    }
    let mut block = Block::new();
    loop {
        match next(&mut reader, &mut encoder, &mut block)? {
            Next::Block => pass.add(&block, &mut sums)?,
            Next::End => break,
            Next::Stop => {
                return Err(Failure::Interrupted(
                    "interrupted; the model is as it was before".into(),
                ));
            }
        }
        progress.set(reader.progress(), sums.rows());
    }
    if let Some(ui) = report {
        report_left_out(&reader, ui);
    }
    Ok(PartSums { sums, encoder })
}
