//! Learners of several classes as bytes, in model files and for other programs.

use crate::class_learner::{ClassLearner, ClassState};
use crate::error::{file as refuse, input, model as translate, plain};
use crate::export::write_export;
use crate::file::{About, Content, Provenance, entries};
use crate::json::to_json;
use crate::schema::Schema;
use kalmia::evaluate::ClassMetrics;
use kalmia::file::{Metadata, ModelFile, VERSION};
use kalmia::learner::{AnyCategorical, AnyCategoricalState};
use kalmia_data::Encoder;
use kalmia_model::{ClassModel, ModelLearner, Weights, class_json_export, class_onnx};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// What the container holds for a pickled learner.
const KIND: &str = "python-class-learner";

/// A learner with what the Python layer keeps beside it.
#[derive(Serialize, Deserialize)]
struct Stored {
    learner: AnyCategoricalState,
    intercept: bool,
    metrics: ClassMetrics,
    provenance: Provenance,
    #[serde(default, skip_serializing_if = "Weights::is_empty")]
    weights: Weights,
}

#[pymethods]
impl ClassLearner {
    /// The state as bytes: the same state gives the same bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.state(py)?;
        let stored = Stored {
            learner: state.learner.state(),
            intercept: self.intercept,
            metrics: state.metrics.clone(),
            provenance: (*self.provenance).clone(),
            weights: state.weights,
        };
        let file = ModelFile::new(KIND, &stored, Metadata::default()).map_err(refuse)?;
        Ok(PyBytes::new(py, &file.to_bytes()))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.import("kalmia._kalmia")?.getattr("restore_classes")?, (self.to_bytes(py)?,)))
    }
}

/// The learner that :meth:`ClassLearner.to_bytes` stored. It continues exactly where it was.
#[pyfunction]
pub fn restore_classes(data: &[u8]) -> PyResult<ClassLearner> {
    let stored: Stored =
        ModelFile::from_bytes(data).and_then(|file| file.state(KIND)).map_err(refuse)?;
    stored.metrics.check().map_err(plain)?;
    let state = ClassState {
        learner: AnyCategorical::restore(stored.learner).map_err(plain)?.limited(),
        metrics: stored.metrics,
        weights: stored.weights,
    };
    Ok(ClassLearner::restored(state, stored.intercept, Arc::new(stored.provenance)))
}

/// A learner as the application layer has it.
pub fn model(
    py: Python<'_>,
    learner: &ClassLearner,
    encoder: &Encoder,
    metadata: Metadata,
) -> PyResult<ClassModel> {
    let ClassState { learner: inner, metrics, weights } = learner.state(py)?.clone();
    let Provenance { settings, history } = (*learner.provenance).clone();
    let encoder = encoder.clone();
    Ok(ClassModel { learner: inner, encoder, metrics, settings, weights, history, metadata })
}

/// Writes a learner of several classes with its schema; `python` and `stream` are what
/// `load_model` gives back.
#[pyfunction]
#[pyo3(signature = (path, learner, schema, python, stream=None))]
pub fn save_classes(
    py: Python<'_>,
    path: PathBuf,
    learner: PyRef<'_, ClassLearner>,
    schema: &Schema,
    python: &Bound<'_, PyAny>,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let model = model(py, &learner, &schema.0, entries(python, stream)?)?;
    py.detach(|| model.save(&path)).map_err(translate)
}

/// What `load_model` returns of a model of several classes: one learner.
pub fn class_content(py: Python<'_>, model: ClassModel) -> PyResult<Content<'_>> {
    let ClassModel { learner, encoder, metrics, settings, weights, history, metadata } = model;
    let about = About::new(py, &settings, &metadata)?;
    let intercept = encoder.options().intercept;
    let state = ClassState { learner, metrics, weights };
    let provenance = Arc::new(Provenance { settings, history });
    let learner = ClassLearner::restored(state, intercept, provenance);
    let learner = Bound::new(py, learner)?.into_any();
    Ok(about.content(vec![learner], Schema(encoder), None))
}

/// Merges two learners of several classes, which learned different rows. Features and classes are
/// matched by their names.
///
/// Parameters
/// ----------
/// a, b : ClassLearner
///     Both with the same parameters.
/// first, second : Schema
///     Their columns and classes.
///
/// Returns
/// -------
/// learner : ClassLearner
/// schema : Schema
///     Its columns and classes.
/// exact : bool
///     Whether nothing was lost.
#[pyfunction]
pub fn merge_classes(
    py: Python<'_>,
    a: PyRef<'_, ClassLearner>,
    first: &Schema,
    b: PyRef<'_, ClassLearner>,
    second: &Schema,
) -> PyResult<(ClassLearner, Schema, bool)> {
    if a.intercept != b.intercept {
        return Err(input("one learner adds an intercept itself, the other does not"));
    }
    let models = vec![
        model(py, &a, &first.0, Metadata::default())?,
        model(py, &b, &second.0, Metadata::default())?,
    ];
    let merged = py.detach(|| ClassModel::merge_many(models)).map_err(translate)?;
    let schema = Schema(merged.model.encoder.clone());
    Ok((ClassLearner::of_model(merged.model, a.intercept), schema, merged.exact))
}

/// Writes a learner of several classes with its schema for other programs.
///
/// Parameters
/// ----------
/// path : str
///     The file. An existing one is replaced in one step.
/// learner : ClassLearner
///     The learner.
/// schema : Schema
///     The columns and classes.
/// format : {"onnx", "json"}
///     What to write.
/// codes : list of int
///     The classes in the order in which they are written.
/// labels : list
///     Their labels, in the same order.
#[pyfunction]
pub fn export_classes(
    py: Python<'_>,
    path: PathBuf,
    learner: PyRef<'_, ClassLearner>,
    schema: &Schema,
    format: &str,
    codes: Vec<usize>,
    labels: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let model = model(py, &learner, &schema.0, Metadata::default())?;
    let labels = to_json(labels)?.as_array().cloned().unwrap_or_default();
    let classes: Vec<(usize, Value)> = codes.into_iter().zip(labels).collect();
    write_export(
        py,
        &path,
        format,
        || class_onnx(&model, &classes, VERSION),
        || class_json_export(&model, &classes, VERSION),
    )
}
