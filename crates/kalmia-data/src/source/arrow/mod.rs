//! Arrow record batches as a source: as they come from a caller, and decoded from IPC or Parquet.

mod batches;
#[cfg(feature = "columnar")]
mod check;
mod convert;
mod guard;
#[cfg(feature = "columnar")]
mod ipc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};

pub(super) use batches::Batches;
pub use convert::{NotNumeric, kind_of, numbers};
use convert::{append, declared};
pub(super) use guard::guard;
#[cfg(feature = "columnar")]
pub(super) use ipc::open_ipc;

use super::{Plan, bad_field, check_names, too_many_columns};
use crate::batch::Batch;
use crate::error::{Error, Location, Result};
use crate::options::SourceOptions;
use crate::text::TextKind;

/// Decoded rows that wait to be added to batches.
pub(super) struct Pending {
    file: String,
    plan: Plan,
    /// The slot of each array of a record batch.
    places: Vec<Option<usize>>,
    decoded: Option<RecordBatch>,
    /// Rows of `decoded` already added or skipped.
    used: usize,
    /// Rows already added or skipped.
    pub row: u64,
    /// Rows of the file before those that are read.
    pub rows_before: u64,
}

impl Pending {
    pub fn new(file: &str) -> Self {
        Self {
            file: file.into(),
            plan: Plan::default(),
            places: Vec::new(),
            decoded: None,
            used: 0,
            row: 0,
            rows_before: 0,
        }
    }

    /// Fixes the slot of each array; whether that is another choice of columns than before.
    pub fn bind(&mut self, plan: &Plan, places: Vec<Option<usize>>) -> bool {
        let changed = places != self.places;
        self.plan = plan.clone();
        self.places = places;
        changed
    }

    /// Takes a record batch; the one before must be used up.
    pub fn put(&mut self, decoded: RecordBatch) {
        self.decoded = Some(decoded);
        self.used = 0;
    }

    /// Drops the rows that are left.
    #[cfg(feature = "columnar")]
    pub fn clear(&mut self) {
        self.decoded = None;
    }

    /// Rows left.
    pub fn len(&self) -> usize {
        self.decoded.as_ref().map_or(0, |decoded| decoded.num_rows() - self.used)
    }

    /// Skips up to `rows` rows; how many.
    pub fn skip(&mut self, rows: u64) -> u64 {
        let n = rows.min(self.len() as u64);
        self.used += n as usize;
        self.row += n;
        n
    }

    /// Adds up to `rows` rows to the batch.
    pub fn take(&mut self, batch: &mut Batch, rows: usize) -> Result<()> {
        let range = self.used..self.used + rows.min(self.len());
        let Some(decoded) = &self.decoded else { return Ok(()) };
        for (array, slot) in decoded.columns().iter().zip(&self.places) {
            let Some(slot) = *slot else { continue };
            let want = self.plan.slots[slot].want;
            append(array, range.clone(), &mut batch.columns[slot], want).map_err(|bad| {
                let row = self.rows_before + self.row + (bad.row - range.start) as u64 + 1;
                let at = Location { file: self.file.clone(), row, line: None };
                bad_field(at, &self.plan.slots[slot], &bad.value)
            })?;
        }
        self.row += range.len() as u64;
        batch.rows += range.len();
        batch.origin.lines.resize(batch.rows, 0);
        self.used = range.end;
        Ok(())
    }
}

/// The names of a schema's columns.
pub(super) fn names(schema: &Schema, file: &str, options: &SourceOptions) -> Result<Vec<String>> {
    if schema.fields().len() > options.max_columns {
        return Err(too_many_columns(file, options.max_columns));
    }
    let mut names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
    check_names(file, &mut names)?;
    Ok(names)
}

/// Refuses the used columns whose type cannot be encoded.
pub(super) fn check_types(schema: &Schema, file: &str, plan: &Plan) -> Result<()> {
    for (i, field) in schema.fields().iter().enumerate() {
        if plan.slot(i).is_some()
            && let Err(problem) = declared(field.data_type())
        {
            return Err(Error::Column { file: file.into(), column: field.name().clone(), problem });
        }
    }
    Ok(())
}

/// What the texts of column `i` are. Unsigned 64-bit integers stay text, which loses no precision.
pub(super) fn text_kind(schema: &Schema, i: usize) -> TextKind {
    match schema.field(i).data_type() {
        DataType::UInt64 => TextKind::Text,
        integer if integer.is_integer() => TextKind::Integer,
        DataType::Decimal128(..) => TextKind::Number,
        number if number.is_floating() => TextKind::Number,
        _ => TextKind::Text,
    }
}
