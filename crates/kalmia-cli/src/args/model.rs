//! Arguments of the commands that take a model, and of the small ones.

use super::data::{MissingArgs, SourceArgs};
use super::names::{Names, described, named};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use kalmia_model::PolishPrior;
use std::path::PathBuf;

/// `kalmia predict`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Writes one line per row: mean, lower, upper, linear (the linear predictor), linear_sd (its standard
deviation), and for labels predicted, the label of the larger probability. Lower and upper are about
the mean for labels and proportions, and about a new y for other families; --interval chooses.

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
    /// Write here instead of standard output (`-`): .csv, .tsv or .jsonl, each also with .gz or
    /// .zst, .parquet or .arrow
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The format of the output, if the file name does not show it; standard output is CSV by
    /// default
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub output_format: Option<OutputFormat>,
    /// Columns of the input to copy to the output, or `all`
    #[arg(long, value_name = "A,B")]
    pub keep: Vec<Names>,
    /// Probability that the interval covers
    #[arg(long, default_value_t = 0.95, value_name = "P")]
    pub level: f64,
    /// What lower and upper are about; the default depends on the family
    #[arg(long, value_enum)]
    pub interval: Option<IntervalOf>,
}

/// Formats of `kalmia predict`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Comma-separated
    Csv,
    /// Tab-separated
    Tsv,
    /// One JSON object per line
    Jsonl,
    /// Apache Parquet
    #[cfg(feature = "columnar")]
    Parquet,
    /// Arrow IPC file
    #[cfg(feature = "columnar")]
    Arrow,
}

impl OutputFormat {
    /// Whether it is text, which may be compressed as a whole.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Jsonl)
    }
}

/// What an interval is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IntervalOf {
    /// The mean of y: uncertainty of the coefficients only
    Mean,
    /// A new observation of y: noise included
    Y,
    /// A new observation of y, held whatever the model: for models fitted with --conformal
    Conformal,
    /// No interval: without the columns lower and upper, and faster
    None,
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
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `kalmia update`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "To continue an interrupted update from its last checkpoint, give the same command
again.

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
    /// Write the model here instead of replacing the one read
    #[arg(long, short, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write the model every 100000 rows (`100000`) or every 30 seconds (`30s`)
    #[arg(long, value_name = "ROWS|SECONDS")]
    pub checkpoint_every: Option<String>,
}

/// `kalmia inspect`.
#[derive(Debug, Clone, Args)]
pub struct InspectArgs {
    /// The model file
    pub model: PathBuf,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `kalmia prune`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Features of a wide model whose coefficient is less than MIN_Z standard errors from 0 are left out.
The rows show what that costs: both models predict them, and nothing is learned.

Example:
  kalmia prune spam.kalmia recent.csv --min-z 2 -o small.kalmia")]
pub struct PruneArgs {
    /// The model file
    pub model: PathBuf,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub missing: MissingArgs,
    /// Fewest standard errors from 0 of a coefficient that stays
    #[arg(long, value_name = "MIN_Z", default_value_t = 1.0, allow_negative_numbers = true)]
    pub min_z: f64,
    /// Write the smaller model here
    #[arg(long, short, value_name = "MODEL")]
    pub output: PathBuf,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

const MERGE_HELP: &str = "\
Features are matched by name, so levels may have appeared in another order. The order of the models
does not matter. Unless the merge is exact, `kalmia polish` brings the result to the batch fit with
one more pass over the files.

Example:
  kalmia merge monday.kalmia tuesday.kalmia wednesday.kalmia -o week.kalmia";

/// `kalmia merge`.
#[derive(Debug, Clone, Args)]
#[command(after_help = MERGE_HELP)]
pub struct MergeArgs {
    /// The model files, two or more, fitted with the same arguments on different rows
    #[arg(required = true, num_args = 2.., value_name = "MODEL")]
    pub models: Vec<PathBuf>,
    /// Write the merged model here
    #[arg(long, short, value_name = "MODEL")]
    pub output: PathBuf,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

const POLISH_HELP: &str = "\
One pass over a stream gives coefficients that are close to those of a batch fit; merged models
are less close. A second pass over the same files closes the gap: it sums gradient and information
at fixed coefficients, which is exact, and takes a Newton step. Give all files that the model has
learned: a polish forgets what is not in them, and a model is not replaced by one of fewer rows.

Examples:
  kalmia polish late.kalmia flights.csv
  kalmia polish merged.kalmia 'day-*.csv' -o exact.kalmia --robust";

/// `kalmia polish`.
#[derive(Debug, Clone, Args)]
#[command(after_help = POLISH_HELP)]
pub struct PolishArgs {
    /// The model file, replaced unless -o names another
    pub model: PathBuf,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub missing: MissingArgs,
    /// Write the polished model here
    #[arg(long, short, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// At most so many passes over the files; by default until no coefficient moves by more than
    /// 0.0001 standard errors
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub passes: Option<u64>,
    /// Add standard errors that hold even if the variance is not that of the family (White's
    /// sandwich)
    #[arg(long)]
    pub robust: bool,
    /// What is known before the rows: `fitted` is the prior of the model, for auto the one that
    /// predicted the rows best; `flat` gives the maximum likelihood
    #[arg(long, value_parser = polish_priors(), default_value = "fitted")]
    pub prior: PolishPrior,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

fn polish_priors() -> impl TypedValueParser<Value = PolishPrior> {
    named(PolishPrior::ALL.map(|prior| {
        let about = match prior {
            PolishPrior::Fitted => "The prior of the model; there is always a result",
            PolishPrior::Flat => "None: the maximum likelihood, if the rows have one",
        };
        described(prior.name(), about)
    }))
}

/// `kalmia export`.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// The model file
    pub model: PathBuf,
    /// The format
    #[arg(long, value_enum, default_value = "json")]
    pub format: ExportFormat,
    /// Write here instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Formats of `kalmia export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Coefficients, covariance and schema
    Json,
    /// The prediction at the estimated coefficients, as an ONNX graph over the encoded features
    Onnx,
}

/// `kalmia man`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  kalmia man fit | man -l -
  kalmia man --output-dir ~/.local/share/man/man1     (then: man kalmia-fit)")]
pub struct ManArgs {
    /// The command whose page to print; by default the page of kalmia itself
    #[arg(value_parser = PossibleValuesParser::new(COMMANDS.iter().copied()))]
    pub command: Option<String>,
    /// Write all pages to this folder instead: kalmia.1, kalmia-fit.1, and so on
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub output_dir: Option<PathBuf>,
}

/// The commands that have a page. The parser cannot ask itself for them while it is built.
const COMMANDS: &[&str] = &[
    "fit",
    "predict",
    "evaluate",
    "update",
    "inspect",
    "merge",
    "polish",
    "prune",
    "compare",
    "export",
    #[cfg(feature = "serve")]
    "serve",
    #[cfg(feature = "lab")]
    "reproduce",
    #[cfg(feature = "lab")]
    "bounds",
    "completions",
    "man",
];

/// `kalmia completions`.
#[derive(Debug, Clone, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn every_command_has_a_page() {
        let command = crate::args::Cli::command();
        let names: Vec<_> = command.get_subcommands().map(|sub| sub.get_name()).collect();
        assert_eq!(names, super::COMMANDS);
    }
}
