//! Converts Arrow arrays: to numbers for any caller, and to the columns of a batch.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, PrimitiveArray};
use arrow_schema::DataType;

use crate::batch::{Declared, Values, Want};
use crate::error::ColumnProblem;
use crate::scalar;
use crate::schema::Kind;

/// An array whose values are not numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("values of type {data_type} are not numbers")]
pub struct NotNumeric {
    /// The type of the array.
    pub data_type: DataType,
}

/// Appends the values of an Arrow array to `out` as `f64`: integers, floating-point numbers,
/// 128-bit decimals, booleans as 0 and 1, and dictionaries of numbers. Nulls become `NaN`.
///
/// Integers beyond 2^53 are rounded. Texts, dates and other types are refused, and `out` is left
/// as it was.
///
/// ```
/// use arrow_array::{BooleanArray, Int32Array, StringArray};
///
/// let mut out = Vec::new();
/// kalmia_data::numbers(&Int32Array::from(vec![1, 2]), &mut out)?;
/// kalmia_data::numbers(&BooleanArray::from(vec![true]), &mut out)?;
/// assert_eq!(out, [1.0, 2.0, 1.0]);
/// assert!(kalmia_data::numbers(&StringArray::from(vec!["1"]), &mut out).is_err());
/// # Ok::<(), kalmia_data::NotNumeric>(())
/// ```
pub fn numbers(array: &dyn Array, out: &mut Vec<f64>) -> Result<(), NotNumeric> {
    if let Some(values) = array.as_boolean_opt() {
        let number = |value: Option<bool>| value.map_or(f64::NAN, |v| f64::from(u8::from(v)));
        out.extend(values.iter().map(number));
        return Ok(());
    }
    if declared(array.data_type()) != Ok(Declared::Number) {
        return Err(NotNumeric { data_type: array.data_type().clone() });
    }
    push_numbers(array, 0..array.len(), out);
    Ok(())
}

/// What a column of this type is; `None` for dates and other types that are no features.
pub fn kind_of(of: &DataType) -> Option<Kind> {
    declared(of).ok().map(|declared| match declared {
        Declared::Number => Kind::Number,
        Declared::Boolean => Kind::Boolean,
        Declared::Text => Kind::Category,
    })
}

/// How a type is read, or why it cannot be.
pub(super) fn declared(of: &DataType) -> Result<Declared, ColumnProblem> {
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

/// A value that its column cannot hold.
pub(super) struct Bad {
    pub row: usize,
    pub value: Vec<u8>,
}

/// Adds the rows of a range to a column.
pub(super) fn append(
    array: &dyn Array,
    range: Range<usize>,
    column: &mut Values,
    want: Want,
) -> Result<(), Bad> {
    let Ok(kind) = declared(array.data_type()) else {
        return Err(Bad { row: range.start, value: array.data_type().to_string().into() });
    };
    if want == Want::Raw {
        column.declare(kind);
        if column.len() == 0 {
            column.is_text = kind == Declared::Text;
        }
    }
    match array.data_type() {
        // As text, integers stay exact.
        DataType::Int64 if column.is_text => {
            append_digits(array.as_primitive::<Int64Type>(), range, column);
            Ok(())
        }
        DataType::UInt64 if column.is_text => {
            append_digits(array.as_primitive::<UInt64Type>(), range, column);
            Ok(())
        }
        DataType::Boolean => append_truths(array, range, column, want),
        DataType::Utf8 => {
            append_texts(array, range, column, want, |i| array.as_string::<i32>().value(i))
        }
        DataType::LargeUtf8 => {
            append_texts(array, range, column, want, |i| array.as_string::<i64>().value(i))
        }
        DataType::Utf8View => {
            append_texts(array, range, column, want, |i| array.as_string_view().value(i))
        }
        DataType::Dictionary(..) if column.is_text || kind != Declared::Number => {
            append_dictionary(array, range, column, want)
        }
        _ => append_numbers(array, range, column, want),
    }
}

fn append_numbers(
    array: &dyn Array,
    range: Range<usize>,
    column: &mut Values,
    want: Want,
) -> Result<(), Bad> {
    if !column.is_text && want != Want::Boolean {
        push_numbers(array, range, &mut column.numbers);
        return Ok(());
    }
    let mut values = Vec::with_capacity(range.len());
    push_numbers(array, range.clone(), &mut values);
    for (row, number) in range.zip(values) {
        if !column.push_number(want, number) {
            let mut value = Vec::new();
            scalar::write_number(number, &mut value);
            return Err(Bad { row, value });
        }
    }
    Ok(())
}

/// Appends the rows of a range of an array declared as [`Declared::Number`]; nulls become `NaN`.
fn push_numbers(array: &dyn Array, range: Range<usize>, out: &mut Vec<f64>) {
    macro_rules! extend {
        ($type:ty, $to:expr) => {
            extend(array.as_primitive::<$type>(), range, out, $to)
        };
    }
    match array.data_type() {
        DataType::Float64 => extend!(Float64Type, |v| v),
        DataType::Float32 => extend!(Float32Type, f64::from),
        DataType::Float16 => extend!(Float16Type, |v| v.to_f64()),
        DataType::Int8 => extend!(Int8Type, f64::from),
        DataType::Int16 => extend!(Int16Type, f64::from),
        DataType::Int32 => extend!(Int32Type, f64::from),
        DataType::Int64 => extend!(Int64Type, |v| v as f64),
        DataType::UInt8 => extend!(UInt8Type, f64::from),
        DataType::UInt16 => extend!(UInt16Type, f64::from),
        DataType::UInt32 => extend!(UInt32Type, f64::from),
        DataType::UInt64 => extend!(UInt64Type, |v| v as f64),
        DataType::Decimal128(_, scale) => {
            let unit = 10f64.powi(i32::from(*scale));
            extend!(Decimal128Type, |v| v as f64 / unit)
        }
        DataType::Dictionary(..) => {
            let values = array.as_any_dictionary().values();
            for key in keys(array, range) {
                match key {
                    Some(key) => push_numbers(values, key..key + 1, out),
                    None => out.push(f64::NAN),
                }
            }
        }
        _ => out.resize(out.len() + range.len(), f64::NAN),
    }
}

fn extend<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    range: Range<usize>,
    out: &mut Vec<f64>,
    to: impl Fn(T::Native) -> f64,
) {
    let values = &array.values()[range.clone()];
    if array.null_count() == 0 {
        out.extend(values.iter().map(|&v| to(v)));
        return;
    }
    let number = |(row, &v)| if array.is_null(row) { f64::NAN } else { to(v) };
    out.extend(range.zip(values).map(number));
}

fn append_digits<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    range: Range<usize>,
    column: &mut Values,
) where
    T::Native: std::fmt::Display,
{
    for row in range {
        match array.is_null(row) {
            true => column.push_missing(),
            false => column.texts.push(array.value(row).to_string().as_bytes()),
        }
    }
}

fn append_truths(
    array: &dyn Array,
    range: Range<usize>,
    column: &mut Values,
    want: Want,
) -> Result<(), Bad> {
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

fn append_texts<'a>(
    array: &dyn Array,
    range: Range<usize>,
    column: &mut Values,
    want: Want,
    value: impl Fn(usize) -> &'a str,
) -> Result<(), Bad> {
    for row in range {
        if array.is_null(row) {
            column.push_missing();
        } else if !column.push_field(want, value(row).as_bytes()) {
            return Err(Bad { row, value: value(row).into() });
        }
    }
    Ok(())
}

fn append_dictionary(
    array: &dyn Array,
    range: Range<usize>,
    column: &mut Values,
    want: Want,
) -> Result<(), Bad> {
    let values = array.as_any_dictionary().values();
    for (row, key) in range.clone().zip(keys(array, range)) {
        match key {
            Some(key) => append(values, key..key + 1, column, want)
                .map_err(|bad| Bad { row, value: bad.value })?,
            None => column.push_missing(),
        }
    }
    Ok(())
}

/// For each row of a range of a dictionary, the place of its value; `None` for a null.
fn keys(array: &dyn Array, range: Range<usize>) -> Vec<Option<usize>> {
    let rows = array.slice(range.start, range.len());
    let dictionary = rows.as_any_dictionary();
    if dictionary.values().is_empty() {
        return vec![None; range.len()];
    }
    let places = dictionary.normalized_keys().into_iter().enumerate();
    places.map(|(i, place)| dictionary.keys().is_valid(i).then_some(place)).collect()
}
