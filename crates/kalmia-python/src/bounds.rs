//! The paper's closed forms by name.

use crate::error::{input, plain, raise};
use crate::table::blocks;
use kalmia_theory::{self as theory, DesignMoments, RegistryError, SphereStudy, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Every closed form: a list of dictionaries with name, summary, label, holds, parameters and
/// errata.
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
        let errata = theory::errata_of(entry.name);
        let errata = errata.map(|e| (e.id, e.effect.phrase(), e.subject, e.decision));
        item.set_item("errata", PyList::new(py, errata)?)?;
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

/// The largest norm of the rows and the smallest eigenvalue of the mean of xx'; `None` without
/// rows.
#[pyfunction]
pub fn design_estimate<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    intercept: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let mut moments = DesignMoments::default();
    let mut row = Vec::new();
    for block in blocks(py, x)? {
        let block = block?;
        for (i, features) in block.as_array().rows().into_iter().enumerate() {
            row.clear();
            row.extend(intercept.then_some(1.0));
            row.extend(features.iter());
            if let Some(j) = features.iter().position(|value| !value.is_finite()) {
                return Err(input(format!(
                    "X has {} in row {i}, column {j}; leave out or fill in such rows",
                    features[j]
                )));
            }
            moments.add(&row);
        }
    }
    let Some(design) = moments.estimate() else { return Ok(None) };
    let values = PyDict::new(py);
    values.set_item("n", design.rows)?;
    values.set_item("d", design.d)?;
    values.set_item("D_X", design.d_x)?;
    values.set_item("Lmin", design.lambda_min)?;
    Ok(Some(values))
}

/// Minima of the exp-concavity constant of the logistic risk over random points of a sphere.
#[pyfunction]
pub fn sphere_minima<'py>(
    py: Python<'py>,
    theta: Vec<f64>,
    radius: Option<f64>,
    points: usize,
    draws: usize,
    repeats: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let study = SphereStudy { theta, radius, points, draws, repeats, seed };
    let minima = py.detach(|| study.run()).map_err(plain)?;
    let values = PyDict::new(py);
    values.set_item("radius", minima.radius)?;
    values.set_item("ln_median", minima.ln_median())?;
    values.set_item("ln_proved", minima.ln_proved)?;
    values.set_item("ln_minima", minima.ln_minima)?;
    Ok(values)
}
