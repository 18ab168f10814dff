//! Learning: one row, many rows, and more features.

use super::{Learner, Numbers, RowArgument};
use crate::any::either;
use crate::blocks::BlockFeatures;
use crate::error::{model, plain};
use crate::learning::{AnyRows, Given, Teach as _, in_given_order, scale_weights};
use kalmia::Predict;
use kalmia::learner::Checkpoint;
use kalmia_model::WeightKind;
use numpy::PyArray1;
use pyo3::prelude::*;

impl Learner {
    /// What weights mean, of an estimator's learner; the others do not count them.
    fn weight_kind(&self) -> Option<WeightKind> {
        self.provenance.as_ref().map(|made| made.settings.weight_kind)
    }
}

#[pymethods]
impl Learner {
    /// Learns one row. A refused row changes nothing.
    ///
    /// Parameters
    /// ----------
    /// x : array_like of shape (dim,)
    ///     Features.
    /// y : float
    ///     Target.
    /// weight : float
    ///     Multiplies the loss.
    /// offset : float
    ///     Added to the linear predictor.
    #[pyo3(signature = (x, y, weight=1.0, offset=0.0))]
    fn learn(
        &self,
        py: Python<'_>,
        x: RowArgument<'_>,
        y: f64,
        weight: f64,
        offset: f64,
    ) -> PyResult<()> {
        let mut guard = self.state.write(py)?;
        let state = &mut *guard;
        let y = [y];
        let mut weight = [weight];
        let offset = [offset];
        let mut counted = state.weights;
        if let Some(kind) = self.weight_kind() {
            scale_weights(kind, &mut counted, &mut weight, false);
        }
        let numbers;
        let x = match &x {
            RowArgument::Wide(row) => BlockFeatures::Sparse(row.get().matrix().map_err(plain)?),
            RowArgument::Dense(x) => {
                numbers = self.row(x, &state.learner)?;
                BlockFeatures::Dense(&numbers)
            }
        };
        let row = AnyRows::new(x, &y, Some(&weight), Some(&offset)).map_err(plain)?;
        if state.undoes_blocks() {
            state.learn_one(row)?;
        } else {
            Checkpoint::default().transaction(state, |state| state.learn_one(row))?;
        }
        state.weights = counted;
        Ok(())
    }

    /// Learns rows in order. A call that fails or is interrupted changes nothing.
    ///
    /// Parameters
    /// ----------
    /// X : matrix of shape (n, dim)
    ///     numpy (float64 of any layout is read in place), pandas, polars, any Arrow stream, or
    ///     scipy.sparse.
    /// y : array_like of shape (n,)
    ///     Targets.
    /// weight, offset : array_like of shape (n,), optional
    ///     Weights multiply the loss; offsets are added to the linear predictor.
    /// means : bool
    ///     Whether to return the means, which takes some time.
    /// undo : bool
    ///     Whether a failed call is undone. False saves a copy of the learner, for a learner that
    ///     you discard if the call fails.
    /// order : array_like of shape (n,), optional
    ///     The rows in the order in which to learn them: a permutation of 0 to n - 1. `X` must
    ///     then be an array or a sparse matrix. Means are returned in the order of `X`.
    /// whole : bool
    ///     Whether these are all rows. Precision weights, which only learners of estimators have,
    ///     are then divided by their mean, and else by their mean so far.
    /// first_row : int
    ///     The number of the first row in messages.
    ///
    /// Returns
    /// -------
    /// ndarray of shape (n,), or None
    ///     The mean predicted for each row before it was learned.
    #[pyo3(signature = (X, y, weight=None, offset=None, *, means=true, undo=true, order=None,
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
    ) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let given = Given {
            x: X,
            y: &y,
            weight: weight.as_ref(),
            offset: offset.as_ref(),
            kind: self.weight_kind(),
            intercept: self.intercept,
            undo,
            order: order.as_deref(),
            whole,
            first_row,
        };
        let mut found = means.then(|| Vec::with_capacity(y.as_array().len()));
        given.teach(py, &mut *self.state.write(py)?, found.as_mut())?;
        let found = found.map(|means| in_given_order(means, 1, order.as_deref()));
        Ok(found.map(|means| PyArray1::from_vec(py, means)))
    }

    /// Appends features that were zero in every row so far.
    #[pyo3(signature = (features=1))]
    fn grow(&self, py: Python<'_>, features: usize) -> PyResult<()> {
        let mut state = self.state.write(py)?;
        let dim = state.learner.dim() + features;
        either!(&state.learner, inner => kalmia_model::check_memory(inner, dim)).map_err(model)?;
        for _ in 0..features {
            either!(&mut state.learner, inner => inner.grow()).map_err(plain)?;
        }
        Ok(())
    }
}
