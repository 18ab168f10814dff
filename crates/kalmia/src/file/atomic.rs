//! Atomic replacement of a file: at every moment its path holds the old content or the new one.
//!
//! Not built on the `tempfile` crate: it would replace about thirty lines, but its files are
//! private to the user by default, and its random names cannot be swept safely.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The end of the names of temporary files.
const SUFFIX: &str = ".kalmia-tmp";

/// Writes to a temporary file in the same folder, syncs it to disk, and renames it to `path`.
///
/// On an error the old file is unchanged and the temporary file is removed. A process that is
/// killed may leave a temporary file; the next call for the same path removes it. Links are
/// followed and permissions kept. A path that is not a regular file (`/dev/stdout`, a pipe) is
/// written directly; a folder is an error.
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
    let path = path.as_ref();
    let old = fs::metadata(path).ok();
    if let Some(old) = old.as_ref().filter(|old| !old.is_file()) {
        if old.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        return filled(&OpenOptions::new().write(true).open(path)?, write);
    }
    // the link's target is replaced, not the link
    let target = if old.is_some() { fs::canonicalize(path)? } else { path.to_path_buf() };
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = target.file_name().ok_or(io::ErrorKind::InvalidFilename)?.to_string_lossy();
    sweep(folder, &name);
    let (file, temporary) = Temporary::create(folder, &name)?;
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    filled(&file, write)?;
    file.sync_all()?;
    temporary.rename(&target)?;
    sync_folder(folder)
}

fn filled(file: &File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut sink = BufWriter::with_capacity(1 << 16, file);
    write(&mut sink)?;
    sink.flush()
}

/// A temporary file, removed unless renamed.
struct Temporary(Option<PathBuf>);

impl Temporary {
    /// Creates a new file and locks it: the lock shows that its writer is still alive.
    fn create(folder: &Path, name: &str) -> io::Result<(File, Self)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path =
                folder.join(format!("{}{}-{number}{SUFFIX}", prefix(name), std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    // on a file system without locks, leftovers stay; nothing else is affected
                    let _ = file.try_lock();
                    return Ok((file, Self(Some(path))));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn rename(mut self, target: &Path) -> io::Result<()> {
        if let Some(path) = &self.0 {
            fs::rename(path, target)?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

/// The start of the names of temporary files: hidden, and short enough for a legal name.
fn prefix(name: &str) -> String {
    format!(".{}.", name.chars().take(50).collect::<String>())
}

/// Removes the temporary files that killed writers of the same file left, recognized by their free
/// lock. A failure is harmless.
fn sweep(folder: &Path, name: &str) {
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
        let free = || {
            OpenOptions::new()
                .write(true)
                .open(entry.path())
                .is_ok_and(|file| file.try_lock().is_ok())
        };
        if ours && free() {
            let _ = fs::remove_file(entry.path());
        }
    }
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
mod tests {
    use super::*;

    /// A fresh folder, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("kalmia-atomic-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let mut names: Vec<_> = fs::read_dir(&self.0)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_new_content_replaces_the_old_one_and_nothing_is_left() {
        let folder = Folder::new("replace");
        let path = folder.0.join("model");
        for content in ["one", "a longer two", ""] {
            replace(&path, |sink| sink.write_all(content.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            assert_eq!(folder.names(), ["model"]);
        }
    }

    #[test]
    fn a_failure_at_any_byte_keeps_the_old_file_and_no_temporary() {
        let folder = Folder::new("failure");
        let path = folder.0.join("model");
        fs::write(&path, "old").unwrap();
        for written in [0, 1, 100, 65_535, 65_536, 200_000] {
            let full = || io::Error::from(io::ErrorKind::StorageFull);
            let result = replace(&path, |sink| sink.write_all(&vec![7; written]).and(Err(full())));
            assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull);
            assert_eq!(fs::read_to_string(&path).unwrap(), "old");
            assert_eq!(folder.names(), ["model"]);
        }
        let panicked = std::panic::catch_unwind(|| replace(&path, |_| panic!("on purpose")));
        assert!(panicked.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(folder.names(), ["model"]);
    }

    #[test]
    fn a_folder_or_a_missing_folder_is_an_error() {
        let folder = Folder::new("folder");
        assert_eq!(replace(&folder.0, |_| Ok(())).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(
            replace(folder.0.join("no/model"), |_| Ok(())).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert!(folder.names().is_empty());
    }

    #[test]
    fn leftovers_of_killed_writers_go_and_those_of_live_ones_stay() {
        let folder = Folder::new("sweep");
        let path = folder.0.join("model");
        for name in [
            ".model.123-4.kalmia-tmp",
            ".model.x-4.kalmia-tmp",
            ".other.123-4.kalmia-tmp",
            ".model.123-5.kalmia-tmp",
        ] {
            fs::write(folder.0.join(name), "half").unwrap();
        }
        let live =
            OpenOptions::new().write(true).open(folder.0.join(".model.123-5.kalmia-tmp")).unwrap();
        live.try_lock().unwrap();
        // a writer is itself live while another one starts
        replace(&path, |sink| {
            replace(&path, |sink| sink.write_all(b"inner")).and(sink.write_all(b"outer"))
        })
        .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "outer");
        assert_eq!(
            folder.names(),
            [
                ".model.123-5.kalmia-tmp",
                ".model.x-4.kalmia-tmp",
                ".other.123-4.kalmia-tmp",
                "model"
            ]
        );
    }

    #[test]
    fn names_of_legal_length_work() {
        let folder = Folder::new("long");
        let path = folder.0.join("m".repeat(250));
        replace(&path, |sink| sink.write_all(b"x")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"x");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_permissions_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new("links");
        let path = folder.0.join("model");
        let link = folder.0.join("link");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("model", &link).unwrap();
        replace(&link, |sink| sink.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    /// `/proc` accepts no new files, not even from the superuser.
    #[cfg(target_os = "linux")]
    #[test]
    fn an_unwritable_folder_is_an_error_and_its_file_stays() {
        let old = fs::read("/proc/version").unwrap();
        for path in ["/proc/version", "/proc/model"] {
            assert!(replace(path, |sink| sink.write_all(b"x")).is_err(), "{path}");
        }
        assert_eq!(fs::read("/proc/version").unwrap(), old);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        replace("/dev/null", |sink| sink.write_all(b"x")).unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert_eq!(
            replace("/dev/full", |sink| sink.write_all(b"x")).unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
    }
}
