//! What the River models need per row: features by name, one mean, and growth undone.

use crate::any::either;
use crate::error::plain;
use crate::learner::{Learner, RowArgument};
use crate::wide::WideRows;
use kalmia::{Inputs, Predict};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyString};

/// The numbers of a River row in the order of their columns; absent features are 0.
///
/// Parameters
/// ----------
/// index : dict
///     The column of each feature.
/// x : dict
///     Values by name. A string is the feature ``name=value`` with the value 1.
/// known : bool
///     Whether every feature must have a column. Otherwise features without one are ignored.
///
/// Returns
/// -------
/// ndarray of shape (columns,), or None
///     None if a feature lacks a column that it must have, or a value is no finite number: the
///     caller then looks closer.
///
/// Examples
/// --------
/// >>> from kalmia._kalmia import river_row
/// >>> river_row({"a": 0, "b=x": 1}, {"b": "x", "c": 2.0}, False)
/// array([0., 1.])
#[pyfunction]
pub fn river_row<'py>(
    py: Python<'py>,
    index: &Bound<'py, PyDict>,
    x: &Bound<'py, PyDict>,
    known: bool,
) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
    let mut row = vec![0.0; index.len()];
    let fits = each_entry(index, x, known, |column, number| match row.get_mut(column) {
        Some(place) => {
            *place = number;
            true
        }
        None => false,
    })?;
    Ok(fits.then(|| PyArray1::from_vec(py, row)))
}

/// The features of a River row for a wide learner; features that are absent are not listed.
///
/// Parameters
/// ----------
/// index, x, known
///     As for :func:`river_row`.
/// intercept : bool
///     Whether the learner has a constant.
///
/// Returns
/// -------
/// WideRows or None
///     One row; None as for :func:`river_row`.
///
/// Examples
/// --------
/// >>> from kalmia._kalmia import wide_row
/// >>> wide_row({"a": 0, "b=x": 1}, {"b": "x", "c": 2.0}, False, True).entries
/// 2
#[pyfunction]
pub fn wide_row(
    index: &Bound<'_, PyDict>,
    x: &Bound<'_, PyDict>,
    known: bool,
    intercept: bool,
) -> PyResult<Option<WideRows>> {
    let mut entries = Vec::with_capacity(x.len());
    let first = u32::from(intercept);
    let fits = each_entry(index, x, known, |column, number| {
        let index = u32::try_from(column).ok().and_then(|column| column.checked_add(first));
        entries.extend(index.map(|index| (index, number)));
        index.is_some()
    })?;
    Ok(fits.then(|| WideRows::one(entries, intercept)))
}

/// Calls `take` with the column and the value of each feature; false if a feature lacks a column
/// that it must have, a value is no finite number, or `take` says so.
fn each_entry(
    index: &Bound<'_, PyDict>,
    x: &Bound<'_, PyDict>,
    known: bool,
    mut take: impl FnMut(usize, f64) -> bool,
) -> PyResult<bool> {
    for (key, value) in x.iter() {
        let mut name =
            if key.is_exact_instance_of::<PyString>() { key } else { key.str()?.into_any() };
        let number = if let Ok(number) = value.cast::<PyFloat>() {
            number.value()
        } else if value.is_exact_instance_of::<PyString>() {
            name = PyString::new(x.py(), &format!("{name}={value}")).into_any();
            1.0
        } else if value.is_instance_of::<PyInt>() {
            match value.extract() {
                Ok(number) => number,
                Err(_) => return Ok(false),
            }
        } else {
            return Ok(false);
        };
        if !number.is_finite() {
            return Ok(false);
        }
        match index.get_item(name)? {
            Some(column) if !take(column.extract::<usize>()?, number) => return Ok(false),
            None if known => return Ok(false),
            _ => {}
        }
    }
    Ok(true)
}

/// The mean predicted for one row: ``learner.predict(x).mean``, in less time.
///
/// Parameters
/// ----------
/// learner : Learner
///     What predicts.
/// x : array_like of shape (features,)
///     Features.
///
/// Returns
/// -------
/// float
///
/// Examples
/// --------
/// >>> import kalmia
/// >>> from kalmia._kalmia import predict_mean
/// >>> predict_mean(kalmia.Filter(2, "gaussian"), [1.0, 3.0])
/// 0.0
#[pyfunction]
pub fn predict_mean(
    py: Python<'_>,
    learner: PyRef<'_, Learner>,
    x: RowArgument<'_>,
) -> PyResult<f64> {
    let state = learner.state(py)?;
    let x = match x {
        RowArgument::Wide(row) => {
            let found = state.learner.predict_sparse(row.get(), 0.0);
            return found.map(|p| either!(p, p => p.mean)).map_err(plain);
        }
        RowArgument::Dense(x) => learner.row(&x, &state.learner)?,
    };
    let mut mean = [0.0];
    if x.is_empty() {
        // no constant and no feature yet: the batch of no columns has no rows
        return state.learner.predict(&x, 0.0).map(|p| either!(p, p => p.mean)).map_err(plain);
    }
    let inputs = Inputs::new(x.len(), &x).map_err(plain)?;
    either!(&state.learner, inner => inner.predict_means(inputs, &mut mean)).map_err(plain)?;
    if let Some(family) = state.learner.custom_family() {
        family.check()?;
    }
    Ok(mean[0])
}

/// Removes the last features, which must have been zero in every row: undoes ``learner.grow``.
///
/// Parameters
/// ----------
/// learner : Learner
///     It is changed in place.
/// features : int
///     How many.
///
/// Examples
/// --------
/// >>> import kalmia
/// >>> from kalmia._kalmia import shrink
/// >>> learner = kalmia.Auto(2)
/// >>> learner.grow(3)
/// >>> shrink(learner, 3)
/// >>> learner.dim
/// 2
#[pyfunction]
pub fn shrink(py: Python<'_>, learner: PyRef<'_, Learner>, features: usize) -> PyResult<()> {
    let mut state = learner.state_mut(py)?;
    for _ in 0..features {
        either!(&mut state.learner, inner => inner.shrink()).map_err(plain)?;
    }
    Ok(())
}
