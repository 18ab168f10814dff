//! Arrow streams (the PyCapsule interface) as matrices and as record batches; no Python library of
//! Arrow is needed.

use crate::error::input;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use kalmia_data::Kind;
use numpy::ndarray::{Array2, ShapeBuilder};
use numpy::{PyArray2, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The record batches of anything with ``__arrow_c_stream__``, or of what that gives.
pub fn stream(source: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    if let Ok(blocks) = source.cast::<ArrowBlocks>() {
        let taken = blocks.borrow_mut().reader.take();
        return taken.ok_or_else(|| input("this Arrow stream was read already: give a new one"));
    }
    let capsule = match source.cast::<PyCapsule>() {
        Ok(capsule) => capsule.clone(),
        Err(_) => source.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?,
    };
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: the capsule's name says what the pointer is, and the reader moves the stream out of
    // it, leaving a released one behind.
    let reader = unsafe {
        RecordBatchStreamReader::from_raw(pointer.as_ptr().cast::<FFI_ArrowArrayStream>())
    };
    reader.map_err(|error| input(format!("cannot read the Arrow stream: {error}")))
}

/// An iterator over the record batches of an Arrow stream, each a column-major array of float64.
/// What takes an Arrow stream takes this object as well, once.
///
/// Parameters
/// ----------
/// source : object
///     Anything with ``__arrow_c_stream__``. Its columns must be numbers or booleans without
///     nulls.
///
/// Examples
/// --------
/// >>> import pyarrow
/// >>> from kalmia._kalmia import ArrowBlocks
/// >>> blocks = ArrowBlocks(pyarrow.table({"a": [1, 2], "b": [0.5, 1.5]}))
/// >>> blocks.names
/// ['a', 'b']
/// >>> next(blocks)
/// array([[1. , 0.5],
///        [2. , 1.5]])
#[pyclass(module = "kalmia", unsendable)]
pub struct ArrowBlocks {
    /// None once another reader has taken it.
    reader: Option<RecordBatchStreamReader>,
    schema: SchemaRef,
    row: usize,
}

#[pymethods]
impl ArrowBlocks {
    #[new]
    pub fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let reader = stream(source)?;
        Ok(Self { schema: reader.schema(), reader: Some(reader), row: 0 })
    }

    /// Names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// ``"number"``, ``"boolean"`` or ``"category"`` per column; None for other types.
    #[getter]
    fn kinds(&self) -> Vec<Option<&'static str>> {
        let name = |kind| match kind {
            Kind::Number => "number",
            Kind::Boolean => "boolean",
            Kind::Category => "category",
            Kind::Text => "text",
        };
        let fields = self.schema.fields().iter();
        fields.map(|field| kalmia_data::kind_of(field.data_type()).map(name)).collect()
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let Some(batch) = self.reader.as_mut().and_then(Iterator::next) else { return Ok(None) };
        let batch =
            batch.map_err(|error| input(format!("cannot read the Arrow stream: {error}")))?;
        let matrix = matrix(&batch, self.row)?;
        self.row += batch.num_rows();
        Ok(Some(matrix.to_pyarray(py)))
    }
}

/// The batch as a column-major matrix; `first` is the number of its first row.
fn matrix(batch: &RecordBatch, first: usize) -> PyResult<Array2<f64>> {
    let shape = (batch.num_rows(), batch.num_columns());
    let mut numbers = Vec::with_capacity(shape.0 * shape.1);
    for (column, field) in batch.columns().iter().zip(batch.schema().fields()) {
        let name = field.name();
        if column.null_count() > 0 {
            let row = (0..column.len()).find(|&i| column.is_null(i)).unwrap_or(0);
            let row = first + row;
            return Err(input(format!(
                "column `{name}` has a missing value in row {row}: fill it, or drop the row"
            )));
        }
        kalmia_data::numbers(column, &mut numbers).map_err(|error| {
            let kind = error.data_type;
            input(format!(
                "column `{name}` is of type {kind}: this takes numbers and booleans only; the \
                 estimators take texts as well, and dates have to be turned into numbers first"
            ))
        })?;
    }
    Array2::from_shape_vec(shape.f(), numbers)
        .map_err(|error| input(format!("cannot read the Arrow stream: {error}")))
}
