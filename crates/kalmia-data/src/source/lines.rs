//! The rows of formats with one row per line: JSON Lines and libsvm.

use crate::batch::Batch;
use crate::chunks::Chunks;
use crate::error::{Location, Result};
use crate::options::BadRows;
use crate::part::Before;
use crate::source::can_skip;
use crate::source::cut::Records;

/// The lines of a stream that hold a row.
pub(super) struct LineRows {
    chunks: Chunks,
    /// Whether a line holds a row; blank lines and comments do not.
    holds_row: fn(&[u8]) -> bool,
    bad_rows: BadRows,
    /// Data rows read.
    row: u64,
    /// Lines read.
    line: u64,
}

/// The row being read.
#[derive(Clone, Copy)]
pub(super) struct LineRow<'a> {
    /// The line; its newline may be among it.
    pub text: &'a [u8],
    pub file: &'a str,
    /// Data rows before it.
    pub row: u64,
    /// Its line, from 1.
    pub line: u64,
}

impl LineRow<'_> {
    /// The place of the row.
    pub fn location(&self) -> Location {
        Location { file: self.file.into(), row: self.row + 1, line: Some(self.line) }
    }
}

impl LineRows {
    pub fn new(chunks: Chunks, bad_rows: BadRows, holds_row: fn(&[u8]) -> bool) -> Self {
        Self { chunks, holds_row, bad_rows, row: 0, line: 0 }
    }

    /// Counts rows and lines on from those before the stream.
    pub fn after(self, before: Before) -> Self {
        Self { row: before.rows, line: before.lines, ..self }
    }

    /// Passes up to `rows` rows to `add`, which adds their fields to the batch.
    pub fn fill(
        &mut self,
        batch: &mut Batch,
        rows: usize,
        mut add: impl FnMut(LineRow<'_>, &mut Batch) -> Result<()>,
    ) -> Result<()> {
        self.chunks.begin_block();
        for _ in 0..rows {
            let Some(len) = self.next()? else { break };
            self.chunks.check_block(self.row + 1, self.line)?;
            let row = LineRow {
                text: &self.chunks.lines()[..len],
                file: self.chunks.file(),
                row: self.row,
                line: self.line,
            };
            match add(row, batch) {
                Err(error) if self.bad_rows == BadRows::Skip && can_skip(&error) => {
                    batch.end_bad_row(self.line, &error);
                }
                outcome => {
                    outcome?;
                    batch.end_row(self.line);
                    batch.pad();
                }
            }
            self.end_row(len);
        }
        Ok(())
    }

    /// Skips up to `rows` rows; how many there were.
    pub fn skip(&mut self, rows: u64) -> Result<u64> {
        let start = self.row;
        while self.row - start < rows {
            let Some(len) = self.next()? else { break };
            self.end_row(len);
        }
        Ok(self.row - start)
    }

    /// The length of the next line that holds a row.
    fn next(&mut self) -> Result<Option<usize>> {
        while let Some(len) = self.chunks.next_line(self.row + 1, self.line + 1)? {
            self.line += 1;
            if (self.holds_row)(&self.chunks.lines()[..len]) {
                return Ok(Some(len));
            }
            self.chunks.advance(len);
        }
        Ok(None)
    }

    fn end_row(&mut self, len: usize) {
        self.chunks.advance(len);
        self.row += 1;
    }
}

impl Records for LineRows {
    fn before(&self) -> Before {
        Before { bytes: self.chunks.offset(), rows: self.row, lines: self.line }
    }

    fn pass_row(&mut self) -> Result<bool> {
        Ok(self.skip(1)? == 1)
    }
}
