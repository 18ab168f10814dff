//! The right to update a model file, which one process has at a time.

use super::atomic::{Place, filled};
use super::temporary::is_at;
use super::{FileError, ModelFile};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// A model file that this process is about to read, learn more with and write back.
///
/// Until it is dropped, or the process ends, no other process can claim the same file, and a file
/// that another program replaced all the same is not overwritten. Reading needs no claim. The
/// claim is a lock on the file itself and leaves nothing behind; systems other than Unix have
/// none.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    /// The file as it was read or last written, locked.
    held: Option<File>,
}

impl Claim {
    /// Claims a file. One that does not exist yet is claimed by its first [`Claim::write`].
    ///
    /// # Errors
    /// [`FileError::Busy`] if another process has it, [`FileError::Read`] if it cannot be opened.
    pub fn new(path: impl Into<PathBuf>) -> Result<Self, FileError> {
        let path = path.into();
        loop {
            let Some(file) = opened(&path)? else { return Ok(Self { path, held: None }) };
            if cfg!(unix) && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
                return Err(FileError::Busy { path });
            }
            // else it was replaced while it was locked
            if is_at(&file, &path) {
                return Ok(Self { path, held: Some(file) });
            }
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file atomically and keeps the claim.
    ///
    /// # Errors
    /// [`FileError::Changed`] if another program has replaced it, [`FileError::Write`] if the
    /// system refuses.
    pub fn write(&mut self, content: &ModelFile) -> Result<(), FileError> {
        let mut changed = false;
        let path = &self.path;
        let held = self.held.as_ref();
        let allowed = || match held {
            Some(file) if !is_at(file, path) => {
                changed = true;
                Err(io::ErrorKind::ResourceBusy.into())
            }
            _ => Ok(()),
        };
        let written = Place::of(path).and_then(|place| match place {
            Place::Direct => {
                let device = OpenOptions::new().write(true).open(path)?;
                filled(&device, |sink| content.write_to(sink))?;
                Ok(None)
            }
            Place::File(target) => target.replace(|sink| content.write_to(sink), allowed),
        });
        match written {
            Ok(new) => {
                self.held = new.or(self.held.take());
                Ok(())
            }
            Err(_) if changed => Err(FileError::Changed { path: path.clone() }),
            Err(reason) => Err(FileError::Write { path: path.clone(), reason }),
        }
    }
}

/// A regular file, if there is one.
fn opened(path: &Path) -> Result<Option<File>, FileError> {
    match File::open(path) {
        Ok(file) => Ok(file.metadata().is_ok_and(|found| found.is_file()).then_some(file)),
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(reason) => Err(FileError::Read { path: path.to_owned(), reason }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Metadata, replace};

    #[cfg(unix)]
    fn model(number: u64) -> ModelFile {
        ModelFile::new("test", &number, Metadata::new()).unwrap()
    }

    #[cfg(unix)]
    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("kalmia-claim-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    // other systems have no claims
    #[cfg(unix)]
    #[test]
    fn one_has_it_at_a_time_and_writing_keeps_it() {
        let folder = folder("one");
        let path = folder.join("m");
        let mut first = Claim::new(&path).unwrap();
        // not there yet: the first write claims it
        for number in 0..3 {
            first.write(&model(number)).unwrap();
            assert!(matches!(Claim::new(&path), Err(FileError::Busy { .. })), "{number}");
            let state: u64 = ModelFile::read(&path).unwrap().state("test").unwrap();
            assert_eq!(state, number);
        }
        drop(first);
        let mut second = Claim::new(&path).unwrap();
        second.write(&model(9)).unwrap();
        drop(second);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    // other systems have no claims
    #[cfg(unix)]
    #[test]
    fn a_file_that_another_program_replaced_is_not_overwritten() {
        let folder = folder("changed");
        let path = folder.join("m");
        model(1).write(&path).unwrap();
        let mut claim = Claim::new(&path).unwrap();
        replace(&path, |sink| sink.write_all(b"theirs")).unwrap();
        let error = claim.write(&model(2)).unwrap_err();
        assert!(matches!(error, FileError::Changed { .. }), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
