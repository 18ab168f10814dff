//! The base class of all learners: learning, predicting and looking inside.

use crate::any::{self, AnyModel, either};
use crate::error::{input, model, plain};
use crate::file::Provenance;
use crate::learning::{Call, Query};
use crate::prediction::{PredictedRow, Prediction};
use crate::rows::arranged;
use crate::shared::{Held, Shared};
use crate::state::State;
use kalmia::evaluate::Metrics;
use kalmia::learner::Checkpoint;
use kalmia::{Family, Learner as _, Predict};
use kalmia_model::{Dispersion, Overdispersion, WeightKind, Weights};
use numpy::ndarray::ArrayView1;
use numpy::{AllowTypeChange, PyArray1, PyArray2, PyArrayLike1, PyArrayMethods, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};

/// Two arrays of one number per row.
type Pair<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// A vector that Python gives.
pub type Numbers<'py> = PyArrayLike1<'py, f64, AllowTypeChange>;

/// A number of levels per row.
type LevelCounts<'py> = PyArrayLike1<'py, u32, AllowTypeChange>;

/// Name, estimate, standard error, z, p-value and the interval's ends.
type Coefficient = (String, f64, Option<f64>, Option<f64>, Option<f64>, Option<f64>, Option<f64>);

/// The base of the learners :class:`Filter`, :class:`OnlineNewtonStep`, :class:`AveragedSGD`,
/// :class:`Averaged` and :class:`Auto`.
///
/// Threads may share a learner: a call that learns waits for the other calls, and they wait for it.
#[pyclass(subclass, frozen, module = "kalmia")]
pub struct Learner {
    state: Shared<State>,
    /// Whether the learner puts a constant before the features itself.
    pub intercept: bool,
    /// What a model file says beside the state; only learners of estimators have it.
    pub provenance: Option<Arc<Provenance>>,
}

impl Learner {
    /// A learner that keeps no metrics and takes its constant as a feature.
    pub fn bare(learner: AnyModel) -> Self {
        Self::new(learner, false, None)
    }

    pub fn new(learner: AnyModel, intercept: bool, metrics: Option<Metrics>) -> Self {
        let state = State { learner, metrics, weights: Weights::default() };
        Self { state: Shared::new(state), intercept, provenance: None }
    }

    /// What was learned, once no other call changes it.
    pub fn state(&self, py: Python<'_>) -> PyResult<Held<RwLockReadGuard<'_, State>>> {
        self.state.read(py)
    }

    /// What was learned, to change it, once no other call uses it.
    pub fn state_mut(&self, py: Python<'_>) -> PyResult<Held<RwLockWriteGuard<'_, State>>> {
        self.state.write(py)
    }

    /// What was learned, of a learner that Python does not have yet.
    pub fn inner(&mut self) -> &mut State {
        self.state.inner()
    }

    /// Counts the weights of an estimator's learner, and scales those that mean precision.
    fn scale(&self, counted: &mut Weights, weights: &mut [f64], whole: bool) {
        let Some(made) = &self.provenance else { return };
        // illegal weights are left to the learner, which names their row
        let legal = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
        match made.settings.weight_kind {
            WeightKind::Precision if legal && whole => counted.divide_by_mean(weights),
            WeightKind::Precision if legal => counted.divide_by_running_mean(weights),
            _ => counted.count(weights),
        }
    }

    /// One row with its constant, for a learner of `dim` coefficients.
    pub fn row(&self, x: &Numbers<'_>, dim: usize) -> PyResult<Vec<f64>> {
        let x = x.as_array();
        let expected = dim - usize::from(self.intercept);
        if x.len() != expected {
            return Err(input(format!("x has {} features, expected {expected}", x.len())));
        }
        let constant = self.intercept.then_some(1.0);
        Ok(constant.into_iter().chain(x.iter().copied()).collect())
    }

    /// Two numbers of the prediction for each row.
    fn two_per_row<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        offset: Option<&Numbers<'py>>,
        unseen: Option<&LevelCounts<'py>>,
        of: impl Fn(&dyn PredictedRow) -> kalmia::Result<[f64; 2]> + Send + Sync,
    ) -> PyResult<Pair<'py>> {
        let mut first = Vec::new();
        let mut second = Vec::new();
        let state = self.state(py)?;
        let mut take = |prediction: &dyn PredictedRow| {
            let [a, b] = of(prediction)?;
            first.push(a);
            second.push(b);
            Ok(())
        };
        self.query(x, offset, unseen).each_block(py, &state.learner, |inputs| {
            either!(&state.learner, inner => {
                inner.predict_many(inputs, &mut |_, prediction| take(prediction))
            })
        })?;
        Ok((PyArray1::from_vec(py, first), PyArray1::from_vec(py, second)))
    }

    /// Rows to predict.
    fn query<'a, 'py>(
        &self,
        x: &'a Bound<'py, PyAny>,
        offset: Option<&'a Numbers<'py>>,
        unseen: Option<&'a LevelCounts<'py>>,
    ) -> Query<'a, 'py> {
        let offset = offset.map(|offset| offset.as_array());
        let unseen = unseen.map(|unseen| unseen.as_array());
        Query { x, offset, unseen, intercept: self.intercept }
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
        x: Numbers<'_>,
        y: f64,
        weight: f64,
        offset: f64,
    ) -> PyResult<()> {
        let mut guard = self.state.write(py)?;
        let state = &mut *guard;
        let x = self.row(&x, state.learner.dim())?;
        let y = [y];
        let mut weight = [weight];
        let offset = [offset];
        let mut counted = state.weights;
        self.scale(&mut counted, &mut weight, false);
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
    ///
    /// Returns
    /// -------
    /// ndarray of shape (n,), or None
    ///     The mean predicted for each row before it was learned.
    #[pyo3(signature = (X, y, weight=None, offset=None, *, means=true, undo=true, order=None,
                        whole=false))]
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

    /// What is known of the target of a row.
    ///
    /// Parameters
    /// ----------
    /// x : array_like of shape (dim,)
    ///     Features.
    /// offset : float
    ///     Added to the linear predictor.
    ///
    /// Returns
    /// -------
    /// Prediction
    #[pyo3(signature = (x, offset=0.0))]
    fn predict(&self, py: Python<'_>, x: Numbers<'_>, offset: f64) -> PyResult<Prediction> {
        let state = self.state(py)?;
        let x = self.row(&x, state.learner.dim())?;
        let prediction = state.learner.predict(&x, offset);
        if let Some(family) = state.learner.custom_family() {
            family.check()?;
        }
        prediction.map(Prediction).map_err(plain)
    }

    /// The means predicted for rows.
    ///
    /// Parameters
    /// ----------
    /// X : matrix of shape (n, dim)
    ///     Features, as for :meth:`learn_many`.
    /// offset : array_like of shape (n,), optional
    ///     Added to the linear predictor.
    /// unseen : array_like of shape (n,), optional
    ///     The number of levels per row that no row had. Each widens the prediction by its prior.
    ///
    /// Returns
    /// -------
    /// ndarray of shape (n,)
    #[pyo3(signature = (X, offset=None, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_many<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        offset: Option<Numbers<'py>>,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mut means = Vec::new();
        let state = self.state(py)?;
        self.query(X, offset.as_ref(), unseen.as_ref()).each_block(
            py,
            &state.learner,
            |inputs| {
                let first = means.len();
                means.resize(first + inputs.len(), 0.0);
                let means = &mut means[first..];
                either!(&state.learner, inner => inner.predict_means(inputs, means))
            },
        )?;
        Ok(PyArray1::from_vec(py, means))
    }

    /// Whether the means predicted for rows of 0 and 1 are above one half, which is faster than the
    /// means themselves.
    ///
    /// Parameters
    /// ----------
    /// X : matrix of shape (n, dim)
    ///     Features, as for :meth:`learn_many`.
    /// offset : array_like of shape (n,), optional
    ///     Added to the linear predictor.
    /// unseen : array_like of shape (n,), optional
    ///     The number of levels per row that no row had. Each widens the prediction by its prior.
    ///
    /// Returns
    /// -------
    /// ndarray of bool of shape (n,)
    #[pyo3(signature = (X, offset=None, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_labels<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        offset: Option<Numbers<'py>>,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let mut labels = Vec::new();
        let state = self.state(py)?;
        self.query(X, offset.as_ref(), unseen.as_ref()).each_block(
            py,
            &state.learner,
            |inputs| {
                let first = labels.len();
                labels.resize(first + inputs.len(), false);
                let labels = &mut labels[first..];
                either!(&state.learner, inner => inner.predict_labels(inputs, labels))
            },
        )?;
        Ok(PyArray1::from_vec(py, labels))
    }

    /// Means and standard deviations of the targets of rows, as two arrays.
    #[pyo3(signature = (X, offset=None, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_std<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        offset: Option<Numbers<'py>>,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Pair<'py>> {
        self.two_per_row(py, X, offset.as_ref(), unseen.as_ref(), |prediction| {
            Ok([prediction.mean(), prediction.variance().sqrt()])
        })
    }

    /// Means and variances of the linear predictors of rows, as two arrays.
    #[pyo3(signature = (X, offset=None, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_linear<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        offset: Option<Numbers<'py>>,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Pair<'py>> {
        self.two_per_row(py, X, offset.as_ref(), unseen.as_ref(), |prediction| {
            Ok([prediction.linear(), prediction.linear_variance()])
        })
    }

    /// Lower and upper ends of the targets' intervals as two arrays; with ``of_mean=True``, those
    /// of their means.
    #[pyo3(signature = (X, level=0.95, offset=None, of_mean=false, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_interval<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        level: f64,
        offset: Option<Numbers<'py>>,
        of_mean: bool,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Pair<'py>> {
        if of_mean {
            either!(&self.state(py)?.learner, inner => if inner.has_covariance() {
                Ok(())
            } else {
                Err(input(format!(
                    "method '{}' keeps no covariance; intervals for the mean need method='auto' \
                     or a filter",
                    inner.method()
                )))
            })?;
        }
        self.two_per_row(py, X, offset.as_ref(), unseen.as_ref(), |prediction| {
            let ends = prediction.interval(level, of_mean)?;
            Ok([ends.lower, ends.upper])
        })
    }

    /// The table of coefficients.
    ///
    /// Parameters
    /// ----------
    /// names : list of str
    ///     A name per coefficient, in order.
    /// level : float
    ///     Probability of the intervals, strictly between 0 and 1.
    ///
    /// Returns
    /// -------
    /// list of tuple
    ///     Name, estimate, standard error, z, two-sided p-value, and the lower and upper ends of
    ///     the interval. All but the first two are None for a learner without a covariance.
    ///
    /// Examples
    /// --------
    /// >>> import kalmia
    /// >>> filter = kalmia.Filter(1, "gaussian")
    /// >>> filter.learn([1.0], 1.0)
    /// >>> name, estimate, error, *_ = filter.coefficients(["slope"])[0]
    /// >>> name, round(estimate, 12), round(error ** 2, 12)
    /// ('slope', 0.5, 0.5)
    #[pyo3(signature = (names, level=0.95))]
    fn coefficients(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        level: f64,
    ) -> PyResult<Vec<Coefficient>> {
        if !(level > 0.0 && level < 1.0) {
            return Err(input(format!("level is {level}: it must lie strictly between 0 and 1")));
        }
        let state = self.state(py)?;
        let names = names.iter().map(String::as_str);
        let table = either!(&state.learner, inner => {
            kalmia_model::coefficients(inner, names, level)
        });
        let line = |c: kalmia_model::Coefficient| {
            (c.name, c.estimate, c.std_error, c.z, c.p, c.lower, c.upper)
        };
        Ok(table.map_err(model)?.into_iter().map(line).collect())
    }

    /// Appends features that were zero in every row so far.
    #[pyo3(signature = (features=1))]
    fn grow(&self, py: Python<'_>, features: usize) -> PyResult<()> {
        let mut state = self.state.write(py)?;
        for _ in 0..features {
            either!(&mut state.learner, inner => inner.grow()).map_err(plain)?;
        }
        Ok(())
    }

    /// The coefficients that predict now; the constant's is first if the learner adds it.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(either!(&self.state(py)?.learner, inner => inner.coefficients().to_pyarray(py)))
    }

    /// Covariance of the coefficients; None for learners without one.
    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let state = self.state(py)?;
        let dim = state.learner.dim();
        either!(&state.learner, inner => any::covariance(inner))
            .map(|matrix| PyArray1::from_vec(py, matrix).reshape([dim, dim]))
            .transpose()
    }

    /// Standard errors of the coefficients; None for learners without a covariance.
    #[getter]
    fn standard_errors<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let errors = either!(&self.state(py)?.learner, inner => inner.standard_errors());
        Ok(errors.map(|errors| PyArray1::from_vec(py, errors)))
    }

    /// Degrees of freedom of the coefficients' intervals; infinite unless the noise is learned.
    #[getter]
    fn degrees_of_freedom(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(either!(&self.state(py)?.learner, inner => inner.degrees_of_freedom()))
    }

    /// The dispersion in use, which ``auto`` learns: the noise variance, Gamma's, or the factor by
    /// which counts vary more than their family allows; None if it is 1 by definition.
    #[getter]
    fn dispersion(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        let state = self.state(py)?;
        Ok(state.learner.built_in().and_then(|inner| Dispersion::of(inner).value))
    }

    /// What to say about counts that vary more than the learner assumes; None if they do not.
    #[getter]
    fn dispersion_note(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let state = self.state(py)?;
        let (Some(inner), Some(metrics)) = (state.learner.built_in(), &state.metrics) else {
            return Ok(None);
        };
        let assumed = Dispersion::of(inner).value.unwrap_or(1.0);
        let found = Overdispersion::find(&metrics.progressive, assumed);
        let remedy = (inner.method() != "auto").then_some("method=\"auto\"");
        Ok(found.map(|found| found.text(inner.family().name(), remedy)))
    }

    /// Whether the rows seem sorted by the target, which spoils what one pass learns. False if the
    /// learner keeps no metrics.
    #[getter]
    fn is_sorted(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.state(py)?.metrics.as_ref().is_some_and(|metrics| metrics.is_sorted()))
    }

    /// The mean of the weights above 0, as they were given to an estimator; else None.
    #[getter]
    fn mean_weight(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.state(py)?.weights.mean())
    }

    /// ``"followed"`` if the coefficients follow a drift and describe the last rows, ``"seen"`` if
    /// they do not follow a certain drift, else None. Only ``auto`` looks for drifts.
    #[getter]
    fn drift(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        Ok(either!(&self.state(py)?.learner, inner => any::drift(inner)))
    }

    /// What there is to say about a drift: from which row it is followed, or what following it
    /// would gain; None if there is nothing to say.
    #[getter]
    fn drift_note(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let state = self.state(py)?;
        let loss = state.metrics.as_ref().map(|metrics| metrics.progressive.report().loss);
        Ok(either!(&state.learner, inner => any::drift_note(inner, loss)))
    }

    /// Rows learned.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(either!(&self.state(py)?.learner, inner => inner.count()))
    }

    /// Number of coefficients.
    #[getter]
    fn dim(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.state(py)?.learner.dim())
    }

    /// Name of the method.
    #[getter]
    fn method(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(either!(&self.state(py)?.learner, inner => inner.method()))
    }

    /// Name of the family.
    #[getter]
    fn family(&self, py: Python<'_>) -> PyResult<String> {
        Ok(either!(&self.state(py)?.learner, inner => inner.family().name().to_owned()))
    }

    /// Whether the learner puts the constant before the features itself.
    #[getter]
    fn intercept(&self) -> bool {
        self.intercept
    }

    /// Metrics of the predictions made before each row was learned, as a dictionary; None if the
    /// learner does not keep them.
    #[getter]
    fn progressive<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let state = self.state(py)?;
        state.metrics.as_ref().map(|metrics| crate::metrics::report(metrics, py)).transpose()
    }

    /// The state as bytes: the same state gives the same bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &crate::store::bytes(py, self)?))
    }

    /// An independent copy.
    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let State { learner, metrics, weights } = self.state(py)?.clone();
        let mut copy = Self::new(learner, self.intercept, metrics);
        copy.inner().weights = weights;
        copy.provenance.clone_from(&self.provenance);
        crate::kinds::wrap(py, copy)
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.copy(py)
    }

    fn __deepcopy__<'py>(
        &self,
        py: Python<'py>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.copy(py)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.import("kalmia._kalmia")?.getattr("restore")?, (self.to_bytes(py)?,)))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let class = slf.get_type().name()?;
        let state = slf.get().state(slf.py())?;
        Ok(either!(&state.learner, inner => format!(
            "<kalmia.{class}: {}, {}, {} coefficients, {} rows>",
            inner.family().name(),
            inner.method(),
            inner.dim(),
            inner.count()
        )))
    }
}

/// An order must hold every row once.
fn check_order(order: &[usize], rows: usize) -> PyResult<()> {
    let mut taken = vec![false; rows];
    let fits =
        |&place: &usize| taken.get_mut(place).is_some_and(|taken| !std::mem::replace(taken, true));
    if order.len() == rows && order.iter().all(fits) {
        return Ok(());
    }
    Err(input(format!("order must hold each of the numbers 0 to {rows} - 1 once")))
}
