//! A learner from the settings of an estimator.

use crate::engine::Engine;
use crate::error::{input, plain};
use crate::kinds::{auto, drift, wrap};
use crate::learner::Learner;
use kalmia::evaluate::Metrics;
use kalmia::rule::AnyRule;
use kalmia::{
    AnyFamily, AnyLearner, AveragedSgd, DriftMode, Filter, OnlineNewtonSettings, OnlineNewtonStep,
    Prior, Truncated,
};
use pyo3::prelude::*;

/// The settings that only some methods take.
struct Settings {
    prior_variance: Option<f64>,
    scale: f64,
    beta: f64,
    radius: Option<f64>,
    exp_concavity: Option<f64>,
    gradient_bound: Option<f64>,
    horizon: Option<u64>,
    step: Option<f64>,
    drift: DriftMode,
}

/// A learner that keeps its progressive loss, by the name of its method; the estimators are built
/// on it.
///
/// Parameters
/// ----------
/// method : str
///     ``"auto"``, ``"ekf"``, ``"truncated"``, ``"implicit"``, ``"moment"``, ``"ons"`` or
/// ``"asgd"``. family : str
///     As for :class:`Filter`.
/// features : int
///     Number of features, without the constant.
/// intercept : bool
///     Whether the learner puts a constant before the features.
/// prior_variance : float, optional
///     Variance of every coefficient before the first row, for the filters; 1 by default.
/// scale, beta : float
///     Of ``"truncated"``.
/// radius, exp_concavity, gradient_bound : float, optional
///     Of ``"ons"``; for labels the paper's constants stand in for the last two.
/// horizon, step : optional
///     Of ``"asgd"``: the number of rows, and the step, by default 1 over the root of the horizon.
/// drift : {"detect", "off", "adapt"}
///     Of ``"auto"``: whether the coefficients may move; the others are static.
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
#[pyo3(signature = (method, family, features, *, intercept=true, prior_variance=None, scale=1.0, beta=0.49, radius=None,
                    exp_concavity=None, gradient_bound=None, horizon=None, step=None, drift="detect"))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub fn model<'py>(
    py: Python<'py>,
    method: &str,
    family: &str,
    features: usize,
    intercept: bool,
    prior_variance: Option<f64>,
    scale: f64,
    beta: f64,
    radius: Option<f64>,
    exp_concavity: Option<f64>,
    gradient_bound: Option<f64>,
    horizon: Option<u64>,
    step: Option<f64>,
    drift: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let family: AnyFamily = family.parse().map_err(plain)?;
    let dim = features + usize::from(intercept);
    let settings = Settings {
        prior_variance,
        scale,
        beta,
        radius,
        exp_concavity,
        gradient_bound,
        horizon,
        step,
        drift: self::drift(drift)?,
    };
    let learner = build(method, family, dim, intercept, &settings)?;
    let metrics = Some(Metrics::new(family).map_err(plain)?);
    wrap(py, Learner::new(Engine::Plain(learner), intercept, metrics))
}

fn build(
    method: &str,
    family: AnyFamily,
    dim: usize,
    intercept: bool,
    settings: &Settings,
) -> PyResult<AnyLearner> {
    if settings.drift == DriftMode::Adapt && method != "auto" {
        return Err(input(format!("drift=\"adapt\" needs method=\"auto\", not {method:?}")));
    }
    if settings.prior_variance.is_some() && ["auto", "ons", "asgd"].contains(&method) {
        let message = "takes no prior_variance; the filters ekf, truncated, implicit and moment do";
        return Err(input(format!("method {method:?} {message}")));
    }
    match method {
        "auto" => Ok(AnyLearner::Auto(auto(family, dim, intercept, settings.drift)?)),
        "ons" => newton(family, dim, settings),
        "asgd" => {
            let horizon = settings.horizon.ok_or_else(|| {
                input("method \"asgd\" needs the horizon, the number of rows to come")
            })?;
            let sgd = match settings.step {
                Some(step) => AveragedSgd::new(family, dim, horizon, step),
                None => AveragedSgd::plain(family, dim, horizon),
            };
            sgd.map(AnyLearner::Sgd).map_err(plain)
        }
        name => {
            let rule = match name.parse() {
                Ok(AnyRule::Truncated(_)) => AnyRule::Truncated(
                    Truncated::new(settings.scale, settings.beta).map_err(plain)?,
                ),
                Ok(rule) => rule,
                Err(_) => {
                    let known = "auto, ekf, truncated, implicit, moment, ons and asgd";
                    return Err(input(format!(
                        "no method is named {name:?}; the methods are {known}"
                    )));
                }
            };
            let prior =
                Prior::isotropic(dim, settings.prior_variance.unwrap_or(1.0)).map_err(plain)?;
            Filter::new(family, rule, prior).map(AnyLearner::Filter).map_err(plain)
        }
    }
}

fn newton(family: AnyFamily, dim: usize, settings: &Settings) -> PyResult<AnyLearner> {
    let radius =
        settings.radius.ok_or_else(|| input("method \"ons\" needs the radius of its ball"))?;
    let mut constants = match (settings.exp_concavity, family) {
        (Some(alpha), _) => OnlineNewtonSettings::new(radius, alpha).map_err(plain)?,
        (None, AnyFamily::Bernoulli(_)) => {
            OnlineNewtonSettings::logistic(dim, radius).map_err(plain)?
        }
        (None, _) => return Err(input("method \"ons\" needs exp_concavity for this family")),
    };
    if let Some(bound) = settings.gradient_bound {
        constants = constants.with_gradient_bound(bound).map_err(plain)?;
    }
    OnlineNewtonStep::new(family, dim, constants).map(AnyLearner::Newton).map_err(plain)
}
