//! Arguments of the learners' constructors: families, priors, rules and drifts.

use crate::error::{input, plain};
use crate::family::Family;
use kalmia::learner::Drift;
use kalmia::rule::AnyRule;
use kalmia::{AnyFamily, DriftMode, Outliers, Prior, Truncated};
use kalmia_model::number_text;
use numpy::{AllowTypeChange, PyArrayLike1, PyArrayLike2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A family as an argument: its name, with its parameter after a colon, or an object of callables.
#[derive(FromPyObject)]
pub enum FamilyArgument<'py> {
    Name(String),
    Custom(Family),
    /// Something else, to be named in the message.
    Other(Bound<'py, PyAny>),
}

impl FamilyArgument<'_> {
    /// A built-in family.
    pub fn built_in(&self) -> PyResult<AnyFamily> {
        match self {
            Self::Name(name) => kalmia_model::parse_family(name).map_err(crate::error::model),
            Self::Custom(_) => Err(input("a custom family works with Filter and Auto only")),
            Self::Other(value) => Err(no_family(value)),
        }
    }
}

/// The exception for a family that is neither a name nor an object of callables.
pub fn no_family(value: &Bound<'_, PyAny>) -> PyErr {
    input(format!(
        "family is {}: give the name of a family, such as \"gaussian\", or a kalmia.Family",
        shown(value)
    ))
}

/// A value as Python shows it.
fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "?".into(), |text| text.to_string())
}

/// A name as an argument.
#[derive(FromPyObject)]
pub enum NameArgument<'py> {
    Name(String),
    /// Something else, to be named in the message.
    Other(Bound<'py, PyAny>),
}

impl NameArgument<'_> {
    /// The name of the parameter `what`, which takes one of `legal`.
    pub fn text(&self, what: &str, legal: &str) -> PyResult<&str> {
        match self {
            Self::Name(name) => Ok(name),
            Self::Other(value) => {
                Err(input(format!("{what} is {}: give one of {legal}", shown(value))))
            }
        }
    }
}

/// The scale of the rule "truncated": a number, or a name.
#[derive(FromPyObject)]
pub enum ScaleArgument {
    Number(f64),
    Name(String),
}

impl ScaleArgument {
    /// The number.
    pub fn value(self) -> PyResult<f64> {
        match self {
            Self::Number(value) => Ok(value),
            Self::Name(name) => kalmia_model::parse_scale(&name).map_err(|_| {
                input(format!(
                    "scale is {name:?}: give a number, \"paper\" (1) or \"bercu\" (1e-10)"
                ))
            }),
        }
    }
}

/// The prior with this mean and covariance, from a number, a vector of variances or a matrix.
pub fn prior(
    dim: usize,
    theta: Option<&Bound<'_, PyAny>>,
    covariance: Option<&Bound<'_, PyAny>>,
) -> PyResult<Prior> {
    let prior = match covariance {
        None => Prior::isotropic(dim, 1.0),
        Some(given) => {
            if let Ok(variance) = given.extract::<f64>() {
                if !(variance > 0.0 && variance.is_finite()) {
                    return Err(input(format!(
                        "covariance is {}: a variance must be a finite number above 0",
                        number_text(variance)
                    )));
                }
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
pub fn rule(
    name: &str,
    dim: usize,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<(AnyRule, Drift)> {
    let mut rule: AnyRule =
        name.parse().map_err(|error: kalmia::Error| input(error.to_string()))?;
    let paper = Truncated::paper();
    let mut scale = paper.scale();
    let mut beta = paper.beta();
    let mut drift = Drift::Off;
    for (key, value) in parameters.into_iter().flat_map(|dict| dict.iter()) {
        let key: String = key.extract()?;
        let number =
            || value.extract::<f64>().map_err(|_| input(format!("{key} must be a number")));
        match (key.as_str(), &rule) {
            ("scale", AnyRule::Truncated(_)) => {
                let given = value.extract::<ScaleArgument>().map_err(|_| {
                    input(format!("scale is {}: give a number or \"bercu\"", shown(&value)))
                })?;
                scale = given.value()?;
            }
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
        *truncated = Truncated::new(scale, beta).map_err(plain)?;
    }
    Ok((rule, drift))
}

/// A drift by its name.
pub fn drift(name: &str) -> PyResult<DriftMode> {
    name.parse().map_err(|_| {
        input(format!("drift is {name:?}: it must be \"off\", \"adapt\" or \"detect\""))
    })
}

/// What far targets count, by name.
pub fn outliers(name: &str) -> PyResult<Outliers> {
    name.parse()
        .map_err(|_| input(format!("outliers is {name:?}: it must be \"keep\" or \"downweight\"")))
}
