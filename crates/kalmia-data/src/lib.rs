//! Readers, schema and encoder: from files to blocks of numbers, in the order of the file and in
//! bounded memory.
//!
//! ```text
//! Input     file, pattern, standard input, memory or record batches; gzip and zstd are undone
//!   |  source: CSV, TSV, JSON Lines, libsvm, Parquet, Arrow
//! Batch     up to 1024 rows, one plain column (numbers or texts) per used column
//!   |  Encoder: kinds, levels, missing values, target
//! Block     rows x dim numbers, row after row, with targets, weights and offsets;
//!           sparse rows from a wide encoder
//! ```
//!
//! **Why batches are not Arrow record batches.** CSV parsed into Arrow arrays would pay for
//! validity bitmaps and builders, then be copied out again; here a number goes from the file's
//! bytes straight into a column of `f64`. Parquet and Arrow data are copied once, and unused
//! columns of Parquet are not decoded. Feature `arrow` reads record batches of the caller;
//! `columnar` adds Parquet and Arrow IPC files. Without both, no Arrow crate is built.
//!
//! **Order and boundaries.** Rows keep the order of the inputs. A block takes
//! [`SourceOptions::block_rows`] data rows across the ends of files, so its boundaries depend on
//! the number of rows alone, not on chunks, threads or skipped rows. New features are numbered by
//! the row, then the column, in which they first appear.
//!
//! **Kinds** are inferred from the first block (see [`Kind`]): number, boolean (`true`/`false`),
//! else category. Typed formats declare them; numbers in quotes are numbers, in JSON too. A later
//! value that does not fit is an error that names file, row, line, column and value. [`MISSING`]
//! lists what counts as missing.
//!
//! **Sparse rows.** Text, hashed features, categories of very many levels and libsvm would make
//! dense rows of mostly zeros. A wide encoder ([`WideRows`]) gives [`SparseBlock`]s in their place.
//! Named features keep their numbers; tokens, hashed levels and libsvm indices need no entry in the
//! schema and have indices from [`FIRST_UNNAMED`] on. [`FeatureHash`] and [`Analyzer`] give the
//! numbers and tokens of scikit-learn.
//!
//! **Resuming.** [`Encoder`] and [`Position`] are plain data. Stored together after a block and
//! restored with [`Reader::seek`], they give the blocks of an uninterrupted reading;
//! [`Reader::check_unchanged`] refuses other files.
//!
//! **Several encoders.** Workers that learn different rows meet different levels.
//! [`Encoder::union`] makes one encoder that knows the levels of all, in an order that does not
//! depend on the order of the workers. [`Encoder::alignment`] says how its features follow from
//! those of each worker, also if a category has another baseline there.
//!
//! **Parts.** [`split_inputs`] cuts inputs into lists of about equal bytes for several readers at
//! the same time: large text files between records, Parquet between row groups. Rows keep their
//! numbers and lines in the whole file.
//!
//! **Tables.** A [`Table`] holds rows that are read but not encoded, such as the body of a request:
//! independent of levels, it can be kept as bytes and encoded later, or by another process.
//!
//! **Errors** are typed; [`Error::remedy`] says which option helps, for a caller to word in its own
//! terms. Hostile input gives an error: lines, columns, features and texts have limits, and a panic
//! in the decoder of a binary format is caught.

mod batch;
mod block;
mod chunks;
mod encoder;
mod error;
mod fingerprint;
mod hash;
mod hash_names;
mod infer;
mod input;
mod looks;
mod notation;
mod number;
mod options;
mod parser;
mod part;
mod reader;
mod scalar;
mod schema;
mod shuffle;
mod sniff;
mod source;
mod sparse;
mod split;
mod stoppable;
mod table;
mod target;
mod text;
mod tokens;

pub use block::Block;
pub use encoder::{Alignment, Counts, Encoder, EncoderMark, INTERCEPT, Term};
pub use error::{
    Change, ColumnProblem, EntryProblem, Error, FormatProblem, HeaderProblem, Labels, Location,
    NameHint, Remedy, Result, RowProblem, SettingProblem, UnionProblem, ValueProblem, nearest,
};
pub use fingerprint::{Content, Fingerprint};
pub use hash::{FeatureHash, PrefixHash};
pub use input::Input;
pub use looks::{Look, Remark};
pub use options::{
    BadRows, Classes, EncoderOptions, Format, Missing, Mode, SourceOptions, WideRows,
};
pub use reader::{LateMember, LeftOut, Position, Progress, Reader};
pub use scalar::MISSING;
pub use schema::{Column, Feature, Kind, Level, Levels, Meaning};
pub use shuffle::{Shuffle, Shuffled};
#[cfg(feature = "arrow")]
pub use source::arrow::{NotNumeric, kind_of, numbers};
pub use sparse::{FIRST_UNNAMED, SparseBlock, SparseRow};
pub use split::split_inputs;
pub use table::{Table, TableSchema, json_lines};
pub use target::{ClassNames, Coding, Target};
pub use text::{TextBlock, TextKind, TextReader};
pub use tokens::{Analyzer, TokenScratch};
