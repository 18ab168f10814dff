//! What the columns of a model mean: the command's encoder, made from names or read from a file.

use crate::arrow::stream;
use crate::columns::record_batch;
use crate::error::input;
use arrow_array::{RecordBatchIterator, RecordBatchReader};
use kalmia_data::{
    Block, Coding, Encoder, EncoderOptions, Input, Kind, Meaning, Mode, Reader, SourceOptions,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The columns of a model and the coding of its target.
///
/// Parameters
/// ----------
/// names : list of str
///     Feature columns, all numbers.
/// target : str
///     Name of the target.
/// labels : tuple of str, optional
///     The labels coded 0 and 1; None if the target is a number or a truth value.
/// intercept : bool
///     Whether a constant comes first.
/// boolean : bool
///     Whether the target is a truth value.
///
/// Examples
/// --------
/// >>> from kalmia._kalmia import Schema
/// >>> schema = Schema(["age", "dose"], "cured", ("no", "yes"))
/// >>> schema.columns, schema.labels, schema.is_numeric
/// (['age', 'dose'], ('no', 'yes'), True)
#[pyclass(frozen, module = "kalmia")]
pub struct Schema(pub Encoder);

/// The rows of a table that were not left out.
#[derive(Default)]
struct Encoded {
    x: Vec<f64>,
    /// The place of each row in the table.
    rows: Vec<u64>,
    offset: Option<Vec<f64>>,
    /// Values of each row whose level was never learned.
    unseen: Vec<u32>,
}

/// Encodes all rows for predictions.
fn encode(
    batches: impl RecordBatchReader + Send + 'static,
    mut encoder: Encoder,
) -> kalmia_data::Result<Encoded> {
    let options = SourceOptions { threaded: false, ..SourceOptions::default() };
    let has_offset = encoder.options().offset.is_some();
    let mut all = Encoded { offset: has_offset.then(Vec::new), ..Encoded::default() };
    let inputs = vec![Input::record_batches("X", batches)];
    let mut reader = Reader::open(inputs, options, &mut encoder, Mode::Predict)?;
    let mut block = Block::new();
    while reader.next_block(&mut encoder, &mut block)? {
        all.x.extend_from_slice(&block.x);
        all.rows.extend((0..block.rows()).map(|i| block.input_row(i)));
        all.unseen.extend((0..block.rows()).map(|i| block.unseen(i)));
        if let (Some(offset), Some(part)) = (&mut all.offset, &block.offset) {
            offset.extend_from_slice(part);
        }
    }
    Ok(all)
}

/// Features, the rows that they belong to, offsets, and unseen levels per row.
type Arrays<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<u64>>,
    Option<Bound<'py, PyArray1<f64>>>,
    Option<Bound<'py, PyArray1<u32>>>,
);

#[pymethods]
impl Schema {
    #[new]
    #[pyo3(signature = (names, target, labels=None, intercept=true, boolean=false))]
    fn new(
        names: Vec<String>,
        target: &str,
        labels: Option<(String, String)>,
        intercept: bool,
        boolean: bool,
    ) -> PyResult<Self> {
        let options = EncoderOptions { intercept, ..EncoderOptions::target(target) };
        let coding = match labels {
            Some((negative, positive)) => Coding::Labels { positive, negative: Some(negative) },
            None if boolean => Coding::Boolean,
            None => Coding::Number,
        };
        let columns: Vec<_> = names.into_iter().map(|name| (name, Kind::Number)).collect();
        Encoder::from_columns(options, &columns, coding)
            .map(Self)
            .map_err(|error| input(format!("the columns cannot be stored: {error}")))
    }

    /// The feature columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.columns().iter().map(|column| column.name.clone()).collect()
    }

    /// The coefficients' names, without the constant.
    #[getter]
    fn features(&self) -> Vec<String> {
        let named =
            self.0.features().iter().filter(|feature| feature.meaning != Meaning::Intercept);
        named.map(|feature| feature.name.clone()).collect()
    }

    /// The target's name.
    #[getter]
    fn target(&self) -> Option<String> {
        self.0.target().map(|target| target.name.clone())
    }

    /// The labels coded 0 and 1; None if the target is a number or a truth value.
    #[getter]
    fn labels(&self) -> Option<(String, String)> {
        match self.0.target()?.coding.as_ref()? {
            Coding::Labels { positive, negative } => {
                Some((negative.clone().unwrap_or_default(), positive.clone()))
            }
            Coding::Number | Coding::Boolean => None,
        }
    }

    /// The offset's column, if there is one.
    #[getter]
    fn offset(&self) -> Option<String> {
        self.0.options().offset.clone()
    }

    /// Whether each column is one number, so rows need no encoding.
    #[getter]
    fn is_numeric(&self) -> bool {
        self.0
            .features()
            .iter()
            .all(|feature| matches!(feature.meaning, Meaning::Intercept | Meaning::Value))
            && self.0.options().missing == kalmia_data::Missing::Error
    }

    /// The features of the rows of a table, without the constant. Levels that were never learned
    /// are zeros, and counted.
    ///
    /// Parameters
    /// ----------
    /// table : object or dict
    ///     Anything with ``__arrow_c_stream__``, what that returns, or a dictionary of columns:
    ///     lists of numbers, booleans or texts, with None for a missing value.
    ///
    /// Returns
    /// -------
    /// X : ndarray of shape (n, features)
    ///     Without the rows that a missing value leaves out.
    /// rows : ndarray of shape (n,)
    ///     The place of each row in the table.
    /// offset : ndarray of shape (n,), or None
    ///     The column of offsets, if there is one.
    /// unseen : ndarray of shape (n,), or None
    ///     The number of values per row whose level was never learned; None if no row has one.
    fn encode<'py>(&self, py: Python<'py>, table: &Bound<'py, PyAny>) -> PyResult<Arrays<'py>> {
        let encoder = self.0.clone();
        let encoded = match table.cast::<PyDict>() {
            Ok(columns) => {
                let batch = record_batch(columns)?;
                let schema = batch.schema();
                py.detach(|| encode(RecordBatchIterator::new([Ok(batch)], schema), encoder))
            }
            Err(_) => {
                let batches = stream(table)?;
                py.detach(|| encode(batches, encoder))
            }
        };
        let Encoded { x, rows, offset, unseen } =
            encoded.map_err(|error| input(error.to_string()))?;
        let dim = self.0.dim();
        let constant = usize::from(self.0.options().intercept);
        let features: Vec<f64> =
            x.chunks_exact(dim.max(1)).flat_map(|row| row[constant..].iter().copied()).collect();
        let features = PyArray1::from_vec(py, features).reshape([rows.len(), dim - constant])?;
        Ok((
            features,
            PyArray1::from_vec(py, rows),
            offset.map(|offset| PyArray1::from_vec(py, offset)),
            unseen.iter().any(|count| *count > 0).then(|| PyArray1::from_vec(py, unseen)),
        ))
    }
}
