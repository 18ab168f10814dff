//! Arguments about the files to read.

use clap::{Args, ValueEnum};

/// Which files, and how their bytes are read.
#[derive(Debug, Clone, Args)]
pub struct SourceArgs {
    /// Files or patterns, in order: CSV, TSV, JSON Lines, Parquet, Arrow, libsvm, also .gz and .zst; `-` is standard input
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
