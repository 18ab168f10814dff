//! The loop over blocks: learn, measure, checkpoint, show progress.

use super::{CommandLearner, Feed, Levels, Watch};
use crate::error::{Failure, Result};
use crate::format::counted;
use crate::interrupt;
use crate::output::ModelOutput;
use crate::plan::Every;
use crate::progress::Ui;
use kalmia_data::{Block, Encoder, Reader};
use kalmia_model::ModelOf;
use std::time::{Duration, Instant};

/// What comes after a block.
pub enum Next {
    /// Another block.
    Block,
    /// The end of the input.
    End,
    /// The user asked to stop.
    Stop,
}

/// Reads the next block, unless a stop was asked for.
pub fn next(reader: &mut Reader, encoder: &mut Encoder, block: &mut Block) -> Result<Next> {
    if interrupt::requested() {
        return Ok(Next::Stop);
    }
    match reader.next_block(encoder, block) {
        Ok(true) => Ok(Next::Block),
        Ok(false) => Ok(Next::End),
        // the read gave up because of the stop; a fault of the input shows again on resuming
        Err(_) if interrupt::requested() => Ok(Next::Stop),
        Err(error) => Err(error.into()),
    }
}

/// A pass over the rest of a reader.
pub struct Pass<'a> {
    /// Where checkpoints go.
    pub output: Option<&'a mut ModelOutput>,
    /// How often they are written.
    pub every: Option<Every>,
    /// Notes and progress.
    pub ui: Ui,
    /// The command that continues after an interruption; `None` if it has to start again.
    pub again: Option<String>,
}

impl Pass<'_> {
    /// Learns `block`, which was read already or is empty, and everything after it. Returns the
    /// time it took.
    pub fn run<L: CommandLearner>(
        &mut self,
        model: &mut ModelOf<L>,
        mut feed: Feed<'_>,
        mut block: Block,
    ) -> Result<Duration> {
        let mut meter = self.ui.progress(feed.progress());
        let mut metrics = L::Watch::start(model.metrics.clone());
        let start = model.learner.count();
        let mut checkpoint = Checkpoint { rows: start, time: Instant::now() };
        let mut levels = if start == 0 { Levels::default() } else { Levels::new(&model.encoder) };
        loop {
            if block.rows() > 0 {
                // first, because learning is slow with many features
                levels.report_new(&model.encoder, self.ui);
                L::learn_block(model, &block, &mut metrics)?;
            }
            let rows = model.learner.count();
            if let Some(run) = model.history.runs.last_mut() {
                run.position = feed.position();
            }
            if checkpoint.is_due(self.every, rows)
                && let Some(output) = &mut self.output
            {
                model.metrics = metrics.snapshot();
                output.save(model)?;
                checkpoint = Checkpoint { rows, time: Instant::now() };
            }
            meter.tick(feed.progress(), rows - start, || metrics.loss());
            match feed.next(&mut model.encoder, &mut block)? {
                Next::Block => {}
                Next::End => break,
                Next::Stop => {
                    meter.finish();
                    model.metrics = metrics.finish();
                    return Err(self.interrupted(model));
                }
            }
        }
        model.metrics = metrics.finish();
        if let Some(run) = model.history.runs.last_mut() {
            run.finished = true;
        }
        Ok(meter.finish())
    }

    /// Writes a checkpoint and says how to continue.
    fn interrupted<L: CommandLearner>(&mut self, model: &ModelOf<L>) -> Failure {
        let rows = counted(model.learner.count(), "row");
        let Some(again) = &self.again else {
            return Failure::Interrupted(format!(
                "interrupted after {rows}; nothing was written, because shuffled rows cannot be \
                 continued"
            ));
        };
        let Some(output) = &mut self.output else {
            return Failure::Interrupted(format!(
                "interrupted after {rows}; nothing was written, because no -o MODEL was given"
            ));
        };
        match output.save(model) {
            Ok(()) => Failure::Interrupted(format!(
                "interrupted after {rows}, written to {}; continue with\n  {}",
                output.path().display(),
                again
            )),
            Err(failure) => failure,
        }
    }
}

/// The last checkpoint.
struct Checkpoint {
    rows: u64,
    time: Instant,
}

impl Checkpoint {
    /// Whether another one is due after `rows` rows.
    fn is_due(&self, every: Option<Every>, rows: u64) -> bool {
        match every {
            None => false,
            Some(Every::Rows(every)) => rows - self.rows >= every,
            Some(Every::Time(every)) => self.time.elapsed() >= every,
        }
    }
}
