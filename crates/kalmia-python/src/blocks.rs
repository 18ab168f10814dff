//! Tables of rows in blocks, whatever is learned from them or predicted for them.

use crate::any::AnyModel;
use crate::error::input;
use crate::rows::Features;
use crate::wide::WideRows;
use kalmia::SparseMatrix;
use kalmia::learner::AnyCategorical;
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// Time between two checks for signals (Ctrl-C).
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// A learner, as far as tables must fit it.
pub trait TakesRows {
    /// Features of a row, the constant included; `None` for a wide learner, which takes any.
    fn width(&self) -> Option<usize>;

    /// The exception that a callable of a custom family has raised: the cause of any other error.
    fn check_callables(&self) -> PyResult<()> {
        Ok(())
    }
}

impl TakesRows for AnyModel {
    fn width(&self) -> Option<usize> {
        if self.is_wide() { None } else { Some(self.dim()) }
    }

    fn check_callables(&self) -> PyResult<()> {
        self.custom_family().map_or(Ok(()), |family| family.check())
    }
}

impl TakesRows for AnyCategorical {
    fn width(&self) -> Option<usize> {
        self.dense_dim()
    }
}

/// The features of a table.
#[derive(Clone, Copy)]
pub enum Table<'x> {
    Dense(Features<'x>),
    Sparse(&'x WideRows),
}

/// The features of a block of rows.
#[derive(Clone, Copy)]
pub enum BlockFeatures<'b> {
    Dense(&'b [f64]),
    Sparse(SparseMatrix<'b>),
}

impl Table<'_> {
    pub fn rows(&self) -> usize {
        match self {
            Self::Dense(features) => features.x.nrows(),
            Self::Sparse(rows) => rows.rows(),
        }
    }

    /// Whether all rows fit into one block.
    pub fn is_one_block(&self) -> bool {
        match self {
            Self::Dense(features) => features.is_one_block(),
            Self::Sparse(rows) => rows.is_one_block(),
        }
    }

    /// Refuses features that the learner does not expect.
    pub fn check(&self, learner: &impl TakesRows) -> PyResult<()> {
        let Some(width) = learner.width() else { return Ok(()) };
        match self {
            Self::Dense(features) if features.dim() == width => Ok(()),
            Self::Dense(features) => {
                let expected = width - usize::from(features.intercept);
                let found = features.x.ncols();
                Err(input(format!("X has {found} features, but the learner expects {expected}")))
            }
            Self::Sparse(_) => {
                Err(input("sparse rows by index are for learners of method 'wide' alone"))
            }
        }
    }

    /// Calls `run` with the first row, the number of rows and the features of each block.
    pub fn each_block_in(
        &self,
        order: Option<&[usize]>,
        mut run: impl FnMut(usize, usize, BlockFeatures<'_>) -> PyResult<()>,
    ) -> PyResult<()> {
        match self {
            Self::Dense(features) => {
                features.each_block_in(order, |first, n, x| run(first, n, BlockFeatures::Dense(x)))
            }
            Self::Sparse(rows) => {
                rows.each_block_in(order, |first, n, x| run(first, n, BlockFeatures::Sparse(x)))
            }
        }
    }
}

/// Checks for signals from time to time.
pub struct Signals {
    checked: Instant,
}

impl Signals {
    pub fn new() -> Self {
        Self { checked: Instant::now() }
    }

    /// Fails if a signal has come, such as Ctrl-C.
    pub fn check(&mut self) -> PyResult<()> {
        if self.checked.elapsed() <= SIGNAL_INTERVAL {
            return Ok(());
        }
        self.checked = Instant::now();
        Python::attach(|py| py.check_signals())
    }
}
