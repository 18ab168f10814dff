//! Files that appear whole or not at all.

use crate::error::{Error, Result};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder known to be writable; one that was made for a run and got nothing goes with it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// How many levels of the path were made here.
    made: usize,
}

impl Folder {
    /// Makes the folder where needed and tries it, so that a run does not fail after its work.
    pub fn open(path: &Path) -> Result<Self> {
        let fail = |source| Error::Output { path: path.to_owned(), source };
        let made = path
            .ancestors()
            .take_while(|level| !level.as_os_str().is_empty() && !level.exists())
            .count();
        std::fs::create_dir_all(path).map_err(fail)?;
        let folder = Self { path: path.to_owned(), made };
        let probe = path.join(format!(".kalmia-probe-{}", std::process::id()));
        std::fs::File::create(&probe).map_err(fail)?;
        std::fs::remove_file(&probe).map_err(fail)?;
        Ok(folder)
    }

    /// Writes a file under a temporary name and renames it.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf> {
        let path = self.path.join(name);
        let partial = self.path.join(format!(".{name}.{}.partial", std::process::id()));
        let written = (|| {
            let mut file = std::fs::File::create(&partial)?;
            file.write_all(content)?;
            file.sync_all()?;
            std::fs::rename(&partial, &path)
        })();
        written.map_err(|source| {
            // The error to report is the first one; the partial file may not even exist.
            let _ = std::fs::remove_file(&partial);
            Error::Output { path: path.clone(), source }
        })?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // a folder that is not empty stays, and all above it
        let _ = self.path.ancestors().take(self.made).try_for_each(std::fs::remove_dir);
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
        // A run that ends with nothing takes away the folders that it made, and no others.
        drop(Folder::open(&path.join("deeper/empty/nested")).unwrap());
        drop(Folder::open(&path.join("deeper")).unwrap());
        assert!(path.join("deeper/a.csv").exists() && !path.join("deeper/empty").exists());
        std::fs::create_dir(path.join("mine")).unwrap();
        drop(Folder::open(&path.join("mine")).unwrap());
        assert!(path.join("mine").exists());
        std::fs::remove_dir_all(&path).unwrap();
    }
}
