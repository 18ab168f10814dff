//! Undoing a block: what an encoder remembers to leave no trace of a refused block.
//!
//! Levels and features only ever grow at the end, so lengths are enough; a copy of the encoder per
//! block would cost as much as all its levels.

use super::{Counts, Encoder};
use crate::target::Coding;

/// The encoder before a block.
pub(super) struct Mark {
    features: usize,
    keys: usize,
    hash_names: usize,
    columns: Vec<ColumnMark>,
    coding: Option<Coding>,
    wide: Option<bool>,
    counts: Counts,
}

struct ColumnMark {
    levels: usize,
    missing: Option<usize>,
    mean: f64,
    count: u64,
}

impl Encoder {
    pub(super) fn mark(&self) -> Mark {
        let columns = self.columns.iter().map(|column| ColumnMark {
            levels: column.levels.as_slice().len(),
            missing: column.missing,
            mean: column.mean,
            count: column.count,
        });
        Mark {
            features: self.features.len(),
            keys: self.keys.len(),
            hash_names: self.hash_names.len(),
            columns: columns.collect(),
            coding: self.target.as_ref().and_then(|target| target.coding.clone()),
            wide: self.wide,
            counts: self.counts,
        }
    }

    pub(super) fn undo(&mut self, mark: Mark) {
        self.features.truncate(mark.features);
        self.keys.truncate(mark.keys);
        self.hash_names.truncate(mark.hash_names);
        for (column, before) in self.columns.iter_mut().zip(mark.columns) {
            column.levels.truncate(before.levels);
            column.missing = before.missing;
            column.mean = before.mean;
            column.count = before.count;
        }
        if let Some(target) = &mut self.target {
            target.coding = mark.coding;
        }
        self.wide = mark.wide;
        self.counts = mark.counts;
    }
}
