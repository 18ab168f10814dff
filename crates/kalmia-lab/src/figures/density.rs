//! The figure `density`, and density plots for others.

use super::{Finished, Picture};
use crate::density::{Bin, Density};
use crate::settings::{Figure, Settings};
use crate::workers::Workers;
use crate::world::World;
use kalmia_chart::{Axis, Color, Plot, Point, Series, compose};

pub(super) fn density(settings: &Settings, workers: &Workers) -> Finished {
    workers.progress.start(Figure::Density.name(), 2);
    let left = Density::draw("theta_star", World::Strong, settings.seed);
    workers.progress.advance(1);
    let right = Density::draw("theta_star_over_10", World::Weak, settings.seed);
    workers.progress.advance(1);
    let plots = [
        density_plot("θ* (ordinate in log scale)", &left, true),
        density_plot("θ*/10", &right, false),
    ];
    let caption = "Density of the Bernoulli parameter (1+e^(−θ'X))⁻¹ with 10⁶ draws of X: θ = θ* \
        (left), θ = θ*/10 (right).";
    let picture = Picture {
        name: "density".into(),
        scene: compose(caption, &plots),
        csv: density_csv(&[&left, &right]),
        caption: caption.into(),
    };
    let paper = "“Density of (1+e^(−θ*'X))⁻¹ for θ* (left, the ordinate is in log scale) and \
        θ*/10 (right) with 10⁶ samples.” “This choice of θ* yields a distribution of the \
        Bernoulli parameter that is almost degenerated on the values 0 with small mass at 1.”";
    Finished {
        paper: paper.into(),
        pictures: vec![picture],
        densities: vec![left, right],
        ..Finished::default()
    }
}

pub(super) fn density_plot(title: &str, density: &Density, log: bool) -> Plot {
    let bins = density.bins();
    let positive = bins.iter().map(|b| b.density).filter(|h| *h > 0.0);
    let top = positive.clone().fold(0.0, f64::max);
    let y =
        if log { Axis::log("density", positive) } else { Axis::linear("density", 0.0, 1.08 * top) };
    let floor = if log { y.low } else { 0.0 };
    let step = |b: &Bin| [b.from, b.to].map(|x| Point::new(x, b.density.max(floor)));
    let points = bins.iter().flat_map(step).collect();
    let steps = Series { filled: true, ..Series::line("", Color::PALETTE[1], points) };
    Plot {
        title: title.into(),
        x: Axis::linear("Bernoulli parameter", 0.0, 1.0),
        y,
        series: vec![steps],
        marks: Vec::new(),
    }
}

pub(super) fn density_csv(densities: &[&Density]) -> String {
    let mut csv = String::from("setting,from,to,count,density\n");
    for density in densities {
        for (bin, count) in density.bins().into_iter().zip(&density.counts) {
            let Bin { from, to, density: height } = bin;
            csv.push_str(&format!("{},{from},{to},{count},{height}\n", density.name));
        }
    }
    csv
}
