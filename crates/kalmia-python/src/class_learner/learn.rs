//! Learning: many rows, one row, more features.

use super::{ClassLearner, ClassState};
use crate::blocks::BlockFeatures;
use crate::error::{input, model as translate, plain};
use crate::learner::{Numbers, RowArgument};
use crate::learning::{AnyRows, Given, LearnBlock, Teach, in_given_order, scale_weights};
use crate::rows::one_row;
use kalmia::learner::{AnyCategorical, ClassRow};
use kalmia_model::{Weights, check_copy_memory, check_memory};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

/// Most classes; a larger code is a mistake.
const MAX_CLASSES: usize = 1 << 16;

impl ClassState {
    /// Learns rows; collects the probabilities predicted before each, if asked for.
    fn learn(&mut self, rows: AnyRows<'_>, found: Option<&mut Vec<f64>>) -> kalmia::Result<()> {
        // Rows that are refused must not count, so they wait here until all are learned.
        let mut pending: Vec<(usize, usize, f64)> = Vec::new();
        let mut probabilities: Vec<f64> = Vec::new();
        let mut watch = |row: &ClassRow<'_>| {
            pending.push((row.class, row.probabilities.len(), row.weight));
            probabilities.extend_from_slice(row.probabilities);
        };
        match rows {
            AnyRows::Dense(rows) => {
                self.learner.learn_growing(rows, MAX_CLASSES, Some(&mut watch))?;
            }
            AnyRows::Sparse(rows) => {
                self.learner.learn_sparse_growing(rows, MAX_CLASSES, Some(&mut watch))?;
            }
        }
        let mut start = 0;
        for (class, classes, weight) in pending {
            self.metrics.row(class, &probabilities[start..start + classes], weight);
            start += classes;
        }
        if let Some(found) = found {
            found.append(&mut probabilities);
        }
        Ok(())
    }
}

impl Teach for ClassState {
    type Learner = AnyCategorical;

    fn learner(&self) -> &AnyCategorical {
        &self.learner
    }

    fn weights(&mut self) -> &mut Weights {
        &mut self.weights
    }

    fn check_copy_memory(&self) -> PyResult<()> {
        check_copy_memory(&self.learner).map_err(translate)
    }

    fn learn_blocks(
        &mut self,
        _rows: usize,
        mut probabilities: Option<&mut Vec<f64>>,
        blocks: impl FnOnce(LearnBlock<'_>) -> PyResult<()>,
    ) -> PyResult<()> {
        blocks(&mut |rows| self.learn(rows, probabilities.as_deref_mut()))
    }
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
        let mut state = self.state.write(py)?;
        let known = state.learner.classes();
        if means && y.as_array().iter().any(|&y| y >= known as f64) {
            return Err(input(format!("y has a class above the {known} that are known")));
        }
        let given = Given {
            x: X,
            y: &y,
            weight: weight.as_ref(),
            offset: None,
            kind: Some(self.provenance.settings.weight_kind),
            intercept: self.intercept,
            undo,
            order: order.as_deref(),
            whole,
            first_row,
        };
        let mut found = means.then(|| Vec::with_capacity(y.as_array().len() * known));
        given.teach(py, &mut *state, found.as_mut())?;
        let Some(found) = found else { return Ok(None) };
        let found = in_given_order(found, known, order.as_deref());
        PyArray1::from_vec(py, found).reshape([y.as_array().len(), known]).map(Some)
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
        let numbers;
        let x = match &x {
            RowArgument::Wide(row) => {
                check_sparse(&state.learner)?;
                BlockFeatures::Sparse(row.get().matrix().map_err(plain)?)
            }
            RowArgument::Dense(x) => {
                numbers = self.row(x, &state.learner)?;
                BlockFeatures::Dense(&numbers)
            }
        };
        let row = AnyRows::new(x, &y, Some(&weight), None);
        row.and_then(|row| state.learn(row, None)).map_err(plain)?;
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
        one_row(x, learner.dense_dim(), self.intercept)
    }
}

/// Refuses sparse rows for a learner of dense ones.
pub(super) fn check_sparse(learner: &AnyCategorical) -> PyResult<()> {
    match learner.wide() {
        Some(_) => Ok(()),
        None => Err(input("sparse rows by index are for learners of method 'wide' alone")),
    }
}
