//! The tables that learners take, as matrices of float64.

use crate::arrow::ArrowBlocks;
use crate::error::input;
use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// Matrices in the order of the rows.
type Blocks<'py> = Box<dyn Iterator<Item = PyResult<PyReadonlyArray2<'py, f64>>> + 'py>;

/// Whether a table is one matrix of float64, whose rows can be taken in any order.
pub fn is_matrix(x: &Bound<'_, PyAny>) -> bool {
    x.extract::<PyReadonlyArray2<'_, f64>>().is_ok()
}

/// The rows of an array or a sparse matrix in another order.
pub fn rearranged<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    order: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    x.get_item(PyArray1::from_slice(py, order))
        .map_err(|_| input("an order of the rows needs X to be an array or a sparse matrix"))
}

/// The rows of a table as matrices: a float64 array is its own block, Arrow streams are read here,
/// and `kalmia._tables` converts the rest. That module imports nothing compiled.
pub fn blocks<'py>(py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Blocks<'py>> {
    if let Ok(array) = x.extract::<PyReadonlyArray2<'py, f64>>() {
        return Ok(Box::new(std::iter::once(Ok(array))));
    }
    let tables = py.import("kalmia._tables")?;
    let parts = if x.is_instance_of::<ArrowBlocks>() {
        x.clone()
    } else if tables.call_method1("is_arrow", (x,))?.is_truthy()? {
        Bound::new(py, ArrowBlocks::new(x)?)?.into_any()
    } else {
        tables.call_method1("blocks", (x,))?
    };
    let matrix = |part: PyResult<Bound<'py, PyAny>>| {
        part?.extract().map_err(|_| input("X must be a matrix of numbers"))
    };
    Ok(Box::new(parts.try_iter()?.map(matrix)))
}
