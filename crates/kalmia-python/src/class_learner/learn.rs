//! Learning: many rows, one row, more features.

use super::{ClassLearner, ClassState};
use crate::error::{Rows as RowsOf, input, model as translate, plain};
use crate::learner::{Numbers, RowArgument, check_order, scale_weights};
use crate::rows::{Features, arranged};
use crate::table;
use crate::wide::WideRows;
use kalmia::learner::{AnyCategorical, Checkpoint, ClassRow};
use kalmia::{Rows, SparseRows};
use kalmia_model::{check_copy_memory, check_memory};
use numpy::{PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// Most classes; a larger code is a mistake.
const MAX_CLASSES: usize = 1 << 16;
/// Time between two checks for signals (Ctrl-C).
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Rows of either kind, as a learner takes them.
enum ClassRows<'a> {
    Dense(Rows<'a>),
    Sparse(SparseRows<'a>),
}

/// The rows of a call, in the order in which they are learned.
struct Call<'a> {
    y: Vec<f64>,
    weight: Option<Vec<f64>>,
    intercept: bool,
    order: Option<&'a [usize]>,
    first_row: usize,
}

impl Call<'_> {
    /// Learns the rows of one table after `start` rows; the number of rows so far.
    fn learn_table(
        &self,
        state: &mut ClassState,
        features: Features<'_>,
        start: usize,
        taken: Option<&[usize]>,
        mut found: Option<&mut Vec<f64>>,
    ) -> PyResult<usize> {
        let end = start + features.x.nrows();
        if end > self.y.len() {
            return Err(input(format!("X has more rows than y, which has {}", self.y.len())));
        }
        check_width(&state.learner, &features)?;
        let dim = features.dim();
        let mut signals = Signals::new();
        features.each_block_in(taken, |first, n, x| {
            signals.check()?;
            let range = start + first..start + first + n;
            let rows = Rows::new(dim, x, &self.y[range.clone()]);
            let rows = match &self.weight {
                Some(weight) => rows.and_then(|rows| rows.with_weights(&weight[range])),
                None => rows,
            };
            let rows = rows.map(ClassRows::Dense);
            let learned = rows.and_then(|rows| learn(state, rows, found.as_deref_mut()));
            learned.map_err(|error| self.place(start + first).refuse(error))
        })?;
        Ok(end)
    }

    /// Learns sparse rows.
    fn learn_wide(
        &self,
        state: &mut ClassState,
        rows: &WideRows,
        mut found: Option<&mut Vec<f64>>,
    ) -> PyResult<()> {
        if rows.rows() != self.y.len() {
            let (given, expected) = (rows.rows(), self.y.len());
            return Err(input(format!("X has {given} rows, but y has {expected}")));
        }
        check_sparse(&state.learner)?;
        let mut signals = Signals::new();
        rows.each_block_in(self.order, |first, n, x| {
            signals.check()?;
            let range = first..first + n;
            let rows = SparseRows::new(x, &self.y[range.clone()]);
            let rows = match &self.weight {
                Some(weight) => rows.and_then(|rows| rows.with_weights(&weight[range])),
                None => rows,
            };
            let rows = rows.map(ClassRows::Sparse);
            let learned = rows.and_then(|rows| learn(state, rows, found.as_deref_mut()));
            learned.map_err(|error| self.place(first).refuse(error))
        })
    }

    /// Where the rows from this one on come from, for messages.
    fn place(&self, first: usize) -> RowsOf<'_> {
        RowsOf { first: self.first_row + first, intercept: self.intercept, order: self.order }
    }
}

/// Looks for signals from time to time.
struct Signals {
    checked: Instant,
}

impl Signals {
    fn new() -> Self {
        Self { checked: Instant::now() }
    }

    fn check(&mut self) -> PyResult<()> {
        if self.checked.elapsed() <= SIGNAL_INTERVAL {
            return Ok(());
        }
        self.checked = Instant::now();
        Python::attach(|py| py.check_signals())
    }
}

/// Refuses another number of features than a learner of dense rows has.
pub(super) fn check_width(learner: &AnyCategorical, features: &Features<'_>) -> PyResult<()> {
    let Some(dense) = learner.dense().filter(|dense| dense.dim() != features.dim()) else {
        return Ok(());
    };
    let expected = dense.dim() - usize::from(features.intercept);
    let given = features.x.ncols();
    Err(input(format!("X has {given} features, but the learner has {expected}")))
}

/// Learns rows; collects the probabilities predicted before each, if asked for.
fn learn(
    state: &mut ClassState,
    rows: ClassRows<'_>,
    found: Option<&mut Vec<f64>>,
) -> kalmia::Result<()> {
    // Rows that are refused must not count, so they wait here until all are learned.
    let mut pending: Vec<(usize, usize, f64)> = Vec::new();
    let mut probabilities: Vec<f64> = Vec::new();
    let mut watch = |row: &ClassRow<'_>| {
        pending.push((row.class, row.probabilities.len(), row.weight));
        probabilities.extend_from_slice(row.probabilities);
    };
    match rows {
        ClassRows::Dense(rows) => {
            state.learner.learn_growing(rows, MAX_CLASSES, Some(&mut watch))?;
        }
        ClassRows::Sparse(rows) => {
            state.learner.learn_sparse_growing(rows, MAX_CLASSES, Some(&mut watch))?;
        }
    }
    let mut start = 0;
    for (class, classes, weight) in pending {
        state.metrics.row(class, &probabilities[start..start + classes], weight);
        start += classes;
    }
    if let Some(found) = found {
        found.append(&mut probabilities);
    }
    Ok(())
}

#[pymethods]
impl ClassLearner {
    /// Learns rows in order. A call that fails or is interrupted changes nothing.
    ///
    /// Parameters
    /// ----------
    /// X : matrix of shape (n, features)
    ///     numpy, pandas, polars, any Arrow stream, scipy.sparse, or the :class:`WideRows` of a
    ///     wide learner.
    /// y : array_like of shape (n,)
    ///     The code of each row's class.
    /// weight : array_like of shape (n,), optional
    ///     Multiplies the loss.
    /// offset : array_like of shape (n,), optional
    ///     Must be 0: all classes would share it.
    /// means : bool
    ///     Whether to return the probabilities. All classes must then be known.
    /// undo : bool
    ///     Whether a failed call is undone. False saves a copy of the learner, for a learner that
    ///     you discard if the call fails.
    /// order : array_like of shape (n,), optional
    ///     The rows in the order in which to learn them: a permutation of 0 to n - 1.
    /// whole : bool
    ///     Whether these are all rows. Precision weights are then divided by their mean, and else
    ///     by their mean so far.
    /// first_row : int
    ///     The number of the first row in messages.
    ///
    /// Returns
    /// -------
    /// ndarray of shape (n, classes), or None
    ///     The probabilities predicted for each row before it was learned.
    #[pyo3(signature = (X, y, weight=None, offset=None, *, means=false, undo=true, order=None,
                        whole=false, first_row=0))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python method")]
    fn learn_many<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        y: Numbers<'py>,
        weight: Option<Numbers<'py>>,
        offset: Option<Numbers<'py>>,
        means: bool,
        undo: bool,
        order: Option<Vec<usize>>,
        whole: bool,
        first_row: usize,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        if offset.is_some_and(|offset| offset.as_array().iter().any(|&offset| offset != 0.0)) {
            return Err(input("several classes take no offset: all classes would share it"));
        }
        let order = order.as_deref();
        let total = y.as_array().len();
        if let Some(order) = order {
            check_order(order, total)?;
        }
        let arrange = |values: &Numbers<'py>| match order {
            Some(order) => arranged(values.as_array(), order),
            None => values.as_array().to_vec(),
        };
        if let Some(found) = weight.as_ref().map(|weight| weight.as_array().len())
            && found != total
        {
            return Err(input(format!("y has {total} rows, but weight has {found}")));
        }
        let mut state = self.state.write(py)?;
        let mut counted = state.weights;
        let mut weight = weight.as_ref().map(arrange);
        if let Some(weight) = &mut weight {
            scale_weights(self.provenance.settings.weight_kind, &mut counted, weight, whole);
        }
        let call = Call { y: arrange(&y), weight, intercept: self.intercept, order, first_row };
        let known = state.learner.classes();
        if means && call.y.iter().any(|&y| y >= known as f64) {
            return Err(input(format!("y has a class above the {known} that are known")));
        }
        let mut found = means.then(|| Vec::with_capacity(total * known));
        if let Ok(rows) = X.cast::<WideRows>() {
            let rows = rows.get();
            // a learner undoes the block that it refuses itself
            transact(&mut state, undo && !rows.is_one_block(), |state| {
                py.detach(|| call.learn_wide(state, rows, found.as_mut()))
            })?;
            state.weights = counted;
            return found.map(|found| in_given_order(py, found, known, order)).transpose();
        }
        let taken = order.filter(|_| table::is_matrix(X));
        let rearranged = match order {
            Some(order) if taken.is_none() => Some(table::rearranged(py, X, order)?),
            _ => None,
        };
        let tables = table::blocks(py, rearranged.as_ref().unwrap_or(X))?;
        let work = |state: &mut ClassState| {
            let mut start = 0;
            for table in tables {
                let table = table?;
                let features = Features { x: table.as_array(), intercept: self.intercept };
                let found = found.as_mut();
                start = py.detach(|| call.learn_table(state, features, start, taken, found))?;
            }
            match start < total {
                true => Err(input(format!("X has {start} rows, but y has {total}"))),
                false => Ok(()),
            }
        };
        transact(&mut state, undo, work)?;
        state.weights = counted;
        found.map(|found| in_given_order(py, found, known, order)).transpose()
    }

    /// Learns one row. A class that is not known is added. A refused row changes nothing.
    ///
    /// Parameters
    /// ----------
    /// x : array_like of shape (features,)
    ///     Features.
    /// y : int
    ///     The code of its class.
    /// weight : float
    ///     Multiplies the loss.
    #[pyo3(signature = (x, y, weight=1.0))]
    fn learn(&self, py: Python<'_>, x: RowArgument<'_>, y: usize, weight: f64) -> PyResult<()> {
        let mut state = self.state.write(py)?;
        let y = [y as f64];
        let mut weight = [weight];
        let mut counted = state.weights;
        scale_weights(self.provenance.settings.weight_kind, &mut counted, &mut weight, false);
        match x {
            RowArgument::Wide(row) => {
                check_sparse(&state.learner)?;
                let rows = row.get().matrix().and_then(|x| SparseRows::new(x, &y));
                let rows = rows.and_then(|rows| rows.with_weights(&weight)).map_err(plain)?;
                learn(&mut state, ClassRows::Sparse(rows), None)
            }
            RowArgument::Dense(x) => {
                let x = self.row(&x, &state.learner)?;
                let rows = Rows::new(x.len(), &x, &y).and_then(|rows| rows.with_weights(&weight));
                learn(&mut state, ClassRows::Dense(rows.map_err(plain)?), None)
            }
        }
        .map_err(plain)?;
        state.weights = counted;
        Ok(())
    }

    /// Appends features that were zero in every row so far.
    #[pyo3(signature = (features=1))]
    fn grow(&self, py: Python<'_>, features: usize) -> PyResult<()> {
        let mut state = self.state.write(py)?;
        check_memory(&state.learner, state.learner.dim() + features).map_err(translate)?;
        (0..features).try_for_each(|_| state.learner.grow()).map_err(plain)
    }

    /// Appends a class that no row had.
    fn grow_class(&self, py: Python<'_>) -> PyResult<()> {
        self.state.write(py)?.learner.grow_class().map_err(plain)
    }
}

impl ClassLearner {
    /// One row with its constant, for a learner of dense rows.
    pub(super) fn row(&self, x: &Numbers<'_>, learner: &AnyCategorical) -> PyResult<Vec<f64>> {
        let x = x.as_array();
        let Some(dim) = learner.dense().map(|dense| dense.dim()) else {
            return Err(input(
                "a wide learner takes no single rows of numbers: give its estimator a matrix of \
                 one row",
            ));
        };
        let expected = dim - usize::from(self.intercept);
        if x.len() != expected {
            let found = x.len();
            return Err(input(format!("x has {found} features, but the learner has {expected}")));
        }
        let constant = self.intercept.then_some(1.0);
        Ok(constant.into_iter().chain(x.iter().copied()).collect())
    }
}

/// Runs `work`; if it fails and is `guarded`, the state is what it was before.
fn transact(
    state: &mut ClassState,
    guarded: bool,
    work: impl FnOnce(&mut ClassState) -> PyResult<()>,
) -> PyResult<()> {
    if !guarded {
        return work(state);
    }
    check_copy_memory(&state.learner).map_err(translate)?;
    Checkpoint::default().transaction(state, work)
}

/// Refuses sparse rows for a learner of dense ones.
pub(super) fn check_sparse(learner: &AnyCategorical) -> PyResult<()> {
    match learner.wide() {
        Some(_) => Ok(()),
        None => Err(input("sparse rows by index are for learners of method 'wide' alone")),
    }
}

/// Rows of probabilities in the order in which the caller gave the rows.
fn in_given_order<'py>(
    py: Python<'py>,
    found: Vec<f64>,
    classes: usize,
    order: Option<&[usize]>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let rows = found.len() / classes;
    let mut back = found.clone();
    for (i, &place) in order.unwrap_or(&[]).iter().enumerate() {
        let from = &found[i * classes..][..classes];
        back[place * classes..][..classes].copy_from_slice(from);
    }
    numpy::PyArray1::from_vec(py, back).reshape([rows, classes])
}
