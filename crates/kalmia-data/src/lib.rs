//! Readers, schema and encoder: from files to blocks of numbers, in the order of the file and in
//! bounded memory.
//!
//! ```text
//! Input     a file, a pattern's matches, standard input or memory; gzip and zstd undone
//!   |  source: CSV, TSV, JSON Lines, libsvm, Parquet, Arrow IPC
//! Batch     up to 1024 rows, one plain column (numbers or texts) per used column
//!   |  Encoder: kinds, levels, missing values, target
//! Block     rows x dim numbers, row after row, with targets, weights and offsets
//! ```
//!
//! **Why batches are not Arrow record batches.** Only two of the six formats come as Arrow. CSV
//! parsed into Arrow arrays would pay for validity bitmaps and builders, then be copied out again;
//! here a number goes from the file's bytes straight into a column of `f64`. Parquet and Arrow IPC
//! arrive as Arrow arrays and are copied once, columns that are not used not being decoded. Without
//! the feature `columnar` no Arrow crate is built at all.
//!
//! **Order and boundaries.** Rows keep the order of the inputs. A block takes
//! [`SourceOptions::block_rows`] data rows across the ends of files, so its boundaries depend on
//! the count of rows alone, not on chunks, threads or rows left out. New features are numbered by
//! the row, then the column, that brings them.
//!
//! **Kinds** are told from the first block (see [`Kind`]): number, boolean (`true`/`false`), else
//! category; typed formats say it themselves, and text in quotes is text in JSON. A later value
//! that does not fit is an error that names file, row, line, column and value. What counts as
//! missing is listed in [`MISSING`].
//!
//! **Going on.** [`Encoder`] and [`Position`] are plain data. Stored together after a block and
//! restored with [`Reader::seek`], they give the blocks that an uninterrupted reading would have
//! given; [`Reader::check_unchanged`] refuses other files.
//!
//! **Hostile input** gives an error: lines, columns, features and texts have limits, and decoders
//! of binary formats are fenced off.

mod batch;
mod block;
mod chunks;
mod encoder;
mod error;
mod infer;
mod input;
mod number;
mod options;
mod parser;
mod reader;
mod scalar;
mod schema;
mod source;
mod stoppable;
mod target;
mod text;

pub use block::Block;
pub use encoder::{Counts, Encoder, INTERCEPT};
pub use error::{
    Change, ColumnProblem, EntryProblem, Error, FormatProblem, HeaderProblem, Labels, Location,
    NameHint, Remedy, Result, RowProblem, SettingProblem, ValueProblem, nearest,
};
pub use input::{Content, Fingerprint, Input};
pub use options::{EncoderOptions, Format, Missing, Mode, SourceOptions};
pub use reader::{Position, Progress, Reader};
pub use scalar::MISSING;
pub use schema::{Column, Feature, Kind, Level, Levels, Meaning};
#[cfg(feature = "arrow")]
pub use source::arrow::{NotNumeric, numbers};
pub use target::{Coding, Target};
pub use text::{TextBlock, TextKind, TextReader};
