//! Pictures of the mean squared error at one number of rows over the values of a parameter.

use super::{Finished, Picture, mse};
use crate::experiment::Panel;
use kalmia_chart::{Axis, Band, Color, Plot, Point, Series, compose};

/// One line of a sweep: a method's entry, with its name in the legend.
pub(super) struct Line<'a> {
    pub method: &'a str,
    pub label: String,
    pub color: Color,
    pub dash: &'a [f64],
}

/// The error at the last checkpoint over the values of `parameter`, a line per method. A method
/// without that parameter is a level line.
pub(super) fn plot(panel: &Panel, title: &str, parameter: &str, x: &str, lines: &[Line]) -> Plot {
    let last = panel.checkpoints.len() - 1;
    let values = || {
        let grids = panel.curves.iter().flat_map(|c| &c.grid);
        grids.filter(|(name, _)| name == parameter).map(|(_, value)| *value)
    };
    let ends = [values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max)];
    let mut series = Vec::new();
    for line in lines {
        let mut at: Vec<(f64, f64, f64)> = panel
            .sweep(line.method, parameter)
            .into_iter()
            .map(|(value, curve)| (value, curve.mse()[last], curve.standard_error()[last]))
            .collect();
        if let (true, Some(level)) = (at.is_empty(), panel.curve(line.method)) {
            let (mse, error) = (level.mse()[last], level.standard_error()[last]);
            at = ends.map(|end| (end, mse, error)).to_vec();
        }
        at.retain(|(_, mse, _)| mse.is_finite());
        at.sort_by(|a, b| a.0.total_cmp(&b.0));
        let factor = |mse: f64, error: f64| (1.96 * error / mse).exp();
        series.push(Series {
            dash: line.dash.to_vec(),
            band: at
                .iter()
                .map(|&(_, mse, error)| factor(mse, error))
                .zip(&at)
                .map(|(factor, at)| Band { lower: at.1 / factor, upper: at.1 * factor })
                .collect(),
            ..Series::line(
                line.label.clone(),
                line.color,
                at.iter().map(|&(value, mse, _)| Point::new(value, mse)).collect(),
            )
        });
    }
    let points = || series.iter().flat_map(|s| s.points.iter());
    let spread = ends[1] / ends[0] > 20.0;
    Plot {
        title: title.into(),
        x: if spread {
            Axis::log(x, points().map(|p| p.x))
        } else {
            Axis::linear(x, ends[0], ends[1])
        },
        y: Axis::log("mean squared error ‖θ−θ*‖²", points().map(|p| p.y)),
        series,
        marks: Vec::new(),
    }
}

/// A figure of one picture with the errors of all panels.
pub(super) fn finished(
    name: &str,
    paper: &str,
    caption: String,
    plots: &[Plot],
    panels: Vec<Panel>,
) -> Finished {
    let picture = Picture {
        name: name.into(),
        scene: compose(&caption, plots),
        csv: csv(&panels.iter().collect::<Vec<_>>()),
        caption,
    };
    Finished { paper: paper.into(), pictures: vec![picture], panels, ..Finished::default() }
}

/// All panels' errors in one CSV file.
pub(super) fn csv(panels: &[&Panel]) -> String {
    let mut csv = String::from("setting,algorithm,n,mse,standard_error\n");
    for panel in panels {
        for line in mse::csv(panel).lines().skip(1) {
            csv.push_str(&format!("{},{line}\n", panel.name));
        }
    }
    csv
}
