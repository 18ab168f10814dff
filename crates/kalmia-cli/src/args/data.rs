//! Arguments about the files to read.

use super::names::{described, named};
use crate::error::{Failure, Result};
use clap::Args;
use clap::builder::TypedValueParser;
use kalmia_data::{Encoder, Format, Missing};

/// Which files, and how their bytes are read.
#[derive(Debug, Clone, Args)]
pub struct SourceArgs {
    /// Files, read in this order: CSV, TSV, JSON Lines, libsvm (each also .gz or .zst), Parquet or
    /// Arrow; a quoted pattern such as 'day-*.csv' names several, `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub data: Vec<String>,
    /// The format, if the file name does not show it; standard input is CSV by default
    #[arg(long, value_parser = formats(), help_heading = "Reading")]
    pub format: Option<Format>,
    /// The field separator of CSV: one character, or `tab`
    #[arg(long, value_name = "CHAR", help_heading = "Reading")]
    pub delimiter: Option<String>,
    /// The first line is data, not column names; columns are named c1, c2, ...
    #[arg(long, help_heading = "Reading")]
    pub no_header: bool,
}

fn formats() -> impl TypedValueParser<Value = Format> {
    named(Format::ALL.map(|format| {
        let about = match format {
            Format::Csv => "Comma-separated",
            Format::Tsv => "Tab-separated",
            Format::Jsonl => "One JSON object per line",
            Format::Parquet => "Apache Parquet",
            Format::Arrow => "Arrow IPC, file or stream",
            Format::Libsvm => "Lines of the form: label index:value index:value ...",
        };
        described(format.name(), about)
    }))
}

/// The policies for missing values.
pub fn missing() -> impl TypedValueParser<Value = Missing> {
    named(Missing::ALL.map(|missing| {
        let about = match missing {
            Missing::Error => "Stop with an error that names file, row and column",
            Missing::Skip => "Leave the row out and count it",
            Missing::Mean => {
                "Use the mean of the rows before, and add a feature that marks such rows"
            }
        };
        described(missing.name(), about)
    }))
}

/// The policy for missing values in a run with a model, which has its own by default.
#[derive(Debug, Clone, Args)]
pub struct MissingArgs {
    /// What to do with missing values in this run, by default what the fit did; `mean` needs a
    /// model that was fitted with `mean`
    #[arg(long, value_parser = missing(), help_heading = "Reading")]
    pub missing: Option<Missing>,
}

impl MissingArgs {
    /// Sets it for this run.
    pub fn apply(&self, encoder: &mut Encoder) -> Result<()> {
        let Some(missing) = self.missing else { return Ok(()) };
        encoder.set_missing(missing).map_err(|_| {
            Failure::usage(
                "--missing mean: the model was fitted without it and holds no means; use skip",
            )
        })
    }
}
