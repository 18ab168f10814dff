//! Tables as bytes, for a log. Little-endian; `n` is a variable-length integer of 7 bits per byte,
//! the low ones first, the high bit of a byte set if another one follows.
//!
//! | bytes | content |
//! |---|---|
//! | 1 | version, 1 |
//! | 1 | columns that are left out because no row has a value: bit 0 the target, bit 1 the weight |
//! | n | columns of the schema, without the key |
//! | n | rows |
//! | n | JSON members that were no columns |
//! | | the columns that are not left out, in order: features, target, weight, offset |
//! | | a column of numbers: 8 bytes per row, NaN if missing |
//! | | a column of texts: n per row, the length of its text; then all texts |
//! | | libsvm only: n, the number of entries; then the entries |
//! | | an entry: n, rows after the row of the last one; n, index; 8 bytes, value |
//!
//! Whether a column has numbers or texts follows from the schema, which is not stored, and neither
//! is the key. Every row has bytes of its own, so bytes cannot ask for more memory than a small
//! multiple of their number: the target is not left out if there are no features.

use std::sync::Arc;

use super::{Table, TableSchema};
use crate::batch::{Batch, Entry, Values, Want};
use crate::error::{Error, Result};
use crate::options::MAX_BLOCK_ROWS;

/// The version that is written and read.
const VERSION: u8 = 1;
/// Flags of the columns that are left out.
const NO_TARGET: u8 = 1;
const NO_WEIGHT: u8 = 2;
/// The format in error messages.
const FORMAT: &str = "stored rows";

impl Table {
    /// The rows as bytes, which [`Table::from_bytes`] reads back exactly: values, libsvm entries
    /// and the number of ignored members, but neither keys nor the places of the rows.
    pub fn to_bytes(&self) -> Vec<u8> {
        let columns = &self.batch.columns;
        let target = self.schema.target_slot();
        let left_out =
            |slot: usize| is_absent(&columns[slot]) && may_be_left_out(&self.schema, slot);
        let mut flags = 0;
        if left_out(target) {
            flags |= NO_TARGET;
        }
        if self.schema.weight_slot().is_some_and(left_out) {
            flags |= NO_WEIGHT;
        }
        let mut out = Vec::with_capacity(16 + columns.len() * 8 * self.rows());
        out.extend([VERSION, flags]);
        write_count(columns.len() as u64, &mut out);
        write_count(self.rows() as u64, &mut out);
        write_count(self.batch.unknown_members, &mut out);
        for (slot, column) in columns.iter().enumerate() {
            if is_left_out(&self.schema, slot, flags) {
                continue;
            }
            if column.is_text {
                for row in 0..column.len() {
                    write_count(column.texts.get(row).len() as u64, &mut out);
                }
                out.extend_from_slice(column.texts.bytes());
            } else {
                column.numbers.iter().for_each(|value| out.extend(value.to_le_bytes()));
            }
        }
        if self.schema.is_sparse() {
            write_count(self.batch.entries.len() as u64, &mut out);
            let mut last = 0;
            for &Entry { row, key, value } in &self.batch.entries {
                write_count(u64::from(row - last), &mut out);
                write_count(u64::from(key), &mut out);
                out.extend(value.to_le_bytes());
                last = row;
            }
        }
        out
    }

    /// Reads rows that [`Table::to_bytes`] wrote for the same columns. `name` stands for the file
    /// in errors of these rows. Damaged bytes are refused with [`Error::Corrupt`].
    pub fn from_bytes(bytes: &[u8], schema: &TableSchema, name: &str) -> Result<Self> {
        let read = || {
            let mut rest = Bytes(bytes);
            let batch = read_batch(&mut rest, schema)?;
            if rest.0.is_empty() { Ok(batch) } else { Err("bytes follow the last row") }
        };
        let mut batch: Batch = read().map_err(|reason| Error::Corrupt {
            file: name.into(),
            format: FORMAT,
            reason: reason.into(),
        })?;
        batch.origin.files = Arc::new(vec![name.into()]);
        batch.origin.open(0, 0, 0);
        Ok(Self { schema: schema.clone(), batch, keys: None })
    }
}

/// Whether no row has a value, not even a text that stands for a missing one.
fn is_absent(column: &Values) -> bool {
    if column.is_text {
        column.texts.bytes().is_empty()
    } else {
        column.numbers.iter().all(|value| value.to_bits() == f64::NAN.to_bits())
    }
}

/// Whether a column needs no bytes; without features the target has one for each row.
fn may_be_left_out(schema: &TableSchema, slot: usize) -> bool {
    let target = schema.target_slot();
    target > 0 && (slot == target || Some(slot) == schema.weight_slot())
}

fn is_left_out(schema: &TableSchema, slot: usize, flags: u8) -> bool {
    (slot == schema.target_slot() && flags & NO_TARGET != 0)
        || (Some(slot) == schema.weight_slot() && flags & NO_WEIGHT != 0)
}

fn write_count(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

type Decoded<T> = std::result::Result<T, &'static str>;

/// The bytes that are not read yet.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, len: usize) -> Decoded<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or("it ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Decoded<u8> {
        Ok(self.take(1)?[0])
    }

    fn count(&mut self) -> Decoded<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a count is too large")
    }

    fn number(&mut self) -> Decoded<f64> {
        let bytes = self.take(8)?.try_into().map_err(|_| "it ends too early")?;
        Ok(f64::from_le_bytes(bytes))
    }
}

fn read_batch(bytes: &mut Bytes<'_>, schema: &TableSchema) -> Decoded<Batch> {
    if bytes.byte()? != VERSION {
        return Err("it is of another version");
    }
    let flags = bytes.byte()?;
    let is_legal = |slot: Option<usize>| slot.is_some_and(|slot| may_be_left_out(schema, slot));
    if flags & !(NO_TARGET | NO_WEIGHT) != 0
        || (flags & NO_TARGET != 0 && !is_legal(Some(schema.target_slot())))
        || (flags & NO_WEIGHT != 0 && !is_legal(schema.weight_slot()))
    {
        return Err("columns are left out that may not be");
    }
    if bytes.count()? != schema.slots().len() as u64 {
        return Err("it has another number of columns");
    }
    let rows = bytes.count()?;
    if rows > MAX_BLOCK_ROWS as u64 {
        return Err("it has too many rows");
    }
    let rows = rows as usize;
    let mut batch = Batch { rows, unknown_members: bytes.count()?, ..Batch::default() };
    if batch.unknown_members > (rows as u64) << 32 {
        return Err("more members were ignored than rows can have");
    }
    for (slot, want) in schema.slots().iter().map(|slot| slot.want).enumerate() {
        let mut column = Values { is_text: want.is_text(), ..Values::default() };
        if is_left_out(schema, slot, flags) {
            (0..rows).for_each(|_| column.push_missing());
        } else if column.is_text {
            read_texts(bytes, rows, &mut column)?;
        } else {
            read_numbers(bytes, rows, want, &mut column.numbers)?;
        }
        batch.columns.push(column);
    }
    if schema.is_sparse() {
        read_entries(bytes, rows, &mut batch.entries)?;
    }
    Ok(batch)
}

fn read_numbers(
    bytes: &mut Bytes<'_>,
    rows: usize,
    want: Want,
    numbers: &mut Vec<f64>,
) -> Decoded<()> {
    let stored = bytes.take(8 * rows)?;
    let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("chunks of 8 bytes"));
    numbers.extend(stored.chunks_exact(8).map(number));
    let is_legal = |value: &f64| match want {
        Want::Boolean => value.is_nan() || *value == 0.0 || *value == 1.0,
        _ => !value.is_infinite(),
    };
    if numbers.iter().all(is_legal) { Ok(()) } else { Err("a number is not one of its column") }
}

fn read_texts(bytes: &mut Bytes<'_>, rows: usize, column: &mut Values) -> Decoded<()> {
    let mut lengths = Bytes(bytes.0);
    // the texts come after all lengths
    for _ in 0..rows {
        bytes.count()?;
    }
    for _ in 0..rows {
        let length = usize::try_from(lengths.count()?).map_err(|_| "a text is too long")?;
        column.texts.push(bytes.take(length)?);
    }
    if column.texts.overflow { Err("the texts are too long") } else { Ok(()) }
}

fn read_entries(bytes: &mut Bytes<'_>, rows: usize, entries: &mut Vec<Entry>) -> Decoded<()> {
    let count = bytes.count()?;
    let mut row = 0_u64;
    for _ in 0..count {
        row = row
            .checked_add(bytes.count()?)
            .filter(|row| *row < rows as u64)
            .ok_or("no such row")?;
        let key = u32::try_from(bytes.count()?).map_err(|_| "an index is too large")?;
        let entry = Entry { row: row as u32, key, value: bytes.number()? };
        let ascends =
            entries.last().is_none_or(|last| last.row < entry.row || last.key < entry.key);
        if !ascends || !entry.value.is_finite() {
            return Err("an entry is out of order or not finite");
        }
        entries.push(entry);
    }
    Ok(())
}
