//! A rule chosen at run time: by name or from a model file.

use super::{Ekf, Implicit, MomentMatch, Rule, Truncated};
use crate::error::{Error, Result};
use crate::family::Family;
use crate::rows::Observation;
use crate::step::Step;
use std::str::FromStr;

/// One of the rules that a filter can run; in files tagged by `kind`, its [`Rule::name`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum AnyRule {
    /// Algorithm 1.
    Ekf,
    /// Algorithm 2.
    Truncated(Truncated),
    /// The scalar MAP step.
    Implicit,
    /// Exact mean and variance.
    #[serde(rename = "moment")]
    MomentMatch,
}

/// The rule of a name, `truncated` with the paper's threshold.
impl FromStr for AnyRule {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "ekf" => Ok(Self::Ekf),
            "truncated" => Ok(Self::Truncated(Truncated::paper())),
            "implicit" => Ok(Self::Implicit),
            "moment" => Ok(Self::MomentMatch),
            _ => Err(Error::Choice {
                name: "rule",
                value: name.to_owned(),
                expected: "one of ekf, truncated, implicit, moment",
            }),
        }
    }
}

impl Rule for AnyRule {
    fn name(&self) -> &'static str {
        match self {
            Self::Ekf => Ekf.name(),
            Self::Truncated(rule) => rule.name(),
            Self::Implicit => Implicit.name(),
            Self::MomentMatch => MomentMatch.name(),
        }
    }

    #[inline]
    fn step<F: Family>(
        &self,
        family: &F,
        observation: &Observation,
        m: f64,
        s: f64,
        t: u64,
    ) -> Step {
        match self {
            Self::Ekf => Ekf.step(family, observation, m, s, t),
            Self::Truncated(rule) => rule.step(family, observation, m, s, t),
            Self::Implicit => Implicit.step(family, observation, m, s, t),
            Self::MomentMatch => MomentMatch.step(family, observation, m, s, t),
        }
    }

    fn can_diverge<F: Family>(&self, family: &F) -> bool {
        match self {
            Self::Ekf => Ekf.can_diverge(family),
            Self::Truncated(rule) => rule.can_diverge(family),
            Self::Implicit => Implicit.can_diverge(family),
            Self::MomentMatch => MomentMatch.can_diverge(family),
        }
    }

    fn is_kalman(&self) -> bool {
        !matches!(self, Self::Truncated(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{Bernoulli, Poisson};

    #[test]
    fn names_and_files_agree() {
        for name in ["ekf", "truncated", "implicit", "moment"] {
            let rule: AnyRule = name.parse().unwrap();
            assert_eq!(rule.name(), name);
            let file = serde_json::to_value(rule).unwrap();
            assert_eq!(file["kind"], name);
            assert_eq!(serde_json::from_value::<AnyRule>(file).unwrap(), rule);
        }
        let unknown = "kalman".parse::<AnyRule>().unwrap_err();
        assert!(matches!(&unknown, Error::Choice { name: "rule", value, .. } if value == "kalman"));
    }

    #[test]
    fn a_file_cannot_hold_bad_parameters() {
        let good = r#"{"kind":"truncated","scale":1e-10,"beta":0.49}"#;
        assert_eq!(
            serde_json::from_str::<AnyRule>(good).unwrap(),
            AnyRule::Truncated(Truncated::bercu())
        );
        assert!(
            serde_json::from_str::<AnyRule>(r#"{"kind":"truncated","scale":1.0,"beta":0.7}"#)
                .is_err()
        );
    }

    #[test]
    fn each_kind_steps_as_its_rule() {
        let row = Observation { y: 1.0, weight: 1.5, offset: -0.2 };
        let m = -1.0;
        let s = 3.0;
        let t = 7;
        let step = |name: &str| name.parse::<AnyRule>().unwrap().step(&Bernoulli, &row, m, s, t);
        assert_eq!(step("ekf"), Ekf.step(&Bernoulli, &row, m, s, t));
        assert_eq!(step("truncated"), Truncated::paper().step(&Bernoulli, &row, m, s, t));
        assert_eq!(step("implicit"), Implicit.step(&Bernoulli, &row, m, s, t));
        assert_eq!(step("moment"), MomentMatch.step(&Bernoulli, &row, m, s, t));
        let diverge = |name: &str| name.parse::<AnyRule>().unwrap().can_diverge(&Poisson);
        assert_eq!(
            ["ekf", "truncated", "implicit", "moment"].map(diverge),
            [true, true, false, false]
        );
    }
}
