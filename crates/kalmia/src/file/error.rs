//! The errors of model files: the path, what is wrong, what to do.

use std::io;
use std::path::PathBuf;

/// A model file that cannot be read or written. The message is complete: `source` returns nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system refused to read.
    #[error("cannot read model file {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
    /// The system refused to write; a previous file is unchanged.
    #[error("cannot write model file {}: {reason}; a previous file is unchanged", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
    /// Another process has claimed the file (see [`Claim`](super::Claim)).
    #[error(
        "model file {}: another process is updating it; nothing was read or written, try again \
         when that process has finished",
        path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Another program replaced the file after it was claimed.
    #[error(
        "model file {}: another process changed it after it was read; its file is kept and ours \
         was not written, so give the command again",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The bytes of the file, or the state to be stored, are refused.
    #[error("model file {}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: Problem,
    },
}

/// Why the content of a model file is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file does not start like a model.
    #[error("this is not a kalmia model; give a file that kalmia wrote")]
    NotAModel,
    /// Fewer bytes than the header announces.
    #[error(
        "cut short: {found} bytes of {expected}; copy it again, or go back to an earlier checkpoint"
    )]
    Truncated {
        /// Bytes that the file should have; a lower bound if the header itself is cut.
        expected: u64,
        /// Bytes that it has.
        found: u64,
    },
    /// More bytes than the header announces.
    #[error(
        "{extra} bytes too many at the end; copy it again, or go back to an earlier checkpoint"
    )]
    Trailing {
        /// Bytes after the end.
        extra: u64,
    },
    /// Some byte changed since the file was written.
    #[error(
        "damaged: its checksum is {found}, but it was written with {expected}; copy it again, or \
         go back to an earlier checkpoint"
    )]
    Checksum {
        /// As stored.
        expected: String,
        /// As computed.
        found: String,
    },
    /// The header breaks the format.
    #[error("malformed header: {0}; copy the file again, or go back to an earlier checkpoint")]
    Header(String),
    /// Written by a later kalmia.
    #[error(
        "format {found}, written by kalmia {version}; this is kalmia {}, which reads formats up to \
         {supported}: update kalmia",
        super::VERSION
    )]
    Newer {
        /// The file's format.
        found: u64,
        /// The latest that this version reads.
        supported: u64,
        /// The version that wrote it, or `unknown`.
        version: String,
    },
    /// The file holds another kind of state than the one asked for.
    #[error(
        "it holds a `{found}`, not a `{expected}`; give a file of that kind, or update kalmia if \
         `{found}` is a new kind"
    )]
    Kind {
        /// Asked for.
        expected: String,
        /// Found.
        found: String,
    },
    /// The file is intact, but its state does not fit the type asked for.
    #[error("the state does not fit at `{at}`: {message}")]
    State {
        /// Path within the state.
        at: String,
        /// What was expected and what was found.
        message: String,
    },
    /// The state to be written contains something that the format cannot hold.
    #[error("the state cannot be stored at `{at}`: {message}")]
    Unstorable {
        /// Path within the state.
        at: String,
        /// What it is.
        message: String,
    },
}

impl Problem {
    /// Adds the path of the file.
    pub fn at(self, path: impl Into<PathBuf>) -> FileError {
        FileError::Content { path: path.into(), problem: self }
    }
}
