//! The parameters that methods take, as a user gives them: each by name, each optional.

use kalmia::DriftMode;
use serde::{Deserialize, Serialize};

/// Parameters as given; what is `None` takes the method's default (see [`crate::Method`]).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    /// Whether coefficients may move over time (`auto`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<DriftMode>,
    /// Prior variance of every coefficient (the filters).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior: Option<f64>,
    /// Factor of the threshold `scale * t^-beta` under the curvature (`truncated`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// Exponent of that threshold (`truncated`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Radius of the ball that holds the coefficients (`ons`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// Exp-concavity constant of the losses over the ball (`ons`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exp_concavity: Option<f64>,
    /// Bound on the norm of the gradients (`ons`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gradient_bound: Option<f64>,
    /// Number of rows to come (`asgd`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon: Option<u64>,
    /// Step size (`asgd`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
}

/// The name of one of the [`Parameters`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// [`Parameters::drift`].
    Drift,
    /// [`Parameters::prior`].
    Prior,
    /// [`Parameters::scale`].
    Scale,
    /// [`Parameters::beta`].
    Beta,
    /// [`Parameters::radius`].
    Radius,
    /// [`Parameters::exp_concavity`].
    ExpConcavity,
    /// [`Parameters::gradient_bound`].
    GradientBound,
    /// [`Parameters::horizon`].
    Horizon,
    /// [`Parameters::step`].
    Step,
}

impl Parameter {
    /// All parameters, in the order of [`Parameters`].
    pub const ALL: [Self; 9] = [
        Self::Drift,
        Self::Prior,
        Self::Scale,
        Self::Beta,
        Self::Radius,
        Self::ExpConcavity,
        Self::GradientBound,
        Self::Horizon,
        Self::Step,
    ];

    /// The name in model files; front ends may spell it in their own way.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drift => "drift",
            Self::Prior => "prior",
            Self::Scale => "scale",
            Self::Beta => "beta",
            Self::Radius => "radius",
            Self::ExpConcavity => "exp_concavity",
            Self::GradientBound => "gradient_bound",
            Self::Horizon => "horizon",
            Self::Step => "step",
        }
    }
}

impl Parameters {
    /// Whether a value was given.
    pub fn has(&self, parameter: Parameter) -> bool {
        match parameter {
            Parameter::Drift => self.drift.is_some(),
            Parameter::Prior => self.prior.is_some(),
            Parameter::Scale => self.scale.is_some(),
            Parameter::Beta => self.beta.is_some(),
            Parameter::Radius => self.radius.is_some(),
            Parameter::ExpConcavity => self.exp_concavity.is_some(),
            Parameter::GradientBound => self.gradient_bound.is_some(),
            Parameter::Horizon => self.horizon.is_some(),
            Parameter::Step => self.step.is_some(),
        }
    }

    /// The parameters of this list alone, the others left at their defaults.
    pub fn only(&self, taken: &[Parameter]) -> Self {
        let mut kept = *self;
        for parameter in Parameter::ALL.into_iter().filter(|parameter| !taken.contains(parameter)) {
            match parameter {
                Parameter::Drift => kept.drift = None,
                Parameter::Prior => kept.prior = None,
                Parameter::Scale => kept.scale = None,
                Parameter::Beta => kept.beta = None,
                Parameter::Radius => kept.radius = None,
                Parameter::ExpConcavity => kept.exp_concavity = None,
                Parameter::GradientBound => kept.gradient_bound = None,
                Parameter::Horizon => kept.horizon = None,
                Parameter::Step => kept.step = None,
            }
        }
        kept
    }
}
