//! What ends a command early: the message, the hint in terms of the command's options, and the
//! exit code.

use crate::args::Command;
use crate::format::{column_word, counted, shell_word};
use crate::interrupt;
use crate::visible::visible;
use kalmia::Error as LearnerError;
use kalmia::file::{FileError, Problem};
use kalmia::rows::MAX_WEIGHT;
use kalmia_data::{Counts, Error as DataError, Remedy};
use kalmia_model::{
    Error as ModelError, MODEL_SET, Parameter, QUANTILE_MODEL, RowError, number_text,
};
use std::fmt;
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
    /// Data, rows, methods or model files that are refused.
    #[error(transparent)]
    Model(#[from] ModelError),
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
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        ModelError::from(error).into()
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        ModelError::from(error).into()
    }
}

impl From<LearnerError> for Failure {
    fn from(error: LearnerError) -> Self {
        ModelError::from(error).into()
    }
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

    /// The interruption itself, if a read failed because of one before anything was learned.
    pub fn or_stop(self) -> Self {
        match self {
            Self::Model(ModelError::Data(_)) if interrupt::requested() => Self::Interrupted(
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
                let rows = counted(skipped, "row");
                format!(
                    "no row is left: {rows} left out for a missing value; fill the values, or \
                     leave the column out"
                )
            }
        })
    }

    /// 2 if the user's arguments or input are at fault, else 1.
    pub fn code(&self) -> u8 {
        match self {
            Self::Model(ModelError::File(
                FileError::Write { .. } | FileError::Busy { .. } | FileError::Changed { .. },
            )) => 1,
            Self::Usage(_) | Self::Model(_) => 2,
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

    /// The whole message: the error, its causes if they say something new, and a hint.
    pub fn render(&self, command: &Command) -> String {
        let mut text = match self {
            Self::Model(error) => model_text(error, command),
            other => other.to_string(),
        };
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let words = error.to_string();
            if !text.contains(&words) {
                text.push_str(&format!(": {words}"));
            }
            cause = error.source();
        }
        if let Self::Model(error) = self
            && let Some(hint) = hint(error, command)
        {
            text.push_str(&format!("\nhint: {hint}"));
        }
        visible(&text).into_owned()
    }
}

/// An error of the model in terms of the command.
fn model_text(error: &ModelError, command: &Command) -> String {
    match error {
        ModelError::File(FileError::Content { path, problem: Problem::Kind { found, .. } })
            if found == MODEL_SET =>
        {
            format!(
                "model file {}: holds several classes; Python saved it, and `kalmia.load` reads \
                 it there. The command takes models of a number or of two classes",
                path.display()
            )
        }
        ModelError::File(FileError::Content { path, problem: Problem::Kind { found, .. } })
            if found == QUANTILE_MODEL =>
        {
            format!(
                "model file {}: holds several quantiles, which fit --resume, update, predict, \
                 evaluate, inspect and export take",
                path.display()
            )
        }
        ModelError::ParameterNotTaken { parameter, method } => {
            let taken: Vec<_> = method.takes().iter().map(|&p| option(p)).collect();
            let given = option(*parameter);
            format!("--method {method} takes no {given}; it takes {}", taken.join(", "))
        }
        ModelError::Conflict { method, one, other, what } => format!(
            "--method {method} got both {} and {}: each decides {what}, so give one",
            option(*one),
            option(*other)
        ),
        ModelError::StartNotTaken { method } => format!(
            "--method {method} takes no --start; ekf, truncated, implicit, moment and ons take it"
        ),
        ModelError::NoCertificate { method } => format!(
            "--method {method} has no --certificate; ekf, truncated, implicit and moment have it"
        ),
        ModelError::NotConformal => "--interval conformal: the model was fitted without conformal \
                                     intervals; fit it again with `kalmia fit --conformal`"
            .into(),
        ModelError::NoConformal { .. } => format!("--conformal: {error}; leave the option out"),
        ModelError::ConformalLevel { .. } => format!("--level: {error}"),
        ModelError::Learner(LearnerError::Parameter { name, value, expected })
            if command.chooses()
                && let Some(parameter) = Parameter::ALL.into_iter().find(|p| p.name() == *name) =>
        {
            refused_value(&option(parameter), number_text(*value), expected)
        }
        // the only matrix that is chosen is the prior covariance
        ModelError::Learner(LearnerError::NotPositiveDefinite { value, .. })
            if command.chooses() =>
        {
            let given = number_text(*value);
            refused_value(&option(Parameter::Prior), given, "must be a finite number above 0")
        }
        other => other.to_string(),
    }
}

/// What is wrong with the value of an option.
pub fn refused_value(option: &str, value: impl fmt::Display, expected: &str) -> String {
    format!("{option} {value}: {expected}")
}

/// The option that sets a parameter of a method.
pub fn option(parameter: Parameter) -> String {
    format!("--{}", parameter.name().replace('_', "-"))
}

/// The options of the command that help.
fn hint(error: &ModelError, command: &Command) -> Option<String> {
    match error {
        ModelError::Data(error) => remedy_hint(error.remedy()?, command),
        ModelError::Row(error) => row_hint(error, command),
        ModelError::TwoValues { high, .. } => Some(format!(
            "--positive {high} learns the probability of {high}; or --family gaussian"
        )),
        ModelError::Memory { .. } | ModelError::Learner(LearnerError::OutOfMemory { .. }) => {
            Some(memory_hint(command))
        }
        ModelError::NeedsHorizon => Some("give --horizon N".into()),
        ModelError::DispersionNotTaken { family } => {
            let name = family.split(':').next().unwrap_or(family);
            Some(format!("--family {name}, or --method ekf"))
        }
        _ => None,
    }
}

/// How to take less memory.
fn memory_hint(command: &Command) -> String {
    if command.chooses() {
        "--features or --exclude chooses columns; --method ekf needs a sixth of the memory of auto"
    } else {
        "fit a model of fewer columns, with --features or --exclude"
    }
    .into()
}

fn remedy_hint(remedy: Remedy<'_>, command: &Command) -> Option<String> {
    let text = match remedy {
        Remedy::MissingPolicy if command.chooses() => {
            "--missing skip leaves such rows out, --missing mean imputes them"
        }
        Remedy::MissingPolicy if matches!(command, Command::Predict(_)) => {
            "--missing skip leaves the predictions of such rows empty"
        }
        Remedy::MissingPolicy => "--missing skip leaves such rows out",
        Remedy::DecimalComma => "--decimal , reads a decimal comma",
        Remedy::MissingText { value } => {
            let text = na_values(value);
            return Some(match command.chooses() {
                true => format!(
                    "--categorical NAME reads the column as categories, --exclude NAME leaves it \
                     out, {text}"
                ),
                false => text,
            });
        }
        Remedy::MissingNumber { value } => return Some(na_values(value)),
        Remedy::BadRows => "--bad-rows skip leaves such rows out",
        Remedy::NumberTarget { .. } if command.chooses() => {
            "--bad-rows skip leaves such rows out, --family categorical learns classes"
        }
        Remedy::NumberTarget { .. } => "--bad-rows skip leaves such rows out",
        Remedy::DescribeFormat => "--delimiter, --no-header and --format say how to read the file",
        // the options below set what a model has already fixed
        _ if !command.chooses() => return None,
        Remedy::Exclude { column } => {
            return Some(format!("--exclude {} leaves it out", column_word(column)));
        }
        Remedy::NameTarget => "--target NAME says which column to learn",
        Remedy::ChooseColumns => {
            "--features or --exclude chooses columns; --max-features raises the limit"
        }
        Remedy::FewerFeatures { .. } => {
            "--exclude leaves the column out, --max-features raises the limit"
        }
        Remedy::Categorical { .. } => {
            "--categorical NAME reads the column as categories, --exclude NAME leaves it out"
        }
        Remedy::SingleLabel { .. } => {
            "--positive LABEL says which of two labels counts as 1, --family categorical learns \
             several classes; if the rows are sorted by the target, add --shuffle to fit"
        }
        Remedy::Positive { .. } => "--positive LABEL says which label counts as 1",
        Remedy::SeveralClasses { .. } => "--family categorical learns several classes",
        Remedy::Levels { .. } => {
            "--levels low,medium,high gives the order, the lowest first; for numbers, fit \
             --shuffle finds those of all rows"
        }
        _ => return None,
    };
    Some(text.into())
}

/// How to leave out the rows of a value that stands for a missing one.
fn na_values(value: &str) -> String {
    let value = shell_word(value);
    format!("--na-values {value} reads it as missing, --missing skip leaves such rows out")
}

fn row_hint(error: &RowError, command: &Command) -> Option<String> {
    match &error.cause {
        // gaussian takes any number that is not out of range
        LearnerError::Target { value, family, .. }
            if command.infers_family() && *family != "gaussian" =>
        {
            let count = *value >= 0.0 && value.fract() == 0.0;
            let give =
                if count { "--family poisson or --family gaussian" } else { "--family gaussian" };
            Some(format!("{family} was chosen from the first rows: give {give}"))
        }
        LearnerError::RowExtra { name: "weight", value, .. }
            if command.chooses() && *value > MAX_WEIGHT =>
        {
            Some("--weight-kind precision divides the weights by their mean".into())
        }
        LearnerError::Diverged { .. } => {
            Some("--method auto, moment or implicit cannot diverge".into())
        }
        _ => None,
    }
}
