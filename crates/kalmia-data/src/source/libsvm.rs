//! Reads libsvm: a label, then `index:value` pairs in ascending order; absent indices are zero.

use std::num::{IntErrorKind, ParseIntError};

use super::lines::{LineRow, LineRows};
use super::{Plan, Source, bad_field};
use crate::batch::{Batch, Entry};
use crate::chunks::Chunks;
use crate::error::{EntryProblem, Error, Result, RowProblem, excerpt};
use crate::options::BadRows;
use crate::part::Before;

pub(super) struct Libsvm {
    rows: LineRows,
    names: [String; 1],
    plan: Plan,
}

impl Libsvm {
    /// Opens the stream, which has rows and lines before it if it is a part.
    pub fn open(chunks: Chunks, before: Before, bad_rows: BadRows) -> Self {
        let rows = LineRows::new(chunks, bad_rows, holds_row).after(before);
        Self { rows, names: ["label".into()], plan: Plan::default() }
    }
}

/// Adds the row of a line to the batch.
fn add(row: LineRow<'_>, plan: &Plan, batch: &mut Batch) -> Result<()> {
    let mut words =
        content(row.text).split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let label = words.next().unwrap_or_default();
    if let Some((slot, want)) = plan.slot(0)
        && !batch.columns[slot].push_field(want, label)
    {
        return Err(bad_field(row.location(), &plan.slots[slot], label));
    }
    let mut previous = None;
    for word in words.filter(|word| !word.starts_with(b"qid:")) {
        let refuse = |problem| {
            let problem = RowProblem::Entry { entry: excerpt(word), problem };
            Error::Row { at: row.location(), problem }
        };
        let (key, value) = match short_pair(word) {
            Some(found) => found,
            None => pair(word).map_err(refuse)?,
        };
        if previous >= Some(key) {
            return Err(refuse(EntryProblem::NotAscending));
        }
        previous = Some(key);
        if !value.is_finite() {
            return Err(refuse(EntryProblem::NotFinite));
        }
        batch.entries.push(Entry { row: batch.rows as u32, key, value });
    }
    Ok(())
}

/// Whether a line is neither blank nor a comment.
pub(super) fn holds_row(line: &[u8]) -> bool {
    !content(line).is_empty()
}

/// A line without its comment and surrounding blanks.
fn content(line: &[u8]) -> &[u8] {
    line[..memchr::memchr(b'#', line).unwrap_or(line.len())].trim_ascii()
}

/// A pair whose value is one digit, the most frequent kind: indicators and small counts.
#[inline]
fn short_pair(word: &[u8]) -> Option<(u32, f64)> {
    let [digits @ .., b':', value @ b'0'..=b'9'] = word else { return None };
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    let digit = |key: u32, byte: &u8| Some(10 * key + char::from(*byte).to_digit(10)?);
    let key = digits.iter().try_fold(0, digit)?;
    Some((key, f64::from(value - b'0')))
}

fn pair(word: &[u8]) -> std::result::Result<(u32, f64), EntryProblem> {
    let read = || {
        let colon = memchr::memchr(b':', word)?;
        let key = std::str::from_utf8(&word[..colon]).ok()?.parse::<u32>();
        let too_large = |e: &ParseIntError| *e.kind() == IntErrorKind::PosOverflow;
        if key.as_ref().is_err_and(too_large) {
            return Some(Err(EntryProblem::IndexOutOfRange));
        }
        Some(Ok((key.ok()?, fast_float2::parse(&word[colon + 1..]).ok()?)))
    };
    read().unwrap_or(Err(EntryProblem::NotAPair))
}

impl Source for Libsvm {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn is_sparse(&self) -> bool {
        true
    }

    fn bind(&mut self, plan: &Plan) -> Result<()> {
        self.plan = plan.clone();
        Ok(())
    }

    fn fill(&mut self, batch: &mut Batch, rows: usize) -> Result<()> {
        let Self { rows: lines, plan, .. } = self;
        lines.fill(batch, rows, |row, batch| add(row, plan, batch))
    }

    fn skip(&mut self, rows: u64) -> Result<u64> {
        self.rows.skip(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_reads_what_the_long_one_reads() {
        for word in ["1:1", "007:0", "999999999:9", "12:3"] {
            assert_eq!(short_pair(word.as_bytes()), pair(word.as_bytes()).ok(), "{word}");
        }
        for word in ["", ":1", "1:", "1:12", "1x:1", "-1:1", "1234567890:1", "1:-1", "1::1"] {
            assert_eq!(short_pair(word.as_bytes()), None, "{word}");
        }
    }
}
