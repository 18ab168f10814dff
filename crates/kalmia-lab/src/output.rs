//! Files that appear whole or not at all.

use crate::error::{Error, Result};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder known to be writable.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes the folder where needed and tries it, so that a run does not fail after its work.
    pub fn open(path: &Path) -> Result<Self> {
        let fail = |source| Error::Output { path: path.to_owned(), source };
        std::fs::create_dir_all(path).map_err(fail)?;
        let probe = path.join(format!(".kalmia-probe-{}", std::process::id()));
        std::fs::File::create(&probe).map_err(fail)?;
        std::fs::remove_file(&probe).map_err(fail)?;
        Ok(Self { path: path.to_owned() })
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
        std::fs::remove_dir_all(&path).unwrap();
    }
}
