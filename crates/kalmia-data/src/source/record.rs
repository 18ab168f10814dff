//! Splits CSV records into fields, with quotes.

use memchr::{memchr, memchr2};

pub(super) const QUOTE: u8 = b'"';

/// Where the text of a field is.
#[derive(Clone, Copy)]
pub(super) struct Span {
    start: usize,
    end: usize,
    /// Whether the text is in [`Split::unescaped`], else in the record itself.
    unescaped: bool,
}

/// The fields of one record, as found by the general path.
#[derive(Default)]
pub(super) struct Split {
    spans: Vec<Span>,
    unescaped: Vec<u8>,
    /// Fields in the record, also those beyond the limit on spans.
    pub found: usize,
}

/// What is at the start of the window.
pub(super) enum Record {
    /// Nothing.
    End,
    /// A blank line of this length.
    Blank(usize),
    /// A record; its length with the newline.
    Whole(usize),
    /// A quote is open at the end of the window.
    Open,
    /// Text follows a closing quote after this many bytes.
    AfterQuote(usize),
}

impl Split {
    /// Field `i` of the record at the start of `lines`.
    pub fn field<'a>(&'a self, lines: &'a [u8], i: usize) -> &'a [u8] {
        let Span { start, end, unescaped } = self.spans[i];
        if unescaped { &self.unescaped[start..end] } else { &lines[start..end] }
    }

    /// Splits the record at the start of `lines`, keeping up to `limit` fields.
    pub fn record(&mut self, lines: &[u8], delimiter: u8, limit: usize) -> Record {
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
                _ => return Record::AfterQuote(end),
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
