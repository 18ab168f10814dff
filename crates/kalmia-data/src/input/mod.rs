//! Inputs: files, patterns, standard input, memory and record batches, with their compression and
//! fingerprint.

mod open;

pub(crate) use open::Opened;
#[cfg(feature = "columnar")]
pub(crate) use open::Seekable;

use std::fs::File;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;
#[cfg(feature = "arrow")]
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use crate::error::{Error, Result, SettingProblem};
use crate::fingerprint::{Fingerprint, content_of};
use crate::part::Part;

/// One input in the order given.
#[derive(Debug, Clone)]
pub struct Input {
    name: String,
    place: Place,
    /// The piece that is read, if not all.
    part: Option<Arc<Part>>,
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

impl Input {
    /// The inputs that these names and patterns stand for, in the order given, matches of a pattern
    /// in the order of their names. `-` is standard input.
    pub fn resolve<S: AsRef<str>>(names: &[S]) -> Result<Vec<Self>> {
        let mut inputs = Vec::new();
        for name in names.iter().map(AsRef::as_ref) {
            if name == "-" {
                inputs.push(Self { name: name.into(), place: Place::Stdin(None), part: None });
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
        Ok(Self { name: name.into(), place: Place::File, part: None })
    }

    /// Bytes in memory under a name, whose extension gives the format.
    pub fn memory(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { name: name.into(), place: Place::Memory(bytes.into()), part: None }
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
        Self { name: name.into(), place: Place::Batches(Arc::new(stream)), part: None }
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

    /// The same input, of which only a part is read.
    pub(crate) fn with_part(&self, part: Arc<Part>) -> Self {
        Self { part: Some(part), ..self.clone() }
    }

    /// The part that is read, if not all.
    pub(crate) fn part(&self) -> Option<&Part> {
        self.part.as_deref()
    }

    /// Whether its bytes can be read from any place on, as often as needed.
    pub(crate) fn can_be_cut(&self) -> bool {
        self.part.is_none() && matches!(self.place, Place::File | Place::Memory(_))
    }

    /// The size in bytes, if it is known; of a part its own.
    pub fn size(&self) -> Option<u64> {
        self.part().map(|part| part.bytes).or_else(|| self.whole_size())
    }

    fn whole_size(&self) -> Option<u64> {
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

    /// Size and hash, to be compared before a reading continues. They are those of the whole file;
    /// the hash of a part depends on its place too.
    pub fn fingerprint(&self) -> Result<Fingerprint> {
        let content = match &self.place {
            Place::Stdin(_) => None,
            #[cfg(feature = "arrow")]
            Place::Batches(_) => None,
            Place::Memory(bytes) => Some(content_of(&mut Cursor::new(bytes), bytes.len() as u64)),
            Place::File => match self.whole_size() {
                Some(size) => Some(content_of(&mut self.open_file()?, size)),
                None => None,
            },
        };
        let content = content.transpose().map_err(|source| self.io(source))?;
        let content = content.map(|content| match self.part() {
            Some(part) => content.of_part(part.before.bytes, part.bytes),
            None => content,
        });
        Ok(Fingerprint { name: self.name.clone(), content })
    }

    /// The bytes, if they are in memory and all are read.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match &self.place {
            Place::Memory(bytes) if self.part.is_none() => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn io(&self, source: std::io::Error) -> Error {
        Error::Io { file: self.name.clone(), source }
    }

    fn open_file(&self) -> Result<File> {
        File::open(&self.name).map_err(|source| self.io(source))
    }
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
