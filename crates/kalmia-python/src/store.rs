//! Learners as bytes, and merged learners.

use crate::any::ByFamily;
use crate::error::{file, input, plain};
use crate::file::Provenance;
use crate::kinds::wrap;
use crate::learner::Learner;
use kalmia::AnyLearner;
use kalmia::evaluate::Metrics;
use kalmia::file::ModelFile;
use kalmia::learner::{AnyState, AveragedState};
use kalmia_model::{History, Merge, Weights};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the container holds for a pickled learner.
const KIND: &str = "python-learner";

/// A learner with what the Python layer keeps beside it.
#[derive(Serialize, Deserialize)]
struct Stored {
    learner: StoredLearner,
    intercept: bool,
    metrics: Option<Metrics>,
    /// Absent for learners that no estimator made, and in old pickles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provenance: Option<Provenance>,
    #[serde(default, skip_serializing_if = "Weights::is_empty")]
    weights: Weights,
}

/// Kept as it was when averages were not [`AnyState`]s, so old pickles can be read.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredLearner {
    Plain(AnyState),
    Averaged(AveragedState<AnyState>),
}

/// The learner's bytes.
pub fn bytes(py: Python<'_>, learner: &Learner) -> PyResult<Vec<u8>> {
    let state = learner.state(py)?;
    let Some(inner) = state.learner.built_in() else {
        return Err(input("a learner of a custom family cannot be stored: its callables are code"));
    };
    let stored = Stored {
        learner: match inner.state() {
            AnyState::Averaged(state) => StoredLearner::Averaged(*state),
            state => StoredLearner::Plain(state),
        },
        intercept: learner.intercept,
        metrics: state.metrics.clone(),
        provenance: learner.provenance.as_deref().cloned(),
        weights: state.weights,
    };
    ModelFile::new(KIND, &stored, Default::default()).map(|file| file.to_bytes()).map_err(file)
}

/// The learner that ``to_bytes`` stored. It continues exactly where it was.
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
    let state = match stored.learner {
        StoredLearner::Plain(state) => state,
        StoredLearner::Averaged(state) => AnyState::Averaged(Box::new(state)),
    };
    let learner = ByFamily::BuiltIn(AnyLearner::restore(state).map_err(plain)?);
    let mut learner = Learner::new(learner, stored.intercept, stored.metrics);
    learner.provenance = stored.provenance.map(Arc::new);
    learner.inner().weights = stored.weights;
    wrap(py, learner)
}

/// Merges two learners into one that has learned the rows of both.
///
/// Exact for Gaussian filters. For other families it is an approximation: the natural parameters
/// are added, and the prior counts once. The progressive loss is that of the rows of both, each
/// predicted by its own learner.
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
    // one lock at a time: two threads that merge crosswise would wait for each other
    let of = |learner: &Learner| PyResult::Ok(learner.state(py)?.learner.built_in().cloned());
    let (Some(first), Some(second)) = (of(&a)?, of(&b)?) else {
        return Err(input("learners of custom families cannot be merged"));
    };
    if a.intercept != b.intercept {
        return Err(input("one learner adds an intercept itself, the other does not"));
    }
    let merged = py.detach(|| first.merge(&second)).map_err(plain)?;
    let exact = merged.is_exact();
    let learner = merged.into_inner();
    let made = a.provenance.as_deref().zip(b.provenance.as_deref());
    let scores = |learner: &Learner| PyResult::Ok(learner.state(py)?.metrics.clone());
    let metrics = match scores(&a)?.zip(scores(&b)?) {
        Some((one, two)) => Some(one.merged(&two).map_err(plain)?),
        None => None,
    };
    let mut learner = Learner::new(ByFamily::BuiltIn(learner), a.intercept, metrics);
    let counted = a.state(py)?.weights;
    learner.inner().weights = counted.merged(&b.state(py)?.weights);
    learner.provenance = made.map(|(one, two)| {
        let parts = vec![one.history.clone(), two.history.clone()];
        let history = History { runs: Vec::new(), merged: Some(Merge { exact, parts }) };
        Arc::new(Provenance { settings: one.settings.clone(), history })
    });
    Ok((wrap(py, learner)?, exact))
}
