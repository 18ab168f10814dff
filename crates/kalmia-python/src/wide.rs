//! Sparse rows as wide learners take them: each entry by its index, the constant included.

use crate::error::input;
use kalmia::{SparseInputs, SparseMatrix};
use kalmia_data::{FIRST_UNNAMED, SparseBlock};
use numpy::{Element, PyReadonlyArray1};
use pyo3::prelude::*;
use std::borrow::Cow;

/// Entries per block: about 50 ms of learning, the time between two checks for signals.
const BLOCK_ENTRIES: usize = 1 << 18;

/// Rows of a wide learner, which list only the features that are not 0. The estimators use it.
///
/// Indices ascend within a row, repeated ones are summed, and zeros are left out.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from kalmia._kalmia import WideRows
/// >>> rows = WideRows(np.array([0, 2, 3]), np.array([5, 1, 7]), np.ones(3), 9)
/// >>> rows.shape, rows.entries
/// ((2, 9), 3)
#[pyclass(frozen, module = "kalmia._kalmia")]
#[derive(Debug, Default)]
pub struct WideRows {
    /// Where each row begins, and at last the number of entries.
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    columns: usize,
}

/// Whole numbers of the two types that scipy.sparse uses.
#[derive(FromPyObject)]
pub enum WholeNumbers<'py> {
    Short(PyReadonlyArray1<'py, i32>),
    Long(PyReadonlyArray1<'py, i64>),
}

impl WholeNumbers<'_> {
    fn to_long(&self) -> PyResult<Cow<'_, [i64]>> {
        match self {
            Self::Short(array) => {
                Ok(Cow::Owned(contiguous(array)?.iter().map(|&one| i64::from(one)).collect()))
            }
            Self::Long(array) => Ok(Cow::Borrowed(contiguous(array)?)),
        }
    }
}

fn contiguous<'a, T: Element>(array: &'a PyReadonlyArray1<'_, T>) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| input("the parts of a sparse matrix must be contiguous arrays"))
}

/// The matrix of scipy.sparse whose rows are taken over.
struct Csr<'a> {
    starts: &'a [i64],
    indices: &'a [i64],
    values: &'a [f64],
    columns: usize,
    intercept: bool,
    /// The index of column 0.
    first: u32,
}

impl Csr<'_> {
    fn rows(&self) -> PyResult<WideRows> {
        let entries = self.indices.len();
        let ascending = self.starts.is_sorted() && self.starts.first() == Some(&0);
        if !ascending
            || self.values.len() != entries
            || self.starts.last() != Some(&(entries as i64))
        {
            return Err(input(
                "X is no valid sparse matrix: its indptr must ascend from 0 to the number of \
                 entries; make it anew, such as by scipy.sparse.csr_matrix(X.tocoo())",
            ));
        }
        let rows = self.starts.len() - 1;
        let room = entries + if self.intercept { rows } else { 0 };
        let mut all = WideRows {
            starts: Vec::with_capacity(rows + 1),
            indices: Vec::with_capacity(room),
            values: Vec::with_capacity(room),
            columns: self.columns,
        };
        all.starts.push(0);
        let mut scratch = Vec::new();
        for row in 0..rows {
            if self.intercept {
                all.push(0, 1.0);
            }
            self.add_row(row, &mut all, &mut scratch)?;
            all.starts.push(all.indices.len());
        }
        Ok(all)
    }

    /// Adds the entries of a row in ascending order, repeated columns as one.
    fn add_row(
        &self,
        row: usize,
        all: &mut WideRows,
        scratch: &mut Vec<(u32, f64)>,
    ) -> PyResult<()> {
        let range = self.starts[row] as usize..self.starts[row + 1] as usize;
        let columns = &self.indices[range.clone()];
        let values = &self.values[range];
        if columns.windows(2).all(|pair| pair[0] < pair[1]) {
            for (&column, &value) in columns.iter().zip(values) {
                self.add(row, self.index(row, column)?, value, all)?;
            }
            return Ok(());
        }
        scratch.clear();
        for (&column, &value) in columns.iter().zip(values) {
            scratch.push((self.index(row, column)?, value));
        }
        // stable: repeated entries are summed in the order given
        scratch.sort_by_key(|entry| entry.0);
        for same in scratch.chunk_by(|a, b| a.0 == b.0) {
            self.add(row, same[0].0, same.iter().map(|entry| entry.1).sum(), all)?;
        }
        Ok(())
    }

    fn add(&self, row: usize, index: u32, value: f64, all: &mut WideRows) -> PyResult<()> {
        if !value.is_finite() {
            let column = index - self.first;
            return Err(input(if value.is_nan() {
                format!(
                    "X has a missing value (NaN) in row {row}, column {column}: fill it, or drop \
                     the row"
                )
            } else {
                format!(
                    "X has an infinite value (inf) in row {row}, column {column}: give finite \
                     numbers"
                )
            }));
        }
        if value != 0.0 {
            all.push(index, value);
        }
        Ok(())
    }

    fn index(&self, row: usize, column: i64) -> PyResult<u32> {
        if usize::try_from(column).is_ok_and(|column| column < self.columns) {
            let index = u32::try_from(column).ok().filter(|index| *index < FIRST_UNNAMED);
            return index.map(|index| self.first + index).ok_or_else(|| {
                input(format!(
                    "X has an entry in row {row}, column {column}: columns up to 2147483647 are \
                     taken; hash the features into fewer columns, such as with \
                     kalmia.FeatureHasher"
                ))
            });
        }
        Err(input(format!(
            "X has an entry in row {row}, column {column}, but only {} columns: make the matrix \
             anew with the right shape",
            self.columns
        )))
    }
}

impl WideRows {
    /// An entry of the row that is not ended yet.
    fn push(&mut self, index: u32, value: f64) {
        self.indices.push(index);
        self.values.push(value);
    }

    /// One row of entries in any order, none of them twice.
    pub fn one(mut entries: Vec<(u32, f64)>, intercept: bool) -> Self {
        entries.sort_unstable_by_key(|entry| entry.0);
        let mut row = Self { starts: vec![0], columns: entries.len(), ..Self::default() };
        if intercept {
            row.push(0, 1.0);
        }
        let present = entries.into_iter().filter(|entry| entry.1 != 0.0);
        present.for_each(|(index, value)| row.push(index, value));
        row.starts.push(row.indices.len());
        row
    }

    /// The rows of blocks that an encoder made; `columns` are those of the table.
    pub fn of_blocks(blocks: &[SparseBlock], columns: usize) -> Self {
        let mut all = Self { starts: vec![0], columns, ..Self::default() };
        for block in blocks {
            let before = all.indices.len();
            all.starts.extend(block.starts.iter().skip(1).map(|start| before + start));
            all.indices.extend_from_slice(&block.indices);
            all.values.extend_from_slice(&block.values);
        }
        all
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Rows per block.
    fn block_rows(&self) -> usize {
        let per_row = self.indices.len() / self.rows().max(1);
        (BLOCK_ENTRIES / per_row.max(1)).max(1)
    }

    /// Whether all rows fit into one block.
    pub fn is_one_block(&self) -> bool {
        self.rows() <= self.block_rows()
    }

    /// The only row, to predict it.
    pub fn inputs(&self) -> kalmia::Result<SparseInputs<'_>> {
        Ok(SparseInputs::new(self.matrix()?))
    }

    /// All rows.
    pub fn matrix(&self) -> kalmia::Result<SparseMatrix<'_>> {
        SparseMatrix::new(&self.starts, &self.indices, &self.values)
    }

    /// Calls `run` with the first row, the number of rows and the entries of each block, the rows
    /// taken in the order given.
    pub fn each_block_in(
        &self,
        order: Option<&[usize]>,
        mut run: impl FnMut(usize, usize, SparseMatrix<'_>) -> PyResult<()>,
    ) -> PyResult<()> {
        let step = self.block_rows();
        let mut starts = Vec::with_capacity(step + 1);
        let mut indices = Vec::new();
        let mut values = Vec::new();
        let mut first = 0;
        while first < self.rows() {
            let n = step.min(self.rows() - first);
            starts.clear();
            starts.push(0);
            let block = match order {
                None => {
                    let range = self.starts[first]..self.starts[first + n];
                    let ends = &self.starts[first + 1..=first + n];
                    starts.extend(ends.iter().map(|end| end - range.start));
                    SparseMatrix::new(&starts, &self.indices[range.clone()], &self.values[range])
                }
                Some(order) => {
                    indices.clear();
                    values.clear();
                    for &row in &order[first..first + n] {
                        let range = self.starts[row]..self.starts[row + 1];
                        indices.extend_from_slice(&self.indices[range.clone()]);
                        values.extend_from_slice(&self.values[range]);
                        starts.push(indices.len());
                    }
                    SparseMatrix::new(&starts, &indices, &values)
                }
            };
            run(first, n, block.map_err(crate::error::plain)?)?;
            first += n;
        }
        Ok(())
    }
}

#[pymethods]
impl WideRows {
    /// The rows of a CSR matrix.
    ///
    /// Parameters
    /// ----------
    /// indptr, indices, data : ndarray
    ///     The parts of the matrix.
    /// columns : int
    ///     Its width.
    /// intercept : bool
    ///     Whether index 0 is the constant, which each row then has.
    /// named : bool
    ///     Whether columns are named features, which follow the constant. Otherwise they are
    ///     indices as those of libsvm.
    #[new]
    #[pyo3(signature = (indptr, indices, data, columns, *, intercept=false, named=false))]
    fn new(
        indptr: WholeNumbers<'_>,
        indices: WholeNumbers<'_>,
        data: PyReadonlyArray1<'_, f64>,
        columns: usize,
        intercept: bool,
        named: bool,
    ) -> PyResult<Self> {
        let first = if named { u32::from(intercept) } else { FIRST_UNNAMED };
        let (starts, indices) = (indptr.to_long()?, indices.to_long()?);
        let values = contiguous(&data)?;
        Csr { starts: &starts, indices: &indices, values, columns, intercept, first }.rows()
    }

    /// Rows and columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.columns)
    }

    /// Number of entries, constants included.
    #[getter]
    fn entries(&self) -> usize {
        self.indices.len()
    }

    fn __len__(&self) -> usize {
        self.rows()
    }
}
