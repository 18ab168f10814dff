//! One function per figure: runs the simulation, draws the pictures, quotes the paper.

mod beyond;
mod bounds;
mod comparison;
mod coverage;
mod density;
mod lambda;
mod mse;
mod phases;
mod prior;
mod quadratic;
mod scaling;
mod sweep;
mod truncation;

pub use comparison::{OPTIMISTIC_STRONG, OPTIMISTIC_WEAK};
pub use lambda::{LambdaSweep, Sweep};
pub use scaling::{Cost, Scaling};

use crate::bounds::Bounds;
use crate::bounds::phases::PhaseCurve;
use crate::density::Density;
use crate::error::Result;
use crate::experiment::{Experiment, Length, Panel};
use crate::number::count;
use crate::settings::{Figure, Settings};
use crate::workers::Workers;
use kalmia_chart::Scene;
use std::time::Duration;

pub use mse::own;

/// A picture with its data.
#[derive(Debug, Clone)]
pub struct Picture {
    /// Name of its files.
    pub name: String,
    /// The drawing.
    pub scene: Scene,
    /// The data behind it, as CSV.
    pub csv: String,
    /// What it shows.
    pub caption: String,
}

/// A finished figure.
#[derive(Debug, Clone, Default)]
pub struct Finished {
    /// Its name in commands.
    pub name: String,
    /// What it shows, as a heading.
    pub title: String,
    /// What the paper says about it.
    pub paper: String,
    /// The command that makes it again.
    pub command: String,
    /// Its pictures.
    pub pictures: Vec<Picture>,
    /// Its mean squared errors, if any.
    pub panels: Vec<Panel>,
    /// Its densities.
    pub densities: Vec<Density>,
    /// Its simulated risks.
    pub bounds: Option<Bounds>,
    /// Its runs of the ONS over initial matrices.
    pub lambda: Option<LambdaSweep>,
    /// Its measured times.
    pub scaling: Option<Scaling>,
    /// Its two-phase curves.
    pub phases: Vec<PhaseCurve>,
    /// The time it took; set by [`crate::reproduce()`].
    pub elapsed: Duration,
}

/// Runs one figure.
pub fn make(figure: Figure, settings: &Settings, workers: &Workers) -> Result<Finished> {
    let made = match figure {
        Figure::Comparison1 => comparison::comparison1(settings, workers),
        Figure::Density => Ok(density::density(settings, workers)),
        Figure::Comparison10 => comparison::comparison10(settings, workers),
        Figure::Misspecified => comparison::misspecified(settings, workers),
        Figure::Lambda => lambda::figure(settings, workers),
        Figure::Prior => prior::figure(settings, workers),
        Figure::Truncation => truncation::figure(settings, workers),
        Figure::Coverage => coverage::figure(settings, workers),
        Figure::Quadratic => quadratic::figure(settings, workers),
        Figure::Scaling => scaling::figure(settings, workers),
        Figure::Beyond => beyond::figure(settings, workers),
        Figure::Bounds => bounds::figure(settings, workers),
        Figure::Phases => phases::figure(settings, workers),
    }?;
    Ok(Finished {
        name: figure.name().into(),
        title: figure.title().into(),
        command: settings.command(figure.name()),
        ..made
    })
}

/// Runs the experiments of a figure, with one progress bar for all of them.
fn run_all(
    figure: Figure,
    experiments: &[Experiment],
    length: Length,
    workers: &Workers,
) -> Result<Vec<Panel>> {
    let units = experiments.iter().map(|experiment| experiment.units(length)).sum();
    workers.progress.start(figure.name(), units);
    experiments.iter().map(|experiment| experiment.run(length, workers)).collect()
}

/// `100 replicates of 10⁵ rows`.
fn sample(length: Length) -> String {
    format!("{} replicates of {} rows", length.replicates, count(length.horizon))
}

/// What the bands of the mean squared errors are.
const BANDS: &str = "bands of 1.96 standard errors of the logarithm";
