//! The options: how files are read, what the columns are for, and what a missing value does.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, SettingProblem};
use crate::hash::FeatureHash;
use crate::tokens::Analyzer;

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

/// What the columns are for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncoderOptions {
    /// The column to predict; libsvm's is `label` and may be left out.
    pub target: Option<String>,
    /// The label of a two-valued target that counts as 1; by default the larger of the two as text.
    pub positive: Option<String>,
    /// A column of row weights, which multiply the loss.
    pub weight: Option<String>,
    /// A column added to each row's linear predictor.
    pub offset: Option<String>,
    /// The feature columns, in order; by default every column without another role.
    pub features: Option<Vec<String>>,
    /// Columns to leave out.
    pub exclude: Vec<String>,
    /// Columns read as categories even if they hold numbers or dates. Levels are the texts of the
    /// file; typed formats give numbers their shortest text (`1`, not `1.0`).
    pub categorical: Vec<String>,
    /// Whether the first feature is the constant 1.
    pub intercept: bool,
    /// What a missing value does.
    pub missing: Missing,
    /// Further texts that stand for a missing value, besides [`crate::MISSING`]. A text that is a
    /// number, such as `-999`, stands for every way to write that number. Stored with the encoder:
    /// rows that are read later have the same missing values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub na_values: Vec<String>,
    /// Most features accepted; each category level counts as one, hashed features do not count.
    pub max_features: usize,
    /// Columns read as text: each is cut into tokens, and a token is a hashed feature that is 1 if
    /// the row has it, however often. The hash is that of `column=token`. A column with another
    /// role, or excluded, is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// How texts are cut into tokens.
    #[serde(default, skip_serializing_if = "is_default")]
    pub analyzer: Analyzer,
    /// Bits of the hash, 1 to 30. If given, levels of categories (as `column=level`) and libsvm
    /// indices are hashed too, so that the encoder's memory is bounded; there is then no baseline
    /// level, and no level counts as unseen. Text is always hashed, by default with 18 bits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hash_bits: Option<u8>,
    /// Whether rows are sparse.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wide: WideRows,
}

/// Whether blocks have sparse rows, [`crate::Block::sparse`], in place of dense ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WideRows {
    /// Dense rows. Text columns and hash bits are refused.
    #[default]
    Never,
    /// Decided once, before the first block with rows is written: sparse if there is a text column
    /// or hash bits, if that block leads to more than 2000 features, or if a category has more than
    /// 256 levels and a new one at least every fourth row.
    Auto,
    /// Sparse rows from the start.
    Always,
}

/// Bits of the hash of text columns, unless [`EncoderOptions::hash_bits`] says otherwise.
const DEFAULT_HASH_BITS: u8 = 18;

/// Options at their defaults are not stored, as in files of versions without them.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for EncoderOptions {
    fn default() -> Self {
        Self {
            target: None,
            positive: None,
            weight: None,
            offset: None,
            features: None,
            exclude: Vec::new(),
            categorical: Vec::new(),
            intercept: true,
            missing: Missing::Error,
            na_values: Vec::new(),
            max_features: 32_768,
            text: Vec::new(),
            analyzer: Analyzer::default(),
            hash_bits: None,
            wide: WideRows::Never,
        }
    }
}

impl EncoderOptions {
    /// The defaults, with a target.
    pub fn target(name: impl Into<String>) -> Self {
        Self { target: Some(name.into()), ..Self::default() }
    }

    /// The hash of tokens, levels and indices. Fails if its bits are out of range.
    pub(crate) fn hash(&self) -> Result<FeatureHash> {
        FeatureHash::new(self.hash_bits.unwrap_or(DEFAULT_HASH_BITS))
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
