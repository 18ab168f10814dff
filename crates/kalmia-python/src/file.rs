//! Model files: the same as the command's for one learner, and a set of them for several classes.

use crate::engine::Engine;
use crate::error::{file as refuse, input, plain};
use crate::kinds::wrap;
use crate::learner::{Learner, State};
use crate::schema::Schema;
use kalmia::AnyLearner;
use kalmia::Predict;
use kalmia::evaluate::Metrics;
use kalmia::file::{MODEL, MODEL_SET, Metadata, Model, ModelFile};
use kalmia_data::Encoder;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A model as the command stores it; history and settings are only carried.
type Stored = Model<Encoder, Value, Metrics, Value>;

/// A file's content: learners with what they need beside.
type Content<'py> = (Vec<Bound<'py, PyAny>>, Schema, String, String);

fn stored(learner: &State, encoder: &Encoder, settings: &Value) -> PyResult<Stored> {
    let Engine::Plain(plain_learner) = &learner.engine else {
        return Err(input("only models of a single learner and a built-in family can be stored"));
    };
    let metrics = match &learner.metrics {
        Some(metrics) => metrics.clone(),
        None => Metrics::new(plain_learner.family()).map_err(plain)?,
    };
    let history = json!({"runs": [], "merged": null});
    Ok(Model {
        encoder: encoder.clone(),
        history,
        learner: plain_learner.state(),
        metrics,
        settings: settings.clone(),
    })
}

/// Writes learners with their schema; `settings` and `metadata` are JSON objects.
#[pyfunction]
pub fn save_model(
    py: Python<'_>,
    path: PathBuf,
    learners: Vec<PyRef<'_, Learner>>,
    schema: &Schema,
    settings: &str,
    metadata: &str,
) -> PyResult<()> {
    let settings: Value = serde_json::from_str(settings).map_err(refuse)?;
    let metadata: Metadata = serde_json::from_str(metadata).map_err(refuse)?;
    let models = learners
        .iter()
        .map(|one| stored(&*one.state(py)?, &schema.0, &settings))
        .collect::<PyResult<Vec<_>>>()?;
    let file = match &models[..] {
        [one] => ModelFile::new(MODEL, one, metadata),
        many => ModelFile::new(MODEL_SET, many, metadata),
    };
    file.map_err(refuse)?.write(&path).map_err(refuse)
}

/// Reads what `save_model` or the command wrote: learners, schema, settings and metadata.
#[pyfunction]
pub fn load_model(py: Python<'_>, path: PathBuf) -> PyResult<Content<'_>> {
    let file = ModelFile::read(&path).map_err(refuse)?;
    let at = |problem: kalmia::file::Problem| refuse(problem.at(&path));
    let models: Vec<Stored> = if file.kind() == MODEL_SET {
        file.state(MODEL_SET).map_err(at)?
    } else {
        vec![file.state(MODEL).map_err(at)?]
    };
    let metadata = serde_json::to_string(file.metadata()).map_err(refuse)?;
    let mut learners = Vec::with_capacity(models.len());
    let mut last = None;
    for Model { encoder, learner, metrics, settings, .. } in models {
        let engine = Engine::Plain(AnyLearner::restore(learner).map_err(plain)?);
        let intercept = encoder.options().intercept;
        learners.push(wrap(py, Learner::new(engine, intercept, Some(metrics)))?);
        last = Some((encoder, settings));
    }
    let (encoder, settings) = last.ok_or_else(|| refuse("the model file holds no learner"))?;
    Ok((learners, Schema(encoder), settings.to_string(), metadata))
}
