//! Temporary files beside the file that they will become, and the removal of those that killed
//! writers left.
//!
//! Not built on the `tempfile` crate: it would replace about thirty lines, but its files are
//! private to the user by default, and its random names cannot be swept safely.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The end of the names of temporary files.
const SUFFIX: &str = ".kalmia-tmp";

/// A temporary file, removed unless renamed. Its lock shows that its writer is alive.
pub(super) struct Temporary {
    path: Option<PathBuf>,
    file: File,
}

impl Temporary {
    /// Creates a new file and locks it.
    pub(super) fn create(folder: &Path, name: &str) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path =
                folder.join(format!("{}{}-{number}{SUFFIX}", prefix(name), std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    let new = Self { path: Some(path), file };
                    if new.is_kept() {
                        return Ok(new);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Locks the file, unless another process swept it between its creation and its lock.
    fn is_kept(&self) -> bool {
        match self.file.try_lock() {
            // a sweeper has the lock and is about to remove the file
            Err(fs::TryLockError::WouldBlock) => false,
            Ok(()) => self.path.as_ref().is_some_and(|path| is_at(&self.file, path)),
            // on a file system without locks, leftovers stay; nothing else is affected
            Err(fs::TryLockError::Error(_)) => true,
        }
    }

    /// What to write to.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }

    /// Moves it to its place.
    pub(super) fn rename(
        &mut self,
        target: &Path,
        rename: impl FnOnce(&Path, &Path) -> io::Result<()>,
    ) -> io::Result<()> {
        rename(self.path(), target)?;
        self.path = None;
        Ok(())
    }

    /// Leaves it where it is.
    pub(super) fn keep(mut self) -> PathBuf {
        self.path.take().unwrap_or_default()
    }

    /// The file, still locked, after it was moved to its place.
    pub(super) fn into_file(self) -> io::Result<File> {
        self.file.try_clone()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether an open file is the one that its path names now.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => id(open) == id(named),
        _ => false,
    }
}

/// Whether an open file is the one that its path names now, as far as can be known.
#[cfg(not(unix))]
pub(super) fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// The start of the names of temporary files: hidden, and short enough for a legal name.
fn prefix(name: &str) -> String {
    format!(".{}.", name.chars().take(50).collect::<String>())
}

/// Removes the temporary files that killed writers of the same file left, recognized by their free
/// lock. A failure is harmless.
pub(super) fn sweep(folder: &Path, name: &str) {
    let prefix = prefix(name);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let Some(middle) =
            found.to_str().and_then(|found| found.strip_prefix(&prefix)?.strip_suffix(SUFFIX))
        else {
            continue;
        };
        let ours = middle
            .split_once('-')
            .is_some_and(|(a, b)| [a, b].iter().all(|n| n.parse::<u64>().is_ok()));
        if !ours {
            continue;
        }
        let path = entry.path();
        let Ok(file) = OpenOptions::new().write(true).open(&path) else { continue };
        // the lock is kept until the file is gone, so that its writer cannot take it in between
        if file.try_lock().is_ok() && is_at(&file, &path) {
            let _ = fs::remove_file(&path);
        }
    }
}
