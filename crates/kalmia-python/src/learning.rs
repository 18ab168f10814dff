//! The calls that run over many rows: learning, which can be undone, and predicting.

use crate::any::{AnyModel, either};
use crate::error::{Rows as RowsOf, input, model};
use crate::rows::{Features, flat};
use crate::state::State;
use crate::table;
use crate::wide::WideRows;
use kalmia::evaluate::MetricsThread;
use kalmia::learner::Checkpoint;
use kalmia::{
    Inputs, Learner, Observer, Predict, RowView, Rows, SparseInputs, SparseMatrix, SparseRows,
};
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

/// The features of a table.
#[derive(Clone, Copy)]
enum Table<'x> {
    Dense(Features<'x>),
    Sparse(&'x WideRows),
}

/// The features of a block of rows.
enum BlockFeatures<'b> {
    Dense(&'b [f64]),
    Sparse(SparseMatrix<'b>),
}

impl Table<'_> {
    fn rows(&self) -> usize {
        match self {
            Self::Dense(features) => features.x.nrows(),
            Self::Sparse(rows) => rows.rows(),
        }
    }

    /// Calls `run` with the first row, the number of rows and the features of each block.
    fn each_block_in(
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

/// One table of a call, with the rows that came before it.
struct Part<'x, 'a> {
    table: Table<'x>,
    intercept: bool,
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
        if let Ok(rows) = self.x.cast::<WideRows>() {
            let rows = rows.get();
            self.check_total(rows.rows())?;
            return self.transact(state, rows.is_one_block(), |state| {
                self.learn_part(py, state, Table::Sparse(rows), 0, self.order, means)?;
                Ok(())
            });
        }
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
        self.transact(state, one_step, |state| {
            let dense = Table::Dense(features);
            let mut start = self.learn_part(py, state, dense, 0, order, means.as_deref_mut())?;
            for table in tables {
                let table = table?;
                let dense =
                    Table::Dense(Features { x: table.as_array(), intercept: self.intercept });
                start = self.learn_part(py, state, dense, start, None, means.as_deref_mut())?;
            }
            self.check_total(start)
        })
    }

    /// Runs `all`, with a copy to return to if the learner cannot undo it itself: it can if it gets
    /// all rows in one step.
    fn transact(
        &self,
        state: &mut State,
        one_step: bool,
        all: impl FnOnce(&mut State) -> PyResult<()>,
    ) -> PyResult<()> {
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
        table: Table<'_>,
        start: usize,
        taken: Option<&[usize]>,
        means: Option<&mut Vec<f64>>,
    ) -> PyResult<usize> {
        check_features(&table, &state.learner)?;
        let end = start + table.rows();
        if end > self.y.len() {
            return Err(input(format!("X has more rows than y, which has {}", self.y.len())));
        }
        let part = Part {
            table,
            intercept: self.intercept,
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

/// The learner must expect such features: a wide one takes any, and the others as many as they
/// have.
fn check_features(table: &Table<'_>, learner: &AnyModel) -> PyResult<()> {
    let features = match table {
        _ if learner.is_wide() => return Ok(()),
        Table::Dense(features) => features,
        Table::Sparse(_) => {
            return Err(input("sparse rows by index are for learners of method 'wide' alone"));
        }
    };
    let dim = learner.dim();
    if features.dim() == dim {
        return Ok(());
    }
    let expected = dim - usize::from(features.intercept);
    let found = features.x.ncols();
    Err(input(format!("X has {found} features, but the learner expects {expected}")))
}

impl Part<'_, '_> {
    /// Learns the rows of one block.
    fn learn_block(
        &self,
        learner: &mut AnyModel,
        first: usize,
        n: usize,
        x: BlockFeatures<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> kalmia::Result<()> {
        let range = first..first + n;
        let y = &self.y[range.clone()];
        let weight = self.weight.as_ref().map(|weight| &weight[range.clone()]);
        let offset = self.offset.as_ref().map(|offset| &offset[range]);
        match x {
            BlockFeatures::Dense(x) => {
                let mut rows = Rows::new(x.len() / n.max(1), x, y)?;
                if let Some(weight) = weight {
                    rows = rows.with_weights(weight)?;
                }
                if let Some(offset) = offset {
                    rows = rows.with_offsets(offset)?;
                }
                either!(learner, inner => inner.learn_observed(rows, observer))
            }
            BlockFeatures::Sparse(x) => {
                let mut rows = SparseRows::new(x, y)?;
                if let Some(weight) = weight {
                    rows = rows.with_weights(weight)?;
                }
                if let Some(offset) = offset {
                    rows = rows.with_offsets(offset)?;
                }
                either!(learner, inner => inner.learn_sparse_observed(rows, observer))
            }
        }
    }

    /// Learns every row in order, without the interpreter's lock except to check for signals.
    fn learn(&self, state: &mut State, mut means: Option<&mut Vec<f64>>) -> PyResult<()> {
        let State { learner, metrics, .. } = state;
        let large = self.table.rows() >= MIN_ROWS_FOR_THREAD;
        let mut thread =
            metrics.as_ref().filter(|_| large).map(|metrics| MetricsThread::start(metrics.clone()));
        // Rows that a block refuses must not count, so they wait here until it is learned.
        let mut pending: Vec<RowView<'static>> = Vec::new();
        let observed = metrics.is_some() || means.is_some();
        let buffered = metrics.is_some() && !large;
        let mut checked = Instant::now();
        self.table.each_block_in(self.taken, |first, n, x| {
            // before the block: what was learned after the last check is complete
            if checked.elapsed() > SIGNAL_INTERVAL {
                checked = Instant::now();
                Python::attach(|py| py.check_signals())?;
            }
            let place =
                RowsOf { first: self.start + first, intercept: self.intercept, order: self.named };
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
            self.learn_block(learner, first, n, x, observer)
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
        learner: &AnyModel,
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
        learner: &AnyModel,
        table: Table<'_>,
        start: usize,
        run: &mut (impl FnMut(AnyInputs<'_>) -> kalmia::Result<()> + Send),
    ) -> PyResult<usize> {
        check_features(&table, learner)?;
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
        learner.custom_family().map_or(Ok(()), |family| family.check())?;
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
