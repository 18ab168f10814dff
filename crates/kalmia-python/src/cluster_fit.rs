//! The model of all workers, and the sums of its polish.

use crate::cluster::{Template, each_block, name_after, nothing};
use crate::error::{input, model as translate};
use crate::polish::class_errors;
use crate::shared::Shared;
use crate::table_model::rows;
use kalmia::sums::Polished;
use kalmia_data::{Encoder, Mode};
use kalmia_model::{
    AnyMerged, AnyPart, PassSums, PolishPrior, Polishing, sums_from_bytes, sums_to_bytes,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

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
    sums: PassSums,
}

#[pymethods]
impl SumsPass {
    #[new]
    fn new(request: &[u8], name: String) -> PyResult<Self> {
        let pass = kalmia_model::SumsPass::from_bytes(request).map_err(translate)?;
        let mut encoder = pass.encoder().clone();
        encoder.reset_counts();
        // the engine has given this task one core
        let sums = pass.sums().map_err(translate)?.with_threads(1);
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
    merged: AnyMerged,
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
        self.merged.polishing(self.prior, self.robust).map_err(translate)
    }
}

#[pymethods]
impl Fit {
    #[new]
    #[pyo3(signature = (template, shard, *, robust=false, prior="fitted"))]
    fn new(template: &Template, shard: &[u8], robust: bool, prior: &str) -> PyResult<Self> {
        let part = AnyPart::from_bytes(shard).map_err(translate)?;
        let merged = AnyMerged::new(&template.0, &part).map_err(translate)?;
        let prior = prior.parse().map_err(translate)?;
        Ok(Self { merged, prior, robust, polish: Shared::new(Progress::default()) })
    }

    /// Rows learned.
    #[getter]
    fn rows(&self) -> u64 {
        self.merged.rows()
    }

    /// Partitions with rows.
    #[getter]
    fn shards(&self) -> u64 {
        self.merged.shards()
    }

    /// Whether the merged model is, to rounding, that of one pass over all rows.
    #[getter]
    fn exact(&self) -> bool {
        self.merged.is_exact()
    }

    /// Whether the partitions agree: Cochran's ``q`` with its ``degrees`` and ``p_value``.
    #[getter]
    fn heterogeneity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.merged.heterogeneity();
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

    /// Whether more passes would change nothing that matters; also after five of them, for
    /// quantiles, which cannot be polished, and for too many coefficients of several classes.
    #[getter]
    fn is_close(&self, py: Python<'_>) -> PyResult<bool> {
        if !self.merged.has_polish() {
            return Ok(true);
        }
        Ok(self.polish.read(py)?.polishing.as_ref().is_some_and(Polishing::is_close))
    }

    /// Passes so far.
    #[getter]
    fn passes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.polish.read(py)?.polishing.as_ref().map_or(0, Polishing::passes))
    }

    /// Standard errors that hold for any variance of the target; None unless they were asked for.
    /// Of several classes :meth:`robust_class_errors` has them.
    #[getter]
    fn robust_standard_errors(&self, py: Python<'_>) -> PyResult<Option<Vec<f64>>> {
        let state = self.polish.read(py)?;
        match (&state.latest, &self.merged) {
            (Some(latest), AnyMerged::Numbers(_)) if self.robust => {
                latest.robust_standard_errors().map(Some).map_err(crate::error::plain)
            }
            _ => Ok(None),
        }
    }

    /// The same for several classes in the order of their codes given, one list per class, zeros
    /// for the first; None unless they were asked for.
    fn robust_class_errors(
        &self,
        py: Python<'_>,
        codes: Vec<usize>,
    ) -> PyResult<Option<Vec<Vec<f64>>>> {
        let state = self.polish.read(py)?;
        match (&state.latest, &self.merged) {
            (Some(latest), AnyMerged::Classes(merged)) if self.robust => {
                class_errors(&merged.model, &codes, latest).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The model file, as bytes.
    fn model<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.polish.read(py)?;
        let model = match (&state.polishing, &state.latest) {
            (Some(polishing), Some(latest)) => {
                self.merged.polished(polishing, latest).map_err(translate)?
            }
            _ => self.merged.model(),
        };
        Ok(PyBytes::new(py, &model.to_bytes().map_err(translate)?))
    }
}
