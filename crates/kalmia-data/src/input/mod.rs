//! Inputs: files, patterns, standard input, memory and record batches, with their compression and
//! fingerprint.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(feature = "arrow")]
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, FormatProblem, Result, SettingProblem};
use crate::fingerprint::{Fingerprint, content_of};
use crate::options::Format;
use crate::sniff;
use crate::stoppable::Stoppable;

/// One input in the order given.
#[derive(Debug, Clone)]
pub struct Input {
    name: String,
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    File,
    Stdin(Option<&'static AtomicBool>),
    Memory(Arc<[u8]>),
    #[cfg(feature = "arrow")]
    Batches(Arc<Stream>),
}

/// Record batches until they are read.
#[cfg(feature = "arrow")]
struct Stream(Mutex<Option<BoxedBatches>>);

#[cfg(feature = "arrow")]
pub(crate) type BoxedBatches = Box<dyn arrow_array::RecordBatchReader + Send>;

#[cfg(feature = "arrow")]
impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stream")
    }
}

/// An input about to be read.
pub(crate) enum Opened {
    /// Bytes, decompressed, in a format.
    Bytes { reader: Box<dyn Read + Send>, format: Format },
    #[cfg(feature = "arrow")]
    Batches(BoxedBatches),
}

impl Input {
    /// The inputs that these names and patterns stand for, in the order given, matches of a pattern
    /// in the order of their names. `-` is standard input.
    pub fn resolve<S: AsRef<str>>(names: &[S]) -> Result<Vec<Self>> {
        let mut inputs = Vec::new();
        for name in names.iter().map(AsRef::as_ref) {
            if name == "-" {
                inputs.push(Self { name: name.into(), place: Place::Stdin(None) });
            } else if name.contains(['*', '?', '[']) && !Path::new(name).exists() {
                inputs.extend(matches_of(name)?);
            } else {
                inputs.push(Self::file(name)?);
            }
        }
        if inputs.iter().filter(|i| matches!(i.place, Place::Stdin(_))).count() > 1 {
            return Err(SettingProblem::StdinTwice.into());
        }
        if inputs.is_empty() { Err(Error::NoMatch { pattern: String::new() }) } else { Ok(inputs) }
    }

    /// A file, which must exist.
    pub fn file(name: &str) -> Result<Self> {
        let meta =
            std::fs::metadata(name).map_err(|source| Error::Io { file: name.into(), source })?;
        if meta.is_dir() {
            return Err(Error::Folder { file: name.into() });
        }
        Ok(Self { name: name.into(), place: Place::File })
    }

    /// Bytes in memory under a name, whose extension gives the format.
    pub fn memory(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { name: name.into(), place: Place::Memory(bytes.into()) }
    }

    /// Record batches under a name, such as a table that another library holds.
    ///
    /// They are read as they come, in bounded memory, and can be read once: a second reader over
    /// the same input fails. Wrap batches in memory in [`arrow_array::RecordBatchIterator`].
    #[cfg(feature = "arrow")]
    pub fn record_batches(
        name: impl Into<String>,
        batches: impl arrow_array::RecordBatchReader + Send + 'static,
    ) -> Self {
        let stream = Stream(Mutex::new(Some(Box::new(batches))));
        Self { name: name.into(), place: Place::Batches(Arc::new(stream)) }
    }

    /// The same input, whose reading fails soon after `stop` is set, even while standard input
    /// keeps the reader waiting.
    pub fn until(mut self, stop: &'static AtomicBool) -> Self {
        if let Place::Stdin(flag) = &mut self.place {
            *flag = Some(stop);
        }
        self
    }

    /// The name given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The size in bytes, if it is known.
    pub fn size(&self) -> Option<u64> {
        match &self.place {
            Place::File => std::fs::metadata(&self.name)
                .ok()
                .filter(std::fs::Metadata::is_file)
                .map(|m| m.len()),
            Place::Stdin(_) => None,
            Place::Memory(bytes) => Some(bytes.len() as u64),
            #[cfg(feature = "arrow")]
            Place::Batches(_) => None,
        }
    }

    /// Size and hash, to be compared before a reading continues.
    pub fn fingerprint(&self) -> Result<Fingerprint> {
        let content = match &self.place {
            Place::Stdin(_) => None,
            #[cfg(feature = "arrow")]
            Place::Batches(_) => None,
            Place::Memory(bytes) => Some(content_of(&mut Cursor::new(bytes), bytes.len() as u64)),
            Place::File => match self.size() {
                Some(size) => Some(content_of(&mut self.open_file()?, size)),
                None => None,
            },
        };
        let content = content.transpose().map_err(|source| self.io(source))?;
        Ok(Fingerprint { name: self.name.clone(), content })
    }

    /// The bytes, if they are in memory.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match &self.place {
            Place::Memory(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn io(&self, source: std::io::Error) -> Error {
        Error::Io { file: self.name.clone(), source }
    }

    fn open_file(&self) -> Result<File> {
        File::open(&self.name).map_err(|source| self.io(source))
    }

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
        let (reader, magic): (Box<dyn Read + Send>, Vec<u8>) =
            if lower.ends_with(".gz") || magic.starts_with(&[0x1f, 0x8b]) {
                peek(flate2::read::MultiGzDecoder::new(reader)).map_err(|e| self.io(e))?
            } else if lower.ends_with(".zst") || magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
                let decoder = zstd::stream::read::Decoder::new(reader).map_err(|e| self.io(e))?;
                peek(decoder).map_err(|e| self.io(e))?
            } else {
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
        Ok(Opened::Bytes { reader, format })
    }
}

/// Bytes at any place, for Parquet.
#[cfg(feature = "columnar")]
pub(crate) enum Seekable {
    File(File),
    Memory(Arc<[u8]>),
}

fn matches_of(pattern: &str) -> Result<Vec<Input>> {
    let paths = glob::glob(pattern).map_err(|error| SettingProblem::Pattern {
        pattern: pattern.into(),
        reason: error.to_string(),
    })?;
    let mut found = Vec::new();
    for path in paths {
        let path =
            path.map_err(|e| Error::Io { file: e.path().display().to_string(), source: e.into() })?;
        if !path.is_dir() {
            found.push(Input::file(&path.to_string_lossy())?);
        }
    }
    if found.is_empty() { Err(Error::NoMatch { pattern: pattern.into() }) } else { Ok(found) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_anywhere_hashed_is_seen() {
        let print = |bytes: &[u8]| Input::memory("a.csv", bytes).fingerprint().unwrap();
        let base = vec![b'1'; 300_000];
        let with = |at: usize| {
            let mut changed = base.clone();
            changed[at] = b'2';
            changed
        };
        assert_eq!(print(&base), print(&base.clone()));
        assert_ne!(print(&base), print(&with(0)));
        assert_ne!(print(&base), print(&with(299_999)));
        assert_ne!(print(&base), print(&base[1..]));
    }

    #[test]
    fn folders_missing_files_and_patterns_are_named() {
        assert!(matches!(Input::resolve(&["src"]), Err(Error::Folder { .. })));
        assert!(matches!(Input::resolve(&["no/such/file.csv"]), Err(Error::Io { .. })));
        assert!(matches!(Input::resolve(&["src/*.nothing"]), Err(Error::NoMatch { .. })));
        assert!(matches!(Input::resolve(&["-", "-"]), Err(Error::Setting(_))));
        let names: Vec<_> = Input::resolve(&["src/b*.rs", "src/batch.rs"])
            .unwrap()
            .iter()
            .map(|i| i.name().to_owned())
            .collect();
        assert_eq!(names.last().unwrap(), "src/batch.rs");
        assert!(names.contains(&"src/block.rs".to_owned()));
    }
}
