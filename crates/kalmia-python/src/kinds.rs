//! The classes by which learners are made one by one, with every parameter named as in the paper's
//! algorithms.

use crate::engine::Engine;
use crate::error::{input, plain};
use crate::family::Family;
use crate::learner::Learner;
use kalmia::learner::Drift;
use kalmia::rule::AnyRule;
use kalmia::{AnyFamily, AnyLearner, DriftMode, OnlineNewtonSettings, Prior};
use numpy::{AllowTypeChange, PyArrayLike1, PyArrayLike2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A family as an argument: its name, with its parameter after a colon, or an object of callables.
#[derive(FromPyObject)]
pub enum FamilyArgument {
    Name(String),
    Custom(Family),
}

impl FamilyArgument {
    /// A built-in family.
    pub fn built_in(&self) -> PyResult<AnyFamily> {
        match self {
            Self::Name(name) => name.parse().map_err(plain),
            Self::Custom(_) => Err(input("a custom family works with Filter and Auto only")),
        }
    }
}

/// $N(\theta, P_1)$ from a number, a vector of variances or a matrix.
fn prior(
    dim: usize,
    theta: Option<&Bound<'_, PyAny>>,
    covariance: Option<&Bound<'_, PyAny>>,
) -> PyResult<Prior> {
    let prior = match covariance {
        None => Prior::isotropic(dim, 1.0),
        Some(given) => {
            if let Ok(variance) = given.extract::<f64>() {
                Prior::isotropic(dim, variance)
            } else if let Ok(variances) = given.extract::<PyArrayLike1<'_, f64, AllowTypeChange>>()
            {
                Prior::diagonal(variances.as_array().iter().copied().collect())
            } else {
                let matrix: PyArrayLike2<'_, f64, AllowTypeChange> = given
                    .extract()
                    .map_err(|_| input("covariance must be a number, a vector or a matrix"))?;
                Prior::full(matrix.as_array().iter().copied().collect(), dim)
            }
        }
    };
    let prior = prior.map_err(plain)?;
    if prior.dim() != dim {
        return Err(input(format!("covariance is of dimension {}, expected {dim}", prior.dim())));
    }
    match theta {
        None => Ok(prior),
        Some(theta) => {
            let theta: PyArrayLike1<'_, f64, AllowTypeChange> =
                theta.extract().map_err(|_| input("theta must be a vector of numbers"))?;
            prior.with_mean(&theta.as_array().iter().copied().collect::<Vec<_>>()).map_err(plain)
        }
    }
}

/// The rule and the drift of `**rule_parameters`.
fn rule(
    name: &str,
    dim: usize,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<(AnyRule, Drift)> {
    let mut rule: AnyRule =
        name.parse().map_err(|error: kalmia::Error| input(error.to_string()))?;
    let (mut scale, mut beta, mut drift) = (1.0, 0.49, Drift::Off);
    for (key, value) in parameters.into_iter().flat_map(|dict| dict.iter()) {
        let key: String = key.extract()?;
        let number =
            || value.extract::<f64>().map_err(|_| input(format!("{key} must be a number")));
        match (key.as_str(), &rule) {
            ("scale", AnyRule::Truncated(_)) => scale = number()?,
            ("beta", AnyRule::Truncated(_)) => beta = number()?,
            ("forget", _) => drift = Drift::Forget { factor: number()? },
            ("walk", _) => drift = Drift::Walk { variances: vec![number()?; dim] },
            _ => {
                let own = if matches!(rule, AnyRule::Truncated(_)) { "scale, beta, " } else { "" };
                return Err(input(format!(
                    "rule {name} has no parameter `{key}`; it has {own}forget and walk"
                )));
            }
        }
    }
    if let AnyRule::Truncated(truncated) = &mut rule {
        *truncated = kalmia::Truncated::new(scale, beta).map_err(plain)?;
    }
    Ok((rule, drift))
}

/// A belief N(theta, P) that learns rows by the Kalman recursion.
///
/// Parameters
/// ----------
/// dim : int
///     Number of features; a constant, if wanted, is one of them.
/// family : str or Family
///     ``"gaussian"``, ``"bernoulli"``, ``"binomial"``, ``"poisson"`` or ``"gamma"``, with a
/// parameter after a colon where there
///     is one (``"gaussian:0.5"`` is the noise variance, ``"binomial:10"`` the trials,
/// ``"gamma:0.5"`` the dispersion). rule : str
///     ``"ekf"``, ``"truncated"``, ``"implicit"`` or ``"moment"``.
/// theta : array_like of shape (dim,), optional
///     Prior mean; 0 by default.
/// covariance : float or array_like, optional
///     Prior variance, variances or covariance matrix; 1 by default.
/// **rule_parameters
///     ``scale`` and ``beta`` of the rule ``"truncated"``; for every rule ``forget`` (a factor
/// below 1) or ``walk`` (a variance
///     added to each coefficient before each row).
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
    #[pyo3(signature = (dim, family=FamilyArgument::Name("bernoulli".into()), rule="ekf", theta=None, covariance=None,
                        **rule_parameters),
           text_signature = "(dim, family='bernoulli', rule='ekf', theta=None, covariance=None, **rule_parameters)")]
    fn new(
        dim: usize,
        family: FamilyArgument,
        rule: &str,
        theta: Option<&Bound<'_, PyAny>>,
        covariance: Option<&Bound<'_, PyAny>>,
        rule_parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (rule, drift) = self::rule(rule, dim, rule_parameters)?;
        let prior = prior(dim, theta, covariance)?;
        let engine = match family {
            FamilyArgument::Custom(family) => kalmia::Filter::new(family.0, rule, prior)
                .and_then(|filter| filter.with_drift(drift))
                .map(Engine::CustomFilter),
            FamilyArgument::Name(name) => name
                .parse()
                .and_then(|family: AnyFamily| kalmia::Filter::new(family, rule, prior))
                .and_then(|filter| filter.with_drift(drift))
                .map(|filter| Engine::Plain(AnyLearner::Filter(filter))),
        };
        Ok(PyClassInitializer::from(Learner::bare(engine.map_err(plain)?)).add_subclass(Self))
    }
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
///     Bound on the norm of the gradients.
/// covariance : float or array_like, optional
///     The first P; by default (gamma radius)^2.
/// multiplier : float
///     Multiplies the step 1/gamma.
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
    #[pyo3(signature = (dim, family, radius, exp_concavity, gradient_bound=None, covariance=None, multiplier=1.0))]
    fn new(
        dim: usize,
        family: FamilyArgument,
        radius: f64,
        exp_concavity: f64,
        gradient_bound: Option<f64>,
        covariance: Option<&Bound<'_, PyAny>>,
        multiplier: f64,
    ) -> PyResult<PyClassInitializer<Self>> {
        let family = family.built_in()?;
        let start = covariance.map(|covariance| prior(dim, None, Some(covariance))).transpose()?;
        let mut settings = OnlineNewtonSettings::new(radius, exp_concavity)
            .and_then(|s| s.with_multiplier(multiplier))
            .map_err(plain)?;
        if let Some(bound) = gradient_bound {
            settings = settings.with_gradient_bound(bound).map_err(plain)?;
        }
        if let Some(start) = start {
            settings = settings.with_start(start).map_err(plain)?;
        }
        let newton = kalmia::OnlineNewtonStep::new(family, dim, settings).map_err(plain)?;
        Ok(PyClassInitializer::from(Learner::bare(Engine::Plain(AnyLearner::Newton(newton))))
            .add_subclass(Self))
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
/// step : float
///     Step size.
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
    #[pyo3(signature = (dim, family, horizon, step))]
    fn new(
        dim: usize,
        family: FamilyArgument,
        horizon: u64,
        step: f64,
    ) -> PyResult<PyClassInitializer<Self>> {
        let sgd =
            kalmia::AveragedSgd::new(family.built_in()?, dim, horizon, step).map_err(plain)?;
        Ok(PyClassInitializer::from(Learner::bare(Engine::Plain(AnyLearner::Sgd(sgd))))
            .add_subclass(Self))
    }

    /// The last iterate, of which ``theta`` is the mean.
    #[getter]
    fn iterate<'py>(slf: PyRef<'py, Self>) -> PyResult<Option<Bound<'py, numpy::PyArray1<f64>>>> {
        let py = slf.py();
        Ok(match &slf.as_super().state(py)?.engine {
            Engine::Plain(AnyLearner::Sgd(sgd)) => {
                Some(numpy::PyArray1::from_slice(py, sgd.iterate()))
            }
            _ => None,
        })
    }
}

/// The mean of another learner's iterates, from here on; the learner given is copied.
///
/// Parameters
/// ----------
/// learner : Learner
///     A learner with a built-in family.
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
        let plain = learner.state(learner.py())?.engine.as_plain().cloned();
        let plain = plain
            .ok_or_else(|| input("only a plain learner of a built-in family can be averaged"))?;
        let averaged = Engine::Averaged(kalmia::Averaged::new(plain));
        Ok(PyClassInitializer::from(Learner::new(averaged, learner.intercept, None))
            .add_subclass(Self))
    }
}

/// The default learner: a mixture of moment-matching filters that needs nothing from the user.
///
/// Parameters
/// ----------
/// dim : int
///     Number of features; a constant, if wanted, is the first of them.
/// family : str or Family
///     As for :class:`Filter`; a dispersion is learned.
/// intercept : bool
///     Whether feature 0 is the constant 1: shifting the other features then changes nothing.
/// drift : {"off", "adapt", "detect"}
///     Whether the coefficients may move with time: not at all, followed, or followed once it is
/// beyond doubt that they do.
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
    #[pyo3(signature = (dim, family=FamilyArgument::Name("bernoulli".into()), intercept=false, drift="off"),
           text_signature = "(dim, family='bernoulli', intercept=False, drift='off')")]
    fn new(
        dim: usize,
        family: FamilyArgument,
        intercept: bool,
        drift: &str,
    ) -> PyResult<PyClassInitializer<Self>> {
        let drift = self::drift(drift)?;
        let engine = match family {
            FamilyArgument::Name(_) => {
                Engine::Plain(AnyLearner::Auto(auto(family.built_in()?, dim, intercept, drift)?))
            }
            FamilyArgument::Custom(family) => {
                Engine::CustomAuto(auto(family.0, dim, intercept, drift)?)
            }
        };
        Ok(PyClassInitializer::from(Learner::bare(engine)).add_subclass(Self))
    }

    /// Prior size, random walk and weight of each filter still in the mixture.
    #[getter]
    fn weights(slf: PyRef<'_, Self>) -> PyResult<Vec<(f64, f64, f64)>> {
        let members = match &slf.as_super().state(slf.py())?.engine {
            Engine::Plain(AnyLearner::Auto(inner)) => inner.weights(),
            Engine::CustomAuto(inner) => inner.weights(),
            _ => Vec::new(),
        };
        Ok(members.iter().map(|m| (m.prior_size, m.process_noise, m.weight)).collect())
    }
}

/// The library's default learner.
pub fn auto<F: kalmia::Family>(
    family: F,
    dim: usize,
    intercept: bool,
    drift: DriftMode,
) -> PyResult<kalmia::Auto<F>> {
    if intercept && dim == 0 {
        return Err(input("dim is 0: with an intercept it must be at least 1"));
    }
    let builder = kalmia::Auto::builder(family, dim).drift(drift);
    builder.with_intercept(intercept).build().map_err(plain)
}

/// A drift by its name.
pub fn drift(name: &str) -> PyResult<DriftMode> {
    name.parse().map_err(|_| {
        input(format!("drift is {name:?}: it must be \"off\", \"adapt\" or \"detect\""))
    })
}

/// The learner as an object of its class.
pub fn wrap(py: Python<'_>, mut learner: Learner) -> PyResult<Bound<'_, PyAny>> {
    Ok(match learner.inner().engine {
        Engine::Plain(AnyLearner::Auto(_)) | Engine::CustomAuto(_) => {
            Bound::new(py, PyClassInitializer::from(learner).add_subclass(Auto))?.into_any()
        }
        Engine::Plain(AnyLearner::Filter(_)) | Engine::CustomFilter(_) => {
            Bound::new(py, PyClassInitializer::from(learner).add_subclass(Filter))?.into_any()
        }
        Engine::Plain(AnyLearner::Newton(_)) => {
            Bound::new(py, PyClassInitializer::from(learner).add_subclass(OnlineNewtonStep))?
                .into_any()
        }
        Engine::Plain(AnyLearner::Sgd(_)) => {
            Bound::new(py, PyClassInitializer::from(learner).add_subclass(AveragedSGD))?.into_any()
        }
        Engine::Plain(AnyLearner::Averaged(_)) | Engine::Averaged(_) => {
            Bound::new(py, PyClassInitializer::from(learner).add_subclass(Averaged))?.into_any()
        }
    })
}
