//! Which family a target has: the one that the user names, or the one that the first rows show.

use crate::classes::NO_DRIFT;
use crate::error::{Error, Result, number_text};
use crate::parameters::Parameters;
use crate::quantiles::{levels_text, parse_levels};
use kalmia::{AnyFamily, DriftMode, Error as LearnerError};
use kalmia_data::{Classes, Coding, Target, nearest};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A family by name, or `auto`: inferred from the first rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FamilyChoice {
    /// The text given and its family; `None` for `auto`.
    named: Option<(String, Named)>,
}

/// A family that has a name.
#[derive(Debug, Clone, PartialEq)]
enum Named {
    /// Of numbers, or of two labels.
    One(AnyFamily),
    /// Of several classes.
    Categorical,
    /// Of ordered levels.
    Ordinal,
    /// Several quantiles, by their levels in ascending order.
    Quantiles(Vec<f64>),
}

/// The name of the family of several classes.
pub(crate) const CATEGORICAL: &str = "categorical";

/// The name of the family of ordered levels.
pub(crate) const ORDINAL: &str = "ordinal";

/// The family of a target and what the user should know about the choice.
#[derive(Debug, Clone, PartialEq)]
pub struct InferredFamily {
    /// The family.
    pub family: AnyFamily,
    /// Another family that the user may have meant.
    pub hint: Option<FamilyHint>,
}

/// What the first rows cannot decide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FamilyHint {
    /// All of the first rows have this one value, 0 or 1: numbers, or labels?
    OneValue(f64),
    /// The first rows hold several whole numbers, 0 or more: numbers, or counts?
    WholeNumbers,
    /// The first rows are positive and skewed: numbers, or amounts of a constant relative error?
    Skewed,
}

impl FamilyChoice {
    /// `auto`.
    pub const INFERRED: Self = Self { named: None };

    /// Whether the first rows decide.
    pub fn is_inferred(&self) -> bool {
        self.named.is_none()
    }

    /// The family asked for; `None` if the first rows decide.
    pub fn named(&self) -> Option<&AnyFamily> {
        match &self.named {
            Some((_, Named::One(family))) => Some(family),
            Some((_, Named::Categorical | Named::Ordinal | Named::Quantiles(_))) | None => None,
        }
    }

    /// The levels asked for, in ascending order, if they are several quantiles.
    ///
    /// ```
    /// let choice: kalmia_model::FamilyChoice = "quantile:0.9,0.1".parse()?;
    /// assert_eq!(choice.quantiles(), Some(&[0.1, 0.9][..]));
    /// # Ok::<(), kalmia_model::Error>(())
    /// ```
    pub fn quantiles(&self) -> Option<&[f64]> {
        match &self.named {
            Some((_, Named::Quantiles(levels))) => Some(levels),
            _ => None,
        }
    }

    /// Whether the target has ordered levels.
    ///
    /// ```
    /// let choice: kalmia_model::FamilyChoice = "ordinal".parse()?;
    /// assert!(choice.is_ordinal());
    /// # Ok::<(), kalmia_model::Error>(())
    /// ```
    pub fn is_ordinal(&self) -> bool {
        matches!(self.named, Some((_, Named::Ordinal)))
    }

    /// The text given, if it fixes a dispersion: the noise variance, or that of the Gamma family.
    pub fn fixed_dispersion(&self) -> Option<&str> {
        let (text, Named::One(family)) = self.named.as_ref()? else { return None };
        let has_one = matches!(
            family,
            AnyFamily::Gaussian(_) | AnyFamily::Gamma(_) | AnyFamily::NegativeBinomial(_)
        );
        (has_one && text.contains(':')).then_some(text)
    }

    /// The family asked for, or the one that the first rows show: two labels, truth values, 0 and
    /// 1, or -1 and 1 are `bernoulli`; anything else is `gaussian`. Two other numbers are refused,
    /// because nothing says which one counts as 1; so are several classes and several quantiles,
    /// which are no [`AnyFamily`] (see [`FamilyChoice::classes`], [`FamilyChoice::quantiles`]).
    pub fn resolve(&self, target: &Target) -> Result<InferredFamily> {
        match &self.named {
            Some((_, Named::One(family))) => Ok(InferredFamily { family: *family, hint: None }),
            Some((_, Named::Quantiles(_))) => Err(Error::Quantiles {
                problem: "are learned by `kalmia fit`, in one part; elsewhere give one level, \
                          such as quantile:0.5"
                    .into(),
            }),
            Some((_, Named::Ordinal)) => Err(Error::Ordinal {
                problem: "are learned by `kalmia fit`, and by OrdinalRegression in Python",
            }),
            None if target.classes().is_none() => infer(target),
            _ => Err(Error::SeveralClasses { target: target.name.clone() }),
        }
    }

    /// Refuses parameters that were given and that the family would leave aside in silence: ordered
    /// levels look for no drift.
    pub fn check_parameters(&self, given: &Parameters) -> Result<()> {
        match given.drift {
            Some(DriftMode::Detect | DriftMode::Adapt) if self.is_ordinal() => {
                Err(Error::Ordinal { problem: NO_DRIFT })
            }
            _ => Ok(()),
        }
    }

    /// How an encoder should read the target: as classes if this was asked for, or by its look.
    pub fn classes(&self) -> Classes {
        match &self.named {
            None => Classes::Auto,
            Some((_, Named::Categorical)) => Classes::Always,
            Some((_, Named::Ordinal)) => Classes::Ordered,
            Some((_, Named::One(_) | Named::Quantiles(_))) => Classes::Never,
        }
    }
}

fn infer(target: &Target) -> Result<InferredFamily> {
    let labels = matches!(target.coding, Some(Coding::Labels { .. } | Coding::Boolean));
    let (family, hint) = match target.distinct[..] {
        _ if labels => ("bernoulli", None),
        [0.0, 1.0] | [-1.0, 1.0] => ("bernoulli", None),
        [low, high] => {
            return Err(Error::TwoValues { target: target.name.clone(), low, high });
        }
        [only @ (0.0 | 1.0)] => ("gaussian", Some(FamilyHint::OneValue(only))),
        _ if target.whole && target.distinct.len() > 1 => {
            ("gaussian", Some(FamilyHint::WholeNumbers))
        }
        _ if target.skewed => ("gaussian", Some(FamilyHint::Skewed)),
        _ => ("gaussian", None),
    };
    Ok(InferredFamily { family: family.parse()?, hint })
}

impl FromStr for FamilyChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim().to_ascii_lowercase();
        if text == "auto" {
            return Ok(Self::INFERRED);
        }
        if let Some(levels) = parse_levels(&text) {
            let levels = levels.map_err(|problem| Error::Family { given: text, problem })?;
            return Ok(Self { named: Some((levels_text(&levels), Named::Quantiles(levels))) });
        }
        let family = match &*text {
            CATEGORICAL => Named::Categorical,
            ORDINAL => Named::Ordinal,
            other => Named::One(parse_family(other)?),
        };
        Ok(Self { named: Some((text, family)) })
    }
}

/// The names of families, with those that mean the same.
const FAMILY_NAMES: [&str; 11] = [
    "gaussian",
    "bernoulli",
    "logistic",
    "binomial",
    "poisson",
    "gamma",
    "negative-binomial",
    "quantile",
    "student",
    CATEGORICAL,
    ORDINAL,
];

/// The family that a user names, such as `poisson` or `gamma:0.5`; `auto` is none. The error says
/// in the user's terms what is wrong with it.
///
/// ```
/// let error = kalmia_model::parse_family("posson").unwrap_err();
/// assert_eq!(error.to_string(), "family `posson`: did you mean poisson?");
/// ```
pub fn parse_family(text: &str) -> Result<AnyFamily> {
    text.parse().map_err(|cause| Error::Family {
        given: text.to_owned(),
        problem: family_problem(text, &cause),
    })
}

fn family_problem(text: &str, cause: &LearnerError) -> String {
    let (name, parameter) = text.split_once(':').unwrap_or((text, ""));
    let name = name.trim();
    match cause {
        LearnerError::Parameter { name: "noise", .. } => {
            "the variance must be above 0 and finite".into()
        }
        LearnerError::Parameter { name: "dispersion", .. } if name == "negative-binomial" => {
            "the dispersion must lie between 1e-8 and 1e8".into()
        }
        LearnerError::Parameter { name: "tau", .. } => {
            "the level must lie between 0 and 1, at least 1e-6 from both".into()
        }
        LearnerError::Parameter { name: "degrees of freedom", .. } => {
            "the degrees of freedom must lie between 2.1 and 100".into()
        }
        LearnerError::Parameter { name: "dispersion", .. } => {
            "the dispersion must lie between 1e-12 and 1e12".into()
        }
        LearnerError::Parameter { name: "trials", .. } => {
            "the number of trials must be a whole number from 1 to 1e9".into()
        }
        LearnerError::Choice { name: "family", .. } => match near_family(name) {
            Some(near) => format!("did you mean {near}?"),
            None => "the families are gaussian, bernoulli (or logistic), binomial, poisson, \
                     gamma, negative-binomial, quantile, student, categorical and ordinal"
                .into(),
        },
        LearnerError::Choice { .. } => {
            format!("`{parameter}` is not a number; a number is expected after the colon")
        }
        _ => format!("{name} takes no number: leave it out"),
    }
}

/// A family in the words of the command, with its parameter unless that is the default.
pub(crate) fn family_text(family: &AnyFamily) -> String {
    let name = kalmia::Family::name(family);
    let parameter = match family {
        AnyFamily::Gaussian(family) => family.noise(),
        AnyFamily::Binomial(family) => match family.trials() {
            Some(trials) => trials as f64,
            None => return name.into(),
        },
        AnyFamily::Gamma(family) => family.dispersion(),
        AnyFamily::NegativeBinomial(family) => family.dispersion(),
        AnyFamily::Quantile(family) => family.tau(),
        AnyFamily::Student(family) => family.degrees_of_freedom(),
        _ => return name.into(),
    };
    let with_parameter = format!("{name}:{}", number_text(parameter));
    match name.parse::<AnyFamily>() {
        Ok(default) if default == *family => name.into(),
        _ => with_parameter,
    }
}

/// The family that a wrong name probably means: a slip of the keyboard, or an abbreviation.
fn near_family(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let short = || FAMILY_NAMES.into_iter().find(|known| known.starts_with(&lower));
    nearest(name, FAMILY_NAMES).or_else(|| if lower.len() < 3 { None } else { short() })
}

impl TryFrom<String> for FamilyChoice {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<FamilyChoice> for String {
    fn from(choice: FamilyChoice) -> Self {
        choice.named.map_or_else(|| "auto".into(), |(text, _)| text)
    }
}

#[cfg(test)]
mod tests;
