//! Learners as bytes, and merged learners.

use crate::engine::Engine;
use crate::error::{file, input, plain};
use crate::kinds::wrap;
use crate::learner::{Learner, State};
use kalmia::evaluate::Metrics;
use kalmia::file::ModelFile;
use kalmia::learner::{AnyState, AveragedState};
use kalmia::{AnyLearner, Averaged};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

/// What the container holds for a pickled learner.
const KIND: &str = "python-learner";

/// A learner with what the Python layer keeps beside it.
#[derive(Serialize, Deserialize)]
struct Stored {
    learner: StoredEngine,
    intercept: bool,
    metrics: Option<Metrics>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredEngine {
    Plain(AnyState),
    Averaged(AveragedState<AnyState>),
}

/// The learner's bytes.
pub fn bytes(learner: &State, intercept: bool) -> PyResult<Vec<u8>> {
    let engine = match &learner.engine {
        Engine::Plain(inner) => StoredEngine::Plain(inner.state()),
        Engine::Averaged(inner) => StoredEngine::Averaged(inner.state(AnyLearner::state)),
        Engine::CustomFilter(_) | Engine::CustomAuto(_) => {
            return Err(input(
                "a learner of a custom family cannot be stored: its callables are code",
            ));
        }
    };
    let stored = Stored { learner: engine, intercept, metrics: learner.metrics.clone() };
    ModelFile::new(KIND, &stored, Default::default()).map(|file| file.to_bytes()).map_err(file)
}

/// The learner of bytes that ``to_bytes`` gave; it goes on exactly where they were taken.
///
/// Parameters
/// ----------
/// data : bytes
///     From :meth:`Learner.to_bytes`.
///
/// Returns
/// -------
/// Learner
///
/// Examples
/// --------
/// >>> import kalmia
/// >>> filter = kalmia.Filter(2, "poisson", "implicit")
/// >>> kalmia.restore(filter.to_bytes())
/// <kalmia.Filter: poisson, implicit, 2 coefficients, 0 rows>
#[pyfunction]
pub fn restore<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let stored: Stored =
        ModelFile::from_bytes(data).and_then(|file| file.state(KIND)).map_err(file)?;
    let engine = match stored.learner {
        StoredEngine::Plain(state) => AnyLearner::restore(state).map(Engine::Plain),
        StoredEngine::Averaged(state) => {
            Averaged::restore(state, AnyLearner::restore).map(Engine::Averaged)
        }
    };
    wrap(py, Learner::new(engine.map_err(plain)?, stored.intercept, stored.metrics))
}

/// Two learners made one, as if it had learned the rows of both.
///
/// Exact for Gaussian filters; for other families an approximation: the natural parameters add, the
/// prior counted once. The progressive loss of the two is not carried over.
///
/// Parameters
/// ----------
/// a, b : Learner
///     Of the same class, family and prior.
///
/// Returns
/// -------
/// learner : Learner
/// exact : bool
///     Whether nothing was lost.
///
/// Examples
/// --------
/// >>> import kalmia
/// >>> a, b = kalmia.Filter(1, "gaussian"), kalmia.Filter(1, "gaussian")
/// >>> a.learn([1.0], 1.0)
/// >>> b.learn([1.0], 1.0)
/// >>> merged, exact = kalmia.merge(a, b)
/// >>> round(merged.theta[0], 12), merged.count, exact
/// (np.float64(0.666666666667), 2, True)
#[pyfunction]
pub fn merge<'py>(
    py: Python<'py>,
    a: PyRef<'py, Learner>,
    b: PyRef<'py, Learner>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    // one after the other: who holds two locks can be waited for by one who holds them crosswise
    let of = |learner: &Learner| PyResult::Ok(learner.state(py)?.engine.as_plain().cloned());
    let (Some(first), Some(second)) = (of(&a)?, of(&b)?) else {
        return Err(input("only plain learners of built-in families can be merged"));
    };
    if a.intercept != b.intercept {
        return Err(input("one learner has an intercept of its own, the other has not"));
    }
    let merged = py.detach(|| first.merge(&second)).map_err(plain)?;
    let exact = merged.is_exact();
    let learner = Learner::new(Engine::Plain(merged.into_inner()), a.intercept, None);
    Ok((wrap(py, learner)?, exact))
}
