//! Atomic replacement of a file: at every moment its path holds the old content or the new one.

use super::temporary::{Temporary, sweep};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes to a temporary file in the same folder, syncs it to disk, and renames it to `path`.
///
/// On an error the old file is unchanged and the temporary file is removed. A process that is
/// killed may leave a temporary file; the next call for the same path removes it. Links are
/// followed and permissions kept. A path that is not a regular file (`/dev/stdout`, a pipe) is
/// written directly; a folder is an error. A file that cannot be renamed over, because it is
/// mounted on its own, is overwritten; a copy of the old one is kept until that is done.
///
/// ```
/// let path = std::env::temp_dir().join(format!("kalmia-replace-{}", std::process::id()));
/// kalmia::file::replace(&path, |sink| sink.write_all(b"all or nothing"))?;
/// assert_eq!(std::fs::read(&path)?, b"all or nothing");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn replace(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    match Place::of(path.as_ref())? {
        Place::Direct => filled(&OpenOptions::new().write(true).open(path)?, write),
        Place::File(target) => target.replace(write, || Ok(())).map(drop),
    }
}

/// Refuses a path that [`replace`] could not write to, before there is anything to write. It
/// creates the temporary file and removes it again; whether the disk has room is not known.
pub fn check_writable(path: impl AsRef<Path>) -> io::Result<()> {
    match Place::of(path.as_ref())? {
        Place::Direct => Ok(()),
        Place::File(target) => Temporary::create(target.folder(), &target.name).map(drop),
    }
}

/// What a path stands for.
#[allow(clippy::large_enum_variant)] // one at a time, on the stack
pub(super) enum Place {
    /// A device or a pipe, which is written, not replaced.
    Direct,
    /// A file, there or not.
    File(Target),
}

/// A file to be replaced.
pub(super) struct Target {
    path: PathBuf,
    name: String,
    /// Permissions of the file that is there.
    old: Option<Permissions>,
}

impl Place {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let old = fs::metadata(path).ok();
        if let Some(old) = old.as_ref().filter(|old| !old.is_file()) {
            return if old.is_dir() {
                Err(io::ErrorKind::IsADirectory.into())
            } else {
                Ok(Self::Direct)
            };
        }
        // the link's target is replaced, not the link
        let path = if old.is_some() { fs::canonicalize(path)? } else { path.to_path_buf() };
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?.to_string_lossy();
        let old = old.map(|old| old.permissions());
        Ok(Self::File(Target { name: name.into_owned(), path, old }))
    }
}

impl Target {
    fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }

    /// Replaces the file, if `allowed` still holds when the new one is complete. Returns the new
    /// file, locked, unless the old one was overwritten.
    pub(super) fn replace(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
        allowed: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Option<File>> {
        self.replace_by(write, allowed, |from, to| fs::rename(from, to))
    }

    fn replace_by(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
        allowed: impl FnOnce() -> io::Result<()>,
        rename: impl FnOnce(&Path, &Path) -> io::Result<()>,
    ) -> io::Result<Option<File>> {
        sweep(self.folder(), &self.name);
        let mut new = Temporary::create(self.folder(), &self.name)?;
        if let Some(old) = &self.old {
            new.file().set_permissions(old.clone())?;
        }
        filled(new.file(), write)?;
        new.file().sync_all()?;
        allowed()?;
        match new.rename(&self.path, rename) {
            Ok(()) => {
                sync_folder(self.folder())?;
                new.into_file().map(Some)
            }
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && self.old.is_some() => {
                self.overwrite(new.path())?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes the content of `new` into the file. If that fails, its old content is put back.
    fn overwrite(&self, new: &Path) -> io::Result<()> {
        let copy = Temporary::create(self.folder(), &self.name)?;
        fs::copy(&self.path, copy.path())?;
        copy.file().sync_all()?;
        let Err(error) = fill_from(&self.path, new) else { return Ok(()) };
        match fill_from(&self.path, copy.path()) {
            Ok(()) => Err(error),
            Err(_) => {
                let kept = copy.keep();
                let kept = kept.display();
                Err(io::Error::new(error.kind(), format!("{error}; the old file is {kept}")))
            }
        }
    }
}

/// Gives a file the content of another one, in place.
fn fill_from(path: &Path, content: &Path) -> io::Result<()> {
    let mut from = File::open(content)?;
    let mut to = OpenOptions::new().write(true).open(path)?;
    let size = io::copy(&mut from, &mut to)?;
    to.set_len(size)?;
    to.sync_all()
}

pub(super) fn filled(
    file: &File,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut sink = BufWriter::with_capacity(1 << 16, file);
    write(&mut sink)?;
    sink.flush()
}

/// Syncs the renaming itself to disk, if the system can sync folders.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::InvalidInput
                    | io::ErrorKind::Unsupported
                    | io::ErrorKind::PermissionDenied
            ) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
