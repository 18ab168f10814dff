//! Further passes over the rows of an estimator, to the maximum of their likelihood.

use crate::any::ByFamily;
use crate::error::{Rows as RowsOf, input, model as translate, plain};
use crate::file::{Provenance, model};
use crate::kinds::wrap;
use crate::learner::{Learner, Numbers};
use crate::rows::{Features, flat};
use crate::schema::Schema;
use crate::table;
use kalmia::sums::{Polished, Sums};
use kalmia::{AnyFamily, Rows};
use kalmia_model::{Model, Polishing};
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
    fn add(&self, py: Python<'py>, sums: &mut Sums<AnyFamily>) -> PyResult<()> {
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
                    let mut rows = Rows::new(dim, x, &y)?;
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
    let prior = prior.parse().map_err(translate)?;
    let mut polishing = Polishing::new(&before, prior, robust).map_err(translate)?;
    let weight = weight.as_ref().map(|weight| {
        let given = flat(weight.as_array());
        Cow::Owned(polishing.pass().scaled_weights(&given).into_owned())
    });
    let call = Call {
        x: X,
        y: flat(y.as_array()),
        weight,
        offset: offset.as_ref().map(|offset| flat(offset.as_array())),
        intercept: learner.intercept,
    };
    let polished = loop {
        let mut sums = polishing.pass().sums().map_err(translate)?;
        call.add(py, &mut sums)?;
        if let Some(polished) = polishing.step(&sums).map_err(translate)? {
            break *polished;
        }
        let latest = polishing.latest().cloned();
        if let (Some(polished), Some(most)) = (latest, passes)
            && polishing.passes() as u64 >= most
        {
            break polished;
        }
    };
    let Model { learner: inner, metrics, settings, weights, history, .. } =
        polishing.apply(before, &polished).map_err(translate)?;
    let mut made = Learner::new(ByFamily::BuiltIn(inner), learner.intercept, Some(metrics));
    made.inner().weights = weights;
    made.provenance = Some(Arc::new(Provenance { settings, history }));
    let report = report(py, &polished, polishing.passes(), robust)?;
    Ok((wrap(py, made)?, report))
}

fn report<'py>(
    py: Python<'py>,
    polished: &Polished,
    passes: usize,
    robust: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("passes", passes)?;
    dict.set_item("rms", polished.moved().rms)?;
    dict.set_item("max", polished.moved().max)?;
    dict.set_item("deviance", polished.deviance())?;
    dict.set_item("dispersion", polished.dispersion())?;
    let errors = match robust {
        true => Some(polished.robust_standard_errors().map_err(plain)?),
        false => None,
    };
    dict.set_item("robust_std_err", errors)?;
    Ok(dict)
}
