//! A fit on several cores: each learns a part of the files, then the parts are merged.

use super::{Next, PartProgress, Start, each_part, family, next, report_columns, report_left_out};
use crate::error::{Failure, Result};
use crate::plan::{FitPlan, SourcePlan};
use crate::progress::Ui;
use kalmia::DriftMode;
use kalmia::learner::Heterogeneity;
use kalmia_data::{Block, Mode, split_inputs};
use kalmia_model::{Algorithm, History, MergedModel, Model, Part, Shard, Template};
use std::time::Duration;

/// Parts whose first rows the sample takes.
const MAX_SAMPLED_PARTS: usize = 64;

/// A model of several shards.
pub struct ShardedFit {
    /// The model, merged and not yet polished.
    pub model: Model,
    /// Whether the shards agree.
    pub heterogeneity: Heterogeneity,
    /// Shards with rows.
    pub shards: u64,
    /// The time of the pass.
    pub time: Duration,
    /// The parts, to be read again.
    pub parts: Vec<SourcePlan>,
}

/// Cuts the inputs of a plan.
fn cut(source: &SourcePlan, parts: usize) -> Result<Vec<SourcePlan>> {
    let mut options = source.options.clone();
    // each part is read and learned by one thread
    options.threaded = parts < 2;
    let lists = split_inputs(&source.inputs, &options, parts)?;
    Ok(lists.into_iter().map(|inputs| SourcePlan { inputs, options: options.clone() }).collect())
}

/// Learns every part of the files at the same time and merges what was learned.
pub fn fit_shards(plan: &FitPlan, shards: usize, ui: Ui) -> Result<ShardedFit> {
    let parts = cut(&plan.source, shards)?;
    let template = sample(plan, &parts, ui)?;
    let found = each_part(&parts, ui, |part, progress| learn_part(&template, part, ui, progress))?;
    let mut results = found.results.into_iter();
    let Some(mut whole) = results.next() else {
        return Err(Failure::usage("there is nothing to read"));
    };
    results.try_for_each(|part| whole.merge(&part))?;
    let MergedModel { mut model, heterogeneity, shards, .. } = template.model(&whole)?;
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

/// What all shards start from: the first rows of the parts decide columns, kinds and family.
fn sample(plan: &FitPlan, parts: &[SourcePlan], ui: Ui) -> Result<Template> {
    let Some(first) = parts.first() else {
        return Err(Failure::usage("there is nothing to read"));
    };
    let Start { encoder, mut block, .. } = Start::read(first, &plan.encoder)?;
    report_columns(&encoder, ui);
    let target =
        encoder.target().ok_or_else(|| Failure::usage("name the target column with --target"))?;
    let family = family(&plan.settings.family, target, ui)?;
    let mut settings = plan.settings.clone();
    if let Algorithm::Auto { drift, .. } = &mut settings.method.algorithm {
        *drift = DriftMode::Off;
    }
    let mut model = Model::new(settings, family, encoder)?;
    model.learn(&block, None)?;
    for part in parts.iter().skip(1).take(MAX_SAMPLED_PARTS) {
        let mut reader = part.open(&mut model.encoder, Mode::Learn)?;
        if let Next::Block = next(&mut reader, &mut model.encoder, &mut block)? {
            model.learn(&block, None)?;
        }
    }
    model.settings = plan.settings.clone();
    Ok(Template::new(model)?)
}

/// What one part of the files says.
fn learn_part(
    template: &Template,
    part: &SourcePlan,
    ui: Ui,
    progress: &PartProgress,
) -> Result<Part> {
    let mut shard = Shard::new(template)?;
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
