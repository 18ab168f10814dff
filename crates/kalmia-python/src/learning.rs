//! The calls that run over many rows: learning, which can be undone, and predicting.

use crate::any::{AnyModel, either};
use crate::error::{Rows as RowsOf, input, model};
use crate::rows::{Features, flat};
use crate::state::State;
use crate::table;
use kalmia::evaluate::MetricsThread;
use kalmia::learner::Checkpoint;
use kalmia::{Inputs, Learner, Observer, RowView, Rows};
use kalmia_model::check_copy_memory;
use numpy::ndarray::{ArrayView1, s};
use pyo3::prelude::*;
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// Rows of a table from which a thread of its own for the metrics is worth it.
const MIN_ROWS_FOR_THREAD: usize = 20_000;
/// Time between two checks for signals (Ctrl-C).
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// The arguments of a call that learns.
pub struct Call<'a, 'py> {
    pub x: &'a Bound<'py, PyAny>,
    pub y: ArrayView1<'a, f64>,
    pub weight: Option<ArrayView1<'a, f64>>,
    pub offset: Option<ArrayView1<'a, f64>>,
    pub intercept: bool,
    /// Whether a failed call is undone.
    pub undo: bool,
    /// The caller's number of each row, in the order in which they are learned. `y`, `weight` and
    /// `offset` are in that order already.
    pub order: Option<&'a [usize]>,
    /// The number of the first row in messages.
    pub first_row: usize,
}

/// One table of a call, with the rows that came before it.
struct Part<'x, 'a> {
    features: Features<'x>,
    y: Cow<'a, [f64]>,
    weight: Option<Cow<'a, [f64]>>,
    offset: Option<Cow<'a, [f64]>>,
    /// The number of the first row in messages.
    start: usize,
    /// The order in which rows are taken out of the table.
    taken: Option<&'a [usize]>,
    /// The caller's number of each row of the call.
    named: Option<&'a [usize]>,
}

impl<'py> Call<'_, 'py> {
    /// Learns all rows. Collects the means predicted before each row if `means` is given.
    ///
    /// A learner undoes the block that it refuses itself. Only a call of several blocks, or of a
    /// custom family, whose exceptions show afterwards, needs a copy to return to.
    pub fn learn(
        &self,
        py: Python<'py>,
        state: &mut State,
        mut means: Option<&mut Vec<f64>>,
    ) -> PyResult<()> {
        self.check_lengths()?;
        let order = self.order.filter(|_| table::is_matrix(self.x));
        let rearranged = match self.order {
            Some(places) if order.is_none() => Some(table::rearranged(py, self.x, places)?),
            _ => None,
        };
        let mut tables = table::blocks(py, rearranged.as_ref().unwrap_or(self.x))?.peekable();
        let Some(first) = tables.next().transpose()? else {
            return self.check_total(0);
        };
        let features = Features { x: first.as_array(), intercept: self.intercept };
        let is_last = tables.peek().is_none();
        if is_last {
            self.check_total(features.x.nrows())?;
        }
        let one_step = is_last && features.is_one_block();
        let all = |state: &mut State| {
            let mut start = self.learn_part(py, state, features, 0, order, means.as_deref_mut())?;
            for table in tables {
                let table = table?;
                let features = Features { x: table.as_array(), intercept: self.intercept };
                start = self.learn_part(py, state, features, start, None, means.as_deref_mut())?;
            }
            self.check_total(start)
        };
        let custom = state.learner.custom_family();
        let work = |state: &mut State| {
            let result = all(state);
            // what a callable raised is the cause of any other error
            custom.as_ref().map_or(Ok(()), |family| family.check())?;
            result
        };
        if self.undo && (custom.is_some() || !one_step) {
            either!(&state.learner, inner => check_copy_memory(inner)).map_err(model)?;
            Checkpoint::default().transaction(state, work)
        } else {
            work(state)
        }
    }

    /// Learns the next table, its rows taken in the order given; the number of rows so far.
    fn learn_part(
        &self,
        py: Python<'py>,
        state: &mut State,
        features: Features<'_>,
        start: usize,
        taken: Option<&[usize]>,
        means: Option<&mut Vec<f64>>,
    ) -> PyResult<usize> {
        check_width(&features, state.learner.dim())?;
        let end = start + features.x.nrows();
        if end > self.y.len() {
            return Err(input(format!("X has more rows than y, which has {}", self.y.len())));
        }
        let part = Part {
            features,
            y: flat(self.y.slice_move(s![start..end])),
            weight: self.weight.map(|weight| flat(weight.slice_move(s![start..end]))),
            offset: self.offset.map(|offset| flat(offset.slice_move(s![start..end]))),
            start: self.first_row + start,
            taken,
            named: self.order,
        };
        py.detach(|| part.learn(state, means))?;
        Ok(end)
    }

    /// Weights and offsets must be as many as targets.
    fn check_lengths(&self) -> PyResult<()> {
        for (name, values) in [("weight", self.weight), ("offset", self.offset)] {
            let found = values.map_or(self.y.len(), |values| values.len());
            if found != self.y.len() {
                return Err(input(format!("y has {} rows, but {name} has {found}", self.y.len())));
            }
        }
        Ok(())
    }

    /// `X` must have as many rows as there are targets.
    fn check_total(&self, rows: usize) -> PyResult<()> {
        let expected = self.y.len();
        match rows.cmp(&expected) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Less => {
                Err(input(format!("X has {rows} rows, but y has {expected}")))
            }
            std::cmp::Ordering::Greater => {
                Err(input(format!("X has more rows than y, which has {expected}")))
            }
        }
    }
}

/// The learner must expect as many features as there are.
fn check_width(features: &Features<'_>, dim: usize) -> PyResult<()> {
    if features.dim() == dim {
        return Ok(());
    }
    let expected = dim - usize::from(features.intercept);
    let found = features.x.ncols();
    Err(input(format!("X has {found} features, but the learner expects {expected}")))
}

impl Part<'_, '_> {
    fn rows<'b>(&'b self, first: usize, n: usize, x: &'b [f64]) -> kalmia::Result<Rows<'b>> {
        let range = first..first + n;
        let mut rows = Rows::new(self.features.dim(), x, &self.y[range.clone()])?;
        if let Some(weight) = &self.weight {
            rows = rows.with_weights(&weight[range.clone()])?;
        }
        if let Some(offset) = &self.offset {
            rows = rows.with_offsets(&offset[range])?;
        }
        Ok(rows)
    }

    /// Learns every row in order, without the interpreter's lock except to check for signals.
    fn learn(&self, state: &mut State, mut means: Option<&mut Vec<f64>>) -> PyResult<()> {
        let State { learner, metrics, .. } = state;
        let large = self.features.x.nrows() >= MIN_ROWS_FOR_THREAD;
        let mut thread =
            metrics.as_ref().filter(|_| large).map(|metrics| MetricsThread::start(metrics.clone()));
        // Rows that a block refuses must not count, so they wait here until it is learned.
        let mut pending: Vec<RowView<'static>> = Vec::new();
        let observed = metrics.is_some() || means.is_some();
        let buffered = metrics.is_some() && !large;
        let mut checked = Instant::now();
        self.features.each_block_in(self.taken, |first, n, x| {
            // before the block: what was learned after the last check is complete
            if checked.elapsed() > SIGNAL_INTERVAL {
                checked = Instant::now();
                Python::attach(|py| py.check_signals())?;
            }
            let place = RowsOf {
                first: self.start + first,
                intercept: self.features.intercept,
                order: self.named,
            };
            let rows = self.rows(first, n, x).map_err(|error| place.refuse(error))?;
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
            either!(&mut *learner, inner => inner.learn_observed(rows, observer))
                .map_err(|error| place.refuse(error))?;
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

/// Blocks of rows to predict.
pub struct Query<'a, 'py> {
    pub x: &'a Bound<'py, PyAny>,
    pub offset: Option<ArrayView1<'a, f64>>,
    /// Levels per row that no row had.
    pub unseen: Option<ArrayView1<'a, u32>>,
    pub intercept: bool,
}

impl<'py> Query<'_, 'py> {
    /// Calls `run` with each block of rows, without the interpreter's lock.
    pub fn each_block(
        &self,
        py: Python<'py>,
        learner: &AnyModel,
        mut run: impl FnMut(Inputs<'_>) -> kalmia::Result<()> + Send,
    ) -> PyResult<()> {
        let offset = self.offset;
        let unseen = self.unseen;
        let intercept = self.intercept;
        let mut start = 0;
        for table in table::blocks(py, self.x)? {
            let table = table?;
            let features = Features { x: table.as_array(), intercept };
            check_width(&features, learner.dim())?;
            let end = start + features.x.nrows();
            if let Some(found) = offset.map(|offset| offset.len()).filter(|&found| found < end) {
                return Err(input(format!("X has more rows than offset, which has {found}")));
            }
            if let Some(found) = unseen.map(|unseen| unseen.len()).filter(|&found| found < end) {
                return Err(input(format!("X has more rows than unseen, which has {found}")));
            }
            let offset = offset.map(|offset| flat(offset.slice_move(s![start..end])));
            let unseen = unseen.map(|unseen| unseen.slice_move(s![start..end]).to_vec());
            let run = &mut run;
            let result = py.detach(move || {
                features.each_block(|first, n, x| {
                    let place = RowsOf { first: start + first, intercept, order: None };
                    Inputs::new(features.dim(), x)
                        .and_then(|inputs| match &offset {
                            Some(offset) => inputs.with_offsets(&offset[first..first + n]),
                            None => Ok(inputs),
                        })
                        .and_then(|inputs| match &unseen {
                            Some(unseen) => inputs.with_unseen(&unseen[first..first + n]),
                            None => Ok(inputs),
                        })
                        .and_then(&mut *run)
                        .map_err(|error| place.refuse(error))?;
                    Python::attach(|py| py.check_signals())
                })
            });
            learner.custom_family().map_or(Ok(()), |family| family.check())?;
            result?;
            start = end;
        }
        match offset.map(|offset| offset.len()).filter(|&found| found != start) {
            Some(found) => Err(input(format!("X has {start} rows, but offset has {found}"))),
            None => Ok(()),
        }
    }
}
