//! Columns of Python values as Arrow arrays, for tables that offer no Arrow stream (pandas without
//! pyarrow, or with columns of mixed types).

use crate::error::input;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList};
use std::sync::Arc;

/// The columns of a dictionary; each value is a list.
pub fn record_batch(columns: &Bound<'_, PyDict>) -> PyResult<RecordBatch> {
    let column = |(name, values): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        PyResult::Ok((name.extract::<String>()?, array(values.cast::<PyList>()?)?))
    };
    let columns = columns.iter().map(column).collect::<PyResult<Vec<_>>>()?;
    RecordBatch::try_from_iter(columns).map_err(|error| input(format!("cannot read X: {error}")))
}

/// A list as an array of the narrowest of four types: booleans, integers, numbers, texts.
fn array(values: &Bound<'_, PyList>) -> PyResult<ArrayRef> {
    let all = |is: &dyn Fn(&Bound<'_, PyAny>) -> bool| {
        values.iter().all(|value| value.is_none() || is(&value))
    };
    let is_boolean = |value: &Bound<'_, PyAny>| value.is_instance_of::<PyBool>();
    let is_whole = |value: &Bound<'_, PyAny>| value.is_instance_of::<PyInt>() && !is_boolean(value);
    Ok(if all(&is_boolean) {
        Arc::new(values.extract::<Vec<Option<bool>>>().map(BooleanArray::from)?)
    } else if all(&is_whole) {
        Arc::new(values.extract::<Vec<Option<i64>>>().map(Int64Array::from)?)
    } else if all(&|value| value.is_instance_of::<PyFloat>() || is_whole(value)) {
        Arc::new(values.extract::<Vec<Option<f64>>>().map(Float64Array::from)?)
    } else {
        let text = |value: Bound<'_, PyAny>| match value.is_none() {
            true => Ok(None),
            false => value.str()?.extract::<String>().map(Some),
        };
        let texts = values.iter().map(text).collect::<PyResult<Vec<_>>>()?;
        Arc::new(StringArray::from(texts))
    })
}
