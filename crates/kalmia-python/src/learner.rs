//! The base class of all learners: learning, predicting and looking inside.

use crate::engine::Engine;
use crate::error::{input, of_features, plain};
use crate::matrix::{Table, each_block, flat};
use crate::prediction::Prediction;
use crate::shared::{Held, Shared};
use kalmia::Predict;
use kalmia::evaluate::Metrics;
use numpy::{AllowTypeChange, PyArray1, PyArray2, PyArrayLike1, PyReadonlyArray2, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::RwLockReadGuard;

/// Two arrays of one number a row.
type Pair<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

type Numbers<'py> = PyArrayLike1<'py, f64, AllowTypeChange>;

/// A learner; made by its subclasses, :class:`Filter`, :class:`OnlineNewtonStep`,
/// :class:`AveragedSGD`, :class:`Averaged` and :class:`Auto`. Threads may share it: a call that
/// learns waits for the others, and they for it.
#[pyclass(subclass, frozen, module = "kalmia")]
pub struct Learner {
    state: Shared<State>,
    /// Whether the learner puts a constant before the features itself.
    pub intercept: bool,
}

/// What learning changes.
#[derive(Debug, Clone)]
pub struct State {
    pub engine: Engine,
    pub metrics: Option<Metrics>,
}

/// One row with its constant.
fn one_row(x: &Numbers<'_>, intercept: bool) -> Vec<f64> {
    let constant = intercept.then_some(1.0);
    constant.into_iter().chain(x.as_array().iter().copied()).collect()
}

/// The blocks of anything that `kalmia._data` understands; an array of float64 is its own block.
fn blocks<'py>(py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if x.extract::<PyReadonlyArray2<'py, f64>>().is_ok() {
        return Ok(pyo3::types::PyTuple::new(py, [x])?.into_any());
    }
    py.import("kalmia._data")?.call_method1("blocks", (x,))
}

impl State {
    /// What a custom family's callable raised, else the result.
    fn settle<T>(&self, result: PyResult<T>) -> PyResult<T> {
        self.engine.custom().map_or(Ok(()), |family| family.check())?;
        result
    }
}

impl Learner {
    pub fn new(engine: Engine, intercept: bool, metrics: Option<Metrics>) -> Self {
        Self { state: Shared::new(State { engine, metrics }), intercept }
    }

    pub fn bare(engine: Engine) -> Self {
        Self::new(engine, false, None)
    }

    /// What was learned, once no other call changes it.
    pub fn state(&self, py: Python<'_>) -> PyResult<Held<RwLockReadGuard<'_, State>>> {
        self.state.read(py)
    }

    /// What was learned, of a learner that Python does not have yet.
    pub fn inner(&mut self) -> &mut State {
        self.state.inner()
    }

    /// Learns blocks of rows; a call that fails or is interrupted leaves the learner as it was.
    fn learn_blocks<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        y: &Numbers<'py>,
        weight: Option<&Numbers<'py>>,
        offset: Option<&Numbers<'py>>,
        mut means: Option<&mut Vec<f64>>,
    ) -> PyResult<()> {
        let (y, weight, offset) =
            (y.as_array(), weight.map(|w| w.as_array()), offset.map(|o| o.as_array()));
        let mut state = self.state.write(py)?;
        let mut before: Option<State> = None;
        let mut start = 0;
        let mut run = |state: &mut State| {
            for block in blocks(py, x)?.try_iter()? {
                let block = block?;
                let array: PyReadonlyArray2<'py, f64> =
                    block.extract().map_err(|_| input("X must be a matrix of numbers"))?;
                let n = array.as_array().nrows();
                let end = start + n;
                let too_short = |name: &str, found: usize| {
                    input(format!("X has more rows than {name}, which has {found}"))
                };
                let cut = |values: numpy::ndarray::ArrayView1<'_, f64>, name: &str| {
                    if values.len() < end { Err(too_short(name, values.len())) } else { Ok(()) }
                };
                cut(y, "y")?;
                weight.map_or(Ok(()), |w| cut(w, "weight"))?;
                offset.map_or(Ok(()), |o| cut(o, "offset"))?;
                let part = numpy::ndarray::s![start..end];
                let table = Table {
                    x: array.as_array(),
                    y: flat(y.slice_move(part)),
                    weight: weight.map(|w| flat(w.slice_move(part))),
                    offset: offset.map(|o| flat(o.slice_move(part))),
                    intercept: self.intercept,
                };
                table.check(state.engine.dim())?;
                let (state, before, means) = (&mut *state, &mut before, means.as_deref_mut());
                py.detach(move || {
                    before.get_or_insert_with(|| state.clone());
                    table.learn(&mut state.engine, state.metrics.as_mut(), means, start)
                })?;
                start = end;
            }
            if start != y.len() {
                return Err(input(format!("X has {start} rows, but y has {}", y.len())));
            }
            Ok(())
        };
        let result = run(&mut state);
        let result = state.settle(result);
        if let (Err(_), Some(before)) = (&result, before) {
            *state = before;
        }
        result
    }

    /// Runs over the rows of `x` with their predictions.
    fn predict_blocks<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        offset: Option<&Numbers<'py>>,
        mut take: impl FnMut(&crate::prediction::Answer) -> kalmia::Result<()> + Send,
    ) -> PyResult<()> {
        let offset = offset.map(|o| o.as_array());
        let state = self.state(py)?;
        let (engine, intercept) = (&state.engine, self.intercept);
        let mut start = 0;
        for block in blocks(py, x)?.try_iter()? {
            let block = block?;
            let array: PyReadonlyArray2<'py, f64> =
                block.extract().map_err(|_| input("X must be a matrix of numbers"))?;
            let view = array.as_array();
            let (n, dim) = (view.nrows(), engine.dim());
            let width = dim - usize::from(intercept);
            if view.ncols() != width {
                return Err(input(format!(
                    "X has {} features, but the learner expects {width}",
                    view.ncols()
                )));
            }
            if let Some(found) = offset.map(|o| o.len()).filter(|&found| found < start + n) {
                return Err(input(format!("X has more rows than offset, which has {found}")));
            }
            let take = &mut take;
            let result = py.detach(move || {
                each_block(&view, intercept, |first, n, x| {
                    for i in 0..n {
                        let row = start + first + i;
                        let offset = offset.map_or(0.0, |o| o[row]);
                        let answer = engine.predict(&x[i * dim..(i + 1) * dim], offset);
                        answer
                            .and_then(|answer| take(&answer))
                            .map_err(|error| of_features(error, row, intercept))?;
                    }
                    Python::attach(|py| py.check_signals())
                })
            });
            state.settle(result)?;
            start += n;
        }
        Ok(())
    }
}

#[pymethods]
impl Learner {
    /// Learns one row.
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
        let x = one_row(&x, self.intercept);
        let (y, weight, offset) = ([y], [weight], [offset]);
        let rows = kalmia::Rows::new(x.len(), &x, &y)
            .and_then(|rows| rows.with_weights(&weight))
            .and_then(|rows| rows.with_offsets(&offset))
            .map_err(plain)?;
        let mut guard = self.state.write(py)?;
        let state = &mut *guard;
        // a callable that raises is noticed only after the row
        let before = state.engine.custom().is_some().then(|| state.clone());
        let result = match &mut state.metrics {
            Some(metrics) => state.engine.learn(rows, Some(metrics)),
            None => state.engine.learn(rows, None),
        };
        let result = state.settle(result.map_err(plain));
        if let (Err(_), Some(before)) = (&result, before) {
            *state = before;
        }
        result
    }

    /// Learns rows in order; a call that fails or is interrupted changes nothing.
    ///
    /// Parameters
    /// ----------
    /// X : matrix of shape (n, dim)
    ///     numpy (float64 of any layout is read in place), pandas, polars, any Arrow stream, or
    /// scipy.sparse. y : array_like of shape (n,)
    ///     Targets.
    /// weight, offset : array_like of shape (n,), optional
    ///     Multiply the loss, and are added to the linear predictor.
    /// means : bool
    ///     Whether to give the means back, which takes time of its own.
    ///
    /// Returns
    /// -------
    /// ndarray of shape (n,), or None
    ///     The mean predicted for each row before it was learned.
    #[pyo3(signature = (X, y, weight=None, offset=None, *, means=true))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn learn_many<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        y: Numbers<'py>,
        weight: Option<Numbers<'py>>,
        offset: Option<Numbers<'py>>,
        means: bool,
    ) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let mut found = means.then(|| Vec::with_capacity(y.as_array().len()));
        self.learn_blocks(py, X, &y, weight.as_ref(), offset.as_ref(), found.as_mut())?;
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
        let answer = state.engine.predict(&one_row(&x, self.intercept), offset).map_err(plain);
        state.settle(answer).map(Prediction)
    }

    /// The means predicted for rows.
    ///
    /// Parameters
    /// ----------
    /// X : matrix of shape (n, dim)
    ///     Features, as for :meth:`learn_many`.
    /// offset : array_like of shape (n,), optional
    ///     Added to the linear predictor.
    ///
    /// Returns
    /// -------
    /// ndarray of shape (n,)
    #[pyo3(signature = (X, offset=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_many<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        offset: Option<Numbers<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mut means = Vec::new();
        self.predict_blocks(py, X, offset.as_ref(), |answer| {
            means.push(answer.mean());
            Ok(())
        })?;
        Ok(PyArray1::from_vec(py, means))
    }

    /// Means and standard deviations of the targets of rows, as two arrays.
    #[pyo3(signature = (X, offset=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_std<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        offset: Option<Numbers<'py>>,
    ) -> PyResult<Pair<'py>> {
        let (mut means, mut deviations) = (Vec::new(), Vec::new());
        self.predict_blocks(py, X, offset.as_ref(), |answer| {
            means.push(answer.mean());
            deviations.push(answer.variance().sqrt());
            Ok(())
        })?;
        Ok((PyArray1::from_vec(py, means), PyArray1::from_vec(py, deviations)))
    }

    /// Means and variances of the linear predictors of rows, as two arrays.
    #[pyo3(signature = (X, offset=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_linear<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        offset: Option<Numbers<'py>>,
    ) -> PyResult<Pair<'py>> {
        let (mut means, mut variances) = (Vec::new(), Vec::new());
        self.predict_blocks(py, X, offset.as_ref(), |answer| {
            means.push(answer.linear());
            variances.push(answer.linear_variance());
            Ok(())
        })?;
        Ok((PyArray1::from_vec(py, means), PyArray1::from_vec(py, variances)))
    }

    /// Lower and upper ends of the targets' intervals, or with ``of_mean=True`` of their means', as
    /// two arrays.
    #[pyo3(signature = (X, level=0.95, offset=None, of_mean=false))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_interval<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        level: f64,
        offset: Option<Numbers<'py>>,
        of_mean: bool,
    ) -> PyResult<Pair<'py>> {
        if of_mean {
            let engine = &self.state(py)?.engine;
            if !engine.has_belief() {
                let message = "does not know how sure it is of its coefficients, so that there is no interval of a mean or a probability";
                return Err(input(format!("method {} {message}", engine.method())));
            }
        }
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        self.predict_blocks(py, X, offset.as_ref(), |answer| {
            let interval = answer.interval(level, of_mean)?;
            lower.push(interval.lower);
            upper.push(interval.upper);
            Ok(())
        })?;
        Ok((PyArray1::from_vec(py, lower), PyArray1::from_vec(py, upper)))
    }

    /// Appends features that were zero in every row so far.
    #[pyo3(signature = (features=1))]
    fn grow(&self, py: Python<'_>, features: usize) -> PyResult<()> {
        let mut state = self.state.write(py)?;
        for _ in 0..features {
            state.engine.grow().map_err(plain)?;
        }
        Ok(())
    }

    /// The coefficients that predict now, the constant's first where the learner adds it.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.state(py)?.engine.coefficients().to_pyarray(py))
    }

    /// Covariance of the coefficients; None for learners without one.
    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        use numpy::PyArrayMethods;
        let state = self.state(py)?;
        let dim = state.engine.dim();
        state
            .engine
            .covariance()
            .map(|matrix| PyArray1::from_vec(py, matrix).reshape([dim, dim]))
            .transpose()
    }

    /// Standard errors of the coefficients; None for learners without a belief.
    #[getter]
    fn standard_errors<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        Ok(self.state(py)?.engine.standard_errors().map(|errors| PyArray1::from_vec(py, errors)))
    }

    /// Degrees of freedom of the coefficients' intervals; infinite but for a learned noise.
    #[getter]
    fn degrees_of_freedom(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self
            .state(py)?
            .engine
            .as_plain()
            .map_or(f64::INFINITY, |plain| plain.degrees_of_freedom()))
    }

    /// The dispersion in use: the noise variance or Gamma's, learned by ``auto``; None for families
    /// without one.
    #[getter]
    fn dispersion(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.state(py)?.engine.family().and_then(|family| kalmia::Family::dispersion(&family)))
    }

    /// ``"followed"`` where the coefficients follow a drift, and so are those of the last rows;
    /// ``"seen"`` where a drift is beyond doubt and they do not; else None. Of ``auto`` only.
    #[getter]
    fn drift(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        Ok(self
            .state(py)?
            .engine
            .drift()
            .map(|followed| if followed { "followed" } else { "seen" }))
    }

    /// Rows learned.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.state(py)?.engine.count())
    }

    /// Number of coefficients.
    #[getter]
    fn dim(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.state(py)?.engine.dim())
    }

    /// Name of the method.
    #[getter]
    fn method(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.state(py)?.engine.method())
    }

    /// Name of the family.
    #[getter]
    fn family(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.state(py)?.engine.family_name())
    }

    /// Whether the learner puts the constant before the features itself.
    #[getter]
    fn intercept(&self) -> bool {
        self.intercept
    }

    /// How good the predictions made before each row were, as a dictionary; None where they are not
    /// kept.
    #[getter]
    fn progressive<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.state(py)?
            .metrics
            .as_ref()
            .map(|metrics| crate::metrics::report(metrics, py))
            .transpose()
    }

    /// The state as bytes: the same state gives the same bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &crate::store::bytes(&*self.state(py)?, self.intercept)?))
    }

    /// An independent copy.
    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let State { engine, metrics } = self.state(py)?.clone();
        crate::kinds::wrap(py, Self::new(engine, self.intercept, metrics))
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
        let engine = &slf.get().state(slf.py())?.engine;
        let (family, method) = (engine.family_name(), engine.method());
        Ok(format!(
            "<kalmia.{class}: {family}, {method}, {} coefficients, {} rows>",
            engine.dim(),
            engine.count()
        ))
    }
}
