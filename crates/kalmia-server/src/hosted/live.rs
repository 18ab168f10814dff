//! The model in memory: how an entry of the log is learned, alike when it arrives and on replay.

use super::ServedRows;
use super::entry::{Kind, Learned, Served};
use crate::error::{ApiError, Result};
use crate::prediction::{Prediction, predictions};
use kalmia_data::Table;
use kalmia_model::{AnyModel, Error as ModelError, LearnScratch};
use serde::{Deserialize, Serialize};
use std::ops::{DerefMut, Range};
use std::panic::AssertUnwindSafe;

/// Probability of the intervals that learning returns.
pub const LEVEL: f64 = 0.95;

/// The member of the file's metadata that holds [`Mark`].
const SERVICE: &str = "service";

/// A model that learns.
#[derive(Debug)]
pub struct Live {
    /// The model after the entry `sequence`.
    pub model: AnyModel,
    /// The last entry of the log that it knows.
    pub sequence: u64,
    served: ServedSums,
    scratch: LearnScratch,
}

/// Sums over the predictions that were served before their labels came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct ServedSums {
    rows: u64,
    loss: f64,
}

/// What a snapshot says beside the model.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Mark {
    sequence: u64,
    served: ServedSums,
}

impl Live {
    /// A model that has learned nothing from a log.
    pub fn new(model: AnyModel) -> Self {
        Self { model, sequence: 0, served: ServedSums::default(), scratch: LearnScratch::default() }
    }

    /// A model as a snapshot holds it.
    pub fn from_snapshot(model: AnyModel) -> Self {
        let mark = model.metadata().get(SERVICE).cloned();
        let mark: Mark =
            mark.and_then(|mark| serde_json::from_value(mark).ok()).unwrap_or_default();
        Self { sequence: mark.sequence, served: mark.served, ..Self::new(model) }
    }

    /// Puts into the model's metadata what the next snapshot must say.
    pub fn mark(&mut self) {
        let mark = Mark { sequence: self.sequence, served: self.served };
        // plain data, which JSON always holds
        let mark = serde_json::to_value(mark).unwrap_or_default();
        self.model.metadata_mut().insert(SERVICE.into(), mark);
    }

    /// The loss of predictions as served; `None` before any label came.
    pub fn served(&self) -> Option<Served> {
        mean(self.served)
    }

    /// The same state, with memory of its own.
    pub fn copy(&self) -> Self {
        let Self { sequence, served, .. } = *self;
        Self { sequence, served, ..Self::new(self.model.clone()) }
    }

    /// Learns rows as one batch; what was predicted before, if the kind asks for it.
    fn learn(&mut self, kind: Kind, table: &Table, part: &mut Part) -> Result<()> {
        if kind == Kind::Predicted {
            let before =
                match self.model.forecast_table(table, LEVEL, None, &mut self.scratch.block) {
                    Ok(forecasts) => predictions(forecasts),
                    // the first row brings the first class
                    Err(ModelError::NoClasses) => vec![None; table.rows()],
                    Err(error) => return Err(error.into()),
                };
            self.learn_batch(table, part)?;
            part.predictions.extend(before);
            return Ok(());
        }
        self.learn_batch(table, part)
    }

    fn learn_batch(&mut self, table: &Table, part: &mut Part) -> Result<()> {
        let learned = self.model.learn_table(table, &mut self.scratch)?;
        part.rows += learned.rows as u64;
        part.skipped += learned.skipped as u64;
        Ok(())
    }

    /// Adds the losses of what was served for the rows of the last block, which start at `first`.
    fn score_served(&self, served: &ServedRows, first: usize, sums: &mut ServedSums) {
        let block = &self.scratch.block;
        for i in 0..block.rows() {
            // rows left out for a missing value have no place in the block
            let place = (block.input_row(i) - block.first_row) as usize;
            if let Some(loss) = self.model.loss_of_served(block, i, served.row(first + place)) {
                sums.rows += 1;
                sums.loss += loss;
            }
        }
    }
}

fn mean(sums: ServedSums) -> Option<Served> {
    let ServedSums { rows, loss } = sums;
    (rows > 0).then(|| Served { rows, loss: loss / rows as f64 })
}

/// What was learned of an entry so far.
#[derive(Debug, Default)]
struct Part {
    rows: u64,
    skipped: u64,
    predictions: Vec<Option<Prediction>>,
    served: ServedSums,
}

/// A way to the model, one part of an entry at a time, so that predictions can come between.
pub trait Access {
    /// What holds the model while a part is learned.
    type Guard<'a>: DerefMut<Target = Live>
    where
        Self: 'a;

    /// The model, for one part.
    fn get(&mut self) -> Self::Guard<'_>;
}

/// The model alone, as on replay.
impl Access for Live {
    type Guard<'a> = &'a mut Live;

    fn get(&mut self) -> &mut Live {
        self
    }
}

/// Rows that are learned while nobody can predict, at most: about a millisecond of work for few
/// features, and for many as many rows as the library's blocks need to be fast.
const MAX_PART_ROWS: usize = 1024;
const MIN_PART_ROWS: usize = 128;
/// Entries of matrices that are moved per part, about.
const PART_WORK: usize = 4_000_000;

/// Rows per part of an entry. It depends on the features, classes and levels before the entry and
/// on nothing else, because the parts decide the last bits of what is learned.
fn part_rows(kind: Kind, model: &AnyModel) -> usize {
    if kind == Kind::Predicted {
        return 1;
    }
    let work = model.dim().saturating_pow(2).saturating_mul(model.predictors());
    (PART_WORK / work.max(1)).clamp(MIN_PART_ROWS, MAX_PART_ROWS)
}

/// Learns an entry: all of it, or nothing.
pub fn learn_entry<A: Access>(
    access: &mut A,
    sequence: u64,
    kind: Kind,
    table: &Table,
    served: &ServedRows,
) -> Result<Learned> {
    let rows = table.rows();
    let step = part_rows(kind, &access.get().model);
    // a copy costs less than what several parts are learned in
    let backup = (rows > step).then(|| access.get().copy());
    let mut part = Part::default();
    let mut first = 0;
    while first < rows {
        let range = first..rows.min(first + step);
        first = range.end;
        let mut live = access.get();
        if let Err(error) = learn_range(&mut live, kind, table, range, served, &mut part) {
            if let Some(backup) = backup {
                *live = backup;
            }
            live.sequence = sequence;
            return Err(error);
        }
        if first == rows {
            live.sequence = sequence;
            live.served.rows += part.served.rows;
            live.served.loss += part.served.loss;
        }
    }
    Ok(Learned {
        skipped: (part.skipped > 0).then_some(part.skipped),
        ignored: table.ignored().to_vec(),
        predictions: (kind == Kind::Predicted).then_some(part.predictions),
        served: mean(part.served),
        ..Learned::plain(sequence, part.rows)
    })
}

/// Runs what learns. A panic is a fault of this program; it must not end the service, nor leave a
/// model waiting for an answer.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> std::result::Result<T, String> {
    std::panic::catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| "learning it failed by a fault of kalmia, which standard error shows".into())
}

fn learn_range(
    live: &mut Live,
    kind: Kind,
    table: &Table,
    range: Range<usize>,
    served: &ServedRows,
    part: &mut Part,
) -> std::result::Result<(), ApiError> {
    if range.len() == table.rows() {
        live.learn(kind, table, part)?;
    } else {
        live.learn(kind, &table.slice(range.clone()), part)?;
    }
    if kind == Kind::Labelled {
        live.score_served(served, range.start, &mut part.served);
    }
    Ok(())
}
