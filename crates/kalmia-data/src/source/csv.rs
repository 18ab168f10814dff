//! CSV and TSV: a path for plain rows that parses numbers where they stand, and a path for
//! everything else.
//!
//! A row is first tried on the plain path: each wanted number is parsed at its place and must be
//! followed by the separator, other fields end at the next separator. On any surprise (a quote, a
//! missing value, blanks, a wrong count) the row is undone and read by the general path, which
//! decides alone what is legal. So the plain path never judges, and both give the same rows.

use memchr::{memchr, memchr_iter, memchr2};

use super::{Plan, Source, bad_field, check_names, too_many_columns};
use crate::batch::{Batch, Want};
use crate::chunks::Chunks;
use crate::error::{Error, Location, Result};
use crate::number;
use crate::options::SourceOptions;
use crate::scalar;

const QUOTE: u8 = b'"';
const HINT: &str = "; a quote may never be closed, or the file has other line ends";

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
    /// Whether the column's last number was too long for the short path, which the next one then
    /// spares itself.
    long: bool,
}

/// The fields of one record, as found by the general path.
#[derive(Default)]
struct Split {
    /// Start, end, and whether the place is in `unescaped`.
    spans: Vec<(usize, usize, bool)>,
    unescaped: Vec<u8>,
    /// Fields in the record, also those beyond the limit on spans.
    found: usize,
}

/// What came of splitting a record.
enum Record {
    /// Its length with the newline.
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
            return Err(Error::Setting(format!(
                "`{}` cannot separate fields",
                char::from(delimiter).escape_debug()
            )));
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
            csv.pass(len);
        }
        check_names(&file, &mut csv.names)?;
        Ok(csv)
    }

    fn header(&self, file: &str) -> Result<Vec<String>> {
        let name = |i| {
            let bytes = scalar::trim(self.split.field(self.chunks.lines(), i));
            let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
            let reason = "the header is not UTF-8 text; is it another format, or another encoding?";
            text.map(str::to_owned)
                .ok_or_else(|| Error::Header { file: file.into(), reason: reason.into() })
        };
        (0..self.split.found).map(name).collect()
    }

    fn location(&self) -> Location {
        Location { file: self.chunks.file().into(), row: self.row + 1, line: Some(self.line + 1) }
    }

    /// Uses up a record of `len` bytes.
    fn pass(&mut self, len: usize) {
        self.line += memchr_iter(b'\n', &self.chunks.lines()[..len]).count() as u64;
        self.chunks.advance(len);
    }

    /// Splits the next record that is not a blank line, keeping up to `limit` fields; its length,
    /// or `None` at the end.
    fn record(&mut self, limit: usize) -> Result<Option<usize>> {
        loop {
            match self.chunks.lines() {
                [] => {
                    if !self.chunks.more(self.row + 1, self.line + 1, HINT)? {
                        return Ok(None);
                    }
                }
                [b'\n', ..] => self.pass(1),
                [b'\r', b'\n', ..] => self.pass(2),
                lines => {
                    match self.split.record(lines, self.delimiter, limit) {
                        Record::Whole(len) => return Ok(Some(len)),
                        Record::AfterQuote => {
                            let reason = "text after a closing quote; write a quote inside a quoted field twice".into();
                            return Err(Error::Row { at: self.location(), reason });
                        }
                        Record::Open => {
                            if !self.chunks.more(self.row + 1, self.line + 1, HINT)? {
                                let reason = "a quoted field is never closed".into();
                                return Err(Error::Row { at: self.location(), reason });
                            }
                        }
                    }
                }
            }
        }
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
        self.pass(len);
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
            self.pass(len);
            self.row += 1;
        }
        Ok(self.row - start)
    }
}

/// Tries the next row on the plain path; its length, or `None` where the general path must look,
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
        // A blank line is no row; the general path passes over it.
        [b'\n', ..] if at > 0 => Some(at + 1),
        [b'\r', b'\n', ..] if at > 0 => Some(at + 2),
        _ => None,
    }
}

/// Adds the field at the start of `rest`; its length, or `None` where it is not plain.
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
        let (start, end, unescaped) = self.spans[i];
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
                ((at, end - cut, false), end - cut)
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
    fn quoted(&mut self, lines: &[u8], start: usize) -> Option<((usize, usize, bool), usize)> {
        let mut close = start + memchr(QUOTE, &lines[start..])?;
        if lines.get(close + 1) != Some(&QUOTE) {
            return Some(((start, close, false), close + 1));
        }
        let (copy, mut from) = (self.unescaped.len(), start);
        while lines.get(close + 1) == Some(&QUOTE) {
            self.unescaped.extend_from_slice(&lines[from..=close]);
            from = close + 2;
            close = from + memchr(QUOTE, &lines[from..])?;
        }
        self.unescaped.extend_from_slice(&lines[from..close]);
        Some(((copy, self.unescaped.len(), true), close + 1))
    }
}
