//! Arguments of the commands that take a model, and of the small ones.

use super::data::{MissingArgs, SourceArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `kalmia predict`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Writes one line a row: mean, lower, upper, linear, linear_sd. For labels and proportions the interval is that of the mean, else that of a new y.

Examples:
  kalmia predict late.kalmia tomorrow.csv -o predictions.csv
  kalmia predict late.kalmia tomorrow.csv --keep flight,date | head")]
pub struct PredictArgs {
    /// The model file
    pub model: PathBuf,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub missing: MissingArgs,
    /// Write here (.csv or .parquet) in place of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Columns of the input to carry along, or `all`
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub keep: Vec<String>,
    /// Probability of the interval
    #[arg(long, default_value_t = 0.95, value_name = "P")]
    pub level: f64,
    /// What the interval holds
    #[arg(long, value_enum)]
    pub interval: Option<IntervalOf>,
}

/// What an interval holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IntervalOf {
    /// The mean of y: uncertainty of the model alone
    Mean,
    /// A new y: the noise included
    Y,
}

/// `kalmia evaluate`.
#[derive(Debug, Clone, Args)]
pub struct EvaluateArgs {
    /// The model file
    pub model: PathBuf,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub missing: MissingArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `kalmia update`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "An update that was interrupted goes on where its last checkpoint is when the same command is given again.

Example:
  kalmia update late.kalmia tuesday.csv"
)]
pub struct UpdateArgs {
    /// The model file, replaced unless -o names another
    pub model: PathBuf,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub missing: MissingArgs,
    /// Write the model here in place of the one read
    #[arg(long, short, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write the model every so many rows (100000) or seconds (30s)
    #[arg(long, value_name = "ROWS|SECONDS")]
    pub checkpoint_every: Option<String>,
}

/// `kalmia inspect`.
#[derive(Debug, Clone, Args)]
pub struct InspectArgs {
    /// The model file
    pub model: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `kalmia merge`.
#[derive(Debug, Clone, Args)]
pub struct MergeArgs {
    /// A model file
    pub a: PathBuf,
    /// Another, with the same features, that learned from other rows
    pub b: PathBuf,
    /// Write the merged model here
    #[arg(long, short, value_name = "MODEL")]
    pub output: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `kalmia export`.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// The model file
    pub model: PathBuf,
    /// For whom
    #[arg(long, value_enum, default_value = "json")]
    pub format: ExportFormat,
    /// Write here in place of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Formats of `kalmia export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Coefficients, covariance and schema
    Json,
    /// The plug-in predictor as an ONNX graph over the encoded features
    Onnx,
}

/// `kalmia bounds`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  kalmia bounds list
  kalmia bounds result_logistic --help
  kalmia bounds uniform_design --m 10
  kalmia bounds evaluate cases.json")]
pub struct BoundsArgs {
    /// `list`, `evaluate FILE.json`, or a bound and its parameters as `--name value`
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "WHAT"
    )]
    pub words: Vec<String>,
}

/// `kalmia completions`.
#[derive(Debug, Clone, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
