//! The form between readers and encoder: up to a block of rows, as one plain column of values per
//! used column of the input.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Location;
use crate::notation::Notation;
use crate::reader::LateMember;
use crate::scalar;

/// How a reader must deliver a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// As the source has it: its type is still to be inferred.
    Raw,
    /// As numbers, `NaN` if missing.
    Number,
    /// As 0 and 1, `NaN` if missing.
    Boolean,
    /// As text, one of [`crate::MISSING`] if missing.
    Text,
    /// As text that identifies the row: integers stay exact, and only an empty text is missing.
    Key,
}

impl Want {
    /// Whether the column holds texts until its kind is known.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Raw | Self::Text | Self::Key)
    }
}

/// What a typed source says about a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Declared {
    #[cfg(feature = "arrow")]
    Number,
    Boolean,
    #[cfg_attr(not(feature = "arrow"), allow(dead_code))] // only Arrow declares it
    Text,
}

/// A column that the encoder uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub name: String,
    /// Another name under which an input may have it.
    pub alias: Option<String>,
    pub want: Want,
    /// Whether a file without it is refused; otherwise all its values in that file are missing.
    pub required: bool,
}

impl Slot {
    pub fn new(name: impl Into<String>, want: Want, required: bool) -> Self {
        Self { name: name.into(), alias: None, want, required }
    }

    /// The names under which an input may have it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [Some(&self.name), self.alias.as_ref()].into_iter().flatten().map(|name| &**name)
    }
}

/// Texts end to end in one buffer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// Set when the block's text exceeds [`Texts::MAX_BYTES`]; the texts are then incomplete.
    pub overflow: bool,
}

impl Texts {
    /// Bytes of text that a column may hold in one block.
    const MAX_BYTES: usize = 1 << 28;

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    pub fn push(&mut self, text: &[u8]) {
        self.push_with(|bytes| bytes.extend_from_slice(text), text.len());
    }

    fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>), len: usize) {
        if self.bytes.len() + len > Self::MAX_BYTES {
            self.overflow = true;
        } else {
            write(&mut self.bytes);
        }
        self.ends.push(self.bytes.len() as u32);
    }

    pub fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.bytes[start..self.ends[i] as usize]
    }

    /// Whether all of the other texts can be added.
    pub fn has_room_for(&self, other: &Self) -> bool {
        self.bytes.len() + other.bytes.len() <= Self::MAX_BYTES
    }

    /// All texts, end to end.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds the texts of a range of other texts.
    pub fn append(&mut self, other: &Self, range: Range<usize>) {
        range.for_each(|i| self.push(other.get(i)));
    }

    fn truncate(&mut self, len: usize) {
        if len < self.ends.len() {
            self.ends.truncate(len);
            self.bytes.truncate(self.ends.last().map_or(0, |&end| end as usize));
        }
    }
}

/// One column of a batch: numbers or texts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    pub numbers: Vec<f64>,
    pub texts: Texts,
    pub is_text: bool,
    /// The type that the source declares, if its files agree.
    pub declared: Option<Declared>,
    /// How texts write numbers and missing values, if not in the usual way.
    pub notation: Option<Arc<Notation>>,
}

impl Values {
    pub fn len(&self) -> usize {
        if self.is_text { self.texts.len() } else { self.numbers.len() }
    }

    /// Empties the column, ready for values as wanted.
    fn reset(&mut self, want: Want) {
        self.numbers.clear();
        self.texts.truncate(0);
        self.texts.overflow = false;
        self.is_text = want.is_text();
        self.declared = None;
    }

    /// Adds a field of a text format; false if it is not what the column wants.
    #[inline]
    pub fn push_field(&mut self, want: Want, field: &[u8]) -> bool {
        match self.notation.clone().filter(|_| want != Want::Key) {
            None => self.push_usual(want, field),
            Some(notation) => {
                let usual = notation.usual(field, want != Want::Text);
                usual.is_ok_and(|usual| self.push_usual(want, &usual))
            }
        }
    }

    /// Adds a field in the usual notation.
    #[inline]
    fn push_usual(&mut self, want: Want, field: &[u8]) -> bool {
        let value = match want {
            Want::Raw | Want::Text | Want::Key => {
                self.texts.push(field);
                return true;
            }
            Want::Number => scalar::number(field),
            Want::Boolean => scalar::truth_or_bit(field),
        };
        value.filter(|v| !v.is_infinite()).map(|v| self.numbers.push(v)).is_some()
    }

    /// Adds a number of a typed format; false if it is not what the column wants.
    #[inline]
    pub fn push_number(&mut self, want: Want, value: f64) -> bool {
        if self.is_text {
            self.texts.push_with(|bytes| scalar::write_number(value, bytes), 400);
            return true;
        }
        self.numbers.push(value);
        want != Want::Boolean || value.is_nan() || value == 0.0 || value == 1.0
    }

    /// Adds a truth value of a typed format, 1 and 0 in a number column.
    #[inline]
    pub fn push_truth(&mut self, value: bool) {
        if self.is_text {
            self.texts.push(if value { b"true" } else { b"false" });
        } else {
            self.numbers.push(f64::from(u8::from(value)));
        }
    }

    /// Adds a missing value.
    pub fn push_missing(&mut self) {
        if self.is_text { self.texts.push(b"") } else { self.numbers.push(f64::NAN) }
    }

    /// Whether no value is there.
    pub fn is_missing(&self) -> bool {
        (0..self.len()).all(|row| self.is_missing_at(row))
    }

    /// Whether the value of a row is missing.
    #[inline]
    pub fn is_missing_at(&self, row: usize) -> bool {
        if self.is_text {
            scalar::is_missing(scalar::trim(self.texts.get(row)))
        } else {
            self.numbers[row].is_nan()
        }
    }

    /// Adds the values of a range of another column of the same type.
    pub fn append(&mut self, other: &Self, range: Range<usize>) {
        if self.is_text {
            self.texts.append(&other.texts, range);
        } else {
            self.numbers.extend_from_slice(&other.numbers[range]);
        }
    }

    /// An empty column of the same type.
    pub fn emptied(&self) -> Self {
        Self { is_text: self.is_text, ..Self::default() }
    }

    /// Keeps the first `len` values.
    pub fn truncate(&mut self, len: usize) {
        self.numbers.truncate(len);
        self.texts.truncate(len);
    }

    /// Turns numbers into texts, so files of different formats can share a column whose type is
    /// not yet known.
    pub fn make_text(&mut self) {
        if !self.is_text {
            self.is_text = true;
            for value in std::mem::take(&mut self.numbers) {
                self.push_number(Want::Raw, value);
            }
        }
    }

    /// Declares the type of the values to come; if types disagree, none is declared.
    #[cfg(feature = "arrow")]
    pub fn declare(&mut self, declared: Declared) {
        let first = self.len() == 0;
        self.declared = (first || self.declared == Some(declared)).then_some(declared);
    }

    /// Converts the texts to numbers or truth values; fails with the index of the first that is
    /// neither.
    pub fn reread(&mut self, want: Want) -> Result<(), usize> {
        debug_assert!(self.is_text && self.numbers.is_empty());
        for i in 0..self.texts.len() {
            let field = self.texts.get(i);
            let value = if want == Want::Boolean {
                scalar::truth_or_bit(field)
            } else {
                scalar::number(field)
            };
            self.numbers.push(value.filter(|v| !v.is_infinite()).ok_or(i)?);
        }
        self.is_text = false;
        Ok(())
    }
}

/// Rows of one file within a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    start: usize,
    file: usize,
    first_row: u64,
}

/// Where the rows of a batch come from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    pub files: Arc<Vec<String>>,
    segments: Vec<Segment>,
    /// The line of each row, 0 if the format has none.
    pub lines: Vec<u64>,
}

impl Origin {
    pub fn clear(&mut self) {
        self.segments.clear();
        self.lines.clear();
    }

    /// From batch row `start` on, the rows are those of `file` from `first_row` (from 0) on.
    pub fn open(&mut self, start: usize, file: usize, first_row: u64) {
        self.segments.push(Segment { start, file, first_row });
    }

    /// Adds the rows of a range of another origin after the first `rows` rows, without files; the
    /// caller has those.
    pub fn append(&mut self, rows: usize, other: &Self, range: Range<usize>, first_file: usize) {
        for (i, segment) in other.segments.iter().enumerate() {
            let end = other.segments.get(i + 1).map_or(usize::MAX, |next| next.start);
            let start = segment.start.max(range.start);
            if start < end.min(range.end) {
                let first_row = segment.first_row + (start - segment.start) as u64;
                self.open(rows + start - range.start, first_file + segment.file, first_row);
            }
        }
        self.lines.resize(rows, 0);
        let lines = range.map(|row| other.lines.get(row).copied().unwrap_or(0));
        self.lines.extend(lines);
    }

    /// The place of batch row `i`, in numbers.
    pub fn place(&self, i: usize) -> Place {
        let segment = self.segments.iter().rev().find(|s| s.start <= i).copied();
        let Segment { start, file, first_row } =
            segment.unwrap_or(Segment { start: 0, file: 0, first_row: 0 });
        let line = self.lines.get(i).copied().unwrap_or(0);
        Place { file, row: first_row + (i - start) as u64, line }
    }

    /// The place of batch row `i`.
    pub fn location(&self, i: usize) -> Location {
        let Place { file, row, line } = self.place(i);
        Location {
            file: self.files.get(file).cloned().unwrap_or_default(),
            row: row + 1,
            line: Some(line).filter(|&line| line > 0),
        }
    }
}

/// The place of a row in the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The input, from 0.
    pub file: usize,
    /// The row in it, from 0.
    pub row: u64,
    /// Its line, from 1; 0 if the format has none.
    pub line: u64,
}

/// A non-zero entry of a libsvm row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Entry {
    pub row: u32,
    pub key: u32,
    pub value: f64,
}

/// Rows as a reader passes them to the encoder.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    pub rows: usize,
    pub columns: Vec<Values>,
    pub entries: Vec<Entry>,
    pub origin: Origin,
    /// Data rows of the whole input before this batch.
    pub first_row: u64,
    /// The place after this batch.
    pub end: crate::reader::Position,
    /// JSON members that no column of the schema takes.
    pub unknown_members: u64,
    /// The names of the first of them, if the source was asked for them.
    pub ignored: Vec<String>,
    /// The first of them that appears after the rows that decide the columns.
    pub late_member: Option<LateMember>,
    /// Rows that could not be read, under [`crate::BadRows::Skip`]; their values are missing.
    pub bad: Vec<BadRow>,
}

/// A row that could not be read.
#[derive(Debug, Clone)]
pub(crate) struct BadRow {
    /// The row in the batch.
    pub row: u32,
    /// Why.
    pub error: String,
}

impl Batch {
    /// Empties the batch for rows of these slots.
    pub fn reset(&mut self, slots: &[Slot]) {
        self.rows = 0;
        self.columns.resize_with(slots.len(), Values::default);
        self.columns.iter_mut().zip(slots).for_each(|(column, slot)| column.reset(slot.want));
        self.entries.clear();
        self.origin.clear();
        self.unknown_members = 0;
        self.ignored.clear();
        self.late_member = None;
        self.bad.clear();
    }

    /// Ends a row that could not be read: all its values are missing.
    pub fn end_bad_row(&mut self, line: u64, error: &crate::error::Error) {
        self.drop_partial_row();
        self.bad.push(BadRow { row: self.rows as u32, error: error.to_string() });
        self.end_row(line);
        self.pad();
    }

    /// Makes numbers of typed formats missing that the notation says are.
    pub fn drop_missing_numbers(&mut self, start: usize) {
        for column in self.columns.iter_mut().filter(|column| !column.is_text) {
            let Some(notation) = column.notation.clone().filter(|n| n.has_missing_numbers()) else {
                continue;
            };
            let values = column.numbers.iter_mut().skip(start);
            values.filter(|v| notation.is_missing_number(**v)).for_each(|v| *v = f64::NAN);
        }
    }

    /// Sets how the rows to come write numbers and missing values.
    pub fn set_notation(&mut self, notation: &Option<Arc<Notation>>) {
        self.columns.iter_mut().for_each(|column| column.notation.clone_from(notation));
    }

    /// Removes the fields of an incomplete row.
    pub fn drop_partial_row(&mut self) {
        let rows = self.rows;
        self.columns.iter_mut().for_each(|column| column.truncate(rows));
        while self.entries.last().is_some_and(|entry| entry.row as usize >= rows) {
            self.entries.pop();
        }
    }

    /// Ends a row at `line`, 0 if the format has none.
    #[inline]
    pub fn end_row(&mut self, line: u64) {
        self.rows += 1;
        self.origin.lines.push(line);
    }

    /// Makes every column as long as the batch.
    pub fn pad(&mut self) {
        let rows = self.rows;
        for column in &mut self.columns {
            while column.len() < rows {
                column.push_missing();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_located_in_their_own_file() {
        let mut origin =
            Origin { files: Arc::new(vec!["a".into(), "b".into()]), ..Origin::default() };
        origin.open(0, 0, 10);
        origin.open(3, 1, 0);
        origin.lines = vec![12, 13, 14, 2, 5];
        assert_eq!(origin.location(2), Location { file: "a".into(), row: 13, line: Some(14) });
        assert_eq!(origin.location(4), Location { file: "b".into(), row: 2, line: Some(5) });
    }

    #[test]
    fn text_beyond_the_limit_is_flagged_not_kept() {
        let mut texts = Texts::default();
        let big = vec![b'x'; Texts::MAX_BYTES / 2 + 1];
        texts.push(&big);
        assert!(!texts.overflow);
        texts.push(&big);
        assert!(texts.overflow && texts.len() == 2);
    }
}
