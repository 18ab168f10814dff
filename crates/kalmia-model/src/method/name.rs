//! The names of the methods, and which parameters each takes.

use crate::error::{Error, Result};
use crate::parameters::Parameter;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The name of a method; [`crate::Method`] adds the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MethodName {
    /// `auto`, the default: nothing to tune, safe on any data.
    Auto,
    /// `wide`: what `auto` becomes for text, hashed features and very many columns or levels.
    Wide,
    /// `ekf`: the paper's Algorithm 1. Fast; may diverge on large features.
    Ekf,
    /// `truncated`: the paper's Algorithm 2, with a lower bound on the curvature.
    Truncated,
    /// `implicit`: one filter that cannot diverge.
    Implicit,
    /// `moment`: one filter that cannot diverge; the rule that `auto` uses.
    Moment,
    /// `ons`: the paper's Algorithm 3, for comparisons. Has no covariance of the coefficients.
    Ons,
    /// `asgd`: for comparisons. Has no covariance, and must know the number of rows.
    Asgd,
}

impl MethodName {
    /// All methods, the default first.
    pub const ALL: [Self; 8] = [
        Self::Auto,
        Self::Wide,
        Self::Ekf,
        Self::Truncated,
        Self::Implicit,
        Self::Moment,
        Self::Ons,
        Self::Asgd,
    ];

    /// The name as users type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Wide => "wide",
            Self::Ekf => "ekf",
            Self::Truncated => "truncated",
            Self::Implicit => "implicit",
            Self::Moment => "moment",
            Self::Ons => "ons",
            Self::Asgd => "asgd",
        }
    }

    /// What it is, in one line of help.
    pub fn about(self) -> &'static str {
        match self {
            Self::Auto => "Mixture of moment-matching filters with several priors; nothing to tune",
            Self::Wide => "The same for sparse rows: text, hashed features, very many columns",
            Self::Ekf => "Static extended Kalman filter (Algorithm 1 of the paper); may diverge",
            Self::Truncated => "Truncated extended Kalman filter (Algorithm 2); may diverge",
            Self::Implicit => "Implicit filter: solves each row's step exactly; cannot diverge",
            Self::Moment => "Moment-matching filter; cannot diverge",
            Self::Ons => "Online Newton step (Algorithm 3); no standard errors",
            Self::Asgd => "Averaged stochastic gradient descent; no standard errors",
        }
    }

    /// The parameters that it takes; any other is refused.
    pub fn takes(self) -> &'static [Parameter] {
        use Parameter::*;
        match self {
            Self::Auto => &[Drift, Outliers, Averaged],
            Self::Wide => &[Drift],
            Self::Ekf | Self::Implicit | Self::Moment => &[Prior, Outliers, Averaged],
            Self::Truncated => &[Prior, Scale, Beta, Outliers, Averaged],
            Self::Ons => {
                &[Radius, ExpConcavity, GradientBound, Lambda, Multiplier, Diameter, Averaged]
            }
            Self::Asgd => &[Horizon, Step, Oracle],
        }
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MethodName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| Error::UnknownMethod { name: name.into() })
    }
}
