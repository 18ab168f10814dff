//! Arguments of the commands that choose a method: fit and compare.

use super::data::{SourceArgs, missing};
use super::names::{Names, described, named, whole};
use clap::Args;
use clap::builder::TypedValueParser;
use kalmia::{DriftMode, Outliers};
use kalmia_data::{Analyzer, EncoderOptions, Missing};
use kalmia_model::{
    Error as ModelError, FamilyChoice, MethodName, Parameters, WeightKind, parse_scale,
};
use std::path::PathBuf;

const FIT_EXAMPLES: &str = "\
Examples:
  kalmia fit flights.csv --target late
  kalmia fit 'day-*.csv.gz' --target visits --family poisson -o visits.kalmia
  kalmia fit people.parquet --target income --exclude id --categorical zip --missing mean
  kalmia fit mails.csv --target spam --text subject,body --analyzer words:2
  kalmia fit clicks.libsvm --hash 22
  kalmia fit big.csv --target y --shards 8 -o m.kalmia            (eight cores)
  kalmia fit big.csv --target y --passes 2 -o m.kalmia            (to the batch fit)
  kalmia fit big.csv --target y -o m.kalmia --checkpoint-every 30s
  kalmia fit big.csv --target y -o m.kalmia --resume m.kalmia     (after an interruption)
  zcat log.csv.gz | kalmia fit - --target clicked --json

Exit codes: 0 success; 2 bad usage or input; 1 any other failure.";

/// `kalmia fit`.
#[derive(Debug, Clone, Args)]
#[command(after_help = FIT_EXAMPLES)]
pub struct FitArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub roles: RoleArgs,
    /// How to learn; `auto` has nothing to tune and becomes `wide` where the rows call for it, the
    /// others are single algorithms
    #[arg(long, value_parser = methods(), default_value = "auto")]
    pub method: MethodName,
    #[command(flatten)]
    pub learn: LearnArgs,
    /// Start from these coefficients and this covariance (ekf, truncated, implicit, moment, ons): a
    /// JSON file with the keys coefficients (names), mean (numbers) and covariance (a variance, one
    /// per coefficient, or the rows of a matrix)
    #[arg(long, value_name = "JSON", help_heading = "Method")]
    pub start: Option<PathBuf>,
    /// Add the certificate of the fit, Lemma 6 of the paper: a bound on the regret that holds for
    /// any rows (ekf, truncated, implicit, moment)
    #[arg(long, help_heading = "Method")]
    pub certificate: bool,
    /// Also learn conformal intervals, which hold whatever the model; `kalmia predict --interval
    /// conformal` uses them (not for labels and proportions)
    #[arg(long, help_heading = "Method")]
    pub conformal: bool,
    /// Write the model here
    #[arg(long, short, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write the loss as it evolved to this CSV file: rows, loss, baseline loss
    #[arg(long, value_name = "CSV")]
    pub trace: Option<PathBuf>,
    /// Draw the loss as it evolved (.svg or .png)
    #[arg(long, value_name = "PICTURE")]
    pub plot: Option<PathBuf>,
    /// Learn the rows in random order, for files that are sorted by the target or in groups. All
    /// rows are read first; more than 256 MB of them wait in temporary files
    #[arg(long, conflicts_with_all = ["resume", "checkpoint_every"])]
    pub shuffle: bool,
    /// The random order that --shuffle uses; the same seed gives the same model [default: 0]
    #[arg(long, value_name = "N", requires = "shuffle")]
    pub seed: Option<u64>,
    /// Passes over the files. The first one learns; each further one takes a Newton step on exact
    /// sums, as `kalmia polish` does, until nothing moves any more [default: 1; with --shards as
    /// many as are needed]
    #[arg(long, value_name = "N", conflicts_with_all = ["resume", "checkpoint_every"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub passes: Option<u64>,
    /// Learn N parts of the files at the same time, one per core, merge what they say and polish
    /// it (auto, ekf, truncated, implicit, moment)
    #[arg(long, visible_alias = "threads", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    #[arg(conflicts_with_all = [
        "resume", "checkpoint_every", "shuffle", "start", "certificate", "trace", "plot",
    ])]
    pub shards: Option<u16>,
    /// Write the model every 100000 rows (`100000`) or every 30 seconds (`30s`)
    #[arg(long, value_name = "ROWS|SECONDS", requires = "output")]
    pub checkpoint_every: Option<String>,
    /// Continue an interrupted fit from this checkpoint; all other arguments must be the same
    #[arg(long, value_name = "MODEL")]
    pub resume: Option<PathBuf>,
}

/// `kalmia compare`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  kalmia compare flights.csv --target late --plot losses.svg")]
pub struct CompareArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub roles: RoleArgs,
    /// The methods to run; by default all that the family allows
    #[arg(long, value_parser = methods(), value_delimiter = ',', value_name = "A,B")]
    pub methods: Vec<MethodName>,
    #[command(flatten)]
    pub learn: LearnArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Draw the losses as they evolved (.svg or .png)
    #[arg(long, value_name = "PICTURE")]
    pub plot: Option<PathBuf>,
}

/// What the columns are for.
#[derive(Debug, Clone, Args)]
pub struct RoleArgs {
    /// The column to predict; not needed for libsvm, which has a label
    #[arg(long, short, value_name = "COLUMN")]
    pub target: Option<String>,
    /// The kind of target: auto (categorical, bernoulli or gaussian, inferred from the first rows),
    /// gaussian (numbers), bernoulli (two labels), categorical (several classes, also if they are
    /// numbers), ordinal (levels with an order, see --levels), binomial (proportions),
    /// binomial:TRIALS (counts out of TRIALS), poisson (counts, or rates weighted by their
    /// exposure), negative-binomial (counts that vary more), gamma (positive numbers), student
    /// (numbers with outliers), quantile:TAU (the level that a share TAU of the targets stays
    /// below) or quantile:0.1,0.5,0.9 (several levels, which never cross); gaussian:VARIANCE and
    /// gamma:DISPERSION fix the noise, which auto learns
    #[arg(long, value_name = "FAMILY", default_value = "auto", value_parser = family)]
    pub family: FamilyChoice,
    /// The feature columns, in this order; by default every column without another role. A name
    /// with a comma stands in double quotes, here and below: '"last, first",age'
    #[arg(long, value_name = "A,B", conflicts_with = "exclude", help_heading = "Columns")]
    pub features: Vec<Names>,
    /// Columns to leave out
    #[arg(long, value_name = "A,B", help_heading = "Columns")]
    pub exclude: Vec<Names>,
    /// Columns to read as categories even if they hold numbers
    #[arg(long, value_name = "A,B", help_heading = "Columns")]
    pub categorical: Vec<Names>,
    /// Columns of text: each word is a feature, hashed; see --analyzer and --hash
    #[arg(long, value_name = "A,B", help_heading = "Columns")]
    pub text: Vec<Names>,
    /// What the features of a text are: words, words:2 (words and pairs of neighbors) or
    /// characters:2-4 (runs of 2 to 4 characters within words)
    #[arg(long, value_name = "KIND", default_value_t, help_heading = "Columns")]
    pub analyzer: Analyzer,
    /// Hash words, category levels and libsvm indices into 2^BITS features, so that memory is
    /// bounded whatever the rows hold; 1 to 30. Words are always hashed [default for words: 18]
    #[arg(long, value_name = "BITS", help_heading = "Columns")]
    pub hash: Option<u8>,
    /// A column of row weights: a weight of 2 counts as the row twice
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub weight: Option<String>,
    /// What a weight means
    #[arg(long, value_parser = weight_kinds(), default_value = "frequency", requires = "weight")]
    #[arg(value_name = "KIND", help_heading = "Columns")]
    pub weight_kind: WeightKind,
    /// A column to add to the linear predictor: for counts, the log of the exposure
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub offset: Option<String>,
    /// The label that counts as 1 if the target has two values
    #[arg(long, value_name = "LABEL", help_heading = "Columns")]
    pub positive: Option<String>,
    /// The levels of an ordinal target, the lowest first: low,medium,high. Numbers need none: their
    /// order is known, but all of them must be among the first rows
    #[arg(long, value_name = "A,B", help_heading = "Columns")]
    pub levels: Vec<Names>,
    /// Do not add the constant feature
    #[arg(long, help_heading = "Columns")]
    pub no_intercept: bool,
    /// What to do with missing values; --na-values lists what counts as missing
    #[arg(long, value_parser = missing(), default_value = "error", help_heading = "Columns")]
    pub missing: Missing,
    /// Stop with an error at more features than this; each category level counts as one
    #[arg(long, value_name = "N", default_value_t = EncoderOptions::default().max_features)]
    #[arg(help_heading = "Columns")]
    pub max_features: usize,
}

/// Parameters of the methods. A method refuses those that it does not take.
#[derive(Debug, Clone, Args)]
pub struct LearnArgs {
    /// Whether coefficients may change over time (auto, wide; ordered levels look for no drift)
    /// [default: detect]
    #[arg(long, value_parser = drift_modes(), help_heading = "Method")]
    pub drift: Option<DriftMode>,
    /// What a target counts that is far from its prediction, such as a typing error (auto, wide,
    /// ekf, truncated, implicit, moment) [default: keep]
    #[arg(long, value_parser = outliers(), help_heading = "Method")]
    pub outliers: Option<Outliers>,
    /// Prior variance of the coefficients (ekf, truncated, implicit, moment) [default: 1]
    #[arg(long, allow_negative_numbers = true, value_name = "V", help_heading = "Method")]
    pub prior: Option<f64>,
    /// At row t, the curvature is raised to at least SCALE * t^-BETA (truncated): a number, or
    /// `bercu` for 1e-10 [default: 1]
    #[arg(long, allow_negative_numbers = true, value_name = "SCALE", help_heading = "Method")]
    #[arg(value_parser = scale)]
    pub scale: Option<f64>,
    /// Exponent of that bound (truncated) [default: 0.49]
    #[arg(long, allow_negative_numbers = true, value_name = "BETA", help_heading = "Method")]
    pub beta: Option<f64>,
    /// Radius of the ball that the coefficients are confined to (ons) [default: 10]
    #[arg(long, allow_negative_numbers = true, value_name = "R", help_heading = "Method")]
    pub radius: Option<f64>,
    /// Exp-concavity constant of the losses over the ball (ons) [default: 1 / (4 radius)]
    #[arg(long, allow_negative_numbers = true, value_name = "A", help_heading = "Method")]
    pub exp_concavity: Option<f64>,
    /// Bound G on the norm of the gradients (ons): gamma = min(1 / (4 G D), A) / 2. The default is
    /// right for features within [-1, 1] and labels; d is the number of coefficients
    /// [default: sqrt(d)]
    #[arg(long, allow_negative_numbers = true, value_name = "G", help_heading = "Method")]
    pub gradient_bound: Option<f64>,
    /// The first precision matrix is L times the identity (ons) [default: 1 / (gamma radius)^2]
    #[arg(long, allow_negative_numbers = true, value_name = "L", help_heading = "Method")]
    pub lambda: Option<f64>,
    /// The step is K / gamma (ons); Theorem 3 of the paper needs 3 [default: 1]
    #[arg(long, allow_negative_numbers = true, value_name = "K", help_heading = "Method")]
    pub multiplier: Option<f64>,
    /// Let D in gamma be the ball's diameter, as in Theorem 3, instead of its radius (ons)
    #[arg(long, help_heading = "Method")]
    pub diameter: bool,
    /// Number of rows to learn (asgd); kalmia reads the files once to count them
    /// [default: the number of rows]
    #[arg(long, value_name = "N", value_parser = whole, help_heading = "Method")]
    pub horizon: Option<u64>,
    /// Step size (asgd); d is the number of coefficients [default: 1 / (2 d sqrt(horizon))]
    #[arg(long, allow_negative_numbers = true, value_name = "STEP", help_heading = "Method")]
    pub step: Option<f64>,
    /// Take the step NORM / sqrt(d horizon) for true coefficients of this norm (asgd)
    #[arg(long, allow_negative_numbers = true, value_name = "NORM", help_heading = "Method")]
    pub oracle: Option<f64>,
    /// Keep the mean of the coefficients with which each row was predicted (all but wide, and asgd,
    /// which does so). It has no standard errors; its progressive loss is that of the iterates
    #[arg(long, help_heading = "Method")]
    pub averaged: bool,
}

impl LearnArgs {
    /// The parameters as given.
    pub fn parameters(&self) -> Parameters {
        Parameters {
            drift: self.drift,
            outliers: self.outliers,
            prior: self.prior,
            scale: self.scale,
            beta: self.beta,
            radius: self.radius,
            exp_concavity: self.exp_concavity,
            gradient_bound: self.gradient_bound,
            lambda: self.lambda,
            multiplier: self.multiplier,
            diameter: self.diameter,
            horizon: self.horizon,
            step: self.step,
            oracle: self.oracle,
            averaged: self.averaged,
        }
    }
}

/// A scale as a number or by its name.
fn scale(text: &str) -> Result<f64, String> {
    parse_scale(text).map_err(|error| error.to_string())
}

/// A family; the parser's message already has its name.
fn family(text: &str) -> Result<FamilyChoice, String> {
    text.parse().map_err(|error| match error {
        ModelError::Family { problem, .. } => problem,
        other => other.to_string(),
    })
}

/// The methods by name, with a line of help each.
fn methods() -> impl TypedValueParser<Value = MethodName> {
    named(MethodName::ALL.map(|method| described(method.name(), method.about())))
}

fn weight_kinds() -> impl TypedValueParser<Value = WeightKind> {
    named(WeightKind::ALL.map(|kind| {
        let about = match kind {
            WeightKind::Frequency => "Rows: 2 counts as the row twice",
            WeightKind::Precision => {
                "Relative precision: 2 halves the row's variance; divided by the mean weight so far"
            }
        };
        described(kind.name(), about)
    }))
}

fn outliers() -> impl TypedValueParser<Value = Outliers> {
    named(Outliers::ALL.map(|choice| {
        let about = match choice {
            Outliers::Keep => "As much as any other",
            Outliers::Downweight => "Less the further it is, from three standard deviations on",
        };
        described(choice.name(), about)
    }))
}

fn drift_modes() -> impl TypedValueParser<Value = DriftMode> {
    named(DriftMode::ALL.map(|mode| {
        let about = match mode {
            DriftMode::Off => "Constant; a note says whether following a drift would have helped",
            DriftMode::Adapt => "Changing from row 129 on",
            DriftMode::Detect => "Constant until a drift is certain, then followed",
        };
        described(mode.name(), about)
    }))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use kalmia_model::Parameter;

    #[test]
    fn the_help_states_the_defaults_of_the_methods() {
        let command = crate::args::Cli::command();
        let fit = command.find_subcommand("fit").unwrap();
        let help = |name: &str| {
            let arg = fit.get_arguments().find(|arg| arg.get_id() == name).unwrap();
            arg.get_help().unwrap().to_string()
        };
        for parameter in Parameter::ALL {
            let text = help(parameter.name()).replace('\n', " ");
            let stated = text.contains(&format!("[default: {}]", parameter.default_text()));
            // a flag is off, and the oracle's step is another default
            let silent =
                matches!(parameter, Parameter::Diameter | Parameter::Averaged | Parameter::Oracle);
            assert_eq!(stated, !silent, "{}: {text}", parameter.name());
        }
        // the page of the command has the same defaults, the horizon's with a word more
        let page = include_str!("../../../../docs/command.md");
        for parameter in Parameter::ALL {
            let option = format!("`--{}`", parameter.name().replace('_', "-"));
            let default = match parameter {
                Parameter::Diameter | Parameter::Averaged => String::new(),
                Parameter::Horizon => format!(" [{}, counted first]", parameter.default_text()),
                _ => format!(" [{}]", parameter.default_text()),
            };
            assert!(page.contains(&format!("{option}{default}")), "{option}{default}");
        }
    }
}
