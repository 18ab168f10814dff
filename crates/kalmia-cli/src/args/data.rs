//! Arguments about the files to read.

use super::names::{described, named};
use crate::error::{Failure, Result};
use clap::Args;
use clap::builder::TypedValueParser;
use kalmia_data::{Encoder, Format, Missing};

/// Which files, and how their bytes are read.
#[derive(Debug, Clone, Args)]
pub struct SourceArgs {
    /// Files or patterns, in order: CSV, TSV, JSON Lines, Parquet, Arrow, libsvm, also .gz and
    /// .zst; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub data: Vec<String>,
    /// The format, if the name does not show it (standard input is CSV)
    #[arg(long, value_parser = formats(), help_heading = "Reading")]
    pub format: Option<Format>,
    /// The field separator of CSV: one character, or `tab`
    #[arg(long, value_name = "CHAR", help_heading = "Reading")]
    pub delimiter: Option<String>,
    /// The first line is data; columns are c1, c2, ...
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
            Format::Libsvm => "label index:value ...",
        };
        described(format.name(), about)
    }))
}

/// What a missing value may do.
pub fn missing() -> impl TypedValueParser<Value = Missing> {
    named(Missing::ALL.map(|missing| {
        let about = match missing {
            Missing::Error => "Stop, naming file, row and column",
            Missing::Skip => "Leave the row out and count it",
            Missing::Mean => "Use the mean of the rows before, marked by a feature of its own",
        };
        described(missing.name(), about)
    }))
}

/// What a missing value does in a run with a model, which has a policy already.
#[derive(Debug, Clone, Args)]
pub struct MissingArgs {
    /// What a missing value does in this run, by default what it did in the fit; `mean` needs a
    /// model fitted with it
    #[arg(long, value_parser = missing(), help_heading = "Reading")]
    pub missing: Option<Missing>,
}

impl MissingArgs {
    /// Sets it for this run.
    pub fn apply(&self, encoder: &mut Encoder) -> Result<()> {
        let Some(missing) = self.missing else { return Ok(()) };
        encoder.set_missing(missing).map_err(|_| {
            Failure::usage("--missing mean: the model was fitted without it and holds no means")
        })
    }
}
