//! Temporary files for rows that memory does not hold.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// A temporary file that is removed when it is no longer used.
pub(super) struct Spill {
    pub file: File,
    path: PathBuf,
}

impl Spill {
    pub fn create() -> io::Result<Self> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let folder = std::env::temp_dir();
        loop {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("kalmia-shuffle-{}-{number}", std::process::id()));
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => {
                    // an open file without a name outlives no crash; elsewhere it goes at the end
                    #[cfg(unix)]
                    fs::remove_file(&path)?;
                    return Ok(Self { file, path });
                }
            }
        }
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        if cfg!(not(unix)) {
            // a file that cannot be removed is left to the system
            let _ = fs::remove_file(&self.path);
        }
    }
}
