//! A family chosen at run time: by the command, a binding or a model file.

use super::fast::{CdfTransition, Counts, Point, ShapeTerms, own_fast_paths};
use super::{
    Bernoulli, Binomial, Family, FastPaths, Gamma, Gaussian, NegativeBinomial, Poisson, Quantile,
    Student,
};
use crate::error::{Error, Result, require};
use crate::math::Likelihood;
use crate::rows::Observation;
use crate::step::{Evidence, Moments, Step};
use rand::Rng;
use std::str::FromStr;

/// One of the families of the crate; in files `{"kind": "gamma", "dispersion": 0.5}`.
///
/// ```
/// use kalmia::family::{AnyFamily, Family};
/// let family: AnyFamily = "binomial:10".parse()?;
/// assert_eq!(family.canonical(7.0), Some(7.0));
/// assert_eq!(family.canonical(11.0), None);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum AnyFamily {
    /// $y \sim N(u, \sigma^2)$.
    Gaussian(Gaussian),
    /// $P(y=1) = 1/(1+e^{-u})$.
    Bernoulli(Bernoulli),
    /// Successes among a number of trials, or proportions.
    Binomial(Binomial),
    /// Counts of mean $e^u$.
    Poisson(Poisson),
    /// Positive amounts of mean $e^u$.
    Gamma(Gamma),
    /// Counts of mean $\mu = e^u$ and variance $\mu + \alpha\mu^2$.
    #[serde(rename = "negative-binomial")]
    NegativeBinomial(NegativeBinomial),
    /// The quantile of a level.
    Quantile(Quantile),
    /// $y = u + \sigma T$ with Student's $T$.
    Student(Student),
}

/// The legal names.
const NAMES: &str = "one of gaussian, bernoulli (or logistic), binomial, poisson, gamma, \
                     negative-binomial, quantile, student";

impl AnyFamily {
    fn by_name(name: &str, parameter: Option<f64>) -> Result<Self> {
        let lower = name.trim().to_ascii_lowercase();
        let family = match (lower.as_str(), parameter) {
            ("gaussian", None) => Gaussian::default().into(),
            ("gaussian", Some(noise)) => Gaussian::new(noise)?.into(),
            ("bernoulli" | "logistic", None) => Bernoulli.into(),
            ("binomial", None) => Binomial::proportion().into(),
            ("binomial", Some(trials)) => {
                require(trials.fract() == 0.0, "trials", trials, "must be a whole number")?;
                Binomial::new(trials as u64)?.into()
            }
            ("poisson", None) => Poisson.into(),
            ("gamma", None) => Gamma::default().into(),
            ("gamma", Some(dispersion)) => Gamma::new(dispersion)?.into(),
            ("negative-binomial", None) => NegativeBinomial::default().into(),
            ("negative-binomial", Some(dispersion)) => NegativeBinomial::new(dispersion)?.into(),
            ("quantile", level) => Quantile::new(level.unwrap_or(0.5))?.into(),
            ("student", None) => Student::default().into(),
            ("student", Some(dof)) => Student::new(dof)?.into(),
            ("bernoulli" | "logistic" | "poisson", Some(value)) => {
                return Err(Error::Parameter {
                    name: "family parameter",
                    value,
                    expected: "this family has none",
                });
            }
            _ => {
                return Err(Error::Choice {
                    name: "family",
                    value: name.to_owned(),
                    expected: NAMES,
                });
            }
        };
        Ok(family)
    }
}

/// `name` or `name:parameter`, as in `poisson` and `gamma:0.5`, in upper or lower case.
///
/// The parameter is the noise variance of `gaussian` (default 1), the number of trials of
/// `binomial` (default none: proportions weighted by their trials), the dispersion of `gamma` and
/// of `negative-binomial` (default 1), the level of `quantile` (default 0.5, the median), the
/// degrees of freedom of `student` (default 4).
impl FromStr for AnyFamily {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some((name, parameter)) = text.split_once(':') else {
            return Self::by_name(text, None);
        };
        let parameter = parameter.trim().parse().map_err(|_| Error::Choice {
            name: "family parameter",
            value: parameter.to_owned(),
            expected: "a number",
        })?;
        Self::by_name(name, Some(parameter))
    }
}

macro_rules! from_members {
    ($($member:ident),*) => {$(
        impl From<$member> for AnyFamily {
            fn from(family: $member) -> Self {
                Self::$member(family)
            }
        }
    )*};
}

from_members!(Gaussian, Bernoulli, Binomial, Poisson, Gamma, NegativeBinomial, Quantile, Student);

macro_rules! delegate {
    ($(
        $(#[$attribute:meta])*
        fn $method:ident(&self $(, $argument:ident: $kind:ty)*) -> $out:ty;
    )*) => {$(
        $(#[$attribute])*
        fn $method(&self $(, $argument: $kind)*) -> $out {
            match self {
                Self::Gaussian(family) => family.$method($($argument),*),
                Self::Bernoulli(family) => family.$method($($argument),*),
                Self::Binomial(family) => family.$method($($argument),*),
                Self::Poisson(family) => family.$method($($argument),*),
                Self::Gamma(family) => family.$method($($argument),*),
                Self::NegativeBinomial(family) => family.$method($($argument),*),
                Self::Quantile(family) => family.$method($($argument),*),
                Self::Student(family) => family.$method($($argument),*),
            }
        }
    )*};
}

impl Family for AnyFamily {
    delegate! {
        fn name(&self) -> &str;
        fn domain(&self) -> &str;
        #[inline(always)]
        fn canonical(&self, y: f64) -> Option<f64>;
        #[inline(always)]
        fn loss(&self, y: f64, u: f64) -> f64;
        #[inline(always)]
        fn derivatives(&self, y: f64, u: f64) -> (f64, f64);
        fn log_base(&self, y: f64) -> f64;
        #[inline(always)]
        fn mean(&self, u: f64) -> f64;
        fn variance(&self, u: f64) -> f64;
        fn quantile(&self, u: f64, q: f64) -> f64;
        fn cdf(&self, u: f64, y: f64) -> f64;
        fn bounded_gradient(&self) -> bool;
        fn largest_linear(&self) -> f64;
        fn normal_noise(&self) -> Option<f64>;
        fn moderated_mean(&self, m: f64, s: f64) -> f64;
        fn discrete(&self) -> bool;
        fn log_density(&self, y: f64, u: f64) -> f64;
    }

    fn dispersion(&self) -> Option<f64> {
        match self {
            Self::Gaussian(family) => Family::dispersion(family),
            Self::Gamma(family) => Family::dispersion(family),
            _ => None,
        }
    }

    fn with_dispersion(&self, dispersion: f64) -> Result<Self> {
        match self {
            Self::Gaussian(family) => family.with_dispersion(dispersion).map(Self::Gaussian),
            Self::Gamma(family) => family.with_dispersion(dispersion).map(Self::Gamma),
            other => Ok(*other),
        }
    }

    #[inline(always)]
    fn fast(&self) -> impl FastPaths<Family = Self> {
        *self
    }

    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        match self {
            Self::Gaussian(family) => family.sample(u, rng),
            Self::Bernoulli(family) => family.sample(u, rng),
            Self::Binomial(family) => family.sample(u, rng),
            Self::Poisson(family) => family.sample(u, rng),
            Self::Gamma(family) => family.sample(u, rng),
            Self::NegativeBinomial(family) => family.sample(u, rng),
            Self::Quantile(family) => family.sample(u, rng),
            Self::Student(family) => family.sample(u, rng),
        }
    }
}

impl FastPaths for AnyFamily {
    own_fast_paths!();

    delegate! {
        #[inline(always)]
        fn code(&self, y: f64) -> f64;
        #[inline(always)]
        fn kalman_step(&self, observation: &Observation, m: f64, s: f64) -> Step;
        #[inline(always)]
        fn at(&self, y: f64, u: f64) -> Point;
        #[inline(always)]
        fn likelihood(&self, y: f64, u: f64) -> Option<Likelihood>;
        #[inline(always)]
        fn exact_moments(&self, observation: &Observation, m: f64, s: f64) -> Option<Moments>;
        fn mean_from_evidence(&self, y: f64, evidence: Evidence) -> Option<f64>;
        fn cdf_transition(&self, y: f64) -> Option<CdfTransition>;
        fn predictive_cdf(&self, y: f64, m: f64, s: f64) -> Option<f64>;
        fn log_link(&self) -> bool;
        fn weight_is_trials(&self) -> bool;
        #[inline(always)]
        fn information(&self, u: f64) -> f64;
        #[inline(always)]
        fn least_loss(&self, y: f64) -> f64;
        fn gamma_shape(&self) -> Option<f64>;
        fn is_label(&self) -> bool;
        fn counts(&self) -> Option<Counts>;
        fn smooth(&self) -> bool;
        fn shape(&self) -> Option<f64>;
        fn shape_terms(&self, observation: &Observation, m: f64, s: f64) -> ShapeTerms;
        fn shape_offset(&self, level: f64) -> f64;
        fn shape_of_deviation(&self, deviation: f64) -> f64;
        #[inline(always)]
        fn location_level(&self) -> Option<f64>;
    }

    fn with_shape_unchecked(&self, shape: f64) -> Self {
        match self {
            Self::NegativeBinomial(family) => family.with_shape_unchecked(shape).into(),
            Self::Quantile(family) => family.with_shape_unchecked(shape).into(),
            Self::Student(family) => family.with_shape_unchecked(shape).into(),
            other => *other,
        }
    }

    fn with_dispersion_unchecked(&self, dispersion: f64) -> Self {
        match self {
            Self::Gaussian(family) => Self::Gaussian(family.with_dispersion_unchecked(dispersion)),
            Self::Gamma(family) => Self::Gamma(family.with_dispersion_unchecked(dispersion)),
            other => *other,
        }
    }
}
