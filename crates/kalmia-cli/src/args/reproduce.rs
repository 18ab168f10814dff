//! The arguments of `kalmia reproduce`.

use super::names::whole;
use clap::Args;
use std::path::PathBuf;

/// Reproduce the paper's experiments and figures
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kalmia reproduce all
  kalmia reproduce comparison1 beyond --horizon 1e4 --replicates 20 --out figures
  kalmia reproduce theta-star --iterations 1e9")]
pub struct ReproduceArgs {
    /// comparison1, density, comparison10, misspecified, beyond, bounds or all; theta-star must be
    /// the only one
    #[arg(required = true, value_name = "FIGURE")]
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
