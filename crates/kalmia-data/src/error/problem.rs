//! The details of an error, one type per kind of thing that is at fault.

use std::fmt;

use super::excerpt;
use crate::options::MAX_BLOCK_ROWS;

/// Why an input cannot be read in its format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatProblem {
    /// libsvm and a format with named columns were given together.
    #[error("libsvm and files with named columns cannot be mixed")]
    Mixed,
    /// The crate was built without the feature that reads this format.
    #[error("this build reads no Parquet or Arrow; build it with the feature `columnar`")]
    NotBuilt,
    /// Parquet was given as a stream.
    #[error("Parquet is read from its end and needs a file; save it first, or use Arrow IPC")]
    NotSeekable,
    /// An option for separated text was given for another format.
    #[error("a decimal comma, comments and lines to skip are for CSV and TSV only")]
    NotSeparated,
    /// The text is UTF-16.
    #[error("is encoded as UTF-16; convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW")]
    Utf16,
    /// JSON Lines were expected.
    #[error(
        "one object per line is expected, this is an array; convert it with: jq -c '.[]' {file}"
    )]
    JsonArray {
        /// The file as it was named.
        file: String,
    },
    /// The file is compressed by bzip2.
    #[error("is compressed with bzip2, which is not read; pipe it: bzcat FILE | ... -")]
    Bzip2,
    /// The file is compressed by xz.
    #[error("is compressed with xz, which is not read; pipe it: xzcat FILE | ... -")]
    Xz,
    /// The file is a zip archive.
    #[error("is a zip archive, which is not read; unpack it, or pipe it: unzip -p FILE | ... -")]
    Zip,
    /// The file is a spreadsheet.
    #[error("is a spreadsheet, which is not read; save it as CSV (UTF-8)")]
    Spreadsheet,
    /// The file is a model.
    #[error("is a model file, not rows; give the files to learn from or to predict")]
    Model,
    /// A stream of record batches was opened a second time.
    #[error("these record batches were read already; give a new stream")]
    Consumed,
}

/// How an input differs from what an earlier reading saw.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Change {
    /// It was given then and is not given now.
    #[error("it is no longer given")]
    Dropped,
    /// It is given now and was not given then.
    #[error("it was not given then")]
    Added,
    /// Another input is in its place.
    #[error("another name is in its place")]
    Name,
    /// Its size differs.
    #[error("{then} bytes then, {now} bytes now")]
    Size {
        /// Bytes at the earlier reading.
        then: u64,
        /// Bytes now.
        now: u64,
    },
    /// Its size is the same and its bytes differ.
    #[error("its bytes differ")]
    Content,
    /// It ends before the row to resume from.
    #[error("it has fewer than {rows} rows")]
    Rows {
        /// Rows read of it earlier.
        rows: u64,
    },
}

/// Why a header cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderProblem {
    /// Two columns have the same name.
    #[error("the header names column `{}` twice; rename one of them", excerpt(.name.as_bytes()))]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A column stands there under both of its names.
    #[error("column `{column}` is there twice, also as `{name}`; leave one of them out")]
    Alias {
        /// The second name found.
        name: String,
        /// The column.
        column: String,
    },
    /// There are more columns than [`crate::SourceOptions::max_columns`].
    #[error("the header has more than {limit} columns")]
    TooManyColumns {
        /// The limit.
        limit: usize,
    },
    /// A name is not UTF-8 text.
    #[error(
        "the header is not UTF-8 text; if it is Latin-1, convert it: iconv -f LATIN1 -t UTF-8 FILE \
         > NEW"
    )]
    NotText,
    /// The first rows of JSON Lines hold no object with members.
    #[error("no JSON object with members; one object per line is expected")]
    NoMembers,
}

/// Which options are missing, out of range or contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingProblem {
    /// No target is named, and the format has none of its own.
    #[error("name the target column")]
    NoTarget,
    /// There are more feature columns than [`crate::EncoderOptions::max_features`].
    #[error("{file} has {found} feature columns, more than {limit}; choose some of them")]
    TooManyFeatureColumns {
        /// The first input.
        file: String,
        /// Feature columns found.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// No format, or no policy for missing values, has this name.
    #[error("`{name}` is no {what}; give one of {legal}")]
    UnknownName {
        /// The name given.
        name: String,
        /// What was to be named.
        what: &'static str,
        /// The legal names.
        legal: &'static str,
    },
    /// The choice of columns leaves nothing to learn from.
    #[error("{file}: no feature column is left, and there is no intercept")]
    NoFeatures {
        /// The first input.
        file: String,
    },
    /// One column has two roles, or is listed twice.
    #[error("column `{column}` is {}", twice(.one, .other))]
    TwoRoles {
        /// The column.
        column: String,
        /// What it is, as in `the target`.
        one: &'static str,
        /// What it is, too.
        other: &'static str,
    },
    /// The two labels of a declared target are equal, or one of them stands for a missing value.
    #[error("`{negative}` and `{positive}` cannot be the two labels of a target; give two texts")]
    Labels {
        /// The label to be coded 0.
        negative: String,
        /// The label to be coded 1.
        positive: String,
    },
    /// A declared class is like another, or stands for a missing value.
    #[error("`{name}` cannot be a class: it is like another one, or stands for a missing value")]
    Class {
        /// Its name.
        name: String,
    },
    /// Too few ordered levels, or too many.
    #[error(
        "{found} ordered levels, but a target has 2 to {limit}: give them, the lowest first, or \
         use another family if the target is an amount"
    )]
    Levels {
        /// How many there are.
        found: usize,
        /// Most levels accepted.
        limit: usize,
    },
    /// [`crate::EncoderOptions::hash_bits`] is out of range.
    #[error(
        "{bits} hash bits: give 1 to 30; hashed features share 2^bits weights, so each bit more \
         doubles the memory and halves the share of features that collide"
    )]
    HashBits {
        /// The value given.
        bits: u8,
    },
    /// A text names no way to cut texts into tokens.
    #[error(
        "`{}` is no analyzer; give `words`, `words:2` (runs of up to 2 words, at most 16) or \
         `characters:2-4` (pieces of 2 to 4 characters, at most 16)",
        excerpt(.text.as_bytes())
    )]
    Analyzer {
        /// The text given.
        text: String,
    },
    /// Text or hashed features were asked for of an encoder whose rows are dense.
    #[error("{what} need sparse rows; use the method auto or wide")]
    NeedsWide {
        /// `text columns` or `hash bits`.
        what: &'static str,
    },
    /// Means were asked for of an encoder that keeps none.
    #[error(
        "missing values cannot become means: none were kept when the rows were learned; learn \
         again with `Missing::Mean`"
    )]
    NoMeans,
    /// [`crate::SourceOptions::block_rows`] is out of range.
    #[error("blocks or tables of {rows} rows: give 1 to {MAX_BLOCK_ROWS}")]
    BlockRows {
        /// The value given.
        rows: usize,
    },
    /// An encoder without a schema was asked to predict.
    #[error("an encoder that has seen no rows cannot predict; learn from some rows first")]
    NothingLearned,
    /// A block was asked for with another encoder than the one the reader was opened with.
    #[error("the encoder is not the one that this reader was opened with")]
    OtherEncoder,
    /// A table was given to an encoder with other columns, or to another table.
    #[error("the rows were read for other columns; read them with this encoder's table schema")]
    OtherTable,
    /// Targets were given for another number of rows.
    #[error("{found} targets for {rows} rows")]
    TargetRows {
        /// Rows of the table.
        rows: usize,
        /// Targets given.
        found: usize,
    },
    /// Rows were to be skipped after the first block.
    #[error("rows can be skipped only before the first block")]
    TooLate,
    /// The numbers of a position contradict each other.
    #[error("no position has {rows} rows of which {row} in one file")]
    Position {
        /// Rows over all inputs.
        rows: u64,
        /// Rows in the last one.
        row: u64,
    },
    /// A limit on rows was given for inputs that are to be cut into parts.
    #[error(
        "a limit counts the rows of all inputs in order and cannot hold for parts that are read at \
         the same time; leave out the limit, or read a single part"
    )]
    LimitOfParts,
    /// Standard input is named twice.
    #[error("standard input (`-`) can be named only once")]
    StdinTwice,
    /// A pattern of file names cannot be parsed.
    #[error("pattern `{pattern}`: {reason}")]
    Pattern {
        /// The pattern given.
        pattern: String,
        /// What its parser reported.
        reason: String,
    },
    /// The field separator is a character that values may contain.
    #[error("`{}` cannot separate fields", .delimiter.escape_debug())]
    Delimiter {
        /// The separator given.
        delimiter: char,
    },
}

/// Why a row cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowProblem {
    /// A CSV field continues after its closing quote.
    #[error("text after a closing quote; write a quote inside a quoted field twice")]
    TextAfterQuote,
    /// A CSV field is never closed.
    #[error("a quoted field is never closed")]
    OpenQuote,
    /// A JSON line does not parse.
    #[error("not a JSON object of plain values: {reason}")]
    Json {
        /// What the JSON parser reported.
        reason: String,
    },
    /// A value is in another encoding.
    #[error("column `{column}` is not valid UTF-8; convert the file, for example with iconv")]
    NotUtf8 {
        /// The column.
        column: String,
    },
    /// A libsvm entry cannot be used.
    #[error("`{entry}` {problem}")]
    Entry {
        /// The entry, cut when long.
        entry: String,
        /// What is wrong with it.
        problem: EntryProblem,
    },
    /// The values of several libsvm indices with the same hash add up to more than a number holds.
    #[error(
        "the values of hashed indices add up to a number that is not finite; use more hash bits"
    )]
    HashedSum,
    /// The rows of one block hold more text than memory should.
    #[error("the rows of one block hold more than {limit} bytes; read fewer rows per block")]
    BlockTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The texts of one column and block are longer than the limit.
    #[error(
        "the texts of column `{column}` in this and the next rows are too long to be held; \
         exclude the column"
    )]
    TextsTooLong {
        /// The column.
        column: String,
    },
}

/// What is wrong with an `index:value` pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryProblem {
    /// It does not parse.
    #[error("is not an `index:value` pair")]
    NotAPair,
    /// Its index is not above the one before.
    #[error("is out of order: indices must ascend within a row")]
    NotAscending,
    /// Its index does not fit beside the named features of a sparse row.
    #[error("has an index of 2^31 or more; renumber the indices, or hash them (hash bits)")]
    IndexTooLarge,
    /// Its index has more than 32 bits.
    #[error("has an index of 2^32 or more; renumber the indices")]
    IndexOutOfRange,
    /// Its value is missing or infinite.
    #[error("has a value that is missing or not finite")]
    NotFinite,
}

/// Why a column cannot hold a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueProblem {
    /// A text among the first rows, nine in ten of which are numbers.
    #[error(
        "is not a number, though most values of the column are; fix the value, read the column as \
         categorical, or exclude it"
    )]
    MixedNumbers,
    /// A text in a column that the first rows showed to be numbers.
    #[error(
        "is not a number, unlike the values before it; fix the value, read the column as \
         categorical, or exclude it"
    )]
    NotANumber,
    /// A text among the targets, which are numbers.
    #[error("is not a number, unlike other targets; fix the value, or leave its row out")]
    Target,
    /// A number with a point where numbers have a decimal comma.
    #[error(
        "has a decimal point, but numbers are read with a decimal comma; fix the value, or read \
         the column as categorical"
    )]
    DecimalPoint,
    /// A text in the column of weights or offsets.
    #[error(
        "is not a number, but the column gives the {what}; fix the value, or name another column"
    )]
    Role {
        /// `weights` or `offsets`.
        what: &'static str,
    },
    /// Neither true nor false, in a column of truth values.
    #[error(
        "is neither true nor false, unlike the values before it; fix the value, or read the \
         column as categorical"
    )]
    NotABoolean,
    /// An infinite number, or one that is too large.
    #[error("is not a finite number; fix the value, or say that it stands for a missing one")]
    NotFinite,
    /// A finite number that no learner takes.
    #[error("is out of range: numbers are at most 1e120 in size; fix the value, or drop its row")]
    TooLarge,
    /// A third label.
    #[error("is a third value of a two-valued target")]
    ThirdLabel,
    /// A class that no learned row had.
    #[error("is a class that the model has not learned; learn rows of it first")]
    UnknownClass,
    /// A level that is not in the order of the target's levels.
    #[error(
        "is not among the levels of the target, whose order is fixed; learn again with the order \
         of all levels"
    )]
    UnknownLevel,
    /// One class too many.
    #[error("is a new class, and there are {limit} already: is this column the target?")]
    TooManyClasses {
        /// Most classes accepted.
        limit: usize,
    },
}

/// Why a column cannot be a feature or a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnProblem {
    /// It holds dates or times.
    #[error(
        "dates and times are not encoded as they are; turn the column into numbers (days since a \
         start, hour of the day) or into a category (month, weekday), or exclude it{}",
        if *.as_text { "; as it is, it can be read as categorical" } else { "" }
    )]
    Temporal {
        /// Whether they are texts, which can also be read as categories.
        as_text: bool,
    },
    /// Its type is not a number, a truth value or a text.
    #[error("values of type {data_type} cannot be features; convert the column, or exclude it")]
    Type {
        /// The type, in the words of the format.
        data_type: String,
    },
    /// The header has no name for it, and the first rows have no value.
    #[error("column {place} has no name in the header, and the first rows are empty there")]
    Unnamed {
        /// Its place, from 1.
        place: usize,
    },
    /// It is compressed in a way that is not built in.
    #[error(
        "is compressed with {codec}, which is not read; write the file with zstd, snappy, gzip or \
         lz4"
    )]
    Codec {
        /// The compression.
        codec: String,
    },
    /// A target of texts that are numbers in another notation.
    #[error(
        "most values look like numbers with a comma (`{example}`); write them with a point, or \
         read them with a decimal comma"
    )]
    DecimalComma {
        /// One of them.
        example: String,
    },
    /// A target of texts with more than two of them.
    #[error("a text target must have two values, this one has more ({labels}, ...)")]
    NotTwoLabels {
        /// The first three.
        labels: Labels,
    },
    /// A target of texts with one value in the first rows, which may be either of the two.
    #[error(
        "the target has a single value in the first rows ({labels}); say which label is positive"
    )]
    AmbiguousLabels {
        /// The values found, one or none.
        labels: Labels,
    },
    /// A target of texts with one value in all rows.
    #[error(
        "the target is {labels} in all rows, so there is nothing to learn; add rows of another \
         value, or name another target"
    )]
    SameLabel {
        /// The value.
        labels: Labels,
    },
    /// Ordered levels whose order the first rows do not show.
    #[error(
        "the order of the levels {labels} is not known: it is that of numbers, of which the first \
         rows must have two or more; give all levels, the lowest first"
    )]
    UnorderedLevels {
        /// The first of them.
        labels: Labels,
    },
    /// The positive label does not occur, and two others do.
    #[error("the positive label `{positive}` is not among the target's values {labels}")]
    UnknownPositive {
        /// The label given.
        positive: String,
        /// The two values found.
        labels: Labels,
    },
}

/// Two roles of a column in words.
fn twice(one: &str, other: &str) -> String {
    match one == other {
        true => format!("named twice as {one}; name it once"),
        false => format!("both {one} and {other}; give it one of the two roles"),
    }
}

/// Values of a target, sorted; shown in back quotes and separated by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels(pub Vec<String>);

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, label) in self.0.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}`{}`", excerpt(label.as_bytes()))?;
        }
        Ok(())
    }
}
