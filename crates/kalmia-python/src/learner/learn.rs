//! Learning: one row, many rows, and more features.

use super::{Learner, Numbers, RowArgument};
use crate::any::either;
use crate::error::{input, model, plain};
use crate::learning::Call;
use crate::rows::arranged;
use kalmia::Predict;
use kalmia::learner::Checkpoint;
use kalmia_model::{WeightKind, Weights};
use numpy::PyArray1;
use numpy::ndarray::ArrayView1;
use pyo3::prelude::*;

impl Learner {
    /// Counts the weights of an estimator's learner, and scales those that mean precision.
    fn scale(&self, counted: &mut Weights, weights: &mut [f64], whole: bool) {
        if let Some(made) = &self.provenance {
            scale_weights(made.settings.weight_kind, counted, weights, whole);
        }
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
        self.scale(&mut counted, &mut weight, false);
        let x = match x {
            RowArgument::Wide(row) => {
                let rows = row
                    .get()
                    .matrix()
                    .and_then(|x| kalmia::SparseRows::new(x, &y))
                    .and_then(|rows| rows.with_weights(&weight))
                    .and_then(|rows| rows.with_offsets(&offset))
                    .map_err(plain)?;
                state.learn_sparse(rows)?;
                state.weights = counted;
                return Ok(());
            }
            RowArgument::Dense(x) => self.row(&x, &state.learner)?,
        };
        let rows = kalmia::Rows::new(x.len(), &x, &y)
            .and_then(|rows| rows.with_weights(&weight))
            .and_then(|rows| rows.with_offsets(&offset))
            .map_err(plain)?;
        // an exception of a custom family shows only after the row
        if state.learner.custom_family().is_some() {
            Checkpoint::default().transaction(state, |state| state.learn_one(rows))?;
        } else {
            state.learn_one(rows)?;
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
        let order = order.as_deref();
        if let Some(order) = order {
            check_order(order, y.as_array().len())?;
        }
        let arrange = |values: &Numbers<'py>| match order {
            Some(order) if values.as_array().len() == order.len() => {
                arranged(values.as_array(), order)
            }
            // a wrong length is refused later
            _ => values.as_array().to_vec(),
        };
        let given = y.as_array();
        let in_order = order.map(|order| arranged(given, order));
        let offsets = offset.as_ref().map(arrange);
        let mut weights = weight.as_ref().map(arrange);
        let mut found = means.then(|| Vec::with_capacity(given.len()));
        let mut state = self.state.write(py)?;
        let mut counted = state.weights;
        if let Some(weights) = &mut weights {
            self.scale(&mut counted, weights, whole);
        }
        let call = Call {
            x: X,
            y: in_order.as_deref().map_or(given, ArrayView1::from),
            weight: weights.as_deref().map(ArrayView1::from),
            offset: offsets.as_deref().map(ArrayView1::from),
            intercept: self.intercept,
            undo,
            order,
            first_row,
        };
        call.learn(py, &mut state, found.as_mut())?;
        state.weights = counted;
        let found = match (found, order) {
            (Some(means), Some(order)) => {
                let mut back = vec![0.0; means.len()];
                order.iter().zip(means).for_each(|(&place, mean)| back[place] = mean);
                Some(back)
            }
            (found, _) => found,
        };
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
