//! The learner of several classes; its methods are in the files of the folder `class_learner`.

mod inspect;
mod learn;
mod predict;

use crate::error::{input, model as translate, plain};
use crate::file::Provenance;
use crate::shared::{Held, Shared};
use kalmia::evaluate::ClassMetrics;
use kalmia::learner::AnyCategorical;
use kalmia::{Categorical, DriftMode, Outliers};
use kalmia_model::{
    Algorithm, ClassModel, History, Settings, Weights, check_memory, ordinal_learner,
    wide_class_learner,
};
use pyo3::prelude::*;
use std::sync::{Arc, RwLockReadGuard};

/// What learning changes.
#[derive(Debug, Clone)]
pub struct ClassState {
    pub learner: AnyCategorical,
    pub metrics: ClassMetrics,
    /// The weights of the rows, as they were given.
    pub weights: Weights,
}

/// Learns the probabilities of several classes jointly.
///
/// The estimators use it. Classes are coded 0, 1, 2 and so on; one that is not known yet is added
/// at its first row. Threads may share a learner: a call that learns waits for the other calls, and
/// they wait for it.
///
/// Parameters
/// ----------
/// classes : int
///     Number of classes that are known beforehand, at least 1.
/// features : int
///     Number of features without the constant.
/// intercept : bool
///     Whether the learner puts a constant before the features itself.
/// drift : {"off", "detect", "adapt"}, optional
///     Whether the coefficients may move over time.
/// weights : {"frequency", "precision"}
///     What weights mean.
/// shuffle : int, optional
///     The seed of the order of the rows, for the model file.
/// numbers : int, optional
///     Makes a learner of sparse rows: as many leading features, without the constant, are numbers
///     that every row has. `features` is not used.
/// ordered : bool
///     Makes a learner of ordered levels, the lowest with code 0. It takes no new ones, and no
///     drift other than "off" and "detect", which it does not look for.
///
/// Examples
/// --------
/// >>> from kalmia._kalmia import ClassLearner
/// >>> learner = ClassLearner(3, 1)
/// >>> learner.learn_many([[-2.1], [0.1], [1.9], [-1.8], [-0.1], [2.2]], [0, 1, 2, 0, 1, 2])
/// >>> learner.predict_many([[2.0]])[0].argmax()
/// np.int64(2)
#[pyclass(frozen, module = "kalmia._kalmia")]
pub struct ClassLearner {
    state: Shared<ClassState>,
    /// Whether the learner puts a constant before the features itself.
    pub intercept: bool,
    /// What a model file says beside the state.
    pub provenance: Arc<Provenance>,
}

impl ClassLearner {
    /// From what a file or another learner holds.
    pub fn restored(state: ClassState, intercept: bool, provenance: Arc<Provenance>) -> Self {
        Self { state: Shared::new(state), intercept, provenance }
    }

    /// From a model, whose columns the caller keeps.
    pub fn of_model(model: ClassModel, intercept: bool) -> Self {
        let ClassModel { learner, metrics, settings, weights, history, .. } = model;
        let state = ClassState { learner, metrics, weights };
        Self::restored(state, intercept, Arc::new(Provenance { settings, history }))
    }

    /// What was learned, once no other call changes it.
    pub fn state(&self, py: Python<'_>) -> PyResult<Held<RwLockReadGuard<'_, ClassState>>> {
        self.state.read(py)
    }
}

/// A learner of dense rows.
fn dense(
    classes: usize,
    features: usize,
    intercept: bool,
    drift: DriftMode,
) -> PyResult<AnyCategorical> {
    let build = |dim: usize| {
        let builder = Categorical::builder(classes, dim).drift(drift);
        builder.with_intercept(intercept).build().map(AnyCategorical::from).map_err(plain)
    };
    let dim = features + usize::from(intercept);
    if dim == 0 {
        return Err(input("X has no features and there is no intercept: give one of the two"));
    }
    check_memory(&build(1)?, dim).map_err(translate)?;
    build(dim)
}

/// A learner of ordered levels.
fn levels(
    levels: usize,
    features: usize,
    intercept: bool,
    drift: DriftMode,
    wide: bool,
) -> PyResult<AnyCategorical> {
    if wide {
        return Err(input("ordered levels take dense rows of at most 5000 numbers"));
    }
    if drift == DriftMode::Adapt {
        return Err(input("ordered levels follow no drift: give \"off\" or \"detect\""));
    }
    let dim = features + usize::from(intercept);
    if dim == 0 {
        return Err(input("X has no features and there is no intercept: give one of the two"));
    }
    ordinal_learner(levels, dim, intercept).map_err(translate)
}

#[pymethods]
impl ClassLearner {
    #[new]
    #[pyo3(signature = (classes, features, intercept=true, *, drift=None, weights="frequency",
                        shuffle=None, numbers=None, ordered=false))]
    #[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn new(
        classes: usize,
        features: usize,
        intercept: bool,
        drift: Option<&str>,
        weights: &str,
        shuffle: Option<u64>,
        numbers: Option<usize>,
        ordered: bool,
    ) -> PyResult<Self> {
        let family = if ordered { "ordinal" } else { "categorical" };
        let mut settings = Settings {
            family: family.parse().map_err(translate)?,
            weight_kind: weights.parse().map_err(translate)?,
            shuffle,
            ..Settings::default()
        };
        let drift = drift.map(crate::arguments::drift).transpose()?.unwrap_or_default();
        settings.method = Algorithm::Auto { drift, outliers: Outliers::default() }.into();
        let learner = match numbers {
            _ if ordered => levels(classes, features, intercept, drift, numbers.is_some())?,
            Some(numbers) => {
                let numbers = numbers + usize::from(intercept);
                wide_class_learner(classes, numbers, intercept, drift).map_err(translate)?
            }
            None => dense(classes, features, intercept, drift)?,
        };
        let state =
            ClassState { learner, metrics: ClassMetrics::default(), weights: Weights::default() };
        let provenance = Provenance { settings, history: History::default() };
        Ok(Self::restored(state, intercept, Arc::new(provenance)))
    }

    /// An independent copy.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let state = self.state(py)?.clone();
        Ok(Self::restored(state, self.intercept, self.provenance.clone()))
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let learner = &self.state(py)?.learner;
        Ok(format!(
            "<kalmia.ClassLearner: {} classes, {} coefficients each, {} rows>",
            learner.classes(),
            learner.dim(),
            learner.count()
        ))
    }
}
