//! What learning changes: the learner, its metrics and the count of weights.

use crate::any::{AnyModel, either};
use crate::blocks::TakesRows;
use crate::error::{model as translate, plain};
use crate::learning::{AnyRows, LearnBlock, Teach};
use kalmia::evaluate::{Metrics, MetricsThread};
use kalmia::{Learner, Observer, RowView};
use kalmia_model::{Weights, check_copy_memory};
use pyo3::PyResult;

/// Rows of a table from which a thread of its own for the metrics is worth it.
const MIN_ROWS_FOR_THREAD: usize = 20_000;

/// What learning changes.
#[derive(Debug, Clone)]
pub struct State {
    pub learner: AnyModel,
    pub metrics: Option<Metrics>,
    /// The weights of the rows, as they were given.
    pub weights: Weights,
}

impl State {
    /// Learns one row, which the metrics count once it is learned.
    pub fn learn_one(&mut self, row: AnyRows<'_>) -> PyResult<()> {
        let mut seen: Option<RowView<'static>> = None;
        let mut watch = |row: &RowView<'_>| seen = Some(RowView { x: &[], ..*row });
        let observer: Option<&mut dyn Observer> =
            if self.metrics.is_some() { Some(&mut watch) } else { None };
        let result = learn(&mut self.learner, row, observer);
        self.learner.check_callables()?;
        result.map_err(plain)?;
        if let (Some(metrics), Some(row)) = (&mut self.metrics, seen) {
            metrics.row(&row);
        }
        Ok(())
    }
}

fn learn(
    learner: &mut AnyModel,
    rows: AnyRows<'_>,
    observer: Option<&mut dyn Observer>,
) -> kalmia::Result<()> {
    match rows {
        AnyRows::Dense(rows) => either!(learner, inner => inner.learn_observed(rows, observer)),
        AnyRows::Sparse(rows) => {
            either!(learner, inner => inner.learn_sparse_observed(rows, observer))
        }
    }
}

impl Teach for State {
    type Learner = AnyModel;

    fn learner(&self) -> &AnyModel {
        &self.learner
    }

    fn weights(&mut self) -> &mut Weights {
        &mut self.weights
    }

    fn check_copy_memory(&self) -> PyResult<()> {
        either!(&self.learner, inner => check_copy_memory(inner)).map_err(translate)
    }

    fn undoes_blocks(&self) -> bool {
        // an exception of a custom family shows only after the block
        self.learner.custom_family().is_none()
    }

    fn learn_blocks(
        &mut self,
        rows: usize,
        mut means: Option<&mut Vec<f64>>,
        blocks: impl FnOnce(LearnBlock<'_>) -> PyResult<()>,
    ) -> PyResult<()> {
        let Self { learner, metrics, .. } = self;
        let large = rows >= MIN_ROWS_FOR_THREAD;
        let mut thread =
            metrics.as_ref().filter(|_| large).map(|metrics| MetricsThread::start(metrics.clone()));
        // Rows that a block refuses must not count, so they wait here until it is learned.
        let mut pending: Vec<RowView<'static>> = Vec::new();
        let observed = metrics.is_some() || means.is_some();
        let buffered = metrics.is_some() && !large;
        blocks(&mut |rows| {
            let mut watch = |row: &RowView<'_>| {
                if let Some(thread) = &mut thread {
                    thread.row(row);
                }
                if buffered {
                    pending.push(RowView { x: &[], ..*row });
                }
                if let Some(means) = &mut means {
                    means.push(row.mean);
                }
            };
            // without an observer, `auto` need not compute the mean of its mixture
            let observer: Option<&mut dyn Observer> =
                if observed { Some(&mut watch) } else { None };
            learn(learner, rows, observer)?;
            if let Some(thread) = &mut thread {
                thread.flush();
            }
            if let Some(metrics) = metrics.as_mut().filter(|_| buffered) {
                pending.drain(..).for_each(|row| metrics.row(&row));
            }
            Ok(())
        })?;
        if let Some(thread) = thread {
            *metrics = Some(thread.finish());
        }
        Ok(())
    }
}
