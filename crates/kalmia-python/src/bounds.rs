//! The paper's closed forms by name.

use crate::error::{input, raise};
use kalmia_theory::{self as theory, RegistryError, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Every closed form: a list of dictionaries with name, summary, label, holds and parameters.
#[pyfunction]
pub fn bound_list(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for entry in theory::registry() {
        let item = PyDict::new(py);
        item.set_item("name", entry.name)?;
        item.set_item("summary", entry.summary)?;
        item.set_item("label", entry.label)?;
        item.set_item("holds", entry.holds)?;
        let parameters = PyList::empty(py);
        for parameter in entry.parameters {
            let one = PyDict::new(py);
            one.set_item("name", parameter.name)?;
            one.set_item("description", parameter.description())?;
            one.set_item("default", parameter.default)?;
            one.set_item("kind", format!("{:?}", parameter.kind).to_lowercase())?;
            one.set_item("domain", parameter.domain.phrase())?;
            parameters.append(one)?;
        }
        item.set_item("parameters", parameters)?;
        list.append(item)?;
    }
    Ok(list)
}

/// The values of a closed form, by name, at parameters given by name.
#[pyfunction]
pub fn bound_evaluate<'py>(
    py: Python<'py>,
    name: &str,
    parameters: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut inputs = theory::Inputs::new();
    for (key, value) in parameters.iter() {
        let key: String = key.extract()?;
        match value.extract::<f64>() {
            Ok(number) => inputs.set(key, number),
            Err(_) => match value.extract::<String>() {
                Ok(text) => inputs.set(key, text),
                Err(_) => return Err(input(format!("{key} must be a number or a word"))),
            },
        }
    }
    let refuse = |error: RegistryError| raise("InputError", error.to_string());
    let outputs = theory::find(name).and_then(|entry| entry.evaluate(&inputs)).map_err(refuse)?;
    let values = PyDict::new(py);
    for (key, value) in outputs.iter() {
        match value {
            Value::Null => values.set_item(key, f64::INFINITY)?,
            Value::Bool(truth) => values.set_item(key, truth)?,
            Value::Number(number) => values.set_item(key, number)?,
            Value::Text(text) if text == "-inf" => values.set_item(key, f64::NEG_INFINITY)?,
            Value::Text(text) => values.set_item(key, text.as_ref())?,
        }
    }
    Ok(values)
}
