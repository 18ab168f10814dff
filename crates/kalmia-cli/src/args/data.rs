//! Arguments about the files to read.

use crate::error::{Failure, Result};
use clap::{Args, ValueEnum};
use kalmia_data::{Encoder, Missing};

/// Which files, and how their bytes are read.
#[derive(Debug, Clone, Args)]
pub struct SourceArgs {
    /// Files or patterns, in order: CSV, TSV, JSON Lines, Parquet, Arrow, libsvm, also .gz and
    /// .zst; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub data: Vec<String>,
    /// The format, where the name does not tell it (standard input is CSV)
    #[arg(long, value_enum, help_heading = "Reading")]
    pub format: Option<FormatName>,
    /// The field separator of CSV: one character, or `tab`
    #[arg(long, value_name = "CHAR", help_heading = "Reading")]
    pub delimiter: Option<String>,
    /// The first line is data; columns are c1, c2, ...
    #[arg(long, help_heading = "Reading")]
    pub no_header: bool,
}

/// The formats by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatName {
    /// Comma-separated
    Csv,
    /// Tab-separated
    Tsv,
    /// One JSON object a line
    Jsonl,
    /// Apache Parquet
    Parquet,
    /// Arrow IPC, file or stream
    Arrow,
    /// label index:value ...
    Libsvm,
}

/// What a missing value does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MissingChoice {
    /// Stop, naming file, row and column
    Error,
    /// Leave the row out and count it
    Skip,
    /// Take the mean of the rows before, and mark it by a feature of its own
    Mean,
}

impl MissingChoice {
    /// As the readers call it.
    pub fn library(self) -> Missing {
        match self {
            Self::Error => Missing::Error,
            Self::Skip => Missing::Skip,
            Self::Mean => Missing::Mean,
        }
    }
}

/// What a missing value does where a model says it already.
#[derive(Debug, Clone, Args)]
pub struct MissingArgs {
    /// What a missing value does in this run, by default what it did in the fit; `mean` needs a
    /// model fitted with it
    #[arg(long, value_enum, help_heading = "Reading")]
    pub missing: Option<MissingChoice>,
}

impl MissingArgs {
    /// Sets it for this run.
    pub fn apply(&self, encoder: &mut Encoder) -> Result<()> {
        let Some(choice) = self.missing else { return Ok(()) };
        let none = |_| {
            Failure::usage(
                "--missing mean: the model keeps no means, as it was not fitted with --missing mean",
            )
        };
        encoder.set_missing(choice.library()).map_err(none)
    }
}
