//! Where an input can be cut: places between two records, found by the rules of its reader.

use std::sync::Arc;

use memchr::{memchr, memchr_iter, memrchr};

use super::csv::Csv;
use super::lines::LineRows;
use super::record::QUOTE;
use super::{jsonl, libsvm};
use crate::chunks::Chunks;
use crate::error::Result;
use crate::input::{Input, Opened};
use crate::options::{Format, SourceOptions};
use crate::part::{Before, Header};

/// A place between two records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    pub before: Before,
    /// Row groups of Parquet before it.
    pub group: usize,
}

/// The places at which an input is cut.
pub(crate) struct Cuts {
    pub format: Format,
    /// Of CSV and TSV.
    pub header: Option<Arc<Header>>,
    /// Ascending; there are rows before the first, between any two and after the last.
    pub places: Vec<Cut>,
    /// The end of the input; its rows and lines are not counted.
    pub end: Cut,
}

/// Text that can be passed over record by record.
pub(super) trait Records {
    /// What stands before the next record that is not passed over.
    fn before(&self) -> Before;

    /// Passes over the next row; false at the end.
    fn pass_row(&mut self) -> Result<bool>;

    /// Passes over records until `bytes` bytes of the input or more are passed over.
    fn pass_bytes(&mut self, bytes: u64) -> Result<()> {
        while self.before().bytes < bytes && self.pass_row()? {}
        Ok(())
    }
}

/// The first places between two records at or after each of `targets`, which ascend; `None` if the
/// input can only be read as a whole.
pub(crate) fn cuts(
    input: &Input,
    options: &SourceOptions,
    targets: &[u64],
) -> Result<Option<Cuts>> {
    let (true, Some(bytes)) = (input.can_be_cut(), input.size()) else { return Ok(None) };
    let end = Cut { before: Before { bytes, ..Before::default() }, group: 0 };
    let (reader, format) = match input.open(options.format, &Arc::default())? {
        Opened::Bytes { reader, format, compressed: false } => (reader, format),
        _ => return Ok(None),
    };
    let is_text = !matches!(format, Format::Parquet | Format::Arrow);
    if !is_text {
        #[cfg(feature = "columnar")]
        if format == Format::Parquet {
            return super::parquet::cuts(input, options, targets).map(Some);
        }
        return Ok(None);
    }
    let file = input.name();
    let chunks = Chunks::new(reader, file, options.chunk_bytes, options.max_line_bytes)?;
    if chunks.has_carriage_returns() {
        return Ok(None);
    }
    let mut header = None;
    let lines = |chunks, holds_row| LineRows::new(chunks, options.bad_rows, holds_row);
    let places = match format {
        Format::Jsonl => places(&mut lines(chunks, jsonl::holds_row), targets)?,
        Format::Libsvm => places(&mut lines(chunks, libsvm::holds_row), targets)?,
        _ => {
            let mut csv = Csv::open(chunks, super::delimiter_of(format, options), options)?;
            header = Some(Arc::new(csv.header()));
            places(&mut csv, targets)?
        }
    };
    Ok(Some(Cuts { format, header, places, end }))
}

fn places(records: &mut impl Records, targets: &[u64]) -> Result<Vec<Cut>> {
    let mut places: Vec<Cut> = Vec::new();
    let mut more = records.pass_row()?;
    for &target in targets {
        // A long record may hold several targets.
        if places.last().is_some_and(|last| last.before.bytes >= target) {
            continue;
        }
        records.pass_bytes(target)?;
        let before = records.before();
        more = more && records.pass_row()?;
        if !more {
            break;
        }
        places.push(Cut { before, group: 0 });
    }
    Ok(places)
}

impl Records for Csv {
    fn before(&self) -> Before {
        Before { bytes: self.chunks.offset(), rows: self.row, lines: self.line }
    }

    fn pass_row(&mut self) -> Result<bool> {
        self.skip_row()
    }

    fn pass_bytes(&mut self, bytes: u64) -> Result<()> {
        loop {
            // A row that cannot be read must look the same in its part.
            let bytes = bytes.max(self.refused_by);
            let is_there = self.chunks.offset() >= bytes;
            if is_there || !(self.pass_plain_lines(bytes) || self.pass_row()?) {
                return Ok(());
            }
        }
    }
}

impl Csv {
    /// Passes over the lines of the window up to the first quote, or up to the end of the line in
    /// which `bytes` bytes are reached; false if there are none. Without quotes and comments, each
    /// line is a row unless it is blank.
    fn pass_plain_lines(&mut self, bytes: u64) -> bool {
        let lines = self.chunks.lines();
        let wanted = bytes.saturating_sub(self.chunks.offset()).max(1);
        let last = usize::try_from(wanted - 1).unwrap_or(usize::MAX).min(lines.len());
        let end = memchr(b'\n', &lines[last..]).map_or(lines.len(), |at| last + at + 1);
        let end = match memchr(QUOTE, &lines[..end]) {
            Some(quote) => memrchr(b'\n', &lines[..quote]).map_or(0, |at| at + 1),
            None => end,
        };
        if self.comment.is_some() || end == 0 {
            return false;
        }
        let mut start = 0;
        for at in memchr_iter(b'\n', &lines[..end]) {
            let is_blank = matches!(&lines[start..at], [] | [b'\r']);
            self.row += u64::from(!is_blank);
            self.line += 1;
            start = at + 1;
        }
        self.chunks.advance(end);
        true
    }
}
