//! Plain Python values as JSON, and back.

use crate::error::input;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde_json::{Map, Number, Value};

/// None, truth values, numbers (numpy's too), texts, lists and dictionaries as JSON.
pub fn to_json(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        return Ok(Value::Null);
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::Bool(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        let whole = value.extract::<i64>().map(Number::from);
        let number = whole.or_else(|_| value.extract::<u64>().map(Number::from))?;
        return Ok(Value::Number(number));
    }
    if value.is_instance_of::<PyFloat>() {
        let number = Number::from_f64(value.extract()?);
        let text = || format!("{value} cannot be stored: give a finite number");
        return number.map(Value::Number).ok_or_else(|| input(text()));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::String(value.extract()?));
    }
    if let Ok(list) = value.cast::<PyList>() {
        return list.iter().map(|item| to_json(&item)).collect::<PyResult<_>>().map(Value::Array);
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((key.extract::<String>()?, to_json(&value)?))
        };
        return dict.iter().map(entry).collect::<PyResult<Map<_, _>>>().map(Value::Object);
    }
    match value.call_method0("item") {
        // a number of numpy's
        Ok(plain) if !plain.get_type().is(value.get_type()) => to_json(&plain),
        _ => Err(input(format!("{} cannot be stored in a model file", value.repr()?))),
    }
}

/// JSON as plain Python values.
pub fn from_json<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => whole.into_pyobject(py)?.into_any(),
            (None, Some(large)) => large.into_pyobject(py)?.into_any(),
            (None, None) => number.as_f64().into_pyobject(py)?,
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            items.iter().try_for_each(|item| list.append(from_json(py, item)?))?;
            list.into_any()
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            fields.iter().try_for_each(|(key, value)| dict.set_item(key, from_json(py, value)?))?;
            dict.into_any()
        }
    })
}
