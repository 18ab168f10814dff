//! Several quantiles in model files, and for other programs: one learner per level in Python, one
//! model in the file.

use crate::any::ByFamily;
use crate::error::{input, model as translate, plain};
use crate::export::write_export;
use crate::file::{About, Content, Provenance, entries};
use crate::kinds::wrap;
use crate::learner::Learner;
use crate::quantile_scores::{QuantileScores, ScoreState};
use crate::schema::Schema;
use kalmia::file::{Metadata, VERSION};
use kalmia::learner::Quantiles;
use kalmia::{AnyFamily, AnyLearner, Auto, Predict, Quantile};
use kalmia_data::Encoder;
use kalmia_model::{QuantileModel, Settings, quantile_json_export, quantile_onnx};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A learner of one level.
fn level(py: Python<'_>, learner: &Learner) -> PyResult<Auto<Quantile>> {
    let wrong = || input("several quantiles have learners of the method 'auto' for one level each");
    let state = learner.state(py)?;
    let Some(AnyLearner::Auto(auto)) = state.learner.built_in() else { return Err(wrong()) };
    let AnyFamily::Quantile(family) = auto.family() else { return Err(wrong()) };
    Ok(auto.clone().map_family(|_| family))
}

/// The settings with another text of the family.
fn with_family(settings: Settings, levels: &[f64]) -> PyResult<Settings> {
    let levels: Vec<String> = levels.iter().map(f64::to_string).collect();
    let family = format!("quantile:{}", levels.join(",")).parse().map_err(translate)?;
    Ok(Settings { family, ..settings })
}

/// The learners and their scores as the application layer has them.
fn model(
    py: Python<'_>,
    learners: &[PyRef<'_, Learner>],
    scores: &QuantileScores,
    encoder: &Encoder,
    metadata: Metadata,
) -> PyResult<QuantileModel> {
    let levels = learners.iter().map(|one| level(py, one)).collect::<PyResult<Vec<_>>>()?;
    let learner = Quantiles::from_learners(levels).map_err(plain)?;
    let ScoreState { metrics, weights, .. } = scores.state(py)?.clone();
    let Some(made) = learners.first().and_then(|first| first.provenance.as_deref()) else {
        return Err(input("these learners are not those of an estimator"));
    };
    let Provenance { settings, history } = made.clone();
    let settings = with_family(settings, &learner.levels())?;
    let encoder = encoder.clone();
    Ok(QuantileModel { learner, encoder, metrics, settings, weights, history, metadata })
}

/// Writes the learners of several quantiles with their schema; `python` and `stream` are what
/// `load_model` gives back.
#[pyfunction]
#[pyo3(signature = (path, learners, scores, schema, python, stream=None))]
pub fn save_quantiles(
    py: Python<'_>,
    path: PathBuf,
    learners: Vec<PyRef<'_, Learner>>,
    scores: &QuantileScores,
    schema: &Schema,
    python: &Bound<'_, PyAny>,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let model = model(py, &learners, scores, &schema.0, entries(python, stream)?)?;
    py.detach(|| model.save(&path)).map_err(translate)
}

/// What `load_model` returns of a model of several quantiles: one learner per level.
pub fn quantile_content(py: Python<'_>, model: QuantileModel) -> PyResult<Content<'_>> {
    let QuantileModel { learner, encoder, metrics, settings, weights, history, metadata } = model;
    let about = About::new(py, &settings, &metadata)?;
    let kind = settings.weight_kind;
    let intercept = encoder.options().intercept;
    let levels = learner.levels();
    let mut learners = Vec::with_capacity(levels.len());
    for (auto, &level) in learner.into_learners().into_iter().zip(&levels) {
        let any = AnyLearner::Auto(auto.map_family(AnyFamily::from));
        let mut learner = Learner::new(ByFamily::BuiltIn(any), intercept, None);
        learner.inner().weights = weights;
        let settings = with_family(settings.clone(), &[level])?;
        let history = history.clone();
        learner.provenance = Some(Arc::new(Provenance { settings, history }));
        learners.push(wrap(py, learner)?);
    }
    let scores = QuantileScores::restored(ScoreState { levels, metrics, kind, weights });
    Ok(about.content(learners, Schema(encoder), Some(scores)))
}

/// Writes several quantiles with their schema for other programs.
///
/// Parameters
/// ----------
/// path : str
///     The file. An existing one is replaced in one step.
/// learners : list of Learner
///     One per level, in ascending order.
/// scores : QuantileScores
///     Their scores.
/// schema : Schema
///     The columns.
/// format : {"onnx", "json"}
///     What to write.
/// offset : bool
///     Whether an ONNX graph has a second input, which is added to the linear predictors.
#[pyfunction]
pub fn export_quantiles(
    py: Python<'_>,
    path: PathBuf,
    learners: Vec<PyRef<'_, Learner>>,
    scores: &QuantileScores,
    schema: &Schema,
    format: &str,
    offset: bool,
) -> PyResult<()> {
    let model = model(py, &learners, scores, &schema.0, Metadata::default())?;
    write_export(
        py,
        &path,
        format,
        || Ok(quantile_onnx(&model, VERSION, offset)),
        || quantile_json_export(&model, VERSION),
    )
}
