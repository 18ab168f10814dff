//! Reads a table from an input: JSON Lines in memory directly, everything else by the readers of
//! files, on the caller's thread.

use std::sync::Arc;

use super::{Table, TableSchema};
use crate::batch::{Batch, Slot};
use crate::error::{Error, Result, SettingProblem, ValueProblem};
use crate::input::Input;
use crate::notation::Notation;
use crate::options::{BadRows, Format, MAX_BLOCK_ROWS, Missing, Mode, SourceOptions};
use crate::parser::{Parser, check_texts};
use crate::reader::in_role;
use crate::source::not_utf8;

/// JSON in memory above this size is read as a stream is.
const MAX_DIRECT_BYTES: usize = 1 << 28;
/// Bytes read at a time, at least: an input may be compressed.
const MIN_CHUNK_BYTES: usize = 1 << 12;

impl Table {
    /// Reads all rows of an input, at most `max_rows` (1 to 2^24).
    ///
    /// Values are checked: a text in a column of numbers, an infinite number, a column that is not
    /// there, and under [`Missing::Error`] a missing value are errors that name the row, line and
    /// column. In [`Mode::Predict`] the target and the weight may be absent; in
    /// [`Mode::Evaluate`] the weight. An absent JSON member is a missing value.
    ///
    /// Of the options, `threaded` and `block_rows` mean nothing here, and a row that cannot be read
    /// is always an error. More rows than `max_rows` are [`Error::TooManyRows`], none
    /// [`Error::NoRows`].
    pub fn read(
        input: Input,
        options: &SourceOptions,
        schema: &TableSchema,
        mode: Mode,
        max_rows: usize,
    ) -> Result<Self> {
        if max_rows == 0 || max_rows > MAX_BLOCK_ROWS {
            return Err(SettingProblem::BlockRows { rows: max_rows }.into());
        }
        let file = input.name().to_owned();
        let read = match direct_json(&input, options) {
            Some(bytes) => read_json(&file, bytes, options, schema, max_rows),
            None => read_stream(input, options, schema, mode, max_rows),
        };
        let mut batch = read.map_err(|error| in_role(error, schema.options()))?;
        if batch.rows > max_rows {
            return Err(Error::TooManyRows { file, limit: max_rows });
        }
        if batch.rows == 0 {
            return Err(Error::NoRows { file });
        }
        batch.set_notation(&None);
        let keys = if schema.has_key() { batch.columns.pop() } else { None };
        let table = Self { schema: schema.clone(), batch, keys };
        table.check_keys()?;
        table.check_values(mode)?;
        Ok(table)
    }

    fn check_keys(&self) -> Result<()> {
        let Some(keys) = &self.keys else { return Ok(()) };
        let bad = |row: &usize| std::str::from_utf8(keys.texts.get(*row)).is_err();
        match (0..self.rows()).find(bad) {
            Some(row) => Err(not_utf8(self.location(row), self.schema.key())),
            None => Ok(()),
        }
    }

    /// Refuses infinite numbers, and missing values where they are errors.
    fn check_values(&self, mode: Mode) -> Result<()> {
        let mut first: Option<(usize, usize)> = None;
        for (slot, values) in self.batch.columns.iter().enumerate() {
            if !values.is_text && values.numbers.iter().fold(true, |all, v| all & v.is_finite()) {
                continue;
            }
            if let Some(row) = values.numbers.iter().position(|v| v.is_infinite()) {
                return Err(Error::Value {
                    at: self.location(row),
                    column: self.schema.slots()[slot].name.clone(),
                    value: values.numbers[row].to_string(),
                    problem: ValueProblem::NotFinite,
                });
            }
            if self.schema.missing() == Missing::Error && !self.schema.is_unused(slot, mode) {
                let row = (0..self.rows()).find(|row| values.is_missing_at(*row));
                let found = row.map(|row| (row, slot));
                first = first.into_iter().chain(found).min();
            }
        }
        match first {
            None => Ok(()),
            Some((row, slot)) => Err(Error::MissingValue {
                at: self.location(row),
                column: self.schema.slots()[slot].name.clone(),
            }),
        }
    }
}

/// The bytes of JSON Lines in memory, unless something about them needs the reader of files.
fn direct_json<'a>(input: &'a Input, options: &SourceOptions) -> Option<&'a [u8]> {
    let bytes = input.bytes().filter(|bytes| bytes.len() <= MAX_DIRECT_BYTES)?;
    let format = options.format.or_else(|| Format::from_name(input.name()));
    let is_object = bytes.trim_ascii_start().starts_with(b"{");
    let is_separated = options.decimal_comma || options.comment.is_some() || options.skip_lines > 0;
    // lines that end with a carriage return alone
    let has_returns =
        memchr::memchr(b'\r', bytes).is_some() && memchr::memchr(b'\n', bytes).is_none();
    (format == Some(Format::Jsonl) && is_object && !is_separated && !has_returns).then_some(bytes)
}

fn read_json(
    file: &str,
    bytes: &[u8],
    options: &SourceOptions,
    schema: &TableSchema,
    max_rows: usize,
) -> Result<Batch> {
    let json = schema.json();
    let mut batch = Batch::default();
    batch.reset(json.slots());
    batch.origin.files = Arc::new(vec![file.to_owned()]);
    batch.origin.open(0, 0, 0);
    if options.na_values.is_empty() {
        batch.set_notation(schema.notation());
    } else {
        let missing = options.na_values.iter().chain(&schema.options().na_values);
        batch.set_notation(&Notation::new(missing, false).map(Arc::new));
    }
    let limit = options.limit.unwrap_or(u64::MAX);
    let rows = (max_rows as u64 + 1).min(limit) as usize;
    json.fill(file, bytes, options.max_line_bytes, rows, &mut batch)?;
    batch.drop_missing_numbers(0);
    check_texts(json.slots(), &batch, 0)?;
    Ok(batch)
}

fn read_stream(
    input: Input,
    options: &SourceOptions,
    schema: &TableSchema,
    mode: Mode,
    max_rows: usize,
) -> Result<Batch> {
    let chunk_bytes = match input.bytes() {
        Some(bytes) => options.chunk_bytes.min((bytes.len() + 1).max(MIN_CHUNK_BYTES)),
        None => options.chunk_bytes,
    };
    let options = SourceOptions {
        block_rows: max_rows + 1,
        chunk_bytes,
        bad_rows: BadRows::Refuse,
        ..options.clone()
    };
    let mut parser = Parser::new(vec![input], options);
    parser.read_values(&schema.options().na_values);
    let slots: Vec<Slot> = schema.slots_to_read(mode);
    parser.bind(slots, schema.is_sparse())?;
    parser.header()?;
    let mut batch = Batch::default();
    parser.fill(&mut batch)?;
    Ok(batch)
}
