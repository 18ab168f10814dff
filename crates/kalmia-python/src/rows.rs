//! Rows out of numpy arrays of any layout, in blocks that fit the cache.

use crate::error::input;
use crate::learner::Numbers;
use numpy::ndarray::{ArrayView1, ArrayView2, s};
use pyo3::PyResult;
use std::borrow::Cow;

/// Numbers per block: small enough for the cache, and many rows of the library's own batches.
const BLOCK_NUMBERS: usize = 1 << 15;
/// Rows per block are a multiple of this.
const BLOCK_UNIT: usize = 256;

/// One row behind its constant, if there is one, for a learner of `dim` coefficients. Wide
/// learners, which have no such number, are refused.
pub fn one_row(x: &Numbers<'_>, dim: Option<usize>, intercept: bool) -> PyResult<Vec<f64>> {
    let x = x.as_array();
    let Some(dim) = dim else {
        return Err(input(
            "a wide learner takes no single rows of numbers: give its estimator a matrix of one \
             row",
        ));
    };
    let expected = dim - usize::from(intercept);
    if x.len() != expected {
        let alone = if intercept { " besides the intercept" } else { "" };
        return Err(input(format!(
            "x has {} features, but the learner has {expected}{alone}: give one number per \
             feature",
            x.len()
        )));
    }
    let constant = intercept.then_some(1.0);
    Ok(constant.into_iter().chain(x.iter().copied()).collect())
}

/// The features of rows as Python gave them, and whether a constant goes before them.
#[derive(Debug, Clone, Copy)]
pub struct Features<'a> {
    pub x: ArrayView2<'a, f64>,
    pub intercept: bool,
}

impl Features<'_> {
    /// Number of coefficients that these features need.
    pub fn dim(&self) -> usize {
        self.x.ncols() + usize::from(self.intercept)
    }

    /// Rows per block.
    fn block_rows(&self) -> usize {
        (BLOCK_NUMBERS / self.dim().max(1)).next_multiple_of(BLOCK_UNIT)
    }

    /// Whether all rows fit into one block.
    pub fn is_one_block(&self) -> bool {
        self.x.nrows() <= self.block_rows()
    }

    /// Calls `run` with the first row, the number of rows and the numbers of each block, row by
    /// row behind their constant, the rows taken in the order given. Nothing is copied if the
    /// layout allows it.
    pub fn each_block_in(
        &self,
        order: Option<&[usize]>,
        mut run: impl FnMut(usize, usize, &[f64]) -> PyResult<()>,
    ) -> PyResult<()> {
        let dim = self.dim();
        let step = self.block_rows();
        let moved = self.intercept || order.is_some();
        let in_place = if moved { None } else { self.x.to_slice() };
        let mut buffer = Vec::new();
        let mut first = 0;
        while first < self.x.nrows() {
            let n = step.min(self.x.nrows() - first);
            match in_place {
                Some(all) => run(first, n, &all[first * dim..(first + n) * dim])?,
                None => {
                    self.gather(order, first, n, &mut buffer);
                    run(first, n, &buffer)?;
                }
            }
            first += n;
        }
        Ok(())
    }

    /// Copies rows `first..first + n` of the order behind their constant into `buffer`.
    fn gather(&self, order: Option<&[usize]>, first: usize, n: usize, buffer: &mut Vec<f64>) {
        let constant = usize::from(self.intercept);
        let dim = self.dim();
        buffer.resize(n * dim, 1.0);
        if self.intercept {
            buffer.chunks_exact_mut(dim).for_each(|row| row[0] = 1.0);
        }
        let strides = self.x.strides();
        let by_column = strides[0].unsigned_abs() <= strides[1].unsigned_abs();
        if by_column && n > 1 && order.is_none() {
            for (j, column) in self.x.columns().into_iter().enumerate() {
                let places = buffer.iter_mut().skip(constant + j).step_by(dim);
                places
                    .zip(column.slice_move(s![first..first + n]))
                    .for_each(|(to, from)| *to = *from);
            }
            return;
        }
        for (i, to) in buffer.chunks_exact_mut(dim).enumerate() {
            let from = self.x.row(order.map_or(first + i, |order| order[first + i]));
            match from.to_slice() {
                Some(from) => to[constant..].copy_from_slice(from),
                None => to[constant..].iter_mut().zip(from).for_each(|(to, from)| *to = *from),
            }
        }
    }
}

/// The numbers of a one-dimensional array in the order given, a permutation of its places.
pub fn arranged(view: ArrayView1<'_, f64>, order: &[usize]) -> Vec<f64> {
    order.iter().map(|&place| view[place]).collect()
}

/// The numbers of a one-dimensional array in order, copied only if they are strided.
pub fn flat<'a>(view: ArrayView1<'a, f64>) -> Cow<'a, [f64]> {
    view.to_slice().map_or_else(|| Cow::Owned(view.iter().copied().collect()), Cow::Borrowed)
}
