//! What ends a command early, the exit code it has, and how it is told.

use crate::args::Command;
use crate::report::exact;
use crate::ui::{self, counted};
use kalmia::file::{FileError, MODEL_SET, Problem};
use kalmia_data::{Block, Counts, Encoder, Error as DataError, Location, Remedy};
use std::io;
use std::path::{Path, PathBuf};

/// The result of every step of the command.
pub type Result<T> = std::result::Result<T, Failure>;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Arguments that contradict each other or lack something.
    #[error("{0}")]
    Usage(String),
    /// The data cannot be read or encoded.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A row cannot be learned.
    #[error("{at}: {reason}")]
    Row {
        /// The row.
        at: Location,
        /// Why, and what to do.
        reason: String,
    },
    /// A model file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The library refused something that no row is to blame for.
    #[error(transparent)]
    Library(#[from] kalmia::Error),
    /// A file cannot be written.
    #[error("cannot write {}: {reason}", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Stdout(io::Error),
    /// Ctrl-C.
    #[error("{0}")]
    Interrupted(String),
    /// Something that should not happen, told in words.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// An error of usage.
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    /// A file that cannot be written.
    pub fn output(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |reason| Self::Output { path: path.to_owned(), reason }
    }

    /// An interruption where a read gave up for one before there was anything to keep.
    pub fn or_stop(self) -> Self {
        match self {
            Self::Data(_) if ui::stop_requested() => Self::Interrupted(
                "interrupted while the first rows were read; nothing was learned".into(),
            ),
            other => other,
        }
    }

    /// Why no row was left to work on.
    pub fn no_rows(counts: Counts) -> Self {
        Self::usage(match counts.skipped {
            0 => "the input has no data rows".into(),
            skipped => {
                format!("no row is left: {} left out for a missing value", counted(skipped, "row"))
            }
        })
    }

    /// 2 where the user's arguments or input are at fault, else 1.
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Data(_) | Self::Row { .. } | Self::Library(_) => 2,
            Self::File(FileError::Write { .. }) => 1,
            Self::File(_) => 2,
            Self::Output { .. } | Self::Stdout(_) | Self::Interrupted(_) | Self::Other(_) => 1,
        }
    }

    /// Whether the reader of the output went away, which is no error.
    pub fn is_broken_pipe(&self) -> bool {
        match self {
            Self::Stdout(error) => error.kind() == io::ErrorKind::BrokenPipe,
            Self::Output { path, reason } => {
                reason.kind() == io::ErrorKind::BrokenPipe && path.starts_with("/dev")
            }
            _ => false,
        }
    }

    /// The remedy in the options of the command.
    fn hint(&self, command: &Command) -> Option<&'static str> {
        let Self::Data(error) = self else { return None };
        match error.remedy()? {
            Remedy::MissingPolicy if command.chooses() => {
                Some("--missing skip leaves such rows out, --missing mean imputes them")
            }
            Remedy::MissingPolicy if matches!(command, Command::Predict(_)) => {
                Some("--missing skip leaves the predictions of such rows empty")
            }
            Remedy::MissingPolicy => Some("--missing skip leaves such rows out"),
            Remedy::DescribeFormat => {
                Some("--delimiter, --no-header and --format say how to read the file")
            }
            // the options below choose what a model has settled
            _ if !command.chooses() => None,
            Remedy::NameTarget => Some("--target NAME says which column to learn"),
            Remedy::ChooseColumns => {
                Some("--features or --exclude chooses columns, --max-features raises the limit")
            }
            Remedy::FewerFeatures { .. } => {
                Some("--exclude leaves the column out, --max-features raises the limit")
            }
            Remedy::Categorical { .. } => Some(
                "--categorical NAME reads the column as categories, --exclude NAME leaves it out",
            ),
            Remedy::Positive { .. } => Some("--positive LABEL says which label counts as 1"),
            Remedy::ColumnPerClass { .. } => {
                Some("kalmia learns numbers and two-valued labels; make one column for each class")
            }
            _ => None,
        }
    }

    /// The whole message: the error, its causes where they say something new, and a hint.
    pub fn render(&self, command: &Command) -> String {
        let mut text = match self {
            Self::File(FileError::Content { path, problem: Problem::Kind { found, .. } })
                if found == MODEL_SET =>
            {
                format!(
                    "model file {}: a model of several classes, which Python saved and `kalmia.load` reads there; the command has one model a file, of a number or of two classes",
                    path.display()
                )
            }
            _ => self.to_string(),
        };
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let words = error.to_string();
            if !text.contains(&words) {
                text.push_str(&format!(": {words}"));
            }
            cause = error.source();
        }
        if let Some(hint) = self.hint(command) {
            text.push_str(&format!("\nhint: {hint}"));
        }
        text
    }
}

/// A learner's refusal of a row, in terms of the file. `chosen` says that the family was chosen
/// from the first rows.
pub fn locate(error: kalmia::Error, block: &Block, encoder: &Encoder, chosen: bool) -> Failure {
    use kalmia::Error as E;
    let Some(row) = error.row().filter(|&row| row < block.rows()) else { return error.into() };
    let reason = match &error {
        E::Feature { column, value, .. } => {
            let name = encoder.features().get(*column).map_or("?", |feature| &feature.name);
            format!(
                "feature `{name}` is {}: features must be finite, at most 1e120 in size",
                exact(*value)
            )
        }
        E::Target { value, family, expected, .. } => {
            let name = encoder.target().map_or("target", |target| &target.name);
            let hint = match (chosen, *value >= 0.0 && value.fract() == 0.0) {
                (false, _) => String::new(),
                (true, true) => format!(
                    "; {family} was chosen from the first rows: give --family poisson or --family gaussian"
                ),
                (true, false) => {
                    format!("; {family} was chosen from the first rows: give --family gaussian")
                }
            };
            format!(
                "target `{name}` is {}, the {family} family takes {expected}{hint}",
                exact(*value)
            )
        }
        E::RowExtra { name, value, expected, .. } => {
            format!("{name} is {value}, expected {expected}")
        }
        E::Diverged { quantity, value, .. } => {
            format!(
                "the recursion diverged, {quantity} is {value:e}; use --method auto, moment or implicit, which cannot"
            )
        }
        other => other.to_string(),
    };
    Failure::Row { at: block.location(row), reason }
}
