//! Tables: rows that are read but not yet encoded, as one plain column per column that an encoder
//! uses.

mod bytes;
mod json;
mod read;
mod schema;

use std::ops::Range;
use std::sync::Arc;

pub use json::json_lines;
pub use schema::TableSchema;

use crate::batch::{Batch, Values};
use crate::block::Block;
use crate::encoder::Encoder;
use crate::error::{Error, Location, Result, RowProblem, SettingProblem};
use crate::options::{MAX_BLOCK_ROWS, Mode};
use crate::scalar;

/// Rows that are read and checked, but not encoded: what a request or an entry of a log holds.
///
/// A table does not depend on the levels that an encoder has seen. It can wait while the encoder
/// learns other rows, and can be kept as bytes ([`Table::to_bytes`]).
///
/// ```
/// use kalmia_data::{Block, Coding, Encoder, EncoderOptions, Input, Kind, Mode};
/// use kalmia_data::{SourceOptions, Table};
///
/// let columns = [("miles".into(), Kind::Number), ("carrier".into(), Kind::Category)];
/// let options = EncoderOptions::target("late");
/// let mut encoder = Encoder::from_columns(options, &columns, Coding::Number)?;
/// let schema = encoder.table_schema().with_key("id");
///
/// let body = br#"{"id": "a1", "miles": 300, "carrier": "AA", "note": "x"}"#;
/// let input = Input::memory("request.jsonl", *body);
/// let source = SourceOptions::default();
/// let mut table = Table::read(input, &source, &schema, Mode::Predict, 1000)?;
/// assert_eq!((table.rows(), table.key(0)), (1, Some("a1")));
/// assert_eq!(table.ignored(), ["note"]);
///
/// let label = Input::memory("label.jsonl", *br#"{"id": "a1", "y": 1}"#);
/// let labels = Table::read(label, &source, &schema.labels("id", "y"), Mode::Learn, 1000)?;
/// table.set_targets(&labels)?;
/// let mut block = Block::new();
/// encoder.encode_table(&table, &mut block)?;
/// assert_eq!((block.row(0), &*block.y), (&[1.0, 300.0][..], &[1.0][..]));
/// # Ok::<(), kalmia_data::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    schema: TableSchema,
    /// The columns of the encoder; that of the key is apart.
    batch: Batch,
    keys: Option<Values>,
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.batch.rows
    }

    /// The columns it was read for.
    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// What identifies row `i`, if the schema has a key ([`TableSchema::with_key`]) and the row a
    /// text for it that is not empty.
    pub fn key(&self, i: usize) -> Option<&str> {
        let text = scalar::trim(self.keys.as_ref()?.texts.get(i));
        std::str::from_utf8(text).ok().filter(|text| !text.is_empty())
    }

    /// JSON members that are no columns: the names of the first 8.
    pub fn ignored(&self) -> &[String] {
        &self.batch.ignored
    }

    /// The file, row and line that row `i` comes from.
    pub fn location(&self, i: usize) -> Location {
        self.batch.origin.location(i)
    }

    /// Whether every row has a target.
    pub fn has_targets(&self) -> bool {
        let target = &self.batch.columns[self.schema.target_slot()];
        (0..self.rows()).all(|row| !target.is_missing_at(row))
    }

    /// The rows of a range, which keep their places. Ignored JSON members are counted with the
    /// first row.
    ///
    /// # Panics
    /// If the range ends after the last row.
    pub fn slice(&self, rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.rows(), "rows {rows:?} are not there");
        let part = |column: &Values| {
            let mut part = column.emptied();
            part.append(column, rows.clone());
            part
        };
        let mut batch = Batch {
            rows: rows.len(),
            columns: self.batch.columns.iter().map(part).collect(),
            ..Batch::default()
        };
        batch.origin.files = self.batch.origin.files.clone();
        batch.origin.append(0, &self.batch.origin, rows.clone(), 0);
        append_entries(&mut batch, &self.batch, rows.clone(), 0);
        if rows.start == 0 && !rows.is_empty() {
            batch.unknown_members = self.batch.unknown_members;
            batch.ignored.clone_from(&self.batch.ignored);
        }
        Self { schema: self.schema.clone(), batch, keys: self.keys.as_ref().map(part) }
    }

    /// Adds the rows of another table of the same columns, which keep their places.
    ///
    /// Fails, and changes nothing, if the other was read for other columns, or if there are more
    /// rows or texts than one block holds.
    pub fn append(&mut self, other: &Self) -> Result<()> {
        if !self.schema.has_columns_of(&other.schema) {
            return Err(SettingProblem::OtherTable.into());
        }
        let before = self.rows();
        let rows = before + other.rows();
        if rows > MAX_BLOCK_ROWS {
            return Err(SettingProblem::BlockRows { rows }.into());
        }
        let all = 0..other.rows();
        let too_long = |(own, other): (&Values, &Values)| !own.texts.has_room_for(&other.texts);
        let pairs = self.batch.columns.iter().zip(&other.batch.columns);
        if let Some(slot) = pairs.map(too_long).position(|too_long| too_long) {
            let problem =
                RowProblem::TextsTooLong { column: self.schema.slots()[slot].name.clone() };
            return Err(Error::Row { at: other.location(0), problem });
        }
        let pairs = self.batch.columns.iter_mut().zip(&other.batch.columns);
        pairs.for_each(|(own, other)| own.append(other, all.clone()));
        match (&mut self.keys, &other.keys) {
            (Some(own), Some(other)) => own.append(other, all.clone()),
            (Some(own), None) => all.clone().for_each(|_| own.push_missing()),
            (None, _) => {}
        }
        let files = Arc::make_mut(&mut self.batch.origin.files);
        let first_file = files.len();
        files.extend(other.batch.origin.files.iter().cloned());
        self.batch.origin.append(before, &other.batch.origin, all.clone(), first_file);
        append_entries(&mut self.batch, &other.batch, all, before);
        self.batch.rows = rows;
        self.batch.unknown_members += other.batch.unknown_members;
        for name in &other.batch.ignored {
            if self.batch.ignored.len() < crate::source::jsonl::MAX_IGNORED
                && !self.batch.ignored.contains(name)
            {
                self.batch.ignored.push(name.clone());
            }
        }
        Ok(())
    }

    /// Gives the rows the targets of as many rows of labels, in order. The rows are then located
    /// where their labels stand, because that is the input at hand.
    ///
    /// Fails, and changes nothing, if the numbers of rows differ, or if the labels were read for a
    /// target of another kind ([`TableSchema::labels`]).
    pub fn set_targets(&mut self, labels: &Self) -> Result<()> {
        let own = self.schema.target_slot();
        let other = labels.schema.target_slot();
        if self.schema.slots()[own].want != labels.schema.slots()[other].want {
            return Err(SettingProblem::OtherTable.into());
        }
        let rows = self.rows();
        if labels.rows() != rows {
            return Err(SettingProblem::TargetRows { rows, found: labels.rows() }.into());
        }
        self.batch.columns[own] = labels.batch.columns[other].clone();
        self.batch.origin = labels.batch.origin.clone();
        Ok(())
    }
}

/// Adds the libsvm entries of a range of rows, which come after `before` rows.
fn append_entries(to: &mut Batch, from: &Batch, rows: Range<usize>, before: usize) {
    let at = |row: usize| from.entries.partition_point(|entry| (entry.row as usize) < row);
    to.entries.extend(from.entries[at(rows.start)..at(rows.end)].iter().map(|entry| {
        let row = entry.row as usize - rows.start + before;
        crate::batch::Entry { row: row as u32, ..*entry }
    }));
}

impl Encoder {
    /// The columns of tables for this encoder, whose kinds must be known
    /// ([`Encoder::is_settled`]). Levels that appear later do not change them.
    pub fn table_schema(&self) -> TableSchema {
        TableSchema::new(self)
    }

    /// Encodes a table whose rows are to be learned: new levels become features, as a
    /// [`crate::Reader`] in [`Mode::Learn`] does it. After an error the encoder is as it was
    /// before; [`Encoder::mark`] and [`Encoder::undo`] take a block back that a learner refuses.
    pub fn encode_table(&mut self, table: &Table, block: &mut Block) -> Result<()> {
        self.check_table(table)?;
        block.origin.clone_from(&table.batch.origin);
        self.encode(&table.batch, block, Mode::Learn)
    }

    /// Encodes a table whose rows are to be predicted: levels that the encoder does not know are
    /// counted in [`Block::unseen`]. The encoder stays as it is, its counts included, so several
    /// threads may do this at once. The target may be missing.
    pub fn encode_for_prediction(&self, table: &Table, block: &mut Block) -> Result<()> {
        self.check_table(table)?;
        block.origin.clone_from(&table.batch.origin);
        self.encode_unchanged(&table.batch, block, Mode::Predict).map(|_| ())
    }

    fn check_table(&self, table: &Table) -> Result<()> {
        if !self.is_settled() {
            return Err(SettingProblem::NothingLearned.into());
        }
        match self.has_slots(table.schema.slots()) && self.sparse == table.schema.is_sparse() {
            true => Ok(()),
            false => Err(SettingProblem::OtherTable.into()),
        }
    }
}
