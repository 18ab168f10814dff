//! Arguments of the commands that choose a method: fit and compare.

use super::data::{MissingChoice, SourceArgs};
use clap::{Args, ValueEnum};
use kalmia::learner::DriftMode;
use kalmia_data::EncoderOptions;
use std::path::PathBuf;

const FIT_EXAMPLES: &str = "\
Examples:
  kalmia fit flights.csv --target late
  kalmia fit 'day-*.csv.gz' --target visits --family poisson -o visits.kalmia
  kalmia fit people.parquet --target income --exclude id --categorical zip --missing mean
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
    /// How to learn; `auto` needs nothing, the others are the paper's algorithms and safer ones
    #[arg(long, value_enum, default_value = "auto")]
    pub method: MethodName,
    #[command(flatten)]
    pub learn: LearnArgs,
    /// Write the model here
    #[arg(long, short, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write the progressive loss along the way: rows, loss, baseline loss
    #[arg(long, value_name = "CSV")]
    pub trace: Option<PathBuf>,
    /// Draw the progressive loss against rows (.svg or .png)
    #[arg(long, value_name = "PICTURE")]
    pub plot: Option<PathBuf>,
    /// Write the model every so many rows (100000) or seconds (30s)
    #[arg(long, value_name = "ROWS|SECONDS", requires = "output")]
    pub checkpoint_every: Option<String>,
    /// Go on after the last row learned in this checkpoint, with otherwise the same arguments
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
    /// The methods, by default every one that applies
    #[arg(long, value_enum, value_delimiter = ',', value_name = "A,B")]
    pub methods: Vec<MethodName>,
    #[command(flatten)]
    pub learn: LearnArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Draw the progressive losses against rows (.svg or .png)
    #[arg(long, value_name = "PICTURE")]
    pub plot: Option<PathBuf>,
}

/// What the columns are for.
#[derive(Debug, Clone, Args)]
pub struct RoleArgs {
    /// The column to learn (libsvm has its own)
    #[arg(long, short, value_name = "COLUMN")]
    pub target: Option<String>,
    /// What the target is: auto, gaussian, bernoulli, binomial, poisson or gamma;
    /// gaussian:VARIANCE, binomial:TRIALS and gamma:DISPERSION fix a parameter
    #[arg(long, value_name = "FAMILY", default_value = "auto")]
    pub family: String,
    /// The feature columns, in this order; by default every other column
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "A,B",
        conflicts_with = "exclude",
        help_heading = "Columns"
    )]
    pub features: Option<Vec<String>>,
    /// Columns left out
    #[arg(long, value_delimiter = ',', value_name = "A,B", help_heading = "Columns")]
    pub exclude: Vec<String>,
    /// Columns read as categories even where they hold numbers
    #[arg(long, value_delimiter = ',', value_name = "A,B", help_heading = "Columns")]
    pub categorical: Vec<String>,
    /// A column that multiplies each row's loss
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub weight: Option<String>,
    /// A column added to the linear predictor
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub offset: Option<String>,
    /// The label of a two-valued target that counts as 1
    #[arg(long, value_name = "LABEL", help_heading = "Columns")]
    pub positive: Option<String>,
    /// No constant feature
    #[arg(long, help_heading = "Columns")]
    pub no_intercept: bool,
    /// What a missing value does
    #[arg(long, value_enum, default_value = "error", help_heading = "Columns")]
    pub missing: MissingChoice,
    /// Most features accepted, categories included
    #[arg(long, value_name = "N", default_value_t = EncoderOptions::default().max_features, help_heading = "Columns")]
    pub max_features: usize,
}

/// What a method may be told.
#[derive(Debug, Clone, Args)]
pub struct LearnArgs {
    /// Whether the coefficients may move over time (auto only)
    #[arg(long, value_enum, default_value = "off", help_heading = "Method")]
    pub drift: DriftChoice,
    /// Prior variance of the coefficients (ekf, truncated, implicit, moment)
    #[arg(long, value_name = "V", default_value_t = 1.0, help_heading = "Method")]
    pub prior: f64,
    /// Radius of the ball (ons)
    #[arg(long, value_name = "R", default_value_t = 10.0, help_heading = "Method")]
    pub radius: f64,
    /// Exp-concavity constant of the losses over the ball (ons)
    #[arg(long, value_name = "A", default_value_t = 0.025, help_heading = "Method")]
    pub exp_concavity: f64,
    /// Number of rows that will come (asgd); by default they are counted first
    #[arg(long, value_name = "N", help_heading = "Method")]
    pub horizon: Option<u64>,
}

/// The methods by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MethodName {
    /// Mixture of moment-matching filters with several priors
    Auto,
    /// Static extended Kalman filter (Algorithm 1)
    Ekf,
    /// Truncated extended Kalman filter (Algorithm 2)
    Truncated,
    /// Implicit filter: the exact scalar step
    Implicit,
    /// Moment-matching filter
    Moment,
    /// Online Newton step (Algorithm 3)
    Ons,
    /// Averaged stochastic gradient descent
    Asgd,
}

impl MethodName {
    /// As typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ekf => "ekf",
            Self::Truncated => "truncated",
            Self::Implicit => "implicit",
            Self::Moment => "moment",
            Self::Ons => "ons",
            Self::Asgd => "asgd",
        }
    }
}

/// Whether the coefficients may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DriftChoice {
    /// Static; the summary tells where following a drift would have helped
    Off,
    /// Followed
    Adapt,
    /// Static until a drift is beyond doubt, then followed
    Detect,
}

impl DriftChoice {
    /// As the library calls it.
    pub fn library(self) -> DriftMode {
        match self {
            Self::Off => DriftMode::Off,
            Self::Adapt => DriftMode::Adapt,
            Self::Detect => DriftMode::Detect,
        }
    }
}
