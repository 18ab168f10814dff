//! One function per figure: runs the simulation, draws the pictures, quotes the paper.

mod beyond;
mod bounds;
mod comparison;
mod density;

use crate::bounds::Bounds;
use crate::density::Density;
use crate::error::Result;
use crate::experiment::Panel;
use crate::number::count;
use crate::settings::{Figure, Settings};
use crate::workers::Workers;
use crate::world::D;
use kalmia_chart::{Axis, Band, Color, Plot, Point, Scene, Series, compose};
use std::time::Duration;

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
#[derive(Debug, Clone)]
pub struct Finished {
    /// Which one.
    pub figure: Figure,
    /// What the paper says about it.
    pub paper: &'static str,
    /// Its pictures.
    pub pictures: Vec<Picture>,
    /// Its mean squared errors, if any.
    pub panels: Vec<Panel>,
    /// Its densities.
    pub densities: Vec<Density>,
    /// Its simulated risks.
    pub bounds: Option<Bounds>,
    /// The time it took; set by [`crate::reproduce()`].
    pub elapsed: Duration,
}

/// Runs one figure.
pub fn make(figure: Figure, settings: &Settings, workers: &Workers) -> Result<Finished> {
    match figure {
        Figure::Comparison1 => comparison::comparison1(settings, workers),
        Figure::Density => Ok(density::density(settings, workers)),
        Figure::Comparison10 => comparison::comparison10(settings, workers),
        Figure::Misspecified => comparison::misspecified(settings, workers),
        Figure::Beyond => beyond::figure(settings, workers),
        Figure::Bounds => bounds::figure(settings, workers),
    }
}

fn norm(theta: &[f64; D]) -> f64 {
    theta.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// A figure without densities and bounds.
fn finished(
    figure: Figure,
    paper: &'static str,
    pictures: Vec<Picture>,
    panels: Vec<Panel>,
) -> Finished {
    Finished {
        figure,
        paper,
        pictures,
        panels,
        densities: Vec::new(),
        bounds: None,
        elapsed: Duration::ZERO,
    }
}

/// `100 replicates of 10⁵ rows, ...`.
fn sample(settings: &Settings) -> String {
    format!(
        "{} replicates of {} rows, bands of 1.96 standard errors of the logarithm",
        settings.replicates,
        count(settings.horizon)
    )
}

/// Color and dashes of an algorithm, the same in every figure.
fn style(key: &str) -> (Color, Vec<f64>) {
    let [black, blue, orange, green, pink, brown, sky, gray] = Color::PALETTE;
    match key {
        "ekf" => (black, vec![]),
        "ekf_averaged" => (gray, vec![7.0, 3.0]),
        "truncated" => (blue, vec![10.0, 5.0]),
        "implicit" => (blue, vec![]),
        "truncated_bercu" => (sky, vec![2.0, 4.0]),
        "ons" | "moment_match" => (orange, vec![]),
        "ons_averaged" => (green, vec![7.0, 3.0]),
        "auto" => (green, vec![]),
        "asgd" => (pink, vec![]),
        "asgd_oracle" => (brown, vec![7.0, 3.0]),
        "maximum_likelihood" => (gray, vec![7.0, 3.0]),
        _ => (brown, vec![]),
    }
}

/// The picture of a panel from some `n` on, and its CSV file.
fn mse_picture(panel: &Panel, title: &str, caption: String, from: u64) -> Picture {
    let from = if panel.checkpoints.last() > Some(&from) { from } else { 1 };
    let mut csv = String::from("algorithm,n,mse,standard_error\n");
    let mut series = Vec::new();
    for curve in &panel.curves {
        let (color, dash) = style(curve.key);
        let mut points = Vec::new();
        let mut band = Vec::new();
        for ((&n, mse), error) in
            panel.checkpoints.iter().zip(curve.mse()).zip(curve.standard_error())
        {
            // An estimate that does not exist for all replicates has no mean.
            if mse.is_finite() {
                csv.push_str(&format!("{},{n},{mse:e},{error:e}\n", curve.key));
                if n >= from {
                    points.push(Point::new(n as f64, mse));
                    // Errors of the logarithm: a wide band then stays above 0 on the log axis.
                    let factor = (1.96 * error / mse).exp();
                    band.push(Band { lower: mse / factor, upper: mse * factor });
                }
            }
        }
        series.push(Series { label: curve.label.into(), color, dash, points, band, filled: false });
    }
    let values = series.iter().flat_map(|s| s.points.iter().map(|p| p.y)).collect::<Vec<_>>();
    let plot = Plot {
        title: title.into(),
        x: Axis::log("n", series.iter().flat_map(|s| s.points.iter().map(|p| p.x))),
        y: Axis::log("mean squared error ‖θ−θ*‖²", values),
        series,
        marks: Vec::new(),
    };
    Picture { name: panel.name.into(), scene: compose(&caption, &[plot]), csv, caption }
}
