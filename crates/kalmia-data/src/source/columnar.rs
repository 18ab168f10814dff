//! From Arrow arrays to the columns of a batch, for Parquet and Arrow IPC.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Schema};

use super::{Plan, bad_field, check_names, too_many_columns};
use crate::batch::{Batch, Declared, Values, Want};
use crate::error::{ColumnProblem, Error, Location, Result};
use crate::options::SourceOptions;
use crate::scalar;
use crate::text::TextKind;

/// Rows decoded and not yet handed on.
#[derive(Default)]
pub(super) struct Pending {
    batch: Option<RecordBatch>,
    used: usize,
}

impl Pending {
    /// Takes a decoded batch, the one before being used up.
    pub fn put(&mut self, batch: RecordBatch) {
        (self.batch, self.used) = (Some(batch), 0);
    }

    /// Rows left.
    pub fn len(&self) -> usize {
        self.batch.as_ref().map_or(0, |batch| batch.num_rows() - self.used)
    }

    /// Passes over up to `rows` rows; how many.
    pub fn skip(&mut self, rows: u64) -> u64 {
        let n = rows.min(self.len() as u64);
        self.used += n as usize;
        n
    }

    /// Adds up to `rows` rows to the batch. `places` gives the slot of each array; `row` counts the
    /// rows of the file.
    pub fn take(
        &mut self,
        file: &str,
        places: &[Option<usize>],
        plan: &Plan,
        row: &mut u64,
        batch: &mut Batch,
        rows: usize,
    ) -> Result<()> {
        let Some(decoded) = &self.batch else { return Ok(()) };
        let range = self.used..self.used + rows.min(decoded.num_rows() - self.used);
        for (array, slot) in decoded.columns().iter().zip(places) {
            let Some(slot) = *slot else { continue };
            let (column, want) = (&mut batch.columns[slot], plan.slots[slot].want);
            if let Err(bad) = append(array, range.clone(), column, want) {
                let at = Location {
                    file: file.into(),
                    row: *row + (bad.row - range.start) as u64 + 1,
                    line: None,
                };
                return Err(bad_field(at, &plan.slots[slot], &bad.value));
            }
        }
        *row += range.len() as u64;
        batch.rows += range.len();
        batch.origin.lines.resize(batch.rows, 0);
        self.used = range.end;
        Ok(())
    }
}

/// The names of a schema's columns.
pub(super) fn names(schema: &Schema, file: &str, options: &SourceOptions) -> Result<Vec<String>> {
    if schema.fields().len() > options.max_columns {
        return Err(too_many_columns(file, options.max_columns));
    }
    let mut names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
    check_names(file, &mut names)?;
    Ok(names)
}

/// Refuses the used columns whose type cannot be encoded.
pub(super) fn check_types(schema: &Schema, file: &str, plan: &Plan) -> Result<()> {
    for (i, field) in schema.fields().iter().enumerate() {
        if plan.slot(i).is_some()
            && let Err(problem) = declared(field.data_type())
        {
            return Err(Error::Column { file: file.into(), column: field.name().clone(), problem });
        }
    }
    Ok(())
}

/// How a type is read, or why it cannot be.
fn declared(of: &DataType) -> std::result::Result<Declared, ColumnProblem> {
    match of {
        DataType::Boolean => Ok(Declared::Boolean),
        DataType::Null | DataType::Decimal128(..) => Ok(Declared::Number),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(Declared::Text),
        DataType::Dictionary(_, value) => declared(value),
        numeric if numeric.is_integer() || numeric.is_floating() => Ok(Declared::Number),
        temporal if temporal.is_temporal() => Err(ColumnProblem::Temporal { as_text: false }),
        other => Err(ColumnProblem::Type { data_type: other.to_string() }),
    }
}

/// What the texts of column `i` are. 64-bit integers without a sign stay text, which loses no
/// digit.
pub(super) fn text_kind(schema: &Schema, i: usize) -> TextKind {
    match schema.field(i).data_type() {
        DataType::UInt64 => TextKind::Text,
        integer if integer.is_integer() => TextKind::Integer,
        DataType::Decimal128(..) => TextKind::Number,
        number if number.is_floating() => TextKind::Number,
        _ => TextKind::Text,
    }
}

/// A value that its column cannot hold.
struct Bad {
    row: usize,
    value: Vec<u8>,
}

fn append(
    array: &dyn Array,
    range: Range<usize>,
    column: &mut Values,
    want: Want,
) -> std::result::Result<(), Bad> {
    let Ok(kind) = declared(array.data_type()) else {
        return Err(Bad { row: range.start, value: array.data_type().to_string().into() });
    };
    if want == Want::Raw {
        column.declare(kind);
        if column.len() == 0 {
            column.is_text = kind == Declared::Text;
        }
    }
    macro_rules! numbers {
        ($type:ty, $to:expr) => {
            numbers(array.as_primitive::<$type>(), range, column, want, $to)
        };
    }
    match array.data_type() {
        DataType::Float64 => numbers!(Float64Type, |v| v),
        DataType::Float32 => numbers!(Float32Type, f64::from),
        DataType::Float16 => numbers!(Float16Type, |v| v.to_f64()),
        DataType::Int8 => numbers!(Int8Type, f64::from),
        DataType::Int16 => numbers!(Int16Type, f64::from),
        DataType::Int32 => numbers!(Int32Type, f64::from),
        // as text every digit counts
        DataType::Int64 if column.is_text => {
            digits(array.as_primitive::<Int64Type>(), range, column)
        }
        DataType::UInt64 if column.is_text => {
            digits(array.as_primitive::<UInt64Type>(), range, column)
        }
        DataType::Int64 => numbers!(Int64Type, |v| v as f64),
        DataType::UInt8 => numbers!(UInt8Type, f64::from),
        DataType::UInt16 => numbers!(UInt16Type, f64::from),
        DataType::UInt32 => numbers!(UInt32Type, f64::from),
        DataType::UInt64 => numbers!(UInt64Type, |v| v as f64),
        DataType::Decimal128(_, scale) => {
            let unit = 10f64.powi(i32::from(*scale));
            numbers!(Decimal128Type, |v| v as f64 / unit)
        }
        DataType::Boolean => truths(array, range, column, want),
        DataType::Utf8 => texts(array, range, column, want, |i| array.as_string::<i32>().value(i)),
        DataType::LargeUtf8 => {
            texts(array, range, column, want, |i| array.as_string::<i64>().value(i))
        }
        DataType::Utf8View => {
            texts(array, range, column, want, |i| array.as_string_view().value(i))
        }
        DataType::Dictionary(..) => dictionary(array, range, column, want),
        _ => {
            range.for_each(|_| column.push_missing());
            Ok(())
        }
    }
}

fn numbers<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    range: Range<usize>,
    column: &mut Values,
    want: Want,
    to: impl Fn(T::Native) -> f64,
) -> std::result::Result<(), Bad> {
    if !column.is_text && want != Want::Boolean && array.null_count() == 0 {
        column.numbers.extend(array.values()[range].iter().map(|&v| to(v)));
        return Ok(());
    }
    for row in range {
        if array.is_null(row) {
            column.push_missing();
        } else if !column.push_number(want, to(array.value(row))) {
            let mut value = Vec::new();
            scalar::write_number(to(array.value(row)), &mut value);
            return Err(Bad { row, value });
        }
    }
    Ok(())
}

fn digits<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    range: Range<usize>,
    column: &mut Values,
) -> std::result::Result<(), Bad>
where
    T::Native: std::fmt::Display,
{
    for row in range {
        match array.is_null(row) {
            true => column.push_missing(),
            false => column.texts.push(array.value(row).to_string().as_bytes()),
        }
    }
    Ok(())
}

fn truths(
    array: &dyn Array,
    range: Range<usize>,
    column: &mut Values,
    want: Want,
) -> std::result::Result<(), Bad> {
    let values = array.as_boolean();
    for row in range {
        if values.is_null(row) {
            column.push_missing();
        } else if want == Want::Number {
            return Err(Bad { row, value: values.value(row).to_string().into() });
        } else {
            column.push_truth(values.value(row));
        }
    }
    Ok(())
}

fn texts<'a>(
    array: &dyn Array,
    range: Range<usize>,
    column: &mut Values,
    want: Want,
    value: impl Fn(usize) -> &'a str,
) -> std::result::Result<(), Bad> {
    for row in range {
        if array.is_null(row) {
            column.push_missing();
        } else if !column.push_field(want, value(row).as_bytes()) {
            return Err(Bad { row, value: value(row).into() });
        }
    }
    Ok(())
}

fn dictionary(
    array: &dyn Array,
    range: Range<usize>,
    column: &mut Values,
    want: Want,
) -> std::result::Result<(), Bad> {
    let dictionary = array.as_any_dictionary();
    let rows = dictionary.keys().slice(range.start, range.len());
    let keys = if dictionary.values().is_empty() {
        vec![0; range.len()]
    } else {
        slice_keys(array, range.clone())
    };
    for (i, row) in range.enumerate() {
        if rows.is_null(i) || dictionary.values().is_empty() {
            column.push_missing();
        } else {
            append(dictionary.values(), keys[i]..keys[i] + 1, column, want)
                .map_err(|bad| Bad { row, ..bad })?;
        }
    }
    Ok(())
}

fn slice_keys(array: &dyn Array, range: Range<usize>) -> Vec<usize> {
    array.slice(range.start, range.len()).as_any_dictionary().normalized_keys()
}

/// Runs a decoder. Its error, and its panic on a damaged file, become an error that names the file.
pub(super) fn guard<T, E: std::fmt::Display>(
    file: &str,
    format: &'static str,
    decode: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    let corrupt = |reason: String| Error::Corrupt { file: file.into(), format, reason };
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(outcome) => outcome.map_err(|e| corrupt(e.to_string())),
        Err(_) => Err(corrupt("the file is damaged".into())),
    }
}
