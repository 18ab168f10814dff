//! The arguments of `kalmia reproduce`.

use super::names::{described, whole};
use clap::Args;
use clap::builder::PossibleValuesParser;
use kalmia_lab::{Experiment, Figure};
use std::path::PathBuf;

/// Reproduce the paper's experiments and figures
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kalmia reproduce all
  kalmia reproduce comparison1 beyond --horizon 1e4 --replicates 20 --out figures
  kalmia reproduce comparison10 --ons-lambda 1e5
  kalmia reproduce --config experiment.toml --replicates 20
  kalmia reproduce theta-star --iterations 1e9

An experiment file has one's own theta*, dimension, law of x, methods and grids; docs/laboratory.md
explains it. The experiments of the report are such files: --print-config shows one.")]
pub struct ReproduceArgs {
    /// The figures; theta-star must be the only one
    #[arg(
        required_unless_present_any = ["config", "print_config"],
        value_name = "FIGURE",
        value_parser = figures()
    )]
    pub figures: Vec<String>,
    /// Run the experiment of this file instead of the paper's
    #[arg(long, value_name = "FILE", conflicts_with = "figures")]
    pub config: Option<PathBuf>,
    /// Print an experiment file of the report, to start from
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = ["figures", "config"],
        value_parser = experiments()
    )]
    pub print_config: Option<String>,
    /// Rows of each replicate of a figure [default: 1e5, or as the file says]
    #[arg(long, value_parser = whole)]
    pub horizon: Option<u64>,
    /// Independent replicates of a figure [default: 100, or as the file says]
    #[arg(long, value_parser = whole)]
    pub replicates: Option<u64>,
    /// First matrix lambda I of every online Newton step of the comparisons; the paper gives none
    /// [default: 1/(gamma R)^2]
    #[arg(long, value_name = "LAMBDA", allow_negative_numbers = true)]
    pub ons_lambda: Option<f64>,
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

/// The experiment files of the report.
fn experiments() -> PossibleValuesParser {
    let names = Experiment::built_in().iter().map(|(name, _)| *name);
    PossibleValuesParser::new(names.collect::<Vec<_>>())
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
