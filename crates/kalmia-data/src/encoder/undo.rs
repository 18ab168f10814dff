//! Undoing a block: what an encoder remembers to leave no trace of a refused block.
//!
//! Levels and features only ever grow at the end, so lengths are enough; a copy of the encoder per
//! block would cost as much as all its levels.

use super::{Counts, Encoder};
use crate::options::Missing;
use crate::schema::{Column, Kind, RunningMean};
use crate::target::{ClassNames, Coding, Target};

/// An encoder at some moment, to return to with [`Encoder::undo`].
///
/// It costs some bytes, and per column only if there are categories or means; not a copy of the
/// levels.
#[derive(Debug)]
#[must_use = "it takes back what is encoded after it"]
pub struct EncoderMark {
    features: usize,
    keys: usize,
    hash_names: usize,
    /// Empty if columns of numbers alone learn nothing.
    columns: Vec<ColumnMark>,
    /// Whether the negative label was still to be seen.
    is_open: bool,
    /// Classes of the target.
    classes: usize,
    wide: Option<bool>,
    counts: Counts,
}

#[derive(Debug)]
struct ColumnMark {
    levels: usize,
    missing: Option<usize>,
    mean: RunningMean,
}

impl Encoder {
    /// The encoder as it is now, for a caller that may have to take blocks back: a learner can
    /// refuse rows that were encoded already.
    ///
    /// ```
    /// use kalmia_data::{Block, Coding, Encoder, EncoderOptions, Input, Kind, Mode};
    /// use kalmia_data::{SourceOptions, Table};
    ///
    /// let columns = [("town".into(), Kind::Category)];
    /// let options = EncoderOptions::target("y");
    /// let mut encoder = Encoder::from_columns(options, &columns, Coding::Number)?;
    /// let before = encoder.clone();
    /// let input = Input::memory("t.csv", *b"town,y\nUlm,1\nBonn,2\n");
    /// let source = SourceOptions::default();
    /// let table = Table::read(input, &source, &encoder.table_schema(), Mode::Learn, 100)?;
    ///
    /// let mark = encoder.mark();
    /// encoder.encode_table(&table, &mut Block::new())?;
    /// assert_eq!(encoder.dim(), 2);
    /// encoder.undo(mark);
    /// assert_eq!(encoder, before);
    /// # Ok::<(), kalmia_data::Error>(())
    /// ```
    pub fn mark(&self) -> EncoderMark {
        let is_category = |column: &Column| column.kind == Some(Kind::Category);
        let learns = self.options.missing == Missing::Mean || self.columns.iter().any(is_category);
        let mark = |column: &Column| ColumnMark {
            levels: column.levels.as_slice().len(),
            missing: column.missing,
            mean: column.running_mean(),
        };
        let columns = if learns { self.columns.iter().map(mark).collect() } else { Vec::new() };
        let coding = self.target.as_ref().and_then(|target| target.coding.as_ref());
        EncoderMark {
            features: self.features.len(),
            keys: self.keys.len(),
            hash_names: self.hash_names.len(),
            columns,
            is_open: matches!(coding, Some(Coding::Labels { negative: None, .. })),
            classes: self.target.as_ref().and_then(Target::classes).map_or(0, ClassNames::len),
            wide: self.wide,
            counts: self.counts,
        }
    }

    /// Takes back everything that was encoded since the mark, which must be one of this encoder.
    pub fn undo(&mut self, mark: EncoderMark) {
        self.features.truncate(mark.features);
        self.keys.truncate(mark.keys);
        self.hash_names.truncate(mark.hash_names);
        for (column, before) in self.columns.iter_mut().zip(mark.columns) {
            column.levels.truncate(before.levels);
            column.missing = before.missing;
            column.set_mean(before.mean);
        }
        let coding = self.target.as_mut().and_then(|target| target.coding.as_mut());
        match coding {
            Some(Coding::Labels { negative, .. }) if mark.is_open => *negative = None,
            Some(Coding::Classes { names }) => names.truncate(mark.classes),
            _ => {}
        }
        self.wide = mark.wide;
        self.counts = mark.counts;
    }
}
