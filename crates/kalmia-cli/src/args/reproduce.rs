//! The arguments of `kalmia reproduce`.

use super::names::{described, whole};
use clap::Args;
use clap::builder::PossibleValuesParser;
use kalmia_lab::Figure;
use std::path::PathBuf;

/// Reproduce the paper's experiments and figures
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kalmia reproduce all
  kalmia reproduce comparison1 beyond --horizon 1e4 --replicates 20 --out figures
  kalmia reproduce theta-star --iterations 1e9")]
pub struct ReproduceArgs {
    /// The figures; theta-star must be the only one
    #[arg(required = true, value_name = "FIGURE", value_parser = figures())]
    pub figures: Vec<String>,
    /// Rows of each replicate of a figure [default: 1e5]
    #[arg(long, value_parser = whole)]
    pub horizon: Option<u64>,
    /// Independent replicates of a figure [default: 100]
    #[arg(long, value_parser = whole)]
    pub replicates: Option<u64>,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Threads, 0 for one per core; results do not depend on it
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Folder for the figures and the report
    #[arg(long, default_value = "reproduction", value_name = "DIR")]
    pub out: PathBuf,
    /// Rows that theta-star learns from
    #[arg(long, default_value = "1e9", value_parser = whole)]
    pub iterations: u64,
    /// Print every number as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The figures by name, with a line of help each.
fn figures() -> PossibleValuesParser {
    let figures = Figure::ALL.map(|figure| described(figure.name(), figure.title()));
    let others = [
        described("all", "All figures"),
        described("theta-star", "The paper's long run for the misspecified setting"),
    ];
    PossibleValuesParser::new(figures.into_iter().chain(others).collect::<Vec<_>>())
}
