//! What can go wrong between a file and a block, named after the file, row, line and column at
//! fault.

use std::fmt;

/// The result of every fallible call of the crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Where a row stands in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file as it was named, `-` for standard input.
    pub file: String,
    /// Data row within the file, from 1, the header not counted.
    pub row: u64,
    /// Line within the file, from 1, where the format has lines.
    pub line: Option<u64>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, row {}", self.file, self.row)?;
        self.line.map_or(Ok(()), |line| write!(f, " (line {line})"))
    }
}

/// A file, row or column that cannot be used, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("{file}: {source}")]
    Io {
        /// The file as it was named.
        file: String,
        /// What the system said.
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
    #[error("{file} has no data rows; nothing can be learned from it")]
    NoRows {
        /// The first file as it was named.
        file: String,
    },
    /// The format cannot be read from this source or in this build.
    #[error("{file}: {reason}")]
    Format {
        /// The file as it was named.
        file: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The file changed since it was first read.
    #[error("{file} has changed since it was first read ({what}); start again without resuming")]
    Changed {
        /// The file as it was named.
        file: String,
        /// What differs.
        what: String,
    },
    /// The header cannot be used.
    #[error("{file}: {reason}")]
    Header {
        /// The file as it was named.
        file: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A column that was asked for is not in the file.
    #[error("{file} has no column `{name}`{hint}")]
    NoColumn {
        /// The file as it was named.
        file: String,
        /// The column asked for.
        name: String,
        /// The nearest name or another hint, starting with punctuation; may be empty.
        hint: String,
    },
    /// The settings contradict each other or lack something.
    #[error("{0}")]
    Setting(String),
    /// The row is not well formed.
    #[error("{at}: {reason}")]
    Row {
        /// The row.
        at: Location,
        /// Why, and what to do.
        reason: String,
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
    #[error("{at}: longer than {limit} bytes{hint}")]
    LineTooLong {
        /// The row.
        at: Location,
        /// The limit in bytes.
        limit: usize,
        /// The likely cause, starting with punctuation; may be empty.
        hint: &'static str,
    },
    /// A missing value under [`crate::Missing::Error`].
    #[error(
        "{at}, column `{column}`: missing value; skip such rows (`missing = skip`) or impute them (`missing = mean`)"
    )]
    MissingValue {
        /// The row.
        at: Location,
        /// The column.
        column: String,
    },
    /// A value that its column cannot hold.
    #[error("{at}, column `{column}`: `{value}` {reason}")]
    Value {
        /// The row.
        at: Location,
        /// The column.
        column: String,
        /// The value as text, cut when long.
        value: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A column whose type cannot be a feature.
    #[error("{file}, column `{column}`: {reason}")]
    Column {
        /// The file as it was named.
        file: String,
        /// The column.
        column: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The features would outgrow the limit.
    #[error(
        "{at}, column `{column}`: more than {limit} features; exclude columns with many levels, or raise the limit"
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
        /// What its decoder said.
        reason: String,
    },
}

impl Error {
    /// The row at fault, where there is one.
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
}

/// `value` as text fit for a message: lossy, cut after 60 characters.
pub(crate) fn excerpt(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(&value[..value.len().min(256)]);
    let mut cut: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().count() > 60 || value.len() > 256 {
        cut.push_str("...");
    }
    cut
}

/// A hint naming the candidate nearest to `name` by edit distance, or nothing when none is near.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).max(1);
    // A bound on the candidates keeps a hostile header of a million names cheap.
    candidates
        .take(10_000)
        .filter(|c| c.len() <= 4 * name.len() + 8)
        .map(|c| (distance(&name.to_lowercase(), &c.to_lowercase()), c))
        .filter(|&(d, _)| d <= allowed)
        .min_by_key(|&(d, _)| d)
        .map(|(_, c)| c)
}

/// Edit distance where swapping neighbours counts one (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    (0..=b.len()).for_each(|j| rows[0][j] = j);
    for i in 1..=a.len() {
        rows[i][0] = i;
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_the_typo_and_refuses_strangers() {
        let names = ["late", "distance", "origin"];
        assert_eq!(nearest("lat", names.into_iter()), Some("late"));
        assert_eq!(nearest("Distnace", names.into_iter()), Some("distance"));
        assert_eq!(nearest("price", names.into_iter()), None);
    }

    #[test]
    fn excerpts_are_cut_and_escaped() {
        assert_eq!(excerpt(b"a\0b"), "a\\0b");
        assert_eq!(excerpt(&[b'x'; 500]).len(), 63);
    }
}
