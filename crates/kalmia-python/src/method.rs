//! Methods by their names, with parameters by Python's names.

use crate::any::ByFamily;
use crate::arguments::ScaleArgument;
use crate::error::{input, model as refuse};
use crate::file::Provenance;
use crate::kinds::wrap;
use crate::learner::Learner;
use kalmia::AnyFamily;
use kalmia::evaluate::Metrics;
use kalmia_model::{
    Error, FamilyChoice, History, Method, MethodName, Parameter, Parameters, Settings,
    SourceFormat, Spread, Start, number_text, with_conformal,
};
use numpy::{AllowTypeChange, PyArrayLike1, PyArrayLike2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// The estimators' name of a parameter.
fn name(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Prior => "prior_variance",
        // a keyword of Python
        Parameter::Lambda => "lam",
        other => other.name(),
    }
}

/// A learner that keeps its progressive loss, by the name of its method. The estimators use it.
///
/// Parameters that are None have the method's default; see :func:`method_defaults`. A parameter
/// that the method does not take is refused.
///
/// Parameters
/// ----------
/// method : str
///     ``"auto"``, ``"wide"``, ``"ekf"``, ``"truncated"``, ``"implicit"``, ``"moment"``,
///     ``"ons"`` or ``"asgd"``.
/// family : str
///     As for :class:`Filter`.
/// features : int
///     Number of features, without the constant.
/// intercept : bool
///     Whether the learner puts a constant before the features.
/// rows : int, optional
///     Number of rows to come, if it is known: the horizon of ``"asgd"`` unless that is given.
/// drift : {"detect", "off", "adapt"}, optional
///     Whether the coefficients may move over time (``"auto"``).
/// outliers : {"keep", "downweight"}, optional
///     What a target counts that is far from its prediction (``"auto"``, ``"wide"`` and the
///     filters).
/// prior_variance : float or array_like, optional
///     Variance of every coefficient before the first row (the filters), a variance for each, or
///     their covariance matrix, the constant first. The last two are for ``"ons"`` too.
/// prior_mean : array_like, optional
///     The coefficients before the first row, the constant first (the filters and ``"ons"``).
/// scale, beta : float, optional
///     The threshold ``scale * t ** -beta`` under the curvature (``"truncated"``); the scale
///     ``"bercu"`` is 1e-10.
/// radius, exp_concavity, gradient_bound, lam, multiplier : float, optional
///     The constants of ``"ons"``.
/// diameter : bool
///     Whether D in the gamma of ``"ons"`` is the ball's diameter.
/// horizon, step, oracle : optional
///     Number of rows to come, step size, or the norm that gives the oracle step (``"asgd"``).
/// averaged : bool
///     Whether the model is the mean of the iterates.
/// certificate : bool
///     Whether the terms of Lemma 6 are summed (the filters).
/// conformal : bool
///     Whether conformal intervals are learned (not for labels and proportions).
/// weights : {"frequency", "precision"}
///     What weights mean: rows, or precision relative to their mean.
/// shuffle : int, optional
///     The seed of the order in which rows are learned, for the record.
/// learners : int
///     How many such learners there will be, one per class; memory must suffice for all.
/// numbers : int, optional
///     Makes a learner of sparse rows (``"auto"`` and ``"wide"``): how many of its leading
///     features, without the constant, are numbers that every row has. `features` is not used.
/// metrics : bool
///     Whether the learner keeps its progressive loss. One of several quantiles does not: their
///     predictions are judged together.
///
/// Returns
/// -------
/// Learner
///
/// Examples
/// --------
/// >>> from kalmia._kalmia import model
/// >>> learner = model("auto", "poisson", 2)
/// >>> learner.dim, learner.method
/// (3, 'auto')
#[pyfunction]
#[pyo3(signature = (method, family, features, *, intercept=true, rows=None, drift=None,
                    outliers=None, prior_variance=None, prior_mean=None, scale=None, beta=None,
                    radius=None, exp_concavity=None, gradient_bound=None, lam=None, multiplier=None,
                    diameter=false, horizon=None, step=None, oracle=None, averaged=false,
                    certificate=false, conformal=false, weights="frequency", shuffle=None,
                    learners=1, numbers=None, metrics=true))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub fn model<'py>(
    py: Python<'py>,
    method: &str,
    family: &str,
    features: usize,
    intercept: bool,
    rows: Option<u64>,
    drift: Option<&str>,
    outliers: Option<&str>,
    prior_variance: Option<&Bound<'py, PyAny>>,
    prior_mean: Option<&Bound<'py, PyAny>>,
    scale: Option<ScaleArgument>,
    beta: Option<f64>,
    radius: Option<f64>,
    exp_concavity: Option<f64>,
    gradient_bound: Option<f64>,
    lam: Option<f64>,
    multiplier: Option<f64>,
    diameter: bool,
    horizon: Option<u64>,
    step: Option<f64>,
    oracle: Option<f64>,
    averaged: bool,
    certificate: bool,
    conformal: bool,
    weights: &str,
    shuffle: Option<u64>,
    learners: usize,
    numbers: Option<usize>,
    metrics: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let variance = prior_variance.and_then(|given| given.extract::<f64>().ok());
    let start = start(prior_mean, prior_variance.filter(|_| variance.is_none()))?;
    let parameters = Parameters {
        drift: drift.map(crate::arguments::drift).transpose()?,
        outliers: outliers.map(crate::arguments::outliers).transpose()?,
        prior: variance,
        scale: scale.map(ScaleArgument::value).transpose()?,
        beta,
        radius,
        exp_concavity,
        gradient_bound,
        lambda: lam,
        multiplier,
        diameter,
        horizon,
        step,
        oracle,
        averaged,
    };
    let name: MethodName = method.parse().map_err(translate)?;
    if let Some(start) = &start {
        start.check(name, &parameters).map_err(translate)?;
    }
    let method = Method::new(name, &parameters);
    let mut method = method.map_err(translate)?;
    if let Some(rows) = rows {
        method = method.with_horizon(rows);
    }
    let choice: FamilyChoice = family.parse().map_err(refuse)?;
    let settings = Settings {
        family: choice,
        method,
        start: start.as_ref().map(Start::digest),
        certificate,
        conformal,
        weight_kind: weights.parse().map_err(refuse)?,
        shuffle,
        source: SourceFormat::default(),
    };
    settings.check().map_err(translate)?;
    let family = family.parse().map_err(crate::error::plain)?;
    let dim = features + usize::from(intercept);
    if numbers.is_none() {
        method.check_memory(family, dim, intercept, learners).map_err(translate)?;
    }
    let learner = match (&start, numbers) {
        (None, Some(numbers)) => {
            method.build_wide(family, numbers + usize::from(intercept), intercept)
        }
        (None, None) => method.build(family, dim, intercept),
        // in the order of the coefficients, which have no names here
        (Some(start), _) => method
            .prior(dim)
            .and_then(|default| start.prior(&vec![""; dim], default))
            .and_then(|prior| method.build_from(family, prior)),
    };
    let learner = learner.map_err(|error| match error {
        Error::Learner(kalmia::Error::NotPositiveDefinite { .. }) if start.is_some() => input(
            "prior_variance is not positive definite: give variances above 0, or a symmetric \
             matrix with positive eigenvalues",
        ),
        other => translate(other),
    })?;
    let metrics = match metrics {
        true => Some(new_metrics(family, certificate, conformal)?),
        false => None,
    };
    let mut learner = Learner::new(ByFamily::BuiltIn(learner), intercept, metrics);
    learner.provenance = Some(Arc::new(Provenance { settings, history: History::default() }));
    wrap(py, learner)
}

/// Metrics that have seen no row.
fn new_metrics(family: AnyFamily, certificate: bool, conformal: bool) -> PyResult<Metrics> {
    let mut metrics = Metrics::new(family).map_err(crate::error::plain)?;
    if certificate {
        metrics = metrics.with_certificate();
    }
    match conformal {
        true => with_conformal(metrics).map_err(translate),
        false => Ok(metrics),
    }
}

/// A mean and a covariance that are vectors or matrices; `None` if neither is given.
fn start(
    mean: Option<&Bound<'_, PyAny>>,
    covariance: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Start>> {
    if mean.is_none() && covariance.is_none() {
        return Ok(None);
    }
    let vector = |given: &Bound<'_, PyAny>| -> Option<Vec<f64>> {
        let values: PyArrayLike1<'_, f64, AllowTypeChange> = given.extract().ok()?;
        Some(values.as_array().iter().copied().collect())
    };
    let mean = mean
        .map(|given| vector(given).ok_or_else(|| input("prior_mean must be a vector of numbers")))
        .transpose()?;
    let covariance = match covariance {
        None => None,
        Some(given) => Some(match vector(given) {
            Some(variances) => Spread::Variances(variances),
            None => {
                let matrix: PyArrayLike2<'_, f64, AllowTypeChange> =
                    given.extract().map_err(|_| {
                        input("prior_variance must be a number, a vector or a matrix of numbers")
                    })?;
                Spread::Matrix(matrix.as_array().rows().into_iter().map(|r| r.to_vec()).collect())
            }
        }),
    };
    Ok(Some(Start { coefficients: Vec::new(), mean, covariance }))
}

/// The parameters that a method takes, with their defaults.
///
/// None stands for a default that depends on the rows or the features.
///
/// Parameters
/// ----------
/// method : str
///     As for :func:`model`.
///
/// Returns
/// -------
/// dict
///
/// Examples
/// --------
/// >>> from kalmia._kalmia import method_defaults
/// >>> method_defaults("truncated")
/// {'prior_variance': 1.0, 'scale': 1.0, 'beta': 0.49, 'outliers': None, 'averaged': False}
#[pyfunction]
pub fn method_defaults<'py>(py: Python<'py>, method: &str) -> PyResult<Bound<'py, PyDict>> {
    let method: Method = method.parse().map_err(translate)?;
    by_name(py, &method)
}

/// Every parameter of a method with its value, by Python's names.
pub fn by_name<'py>(py: Python<'py>, method: &Method) -> PyResult<Bound<'py, PyDict>> {
    let values = method.parameters();
    let dict = PyDict::new(py);
    for &parameter in method.name().takes() {
        let key = name(parameter);
        match parameter {
            Parameter::Outliers => {
                dict.set_item(key, values.outliers.map(|outliers| outliers.name()))?;
            }
            Parameter::Drift => dict.set_item(key, values.drift.map(|drift| drift.name()))?,
            Parameter::Prior => dict.set_item(key, values.prior)?,
            Parameter::Scale => dict.set_item(key, values.scale)?,
            Parameter::Beta => dict.set_item(key, values.beta)?,
            Parameter::Radius => dict.set_item(key, values.radius)?,
            Parameter::ExpConcavity => dict.set_item(key, values.exp_concavity)?,
            Parameter::GradientBound => dict.set_item(key, values.gradient_bound)?,
            Parameter::Lambda => dict.set_item(key, values.lambda)?,
            Parameter::Multiplier => dict.set_item(key, values.multiplier)?,
            Parameter::Diameter => dict.set_item(key, values.diameter)?,
            Parameter::Horizon => dict.set_item(key, values.horizon)?,
            Parameter::Step => dict.set_item(key, values.step)?,
            Parameter::Oracle => dict.set_item(key, values.oracle)?,
            Parameter::Averaged => dict.set_item(key, values.averaged)?,
        }
    }
    Ok(dict)
}

/// The default of each parameter in words, by Python's names.
#[pyfunction]
pub fn default_texts(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for parameter in Parameter::ALL {
        dict.set_item(name(parameter), parameter.default_text())?;
    }
    Ok(dict)
}

/// An error about a method, with Python's names.
pub fn translate(error: Error) -> PyErr {
    match error {
        Error::ParameterNotTaken { parameter, method } => {
            let takes: Vec<_> = method.takes().iter().map(|&taken| name(taken)).collect();
            let others: Vec<_> = MethodName::ALL
                .into_iter()
                .filter(|other| other.takes().contains(&parameter))
                .map(MethodName::name)
                .collect();
            input(format!(
                "method '{method}' takes no {}; it takes {}, and {} is for {}",
                name(parameter),
                takes.join(", "),
                name(parameter),
                others.join(", "),
            ))
        }
        Error::Conflict { method, one, other, what } => input(format!(
            "method '{method}' got both {} and {}: each decides {what}, so give one",
            name(one),
            name(other)
        )),
        Error::Start { problem } => {
            input(format!("the prior {}", problem.replace("lambda", name(Parameter::Lambda))))
        }
        Error::StartNotTaken { method } => input(format!(
            "method '{method}' takes no prior_mean and no matrix of prior_variance; 'ekf', \
             'truncated', 'implicit', 'moment' and 'ons' take them"
        )),
        Error::NoCertificate { method } => input(format!(
            "method '{method}' has no certificate; 'ekf', 'truncated', 'implicit' and 'moment' \
             have one"
        )),
        Error::NoConformal { family } => input(format!(
            "conformal is True, but family '{family}' has no conformal intervals: labels and \
             proportions have none; leave it False"
        )),
        Error::NeedsHorizon => input(
            "method 'asgd' needs horizon, the number of rows to come; only `fit` can count them",
        ),
        // the only matrix of a method is its prior covariance
        Error::Learner(kalmia::Error::NotPositiveDefinite { value, .. }) => {
            let value = number_text(value);
            input(format!("prior_variance is {value}: it must be a finite number above 0"))
        }
        Error::Learner(kalmia::Error::Parameter { name: parameter, value, expected }) => {
            let found = Parameter::ALL.into_iter().find(|known| known.name() == parameter);
            let parameter = found.map_or(parameter, name);
            input(format!("{parameter} is {}: it {expected}", number_text(value)))
        }
        other => refuse(other),
    }
}
