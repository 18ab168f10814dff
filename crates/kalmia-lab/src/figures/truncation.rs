//! The figure `truncation`: Algorithm 2 over its threshold $c\,t^{-\beta}$.

use super::sweep;
use super::{Finished, run_all, sample};
use crate::error::Result;
use crate::experiment::{Experiment, MethodSpec, Panel};
use crate::number::scientific;
use crate::settings::{Figure, Settings};
use crate::workers::Workers;
use kalmia_chart::{Axis, Color, Plot, Point, Series};

const PAPER: &str = "“In the first setting the truncation deteriorates the performance of the \
    EKF.” The paper has c = 1 and β = 0.49; Bercu, Godichon and Portier c = 10⁻¹⁰.";

const BETAS: [f64; 5] = [0.1, 0.2, 0.3, 0.4, 0.49];
const SCALES: [f64; 5] = [10.0, 1.0, 0.1, 0.01, 1e-10];

pub(super) fn figure(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let length = settings.shorter(10, 1);
    let experiments = [("comparison1", "truncation"), ("comparison10_theory", "truncation10")]
        .map(|(setting, name)| experiment(setting, name))
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    let panels = run_all(Figure::Truncation, &experiments, length, workers)?;
    let plots = [plot(&panels[0], "θ*"), plot(&panels[1], "θ*/10")];
    let caption = format!(
        "Mean squared error of the truncated EKF at the last row over β and c of its threshold \
         c t^(−β), {}. The EKF has no threshold.",
        sample(length)
    );
    Ok(sweep::finished("truncation", PAPER, caption, &plots, panels))
}

fn experiment(setting: &str, name: &str) -> Result<Experiment> {
    let truncated = MethodSpec::new("truncated", "truncated EKF")
        .with_grid("beta", &BETAS)
        .with_grid("scale", &SCALES);
    Experiment::on_rows_of(setting, name, vec![MethodSpec::new("ekf", "EKF"), truncated])
}

/// A line per scale over the exponents.
fn plot(panel: &Panel, title: &str) -> Plot {
    let last = panel.checkpoints.len() - 1;
    let error = |scale: f64, beta: f64| {
        let has = |grid: &[(String, f64)], name: &str, value: f64| {
            grid.iter().any(|(known, v)| known == name && *v == value)
        };
        let of = |c: &&crate::experiment::Curve| {
            has(&c.grid, "scale", scale) && has(&c.grid, "beta", beta)
        };
        panel.curves.iter().find(of).map_or(f64::NAN, |curve| curve.mse()[last])
    };
    let mut series: Vec<Series> = SCALES
        .iter()
        .zip(Color::PALETTE.iter().skip(1))
        .map(|(&scale, &color)| {
            let points = BETAS.map(|beta| Point::new(beta, error(scale, beta))).to_vec();
            let label = if scale < 1e-3 {
                format!("c = {} (Bercu)", scientific(scale, 0))
            } else {
                format!("c = {scale}")
            };
            Series::line(label, color, points)
        })
        .collect();
    if let Some(ekf) = panel.curve("ekf") {
        let level = ekf.mse()[last];
        let points = vec![Point::new(BETAS[0], level), Point::new(BETAS[4], level)];
        let line = Series::line("EKF", Color::PALETTE[0], points);
        series.push(Series { dash: vec![7.0, 3.0], ..line });
    }
    let values: Vec<f64> = series.iter().flat_map(|s| s.points.iter().map(|p| p.y)).collect();
    Plot {
        title: title.into(),
        x: Axis::linear("β", BETAS[0], 0.5),
        y: Axis::log("mean squared error ‖θ−θ*‖²", values),
        series,
        marks: Vec::new(),
    }
}
