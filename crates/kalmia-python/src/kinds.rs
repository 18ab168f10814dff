//! The classes of learners, with their parameters named as in the paper.

use crate::any::{AnyModel, ByFamily, either};
use crate::arguments::{self, FamilyArgument, NameArgument, no_family, prior};
use crate::error::{input, plain};
use crate::learner::Learner;
use kalmia::learner::Drift;
use kalmia::rule::AnyRule;
use kalmia::{AnyFamily, AnyLearner, DriftMode, OnlineNewtonSettings, Prior};
use kalmia_model::FamilyChoice;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The rules of a filter, for messages.
const RULES: &str = "\"ekf\", \"truncated\", \"implicit\" and \"moment\"";
/// The drifts of the default learner, for messages.
const DRIFTS: &str = "\"off\", \"adapt\" and \"detect\"";

/// A belief N(theta, P) that learns rows by the Kalman recursion.
///
/// Parameters
/// ----------
/// dim : int
///     Number of features. A constant, if wanted, is one of them.
/// family : str or Family
///     ``"gaussian"``, ``"bernoulli"``, ``"binomial"``, ``"poisson"``, ``"gamma"``,
///     ``"negative-binomial"``, ``"quantile"`` or ``"student"``. A parameter follows a colon: the
///     noise variance in ``"gaussian:0.5"``, the trials in ``"binomial:10"``, the dispersion in
///     ``"gamma:0.5"`` and ``"negative-binomial:0.5"``, the level in ``"quantile:0.9"``, the
///     degrees of freedom in ``"student:4"``.
/// rule : str
///     ``"ekf"``, ``"truncated"``, ``"implicit"`` or ``"moment"``.
/// theta : array_like of shape (dim,), optional
///     Prior mean; 0 by default.
/// covariance : float or array_like, optional
///     Prior variance, variances or covariance matrix; 1 by default.
/// **rule_parameters
///     ``scale`` and ``beta`` of the rule ``"truncated"``. Every rule takes ``forget`` (a factor
///     below 1) or ``walk`` (a variance added to each coefficient before each row).
///
/// Examples
/// --------
/// >>> import kalmia
/// >>> filter = kalmia.Filter(2, "bernoulli", "moment", covariance=100.0)
/// >>> filter.learn_many([[1.0, 0.3], [1.0, -0.8], [1.0, 1.1]], [1, 0, 1]).shape
/// (3,)
/// >>> filter.count
/// 3
/// >>> filter.predict([1.0, 0.5]).mean > 0.5
/// True
#[pyclass(extends = Learner, frozen, module = "kalmia")]
pub struct Filter;

#[pymethods]
impl Filter {
    #[new]
    #[pyo3(
        signature = (dim, family=FamilyArgument::Name("bernoulli".into()),
                     rule=NameArgument::Name("ekf".into()), theta=None, covariance=None,
                     **rule_parameters),
        text_signature = "(dim, family='bernoulli', rule='ekf', theta=None, covariance=None, \
                          **rule_parameters)"
    )]
    fn new(
        dim: usize,
        family: FamilyArgument<'_>,
        rule: NameArgument<'_>,
        theta: Option<&Bound<'_, PyAny>>,
        covariance: Option<&Bound<'_, PyAny>>,
        rule_parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let rule = rule.text("rule", RULES)?;
        let (rule, drift) = arguments::rule(rule, dim, rule_parameters)?;
        let prior = prior(dim, theta, covariance)?;
        let learner = match family {
            FamilyArgument::Custom(family) => {
                filter(family.0, rule, prior, drift).map(ByFamily::Custom)
            }
            FamilyArgument::Name(name) => name
                .parse()
                .and_then(|family: AnyFamily| filter(family, rule, prior, drift))
                .map(ByFamily::BuiltIn),
            FamilyArgument::Other(value) => return Err(no_family(&value)),
        };
        Ok(PyClassInitializer::from(Learner::bare(learner.map_err(plain)?)).add_subclass(Self))
    }
}

fn filter<F: kalmia::Family>(
    family: F,
    rule: AnyRule,
    prior: Prior,
    drift: Drift,
) -> kalmia::Result<AnyLearner<F>> {
    let filter = kalmia::Filter::new(family, rule, prior)?;
    filter.with_drift(drift).map(AnyLearner::Filter)
}

/// The online Newton step: second-order descent within a ball.
///
/// Parameters
/// ----------
/// dim : int
///     Number of features.
/// family : str
///     As for :class:`Filter`.
/// radius : float
///     Radius of the ball about 0.
/// exp_concavity : float
///     Exp-concavity constant of the losses over the ball.
/// gradient_bound : float, optional
///     Bound G on the norm of the gradients; ``sqrt(dim)`` by default, which is right for features
///     within [-1, 1] and labels. gamma is ``min(1 / (4 * G * D), exp_concavity) / 2``, D being the
///     radius.
/// covariance : float or array_like, optional
///     The first P; by default (gamma radius)^2.
/// multiplier : float
///     Multiplies the step 1/gamma; Theorem 3 of the paper needs 3.
/// diameter : bool
///     Whether D is the ball's diameter, as in Theorem 3, instead of its radius.
/// gamma : float, optional
///     gamma itself, whatever the constants are.
/// theta : array_like of shape (dim,), optional
///     The first coefficients, inside the ball; 0 by default.
///
/// Examples
/// --------
/// >>> import kalmia
/// >>> newton = kalmia.OnlineNewtonStep(2, "bernoulli", radius=3.0, exp_concavity=0.1)
/// >>> newton.learn([1.0, 2.0], 1)
/// >>> newton.theta.shape
/// (2,)
#[pyclass(extends = Learner, frozen, module = "kalmia")]
pub struct OnlineNewtonStep;

#[pymethods]
impl OnlineNewtonStep {
    #[new]
    #[pyo3(signature = (dim, family, radius, exp_concavity, gradient_bound=None, covariance=None,
                        multiplier=1.0, *, diameter=false, gamma=None, theta=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
    fn new(
        py: Python<'_>,
        dim: usize,
        family: FamilyArgument<'_>,
        radius: f64,
        exp_concavity: f64,
        gradient_bound: Option<f64>,
        covariance: Option<&Bound<'_, PyAny>>,
        multiplier: f64,
        diameter: bool,
        gamma: Option<f64>,
        theta: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let family = family.built_in()?;
        let mut settings = OnlineNewtonSettings::new(radius, exp_concavity)
            .and_then(|s| s.with_multiplier(multiplier))
            .map_err(plain)?;
        if let Some(bound) = gradient_bound {
            settings = settings.with_gradient_bound(bound).map_err(plain)?;
        }
        if let Some(gamma) = gamma {
            settings = settings.with_gamma(gamma).map_err(plain)?;
        }
        if diameter {
            settings = settings.with_diameter();
        }
        if covariance.is_some() || theta.is_some() {
            let variance = (settings.gamma(dim) * radius).powi(2).into_pyobject(py)?.into_any();
            let start = prior(dim, theta, Some(covariance.unwrap_or(&variance)))?;
            settings = settings.with_start(start).map_err(plain)?;
        }
        let newton = kalmia::OnlineNewtonStep::new(family, dim, settings).map_err(plain)?;
        let learner = Learner::bare(ByFamily::BuiltIn(AnyLearner::Newton(newton)));
        Ok(PyClassInitializer::from(learner).add_subclass(Self))
    }
}

/// Averaged stochastic gradient descent with a fixed horizon.
///
/// Parameters
/// ----------
/// dim : int
///     Number of features.
/// family : str
///     As for :class:`Filter`.
/// horizon : int
///     Number of rows that will be learned.
/// step : float, optional
///     Step size; ``1 / (2 * dim * sqrt(horizon))`` by default.
/// oracle : float, optional
///     Norm of the coefficients to be found: the step is then ``oracle / sqrt(dim * horizon)``.
///
/// Examples
/// --------
/// >>> import kalmia
/// >>> sgd = kalmia.AveragedSGD(1, "gaussian", horizon=2, step=0.5)
/// >>> sgd.learn([1.0], 1.0)
/// >>> sgd.count
/// 1
#[pyclass(extends = Learner, frozen, module = "kalmia")]
pub struct AveragedSGD;

#[pymethods]
impl AveragedSGD {
    #[new]
    #[pyo3(signature = (dim, family, horizon, step=None, *, oracle=None))]
    fn new(
        dim: usize,
        family: FamilyArgument<'_>,
        horizon: u64,
        step: Option<f64>,
        oracle: Option<f64>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let family = family.built_in()?;
        let sgd = match (step, oracle) {
            (Some(_), Some(_)) => {
                return Err(input(
                    "step and oracle are both given: each decides the step, give one",
                ));
            }
            (Some(step), None) => kalmia::AveragedSgd::new(family, dim, horizon, step),
            (None, Some(norm)) => kalmia::AveragedSgd::oracle(family, dim, horizon, norm),
            (None, None) => kalmia::AveragedSgd::plain(family, dim, horizon),
        };
        let sgd = sgd.map_err(plain)?;
        let learner = Learner::bare(ByFamily::BuiltIn(AnyLearner::Sgd(sgd)));
        Ok(PyClassInitializer::from(learner).add_subclass(Self))
    }

    /// The last iterate, of which ``theta`` is the mean.
    #[getter]
    fn iterate<'py>(slf: PyRef<'py, Self>) -> PyResult<Option<Bound<'py, numpy::PyArray1<f64>>>> {
        let py = slf.py();
        Ok(match slf.as_super().state(py)?.learner.built_in() {
            Some(AnyLearner::Sgd(sgd)) => Some(numpy::PyArray1::from_slice(py, sgd.iterate())),
            _ => None,
        })
    }
}

/// The mean of another learner's iterates from now on. The learner given is copied.
///
/// Parameters
/// ----------
/// learner : Learner
///     Any learner.
///
/// Examples
/// --------
/// >>> import kalmia
/// >>> averaged = kalmia.Averaged(kalmia.Filter(1, "gaussian"))
/// >>> _ = averaged.learn_many([[1.0], [1.0]], [1.0, 1.0])
/// >>> averaged.theta
/// array([0.25])
#[pyclass(extends = Learner, frozen, module = "kalmia")]
pub struct Averaged;

#[pymethods]
impl Averaged {
    #[new]
    fn new(learner: PyRef<'_, Learner>) -> PyResult<PyClassInitializer<Self>> {
        let inner = learner.state(learner.py())?.learner.clone();
        let averaged = match inner {
            ByFamily::BuiltIn(inner) => ByFamily::BuiltIn(AnyLearner::averaged(inner)),
            ByFamily::Custom(inner) => ByFamily::Custom(AnyLearner::averaged(inner)),
        };
        let averaged = Learner::new(averaged, learner.intercept, None);
        Ok(PyClassInitializer::from(averaged).add_subclass(Self))
    }
}

/// The default learner: a mixture of moment-matching filters, with nothing to tune.
///
/// Parameters
/// ----------
/// dim : int
///     Number of features. A constant, if wanted, is the first of them.
/// family : str or Family
///     As for :class:`Filter`; a dispersion is learned.
/// intercept : bool
///     Whether feature 0 is the constant 1. If so, shifting the other features changes nothing.
/// drift : {"off", "adapt", "detect"}
///     Whether the coefficients may change over time: ``"off"`` keeps them constant, ``"adapt"``
///     follows changes from row 129 on, and ``"detect"`` follows them once a change is certain.
///
/// Examples
/// --------
/// >>> import kalmia
/// >>> auto = kalmia.Auto(2, "bernoulli", intercept=True)
/// >>> means = auto.learn_many([[1, 2050], [1, 1990], [1, 2031], [1, 1972]] * 5, [1, 0, 1, 0] * 5)
/// >>> float(auto.predict([1, 2040])) > 0.5
/// True
#[pyclass(extends = Learner, frozen, module = "kalmia")]
pub struct Auto;

#[pymethods]
impl Auto {
    #[new]
    #[pyo3(
        signature = (dim, family=FamilyArgument::Name("bernoulli".into()), intercept=false,
                     drift=NameArgument::Name("off".into())),
        text_signature = "(dim, family='bernoulli', intercept=False, drift='off')"
    )]
    fn new(
        dim: usize,
        family: FamilyArgument<'_>,
        intercept: bool,
        drift: NameArgument<'_>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let drift = arguments::drift(drift.text("drift", DRIFTS)?)?;
        let learner = match family {
            FamilyArgument::Name(ref name) => {
                let choice: FamilyChoice = name.parse().map_err(crate::error::model)?;
                if let Some(family) = choice.fixed_dispersion() {
                    return Err(input(format!(
                        "family {family:?} fixes the dispersion, which Auto learns: leave the \
                         number out, or use a Filter"
                    )));
                }
                ByFamily::BuiltIn(auto(family.built_in()?, dim, intercept, drift)?)
            }
            FamilyArgument::Custom(family) => {
                ByFamily::Custom(auto(family.0, dim, intercept, drift)?)
            }
            FamilyArgument::Other(value) => return Err(no_family(&value)),
        };
        Ok(PyClassInitializer::from(Learner::bare(learner)).add_subclass(Self))
    }

    /// Prior size, process noise and weight of each filter still in the mixture. Filters with
    /// priors of centered features come first, then those of features as they come.
    #[getter]
    fn weights(slf: PyRef<'_, Self>) -> PyResult<Vec<(f64, f64, f64)>> {
        Ok(either!(&slf.as_super().state(slf.py())?.learner, inner => match inner {
            AnyLearner::Auto(auto) => {
                auto.weights().iter().map(|m| (m.prior_size, m.process_noise, m.weight)).collect()
            }
            AnyLearner::Wide(wide) => {
                wide.weights().iter().map(|m| (m.prior_size, m.process_noise, m.weight)).collect()
            }
            _ => Vec::new(),
        }))
    }
}

fn auto<F: kalmia::Family>(
    family: F,
    dim: usize,
    intercept: bool,
    drift: DriftMode,
) -> PyResult<AnyLearner<F>> {
    if intercept && dim == 0 {
        return Err(input("dim is 0: with an intercept it must be at least 1"));
    }
    let builder = kalmia::Auto::builder(family, dim).drift(drift);
    builder.with_intercept(intercept).build().map(AnyLearner::Auto).map_err(plain)
}

/// The learner as an object of its class.
pub fn wrap(py: Python<'_>, mut learner: Learner) -> PyResult<Bound<'_, PyAny>> {
    macro_rules! object {
        ($class:expr) => {
            Bound::new(py, PyClassInitializer::from(learner).add_subclass($class))?.into_any()
        };
    }
    Ok(match class(&learner.inner().learner) {
        Class::Auto => object!(Auto),
        Class::Filter => object!(Filter),
        Class::OnlineNewtonStep => object!(OnlineNewtonStep),
        Class::AveragedSgd => object!(AveragedSGD),
        Class::Averaged => object!(Averaged),
    })
}

/// The Python classes of learners.
enum Class {
    Auto,
    Filter,
    OnlineNewtonStep,
    AveragedSgd,
    Averaged,
}

fn class(learner: &AnyModel) -> Class {
    either!(learner, inner => match inner {
        // a wide model is the default learner, too, whose rows happen to be sparse
        AnyLearner::Auto(_) | AnyLearner::Wide(_) => Class::Auto,
        AnyLearner::Filter(_) => Class::Filter,
        AnyLearner::Newton(_) => Class::OnlineNewtonStep,
        AnyLearner::Sgd(_) => Class::AveragedSgd,
        AnyLearner::Averaged(_) => Class::Averaged,
    })
}
