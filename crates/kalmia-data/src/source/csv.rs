//! Reads CSV and TSV: a fast path for plain rows that parses numbers in place, and a general path
//! for everything else.
//!
//! A row is first tried on the plain path: each wanted number is parsed at its place and must be
//! followed by the separator, other fields end at the next separator. On anything else (a quote, a
//! missing value, blanks, a wrong count) the row is undone and read by the general path. Only the
//! general path reports errors, so both accept the same rows.

use memchr::{memchr, memchr_iter, memchr2};

use super::{Plan, Source, bad_field, check_names, too_many_columns};
use crate::batch::{Batch, Want};
use crate::chunks::Chunks;
use crate::error::{Error, HeaderProblem, Location, Result, RowProblem, SettingProblem};
use crate::number;
use crate::options::SourceOptions;
use crate::scalar;

const QUOTE: u8 = b'"';

pub(super) struct Csv {
    chunks: Chunks,
    delimiter: u8,
    names: Vec<String>,
    plan: Plan,
    fields: Vec<Option<Field>>,
    /// Data rows read.
    row: u64,
    /// Lines read.
    line: u64,
    split: Split,
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

/// Where the text of a field is.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    /// Whether the text is in [`Split::unescaped`], else in the record itself.
    unescaped: bool,
}

/// The fields of one record, as found by the general path.
#[derive(Default)]
struct Split {
    spans: Vec<Span>,
    unescaped: Vec<u8>,
    /// Fields in the record, also those beyond the limit on spans.
    found: usize,
}

/// What is at the start of the window.
enum Record {
    /// Nothing.
    End,
    /// A blank line of this length.
    Blank(usize),
    /// A record; its length with the newline.
    Whole(usize),
    /// A quote is open at the end of the window.
    Open,
    /// Text follows a closing quote.
    AfterQuote,
}

impl Csv {
    /// Reads the header, or numbers the columns of the first row.
    pub fn open(chunks: Chunks, delimiter: u8, options: &SourceOptions) -> Result<Self> {
        if delimiter.is_ascii_alphanumeric()
            || b"\"\n\r.+-_".contains(&delimiter)
            || !delimiter.is_ascii()
        {
            return Err(SettingProblem::Delimiter { delimiter: delimiter.into() }.into());
        }
        let (names, plan, fields, split) = Default::default();
        let mut csv = Self { chunks, delimiter, names, plan, fields, row: 0, line: 0, split };
        let file = csv.chunks.file().to_owned();
        let Some(len) = csv.record(options.max_columns.saturating_add(1))? else {
            return Err(Error::Empty { file });
        };
        if csv.split.found > options.max_columns {
            return Err(too_many_columns(&file, options.max_columns));
        }
        csv.names = if options.header {
            csv.header(&file)?
        } else {
            (1..=csv.split.found).map(|i| format!("c{i}")).collect()
        };
        if options.header {
            csv.consume(len);
        }
        check_names(&file, &mut csv.names)?;
        Ok(csv)
    }

    fn header(&self, file: &str) -> Result<Vec<String>> {
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
                lines => self.split.record(lines, self.delimiter, limit),
            };
            match found {
                Record::Whole(len) => return Ok(Some(len)),
                Record::Blank(len) => self.consume(len),
                Record::AfterQuote => return Err(self.refuse(RowProblem::TextAfterQuote)),
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

    fn refuse(&self, problem: RowProblem) -> Error {
        Error::Row { at: self.location(), problem }
    }

    /// Reads one row by the general path; false at the end.
    fn general_row(&mut self, batch: &mut Batch) -> Result<bool> {
        let Some(len) = self.record(self.names.len())? else { return Ok(false) };
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
        batch.end_row(self.line + 1);
        self.row += 1;
        self.consume(len);
        Ok(true)
    }
}

impl Source for Csv {
    fn names(&self) -> &[String] {
        &self.names
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
            if let Some(len) =
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
        while self.row - start < rows {
            let lines = self.chunks.lines();
            let plain =
                memchr(b'\n', lines).filter(|&at| at > 1 && memchr(QUOTE, &lines[..at]).is_none());
            let len = match plain {
                Some(at) => at + 1,
                None => match self.record(0)? {
                    Some(len) => len,
                    None => break,
                },
            };
            self.consume(len);
            self.row += 1;
        }
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
    if let Some(Field { slot, want: Want::Number, long }) = field {
        let (value, len) = number::prefix(rest, long)?;
        batch.columns[*slot as usize].numbers.push(value);
        return Some(len);
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

impl Split {
    /// Field `i` of the record at the start of `lines`.
    fn field<'a>(&'a self, lines: &'a [u8], i: usize) -> &'a [u8] {
        let Span { start, end, unescaped } = self.spans[i];
        if unescaped { &self.unescaped[start..end] } else { &lines[start..end] }
    }

    /// Splits the record at the start of `lines`, keeping up to `limit` fields.
    fn record(&mut self, lines: &[u8], delimiter: u8, limit: usize) -> Record {
        self.spans.clear();
        self.unescaped.clear();
        self.found = 0;
        let mut at = 0;
        loop {
            let (span, end) = if lines.get(at) == Some(&QUOTE) {
                match self.quoted(lines, at + 1) {
                    Some(found) => found,
                    None => return Record::Open,
                }
            } else {
                let Some(len) = memchr2(delimiter, b'\n', &lines[at..]) else {
                    return Record::Open;
                };
                let end = at + len;
                let cut = usize::from(lines[end] == b'\n' && len > 0 && lines[end - 1] == b'\r');
                (Span { start: at, end: end - cut, unescaped: false }, end - cut)
            };
            self.found += 1;
            if self.spans.len() < limit {
                self.spans.push(span);
            }
            match &lines[end..] {
                [b'\n', ..] => return Record::Whole(end + 1),
                [b'\r', b'\n', ..] => return Record::Whole(end + 2),
                [separator, ..] if *separator == delimiter => at = end + 1,
                _ => return Record::AfterQuote,
            }
        }
    }

    /// The quoted field whose text starts at `start`: its span and the place after the closing
    /// quote.
    fn quoted(&mut self, lines: &[u8], start: usize) -> Option<(Span, usize)> {
        let mut close = start + memchr(QUOTE, &lines[start..])?;
        if lines.get(close + 1) != Some(&QUOTE) {
            return Some((Span { start, end: close, unescaped: false }, close + 1));
        }
        let copy = self.unescaped.len();
        let mut from = start;
        while lines.get(close + 1) == Some(&QUOTE) {
            self.unescaped.extend_from_slice(&lines[from..=close]);
            from = close + 2;
            close = from + memchr(QUOTE, &lines[from..])?;
        }
        self.unescaped.extend_from_slice(&lines[from..close]);
        Some((Span { start: copy, end: self.unescaped.len(), unescaped: true }, close + 1))
    }
}
