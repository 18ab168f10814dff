//! A call that predicts many rows, block by block.

use crate::blocks::{BlockFeatures, Table, TakesRows};
use crate::error::{Rows as RowsOf, input};
use crate::rows::{Features, flat};
use crate::table;
use crate::wide::WideRows;
use kalmia::{Inputs, Predict, SparseInputs};
use numpy::ndarray::{ArrayView1, s};
use numpy::{AllowTypeChange, PyArrayLike1};
use pyo3::prelude::*;

/// A number of levels per row.
pub type LevelCounts<'py> = PyArrayLike1<'py, u32, AllowTypeChange>;

/// Rows to predict.
pub struct Query<'a, 'py> {
    pub x: &'a Bound<'py, PyAny>,
    pub offset: Option<ArrayView1<'a, f64>>,
    /// Levels per row that no row had.
    pub unseen: Option<ArrayView1<'a, u32>>,
    pub intercept: bool,
}

/// A block of rows to predict.
#[derive(Clone, Copy)]
pub enum AnyInputs<'a> {
    Dense(Inputs<'a>),
    Sparse(SparseInputs<'a>),
}

impl AnyInputs<'_> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Dense(inputs) => inputs.len(),
            Self::Sparse(inputs) => inputs.len(),
        }
    }

    /// Calls `take` with the prediction of each row.
    pub fn predict<P: Predict>(
        self,
        learner: &P,
        take: &mut dyn FnMut(usize, &P::Prediction) -> kalmia::Result<()>,
    ) -> kalmia::Result<()> {
        match self {
            Self::Dense(inputs) => learner.predict_many(inputs, take),
            Self::Sparse(inputs) => learner.predict_sparse(inputs, take),
        }
    }
}

impl<'py> Query<'_, 'py> {
    /// Calls `run` with each block of rows, without the interpreter's lock.
    pub fn each_block(
        &self,
        py: Python<'py>,
        learner: &(impl TakesRows + Sync),
        mut run: impl FnMut(AnyInputs<'_>) -> kalmia::Result<()> + Send,
    ) -> PyResult<()> {
        if let Ok(rows) = self.x.cast::<WideRows>() {
            let end = self.table(py, learner, Table::Sparse(rows.get()), 0, &mut run)?;
            return self.check_end(end);
        }
        let mut start = 0;
        for table in table::blocks(py, self.x)? {
            let table = table?;
            let features = Features { x: table.as_array(), intercept: self.intercept };
            start = self.table(py, learner, Table::Dense(features), start, &mut run)?;
        }
        self.check_end(start)
    }

    /// Calls `run` with the blocks of one table, after `start` rows; the number of rows so far.
    fn table(
        &self,
        py: Python<'py>,
        learner: &(impl TakesRows + Sync),
        table: Table<'_>,
        start: usize,
        run: &mut (impl FnMut(AnyInputs<'_>) -> kalmia::Result<()> + Send),
    ) -> PyResult<usize> {
        table.check(learner)?;
        let end = start + table.rows();
        if let Some(found) = self.offset.map(|offset| offset.len()).filter(|&found| found < end) {
            return Err(input(format!("X has more rows than offset, which has {found}")));
        }
        if let Some(found) = self.unseen.map(|unseen| unseen.len()).filter(|&found| found < end) {
            return Err(input(format!("X has more rows than unseen, which has {found}")));
        }
        let offset = self.offset.map(|offset| flat(offset.slice_move(s![start..end])));
        let unseen = self.unseen.map(|unseen| unseen.slice_move(s![start..end]).to_vec());
        let intercept = self.intercept;
        let result = py.detach(move || {
            table.each_block_in(None, |first, n, x| {
                let place = RowsOf { first: start + first, intercept, order: None };
                let range = first..first + n;
                let offset = offset.as_ref().map(|offset| &offset[range.clone()]);
                let unseen = unseen.as_ref().map(|unseen| &unseen[range]);
                inputs(x, n, offset, unseen)
                    .and_then(&mut *run)
                    .map_err(|error| place.refuse(error))?;
                Python::attach(|py| py.check_signals())
            })
        });
        learner.check_callables()?;
        result.map(|()| end)
    }

    fn check_end(&self, rows: usize) -> PyResult<()> {
        match self.offset.map(|offset| offset.len()).filter(|&found| found != rows) {
            Some(found) => Err(input(format!("X has {rows} rows, but offset has {found}"))),
            None => Ok(()),
        }
    }
}

/// The features of `n` rows as predictions take them.
fn inputs<'b>(
    x: BlockFeatures<'b>,
    n: usize,
    offset: Option<&'b [f64]>,
    unseen: Option<&'b [u32]>,
) -> kalmia::Result<AnyInputs<'b>> {
    match x {
        BlockFeatures::Dense(x) => {
            let mut inputs = Inputs::new(x.len() / n.max(1), x)?;
            if let Some(offset) = offset {
                inputs = inputs.with_offsets(offset)?;
            }
            if let Some(unseen) = unseen {
                inputs = inputs.with_unseen(unseen)?;
            }
            Ok(AnyInputs::Dense(inputs))
        }
        BlockFeatures::Sparse(x) => {
            let mut inputs = SparseInputs::new(x);
            if let Some(offset) = offset {
                inputs = inputs.with_offsets(offset)?;
            }
            if let Some(unseen) = unseen {
                inputs = inputs.with_unseen(unseen)?;
            }
            Ok(AnyInputs::Sparse(inputs))
        }
    }
}
