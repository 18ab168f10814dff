//! A fit on several cores: each learns a part of the files, then the parts are merged.

use super::{Next, PartProgress, Start, each_part, next, report_left_out};
use crate::error::{Failure, Result};
use crate::plan::{FitPlan, SourcePlan};
use crate::progress::Ui;
use kalmia::DriftMode;
use kalmia::learner::Heterogeneity;
use kalmia_data::{Block, Encoder, Mode, Target, split_inputs};
use kalmia_model::{
    Algorithm, History, MergeLearner, MergedOf, ModelOf, PartOf, Settings, ShardOf, TemplateOf,
};
use std::time::Duration;

/// Parts whose first rows the sample takes.
const MAX_SAMPLED_PARTS: usize = 64;

/// A model of several shards.
pub struct ShardedFit<L: MergeLearner> {
    /// The model, merged and not yet polished.
    pub model: ModelOf<L>,
    /// Whether the shards agree.
    pub heterogeneity: Heterogeneity,
    /// Shards with rows.
    pub shards: u64,
    /// The time of the pass.
    pub time: Duration,
    /// The parts, to be read again.
    pub parts: Vec<SourcePlan>,
}

/// Parts of the inputs, and the first block of the first.
pub struct CutFiles {
    /// The parts.
    pub parts: Vec<SourcePlan>,
    /// What the first block shows.
    pub start: Start,
}

impl CutFiles {
    /// Cuts the inputs of a plan.
    pub fn new(plan: &FitPlan, shards: usize) -> Result<Self> {
        let mut options = plan.source.options.clone();
        // each part is read and learned by one thread
        options.threaded = shards < 2;
        let lists = split_inputs(&plan.source.inputs, &options, shards)?;
        let part = |inputs| SourcePlan { inputs, options: options.clone() };
        let parts: Vec<SourcePlan> = lists.into_iter().map(part).collect();
        let Some(first) = parts.first() else {
            return Err(Failure::usage("there is nothing to read"));
        };
        let start = Start::read(first, &plan.encoder)?;
        Ok(Self { parts, start })
    }
}

/// Learns every part of the files at the same time and merges what was learned. `make` makes a
/// model that has learned nothing.
pub fn fit_shards<L: MergeLearner>(
    plan: &FitPlan,
    files: CutFiles,
    make: impl Fn(Settings, &Target, Encoder) -> Result<ModelOf<L>>,
    ui: Ui,
) -> Result<ShardedFit<L>>
where
    TemplateOf<L>: Sync,
    PartOf<L>: Send,
{
    let CutFiles { parts, start } = files;
    let template = sample(plan, &parts, start, make)?;
    let found = each_part(&parts, ui, |part, progress| learn_part(&template, part, ui, progress))?;
    let mut results = found.results.into_iter();
    let Some(mut whole) = results.next() else {
        return Err(Failure::usage("there is nothing to read"));
    };
    results.try_for_each(|part| whole.merge(&part))?;
    let MergedOf { mut model, heterogeneity, shards, .. } = template.model(&whole)?;
    model.check_weights()?;
    if whole.rows() == 0 {
        return Err(Failure::no_rows(model.encoder.counts()));
    }
    let fingerprints = plan.source.inputs.iter().map(|input| input.fingerprint());
    model.history = History::starting(fingerprints.collect::<kalmia_data::Result<_>>()?);
    if let Some(run) = model.history.runs.last_mut() {
        run.position.rows = model.encoder.counts().rows;
        run.position.file = plan.source.inputs.len();
        run.finished = true;
    }
    Ok(ShardedFit { model, heterogeneity, shards, time: found.time, parts })
}

/// What all shards start from: the first rows of the parts decide columns, kinds, classes and
/// family.
fn sample<L: MergeLearner>(
    plan: &FitPlan,
    parts: &[SourcePlan],
    start: Start,
    make: impl Fn(Settings, &Target, Encoder) -> Result<ModelOf<L>>,
) -> Result<TemplateOf<L>> {
    let Start { encoder, mut block, .. } = start;
    let target = encoder
        .target()
        .cloned()
        .ok_or_else(|| Failure::usage("name the target column with --target"))?;
    let mut settings = plan.settings.clone();
    if let Algorithm::Auto { drift, .. } = &mut settings.method.algorithm {
        *drift = DriftMode::Off;
    }
    let mut model = make(settings, &target, encoder)?;
    model.learn(&block, None)?;
    for part in parts.iter().skip(1).take(MAX_SAMPLED_PARTS) {
        let mut reader = part.open(&mut model.encoder, Mode::Learn)?;
        if let Next::Block = next(&mut reader, &mut model.encoder, &mut block)? {
            model.learn(&block, None)?;
        }
    }
    model.settings = plan.settings.clone();
    Ok(TemplateOf::new(model)?)
}

/// What one part of the files says.
fn learn_part<L: MergeLearner>(
    template: &TemplateOf<L>,
    part: &SourcePlan,
    ui: Ui,
    progress: &PartProgress,
) -> Result<PartOf<L>> {
    let mut shard = ShardOf::new(template)?;
    let mut reader = part.open(shard.encoder_mut(), Mode::Learn)?;
    let mut block = Block::new();
    loop {
        match next(&mut reader, shard.encoder_mut(), &mut block)? {
            Next::Block => shard.learn(&block)?,
            Next::End => break,
            Next::Stop => {
                return Err(Failure::Interrupted(
                    "interrupted; nothing was written, because shards cannot be continued".into(),
                ));
            }
        }
        progress.set(reader.progress(), reader.position().rows);
    }
    report_left_out(&reader, ui);
    Ok(shard.part()?)
}
