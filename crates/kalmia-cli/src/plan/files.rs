//! Which files a command reads and writes: no output may be one of its own inputs, and every
//! output must be writable before the first row is read.

use super::{SourcePlan, writable};
use crate::error::{Failure, Result};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// Links that are followed from a file that does not exist yet.
const MAX_LINKS: usize = 40;

/// The files of a command.
#[derive(Debug, Default)]
pub struct Files {
    read: Vec<Named>,
    written: Vec<Named>,
}

/// A file with the words for it.
#[derive(Debug)]
struct Named {
    words: String,
    path: PathBuf,
    identity: Option<Identity>,
}

/// What makes two paths the same file.
#[derive(Debug, PartialEq)]
enum Identity {
    /// A file that exists, under any name.
    #[cfg(unix)]
    Inode { device: u64, number: u64 },
    /// A file that does not exist yet, by its folder without links and its name.
    Path(PathBuf),
}

impl Files {
    /// The data.
    pub fn source(mut self, source: &SourcePlan) -> Self {
        for input in &source.inputs {
            let name = input.name();
            match name {
                "-" => self.read.push(Named {
                    words: "standard input".into(),
                    path: name.into(),
                    identity: stream(std::io::stdin()),
                }),
                _ => self.read.push(Named::new("the input", Path::new(name))),
            }
        }
        self
    }

    /// Another file that is read.
    pub fn reads(mut self, role: &str, path: &Path) -> Self {
        self.read.push(Named::new(role, path));
        self
    }

    /// A model that is read, unless `output` replaces it on purpose.
    pub fn continues(self, role: &str, path: &Path, output: Option<&Path>) -> Self {
        match output {
            Some(output) if output == path || identity(output) == identity(path) => self,
            _ => self.reads(role, path),
        }
    }

    /// A file that is written, if its option was given.
    pub fn writes(mut self, option: &str, path: Option<&Path>) -> Self {
        self.written.extend(path.map(|path| Named::new(option, path)));
        self
    }

    /// Refuses outputs that are inputs or each other, and those that cannot be written.
    pub fn check(self) -> Result<()> {
        for (i, output) in self.written.iter().enumerate() {
            let others = self.read.iter().chain(&self.written[..i]);
            output.differs_from(others)?;
        }
        let printed = Named {
            words: "standard output".into(),
            path: PathBuf::new(),
            identity: stream(std::io::stdout()),
        };
        printed.differs_from(self.read.iter())?;
        self.written.iter().try_for_each(|output| writable(&output.path))
    }
}

impl Named {
    fn new(role: &str, path: &Path) -> Self {
        Self {
            words: format!("{role} {}", path.display()),
            path: path.to_owned(),
            identity: identity(path),
        }
    }

    fn differs_from<'a>(&self, mut others: impl Iterator<Item = &'a Self>) -> Result<()> {
        let same = |other: &&Self| self.identity.is_some() && self.identity == other.identity;
        match others.find(same) {
            None => Ok(()),
            Some(other) => Err(Failure::usage(format!(
                "{} is the same file as {}, which it would overwrite; give another name",
                self.words, other.words
            ))),
        }
    }
}

/// What tells a file from others; devices and pipes hold nothing that could be lost.
fn identity(path: &Path) -> Option<Identity> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => None,
        Ok(found) => existing(path, &found),
        Err(_) => Some(Identity::Path(future(path.to_owned()))),
    }
}

#[cfg(unix)]
fn existing(_: &Path, found: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some(Identity::Inode { device: found.dev(), number: found.ino() })
}

#[cfg(not(unix))]
fn existing(path: &Path, _: &Metadata) -> Option<Identity> {
    fs::canonicalize(path).ok().map(Identity::Path)
}

/// Where a file would be created: links are followed, and the deepest folder that exists is
/// written without them.
fn future(mut path: PathBuf) -> PathBuf {
    for _ in 0..MAX_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    let here = |folder: &Path| match folder.as_os_str().is_empty() {
        true => fs::canonicalize("."),
        false => fs::canonicalize(folder),
    };
    let found = path.ancestors().skip(1).find_map(|folder| {
        let rest = path.strip_prefix(folder).ok()?;
        Some(here(folder).ok()?.join(rest))
    });
    found.unwrap_or(path)
}

/// The file that a standard stream is redirected to or from.
#[cfg(unix)]
fn stream(stream: impl std::os::fd::AsFd) -> Option<Identity> {
    let file = fs::File::from(stream.as_fd().try_clone_to_owned().ok()?);
    let found = file.metadata().ok().filter(Metadata::is_file)?;
    existing(Path::new(""), &found)
}

#[cfg(not(unix))]
fn stream<T>(_: T) -> Option<Identity> {
    None
}
