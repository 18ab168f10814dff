//! Plans of the commands that choose a method.

use super::{Files, SourcePlan, picture};
use crate::args::{CompareArgs, FitArgs, Names, RoleArgs, SourceArgs};
use crate::error::{Failure, Result, option};
use kalmia::{DriftMode, Error as LearnerError, Outliers};
use kalmia_data::{EncoderOptions, WideRows};
use kalmia_model::{
    Algorithm, Error as ModelError, Method, MethodName, Parameter, Parameters, Polishing, Settings,
    SourceFormat, Start,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A fit, ready to run.
#[derive(Debug)]
pub struct FitPlan {
    /// What is read.
    pub source: SourcePlan,
    /// What the columns are for.
    pub encoder: EncoderOptions,
    /// What is learned, and how.
    pub settings: Settings,
    /// Where the coefficients start, if not where the method has them.
    pub start: Option<(Start, PathBuf)>,
    /// Where the model goes.
    pub output: Option<PathBuf>,
    /// Whether the summary is JSON.
    pub json: bool,
    /// Where the losses as they evolved go.
    pub trace: Option<PathBuf>,
    /// Where their picture goes.
    pub plot: Option<PathBuf>,
    /// How often a checkpoint is written.
    pub every: Option<Every>,
    /// The checkpoint to continue from.
    pub resume: Option<PathBuf>,
    /// The seed of the random order, if rows are shuffled.
    pub shuffle: Option<u64>,
    /// The parts that are learned at the same time, if there are several.
    pub shards: Option<usize>,
    /// Passes over the files, if given.
    pub passes: Option<u64>,
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
        check_levels(&args.roles)?;
        let output = args.output.as_ref().or(args.resume.as_ref());
        args.plot.as_deref().map(picture).transpose()?;
        let given = args.learn.parameters();
        let method = Method::new(args.method, &given)?;
        args.roles.family.check_parameters(&given)?;
        let shuffle = args.shuffle.then(|| args.seed.unwrap_or(0));
        if shuffle.is_some() && adapts(&method) {
            return Err(Failure::usage(
                "--drift adapt follows changes over time, which --shuffle removes: give one of \
                 the two",
            ));
        }
        let source = SourcePlan::new(&args.source)?;
        check_passes(args, &method, &source)?;
        let mut files = Files::default().source(&source);
        let mut start = None;
        if let Some(path) = &args.start {
            files = files.reads("the start", path);
            start = Some((read_start(path, args)?, path.clone()));
        }
        if let Some(path) = &args.resume {
            files = files.continues("the checkpoint", path, output.map(PathBuf::as_path));
        }
        files
            .writes("-o", output.map(PathBuf::as_path))
            .writes("--trace", args.trace.as_deref())
            .writes("--plot", args.plot.as_deref())
            .check()?;
        let settings = Settings {
            family: args.roles.family.clone(),
            method,
            start: start.as_ref().map(|(start, _)| start.digest()),
            certificate: args.certificate,
            conformal: args.conformal,
            weight_kind: args.roles.weight_kind,
            shuffle,
            source: SourceFormat::from(&source.options),
        };
        settings.check()?;
        Ok(Self {
            settings,
            start,
            shuffle,
            encoder: roles(&args.roles, &args.source, method.rows()),
            source,
            output: output.cloned(),
            json: args.json,
            trace: args.trace.clone(),
            plot: args.plot.clone(),
            every,
            resume: args.resume.clone(),
            shards: args.shards.map(usize::from),
            passes: args.passes,
        })
    }
}

/// Refuses several passes over what can be read once, and parts of the first rows.
fn check_passes(args: &FitArgs, method: &Method, source: &SourcePlan) -> Result<()> {
    let further = args.passes.map_or(args.shards.is_some(), |passes| passes > 1);
    let option = if args.shards.is_some() { "--shards" } else { "--passes" };
    if (further || args.shards.is_some()) && !source.can_be_read_again() {
        return Err(Failure::usage(format!(
            "{option} reads the files several times, which standard input and pipes do not allow; \
             write the rows to a file"
        )));
    }
    if args.roles.family.quantiles().is_some() {
        check_quantiles(args)?;
    }
    if args.roles.family.is_ordinal() {
        check_ordinal(args)?;
    }
    let family = args.roles.family.named();
    if args.passes > Some(1) && family.is_some_and(|family| !Polishing::applies_to(family)) {
        return Err(Failure::usage(
            "a quantile cannot be polished by further passes, because the pinball loss has no \
             curvature; leave out --passes",
        ));
    }
    if further && method.parameters().outliers == Some(Outliers::Downweight) {
        return Err(Failure::usage(format!(
            "--outliers downweight learns in one pass: the further passes of {option} take every \
             row in full; leave one out"
        )));
    }
    let merges = matches!(method.algorithm, Algorithm::Auto { .. } | Algorithm::Filter { .. });
    if args.shards.is_some() && (!merges || method.averaged) {
        let averaged = if method.averaged { " --averaged" } else { "" };
        return Err(Failure::usage(format!(
            "--method {}{averaged} cannot be merged: --shards is for auto, ekf, truncated, \
             implicit and moment",
            method.name()
        )));
    }
    if args.shards.is_some() && adapts(method) {
        return Err(Failure::usage(
            "--drift adapt follows changes over time, but the rows of shards have no common \
             order: give one of the two",
        ));
    }
    if args.shards.is_some() && source.options.limit.is_some() {
        return Err(Failure::usage(
            "--shards takes no --limit: the first rows are in the first part; leave one out",
        ));
    }
    Ok(())
}

/// Refuses what several quantiles do not take, before anything is read.
fn check_quantiles(args: &FitArgs) -> Result<()> {
    let refused = [
        (args.passes > Some(1), "--passes"),
        (args.shards.is_some(), "--shards"),
        (args.start.is_some(), "--start"),
    ];
    match refused.into_iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(Failure::usage(format!(
            "{option}: several quantiles are learned in one pass over all rows, from the start \
             that auto finds; leave it out"
        ))),
        None => Ok(()),
    }
}

/// Refuses what ordered levels do not take, before anything is read.
fn check_ordinal(args: &FitArgs) -> Result<()> {
    let refused = [
        (args.passes > Some(1), "--passes"),
        (args.shards.is_some(), "--shards"),
        (args.start.is_some(), "--start"),
    ];
    match refused.into_iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(Failure::usage(format!(
            "{option}: ordered levels are learned in one pass over all rows, from the start that \
             auto finds; leave it out"
        ))),
        None => Ok(()),
    }
}

/// Refuses levels without the family that has them.
fn check_levels(roles: &RoleArgs) -> Result<()> {
    match roles.levels.is_empty() || roles.family.is_ordinal() {
        true => Ok(()),
        false => Err(Failure::usage(
            "--levels gives the order of the levels of --family ordinal; add it, or leave --levels \
             out",
        )),
    }
}

/// The start of the coefficients in a file.
fn read_start(path: &Path, args: &FitArgs) -> Result<Start> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("--start {}: {error}", path.display())))?;
    let start = Start::from_json(&text).map_err(|error| start_failure(path, error))?;
    start
        .check(args.method, &args.learn.parameters())
        .map_err(|error| start_failure(path, error))?;
    Ok(start)
}

/// A refusal of the file of `--start`, with its name.
pub fn start_failure(path: &Path, error: ModelError) -> Failure {
    match error {
        ModelError::Start { problem } => {
            Failure::usage(format!("--start {}: the start {problem}", path.display()))
        }
        ModelError::Learner(cause @ LearnerError::NotPositiveDefinite { .. }) => {
            Failure::usage(format!(
                "--start {}: {cause}; give variances above 0, or a symmetric matrix with positive \
                 eigenvalues",
                path.display()
            ))
        }
        ModelError::Learner(cause) => {
            Failure::usage(format!("--start {}: {cause}", path.display()))
        }
        other => other.into(),
    }
}

impl ComparePlan {
    /// A method as it is given to `--method`, with the drift mode if it appears twice.
    pub fn name(&self, settings: &Settings) -> String {
        let method = settings.method.name();
        let twice = self.settings.iter().filter(|s| s.method.name() == method).count() > 1;
        if adapts(&settings.method) && twice {
            format!("{method} --drift adapt")
        } else {
            method.to_string()
        }
    }

    /// Checks the arguments.
    pub fn new(args: &CompareArgs) -> Result<Self> {
        args.plot.as_deref().map(picture).transpose()?;
        check_levels(&args.roles)?;
        let named = !args.methods.is_empty();
        let mut methods = if named { args.methods.clone() } else { COMPARED.to_vec() };
        let mut seen = Vec::new();
        methods.retain(|method| {
            let new = !seen.contains(method);
            seen.push(*method);
            new
        });
        let given = args.learn.parameters();
        if given.averaged {
            return Err(Failure::usage(
                "compare takes no --averaged: it judges the predictions made before each row, \
                 which are those of the iterates; `fit --averaged` and `evaluate` on other rows \
                 judge the mean",
            ));
        }
        let unused = Parameter::ALL.into_iter().find(|parameter| {
            given.has(*parameter) && !methods.iter().any(|m| m.takes().contains(parameter))
        });
        if let Some(parameter) = unused {
            return Err(Failure::usage(format!(
                "none of the methods compared takes {}; --methods chooses them",
                option(parameter)
            )));
        }
        let source = SourcePlan::new(&args.source)?;
        Files::default().source(&source).writes("--plot", args.plot.as_deref()).check()?;
        let mut compared = Vec::new();
        for name in methods {
            // each method gets only the parameters that it takes
            compared.push(Method::new(name, &given.only(name.takes()))?);
            // beside the default, which follows a drift only if it is certain
            if name == MethodName::Auto && !named && given.drift.is_none() {
                let drift = Some(DriftMode::Adapt);
                let given = Parameters { drift, ..given.only(name.takes()) };
                compared.push(Method::new(name, &given)?);
            }
        }
        // one encoder serves all methods, so rows are sparse if every method that was named, or the
        // default, takes them
        let wide = match named {
            true => compared.iter().map(Method::rows).min(),
            false => compared.first().map(Method::rows),
        };
        let wide = wide.unwrap_or_default();
        let settings = compared.into_iter().map(|method| Settings {
            family: args.roles.family.clone(),
            method,
            start: None,
            certificate: false,
            conformal: false,
            weight_kind: args.roles.weight_kind,
            shuffle: None,
            source: SourceFormat::from(&source.options),
        });
        Ok(Self {
            settings: settings.collect(),
            encoder: roles(&args.roles, &args.source, wide),
            source,
            named,
            json: args.json,
            plot: args.plot.clone(),
        })
    }
}

/// Whether it is the default learner that follows changes from the start.
fn adapts(method: &Method) -> bool {
    matches!(method.algorithm, Algorithm::Auto { drift: DriftMode::Adapt, .. })
}

/// The methods that `compare` runs unless it is given others, the safest first.
const COMPARED: [MethodName; 7] = [
    MethodName::Auto,
    MethodName::Moment,
    MethodName::Implicit,
    MethodName::Ekf,
    MethodName::Truncated,
    MethodName::Ons,
    MethodName::Asgd,
];

/// What the columns are for.
pub fn roles(args: &RoleArgs, source: &SourceArgs, wide: WideRows) -> EncoderOptions {
    EncoderOptions {
        text: Names::all(&args.text),
        analyzer: args.analyzer,
        hash_bits: args.hash,
        wide,
        target: args.target.clone(),
        positive: args.positive.clone(),
        weight: args.weight.clone(),
        offset: args.offset.clone(),
        features: (!args.features.is_empty()).then(|| Names::all(&args.features)),
        exclude: Names::all(&args.exclude),
        categorical: Names::all(&args.categorical),
        intercept: !args.no_intercept,
        missing: args.missing,
        na_values: source.na_values.clone(),
        max_features: args.max_features,
        classes: args.family.classes(),
        levels: Names::all(&args.levels),
    }
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
