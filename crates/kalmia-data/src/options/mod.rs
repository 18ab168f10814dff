//! The options: how files are read, what the columns are for, and what a missing value does.

mod encoder;

pub use encoder::{Classes, EncoderOptions, WideRows};

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, SettingProblem};

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Fields separated by commas, or by [`SourceOptions::delimiter`].
    Csv,
    /// Fields separated by tabs.
    Tsv,
    /// One JSON object per line.
    Jsonl,
    /// Apache Parquet (feature `columnar`).
    Parquet,
    /// Arrow IPC, file or stream (feature `columnar`).
    Arrow,
    /// `label index:value ...`; absent indices are zero.
    Libsvm,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 6] =
        [Self::Csv, Self::Tsv, Self::Jsonl, Self::Parquet, Self::Arrow, Self::Libsvm];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Libsvm => "libsvm",
        }
    }

    /// The format that a name's extension stands for, without any `.gz` or `.zst`.
    pub fn from_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let bare =
            lower.strip_suffix(".gz").or_else(|| lower.strip_suffix(".zst")).unwrap_or(&lower);
        match bare.rsplit_once('.')?.1 {
            "csv" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "jsonl" | "ndjson" | "json" => Some(Self::Jsonl),
            "parquet" | "pq" => Some(Self::Parquet),
            "arrow" | "arrows" | "feather" | "ipc" => Some(Self::Arrow),
            "libsvm" | "svm" | "svmlight" => Some(Self::Libsvm),
            _ => None,
        }
    }
}

/// Most rows per block.
pub(crate) const MAX_BLOCK_ROWS: usize = 1 << 24;

/// How the bytes are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceOptions {
    /// The format; by default from the extension, then the first bytes (also those of JSON
    /// Lines), then CSV.
    pub format: Option<Format>,
    /// The field separator of CSV; by default `,` (a tab for TSV), or the one of `;`, tab and `|`
    /// that alone occurs in the first line.
    pub delimiter: Option<u8>,
    /// Whether the first line names the columns; else they are `c1`, `c2`, ...
    pub header: bool,
    /// Rows per block, 1 to 2^24, counted across files; skipped rows count too.
    pub block_rows: usize,
    /// Bytes read at a time.
    pub chunk_bytes: usize,
    /// Longest line (or quoted record) accepted, in bytes.
    pub max_line_bytes: usize,
    /// Most columns accepted in a header.
    pub max_columns: usize,
    /// Whether parsing runs on its own thread, a few blocks ahead of the caller.
    pub threaded: bool,
    /// Further texts that stand for a missing value in this reading, besides [`crate::MISSING`]
    /// and [`EncoderOptions::na_values`].
    pub na_values: Vec<String>,
    /// Whether numbers have a decimal comma, as in `1,5` (CSV and TSV). A number with a point is
    /// then refused, because it may mean thousands.
    pub decimal_comma: bool,
    /// What a row does that cannot be read.
    pub bad_rows: BadRows,
    /// The first rows alone, over all inputs.
    pub limit: Option<u64>,
    /// Lines that start with this character are no rows (CSV and TSV).
    pub comment: Option<u8>,
    /// Lines before the header, or before the first row, that are passed over (CSV and TSV).
    pub skip_lines: u64,
}

/// What a row does that cannot be read: a wrong number of fields, a text among numbers, a line that
/// is no JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BadRows {
    /// The reading ends with an error.
    #[default]
    Refuse,
    /// The row is left out and counted; see [`crate::Reader::left_out`].
    Skip,
}

impl BadRows {
    /// All policies.
    pub const ALL: [Self; 2] = [Self::Refuse, Self::Skip];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Skip => "skip",
        }
    }
}

impl FromStr for BadRows {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|policy| policy.name() == name);
        Ok(known.ok_or_else(|| unknown(name, "policy for bad rows", "refuse and skip"))?)
    }
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self {
            format: None,
            delimiter: None,
            header: true,
            block_rows: 1024,
            chunk_bytes: 1 << 20,
            max_line_bytes: 64 << 20,
            max_columns: 1 << 20,
            threaded: true,
            na_values: Vec::new(),
            decimal_comma: false,
            bad_rows: BadRows::Refuse,
            limit: None,
            comment: None,
            skip_lines: 0,
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|format| format.name() == name);
        let legal = "csv, tsv, jsonl, parquet, arrow and libsvm";
        Ok(known.ok_or_else(|| unknown(name, "format", legal))?)
    }
}

fn unknown(name: &str, what: &'static str, legal: &'static str) -> SettingProblem {
    SettingProblem::UnknownName { name: name.into(), what, legal }
}

/// What a missing value does to its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// The row is an error.
    #[default]
    Error,
    /// The row is left out and counted.
    Skip,
    /// The value is replaced by the mean of the rows before it (0 before any; no level for a
    /// category), and a feature `name:missing` is 1. A row whose target, weight or offset is
    /// missing is left out and counted.
    Mean,
}

impl Missing {
    /// All policies.
    pub const ALL: [Self; 3] = [Self::Error, Self::Skip, Self::Mean];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Skip => "skip",
            Self::Mean => "mean",
        }
    }
}

impl FromStr for Missing {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|missing| missing.name() == name);
        let legal = "error, skip and mean";
        Ok(known.ok_or_else(|| unknown(name, "policy for missing values", legal))?)
    }
}

/// What rows are read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// New levels become features; the target must be there.
    Learn,
    /// The schema is fixed: unseen levels are counted per row and encoded as zero. The target may
    /// be absent.
    Predict,
    /// As [`Mode::Predict`], but the target must be there: rows without one are treated as in
    /// [`Mode::Learn`].
    Evaluate,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_and_others_list_the_legal_ones() {
        for format in Format::ALL {
            assert_eq!(format.name().parse::<Format>().unwrap(), format);
        }
        for missing in Missing::ALL {
            assert_eq!(missing.name().parse::<Missing>().unwrap(), missing);
        }
        for policy in BadRows::ALL {
            assert_eq!(policy.name().parse::<BadRows>().unwrap(), policy);
        }
        let error = "xml".parse::<Format>().unwrap_err().to_string();
        assert!(Format::ALL.iter().all(|format| error.contains(format.name())), "{error}");
        let error = "drop".parse::<Missing>().unwrap_err().to_string();
        assert!(Missing::ALL.iter().all(|missing| error.contains(missing.name())), "{error}");
    }
}
