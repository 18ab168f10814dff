//! One fit on several workers: templates, shards, and the sums of a polish.

use crate::declaration::Declaration;
use crate::error::{data, input, model as translate};
use crate::shared::Shared;
use crate::table_model::rows;
use kalmia::sums::{Polished, Sums};
use kalmia::{AnyFamily, Learner};
use kalmia_data::{Block, Counts, Encoder, Input, Mode, Reader, SourceOptions};
use kalmia_model::{
    MergedModel, Model, Part, PolishPrior, Polishing, sums_from_bytes, sums_to_bytes,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};

/// What all workers start from: columns, kinds, levels, family, method and reference coefficients.
///
/// Parameters
/// ----------
/// sample : object
///     Rows of many partitions: an Arrow stream, or JSON Lines as bytes.
/// declaration : dict
///     Columns and method, from ``kalmia._declaration.declaration``.
///
/// Examples
/// --------
/// >>> from kalmia._declaration import declaration
/// >>> from kalmia._kalmia import Fit, Shard, Template, merge_shards
/// >>> rows = b'{"x": 1.0, "y": 2.5}\n{"x": 2.0, "y": 4.0}\n{"x": 4.0, "y": 7.5}'
/// >>> template = Template(rows, declaration("y", family="gaussian"))
/// >>> template.columns
/// ['x', 'y']
/// >>> shards = [Shard(template, f"partition {k}") for k in range(2)]
/// >>> for shard in shards:
/// ...     shard.learn(rows)
/// >>> Fit(template, merge_shards([shard.to_bytes() for shard in shards])).rows
/// 6
#[pyclass(frozen, module = "kalmia._kalmia")]
pub struct Template(kalmia_model::Template);

#[pymethods]
impl Template {
    #[new]
    fn new(sample: &Bound<'_, PyAny>, declaration: &Bound<'_, PyAny>) -> PyResult<Self> {
        let declaration = Declaration::new(declaration)?;
        let (rows, source) = rows(sample, "sample")?;
        let model = declaration.sample_model(rows, source)?;
        kalmia_model::Template::new(model).map(Self).map_err(translate)
    }

    /// The columns that rows need: features, target, and weight and offset if there are any.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let encoder = self.0.encoder();
        let options = encoder.options();
        let features = encoder.columns().iter().map(|column| column.name.clone());
        let target = encoder.target().map(|target| target.name.clone());
        features.chain(target).chain(options.weight.clone()).chain(options.offset.clone()).collect()
    }

    /// The bytes, to be shipped.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(translate)?))
    }

    /// The template of `to_bytes`.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, bytes: &[u8]) -> PyResult<Self> {
        kalmia_model::Template::from_bytes(bytes).map(Self).map_err(translate)
    }
}

/// Calls `take` with each block of rows that `encoder` gives access to.
fn each_block<T>(
    (rows, source): (Input, SourceOptions),
    mode: Mode,
    state: &mut T,
    encoder: impl Fn(&mut T) -> &mut Encoder,
    take: impl Fn(&mut T, &Block) -> kalmia_model::Result<()>,
) -> PyResult<()> {
    let mut block = Block::new();
    let mut reader = Reader::open(vec![rows], source, encoder(state), mode).map_err(data)?;
    while reader.next_block(encoder(state), &mut block).map_err(data)? {
        take(state, &block).map_err(translate)?;
    }
    Ok(())
}

/// What errors call rows that come after others.
fn name_after(name: &str, rows: u64) -> String {
    if rows == 0 { name.into() } else { format!("{name}, after {rows} rows") }
}

/// A worker: it learns the rows of one partition.
///
/// Parameters
/// ----------
/// template : Template
/// name : str
///     What errors call the partition.
#[pyclass(frozen, module = "kalmia._kalmia")]
pub struct Shard {
    name: String,
    state: Shared<Option<kalmia_model::Shard>>,
    counts: Shared<Counts>,
}

impl Shard {
    fn used() -> PyErr {
        input("the shard failed, or has given its model: make a new one")
    }
}

#[pymethods]
impl Shard {
    #[new]
    fn new(template: &Template, name: String) -> PyResult<Self> {
        let shard = kalmia_model::Shard::new(&template.0).map_err(translate)?;
        Ok(Self { name, state: Shared::new(Some(shard)), counts: Shared::new(Counts::default()) })
    }

    /// Learns rows: an Arrow stream, which is read as it comes, or JSON Lines as bytes. After an
    /// error the shard cannot be used any more.
    fn learn(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut counts = self.counts.write(py)?;
        let mut held = self.state.write(py)?;
        let mut shard = held.take().ok_or_else(Self::used)?;
        let rows = rows(table, &name_after(&self.name, counts.rows))?;
        py.detach(|| {
            each_block(
                rows,
                Mode::Learn,
                &mut shard,
                kalmia_model::Shard::encoder_mut,
                kalmia_model::Shard::learn,
            )
        })?;
        *counts = shard.encoder_mut().counts();
        *held = Some(shard);
        Ok(())
    }

    /// Rows learned.
    #[getter]
    fn rows(&self, py: Python<'_>) -> PyResult<u64> {
        let counts = self.counts.read(py)?;
        Ok(counts.rows - counts.skipped)
    }

    /// What was learned, to be merged.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let held = self.state.read(py)?;
        let shard = held.as_ref().ok_or_else(Self::used)?;
        let bytes = shard.part().and_then(|part| part.to_bytes()).map_err(translate)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The model file of this partition alone; the shard cannot be used any more.
    fn model<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let shard = self.state.write(py)?.take().ok_or_else(Self::used)?;
        let bytes = shard.into_model().to_bytes().map_err(translate)?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// One part for several, whose levels are matched by name.
///
/// Parameters
/// ----------
/// parts : list of bytes
///     From :meth:`Shard.to_bytes`, or merged.
#[pyfunction]
pub fn merge_shards<'py>(py: Python<'py>, parts: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
    let merged = py.detach(|| {
        let (first, rest) = parts.split_first().ok_or_else(nothing)?;
        let mut whole = Part::from_bytes(first).map_err(translate)?;
        for part in rest {
            let part = Part::from_bytes(part).map_err(translate)?;
            whole.merge(&part).map_err(translate)?;
        }
        whole.to_bytes().map_err(translate)
    })?;
    Ok(PyBytes::new(py, &merged))
}

/// One sum for several.
///
/// Parameters
/// ----------
/// parts : list of bytes
///     From :meth:`SumsPass.to_bytes`, or merged.
#[pyfunction]
pub fn merge_sums<'py>(py: Python<'py>, parts: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
    let merged = py.detach(|| {
        let (first, rest) = parts.split_first().ok_or_else(nothing)?;
        let mut whole = sums_from_bytes(first).map_err(translate)?;
        for part in rest {
            let part = sums_from_bytes(part).map_err(translate)?;
            whole.merge(&part).map_err(crate::error::plain)?;
        }
        sums_to_bytes(&whole).map_err(translate)
    })?;
    Ok(PyBytes::new(py, &merged))
}

fn nothing() -> PyErr {
    input("there is nothing to merge: give at least one part")
}

/// One partition of a polish pass: sums over its rows at fixed coefficients.
///
/// Parameters
/// ----------
/// request : bytes
///     From :meth:`Fit.request`.
/// name : str
///     What errors call the partition.
#[pyclass(frozen, module = "kalmia._kalmia")]
pub struct SumsPass {
    name: String,
    pass: kalmia_model::SumsPass,
    state: Shared<Summing>,
}

struct Summing {
    encoder: Encoder,
    sums: Sums<AnyFamily>,
}

#[pymethods]
impl SumsPass {
    #[new]
    fn new(request: &[u8], name: String) -> PyResult<Self> {
        let pass = kalmia_model::SumsPass::from_bytes(request).map_err(translate)?;
        let mut encoder = pass.encoder().clone();
        encoder.reset_counts();
        let sums = pass.sums().map_err(translate)?;
        Ok(Self { name, pass, state: Shared::new(Summing { encoder, sums }) })
    }

    /// Adds rows: an Arrow stream, which is read as it comes, or JSON Lines as bytes.
    fn add(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut state = self.state.write(py)?;
        let rows = rows(table, &name_after(&self.name, state.encoder.counts().rows))?;
        let state = &mut *state;
        py.detach(|| {
            each_block(
                rows,
                Mode::Evaluate,
                state,
                |state| &mut state.encoder,
                |state, block| self.pass.add(block, &mut state.sums),
            )
        })
    }

    /// The sums, to be merged.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = sums_to_bytes(&self.state.read(py)?.sums).map_err(translate)?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// The model of all partitions, and its polish.
///
/// Parameters
/// ----------
/// template : Template
/// shard : bytes
///     All parts, merged.
/// robust : bool
///     Whether the sums give standard errors that hold for any variance of the target.
/// prior : {"fitted", "flat"}
///     What a polish takes as known before the rows.
#[pyclass(frozen, module = "kalmia._kalmia")]
pub struct Fit {
    merged: MergedModel,
    prior: PolishPrior,
    robust: bool,
    polish: Shared<Progress>,
}

/// How far a polish is.
#[derive(Default)]
struct Progress {
    polishing: Option<Polishing>,
    latest: Option<Polished>,
}

impl Fit {
    fn polishing(&self) -> PyResult<Polishing> {
        Polishing::new(&self.merged.model, self.prior, self.robust).map_err(translate)
    }
}

#[pymethods]
impl Fit {
    #[new]
    #[pyo3(signature = (template, shard, *, robust=false, prior="fitted"))]
    fn new(template: &Template, shard: &[u8], robust: bool, prior: &str) -> PyResult<Self> {
        let part = Part::from_bytes(shard).map_err(translate)?;
        let merged = template.0.model(&part).map_err(translate)?;
        let prior = prior.parse().map_err(translate)?;
        Ok(Self { merged, prior, robust, polish: Shared::new(Progress::default()) })
    }

    /// Rows learned.
    #[getter]
    fn rows(&self) -> u64 {
        self.merged.model.learner.count()
    }

    /// Partitions with rows.
    #[getter]
    fn shards(&self) -> u64 {
        self.merged.shards
    }

    /// Whether the merged model is, to rounding, that of one pass over all rows.
    #[getter]
    fn exact(&self) -> bool {
        self.merged.exact
    }

    /// Whether the partitions agree: Cochran's ``q`` with its ``degrees`` and ``p_value``.
    #[getter]
    fn heterogeneity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = &self.merged.heterogeneity;
        let dict = PyDict::new(py);
        dict.set_item("q", found.q)?;
        dict.set_item("degrees", found.degrees)?;
        dict.set_item("p_value", found.p_value)?;
        Ok(dict)
    }

    /// What workers need for the next pass, as bytes.
    fn request<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut state = self.polish.write(py)?;
        let polishing = match state.polishing.take() {
            Some(polishing) => polishing,
            None => self.polishing()?,
        };
        let bytes = polishing.pass().to_bytes().map_err(translate)?;
        state.polishing = Some(polishing);
        Ok(PyBytes::new(py, &bytes))
    }

    /// Takes the merged sums of a pass; whether nothing moves any more.
    fn step(&self, py: Python<'_>, sums: &[u8]) -> PyResult<bool> {
        let mut state = self.polish.write(py)?;
        let Progress { polishing, latest } = &mut *state;
        let polishing = polishing.as_mut().ok_or_else(|| input("no pass was asked for"))?;
        let sums = sums_from_bytes(sums).map_err(translate)?;
        let done = py.detach(|| polishing.step(&sums)).map_err(translate)?;
        *latest = match &done {
            Some(polished) => Some((**polished).clone()),
            None => polishing.latest().cloned(),
        };
        Ok(done.is_some())
    }

    /// How far the last pass moved the coefficients, in standard errors; None before it.
    #[getter]
    fn moved<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let state = self.polish.read(py)?;
        let Some(latest) = &state.latest else { return Ok(None) };
        let moved = latest.moved();
        let dict = PyDict::new(py);
        dict.set_item("rms", moved.rms)?;
        dict.set_item("max", moved.max)?;
        Ok(Some(dict))
    }

    /// Passes so far.
    #[getter]
    fn passes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.polish.read(py)?.polishing.as_ref().map_or(0, Polishing::passes))
    }

    /// Standard errors that hold for any variance of the target; None unless they were asked for.
    #[getter]
    fn robust_standard_errors(&self, py: Python<'_>) -> PyResult<Option<Vec<f64>>> {
        let state = self.polish.read(py)?;
        match &state.latest {
            Some(latest) if self.robust => {
                latest.robust_standard_errors().map(Some).map_err(crate::error::plain)
            }
            _ => Ok(None),
        }
    }

    /// The model file, as bytes.
    fn model<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.polish.read(py)?;
        let model: Model = self.merged.model.clone();
        let model = match (&state.polishing, &state.latest) {
            (Some(polishing), Some(latest)) => polishing.apply(model, latest).map_err(translate)?,
            _ => model,
        };
        Ok(PyBytes::new(py, &model.to_bytes().map_err(translate)?))
    }
}
