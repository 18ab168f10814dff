//! Further passes over the rows of an estimator, to the maximum of their likelihood.

use crate::any::ByFamily;
use crate::class_file::model as class_model;
use crate::class_learner::ClassLearner;
use crate::error::{Rows as RowsOf, input, model as translate, plain};
use crate::file::{Provenance, model};
use crate::kinds::wrap;
use crate::learner::{Learner, Numbers};
use crate::rows::{Features, flat};
use crate::schema::Schema;
use crate::table;
use kalmia::file::Metadata;
use kalmia::sums::Polished;
use kalmia_model::{ClassModel, Model, ModelOf, PassSums, PolishLearner, Polishing};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::borrow::Cow;
use std::sync::Arc;

/// The rows of a call.
struct Call<'a, 'py> {
    x: &'a Bound<'py, PyAny>,
    y: Cow<'a, [f64]>,
    weight: Option<Cow<'a, [f64]>>,
    offset: Option<Cow<'a, [f64]>>,
    intercept: bool,
}

impl<'py> Call<'_, 'py> {
    /// Adds all rows to the sums.
    fn add(&self, py: Python<'py>, sums: &mut PassSums) -> PyResult<()> {
        let mut start = 0;
        for table in table::blocks(py, self.x)? {
            let table = table?;
            let features = Features { x: table.as_array(), intercept: self.intercept };
            let dim = features.dim();
            features.each_block_in(None, |first, n, x| {
                py.check_signals()?;
                let places = start + first..start + first + n;
                let refuse = |error| {
                    let intercept = self.intercept;
                    RowsOf { first: places.start, intercept, order: None }.refuse(error)
                };
                let part =
                    |values: &'_ Cow<'_, [f64]>| values.get(places.clone()).map(<[f64]>::to_vec);
                let y = part(&self.y).ok_or_else(|| input("X has more rows than y"))?;
                let weight = self.weight.as_ref().and_then(part);
                let offset = self.offset.as_ref().and_then(part);
                py.detach(|| {
                    let mut rows = kalmia::Rows::new(dim, x, &y)?;
                    if let Some(weight) = &weight {
                        rows = rows.with_weights(weight)?;
                    }
                    if let Some(offset) = &offset {
                        rows = rows.with_offsets(offset)?;
                    }
                    sums.add(rows)
                })
                .map_err(refuse)
            })?;
            start += features.x.nrows();
        }
        match start == self.y.len() {
            true => Ok(()),
            false => Err(input(format!("X has {start} rows, but y has {}", self.y.len()))),
        }
    }
}

/// A learner with the coefficients that maximize the likelihood of rows, and what the passes over
/// them found.
///
/// Parameters
/// ----------
/// learner : Learner
///     Of an estimator; it stays as it is.
/// schema : Schema
///     Its columns.
/// X : matrix
/// y : array_like
/// weight, offset : array_like, optional
/// robust : bool
///     Whether standard errors that hold for any variance of the target are found too.
/// prior : {"fitted", "flat"}
///     What is taken as known before the rows.
/// passes : int, optional
///     Passes at most; by default until nothing moves.
///
/// Returns
/// -------
/// learner : Learner
/// report : dict
///
/// Examples
/// --------
/// >>> import kalmia
/// >>> from kalmia._files import schema_of
/// >>> from kalmia._kalmia import polish_learner
/// >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.5, 6.5]
/// >>> model = kalmia.LinearRegression().fit(X, y)
/// >>> learner = model.learners_[0]
/// >>> polished, report = polish_learner(learner, schema_of(model), X, y, prior="flat")
/// >>> polished.theta.round(9)  # least squares
/// array([1.15, 1.9 ])
#[pyfunction]
#[pyo3(signature = (learner, schema, X, y, weight=None, offset=None, *, robust=false,
                    prior="fitted", passes=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
#[expect(non_snake_case, reason = "the name that scikit-learn gives a matrix")]
pub fn polish_learner<'py>(
    py: Python<'py>,
    learner: PyRef<'py, Learner>,
    schema: &Schema,
    X: &Bound<'py, PyAny>,
    y: Numbers<'py>,
    weight: Option<Numbers<'py>>,
    offset: Option<Numbers<'py>>,
    robust: bool,
    prior: &str,
    passes: Option<u64>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let before = model(py, &learner, &schema.0, &Default::default())?;
    let rows = Rows { X, y: &y, weight: weight.as_ref(), offset: offset.as_ref() };
    let options = Options { prior, robust, passes, intercept: learner.intercept };
    let Outcome { model, polished, passes } = polish_model(py, before, &rows, &options)?;
    let Model { learner: inner, metrics, settings, weights, history, .. } = model;
    let mut made = Learner::new(ByFamily::BuiltIn(inner), learner.intercept, Some(metrics));
    made.inner().weights = weights;
    made.provenance = Some(Arc::new(Provenance { settings, history }));
    let errors = robust.then(|| polished.robust_standard_errors()).transpose().map_err(plain)?;
    let report = report(py, &polished, passes)?;
    report.set_item("robust_std_err", errors)?;
    Ok((wrap(py, made)?, report))
}

/// As :func:`polish_learner`, for a learner of several classes.
///
/// Parameters
/// ----------
/// learner : ClassLearner
///     Of an estimator; it stays as it is.
/// schema : Schema
///     Its columns and classes.
/// X : matrix
/// y : array_like
///     The codes of the classes.
/// codes : list of int
///     The codes in the order of the labels; robust standard errors are against the first.
/// weight : array_like, optional
/// robust, prior, passes
///     As in :func:`polish_learner`.
///
/// Returns
/// -------
/// learner : ClassLearner
/// report : dict
#[pyfunction]
#[pyo3(signature = (learner, schema, X, y, codes, weight=None, *, robust=false, prior="fitted",
                    passes=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
#[expect(non_snake_case, reason = "the name that scikit-learn gives a matrix")]
pub fn polish_classes<'py>(
    py: Python<'py>,
    learner: PyRef<'py, ClassLearner>,
    schema: &Schema,
    X: &Bound<'py, PyAny>,
    y: Numbers<'py>,
    codes: Vec<usize>,
    weight: Option<Numbers<'py>>,
    robust: bool,
    prior: &str,
    passes: Option<u64>,
) -> PyResult<(ClassLearner, Bound<'py, PyDict>)> {
    let before = class_model(py, &learner, &schema.0, Metadata::default())?;
    let rows = Rows { X, y: &y, weight: weight.as_ref(), offset: None };
    let options = Options { prior, robust, passes, intercept: learner.intercept };
    let Outcome { model, polished, passes } = polish_model(py, before, &rows, &options)?;
    let errors = robust.then(|| class_errors(&model, &codes, &polished)).transpose()?;
    let report = report(py, &polished, passes)?;
    report.set_item("robust_std_err", errors)?;
    Ok((ClassLearner::of_model(model, learner.intercept), report))
}

/// Robust standard errors of the classes in the order of their codes, zeros for the first.
pub fn class_errors(
    model: &ClassModel,
    codes: &[usize],
    polished: &Polished,
) -> PyResult<Vec<Vec<f64>>> {
    let found = model.robust_errors_in(codes, polished).map_err(translate)?;
    let first = vec![0.0; model.learner.dim()];
    Ok(std::iter::once(first).chain(found.into_iter().map(|one| one.std_errors)).collect())
}

/// The rows as Python gives them.
#[expect(non_snake_case, reason = "the name that scikit-learn gives a matrix")]
struct Rows<'a, 'py> {
    X: &'a Bound<'py, PyAny>,
    y: &'a Numbers<'py>,
    weight: Option<&'a Numbers<'py>>,
    offset: Option<&'a Numbers<'py>>,
}

/// How to polish.
struct Options<'a> {
    prior: &'a str,
    robust: bool,
    passes: Option<u64>,
    intercept: bool,
}

/// A model after a polish.
struct Outcome<L: PolishLearner> {
    model: ModelOf<L>,
    polished: Polished,
    passes: usize,
}

/// Passes over the rows until nothing moves, or until there were enough.
fn polish_model<'py, L: PolishLearner>(
    py: Python<'py>,
    before: ModelOf<L>,
    rows: &Rows<'_, 'py>,
    options: &Options<'_>,
) -> PyResult<Outcome<L>> {
    let prior = options.prior.parse().map_err(translate)?;
    let mut polishing = Polishing::new(&before, prior, options.robust).map_err(translate)?;
    let weight = rows.weight.map(|weight| {
        let given = flat(weight.as_array());
        Cow::Owned(polishing.pass().scaled_weights(&given).into_owned())
    });
    let call = Call {
        x: rows.X,
        y: flat(rows.y.as_array()),
        weight,
        offset: rows.offset.map(|offset| flat(offset.as_array())),
        intercept: options.intercept,
    };
    let polished = loop {
        let mut sums = polishing.pass().sums().map_err(translate)?;
        call.add(py, &mut sums)?;
        if let Some(polished) = py.detach(|| polishing.step(&sums)).map_err(translate)? {
            break *polished;
        }
        let latest = polishing.latest().cloned();
        if let (Some(polished), Some(most)) = (latest, options.passes)
            && polishing.passes() as u64 >= most
        {
            break polished;
        }
    };
    let passes = polishing.passes();
    let model = polishing.apply(before, &polished).map_err(translate)?;
    Ok(Outcome { model, polished, passes })
}

fn report<'py>(
    py: Python<'py>,
    polished: &Polished,
    passes: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("passes", passes)?;
    dict.set_item("rms", polished.moved().rms)?;
    dict.set_item("max", polished.moved().max)?;
    dict.set_item("deviance", polished.deviance())?;
    dict.set_item("dispersion", polished.dispersion())?;
    Ok(dict)
}
