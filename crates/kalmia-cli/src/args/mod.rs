//! The arguments as typed: one declaration that yields the parser, the help, the man page and the
//! completions.

#[cfg(feature = "lab")]
mod bounds;
mod data;
mod fit;
mod left_out;
mod model;
mod names;
#[cfg(feature = "lab")]
mod reproduce;
#[cfg(feature = "serve")]
mod serve;

#[cfg(feature = "lab")]
pub use bounds::BoundsArgs;
pub use data::{MissingArgs, SourceArgs};
pub use fit::{CompareArgs, FitArgs, RoleArgs};
pub use left_out::left_out;
pub use model::{
    CompletionsArgs, EvaluateArgs, ExportArgs, ExportFormat, InspectArgs, IntervalOf, ManArgs,
    MergeArgs, OutputFormat, PolishArgs, PredictArgs, PruneArgs, UpdateArgs,
};
pub use names::Names;
#[cfg(feature = "lab")]
pub use reproduce::ReproduceArgs;
#[cfg(feature = "serve")]
pub use serve::ServeArgs;

use clap::{Parser, Subcommand};

/// What every help page ends with.
const EXIT_CODES: &str = "\
Exit codes: 0 success; 2 bad usage or input (arguments, files, rows or models); \
1 any other failure (a full disk, an interruption).";

/// The same, after what the build was made without.
fn after_help() -> String {
    left_out::note().map_or(EXIT_CODES.into(), |note| format!("{note}\n\n{EXIT_CODES}"))
}

/// Fit generalized linear models in one pass over files or a stream, with nothing to tune
#[derive(Debug, Parser)]
#[command(name = "kalmia", version, after_help = after_help(), propagate_version = true)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// Print no notes and no progress, only errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Learn a model from files in one pass
    Fit(Box<FitArgs>),
    /// Predict rows with a model, with intervals
    Predict(PredictArgs),
    /// Score a model on files, without learning from them
    Evaluate(EvaluateArgs),
    /// Continue learning from more files
    Update(UpdateArgs),
    /// Show the coefficients, scores and history of a model
    Inspect(InspectArgs),
    /// Combine models that learned from different rows
    Merge(MergeArgs),
    /// Bring a model to the maximum likelihood by further passes over its files
    Polish(PolishArgs),
    /// Make a wide model smaller, and measure what that costs
    Prune(PruneArgs),
    /// Run every method on the same rows, side by side
    Compare(Box<CompareArgs>),
    /// Write a model as JSON or ONNX for other programs
    Export(ExportArgs),
    /// Serve models that learn over HTTP, durably
    #[cfg(feature = "serve")]
    Serve(ServeArgs),
    /// Reproduce the paper's experiments and figures
    #[cfg(feature = "lab")]
    Reproduce(ReproduceArgs),
    /// Compute the paper's bounds for given constants
    #[cfg(feature = "lab")]
    Bounds(BoundsArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print a manual page, or write all of them to a folder
    Man(ManArgs),
}

impl Command {
    /// Whether the columns and the method are chosen here, not by a model.
    pub fn chooses(&self) -> bool {
        matches!(self, Self::Fit(_) | Self::Compare(_))
    }

    /// Whether the family is inferred from the first rows.
    pub fn infers_family(&self) -> bool {
        match self {
            Self::Fit(args) => args.roles.family.is_inferred(),
            Self::Compare(args) => args.roles.family.is_inferred(),
            _ => false,
        }
    }
}
