//! A call that learns many rows as one transaction, whatever learns them.

use crate::blocks::{BlockFeatures, Signals, Table, TakesRows};
use crate::error::{Rows as RowsOf, input};
use crate::learner::Numbers;
use crate::rows::{Features, arranged, flat};
use crate::table;
use crate::wide::WideRows;
use kalmia::learner::Checkpoint;
use kalmia::{Rows, SparseRows};
use kalmia_model::{WeightKind, Weights};
use numpy::ndarray::{ArrayView1, ArrayView2, s};
use pyo3::prelude::*;
use std::borrow::Cow;

/// Rows to learn, as the library takes them.
#[derive(Clone, Copy)]
pub enum AnyRows<'a> {
    Dense(Rows<'a>),
    Sparse(SparseRows<'a>),
}

impl<'a> AnyRows<'a> {
    /// Rows with these targets.
    pub fn new(
        x: BlockFeatures<'a>,
        y: &'a [f64],
        weight: Option<&'a [f64]>,
        offset: Option<&'a [f64]>,
    ) -> kalmia::Result<Self> {
        match x {
            BlockFeatures::Dense(x) => {
                let mut rows = Rows::new(x.len() / y.len().max(1), x, y)?;
                if let Some(weight) = weight {
                    rows = rows.with_weights(weight)?;
                }
                if let Some(offset) = offset {
                    rows = rows.with_offsets(offset)?;
                }
                Ok(Self::Dense(rows))
            }
            BlockFeatures::Sparse(x) => {
                let mut rows = SparseRows::new(x, y)?;
                if let Some(weight) = weight {
                    rows = rows.with_weights(weight)?;
                }
                if let Some(offset) = offset {
                    rows = rows.with_offsets(offset)?;
                }
                Ok(Self::Sparse(rows))
            }
        }
    }
}

/// Learns one block.
pub type LearnBlock<'f> = &'f mut dyn FnMut(AnyRows<'_>) -> kalmia::Result<()>;

/// What learning changes: a learner, its metrics and the count of weights.
pub trait Teach: Clone + Send {
    type Learner: TakesRows;

    fn learner(&self) -> &Self::Learner;

    /// The weights of the rows, as they were given.
    fn weights(&mut self) -> &mut Weights;

    /// Refuses if there is no memory for a copy.
    fn check_copy_memory(&self) -> PyResult<()>;

    /// Whether the learner undoes the block that it refuses itself.
    fn undoes_blocks(&self) -> bool {
        true
    }

    /// Learns the blocks of a table of `rows` rows: `blocks` calls its argument with each. What was
    /// predicted for a row before it was learned is appended to `predicted`.
    fn learn_blocks(
        &mut self,
        rows: usize,
        predicted: Option<&mut Vec<f64>>,
        blocks: impl FnOnce(LearnBlock<'_>) -> PyResult<()>,
    ) -> PyResult<()>;
}

/// The arguments of a call that learns, as Python gives them.
pub struct Given<'a, 'py> {
    pub x: &'a Bound<'py, PyAny>,
    pub y: &'a Numbers<'py>,
    pub weight: Option<&'a Numbers<'py>>,
    pub offset: Option<&'a Numbers<'py>>,
    /// What the weights mean, if they are counted.
    pub kind: Option<WeightKind>,
    pub intercept: bool,
    /// Whether a failed call is undone.
    pub undo: bool,
    /// The rows in the order in which they are learned.
    pub order: Option<&'a [usize]>,
    /// Whether these are all rows.
    pub whole: bool,
    /// The number of the first row in messages.
    pub first_row: usize,
}

impl<'py> Given<'_, 'py> {
    /// Learns all rows. Collects what was predicted for each before, in the order in which they
    /// are learned, if `predicted` is given.
    pub fn teach(
        &self,
        py: Python<'py>,
        state: &mut impl Teach,
        predicted: Option<&mut Vec<f64>>,
    ) -> PyResult<()> {
        let y = self.y.as_array();
        if let Some(order) = self.order {
            check_order(order, y.len())?;
        }
        let arrange = |values: &Numbers<'py>| match self.order {
            Some(order) if values.as_array().len() == order.len() => {
                arranged(values.as_array(), order)
            }
            // a wrong length is refused later
            _ => values.as_array().to_vec(),
        };
        let in_order = self.order.map(|order| arranged(y, order));
        let offsets = self.offset.map(arrange);
        let mut weights = self.weight.map(arrange);
        let mut counted = *state.weights();
        if let (Some(weights), Some(kind)) = (&mut weights, self.kind) {
            scale_weights(kind, &mut counted, weights, self.whole);
        }
        let call = Call {
            x: self.x,
            y: in_order.as_deref().map_or(y, ArrayView1::from),
            weight: weights.as_deref().map(ArrayView1::from),
            offset: offsets.as_deref().map(ArrayView1::from),
            intercept: self.intercept,
            undo: self.undo,
            order: self.order,
            first_row: self.first_row,
        };
        call.learn(py, state, predicted)?;
        *state.weights() = counted;
        Ok(())
    }
}

/// Counts weights, and scales those that mean precision.
pub fn scale_weights(kind: WeightKind, counted: &mut Weights, weights: &mut [f64], whole: bool) {
    // illegal weights are left to the learner, which names their row
    let legal = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
    match kind {
        WeightKind::Precision if legal && whole => counted.divide_by_mean(weights),
        WeightKind::Precision if legal => counted.divide_by_running_mean(weights),
        _ => counted.count(weights),
    }
}

/// An order must hold every row once.
pub fn check_order(order: &[usize], rows: usize) -> PyResult<()> {
    let mut taken = vec![false; rows];
    let fits =
        |&place: &usize| taken.get_mut(place).is_some_and(|taken| !std::mem::replace(taken, true));
    if order.len() == rows && order.iter().all(fits) {
        return Ok(());
    }
    Err(input(format!("order must hold each of the numbers 0 to {rows} - 1 once")))
}

/// Rows of `width` numbers in the order in which the caller gave the rows.
pub fn in_given_order(found: Vec<f64>, width: usize, order: Option<&[usize]>) -> Vec<f64> {
    let Some(order) = order else { return found };
    let mut back = vec![0.0; found.len()];
    for (row, &place) in found.chunks_exact(width).zip(order) {
        back[place * width..][..width].copy_from_slice(row);
    }
    back
}

/// A call that learns, with its rows in the order in which they are learned.
struct Call<'a, 'py> {
    x: &'a Bound<'py, PyAny>,
    y: ArrayView1<'a, f64>,
    weight: Option<ArrayView1<'a, f64>>,
    offset: Option<ArrayView1<'a, f64>>,
    intercept: bool,
    undo: bool,
    /// The caller's number of each row. `x` is in the caller's order.
    order: Option<&'a [usize]>,
    first_row: usize,
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
    /// Learns all rows.
    ///
    /// A learner undoes the block that it refuses itself. Only a call of several blocks, or of a
    /// custom family, whose exceptions show afterwards, needs a copy to return to.
    fn learn<S: Teach>(
        &self,
        py: Python<'py>,
        state: &mut S,
        mut predicted: Option<&mut Vec<f64>>,
    ) -> PyResult<()> {
        self.check_lengths()?;
        if let Ok(rows) = self.x.cast::<WideRows>() {
            let table = Table::Sparse(rows.get());
            self.check_total(table.rows())?;
            return self.transact(state, table.is_one_block(), |state| {
                self.learn_part(py, state, table, 0, self.order, predicted)?;
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
        let first = self.dense(first.as_array());
        let is_last = tables.peek().is_none();
        if is_last {
            self.check_total(first.rows())?;
        }
        self.transact(state, is_last && first.is_one_block(), |state| {
            let mut start =
                self.learn_part(py, state, first, 0, order, predicted.as_deref_mut())?;
            for table in tables {
                let table = table?;
                let table = self.dense(table.as_array());
                start = self.learn_part(py, state, table, start, None, predicted.as_deref_mut())?;
            }
            self.check_total(start)
        })
    }

    fn dense<'x>(&self, x: ArrayView2<'x, f64>) -> Table<'x> {
        Table::Dense(Features { x, intercept: self.intercept })
    }

    /// Runs `all`, with a copy to return to if the learner cannot undo it itself: it can if it gets
    /// all rows in one step.
    fn transact<S: Teach>(
        &self,
        state: &mut S,
        one_step: bool,
        all: impl FnOnce(&mut S) -> PyResult<()>,
    ) -> PyResult<()> {
        let work = |state: &mut S| {
            let result = all(state);
            state.learner().check_callables()?;
            result
        };
        if self.undo && !(one_step && state.undoes_blocks()) {
            state.check_copy_memory()?;
            Checkpoint::default().transaction(state, work)
        } else {
            work(state)
        }
    }

    /// Learns the next table, its rows taken in the order given; the number of rows so far.
    fn learn_part(
        &self,
        py: Python<'py>,
        state: &mut impl Teach,
        table: Table<'_>,
        start: usize,
        taken: Option<&[usize]>,
        predicted: Option<&mut Vec<f64>>,
    ) -> PyResult<usize> {
        table.check(state.learner())?;
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
        py.detach(|| part.learn(state, predicted))?;
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

impl Part<'_, '_> {
    /// Learns every row in order, without the interpreter's lock except to check for signals.
    fn learn(&self, state: &mut impl Teach, predicted: Option<&mut Vec<f64>>) -> PyResult<()> {
        let mut signals = Signals::new();
        state.learn_blocks(self.table.rows(), predicted, |learn| {
            self.table.each_block_in(self.taken, |first, n, x| {
                // before the block: what was learned after the last check is complete
                signals.check()?;
                let place = RowsOf {
                    first: self.start + first,
                    intercept: self.intercept,
                    order: self.named,
                };
                let range = first..first + n;
                let weight = self.weight.as_ref().map(|weight| &weight[range.clone()]);
                let offset = self.offset.as_ref().map(|offset| &offset[range.clone()]);
                AnyRows::new(x, &self.y[range], weight, offset)
                    .and_then(&mut *learn)
                    .map_err(|error| place.refuse(error))
            })
        })
    }
}
