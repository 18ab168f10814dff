//! A family given by Python callables.

use crate::error::{input, raise};
use pyo3::prelude::*;
use rand::Rng;
use std::sync::{Arc, Mutex};

/// A generalized linear family made of Python callables.
///
/// Every number goes through the interpreter, so learning is 10 to 100 times slower than with a
/// built-in family. The loss must be convex in `u`, and finite for any finite `u`.
///
/// Parameters
/// ----------
/// name : str
///     Name in messages.
/// loss : callable
///     ``loss(y, u)``, minus the log-likelihood of `y` up to a term in `y` alone.
/// derivatives : callable
///     ``derivatives(y, u)``, the pair of the first and second derivative of the loss in `u`.
/// mean : callable
///     ``mean(u)``, the expectation of `y`.
/// legal : callable, optional
///     ``legal(y)``, whether `y` can be observed; by default any finite number.
/// variance, quantile, cdf, log_base : callable, optional
///     ``variance(u)``, ``quantile(u, q)``, ``cdf(u, y)`` and ``log_base(y)``; only intervals and
///     densities need them.
/// domain : str
///     What `legal` accepts, as a phrase for messages.
/// discrete : bool
///     Whether `y` takes whole values only.
///
/// Examples
/// --------
/// Waiting times with rate ``exp(u)``:
///
/// >>> import math, kalmia
/// >>> def rate(u):
/// ...     return math.exp(min(max(u, -300.0), 300.0))
/// >>> waiting = kalmia.Family(
/// ...     "waiting",
/// ...     loss=lambda y, u: y * rate(u) - u,
/// ...     derivatives=lambda y, u: (y * rate(u) - 1.0, y * rate(u)),
/// ...     mean=lambda u: 1.0 / rate(u),
/// ...     legal=lambda y: y > 0.0,
/// ...     domain="a number above 0",
/// ... )
/// >>> filter = kalmia.Filter(1, waiting, "implicit")
/// >>> for y in [0.5, 0.4, 0.6, 0.5]:
/// ...     filter.learn([1.0], y)
/// >>> float(filter.theta[0]) > 0.0
/// True
#[pyclass(frozen, from_py_object, module = "kalmia")]
#[derive(Clone)]
pub struct Family(pub PyFamily);

#[pymethods]
impl Family {
    #[new]
    #[pyo3(signature = (name, *, loss, derivatives, mean, legal=None, variance=None, quantile=None,
                        cdf=None, log_base=None, domain="a finite number", discrete=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python constructor")]
    fn new(
        py: Python<'_>,
        name: &str,
        loss: Py<PyAny>,
        derivatives: Py<PyAny>,
        mean: Py<PyAny>,
        legal: Option<Py<PyAny>>,
        variance: Option<Py<PyAny>>,
        quantile: Option<Py<PyAny>>,
        cdf: Option<Py<PyAny>>,
        log_base: Option<Py<PyAny>>,
        domain: &str,
        discrete: bool,
    ) -> PyResult<Self> {
        let optional = [&legal, &variance, &quantile, &cdf, &log_base].into_iter().flatten();
        for callable in [&loss, &derivatives, &mean].into_iter().chain(optional) {
            if !callable.bind(py).is_callable() {
                return Err(input(format!(
                    "family {name}: {} is not callable",
                    callable.bind(py).repr()?
                )));
            }
        }
        let calls = Calls {
            name: name.to_owned(),
            domain: domain.to_owned(),
            discrete,
            loss,
            derivatives,
            mean,
            legal,
            variance,
            quantile,
            cdf,
            log_base,
        };
        Ok(Self(PyFamily { calls: Arc::new(calls), error: Arc::default() }))
    }

    /// Name in messages.
    #[getter]
    fn name(&self) -> &str {
        &self.0.calls.name
    }

    fn __repr__(&self) -> String {
        format!("kalmia.Family({:?})", self.0.calls.name)
    }
}

/// The callables.
struct Calls {
    name: String,
    domain: String,
    discrete: bool,
    loss: Py<PyAny>,
    derivatives: Py<PyAny>,
    mean: Py<PyAny>,
    legal: Option<Py<PyAny>>,
    variance: Option<Py<PyAny>>,
    quantile: Option<Py<PyAny>>,
    cdf: Option<Py<PyAny>>,
    log_base: Option<Py<PyAny>>,
}

/// The callables as the library's trait. The first exception is kept for [`PyFamily::check`], and a
/// finite number replaces the missing result, so every search in the library ends.
#[derive(Clone)]
pub struct PyFamily {
    calls: Arc<Calls>,
    error: Arc<Mutex<Option<PyErr>>>,
}

impl std::fmt::Debug for PyFamily {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PyFamily({})", self.calls.name)
    }
}

impl PyFamily {
    /// The exception that a callable raised since the last check.
    pub fn check(&self) -> PyResult<()> {
        self.error.lock().map_or(Ok(()), |mut slot| slot.take().map_or(Ok(()), Err))
    }

    fn note(&self, error: PyErr) {
        if let Ok(mut slot) = self.error.lock() {
            slot.get_or_insert(error);
        }
    }

    fn call<T: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>>(
        &self,
        what: &Py<PyAny>,
        args: &[f64],
    ) -> Option<T> {
        Python::attach(|py| {
            let result = match *args {
                [a] => what.call1(py, (a,)),
                [a, b] => what.call1(py, (a, b)),
                _ => unreachable!("families are called with one or two numbers"),
            };
            result.and_then(|value| value.extract(py)).map_err(|error| self.note(error)).ok()
        })
    }

    fn number(&self, what: &Py<PyAny>, args: &[f64]) -> f64 {
        self.call(what, args).unwrap_or(0.0)
    }

    fn optional(&self, what: &Option<Py<PyAny>>, name: &str, args: &[f64]) -> Option<f64> {
        match what {
            Some(what) => self.call(what, args),
            None => {
                self.note(raise(
                    "InputError",
                    format!("family {} was made without `{name}`", self.calls.name),
                ));
                None
            }
        }
    }
}

impl kalmia::Family for PyFamily {
    fn name(&self) -> &str {
        &self.calls.name
    }

    fn domain(&self) -> &str {
        &self.calls.domain
    }

    fn canonical(&self, y: f64) -> Option<f64> {
        let finite = y.abs() <= kalmia::rows::MAX_FEATURE;
        let legal = finite
            && self
                .calls
                .legal
                .as_ref()
                .is_none_or(|legal| self.call::<bool>(legal, &[y]).unwrap_or(false));
        legal.then_some(y)
    }

    fn loss(&self, y: f64, u: f64) -> f64 {
        self.number(&self.calls.loss, &[y, u])
    }

    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        self.call(&self.calls.derivatives, &[y, u]).unwrap_or((0.0, 0.0))
    }

    fn log_base(&self, y: f64) -> f64 {
        self.calls.log_base.as_ref().map_or(0.0, |log_base| self.number(log_base, &[y]))
    }

    fn mean(&self, u: f64) -> f64 {
        self.number(&self.calls.mean, &[u])
    }

    fn variance(&self, u: f64) -> f64 {
        self.optional(&self.calls.variance, "variance", &[u]).unwrap_or(0.0)
    }

    fn quantile(&self, u: f64, q: f64) -> f64 {
        self.optional(&self.calls.quantile, "quantile", &[u, q]).unwrap_or(0.0)
    }

    fn cdf(&self, u: f64, y: f64) -> f64 {
        self.optional(&self.calls.cdf, "cdf", &[u, y]).unwrap_or(if y < 0.0 { 0.0 } else { 1.0 })
    }

    fn discrete(&self) -> bool {
        self.calls.discrete
    }

    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        use rand::RngExt;
        self.quantile(u, rng.random())
    }
}
