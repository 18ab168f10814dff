//! The algorithms behind the methods, each with its constants.

use super::MethodName;
use crate::error::{Error, Result};
use crate::memory::with_feature_limit;
use crate::parameters::{Parameter, Parameters};
use kalmia::rule::AnyRule;
use kalmia::{
    AnyFamily, AnyLearner, Auto, AveragedSgd, DriftMode, Filter, OnlineNewtonSettings,
    OnlineNewtonStep, Outliers, Prior, Wide,
};

/// Number columns of a wide model that are centered and share a covariance; the cost per row grows
/// with the square.
pub(crate) const MAX_WIDE_NUMBERS: usize = 256;

/// An algorithm with all of its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Algorithm {
    /// The default mixture.
    Auto {
        /// Whether the coefficients may move over time.
        drift: DriftMode,
        /// What a target counts that is far from its prediction.
        outliers: Outliers,
    },
    /// The default mixture for sparse and wide rows. Every target counts in full: in the first
    /// rows an outlier would move the coefficients by many standard errors.
    Wide {
        /// Whether the coefficients may move over time.
        drift: DriftMode,
    },
    /// One filter.
    Filter {
        /// How one observation moves the belief.
        rule: AnyRule,
        /// Variance of every coefficient before the first row.
        prior: f64,
        /// What a target counts that is far from its prediction.
        outliers: Outliers,
    },
    /// The online Newton step.
    OnlineNewton(NewtonConstants),
    /// Averaged stochastic gradient descent.
    AveragedSgd {
        /// Number of rows to come; `None` until the caller knows it.
        horizon: Option<u64>,
        /// Step size; `None` for the default, which depends on the number of coefficients.
        step: Option<f64>,
        /// Norm of the coefficients to be found, for the oracle step.
        oracle: Option<f64>,
    },
}

/// The constants of the online Newton step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NewtonConstants {
    /// Radius of the ball that holds the coefficients.
    pub radius: f64,
    /// Exp-concavity constant of the losses over the ball.
    pub exp_concavity: f64,
    /// Bound on the norm of the gradients; `None` for the root of the number of coefficients.
    pub gradient_bound: Option<f64>,
    /// The first precision matrix is this times the identity; `None` for `1 / (gamma radius)^2`.
    pub lambda: Option<f64>,
    /// The step is this over gamma.
    pub multiplier: f64,
    /// Whether `D` in gamma is the ball's diameter.
    pub diameter: bool,
}

impl NewtonConstants {
    /// The constants given, and the defaults of the others.
    pub(super) fn new(given: &Parameters) -> Self {
        let radius = given.radius.unwrap_or(10.0);
        Self {
            radius,
            exp_concavity: given.exp_concavity.unwrap_or(0.25 / radius),
            gradient_bound: given.gradient_bound,
            lambda: given.lambda,
            multiplier: given.multiplier.unwrap_or(1.0),
            diameter: given.diameter,
        }
    }

    /// As the library takes them, for `dim` coefficients.
    pub fn settings(&self, dim: usize) -> Result<OnlineNewtonSettings> {
        let mut settings = OnlineNewtonSettings::new(self.radius, self.exp_concavity)?
            .with_multiplier(self.multiplier)?;
        if let Some(bound) = self.gradient_bound {
            settings = settings.with_gradient_bound(bound)?;
        }
        if self.diameter {
            settings = settings.with_diameter();
        }
        if let Some(lambda) = self.lambda {
            if !(lambda > 0.0 && lambda.is_finite()) {
                return Err(Error::Learner(kalmia::Error::Parameter {
                    name: Parameter::Lambda.name(),
                    value: lambda,
                    expected: "must be finite and positive",
                }));
            }
            settings = settings.with_start(Prior::isotropic(dim, 1.0 / lambda)?)?;
        }
        Ok(settings)
    }
}

impl Algorithm {
    pub(super) fn name(&self) -> MethodName {
        match self {
            Self::Auto { .. } => MethodName::Auto,
            Self::Wide { .. } => MethodName::Wide,
            Self::Filter { rule: AnyRule::Ekf, .. } => MethodName::Ekf,
            Self::Filter { rule: AnyRule::Truncated(_), .. } => MethodName::Truncated,
            Self::Filter { rule: AnyRule::Implicit, .. } => MethodName::Implicit,
            Self::Filter { rule: AnyRule::MomentMatch, .. } => MethodName::Moment,
            Self::OnlineNewton(_) => MethodName::Ons,
            Self::AveragedSgd { .. } => MethodName::Asgd,
        }
    }

    pub(super) fn parameters(&self) -> Parameters {
        let none = Parameters::default();
        // files without it are those of earlier versions
        let unusual = |outliers: Outliers| (outliers != Outliers::Keep).then_some(outliers);
        match *self {
            Self::Auto { drift, outliers } => {
                Parameters { drift: Some(drift), outliers: unusual(outliers), ..none }
            }
            Self::Wide { drift } => Parameters { drift: Some(drift), ..none },
            Self::Filter { rule, prior, outliers } => {
                let threshold = match rule {
                    AnyRule::Truncated(rule) => Some(rule),
                    _ => None,
                };
                Parameters {
                    prior: Some(prior),
                    outliers: unusual(outliers),
                    scale: threshold.map(|rule| rule.scale()),
                    beta: threshold.map(|rule| rule.beta()),
                    ..none
                }
            }
            Self::OnlineNewton(constants) => Parameters {
                radius: Some(constants.radius),
                exp_concavity: Some(constants.exp_concavity),
                gradient_bound: constants.gradient_bound,
                lambda: constants.lambda,
                multiplier: Some(constants.multiplier),
                diameter: constants.diameter,
                ..none
            },
            Self::AveragedSgd { horizon, step, oracle } => {
                Parameters { horizon, step, oracle, ..none }
            }
        }
    }

    /// The same for `rows` rows, if the number is needed.
    pub(super) fn with_horizon(self, rows: u64) -> Self {
        match self {
            Self::AveragedSgd { horizon: None, step, oracle } => {
                Self::AveragedSgd { horizon: Some(rows), step, oracle }
            }
            other => other,
        }
    }

    /// The learner for `dim` coefficients, the first of them the constant if `intercept`.
    pub(super) fn learner(
        &self,
        family: AnyFamily,
        dim: usize,
        intercept: bool,
    ) -> Result<AnyLearner> {
        Ok(match *self {
            Self::Auto { drift, outliers } => {
                let builder = Auto::builder(family, dim).drift(drift).outliers(outliers);
                let builder = if intercept { builder.intercept() } else { builder };
                AnyLearner::Auto(builder.build()?)
            }
            Self::Wide { .. } => self.wide_learner(family, dim, intercept)?,
            Self::Filter { .. } => self.learner_from(family, self.prior(dim)?)?,
            Self::OnlineNewton(constants) => {
                let settings = constants.settings(dim)?;
                AnyLearner::Newton(OnlineNewtonStep::new(family, dim, settings)?)
            }
            Self::AveragedSgd { horizon, step, oracle } => {
                let horizon = horizon.ok_or(Error::NeedsHorizon)?;
                AnyLearner::Sgd(match (step, oracle) {
                    (Some(step), _) => AveragedSgd::new(family, dim, horizon, step)?,
                    (None, Some(norm)) => AveragedSgd::oracle(family, dim, horizon, norm)?,
                    (None, None) => AveragedSgd::plain(family, dim, horizon)?,
                })
            }
        })
    }

    /// The learner for sparse rows whose first `numbers` features, the constant included, are
    /// numbers. Of very many numbers the others are taken as sparse features.
    pub(super) fn wide_learner(
        &self,
        family: AnyFamily,
        numbers: usize,
        intercept: bool,
    ) -> Result<AnyLearner> {
        let (Self::Auto { drift, outliers: Outliers::Keep } | Self::Wide { drift }) = *self else {
            return Err(Error::NotWide { method: self.name() });
        };
        let numbers = numbers.saturating_sub(usize::from(intercept)).min(MAX_WIDE_NUMBERS);
        let builder = Wide::builder(family).with_intercept(intercept);
        let learner = builder.drift(drift).numbers(numbers).build()?;
        Ok(AnyLearner::Wide(Box::new(with_feature_limit(learner))))
    }

    /// The learner that starts from this prior.
    pub(super) fn learner_from(&self, family: AnyFamily, prior: Prior) -> Result<AnyLearner> {
        match *self {
            Self::Filter { rule, outliers, .. } => {
                let filter = Filter::new(family, rule, prior)?.with_outliers(outliers)?;
                Ok(AnyLearner::Filter(filter))
            }
            Self::OnlineNewton(constants) => {
                let dim = prior.dim();
                let settings = constants.settings(dim)?.with_start(prior)?;
                Ok(AnyLearner::Newton(OnlineNewtonStep::new(family, dim, settings)?))
            }
            _ => Err(Error::StartNotTaken { method: self.name() }),
        }
    }

    /// The prior that the constants give.
    pub(super) fn prior(&self, dim: usize) -> Result<Prior> {
        match *self {
            Self::Filter { prior, .. } => Ok(Prior::isotropic(dim, prior)?),
            Self::OnlineNewton(constants) => Ok(constants.settings(dim)?.start(dim)?),
            _ => Err(Error::StartNotTaken { method: self.name() }),
        }
    }

    /// Refuses values outside their domains, before any row is read.
    pub(super) fn check(&self) -> Result<()> {
        let bad = |parameter: Parameter, value: f64, expected| {
            let name = parameter.name();
            Err(Error::Learner(kalmia::Error::Parameter { name, value, expected }))
        };
        // the library's constructors check; one coefficient is enough to ask them
        match self.with_horizon(1) {
            Self::AveragedSgd { horizon: Some(0), .. } => {
                bad(Parameter::Horizon, 0.0, "must be at least 1")
            }
            Self::AveragedSgd { step: Some(_), oracle: Some(_), .. } => Err(Error::Conflict {
                method: MethodName::Asgd,
                one: Parameter::Step,
                other: Parameter::Oracle,
                what: "the step",
            }),
            Self::AveragedSgd { oracle: Some(norm), .. } if !(norm > 0.0 && norm.is_finite()) => {
                bad(Parameter::Oracle, norm, "must be finite and positive")
            }
            // a learner might also need a start, which is given beside the method
            Self::OnlineNewton(constants) => constants.settings(1).map(|_| ()),
            algorithm => algorithm.learner("gaussian".parse()?, 1, false).map(|_| ()),
        }
    }
}
