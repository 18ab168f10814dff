//! Reads libsvm: a label, then `index:value` pairs in ascending order; absent indices are zero.

use super::{Plan, Source, bad_field};
use crate::batch::{Batch, Entry};
use crate::chunks::Chunks;
use crate::error::{EntryProblem, Error, Location, Result, RowProblem, excerpt};

pub(super) struct Libsvm {
    chunks: Chunks,
    names: [String; 1],
    plan: Plan,
    row: u64,
    line: u64,
}

impl Libsvm {
    pub fn open(chunks: Chunks) -> Self {
        Self { chunks, names: ["label".into()], plan: Plan::default(), row: 0, line: 0 }
    }

    /// The length of the next line that holds a row; blank lines and comments are skipped.
    fn next_row(&mut self) -> Result<Option<usize>> {
        while let Some(len) = self.chunks.next_line(self.row + 1, self.line + 1)? {
            self.line += 1;
            if !content(&self.chunks.lines()[..len]).is_empty() {
                return Ok(Some(len));
            }
            self.chunks.advance(len);
        }
        Ok(None)
    }

    /// Adds the row of the next `len` bytes.
    fn add(&self, len: usize, batch: &mut Batch) -> Result<()> {
        let at = || Location {
            file: self.chunks.file().into(),
            row: self.row + 1,
            line: Some(self.line),
        };
        let mut words = content(&self.chunks.lines()[..len])
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let label = words.next().unwrap_or_default();
        if let Some((slot, want)) = self.plan.slot(0)
            && !batch.columns[slot].push_field(want, label)
        {
            return Err(bad_field(at(), &self.plan.slots[slot], label));
        }
        let mut previous = None;
        for word in words.filter(|word| !word.starts_with(b"qid:")) {
            let refuse = |problem| {
                let problem = RowProblem::Entry { entry: excerpt(word), problem };
                Error::Row { at: at(), problem }
            };
            let (key, value) = pair(word).ok_or_else(|| refuse(EntryProblem::NotAPair))?;
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
}

/// A line without its comment and surrounding blanks.
fn content(line: &[u8]) -> &[u8] {
    line[..memchr::memchr(b'#', line).unwrap_or(line.len())].trim_ascii()
}

fn pair(word: &[u8]) -> Option<(u32, f64)> {
    let colon = memchr::memchr(b':', word)?;
    let key = std::str::from_utf8(&word[..colon]).ok()?.parse().ok()?;
    Some((key, fast_float2::parse(&word[colon + 1..]).ok()?))
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
        self.chunks.begin_block();
        for _ in 0..rows {
            let Some(len) = self.next_row()? else { break };
            self.chunks.check_block(self.row + 1, self.line)?;
            self.add(len, batch)?;
            batch.end_row(self.line);
            self.chunks.advance(len);
            self.row += 1;
        }
        Ok(())
    }

    fn skip(&mut self, rows: u64) -> Result<u64> {
        let start = self.row;
        while self.row - start < rows {
            let Some(len) = self.next_row()? else { break };
            self.chunks.advance(len);
            self.row += 1;
        }
        Ok(self.row - start)
    }
}
