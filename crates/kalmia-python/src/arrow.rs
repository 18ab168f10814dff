//! Any Arrow stream (the PyCapsule interface) as blocks of numbers, without a Python Arrow library.

use crate::error::input;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::DataType;
use numpy::ndarray::{Array2, ShapeBuilder};
use numpy::{PyArray2, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// An iterator over the record batches of an Arrow stream, each a column-major array of float64.
///
/// Parameters
/// ----------
/// source : object
///     Anything with ``__arrow_c_stream__``, its columns numbers or booleans without nulls.
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
    reader: RecordBatchStreamReader,
    row: usize,
}

#[pymethods]
impl ArrowBlocks {
    #[new]
    fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let capsule = source.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
        // SAFETY: the capsule's name says what the pointer is, and the reader moves the stream out
        // of it, leaving a released one behind.
        let reader = unsafe {
            RecordBatchStreamReader::from_raw(pointer.as_ptr().cast::<FFI_ArrowArrayStream>())
        };
        let reader =
            reader.map_err(|error| input(format!("cannot read the Arrow stream: {error}")))?;
        Ok(Self { reader, row: 0 })
    }

    /// Names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.reader.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let Some(batch) = self.reader.next() else { return Ok(None) };
        let batch =
            batch.map_err(|error| input(format!("cannot read the Arrow stream: {error}")))?;
        let numbers = columns(&batch, self.row)?;
        self.row += batch.num_rows();
        Ok(Some(numbers.to_pyarray(py)))
    }
}

/// The batch as a column-major matrix.
fn columns(batch: &RecordBatch, first: usize) -> PyResult<Array2<f64>> {
    let mut matrix = Array2::zeros((batch.num_rows(), batch.num_columns()).f());
    for (j, (column, field)) in batch.columns().iter().zip(batch.schema().fields()).enumerate() {
        if column.null_count() > 0 {
            let row = (0..column.len()).find(|&i| column.is_null(i)).unwrap_or(0);
            return Err(input(format!(
                "column `{}` has a missing value in row {}",
                field.name(),
                first + row
            )));
        }
        let mut put = |values: &mut dyn Iterator<Item = f64>| {
            matrix.column_mut(j).iter_mut().zip(values).for_each(|(to, from)| *to = from);
        };
        macro_rules! numbers {
            ($kind:ty) => {
                put(&mut column.as_primitive::<$kind>().values().iter().map(|&value| value as f64))
            };
        }
        match column.data_type() {
            DataType::Float64 => numbers!(Float64Type),
            DataType::Float32 => numbers!(Float32Type),
            DataType::Int8 => numbers!(Int8Type),
            DataType::Int16 => numbers!(Int16Type),
            DataType::Int32 => numbers!(Int32Type),
            DataType::Int64 => numbers!(Int64Type),
            DataType::UInt8 => numbers!(UInt8Type),
            DataType::UInt16 => numbers!(UInt16Type),
            DataType::UInt32 => numbers!(UInt32Type),
            DataType::UInt64 => numbers!(UInt64Type),
            DataType::Boolean => {
                let values = column.as_boolean();
                put(&mut (0..values.len()).map(|i| f64::from(u8::from(values.value(i)))));
            }
            other => {
                return Err(input(format!(
                    "column `{}` is of type {other}: only numbers and booleans are features",
                    field.name()
                )));
            }
        }
    }
    Ok(matrix)
}
