//! Opening an input: its compression, its format, and the part of it that is read.

#[cfg(feature = "columnar")]
use std::fs::File;
use std::io::{Cursor, Read};
use std::sync::Arc;
#[cfg(feature = "arrow")]
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(feature = "arrow")]
use super::BoxedBatches;
use super::{Input, Place};
use crate::error::{Error, FormatProblem, Result};
use crate::options::Format;
use crate::part::Part;
use crate::sniff;
use crate::stoppable::Stoppable;

/// An input about to be read.
pub(crate) enum Opened {
    /// Bytes, decompressed, in a format.
    Bytes { reader: Box<dyn Read + Send>, format: Format, compressed: bool },
    #[cfg(feature = "arrow")]
    Batches(BoxedBatches),
}

/// Bytes at any place, for Parquet.
#[cfg(feature = "columnar")]
pub(crate) enum Seekable {
    File(File),
    Memory(Arc<[u8]>),
}

impl Input {
    /// The bytes as a file or as memory, for formats that need to seek.
    #[cfg(feature = "columnar")]
    pub(crate) fn open_seekable(&self) -> Result<Option<Seekable>> {
        Ok(match &self.place {
            Place::File => Some(Seekable::File(self.open_file()?)),
            Place::Memory(bytes) => Some(Seekable::Memory(bytes.clone())),
            Place::Stdin(_) | Place::Batches(_) => None,
        })
    }

    /// Starts reading. `done` counts the bytes read, before decompression.
    pub(crate) fn open(&self, format: Option<Format>, done: &Arc<AtomicU64>) -> Result<Opened> {
        if let Some(part) = self.part() {
            let reader = self.open_part(part, done)?;
            return Ok(Opened::Bytes { reader, format: part.format, compressed: false });
        }
        let raw: Box<dyn Read + Send> = match &self.place {
            Place::File => Box::new(self.open_file()?),
            Place::Stdin(None) => Box::new(std::io::stdin()),
            Place::Stdin(Some(stop)) => Box::new(Stoppable::start(std::io::stdin(), stop)),
            Place::Memory(bytes) => Box::new(Cursor::new(bytes.clone())),
            #[cfg(feature = "arrow")]
            Place::Batches(stream) => {
                let batches = stream.0.lock().unwrap_or_else(PoisonError::into_inner).take();
                let problem = FormatProblem::Consumed;
                let consumed = || Error::Format { file: self.name.clone(), problem };
                return batches.map(Opened::Batches).ok_or_else(consumed);
            }
        };
        let (reader, magic) =
            peek(Counted { inner: raw, done: done.clone() }).map_err(|e| self.io(e))?;
        let lower = self.name.to_ascii_lowercase();
        // Downloads are often unpacked on the way and keep their name.
        let is_packed = |ending: &str, start: &[u8]| {
            magic.starts_with(start) || lower.ends_with(ending) && !sniff::is_text(&magic)
        };
        let mut compressed = true;
        let (reader, magic): (Box<dyn Read + Send>, Vec<u8>) = if is_packed(".gz", &[0x1f, 0x8b]) {
            peek(flate2::read::MultiGzDecoder::new(reader)).map_err(|e| self.io(e))?
        } else if is_packed(".zst", &[0x28, 0xb5, 0x2f, 0xfd]) {
            let decoder = zstd::stream::read::Decoder::new(reader).map_err(|e| self.io(e))?;
            peek(decoder).map_err(|e| self.io(e))?
        } else {
            compressed = false;
            (reader, magic)
        };
        if let Some(problem) = sniff::foreign(&magic) {
            return Err(Error::Format { file: self.name.clone(), problem });
        }
        let named = format.or_else(|| Format::from_name(&self.name));
        let format = named.or(sniff::format(&magic)).unwrap_or(Format::Csv);
        let array = if named.is_none() { sniff::is_json_array } else { sniff::starts_array };
        if (named.is_none() || format == Format::Jsonl) && array(&magic) {
            let problem = FormatProblem::JsonArray { file: self.name.clone() };
            return Err(Error::Format { file: self.name.clone(), problem });
        }
        Ok(Opened::Bytes { reader, format, compressed })
    }

    /// Starts reading a part, whose format is known and which is not compressed.
    fn open_part(&self, part: &Part, done: &Arc<AtomicU64>) -> Result<Box<dyn Read + Send>> {
        let raw: Box<dyn Read + Send> = match &self.place {
            Place::Memory(bytes) => {
                Box::new(part.of(Cursor::new(bytes.clone())).map_err(|e| self.io(e))?)
            }
            _ => Box::new(part.of(self.open_file()?).map_err(|e| self.io(e))?),
        };
        Ok(Box::new(Counted { inner: raw, done: done.clone() }))
    }
}

/// The first bytes of a reader, and a reader that still gives them.
fn peek(
    mut reader: impl Read + Send + 'static,
) -> std::io::Result<(Box<dyn Read + Send>, Vec<u8>)> {
    let mut magic = Vec::new();
    reader.by_ref().take(sniff::PEEKED_BYTES).read_to_end(&mut magic)?;
    Ok((Box::new(Cursor::new(magic.clone()).chain(reader)), magic))
}

/// Counts the bytes read, for progress.
struct Counted<R> {
    inner: R,
    done: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.done.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
