//! `kalmia prune`: a smaller wide model, and what that costs on rows.

use crate::args::PruneArgs;
use crate::error::{Failure, Result};
use crate::format::{counted, grouped, number};
use crate::learn::report_left_out;
use crate::output;
use crate::plan::{Files, SourcePlan};
use crate::progress::Ui;
use crate::run::evaluate::{evaluate, weight};
use kalmia::AnyLearner;
use kalmia::evaluate::{ClassMetrics, Metrics, Progressive};
use kalmia::learner::AnyCategorical;
use kalmia_data::{Block, Mode};
use kalmia_model::{AnyModel, Footprint, ModelLearner, ModelOf};
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
    match AnyModel::load(&args.model)?.content {
        AnyModel::Numbers(model) => prune(*model, args, &source, ui),
        AnyModel::Classes(model) => prune(*model, args, &source, ui),
        AnyModel::Quantiles(model) => Err(not_wide(args, &model.learner.title())),
    }
}

/// What `prune` asks of a model.
trait Prunes: ModelLearner {
    /// Losses on rows.
    type Sums: Clone;

    /// Leaves out weak features; `None` if the learner is not wide.
    fn prune(&mut self, min_z: f64) -> Option<kalmia::Result<usize>>;
    /// Sums that no row was counted in yet.
    fn sums(metrics: &Self::Metrics) -> Self::Sums;
    /// Counts a block.
    fn evaluate(model: &ModelOf<Self>, block: &Block, sums: &mut Self::Sums) -> Result<()>;
    /// Rows counted.
    fn rows(sums: &Self::Sums) -> u64;
    /// Their mean loss.
    fn loss(sums: &Self::Sums) -> f64;
}

impl Prunes for AnyLearner {
    type Sums = Progressive;

    fn prune(&mut self, min_z: f64) -> Option<kalmia::Result<usize>> {
        match self {
            Self::Wide(wide) => Some(wide.prune(min_z)),
            _ => None,
        }
    }

    fn sums(metrics: &Metrics) -> Progressive {
        Progressive::after(&metrics.progressive)
    }

    fn evaluate(model: &ModelOf<Self>, block: &Block, sums: &mut Progressive) -> Result<()> {
        evaluate(model, block, sums)
    }

    fn rows(sums: &Progressive) -> u64 {
        sums.rows()
    }

    fn loss(sums: &Progressive) -> f64 {
        sums.loss()
    }
}

impl Prunes for AnyCategorical {
    type Sums = ClassMetrics;

    fn prune(&mut self, min_z: f64) -> Option<kalmia::Result<usize>> {
        match self {
            Self::Wide(wide) => Some(wide.prune(min_z)),
            Self::Dense(_) | Self::Ordinal(_) => None,
        }
    }

    fn sums(metrics: &ClassMetrics) -> ClassMetrics {
        ClassMetrics::after(metrics)
    }

    fn evaluate(model: &ModelOf<Self>, block: &Block, sums: &mut ClassMetrics) -> Result<()> {
        model.predict_classes(block, &mut |i, probabilities| {
            sums.row(block.y[i] as usize, probabilities, weight(block, i));
            Ok(())
        })?;
        Ok(())
    }

    fn rows(sums: &ClassMetrics) -> u64 {
        sums.rows()
    }

    fn loss(sums: &ClassMetrics) -> f64 {
        sums.loss()
    }
}

fn not_wide(args: &PruneArgs, title: &str) -> Failure {
    Failure::usage(format!(
        "{} is a model of method {title}, whose coefficients depend on each other: only wide \
         models can be made smaller",
        args.model.display(),
    ))
}

fn prune<L: Prunes>(
    mut model: ModelOf<L>,
    args: &PruneArgs,
    source: &SourcePlan,
    ui: Ui,
) -> Result<()> {
    let mut small = model.clone();
    let Some(dropped) = small.learner.prune(args.min_z) else {
        return Err(not_wide(args, &model.learner.title()));
    };
    dropped.map_err(|error| Failure::usage(format!("--min-z: {error}")))?;
    model.encoder.reset_counts();
    args.missing.apply(&mut model.encoder)?;
    let mut reader = source.open(&mut model.encoder, Mode::Evaluate)?;
    let mut before = L::sums(&model.metrics);
    let mut after = before.clone();
    let mut block = Block::new();
    let mut meter = ui.progress(reader.progress());
    while reader.next_block(&mut model.encoder, &mut block)? {
        L::evaluate(&model, &block, &mut before)?;
        L::evaluate(&small, &block, &mut after)?;
        meter.tick(reader.progress(), L::rows(&before), || Some(L::loss(&after)));
    }
    meter.finish();
    report_left_out(&reader, ui);
    if L::rows(&before) == 0 {
        return Err(Failure::no_rows(model.encoder.counts()));
    }
    let bytes = |model: &ModelOf<L>| model.to_bytes().map(|bytes| bytes.len());
    let pruned = Pruned {
        features_before: model.learner.dim(),
        features: small.learner.dim(),
        bytes_before: bytes(&model)?,
        bytes: bytes(&small)?,
        rows: L::rows(&before),
        loss_before: L::loss(&before),
        loss: L::loss(&after),
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
