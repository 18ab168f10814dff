//! Reads CSV and TSV: a fast path for plain rows that parses numbers in place, and a general path
//! for everything else.
//!
//! A row is first tried on the plain path: each wanted number is parsed at its place and must be
//! followed by the separator, other fields end at the next separator. On anything else (a quote, a
//! missing value, blanks, a wrong count) the row is undone and read by the general path. Only the
//! general path reports errors, so both accept the same rows.

use memchr::{memchr, memchr_iter, memchr2};

use super::record::{QUOTE, Record, Split};
use super::{Plan, Source, bad_field, can_skip, check_names, delimiter, too_many_columns};
use crate::batch::{Batch, Want};
use crate::chunks::Chunks;
use crate::error::{Error, HeaderProblem, Location, Result, RowProblem, SettingProblem};
use crate::number;
use crate::options::{BadRows, SourceOptions};
use crate::part::{Before, Header};
use crate::scalar;

pub(super) struct Csv {
    pub(super) chunks: Chunks,
    delimiter: u8,
    names: Vec<String>,
    plan: Plan,
    fields: Vec<Option<Field>>,
    /// Data rows read.
    pub(super) row: u64,
    /// Lines read.
    pub(super) line: u64,
    split: Split,
    /// Lines that start with this byte are no rows.
    pub(super) comment: Option<u8>,
    bad_rows: BadRows,
    /// The end of the text that showed that a row cannot be read, in bytes of the stream. It may be
    /// lines after the row.
    pub(super) refused_by: u64,
}

/// What the plain path does with a wanted field.
#[derive(Clone, Copy)]
struct Field {
    slot: u32,
    want: Want,
    /// Whether the column's last number was too long for the short path of [`number::prefix`];
    /// the next one then skips that path.
    long: bool,
}

impl Csv {
    /// Reads the header, or numbers the columns of the first row.
    pub fn open(
        mut chunks: Chunks,
        delimiter: Option<u8>,
        options: &SourceOptions,
    ) -> Result<Self> {
        let mut line = 0;
        while line < options.skip_lines
            && let Some(len) = chunks.next_line(1, line + 1)?
        {
            chunks.advance(len);
            line += 1;
        }
        let delimiter = match delimiter {
            Some(delimiter) => delimiter,
            None => delimiter::of_first_line(&mut chunks, options)?,
        };
        if delimiter.is_ascii_alphanumeric()
            || b"\"\n\r.+-_".contains(&delimiter)
            || !delimiter.is_ascii()
        {
            return Err(SettingProblem::Delimiter { delimiter: delimiter.into() }.into());
        }
        let header = Header { names: Vec::new(), delimiter };
        let before = Before { lines: line, ..Before::default() };
        let mut csv = Self::continued(chunks, &header, before, options);
        let file = csv.chunks.file().to_owned();
        let Some(len) = csv.record(options.max_columns.saturating_add(1))? else {
            return Err(Error::Empty { file });
        };
        if csv.split.found > options.max_columns {
            return Err(too_many_columns(&file, options.max_columns));
        }
        csv.names = if options.header {
            csv.names_of_record(&file)?
        } else {
            (1..=csv.split.found).map(|i| format!("c{i}")).collect()
        };
        if options.header {
            csv.consume(len);
        }
        check_names(&file, &mut csv.names)?;
        Ok(csv)
    }

    /// Reads on after a part of the input that had the header.
    pub fn continued(
        chunks: Chunks,
        header: &Header,
        before: Before,
        options: &SourceOptions,
    ) -> Self {
        Self {
            chunks,
            delimiter: header.delimiter,
            names: header.names.clone(),
            plan: Plan::default(),
            fields: Vec::new(),
            row: before.rows,
            line: before.lines,
            split: Split::default(),
            comment: options.comment,
            bad_rows: options.bad_rows,
            refused_by: 0,
        }
    }

    /// What the parts of the input that come later must know.
    pub fn header(&self) -> Header {
        Header { names: self.names.clone(), delimiter: self.delimiter }
    }

    fn names_of_record(&self, file: &str) -> Result<Vec<String>> {
        let name = |i| {
            let bytes = scalar::trim(self.split.field(self.chunks.lines(), i));
            let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
            let problem = HeaderProblem::NotText;
            text.map(str::to_owned).ok_or(Error::Header { file: file.into(), problem })
        };
        (0..self.split.found).map(name).collect()
    }

    fn location(&self) -> Location {
        Location { file: self.chunks.file().into(), row: self.row + 1, line: Some(self.line + 1) }
    }

    /// Uses up a record of `len` bytes.
    fn consume(&mut self, len: usize) {
        self.line += memchr_iter(b'\n', &self.chunks.lines()[..len]).count() as u64;
        self.chunks.advance(len);
    }

    /// Splits the next record that is not a blank line, keeping up to `limit` fields; its length,
    /// or `None` at the end.
    fn record(&mut self, limit: usize) -> Result<Option<usize>> {
        loop {
            let found = match self.chunks.lines() {
                [] => Record::End,
                [b'\n', ..] => Record::Blank(1),
                [b'\r', b'\n', ..] => Record::Blank(2),
                [first, ..] if Some(*first) == self.comment => {
                    Record::Blank(memchr(b'\n', self.chunks.lines()).map_or(1, |at| at + 1))
                }
                lines => self.split.record(lines, self.delimiter, limit),
            };
            match found {
                Record::Whole(len) => return Ok(Some(len)),
                Record::Blank(len) => self.consume(len),
                Record::AfterQuote(len) => {
                    self.refused_by = self.refused_by.max(self.chunks.offset() + len as u64 + 1);
                    return Err(self.refuse(RowProblem::TextAfterQuote));
                }
                Record::End | Record::Open if self.more()? => {}
                Record::End => return Ok(None),
                Record::Open => return Err(self.refuse(RowProblem::OpenQuote)),
            }
        }
    }

    /// Makes the window longer; false at the end of the stream.
    fn more(&mut self) -> Result<bool> {
        self.chunks.more(self.row + 1, self.line + 1, true)
    }

    fn next_byte(&self) -> Option<u8> {
        self.chunks.lines().first().copied()
    }

    fn refuse(&self, problem: RowProblem) -> Error {
        Error::Row { at: self.location(), problem }
    }

    /// Reads one row by the general path; false at the end.
    fn general_row(&mut self, batch: &mut Batch) -> Result<bool> {
        let len = match self.record(self.names.len()) {
            Ok(Some(len)) => len,
            Ok(None) => return Ok(false),
            Err(error) => return self.pass_over(self.line_len(), batch, error),
        };
        match self.add_fields(batch) {
            Ok(()) => batch.end_row(self.line + 1),
            Err(error) => return self.pass_over(len, batch, error),
        }
        self.row += 1;
        self.consume(len);
        Ok(true)
    }

    /// Passes over the next row without reading its fields; false at the end.
    pub(super) fn skip_row(&mut self) -> Result<bool> {
        let lines = self.chunks.lines();
        let plain = memchr(b'\n', lines)
            .filter(|&at| at > 1 && memchr(QUOTE, &lines[..at]).is_none())
            .filter(|_| self.comment.is_none());
        let len = match plain {
            Some(at) => at + 1,
            None => match self.record(0) {
                Ok(Some(len)) => len,
                Ok(None) => return Ok(false),
                Err(error) if self.bad_rows == BadRows::Skip && can_skip(&error) => self.line_len(),
                Err(error) => return Err(error),
            },
        };
        self.consume(len);
        self.row += 1;
        Ok(true)
    }

    /// Leaves out a row of `len` bytes, if that is allowed.
    fn pass_over(&mut self, len: usize, batch: &mut Batch, error: Error) -> Result<bool> {
        if self.bad_rows == BadRows::Refuse || !can_skip(&error) {
            return Err(error);
        }
        batch.end_bad_row(self.line + 1, &error);
        self.row += 1;
        self.consume(len);
        Ok(true)
    }

    /// The length of the next line.
    fn line_len(&self) -> usize {
        memchr(b'\n', self.chunks.lines()).map_or(0, |at| at + 1)
    }

    /// Adds the fields of the record that was split.
    fn add_fields(&self, batch: &mut Batch) -> Result<()> {
        if self.split.found != self.names.len() {
            return Err(Error::Ragged {
                at: self.location(),
                expected: self.names.len(),
                found: self.split.found,
            });
        }
        for (i, field) in self.fields.iter().enumerate() {
            let Some(Field { slot, want, .. }) = *field else { continue };
            let field = self.split.field(self.chunks.lines(), i);
            if !batch.columns[slot as usize].push_field(want, field) {
                return Err(bad_field(self.location(), &self.plan.slots[slot as usize], field));
            }
        }
        Ok(())
    }
}

impl Source for Csv {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn has_decimals(&self) -> bool {
        true
    }

    fn bind(&mut self, plan: &Plan) -> Result<()> {
        self.plan = plan.clone();
        let field = |(slot, want)| Field { slot: slot as u32, want, long: false };
        self.fields = (0..self.names.len()).map(|i| plan.slot(i).map(field)).collect();
        Ok(())
    }

    fn fill(&mut self, batch: &mut Batch, rows: usize) -> Result<()> {
        let end = batch.rows + rows;
        let raw = self.fields.iter().flatten().filter(|field| field.want == Want::Raw);
        raw.for_each(|field| batch.columns[field.slot as usize].declared = None);
        self.chunks.begin_block();
        while batch.rows < end {
            self.chunks.check_block(self.row + 1, self.line + 1)?;
            let comment = self.comment.is_some() && self.comment == self.next_byte();
            if !comment
                && let Some(len) =
                    plain_row(self.chunks.lines(), self.delimiter, &mut self.fields, batch)
            {
                self.line += 1;
                self.row += 1;
                batch.end_row(self.line);
                self.chunks.advance(len);
            } else {
                batch.drop_partial_row();
                if !self.general_row(batch)? {
                    break;
                }
            }
        }
        Ok(())
    }

    fn skip(&mut self, rows: u64) -> Result<u64> {
        let start = self.row;
        while self.row - start < rows && self.skip_row()? {}
        Ok(self.row - start)
    }
}

/// Tries the next row on the plain path; its length, or `None` if the general path must read it,
/// with the row's first fields perhaps already added.
#[inline]
fn plain_row(
    lines: &[u8],
    delimiter: u8,
    fields: &mut [Option<Field>],
    batch: &mut Batch,
) -> Option<usize> {
    let (last, first) = fields.split_last_mut()?;
    let mut at = 0;
    for field in first {
        at += plain_field(lines.get(at..)?, delimiter, field, batch)?;
        if *lines.get(at)? != delimiter {
            return None;
        }
        at += 1;
    }
    at += plain_field(lines.get(at..)?, delimiter, last, batch)?;
    match lines.get(at..)? {
        // A blank line is no row; the general path skips it.
        [b'\n', ..] if at > 0 => Some(at + 1),
        [b'\r', b'\n', ..] if at > 0 => Some(at + 2),
        _ => None,
    }
}

/// Adds the field at the start of `rest`; its length, or `None` if it is not plain.
#[inline(always)]
fn plain_field(
    rest: &[u8],
    delimiter: u8,
    field: &mut Option<Field>,
    batch: &mut Batch,
) -> Option<usize> {
    if let Some(Field { slot, want: Want::Number, long }) = field
        && batch.columns[*slot as usize].notation.is_none()
    {
        let (value, len) = number::prefix(rest, long)?;
        batch.columns[*slot as usize].numbers.push(value);
        // An overflow is reported with its text, by the general path.
        return value.is_finite().then_some(len);
    }
    if rest.first() == Some(&QUOTE) {
        return None;
    }
    let end = memchr2(delimiter, b'\n', rest)?;
    // Before a newline, a carriage return belongs to the line end.
    let len = if end > 0 && rest[end] == b'\n' && rest[end - 1] == b'\r' { end - 1 } else { end };
    if let Some(Field { slot, want, .. }) = *field
        && !batch.columns[slot as usize].push_field(want, &rest[..len])
    {
        return None;
    }
    Some(len)
}
