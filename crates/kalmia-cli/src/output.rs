//! How results leave the command: standard output, and files written as a whole or not at all.

use crate::error::{Failure, Result};
use crate::visible::visible;
use kalmia::file::Claim;
use kalmia_model::{ModelLearner, ModelOf};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes text for people to standard output.
pub fn print(text: &str) -> Result<()> {
    print_bytes(visible(text).as_bytes())
}

/// Writes bytes to standard output.
pub fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(Failure::Stdout)
}

/// Prints one JSON object on a line.
pub fn print_json<T: serde::Serialize>(value: &T) -> Result<()> {
    print_bytes(json_line(value)?.as_bytes())
}

/// One JSON object on a line; numbers that JSON cannot hold are null.
pub fn json_line<T: serde::Serialize>(value: &T) -> Result<String> {
    let text = serde_json::to_string(value).map_err(|error| Failure::Other(error.to_string()))?;
    Ok(text + "\n")
}

/// Writes a file as a whole, or not at all.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    kalmia::file::replace(path, |sink| sink.write_all(bytes)).map_err(Failure::output(path))
}

/// Where a model goes.
#[derive(Debug)]
pub enum ModelOutput {
    /// A new model, which replaces whatever is there.
    New(PathBuf),
    /// A model that is continued: no other process may do so at the same time.
    Continued(Claim),
}

impl ModelOutput {
    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Self::New(path) => path,
            Self::Continued(claim) => claim.path(),
        }
    }

    /// Writes the model, atomically.
    pub fn save<L: ModelLearner>(&mut self, model: &ModelOf<L>) -> Result<()> {
        match self {
            Self::New(path) => model.save(path)?,
            Self::Continued(claim) => model.save_claimed(claim)?,
        }
        Ok(())
    }
}
