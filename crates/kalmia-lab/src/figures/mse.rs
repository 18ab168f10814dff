//! Pictures of mean squared errors along the rows, with the efficient limit.

use super::{BANDS, Finished, Picture, sample};
use crate::error::Result;
use crate::experiment::{Curve, Experiment, Length, Panel};
use crate::workers::Workers;
use kalmia_chart::{Axis, Band, Color, Plot, Point, Series, compose};

/// Curves this close everywhere are drawn once.
const COINCIDE: f64 = 0.01;
/// The line of the efficient limit.
const LIMIT_DASH: [f64; 2] = [2.0, 3.0];

/// The figure of an experiment of one's own.
pub fn own(experiment: &Experiment, length: Length, workers: &Workers) -> Result<Finished> {
    workers.progress.start(&experiment.name, experiment.units(length));
    let panel = experiment.run(length, workers)?;
    let star = if panel.population.estimated { "; θ* estimated from many draws of x" } else { "" };
    let caption = format!("{}: {}, {BANDS}{star}.", experiment.title, sample(length));
    let mut pictures = vec![picture(&panel, caption, experiment.draw_from)];
    if experiment.coverage {
        pictures.push(super::coverage::picture(&[(&experiment.title, &panel)], &panel.name));
    }
    Ok(Finished {
        name: experiment.name.clone(),
        title: experiment.title.clone(),
        pictures,
        panels: vec![panel],
        ..Finished::default()
    })
}

/// The picture of a panel from some `n` on, and its CSV file.
pub(super) fn picture(panel: &Panel, caption: String, from: u64) -> Picture {
    let plot = plot(panel, from);
    Picture {
        name: panel.name.clone(),
        scene: compose(&caption, &[plot]),
        csv: csv(panel),
        caption,
    }
}

/// Every mean squared error that exists.
pub(super) fn csv(panel: &Panel) -> String {
    let mut csv = String::from("algorithm,n,mse,standard_error\n");
    for curve in &panel.curves {
        let points = panel.checkpoints.iter().zip(curve.mse()).zip(curve.standard_error());
        for ((n, mse), error) in points.filter(|((_, mse), _)| mse.is_finite()) {
            csv.push_str(&format!("{},{n},{mse:e},{error:e}\n", curve.key));
        }
    }
    csv
}

/// Mean squared errors with bands, and the efficient limit.
pub(super) fn plot(panel: &Panel, from: u64) -> Plot {
    let from = if panel.checkpoints.last() > Some(&from) { from } else { 1 };
    let mut series = Vec::new();
    for (curve, twins) in groups(panel, from) {
        let mut line = line(panel, curve, from);
        if !twins.is_empty() {
            line.label += &format!(" = {}", twins.join(" = "));
        }
        series.push(line);
    }
    let values: Vec<f64> = series.iter().flat_map(|s| s.points.iter().map(|p| p.y)).collect();
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let limit = panel.population.efficient;
    // Below the curves the limit would only stretch the axis.
    let drawn = panel.checkpoints.iter().filter(|n| **n >= from).map(|&n| n as f64);
    let points: Vec<Point> =
        drawn.map(|n| Point::new(n, limit / n)).filter(|p| p.y >= 0.5 * lowest).collect();
    let x = Axis::log("n", series.iter().flat_map(|s| s.points.iter().map(|p| p.x)));
    let y = Axis::log("mean squared error ‖θ−θ*‖²", values);
    if points.len() > 1 {
        let label = "efficient limit";
        series
            .push(Series { dash: LIMIT_DASH.to_vec(), ..Series::line(label, Color::INK, points) });
    }
    Plot { title: panel.title.clone(), x, y, series, marks: Vec::new() }
}

/// The curves to draw, each with the labels of later ones that coincide with it.
fn groups(panel: &Panel, from: u64) -> Vec<(&Curve, Vec<&str>)> {
    let first = panel.checkpoints.iter().position(|&n| n >= from).unwrap_or(0);
    let mut groups: Vec<(&Curve, Vec<&str>)> = Vec::new();
    for curve in &panel.curves {
        let mse = curve.mse();
        let same = |other: &Curve| {
            let pairs = mse[first..].iter().zip(other.mse().split_off(first));
            pairs.into_iter().all(|(a, b)| (a / b - 1.0).abs() < COINCIDE)
        };
        match groups.iter_mut().find(|(other, _)| same(other)) {
            Some((_, twins)) => twins.push(&curve.label),
            None => groups.push((curve, Vec::new())),
        }
    }
    groups
}

fn line(panel: &Panel, curve: &Curve, from: u64) -> Series {
    let (color, dash) = style(&curve.key, panel);
    let mut points = Vec::new();
    let mut band = Vec::new();
    for ((&n, mse), error) in panel.checkpoints.iter().zip(curve.mse()).zip(curve.standard_error())
    {
        // An estimate that does not exist for all replicates has no mean.
        if mse.is_finite() && n >= from {
            points.push(Point::new(n as f64, mse));
            // Errors of the logarithm: a wide band then stays above 0 on the log axis.
            let factor = (1.96 * error / mse).exp();
            band.push(Band { lower: mse / factor, upper: mse * factor });
        }
    }
    Series { label: curve.label.clone(), color, dash, points, band, filled: false }
}

/// Color and dashes of an algorithm, the same in every figure; others in the order of the panel.
fn style(key: &str, panel: &Panel) -> (Color, Vec<f64>) {
    let [black, blue, orange, green, pink, brown, sky, gray] = Color::PALETTE;
    match key {
        "ekf" | "kalman" => (black, vec![]),
        "ekf_averaged" | "kalman_averaged" => (gray, vec![7.0, 3.0]),
        "truncated" => (blue, vec![10.0, 5.0]),
        "implicit" => (blue, vec![]),
        "truncated_bercu" => (sky, vec![2.0, 4.0]),
        "ons" | "moment" => (orange, vec![]),
        "ons_averaged" => (green, vec![7.0, 3.0]),
        "auto" => (green, vec![]),
        "asgd" => (pink, vec![]),
        "asgd_oracle" => (brown, vec![7.0, 3.0]),
        "maximum_likelihood" | "ridge" => (sky, vec![7.0, 3.0]),
        _ => {
            let index = panel.curves.iter().position(|c| c.key == key).unwrap_or(0);
            let dashes = [vec![], vec![7.0, 3.0], vec![2.0, 4.0]];
            let palette = Color::PALETTE;
            (palette[index % palette.len()], dashes[index / palette.len() % dashes.len()].clone())
        }
    }
}
