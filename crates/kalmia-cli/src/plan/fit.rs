//! Plans of the commands that choose a method.

use super::{SourcePlan, picture, writable};
use crate::args::{CompareArgs, DriftChoice, FitArgs, LearnArgs, MethodName, RoleArgs, SourceArgs};
use crate::error::{Failure, Result};
use crate::model::Settings;
use kalmia::AnyFamily;
use kalmia_data::EncoderOptions;
use std::path::PathBuf;
use std::time::Duration;

/// A fit, ready to run.
#[derive(Debug)]
pub struct FitPlan {
    /// What is read.
    pub source: SourcePlan,
    /// What the columns are for.
    pub encoder: EncoderOptions,
    /// How is learned.
    pub settings: Settings,
    /// Where the model goes.
    pub output: Option<PathBuf>,
    /// Whether the summary is JSON.
    pub json: bool,
    /// Where the course of the loss goes.
    pub trace: Option<PathBuf>,
    /// Where its picture goes.
    pub plot: Option<PathBuf>,
    /// When the model is written on the way.
    pub every: Option<Every>,
    /// The checkpoint to go on from.
    pub resume: Option<PathBuf>,
}

/// A comparison, ready to run.
#[derive(Debug)]
pub struct ComparePlan {
    /// What is read.
    pub source: SourcePlan,
    /// What the columns are for.
    pub encoder: EncoderOptions,
    /// One for each method.
    pub settings: Vec<Settings>,
    /// Whether methods that do not apply are an error.
    pub named: bool,
    /// Whether the table is JSON.
    pub json: bool,
    /// Where the picture goes.
    pub plot: Option<PathBuf>,
}

/// How often a checkpoint is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Every {
    /// After at least so many rows.
    Rows(u64),
    /// After at least so much time.
    Time(Duration),
}

impl Every {
    /// `100000` or `30s`.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = || {
            Failure::usage(format!(
                "--checkpoint-every `{text}`: give rows (100000) or seconds (30s)"
            ))
        };
        match text.strip_suffix('s') {
            Some(seconds) => {
                let seconds: f64 = seconds.parse().map_err(|_| bad())?;
                Duration::try_from_secs_f64(seconds)
                    .ok()
                    .filter(|d| !d.is_zero())
                    .map(Self::Time)
                    .ok_or_else(bad)
            }
            None => text.parse().ok().filter(|&rows| rows > 0).map(Self::Rows).ok_or_else(bad),
        }
    }
}

impl FitPlan {
    /// Checks the arguments.
    pub fn new(args: &FitArgs) -> Result<Self> {
        let every = args.checkpoint_every.as_deref().map(Every::parse).transpose()?;
        let output = args.output.as_ref().or(args.resume.as_ref());
        output.map(|path| writable(path)).transpose()?;
        args.trace.as_deref().map(writable).transpose()?;
        args.plot.as_deref().map(picture).transpose()?;
        Ok(Self {
            settings: settings(&args.source, &args.roles, &args.learn, args.method)?,
            encoder: roles(&args.roles)?,
            source: SourcePlan::new(&args.source)?,
            output: output.cloned(),
            json: args.json,
            trace: args.trace.clone(),
            plot: args.plot.clone(),
            every,
            resume: args.resume.clone(),
        })
    }
}

impl ComparePlan {
    /// Checks the arguments.
    pub fn new(args: &CompareArgs) -> Result<Self> {
        use MethodName::{Asgd, Auto, Ekf, Implicit, Moment, Ons, Truncated};
        args.plot.as_deref().map(picture).transpose()?;
        let named = !args.methods.is_empty();
        let mut methods = if named {
            args.methods.clone()
        } else {
            vec![Auto, Moment, Implicit, Ekf, Truncated, Ons, Asgd]
        };
        let mut seen = Vec::new();
        methods.retain(|m| {
            !seen.contains(m) && {
                seen.push(*m);
                true
            }
        });
        let learn = |method| match method {
            Auto => args.learn.clone(),
            _ => LearnArgs { drift: DriftChoice::Off, ..args.learn.clone() },
        };
        let settings = methods
            .into_iter()
            .map(|method| settings(&args.source, &args.roles, &learn(method), method));
        Ok(Self {
            settings: settings.collect::<Result<_>>()?,
            encoder: roles(&args.roles)?,
            source: SourcePlan::new(&args.source)?,
            named,
            json: args.json,
            plot: args.plot.clone(),
        })
    }
}

/// The settings of a method.
fn settings(
    source: &SourceArgs,
    roles: &RoleArgs,
    learn: &LearnArgs,
    method: MethodName,
) -> Result<Settings> {
    if roles.family != "auto" {
        roles.family.parse::<AnyFamily>()?;
    }
    if learn.drift != DriftChoice::Off && method != MethodName::Auto {
        let (drift, method) = (learn.drift.library().name(), method.name());
        return Err(Failure::usage(format!(
            "--drift {drift} is for --method auto; {method} is static"
        )));
    }
    if !(learn.prior > 0.0 && learn.prior.is_finite()) {
        return Err(Failure::usage(format!(
            "--prior {}: the variance must be finite and positive",
            learn.prior
        )));
    }
    let plan = SourcePlan::reading(source)?;
    Ok(Settings {
        family: roles.family.trim().to_ascii_lowercase(),
        method: method.name().into(),
        drift: learn.drift.library().name().into(),
        prior: learn.prior,
        radius: learn.radius,
        exp_concavity: learn.exp_concavity,
        horizon: learn.horizon,
        format: plan.format,
        delimiter: plan.delimiter,
        header: plan.header,
    })
}

/// What the columns are for.
fn roles(args: &RoleArgs) -> Result<EncoderOptions> {
    Ok(EncoderOptions {
        target: args.target.clone(),
        positive: args.positive.clone(),
        weight: args.weight.clone(),
        offset: args.offset.clone(),
        features: args.features.clone(),
        exclude: args.exclude.clone(),
        categorical: args.categorical.clone(),
        intercept: !args.no_intercept,
        missing: args.missing.library(),
        max_features: args.max_features,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_are_rows_or_seconds() {
        assert_eq!(Every::parse("1000").unwrap(), Every::Rows(1000));
        assert_eq!(Every::parse("0.5s").unwrap(), Every::Time(Duration::from_millis(500)));
        for bad in ["0", "0s", "-1", "-1s", "nans", "1m", "", "s", "1e400s"] {
            assert!(matches!(Every::parse(bad), Err(Failure::Usage(_))), "{bad}");
        }
    }
}
