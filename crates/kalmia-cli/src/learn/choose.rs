//! Which family and which learner the settings and the first block ask for.

use crate::error::{Failure, Result};
use crate::model::Settings;
use crate::plan::SourcePlan;
use kalmia::learner::DriftMode;
use kalmia::{
    AnyFamily, AnyLearner, AnyRule, Auto, AveragedSgd, Filter, OnlineNewtonSettings,
    OnlineNewtonStep, Prior,
};
use kalmia_data::{Coding, Encoder, EncoderOptions, Mode, Reader, Target};

/// A family, with what the user should know of the choice.
#[derive(Debug)]
pub struct Chosen {
    /// The family.
    pub family: AnyFamily,
    /// What to tell.
    pub note: Option<String>,
}

/// The family asked for, or the one that the first block shows.
pub fn choose_family(asked: &str, target: &Target) -> Result<Chosen> {
    if asked != "auto" {
        return Ok(Chosen { family: asked.parse()?, note: None });
    }
    let name = &target.name;
    let labels = matches!(target.coding, Some(Coding::Labels { .. } | Coding::Boolean));
    let (family, note) = match &target.distinct[..] {
        _ if labels => ("bernoulli", None),
        [0.0, 1.0] | [-1.0, 1.0] => ("bernoulli", None),
        [a, b] => {
            return Err(Failure::usage(format!(
                "target `{name}` has the two values {a} and {b}: give --positive {b} to learn the probability of {b}, or --family gaussian"
            )));
        }
        [only @ (0.0 | 1.0)] => (
            "gaussian",
            Some(format!(
                "target `{name}` is {only} in all of the first rows; for labels give --family bernoulli"
            )),
        ),
        _ if target.whole => (
            "gaussian",
            Some(format!(
                "target `{name}` holds whole numbers, 0 or more; for counts give --family poisson"
            )),
        ),
        _ => ("gaussian", None),
    };
    Ok(Chosen { family: family.parse()?, note })
}

/// The learner that the settings name, for `dim` features.
pub fn build(
    settings: &Settings,
    family: AnyFamily,
    dim: usize,
    intercept: bool,
    horizon: Option<u64>,
) -> Result<AnyLearner> {
    Ok(match settings.method.as_str() {
        "auto" => {
            let drift: DriftMode = settings.drift.parse()?;
            let builder = Auto::builder(family, dim).drift(drift);
            AnyLearner::Auto(builder.with_intercept(intercept).build()?)
        }
        "ons" => {
            let newton = OnlineNewtonSettings::new(settings.radius, settings.exp_concavity)?;
            AnyLearner::Newton(OnlineNewtonStep::new(family, dim, newton)?)
        }
        "asgd" => {
            let horizon =
                horizon.ok_or_else(|| Failure::usage("--method asgd needs --horizon N"))?;
            AnyLearner::Sgd(AveragedSgd::plain(family, dim, horizon)?)
        }
        rule => {
            let rule = AnyRule::by_name(rule).map_err(|error| Failure::usage(error.to_string()))?;
            AnyLearner::Filter(Filter::new(family, rule, Prior::isotropic(dim, settings.prior)?)?)
        }
    })
}

/// The number of rows for averaged SGD: as given, else counted; no other method needs it.
pub fn horizon(
    settings: &Settings,
    source: &SourcePlan,
    roles: &EncoderOptions,
) -> Result<Option<u64>> {
    if settings.method != "asgd" || settings.horizon.is_some() {
        return Ok(settings.horizon);
    }
    if source.inputs.iter().any(|input| input.size().is_none()) {
        return Err(Failure::usage(
            "--method asgd must know the number of rows, which a stream does not tell: give --horizon N",
        ));
    }
    let encoder = Encoder::new(roles.clone());
    let mut reader =
        Reader::open(source.inputs.clone(), source.options.clone(), encoder, Mode::Learn)?;
    Ok(Some(reader.skip_rows(u64::MAX)?.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(coding: Coding, distinct: &[f64], whole: bool) -> Target {
        Target { name: "y".into(), coding: Some(coding), distinct: distinct.to_vec(), whole }
    }

    #[test]
    fn the_first_block_decides() {
        let chosen = |distinct: &[f64], whole| {
            choose_family("auto", &target(Coding::Number, distinct, whole)).unwrap()
        };
        let bernoulli: AnyFamily = "bernoulli".parse().unwrap();
        let gaussian: AnyFamily = "gaussian".parse().unwrap();
        assert_eq!(chosen(&[0.0, 1.0], true).family, bernoulli);
        assert_eq!(chosen(&[-1.0, 1.0], false).family, bernoulli);
        assert_eq!(chosen(&[0.5, 1.5, 2.0], false).family, gaussian);
        assert!(chosen(&[0.5, 1.5, 2.0], false).note.is_none());
        assert!(chosen(&[0.0, 1.0, 2.0], true).note.unwrap().contains("--family poisson"));
        assert!(chosen(&[0.0], true).note.unwrap().contains("--family bernoulli"));
        let two = choose_family("auto", &target(Coding::Number, &[1.0, 2.0], true)).unwrap_err();
        assert!(two.to_string().contains("--positive 2"), "{two}");
        let labels = Coding::Labels { positive: "yes".into(), negative: None };
        assert_eq!(choose_family("auto", &target(labels, &[1.0], true)).unwrap().family, bernoulli);
        assert_eq!(
            choose_family("poisson", &target(Coding::Number, &[0.0, 1.0], true)).unwrap().family,
            "poisson".parse().unwrap()
        );
    }
}
