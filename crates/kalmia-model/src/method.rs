//! The methods: their parameters, the one set of defaults, and how each becomes a learner.

mod name;

pub use name::MethodName;

use crate::error::{Error, Result};
use crate::memory::check_several;
use crate::parameters::{Parameter, Parameters};
use kalmia::rule::AnyRule;
use kalmia::{
    AnyFamily, AnyLearner, Auto, AveragedSgd, DriftMode, Filter, OnlineNewtonSettings,
    OnlineNewtonStep, Prior, Truncated,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How to learn: an algorithm with all of its parameters.
///
/// The defaults below hold in the command, in Python and in the service.
///
/// | method | parameter | default |
/// |---|---|---|
/// | `auto` | drift | `detect`: static until a drift is certain, then followed |
/// | `ekf`, `truncated`, `implicit`, `moment` | prior variance | 1, as in the paper |
/// | `truncated` | threshold `scale * t^-beta` | scale 1, beta 0.49 (Algorithm 2) |
/// | `ons` | radius of the ball | 10 |
/// | `ons` | exp-concavity constant | 1 / (4 radius), for gradients of norm at most 1 |
/// | `ons` | bound on the gradient | none: gamma is half the exp-concavity constant |
/// | `asgd` | horizon | the number of rows, which the caller must supply |
/// | `asgd` | step | 1 / (2 d sqrt(horizon)), d the number of coefficients |
///
/// ```
/// use kalmia_model::{Method, MethodName, Parameters};
///
/// let method: Method = "moment".parse()?;
/// assert_eq!(method, Method::new(MethodName::Moment, &Parameters::default())?);
/// let given = Parameters { radius: Some(5.0), ..Parameters::default() };
/// let refused = Method::new(MethodName::Moment, &given).unwrap_err();
/// assert!(refused.to_string().contains("radius"));
/// # Ok::<(), kalmia_model::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub enum Method {
    /// The default mixture.
    Auto {
        /// Whether the coefficients may move over time.
        drift: DriftMode,
    },
    /// One filter.
    Filter {
        /// How one observation moves the belief.
        rule: AnyRule,
        /// Variance of every coefficient before the first row.
        prior: f64,
    },
    /// The online Newton step.
    OnlineNewton {
        /// Radius of the ball that holds the coefficients.
        radius: f64,
        /// Exp-concavity constant of the losses over the ball.
        exp_concavity: f64,
        /// Bound on the norm of the gradients.
        gradient_bound: Option<f64>,
    },
    /// Averaged stochastic gradient descent.
    AveragedSgd {
        /// Number of rows to come; `None` until the caller knows it.
        horizon: Option<u64>,
        /// Step size; `None` for the default, which depends on the number of coefficients.
        step: Option<f64>,
    },
}

impl Default for Method {
    fn default() -> Self {
        Self::Auto { drift: DriftMode::Detect }
    }
}

impl Method {
    /// A method with the parameters given and its defaults for the others. Refuses a parameter
    /// that the method does not take, and a value outside its domain.
    pub fn new(name: MethodName, given: &Parameters) -> Result<Self> {
        let foreign = Parameter::ALL
            .into_iter()
            .find(|&parameter| given.has(parameter) && !name.takes().contains(&parameter));
        if let Some(parameter) = foreign {
            return Err(Error::ParameterNotTaken { parameter, method: name });
        }
        let prior = given.prior.unwrap_or(1.0);
        let method = match name {
            MethodName::Auto => Self::Auto { drift: given.drift.unwrap_or(DriftMode::Detect) },
            MethodName::Ekf => Self::Filter { rule: AnyRule::Ekf, prior },
            MethodName::Implicit => Self::Filter { rule: AnyRule::Implicit, prior },
            MethodName::Moment => Self::Filter { rule: AnyRule::MomentMatch, prior },
            MethodName::Truncated => {
                let paper = Truncated::paper();
                let scale = given.scale.unwrap_or(paper.scale());
                let beta = given.beta.unwrap_or(paper.beta());
                let rule = AnyRule::Truncated(Truncated::new(scale, beta)?);
                Self::Filter { rule, prior }
            }
            MethodName::Ons => {
                let radius = given.radius.unwrap_or(10.0);
                Self::OnlineNewton {
                    radius,
                    exp_concavity: given.exp_concavity.unwrap_or(0.25 / radius),
                    gradient_bound: given.gradient_bound,
                }
            }
            MethodName::Asgd => Self::AveragedSgd { horizon: given.horizon, step: given.step },
        };
        method.check()?;
        Ok(method)
    }

    /// Its name.
    pub fn name(&self) -> MethodName {
        match self {
            Self::Auto { .. } => MethodName::Auto,
            Self::Filter { rule: AnyRule::Ekf, .. } => MethodName::Ekf,
            Self::Filter { rule: AnyRule::Truncated(_), .. } => MethodName::Truncated,
            Self::Filter { rule: AnyRule::Implicit, .. } => MethodName::Implicit,
            Self::Filter { rule: AnyRule::MomentMatch, .. } => MethodName::Moment,
            Self::OnlineNewton { .. } => MethodName::Ons,
            Self::AveragedSgd { .. } => MethodName::Asgd,
        }
    }

    /// Every parameter that it has, defaults included.
    pub fn parameters(&self) -> Parameters {
        let none = Parameters::default();
        match *self {
            Self::Auto { drift } => Parameters { drift: Some(drift), ..none },
            Self::Filter { rule, prior } => {
                let threshold = match rule {
                    AnyRule::Truncated(rule) => Some(rule),
                    _ => None,
                };
                Parameters {
                    prior: Some(prior),
                    scale: threshold.map(|rule| rule.scale()),
                    beta: threshold.map(|rule| rule.beta()),
                    ..none
                }
            }
            Self::OnlineNewton { radius, exp_concavity, gradient_bound } => Parameters {
                radius: Some(radius),
                exp_concavity: Some(exp_concavity),
                gradient_bound,
                ..none
            },
            Self::AveragedSgd { horizon, step } => Parameters { horizon, step, ..none },
        }
    }

    /// Whether [`Method::build`] needs the number of rows, which is not known yet.
    pub fn needs_horizon(&self) -> bool {
        matches!(self, Self::AveragedSgd { horizon: None, .. })
    }

    /// The same method for `rows` rows; only a method that [needs](Self::needs_horizon) the number
    /// changes.
    pub fn with_horizon(self, rows: u64) -> Self {
        match self {
            Self::AveragedSgd { horizon: None, step } => {
                Self::AveragedSgd { horizon: Some(rows), step }
            }
            other => other,
        }
    }

    /// The learner for `dim` coefficients; `intercept` says that the first one is the constant.
    /// Refused if its matrices would take more than half of the memory that is free.
    pub fn build(&self, family: AnyFamily, dim: usize, intercept: bool) -> Result<AnyLearner> {
        self.check_memory(family, dim, intercept, 1)?;
        self.learner(family, dim, intercept)
    }

    /// Refuses `learners` learners that would together take more than half of the memory that is
    /// free. For several classes; [`Method::build`] checks one.
    pub fn check_memory(
        &self,
        family: AnyFamily,
        dim: usize,
        intercept: bool,
        learners: usize,
    ) -> Result<()> {
        check_several(&self.learner(family, dim.min(1), intercept)?, dim, learners)
    }

    fn learner(&self, family: AnyFamily, dim: usize, intercept: bool) -> Result<AnyLearner> {
        Ok(match *self {
            Self::Auto { drift } => {
                let builder = Auto::builder(family, dim).drift(drift);
                let builder = if intercept { builder.intercept() } else { builder };
                AnyLearner::Auto(builder.build()?)
            }
            Self::Filter { rule, prior } => {
                AnyLearner::Filter(Filter::new(family, rule, Prior::isotropic(dim, prior)?)?)
            }
            Self::OnlineNewton { radius, exp_concavity, gradient_bound } => {
                let settings = newton_settings(radius, exp_concavity, gradient_bound)?;
                AnyLearner::Newton(OnlineNewtonStep::new(family, dim, settings)?)
            }
            Self::AveragedSgd { horizon, step } => {
                let horizon = horizon.ok_or(Error::NeedsHorizon)?;
                AnyLearner::Sgd(match step {
                    Some(step) => AveragedSgd::new(family, dim, horizon, step)?,
                    None => AveragedSgd::plain(family, dim, horizon)?,
                })
            }
        })
    }

    /// Refuses values outside their domains, before any row is read.
    fn check(&self) -> Result<()> {
        // the library's constructors check; one coefficient is enough to ask them
        match self.with_horizon(1) {
            Self::AveragedSgd { horizon: Some(0), .. } => {
                return Err(Error::Learner(kalmia::Error::Parameter {
                    name: Parameter::Horizon.name(),
                    value: 0.0,
                    expected: "must be at least 1",
                }));
            }
            Self::OnlineNewton { radius, exp_concavity, gradient_bound } => {
                newton_settings(radius, exp_concavity, gradient_bound)?;
            }
            method => {
                method.build("gaussian".parse()?, 1, false)?;
            }
        }
        Ok(())
    }
}

fn newton_settings(
    radius: f64,
    exp_concavity: f64,
    gradient_bound: Option<f64>,
) -> Result<OnlineNewtonSettings> {
    let settings = OnlineNewtonSettings::new(radius, exp_concavity)?;
    Ok(match gradient_bound {
        Some(bound) => settings.with_gradient_bound(bound)?,
        None => settings,
    })
}

impl FromStr for Method {
    type Err = Error;

    /// The method of this name, with its defaults.
    fn from_str(name: &str) -> Result<Self> {
        Self::new(name.parse()?, &Parameters::default())
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
}

/// A method in a model file: its name beside its parameters.
#[derive(Serialize, Deserialize)]
struct Stored {
    method: MethodName,
    #[serde(flatten)]
    parameters: Parameters,
}

impl From<Method> for Stored {
    fn from(method: Method) -> Self {
        Self { method: method.name(), parameters: method.parameters() }
    }
}

impl TryFrom<Stored> for Method {
    type Error = Error;

    /// Ignores parameters of other methods: files of earlier versions held a value for each.
    fn try_from(stored: Stored) -> Result<Self> {
        Self::new(stored.method, &stored.parameters.only(stored.method.takes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, given: Parameters) -> String {
        Method::new(name.parse().unwrap(), &given).unwrap_err().to_string()
    }

    #[test]
    fn every_method_has_defaults_builds_and_comes_back_from_json() {
        for name in MethodName::ALL {
            let method: Method = name.name().parse().unwrap();
            assert_eq!(method.name(), name);
            let json = serde_json::to_value(method).unwrap();
            assert_eq!(json["method"], name.name());
            assert_eq!(serde_json::from_value::<Method>(json).unwrap(), method);
            let family: AnyFamily = "poisson".parse().unwrap();
            let learner = method.with_horizon(100).build(family, 3, true).unwrap();
            assert_eq!(learner.method(), name.name());
            // each parameter that is present is one that the method takes
            let has = |p: &Parameter| method.parameters().has(*p);
            assert!(Parameter::ALL.iter().filter(|p| has(p)).all(|p| name.takes().contains(p)));
        }
    }

    #[test]
    fn the_documented_defaults_are_the_defaults() {
        let of = |name: &str| name.parse::<Method>().unwrap().parameters();
        assert_eq!(of("auto").drift, Some(DriftMode::Detect));
        assert_eq!(Method::default(), "auto".parse().unwrap());
        assert_eq!(of("ekf").prior, Some(1.0));
        assert_eq!((of("truncated").scale, of("truncated").beta), (Some(1.0), Some(0.49)));
        assert_eq!((of("ons").radius, of("ons").exp_concavity), (Some(10.0), Some(0.025)));
        assert_eq!(of("ons").gradient_bound, None);
        assert!("asgd".parse::<Method>().unwrap().needs_horizon());
    }

    #[test]
    fn a_foreign_parameter_and_a_bad_value_are_refused() {
        let none = Parameters::default;
        assert!(refused("auto", Parameters { prior: Some(2.0), ..none() }).contains("prior"));
        assert!(refused("ekf", Parameters { radius: Some(2.0), ..none() }).contains("radius"));
        assert!(refused("asgd", Parameters { beta: Some(0.3), ..none() }).contains("beta"));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            refused("moment", Parameters { prior: Some(bad), ..none() });
            refused("truncated", Parameters { scale: Some(bad), ..none() });
            refused("ons", Parameters { radius: Some(bad), ..none() });
            refused("ons", Parameters { gradient_bound: Some(bad), ..none() });
            refused("asgd", Parameters { step: Some(bad), ..none() });
        }
        refused("asgd", Parameters { horizon: Some(0), ..none() });
        assert!("nonsense".parse::<Method>().unwrap_err().to_string().contains("moment"));
        let method: Method = "asgd".parse().unwrap();
        let unknown = method.build("gaussian".parse().unwrap(), 2, false).unwrap_err();
        assert!(matches!(unknown, Error::NeedsHorizon), "{unknown}");
    }

    #[test]
    fn files_of_earlier_versions_held_every_parameter() {
        let old = r#"{"method":"ekf","drift":"off","prior":2.5,"radius":10.0,
                      "exp_concavity":0.025,"horizon":null}"#;
        let method: Method = serde_json::from_str(old).unwrap();
        assert_eq!(method, Method::Filter { rule: AnyRule::Ekf, prior: 2.5 });
        let unknown = r#"{"method":"auto","drift":"sometimes"}"#;
        assert!(serde_json::from_str::<Method>(unknown).is_err());
    }
}
