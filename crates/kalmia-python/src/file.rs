//! Model files: the command's, of one learner or of one per class.

use crate::any::ByFamily;
use crate::class_file::class_content;
use crate::error::{file as refuse, input, model as translate, plain};
use crate::json::{from_json, to_json};
use crate::kinds::wrap;
use crate::learner::Learner;
use crate::method::by_name;
use crate::quantile_file::quantile_content;
use crate::quantile_scores::QuantileScores;
use crate::schema::Schema;
use kalmia::evaluate::Metrics;
use kalmia::file::Metadata;
use kalmia::{Family, Predict};
use kalmia_data::Encoder;
use kalmia_model::{AnyModel, FileContent, History, Model, Settings, save_set};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// The metadata entry of what only the Python package needs.
const ENTRY: &str = "python";

/// The metadata entry of `kalmia.stream`: how far into its sources the model has learned.
const STREAM: &str = "stream";

/// What a model file says of a learner beside its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// How the learner was made.
    pub settings: Settings,
    /// The files that the command learned it from.
    pub history: History,
}

/// A file's content: learners, schema, the method's name, what weights mean, the method's
/// parameters, the two entries of [`save_model`], and the scores of several quantiles.
pub type Content<'py> = (
    Vec<Bound<'py, PyAny>>,
    Schema,
    &'static str,
    &'static str,
    Bound<'py, PyDict>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Option<QuantileScores>,
);

/// A learner as the application layer has it.
pub fn model(
    py: Python<'_>,
    learner: &Learner,
    encoder: &Encoder,
    metadata: &Metadata,
) -> PyResult<Model> {
    let state = learner.state(py)?;
    let Some(inner) = state.learner.built_in() else {
        return Err(input("a learner of a custom family cannot be stored: its callables are code"));
    };
    let family = inner.family();
    let metrics = match &state.metrics {
        Some(metrics) => metrics.clone(),
        None => Metrics::new(family).map_err(plain)?,
    };
    let Provenance { settings, history } = match &learner.provenance {
        Some(provenance) => (**provenance).clone(),
        // pickled before pickles held it: only the names are known
        None => Provenance {
            settings: Settings {
                family: family.name().parse().map_err(translate)?,
                method: inner.method().parse().map_err(translate)?,
                ..Settings::default()
            },
            history: History::default(),
        },
    };
    Ok(Model {
        learner: inner.clone(),
        encoder: encoder.clone(),
        metrics,
        settings,
        weights: state.weights,
        history,
        metadata: metadata.clone(),
    })
}

/// The two entries of a file, as [`load_model`] gives them back.
pub fn entries(python: &Bound<'_, PyAny>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<Metadata> {
    let mut metadata = Metadata::default();
    metadata.insert(ENTRY.into(), to_json(python)?);
    if let Some(stream) = stream {
        metadata.insert(STREAM.into(), to_json(stream)?);
    }
    Ok(metadata)
}

/// Writes learners with their schema; `python` and `stream` are what `load_model` gives back.
#[pyfunction]
#[pyo3(signature = (path, learners, schema, python, stream=None))]
pub fn save_model(
    py: Python<'_>,
    path: PathBuf,
    learners: Vec<PyRef<'_, Learner>>,
    schema: &Schema,
    python: &Bound<'_, PyAny>,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let metadata = entries(python, stream)?;
    let models = learners.iter().map(|one| model(py, one, &schema.0, &metadata));
    let models = models.collect::<PyResult<Vec<_>>>()?;
    py.detach(|| save_set(&path, &models)).map_err(translate)
}

/// Reads what `save_model`, `save_classes` or the command wrote: the learners, their schema, the
/// method's name, the kind of weights, the method's parameters, and the entries of `save_model`
/// (None in files of the command, and without a stream).
#[pyfunction]
pub fn load_model(py: Python<'_>, path: PathBuf) -> PyResult<Content<'_>> {
    let models = match py.detach(|| FileContent::load(&path)).map_err(translate)?.content {
        FileContent::One(AnyModel::Numbers(model)) => vec![*model],
        FileContent::Set(models) => models,
        FileContent::One(AnyModel::Classes(model)) => return class_content(py, *model),
        FileContent::One(AnyModel::Quantiles(model)) => return quantile_content(py, *model),
    };
    let Some(first) = models.first() else {
        return Err(refuse("the model file holds no learner"));
    };
    let about = About::new(py, &first.settings, &first.metadata)?;
    let schema = Schema(first.encoder.clone());
    let mut learners = Vec::with_capacity(models.len());
    for Model { learner, encoder, metrics, settings, weights, history, .. } in models {
        let intercept = encoder.options().intercept;
        let mut learner = Learner::new(ByFamily::BuiltIn(learner), intercept, Some(metrics));
        learner.inner().weights = weights;
        learner.provenance = Some(Arc::new(Provenance { settings, history }));
        learners.push(wrap(py, learner)?);
    }
    Ok(about.content(learners, schema, None))
}

/// What a file says beside learners and schema.
pub struct About<'py> {
    method: &'static str,
    weights: &'static str,
    parameters: Bound<'py, PyDict>,
    python: Bound<'py, PyAny>,
    stream: Bound<'py, PyAny>,
}

impl<'py> About<'py> {
    /// Of a model with these settings and metadata.
    pub fn new(py: Python<'py>, settings: &Settings, metadata: &Metadata) -> PyResult<Self> {
        let entry = |name| match metadata.get(name) {
            Some(entry) => from_json(py, entry),
            None => Ok(py.None().into_bound(py)),
        };
        Ok(Self {
            method: settings.method.name().name(),
            weights: settings.weight_kind.name(),
            parameters: by_name(py, &settings.method)?,
            python: entry(ENTRY)?,
            stream: entry(STREAM)?,
        })
    }

    /// With its learners and their schema, and the scores if they are of several quantiles.
    pub fn content(
        self,
        learners: Vec<Bound<'py, PyAny>>,
        schema: Schema,
        scores: Option<QuantileScores>,
    ) -> Content<'py> {
        let Self { method, weights, parameters, python, stream } = self;
        (learners, schema, method, weights, parameters, python, stream, scores)
    }
}
