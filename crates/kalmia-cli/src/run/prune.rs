//! `kalmia prune`: a smaller wide model, and what that costs on rows.

use crate::args::PruneArgs;
use crate::error::{Failure, Result};
use crate::format::{counted, grouped, number};
use crate::learn::report_left_out;
use crate::output;
use crate::plan::{Files, SourcePlan};
use crate::progress::Ui;
use crate::run::evaluate::evaluate;
use kalmia::evaluate::Progressive;
use kalmia::{AnyLearner, Learner};
use kalmia_data::{Block, Mode};
use kalmia_model::Model;
use serde::Serialize;

/// What `--json` prints.
#[derive(Serialize)]
struct Pruned {
    features_before: usize,
    features: usize,
    bytes_before: usize,
    bytes: usize,
    rows: u64,
    loss_before: f64,
    loss: f64,
}

/// Runs the command.
pub fn run(args: &PruneArgs, ui: Ui) -> Result<()> {
    let source = SourcePlan::new(&args.source)?;
    Files::default()
        .source(&source)
        .reads("the model", &args.model)
        .writes("-o", Some(&args.output))
        .check()?;
    let mut model = Model::load(&args.model)?.content;
    let mut small = model.clone();
    let AnyLearner::Wide(learner) = &mut small.learner else {
        return Err(Failure::usage(format!(
            "{} is a model of method {}, whose coefficients depend on each other: only wide models \
             can be made smaller",
            args.model.display(),
            model.learner.title()
        )));
    };
    learner.prune(args.min_z).map_err(|error| Failure::usage(format!("--min-z: {error}")))?;
    model.encoder.reset_counts();
    args.missing.apply(&mut model.encoder)?;
    let mut reader = source.open(&mut model.encoder, Mode::Evaluate)?;
    let mut before = Progressive::after(&model.metrics.progressive);
    let mut after = before.clone();
    let mut block = Block::new();
    let mut meter = ui.progress(reader.progress());
    while reader.next_block(&mut model.encoder, &mut block)? {
        evaluate(&model, &block, &mut before)?;
        evaluate(&small, &block, &mut after)?;
        meter.tick(reader.progress(), before.rows(), || Some(after.loss()));
    }
    meter.finish();
    report_left_out(&reader, ui);
    if before.rows() == 0 {
        return Err(Failure::no_rows(model.encoder.counts()));
    }
    let bytes = |model: &Model| model.to_bytes().map(|bytes| bytes.len());
    let pruned = Pruned {
        features_before: model.learner.dim(),
        features: small.learner.dim(),
        bytes_before: bytes(&model)?,
        bytes: bytes(&small)?,
        rows: before.rows(),
        loss_before: before.loss(),
        loss: after.loss(),
    };
    small.save(&args.output)?;
    if args.json {
        return output::print_json(&pruned);
    }
    output::print(&pruned.text(&args.output.display().to_string()))
}

impl Pruned {
    fn text(&self, path: &str) -> String {
        let kept = grouped(self.features as u64);
        let all = counted(self.features_before as u64, "feature");
        let size = |bytes: usize| kalmia::memory::text(bytes);
        format!(
            "{kept} of {all} kept; the file has {} in place of {}\n\
             loss of {}: {} before, {} now ({:+.2} %)\nwritten to {path}\n",
            size(self.bytes),
            size(self.bytes_before),
            counted(self.rows, "row"),
            number(self.loss_before),
            number(self.loss),
            100.0 * (self.loss / self.loss_before - 1.0),
        )
    }
}
