//! What can go wrong between a file and a block: where (file, row, line, column), what, and the
//! remedy that a caller can offer.

mod hint;
mod problem;
mod union;

use std::fmt;

pub(crate) use hint::excerpt;
pub use hint::{NameHint, nearest};
pub use problem::{
    Change, ColumnProblem, EntryProblem, FormatProblem, HeaderProblem, Labels, RowProblem,
    SettingProblem, ValueProblem,
};
pub use union::UnionProblem;

/// The result of every fallible call of the crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Where a row stands in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file as it was named, `-` for standard input.
    pub file: String,
    /// Data row within the file, from 1, the header not counted.
    pub row: u64,
    /// Line within the file, from 1, if the format has lines.
    pub line: Option<u64>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, row {}", self.file, self.row)?;
        self.line.map_or(Ok(()), |line| write!(f, " (line {line})"))
    }
}

/// A file, row or column that cannot be used.
///
/// The message says what is wrong and where. [`Error::remedy`] says which option helps, for a
/// caller to word in its own terms.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("{file}: {source}")]
    Io {
        /// The file as it was named.
        file: String,
        /// What the system reported.
        #[source]
        source: std::io::Error,
    },
    /// The name is that of a folder.
    #[error("{file} is a folder; name its files, for example `{file}/*.csv`")]
    Folder {
        /// The name given.
        file: String,
    },
    /// No input was named, or a pattern matches nothing.
    #[error("no file matches `{pattern}`")]
    NoMatch {
        /// The pattern given.
        pattern: String,
    },
    /// The file holds nothing, not even a header.
    #[error("{file} is empty")]
    Empty {
        /// The file as it was named.
        file: String,
    },
    /// The input has a header but no data row.
    #[error("{file} has no data rows; give at least one")]
    NoRows {
        /// The first file as it was named.
        file: String,
    },
    /// There are more rows than a caller of [`crate::Table::read`] allows.
    #[error("{file} has more than {limit} rows; give fewer rows at a time")]
    TooManyRows {
        /// The input as it was named.
        file: String,
        /// The limit.
        limit: usize,
    },
    /// The format cannot be read from this source or in this build.
    #[error("{file}: {problem}")]
    Format {
        /// The file as it was named.
        file: String,
        /// Why not.
        problem: FormatProblem,
    },
    /// The file changed since it was first read.
    #[error("{file} has changed since it was first read ({change}); start again without resuming")]
    Changed {
        /// The file as it was named.
        file: String,
        /// What differs.
        change: Change,
    },
    /// The header cannot be used.
    #[error("{file}: {problem}")]
    Header {
        /// The file as it was named.
        file: String,
        /// Why not.
        problem: HeaderProblem,
    },
    /// A column that was asked for is not in the file.
    #[error("{file} has no column `{name}`; {hint}")]
    NoColumn {
        /// The file as it was named.
        file: String,
        /// The column asked for.
        name: String,
        /// The likely reason.
        hint: NameHint,
    },
    /// The options contradict each other or lack something.
    #[error(transparent)]
    Setting(#[from] SettingProblem),
    /// Encoders cannot become one.
    #[error(transparent)]
    Union(#[from] UnionProblem),
    /// The row is not well formed.
    #[error("{at}: {problem}")]
    Row {
        /// The row.
        at: Location,
        /// Why not.
        problem: RowProblem,
    },
    /// A row has the wrong number of fields.
    #[error("{at}: {found} fields where the header has {expected}")]
    Ragged {
        /// The row.
        at: Location,
        /// Fields in the header.
        expected: usize,
        /// Fields in the row.
        found: usize,
    },
    /// A line is longer than the limit.
    #[error(
        "{at}: longer than {limit} bytes{}",
        if *.may_be_quote {
            "; a quote may never be closed, or the file has other line ends"
        } else {
            ""
        }
    )]
    LineTooLong {
        /// The row.
        at: Location,
        /// The limit in bytes.
        limit: usize,
        /// Whether the format has quotes, one of which may be open.
        may_be_quote: bool,
    },
    /// A missing value under [`crate::Missing::Error`].
    #[error("{at}, column `{column}`: missing value")]
    MissingValue {
        /// The row.
        at: Location,
        /// The column.
        column: String,
    },
    /// A value that its column cannot hold.
    #[error("{at}, column `{column}`: `{value}` {problem}")]
    Value {
        /// The row.
        at: Location,
        /// The column.
        column: String,
        /// The value as text, cut when long.
        value: String,
        /// Why not.
        problem: ValueProblem,
    },
    /// A column that cannot be a feature or a target.
    #[error("{file}, column `{column}`: {problem}")]
    Column {
        /// The file as it was named.
        file: String,
        /// The column.
        column: String,
        /// Why not.
        problem: ColumnProblem,
    },
    /// The features would outgrow the limit.
    #[error(
        "{at}, column `{column}`: more than {limit} features; exclude columns with many levels, \
         or raise the limit"
    )]
    TooManyFeatures {
        /// The row.
        at: Location,
        /// The column whose feature is one too many.
        column: String,
        /// The limit.
        limit: usize,
    },
    /// A binary file is damaged.
    #[error("{file}: not readable as {format}: {reason}")]
    Corrupt {
        /// The file as it was named.
        file: String,
        /// The format tried.
        format: &'static str,
        /// What its decoder reported.
        reason: String,
    },
}

/// What the user can change to make the data readable; each front end words it in its own
/// options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy<'a> {
    /// Name the target column.
    NameTarget,
    /// Name fewer feature columns, or raise the limit on features.
    ChooseColumns,
    /// Exclude a column with many levels, or raise the limit on features.
    FewerFeatures {
        /// The column.
        column: &'a str,
    },
    /// Say how the file is to be read: delimiter, header, format.
    DescribeFormat,
    /// Skip the rows with missing values, or impute them.
    MissingPolicy,
    /// Read a column as categories, or exclude it.
    Categorical {
        /// The column.
        column: &'a str,
    },
    /// Leave a column out.
    Exclude {
        /// The column.
        column: &'a str,
    },
    /// Read numbers with a decimal comma.
    DecimalComma,
    /// Say that a text stands for a missing value.
    MissingText {
        /// The text.
        value: &'a str,
    },
    /// Say that a value among numbers stands for a missing one.
    MissingNumber {
        /// The value.
        value: &'a str,
    },
    /// Leave out the rows that cannot be read.
    BadRows,
    /// Leave out rows whose target is no number, or learn several classes.
    NumberTarget {
        /// The target.
        column: &'a str,
    },
    /// Say which label of the target counts as 1, or learn several classes: the first rows show
    /// only one, as in a file that is sorted by the target.
    SingleLabel {
        /// The target.
        column: &'a str,
    },
    /// Say which label of the target counts as 1.
    Positive {
        /// The target.
        column: &'a str,
    },
    /// Learn several classes.
    SeveralClasses {
        /// The target.
        column: &'a str,
    },
    /// Give the levels of the target in their order.
    Levels {
        /// The target.
        column: &'a str,
    },
}

impl Error {
    /// The row at fault, if there is one.
    pub fn location(&self) -> Option<&Location> {
        match self {
            Error::Row { at, .. }
            | Error::Ragged { at, .. }
            | Error::LineTooLong { at, .. }
            | Error::MissingValue { at, .. }
            | Error::Value { at, .. }
            | Error::TooManyFeatures { at, .. } => Some(at),
            _ => None,
        }
    }

    /// The option that helps, if there is one; an error without a remedy calls for other data.
    pub fn remedy(&self) -> Option<Remedy<'_>> {
        match self {
            Error::Setting(SettingProblem::NoTarget) => Some(Remedy::NameTarget),
            Error::Setting(SettingProblem::TooManyFeatureColumns { .. }) => {
                Some(Remedy::ChooseColumns)
            }
            Error::TooManyFeatures { column, .. } => Some(Remedy::FewerFeatures { column }),
            Error::NoColumn { .. } => Some(Remedy::DescribeFormat),
            Error::MissingValue { .. } => Some(Remedy::MissingPolicy),
            Error::Ragged { .. } => Some(Remedy::BadRows),
            Error::Value { value, problem: ValueProblem::NotFinite, .. } => {
                Some(Remedy::MissingNumber { value })
            }
            Error::Value { value, problem: ValueProblem::Target, .. }
                if crate::scalar::is_placeholder(value.as_bytes()) =>
            {
                Some(Remedy::MissingNumber { value })
            }
            Error::Value { value, problem: ValueProblem::MixedNumbers, .. }
                if crate::scalar::is_placeholder(value.as_bytes()) =>
            {
                Some(Remedy::MissingText { value })
            }
            Error::Value { column, problem, .. } => match problem {
                ValueProblem::MixedNumbers
                | ValueProblem::DecimalPoint
                | ValueProblem::NotANumber
                | ValueProblem::NotABoolean => Some(Remedy::Categorical { column }),
                ValueProblem::Target => Some(Remedy::NumberTarget { column }),
                ValueProblem::ThirdLabel => Some(Remedy::SeveralClasses { column }),
                ValueProblem::UnknownLevel => Some(Remedy::Levels { column }),
                ValueProblem::NotFinite
                | ValueProblem::UnknownClass
                | ValueProblem::TooManyClasses { .. }
                | ValueProblem::Role { .. }
                | ValueProblem::TooLarge => None,
            },
            Error::Column { column, problem, .. } => match problem {
                ColumnProblem::Temporal { as_text: true } => Some(Remedy::Categorical { column }),
                ColumnProblem::AmbiguousLabels { .. } => Some(Remedy::SingleLabel { column }),
                ColumnProblem::UnknownPositive { .. } => Some(Remedy::Positive { column }),
                ColumnProblem::NotTwoLabels { .. } => Some(Remedy::SeveralClasses { column }),
                ColumnProblem::UnorderedLevels { .. } => Some(Remedy::Levels { column }),
                ColumnProblem::Unnamed { .. } => Some(Remedy::Exclude { column }),
                ColumnProblem::DecimalComma { .. } => Some(Remedy::DecimalComma),
                ColumnProblem::Temporal { as_text: false }
                | ColumnProblem::Type { .. }
                | ColumnProblem::Codec { .. }
                | ColumnProblem::SameLabel { .. } => None,
            },
            _ => None,
        }
    }
}
