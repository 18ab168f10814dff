//! A piece of an input that is read on its own, and what it must know of the rest.

use std::io::{Read, Seek, SeekFrom, Take};
use std::ops::Range;
use std::sync::Arc;

use crate::options::Format;

/// What stands before a place in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Before {
    pub bytes: u64,
    /// Data rows.
    pub rows: u64,
    /// Lines, if the format has them.
    pub lines: u64,
}

/// The columns of CSV or TSV, which stand in the first part alone.
#[derive(Debug)]
pub(crate) struct Header {
    pub names: Vec<String>,
    pub delimiter: u8,
}

/// A piece of an input, from the start of a record to the end of one.
#[derive(Debug)]
pub(crate) struct Part {
    pub format: Format,
    pub before: Before,
    /// Bytes of the part; of Parquet its share of the file.
    pub bytes: u64,
    /// Of CSV and TSV.
    pub header: Option<Arc<Header>>,
    /// The row groups of Parquet.
    #[cfg_attr(not(feature = "columnar"), allow(dead_code))] // only Parquet has them
    pub groups: Range<usize>,
}

impl Part {
    /// Whether the part starts with the input, and so with its byte-order mark and header.
    pub fn is_first(&self) -> bool {
        self.before.bytes == 0
    }

    /// The bytes of the part.
    pub fn of<R: Read + Seek>(&self, mut whole: R) -> std::io::Result<Take<R>> {
        whole.seek(SeekFrom::Start(self.before.bytes))?;
        Ok(whole.take(self.bytes))
    }
}
