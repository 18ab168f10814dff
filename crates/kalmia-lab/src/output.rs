//! The output folder: created if absent, checked before the work, removed if it stays empty.

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// A writable folder. On drop it is removed if it was created here and is still empty.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// How many levels of the path were created here.
    created: usize,
}

impl Folder {
    /// Creates the folder if absent and writes a test file: an unwritable folder is reported before
    /// the work and not after it.
    pub fn open(path: &Path) -> Result<Self> {
        let fail = |source| Error::Output { path: path.to_owned(), source };
        let created = path
            .ancestors()
            .take_while(|level| !level.as_os_str().is_empty() && !level.exists())
            .count();
        std::fs::create_dir_all(path).map_err(fail)?;
        let folder = Self { path: path.to_owned(), created };
        let probe = path.join(format!(".kalmia-probe-{}", std::process::id()));
        std::fs::File::create(&probe).map_err(fail)?;
        std::fs::remove_file(&probe).map_err(fail)?;
        Ok(folder)
    }

    /// Writes a file of the folder; until all of it is on disk the old one stays.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf> {
        let path = self.path.join(name);
        match kalmia::file::replace(&path, |sink| sink.write_all(content)) {
            Ok(()) => Ok(path),
            Err(source) => Err(Error::Output { path, source }),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Removing fails at the first folder that is not empty; that one and its parents stay.
        let _ = self.path.ancestors().take(self.created).try_for_each(std::fs::remove_dir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_replace_older_ones_and_leave_no_trace() {
        let path = std::env::temp_dir().join(format!("kalmia-lab-output-{}", std::process::id()));
        let folder = Folder::open(&path.join("deeper")).unwrap();
        folder.write("a.csv", b"one").unwrap();
        let file = folder.write("a.csv", b"two").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(path.join("deeper")).unwrap().count(), 1);
        // A file where a folder should be.
        let error = Folder::open(&file).unwrap_err();
        assert!(error.to_string().contains("a.csv"), "{error}");
        // Folders that were created and stayed empty are removed, and no others.
        drop(Folder::open(&path.join("deeper/empty/nested")).unwrap());
        drop(Folder::open(&path.join("deeper")).unwrap());
        assert!(path.join("deeper/a.csv").exists() && !path.join("deeper/empty").exists());
        std::fs::create_dir(path.join("mine")).unwrap();
        drop(Folder::open(&path.join("mine")).unwrap());
        assert!(path.join("mine").exists());
        std::fs::remove_dir_all(&path).unwrap();
    }
}
