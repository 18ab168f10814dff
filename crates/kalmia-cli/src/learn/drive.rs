//! The loop over blocks.

use super::Levels;
use crate::error::{Failure, Result, locate};
use crate::model::Model;
use crate::plan::Every;
use crate::ui::{self, Ui};
use kalmia::evaluate::MetricsThread;
use kalmia::{AnyLearner, Learner, Observer, Predict, Rows};
use kalmia_data::{Block, Encoder, Reader};
use std::path::Path;
use std::time::{Duration, Instant};

/// A block as the learner sees it.
fn rows_of(block: &Block) -> Result<Rows<'_>> {
    let mut rows = Rows::new(block.dim, &block.x, &block.y)?;
    if let Some(weight) = &block.weight {
        rows = rows.with_weights(weight)?;
    }
    if let Some(offset) = &block.offset {
        rows = rows.with_offsets(offset)?;
    }
    Ok(rows)
}

/// Learns a block, growing the learner first where the block brought features.
pub fn learn_block(
    learner: &mut AnyLearner,
    observer: &mut dyn Observer,
    block: &Block,
    encoder: &Encoder,
    chosen: bool,
) -> Result<()> {
    while learner.dim() < block.dim {
        let name = encoder.features().get(learner.dim()).map_or("?", |feature| &feature.name);
        learner.grow().map_err(|error| {
            Failure::usage(format!("feature `{name}` appears after the first rows: {error}"))
        })?;
    }
    learner
        .learn_observed(rows_of(block)?, Some(observer))
        .map_err(|error| locate(error, block, encoder, chosen))
}

/// What comes after a block.
pub enum Next {
    /// Another one.
    Block,
    /// The end of the input.
    End,
    /// An end that the user asked for.
    Stop,
}

/// Reads the next block, unless a stop was asked for.
pub fn next(reader: &mut Reader, block: &mut Block) -> Result<Next> {
    if ui::stop_requested() {
        return Ok(Next::Stop);
    }
    match reader.next_block(block) {
        Ok(true) => Ok(Next::Block),
        Ok(false) => Ok(Next::End),
        // a read that waited and gave up; a fault of the input shows again when the run goes on
        Err(_) if ui::stop_requested() => Ok(Next::Stop),
        Err(error) => Err(error.into()),
    }
}

/// A pass over the rest of a reader.
pub struct Pass<'a> {
    /// Where checkpoints go.
    pub output: Option<&'a Path>,
    /// When they are written.
    pub every: Option<Every>,
    /// Whom to tell.
    pub ui: Ui,
    /// How to go on after an interruption, as the user would type it.
    pub again: String,
}

impl Pass<'_> {
    /// Learns from the next block to the end. `first` is a block already read. Returns the time it
    /// took.
    pub fn run(
        &self,
        model: &mut Model,
        reader: &mut Reader,
        first: Option<Block>,
    ) -> Result<Duration> {
        let mut meter = self.ui.progress(reader.progress());
        let (mut pending, mut block) = (first.is_some(), first.unwrap_or_default());
        let mut metrics_thread = MetricsThread::start(model.metrics.clone());
        let mut last = (model.learner.count(), Instant::now());
        let start = model.learner.count();
        let chosen = model.settings.family == "auto";
        let mut levels = if start == 0 { Levels::default() } else { Levels::new(reader.encoder()) };
        loop {
            match if pending { Next::Block } else { next(reader, &mut block)? } {
                Next::Block => pending = false,
                Next::End => break,
                Next::Stop => {
                    meter.finish();
                    model.metrics = metrics_thread.finish();
                    return Err(self.interrupted(model, reader));
                }
            }
            // before the learning, which many features make slow
            levels.look(reader.encoder(), self.ui);
            learn_block(&mut model.learner, &mut metrics_thread, &block, reader.encoder(), chosen)?;
            metrics_thread.flush();
            if let Some(run) = model.history.runs.last_mut() {
                run.position = reader.position();
            }
            let rows = model.learner.count();
            let due = match self.every {
                None => false,
                Some(Every::Rows(every)) => rows - last.0 >= every,
                Some(Every::Time(every)) => last.1.elapsed() >= every,
            };
            if let (true, Some(path)) = (due, self.output) {
                model.metrics = metrics_thread.snapshot();
                model.view(reader.encoder()).save(path)?;
                last = (rows, Instant::now());
            }
            meter.tick(reader.progress(), rows - start, || metrics_thread.loss());
        }
        model.metrics = metrics_thread.finish();
        if let Some(run) = model.history.runs.last_mut() {
            run.finished = true;
        }
        Ok(meter.finish())
    }

    /// Writes a checkpoint and says how to go on.
    fn interrupted(&self, model: &Model, reader: &Reader) -> Failure {
        let rows = ui::counted(model.learner.count(), "row");
        let Some(path) = self.output else {
            return Failure::Interrupted(format!(
                "interrupted after {rows}; nothing was written, as no -o MODEL was given"
            ));
        };
        match model.view(reader.encoder()).save(path) {
            Ok(()) => Failure::Interrupted(format!(
                "interrupted after {rows}, written to {}; go on with\n  {}",
                path.display(),
                self.again
            )),
            Err(error) => error,
        }
    }
}
