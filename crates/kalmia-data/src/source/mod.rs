//! The readers, one file per format, all filling the same batches.

#[cfg(feature = "arrow")]
pub(crate) mod arrow;
mod csv;
mod cut;
mod delimiter;
#[cfg(feature = "columnar")]
mod footer;
pub(crate) mod jsonl;
mod libsvm;
mod lines;
mod nonfinite;
#[cfg(feature = "columnar")]
mod parquet;
mod record;

pub(crate) use cut::{Cut, Cuts, cuts};

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::batch::{Batch, Slot, Want};
use crate::chunks::Chunks;
use crate::error::{Error, HeaderProblem, Location, Result, RowProblem, ValueProblem, excerpt};
use crate::input::{Input, Opened};
use crate::options::{Format, SourceOptions};
use crate::scalar;
use crate::text::TextKind;

/// One open input.
pub(crate) trait Source: Send {
    /// The columns, in the order of the input.
    fn names(&self) -> &[String];

    /// What the texts of column `i` are, if the format has types.
    fn text_kind(&self, _i: usize) -> TextKind {
        TextKind::Text
    }

    /// Whether rows also bring entries under keys not known beforehand (libsvm).
    fn is_sparse(&self) -> bool {
        false
    }

    /// Whether numbers may have a decimal comma: in formats that leave their notation open.
    fn has_decimals(&self) -> bool {
        false
    }

    /// Whether each row names its values, as JSON objects do.
    fn has_named_values(&self) -> bool {
        false
    }

    /// Fixes which columns are read, and as what.
    fn bind(&mut self, plan: &Plan) -> Result<()>;

    /// Adds up to `rows` rows to the batch; fewer only at the end.
    fn fill(&mut self, batch: &mut Batch, rows: usize) -> Result<()>;

    /// Skips up to `rows` rows without decoding them; how many there were.
    fn skip(&mut self, rows: u64) -> Result<u64>;
}

/// Which column of the input goes to which slot of the batch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    /// For each column of the input, its slot.
    pub columns: Vec<Option<usize>>,
    pub slots: Vec<Slot>,
}

impl Plan {
    /// The slot and want of column `i` of the input.
    pub fn slot(&self, i: usize) -> Option<(usize, Want)> {
        self.columns.get(i).copied().flatten().map(|slot| (slot, self.slots[slot].want))
    }
}

/// Opens an input in its format. `known` is the columns that the caller will bind, if it knows them
/// already; JSON Lines then need not be searched for columns.
pub(crate) fn open(
    input: &Input,
    options: &SourceOptions,
    known: Option<&[Slot]>,
    done: &Arc<AtomicU64>,
) -> Result<Box<dyn Source>> {
    let (reader, format) = match input.open(options.format, done)? {
        Opened::Bytes { reader, format, .. } => (reader, format),
        #[cfg(feature = "arrow")]
        Opened::Batches(batches) => {
            let format = "record batches";
            let source = arrow::Batches::open(batches, input.name(), format, options)?;
            return Ok(Box::new(source));
        }
    };
    // The first part starts as the whole input does.
    let part = input.part().filter(|part| !part.is_first());
    let before = part.map(|part| part.before).unwrap_or_default();
    let text = |reader| {
        let SourceOptions { chunk_bytes, max_line_bytes, .. } = *options;
        match part {
            Some(_) => Ok(Chunks::continued(reader, input.name(), chunk_bytes, max_line_bytes)),
            None => Chunks::new(reader, input.name(), chunk_bytes, max_line_bytes),
        }
    };
    Ok(match format {
        Format::Csv | Format::Tsv => {
            let header = input.part().and_then(|part| part.header.as_deref());
            match (header, part) {
                (Some(header), Some(_)) => {
                    Box::new(csv::Csv::continued(text(reader)?, header, before, options))
                }
                _ => {
                    let delimiter = header.map(|header| header.delimiter);
                    let delimiter = delimiter.or(delimiter_of(format, options));
                    Box::new(csv::Csv::open(text(reader)?, delimiter, options)?)
                }
            }
        }
        _ if options.decimal_comma || options.comment.is_some() || options.skip_lines > 0 => {
            let problem = crate::error::FormatProblem::NotSeparated;
            return Err(Error::Format { file: input.name().into(), problem });
        }
        Format::Jsonl => {
            Box::new(jsonl::Jsonl::open(reader, text, input.name(), before, options, known)?)
        }
        Format::Libsvm => Box::new(libsvm::Libsvm::open(text(reader)?, before, options.bad_rows)),
        #[cfg(feature = "columnar")]
        Format::Parquet => Box::new(parquet::Parquet::open(input, options, done)?),
        #[cfg(feature = "columnar")]
        Format::Arrow => Box::new(arrow::open_ipc(reader, input.name(), input.size(), options)?),
        #[cfg(not(feature = "columnar"))]
        Format::Parquet | Format::Arrow => {
            let problem = crate::error::FormatProblem::NotBuilt;
            return Err(Error::Format { file: input.name().into(), problem });
        }
    })
}

/// The field separator that the options or the format give; else the first line shows it.
fn delimiter_of(format: Format, options: &SourceOptions) -> Option<u8> {
    options.delimiter.or((format == Format::Tsv).then_some(b'\t'))
}

/// The error for a field that its column cannot hold.
pub(crate) fn bad_field(at: Location, slot: &Slot, field: &[u8]) -> Error {
    if std::str::from_utf8(field).is_err() {
        return not_utf8(at, &slot.name);
    }
    let problem = match (scalar::number(field), slot.want) {
        (Some(number), _) if number.is_infinite() => ValueProblem::NotFinite,
        (_, Want::Boolean) => ValueProblem::NotABoolean,
        // A number that its column refuses has a point where commas are read.
        (Some(_), _) => ValueProblem::DecimalPoint,
        _ => ValueProblem::NotANumber,
    };
    Error::Value { at, column: slot.name.clone(), value: excerpt(field), problem }
}

/// Whether a row with this error can be left out, and the next one read.
pub(crate) fn can_skip(error: &Error) -> bool {
    match error {
        Error::Ragged { .. } | Error::Value { .. } => true,
        Error::Row { problem, .. } => matches!(
            problem,
            RowProblem::TextAfterQuote
                | RowProblem::Json { .. }
                | RowProblem::NotUtf8 { .. }
                | RowProblem::Entry { .. }
        ),
        _ => false,
    }
}

/// The error for a field in another encoding.
pub(crate) fn not_utf8(at: Location, column: &str) -> Error {
    Error::Row { at, problem: RowProblem::NotUtf8 { column: column.into() } }
}

/// Checks a header; a column without a name is named after its place.
pub(crate) fn check_names(file: &str, names: &mut [String]) -> Result<()> {
    let mut seen = std::collections::HashSet::with_capacity(names.len());
    for (i, name) in names.iter_mut().enumerate() {
        if name.is_empty() {
            *name = format!("c{}", i + 1);
        }
        if !seen.insert(name.clone()) {
            let problem = HeaderProblem::Duplicate { name: name.clone() };
            return Err(Error::Header { file: file.into(), problem });
        }
    }
    Ok(())
}

/// The error for a header with more columns than allowed.
fn too_many_columns(file: &str, limit: usize) -> Error {
    Error::Header { file: file.into(), problem: HeaderProblem::TooManyColumns { limit } }
}
