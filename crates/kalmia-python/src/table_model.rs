//! A model that learns tables by the names of their columns, and its file.

use crate::arrow::stream;
use crate::declaration::Declaration;
use crate::error::{data, input, model as translate};
use crate::json::{from_json, to_json};
use crate::shared::Shared;
use kalmia_data::{Format, Input, Mode, SourceOptions, Table};
use kalmia_model::{AnyModel, LearnScratch};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// Rows that one call learns at most.
const MAX_ROWS: usize = 1 << 24;
/// Rows that are encoded at a time.
const PART_ROWS: usize = 1 << 16;

/// A model that learns tables by the names of their columns, as the command does.
///
/// Parameters
/// ----------
/// rows : object
///     Rows that decide the kinds of the columns, the coding of the target and the family: an Arrow
///     stream, or JSON Lines as bytes. They are not learned.
/// declaration : dict
///     Columns and method, from ``kalmia._declaration.declaration``.
/// name : str
///     What errors call the rows.
///
/// Examples
/// --------
/// >>> from kalmia._declaration import declaration
/// >>> from kalmia._kalmia import TableModel
/// >>> rows = b'{"x": 1.0, "y": 2.5}\n{"x": 2.0, "y": 4.0}'
/// >>> model = TableModel(rows, declaration(target="y", family="gaussian"), "rows")
/// >>> model.learn(rows, "rows"), model.rows
/// ((2, 0), 2)
#[pyclass(frozen, module = "kalmia._kalmia")]
pub struct TableModel(Shared<State>);

struct State {
    model: AnyModel,
    scratch: LearnScratch,
}

/// Rows as the readers take them, and how they are read.
pub fn rows(table: &Bound<'_, PyAny>, name: &str) -> PyResult<(Input, SourceOptions)> {
    let options = SourceOptions { threaded: false, ..SourceOptions::default() };
    match table.cast::<PyBytes>() {
        Ok(lines) => Ok((
            Input::memory(name, lines.as_bytes()),
            SourceOptions { format: Some(Format::Jsonl), ..options },
        )),
        Err(_) => Ok((Input::record_batches(name, stream(table)?), options)),
    }
}

impl TableModel {
    fn of(model: AnyModel) -> Self {
        Self(Shared::new(State { model, scratch: LearnScratch::default() }))
    }
}

#[pymethods]
impl TableModel {
    #[new]
    fn new(rows: &Bound<'_, PyAny>, declaration: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let declaration = Declaration::new(declaration)?;
        let (rows, source) = self::rows(rows, name)?;
        let model = declaration.first_model(rows, source)?;
        Ok(Self::of(model))
    }

    /// The model of a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let loaded = py.detach(|| AnyModel::load(&path)).map_err(translate)?;
        Ok(Self::of(loaded.content))
    }

    /// Learns all rows or none: the numbers of rows learned and of rows left out for a missing
    /// value.
    fn learn(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        name: &str,
    ) -> PyResult<(usize, usize)> {
        let (rows, source) = self::rows(rows, name)?;
        let mut state = self.0.write(py)?;
        let State { model, scratch } = &mut *state;
        py.detach(|| {
            let schema = model.encoder().table_schema();
            let table = Table::read(rows, &source, &schema, Mode::Learn, MAX_ROWS).map_err(data)?;
            let copy = (table.rows() > PART_ROWS).then(|| model.clone());
            let mut sum = (0, 0);
            for first in (0..table.rows()).step_by(PART_ROWS) {
                let part = table.slice(first..table.rows().min(first + PART_ROWS));
                match model.learn_table(&part, scratch) {
                    Ok(learned) => sum = (sum.0 + learned.rows, sum.1 + learned.skipped),
                    Err(error) => {
                        if let Some(copy) = copy {
                            *model = copy;
                        }
                        return Err(translate(error));
                    }
                }
            }
            Ok(sum)
        })
    }

    /// Number of rows learned.
    #[getter]
    fn rows(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.0.read(py)?.model.rows())
    }

    /// An entry of the file's metadata; None if there is none.
    fn entry<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.0.read(py)?.model.metadata().get(name) {
            Some(value) => from_json(py, value),
            None => Ok(py.None().into_bound(py)),
        }
    }

    /// Sets an entry of the file's metadata; the command and the service keep it.
    fn set_entry(&self, py: Python<'_>, name: String, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = to_json(value)?;
        self.0.write(py)?.model.metadata_mut().insert(name, value);
        Ok(())
    }

    /// The model file as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.0.read(py)?.model.to_bytes().map_err(translate)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the model to a claimed file, in one step.
    fn save(&self, py: Python<'_>, claim: &Claim) -> PyResult<()> {
        let state = self.0.read(py)?;
        let mut held = claim.0.write(py)?;
        let held =
            held.as_mut().ok_or_else(|| input("the claim on the model file was given up"))?;
        let model = &state.model;
        py.detach(|| model.save_claimed(held)).map_err(translate)
    }
}

/// The right to update a model file, which one process has at a time.
///
/// A file that does not exist yet is claimed by the first save.
///
/// Parameters
/// ----------
/// path : path-like
///     The file.
///
/// Examples
/// --------
/// >>> import os, tempfile
/// >>> from kalmia._kalmia import Claim
/// >>> with tempfile.TemporaryDirectory() as folder:
/// ...     claim = Claim(os.path.join(folder, "line.kalmia"))
/// ...     claim.release()
#[pyclass(frozen, module = "kalmia._kalmia")]
pub struct Claim(Shared<Option<kalmia::file::Claim>>);

#[pymethods]
impl Claim {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let claim = kalmia::file::Claim::new(path).map_err(crate::error::file)?;
        Ok(Self(Shared::new(Some(claim))))
    }

    /// Gives the claim up, so other processes can have it.
    fn release(&self, py: Python<'_>) -> PyResult<()> {
        *self.0.write(py)? = None;
        Ok(())
    }
}
