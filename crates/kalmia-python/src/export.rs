//! Learners for other programs: ONNX graphs and JSON files.

use crate::error::{file as refuse, input, model as translate};
use crate::file::model;
use crate::json::to_json;
use crate::learner::Learner;
use crate::schema::Schema;
use kalmia::file::{Metadata, VERSION, replace};
use kalmia_model::{ExportOptions, Result, json_export, onnx};
use pyo3::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Writes learners with their schema for other programs. The estimators use it.
///
/// Parameters
/// ----------
/// path : str
///     The file. An existing one is replaced in one step.
/// learners : list of Learner
///     One, or one per class.
/// schema : Schema
///     The columns.
/// format : {"onnx", "json"}
///     What to write.
/// classes : list
///     The class of each learner if there are several; else empty.
/// offset : bool
///     Whether an ONNX graph has a second input, which is added to the linear predictor.
#[pyfunction]
pub fn export_model(
    py: Python<'_>,
    path: PathBuf,
    learners: Vec<PyRef<'_, Learner>>,
    schema: &Schema,
    format: &str,
    classes: &Bound<'_, PyAny>,
    offset: bool,
) -> PyResult<()> {
    let models = learners.iter().map(|one| model(py, one, &schema.0, &Metadata::default()));
    let models = models.collect::<PyResult<Vec<_>>>()?;
    let classes = to_json(classes)?;
    let classes = classes.as_array().map_or(&[][..], Vec::as_slice);
    let options = ExportOptions { version: VERSION, classes, offset };
    write_export(py, &path, format, || onnx(&models, &options), || json_export(&models, &options))
}

/// Writes what a format asks for; an existing file is replaced in one step.
pub fn write_export(
    py: Python<'_>,
    path: &Path,
    format: &str,
    onnx: impl FnOnce() -> Result<Vec<u8>>,
    json: impl FnOnce() -> Result<Value>,
) -> PyResult<()> {
    let bytes = match format {
        "onnx" => onnx().map_err(translate)?,
        "json" => format!("{}\n", json().map_err(translate)?).into_bytes(),
        other => return Err(input(format!("format is '{other}': give \"onnx\" or \"json\""))),
    };
    py.detach(|| replace(path, |sink| sink.write_all(&bytes)))
        .map_err(|error| refuse(format!("cannot write {}: {error}", path.display())))
}
