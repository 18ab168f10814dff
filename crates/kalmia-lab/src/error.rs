//! The errors of the laboratory, named after the setting or file at fault.

use std::path::PathBuf;

/// The result of every fallible call of the crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A refused request, or a folder that cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A figure that does not exist.
    #[error("unknown figure `{name}`: expected one of {expected}")]
    UnknownFigure {
        /// The name given.
        name: String,
        /// The names that exist.
        expected: String,
    },
    /// A setting outside its domain.
    #[error("setting `{name}` is {value}: {expected}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// The value given.
        value: String,
        /// What is legal, as a phrase.
        expected: &'static str,
    },
    /// An experiment file that cannot be read.
    #[error("the experiment cannot be read: {reason}")]
    ExperimentFile {
        /// What and where, with the line of the file.
        reason: String,
    },
    /// A key of an experiment file outside its domain.
    #[error("experiment: {key}: {reason}")]
    Experiment {
        /// The key, with its section.
        key: String,
        /// What is wrong, and what is legal.
        reason: String,
    },
    /// The output folder or a file in it cannot be written.
    #[error("cannot write {path}: {source}")]
    Output {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A learner of the library refused its input.
    #[error(transparent)]
    Learner(#[from] kalmia::Error),
    /// A method of an experiment was refused.
    #[error(transparent)]
    Method(#[from] kalmia_model::Error),
    /// A picture could not be drawn or encoded.
    #[error(transparent)]
    Picture(#[from] kalmia_chart::Error),
    /// The caller asked to stop before the result was complete.
    #[error("interrupted")]
    Cancelled,
}
