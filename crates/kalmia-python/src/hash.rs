//! Feature hashing: names and tokens of texts as columns of a CSR matrix.

use crate::error::input;
use kalmia_data::{Analyzer, FeatureHash, TokenScratch};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

/// The parts of a CSR matrix: indptr, indices, data. Columns may repeat within a row.
type Parts<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f64>>);

/// A matrix that is being written.
struct HashedRows {
    hash: FeatureHash,
    alternate_sign: bool,
    starts: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f64>,
}

impl HashedRows {
    fn new(bits: u8, alternate_sign: bool) -> PyResult<Self> {
        let hash = FeatureHash::new(bits).map_err(|error| input(error.to_string()))?;
        let starts = vec![0];
        Ok(Self { hash, alternate_sign, starts, indices: Vec::new(), values: Vec::new() })
    }

    fn push(&mut self, name: &[u8], value: f64) {
        let sign = if self.alternate_sign { self.hash.sign(name) } else { 1.0 };
        // indices have at most 30 bits
        self.indices.push(self.hash.index(name) as i32);
        self.values.push(sign * value);
    }

    fn end_row(&mut self) {
        self.starts.push(self.indices.len() as i64);
    }

    fn parts(self, py: Python<'_>) -> Parts<'_> {
        (
            PyArray1::from_vec(py, self.starts),
            PyArray1::from_vec(py, self.indices),
            PyArray1::from_vec(py, self.values),
        )
    }

    /// A feature with its value, as scikit-learn's `FeatureHasher` takes them: a text is part of
    /// the name, with the value 1, and zeros are left out.
    fn feature(
        &mut self,
        row: usize,
        name: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let name = name_bytes(row, name)?;
        if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
            // bytes are written as Python shows them, which is what scikit-learn does
            let level = value.str()?;
            self.push(&[&name, &b"="[..], level.to_cow()?.as_bytes()].concat(), 1.0);
            return Ok(());
        }
        let number: f64 = value.extract().map_err(|_| {
            let name = String::from_utf8_lossy(&name).into_owned();
            input(format!(
                "row {row}, feature {name:?} has the value {value}: give a number, or a text for a \
                 category"
            ))
        })?;
        if number != 0.0 {
            self.push(&name, number);
        }
        Ok(())
    }
}

/// The name of a feature in UTF-8.
fn name_bytes(row: usize, name: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(text) = name.cast::<PyString>() {
        return Ok(text.to_cow()?.as_bytes().to_vec());
    }
    match name.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes().to_vec()),
        Err(_) => Err(input(format!(
            "row {row} has the feature name {name}, which is no text: give names that are str or \
             bytes, such as str({name})"
        ))),
    }
}

/// Hashes the features of rows into columns. :class:`kalmia.FeatureHasher` uses it.
///
/// Parameters
/// ----------
/// samples : iterable
///     The rows.
/// input_type : {"dict", "pair", "string"}
///     What a row is: a dictionary of values by name, pairs of name and value, or names.
/// bits : int
///     There are ``2 ** bits`` columns.
/// alternate_sign : bool
///     Whether half of the names have the sign -1.
///
/// Returns
/// -------
/// indptr, indices, data : ndarray
///     The parts of a CSR matrix in which columns may repeat.
///
/// Examples
/// --------
/// >>> from kalmia._kalmia import hash_features
/// >>> hash_features([["town=Rome"]], "string", 18, False)[1]
/// array([260553], dtype=int32)
#[pyfunction]
pub fn hash_features<'py>(
    py: Python<'py>,
    samples: &Bound<'py, PyAny>,
    input_type: &str,
    bits: u8,
    alternate_sign: bool,
) -> PyResult<Parts<'py>> {
    let mut rows = HashedRows::new(bits, alternate_sign)?;
    for (row, sample) in samples.try_iter()?.enumerate() {
        let sample = sample?;
        let wrong = |expected: &str| {
            let found = sample.get_type().name().map_or("?".into(), |name| name.to_string());
            input(format!("row {row} is a {found}: with input_type={input_type:?} give {expected}"))
        };
        match input_type {
            "dict" => match sample.cast::<PyDict>() {
                Ok(dict) => {
                    dict.iter().try_for_each(|(name, value)| rows.feature(row, &name, &value))?;
                }
                Err(_) => {
                    let items = sample.call_method0("items");
                    for pair in items.map_err(|_| wrong("a dictionary"))?.try_iter()? {
                        let (name, value) = pair?.extract::<(Bound<'_, _>, Bound<'_, _>)>()?;
                        rows.feature(row, &name, &value)?;
                    }
                }
            },
            "pair" => {
                for pair in sample.try_iter().map_err(|_| wrong("pairs of name and value"))? {
                    let pair = pair?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>();
                    let (name, value) = pair.map_err(|_| wrong("pairs of name and value"))?;
                    rows.feature(row, &name, &value)?;
                }
            }
            _ => {
                if sample.is_instance_of::<PyString>() {
                    return Err(wrong("a list of texts; for whole texts use kalmia.TextHasher"));
                }
                for name in sample.try_iter().map_err(|_| wrong("a list of texts"))? {
                    rows.push(&name_bytes(row, &name?)?, 1.0);
                }
            }
        }
        rows.end_row();
    }
    Ok(rows.parts(py))
}

/// Hashes the tokens of texts into columns. :class:`kalmia.TextHasher` uses it.
///
/// Parameters
/// ----------
/// texts : iterable of str
///     A text per row.
/// analyzer : str
///     ``"words"``, ``"words:2"`` or ``"characters:2-4"``.
/// bits : int
///     There are ``2 ** bits`` columns.
/// alternate_sign : bool
///     Whether half of the tokens have the sign -1.
///
/// Returns
/// -------
/// indptr, indices, data : ndarray
///     The parts of a CSR matrix in which columns may repeat.
///
/// Examples
/// --------
/// >>> from kalmia._kalmia import hash_texts
/// >>> hash_texts(["A good plot"], "words", 18, False)[0]
/// array([0, 2])
#[pyfunction]
pub fn hash_texts<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    analyzer: &str,
    bits: u8,
    alternate_sign: bool,
) -> PyResult<Parts<'py>> {
    let analyzer: Analyzer =
        analyzer.parse().map_err(|error: kalmia_data::Error| input(error.to_string()))?;
    let mut rows = HashedRows::new(bits, alternate_sign)?;
    let mut scratch = TokenScratch::default();
    for (row, text) in texts.try_iter()?.enumerate() {
        let text = text?;
        let text = text.cast::<PyString>().map_err(|_| {
            input(format!("row {row} is {text}, which is no text: fill it, or drop the row"))
        })?;
        analyzer.each(&text.to_cow()?, &mut scratch, |token| rows.push(token, 1.0));
        rows.end_row();
    }
    Ok(rows.parts(py))
}
