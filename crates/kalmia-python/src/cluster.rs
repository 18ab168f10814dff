//! One fit on several workers: what they start from, and what each learns.

use crate::declaration::Declaration;
use crate::error::{data, input, model as translate};
use crate::shared::Shared;
use crate::table_model::rows;
use kalmia_data::{Block, Counts, Encoder, Input, Mode, Reader, SourceOptions};
use kalmia_model::{AnyPart, AnyShard, AnyTemplate};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

/// What all workers start from: columns, kinds, levels, classes, family, method and reference
/// coefficients.
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
pub struct Template(pub AnyTemplate);

#[pymethods]
impl Template {
    #[new]
    fn new(sample: &Bound<'_, PyAny>, declaration: &Bound<'_, PyAny>) -> PyResult<Self> {
        let declaration = Declaration::new(declaration)?;
        let (rows, source) = rows(sample, "sample")?;
        let model = declaration.sample_model(rows, source)?;
        AnyTemplate::new(model).map(Self).map_err(translate)
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
        AnyTemplate::from_bytes(bytes).map(Self).map_err(translate)
    }
}

/// Calls `take` with each block of rows that `encoder` gives access to.
pub fn each_block<T>(
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
pub fn name_after(name: &str, rows: u64) -> String {
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
    state: Shared<Option<AnyShard>>,
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
        let shard = template.0.shard().map_err(translate)?;
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
            each_block(rows, Mode::Learn, &mut shard, AnyShard::encoder_mut, AnyShard::learn)
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

/// One part for several, whose levels and classes are matched by name.
///
/// Parameters
/// ----------
/// parts : list of bytes
///     From :meth:`Shard.to_bytes`, or merged.
#[pyfunction]
pub fn merge_shards<'py>(py: Python<'py>, parts: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
    let merged = py.detach(|| {
        let (first, rest) = parts.split_first().ok_or_else(nothing)?;
        let mut whole = AnyPart::from_bytes(first).map_err(translate)?;
        for part in rest {
            let part = AnyPart::from_bytes(part).map_err(translate)?;
            whole.merge(&part).map_err(translate)?;
        }
        whole.to_bytes().map_err(translate)
    })?;
    Ok(PyBytes::new(py, &merged))
}

pub fn nothing() -> PyErr {
    input("there is nothing to merge: give at least one part")
}
