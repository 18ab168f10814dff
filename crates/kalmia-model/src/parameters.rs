//! The parameters that methods take, as a user gives them: each by name, each optional.

use crate::error::{Error, Result};
use kalmia::{DriftMode, Outliers, Truncated};
use serde::{Deserialize, Deserializer, Serialize};

/// Parameters as given; what is `None` takes the method's default (see [`crate::Method`]).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    /// Whether coefficients may move over time (`auto`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<DriftMode>,
    /// What a target counts that is far from its prediction (`auto`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outliers: Option<Outliers>,
    /// Prior variance of every coefficient (the filters).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior: Option<f64>,
    /// Factor of the threshold `scale * t^-beta` under the curvature (`truncated`). In a file it
    /// may also be a name that [`parse_scale`] knows.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "scale")]
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
    /// The first precision matrix is `lambda I` (`ons`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// The step is `multiplier / gamma` (`ons`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplier: Option<f64>,
    /// Whether `D` in `gamma` is the ball's diameter instead of its radius (`ons`).
    #[serde(skip_serializing_if = "is_false")]
    pub diameter: bool,
    /// Number of rows to come (`asgd`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon: Option<u64>,
    /// Step size (`asgd`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// Norm of the coefficients to be found, which gives the oracle step (`asgd`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oracle: Option<f64>,
    /// Whether the model is the mean of the iterates (all but `asgd`, which is one).
    #[serde(skip_serializing_if = "is_false")]
    pub averaged: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A scale as a number or as a name.
fn scale<'de, D: Deserializer<'de>>(value: D) -> std::result::Result<Option<f64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Number(f64),
        Text(String),
    }
    Option::<Given>::deserialize(value)?
        .map(|given| match given {
            Given::Number(value) => Ok(value),
            Given::Text(text) => parse_scale(&text).map_err(serde::de::Error::custom),
        })
        .transpose()
}

/// The scale of `truncated`'s threshold: a number, `paper` for 1, or `bercu` for the 1e-10 of
/// Bercu, Godichon and Portier.
///
/// ```
/// use kalmia_model::parse_scale;
///
/// assert_eq!(parse_scale("bercu")?, 1e-10);
/// assert_eq!(parse_scale("0.25")?, 0.25);
/// assert!(parse_scale("berku").unwrap_err().to_string().contains("bercu"));
/// # Ok::<(), kalmia_model::Error>(())
/// ```
pub fn parse_scale(text: &str) -> Result<f64> {
    match text {
        "paper" => Ok(Truncated::paper().scale()),
        "bercu" => Ok(Truncated::bercu().scale()),
        number => number.parse().map_err(|_| Error::Scale { given: text.into() }),
    }
}

/// The name of one of the [`Parameters`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// [`Parameters::drift`].
    Drift,
    /// [`Parameters::outliers`].
    Outliers,
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
    /// [`Parameters::lambda`].
    Lambda,
    /// [`Parameters::multiplier`].
    Multiplier,
    /// [`Parameters::diameter`].
    Diameter,
    /// [`Parameters::horizon`].
    Horizon,
    /// [`Parameters::step`].
    Step,
    /// [`Parameters::oracle`].
    Oracle,
    /// [`Parameters::averaged`].
    Averaged,
}

impl Parameter {
    /// All parameters, in the order of [`Parameters`].
    pub const ALL: [Self; 15] = [
        Self::Drift,
        Self::Outliers,
        Self::Prior,
        Self::Scale,
        Self::Beta,
        Self::Radius,
        Self::ExpConcavity,
        Self::GradientBound,
        Self::Lambda,
        Self::Multiplier,
        Self::Diameter,
        Self::Horizon,
        Self::Step,
        Self::Oracle,
        Self::Averaged,
    ];

    /// The name in model files; front ends may spell it in their own way.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drift => "drift",
            Self::Outliers => "outliers",
            Self::Prior => "prior",
            Self::Scale => "scale",
            Self::Beta => "beta",
            Self::Radius => "radius",
            Self::ExpConcavity => "exp_concavity",
            Self::GradientBound => "gradient_bound",
            Self::Lambda => "lambda",
            Self::Multiplier => "multiplier",
            Self::Diameter => "diameter",
            Self::Horizon => "horizon",
            Self::Step => "step",
            Self::Oracle => "oracle",
            Self::Averaged => "averaged",
        }
    }

    /// Its default, in words that help texts repeat; `d` is the number of coefficients.
    pub fn default_text(self) -> &'static str {
        match self {
            Self::Drift => "detect",
            Self::Outliers => "keep",
            Self::Prior | Self::Scale | Self::Multiplier => "1",
            Self::Beta => "0.49",
            Self::Radius => "10",
            Self::ExpConcavity => "1 / (4 radius)",
            Self::GradientBound => "sqrt(d)",
            Self::Lambda => "1 / (gamma radius)^2",
            Self::Diameter | Self::Averaged => "no",
            Self::Horizon => "the number of rows",
            Self::Step => "1 / (2 d sqrt(horizon))",
            Self::Oracle => "none",
        }
    }
}

impl Parameters {
    /// Whether a value was given.
    pub fn has(&self, parameter: Parameter) -> bool {
        match parameter {
            Parameter::Drift => self.drift.is_some(),
            Parameter::Outliers => self.outliers.is_some(),
            Parameter::Prior => self.prior.is_some(),
            Parameter::Scale => self.scale.is_some(),
            Parameter::Beta => self.beta.is_some(),
            Parameter::Radius => self.radius.is_some(),
            Parameter::ExpConcavity => self.exp_concavity.is_some(),
            Parameter::GradientBound => self.gradient_bound.is_some(),
            Parameter::Lambda => self.lambda.is_some(),
            Parameter::Multiplier => self.multiplier.is_some(),
            Parameter::Diameter => self.diameter,
            Parameter::Horizon => self.horizon.is_some(),
            Parameter::Step => self.step.is_some(),
            Parameter::Oracle => self.oracle.is_some(),
            Parameter::Averaged => self.averaged,
        }
    }

    /// The parameters of this list alone, the others left at their defaults.
    pub fn only(&self, taken: &[Parameter]) -> Self {
        let mut kept = *self;
        for parameter in Parameter::ALL.into_iter().filter(|parameter| !taken.contains(parameter)) {
            match parameter {
                Parameter::Drift => kept.drift = None,
                Parameter::Outliers => kept.outliers = None,
                Parameter::Prior => kept.prior = None,
                Parameter::Scale => kept.scale = None,
                Parameter::Beta => kept.beta = None,
                Parameter::Radius => kept.radius = None,
                Parameter::ExpConcavity => kept.exp_concavity = None,
                Parameter::GradientBound => kept.gradient_bound = None,
                Parameter::Lambda => kept.lambda = None,
                Parameter::Multiplier => kept.multiplier = None,
                Parameter::Diameter => kept.diameter = false,
                Parameter::Horizon => kept.horizon = None,
                Parameter::Step => kept.step = None,
                Parameter::Oracle => kept.oracle = None,
                Parameter::Averaged => kept.averaged = false,
            }
        }
        kept
    }
}
