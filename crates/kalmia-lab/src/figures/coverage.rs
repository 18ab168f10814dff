//! The figure `coverage`: how often the filters' 95 % intervals hold $\theta^*$.

use super::{Finished, Picture, run_all, sample};
use crate::error::Result;
use crate::experiment::{Experiment, MethodSpec, Panel};
use crate::settings::{Figure, Settings};
use crate::statistics::{mean, standard_error};
use crate::workers::Workers;
use kalmia_chart::{Axis, Band, Color, Plot, Point, Series, compose};

const PAPER: &str = "Not in the paper: P_t is the covariance that a filter claims for its \
    estimate. If it is right, intervals of ±1.96 standard errors hold θ* in 95 % of the cases.";

pub(super) fn figure(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let length = settings.length();
    let experiments = [
        ("comparison10_theory", "coverage10"),
        ("misspecified", "coverage_misspecified"),
        ("comparison1", "coverage"),
    ]
    .map(|(setting, name)| experiment(setting, name))
    .into_iter()
    .collect::<Result<Vec<_>>>()?;
    let panels = run_all(Figure::Coverage, &experiments, length, workers)?;
    let titled = [("θ*/10", &panels[0]), ("misspecified", &panels[1]), ("θ*", &panels[2])];
    let mut picture = picture(&titled, "coverage");
    picture.caption = format!(
        "Share of the coefficients inside their 95 % intervals, mean over {}. The dotted line is \
         95 %. Sandwich intervals take P (Σ ℓ'² x xᵀ) P in place of P; in the misspecified setting \
         only they are meant to hold.",
        sample(length)
    );
    Ok(Finished { paper: PAPER.into(), pictures: vec![picture], panels, ..Finished::default() })
}

fn experiment(setting: &str, name: &str) -> Result<Experiment> {
    let methods = vec![
        MethodSpec::new("ekf", "EKF"),
        MethodSpec::new("moment", "moment matching, p₁ = 100").with("prior", 100.0),
        MethodSpec::new("auto", "auto"),
    ];
    let experiment = Experiment::on_rows_of(setting, name, methods)?;
    Ok(Experiment { coverage: true, ..experiment })
}

/// Coverage along the rows, a plot per panel.
pub(super) fn picture(panels: &[(&str, &Panel)], name: &str) -> Picture {
    let plots: Vec<Plot> = panels.iter().map(|(title, panel)| plot(title, panel)).collect();
    let mut csv = String::from("setting,algorithm,n,coverage,standard_error\n");
    for (_, panel) in panels {
        for curve in &panel.curves {
            for (n, covered) in panel.checkpoints.iter().zip(&curve.coverage) {
                let (share, error) = (mean(covered), standard_error(covered));
                csv.push_str(&format!("{},{},{n},{share:e},{error:e}\n", panel.name, curve.key));
            }
        }
    }
    let caption = String::from("Share of the coefficients inside their 95 % intervals.");
    let name = if name == "coverage" { name.into() } else { format!("{name}_coverage") };
    Picture { name, scene: compose(&caption, &plots), csv, caption }
}

fn plot(title: &str, panel: &Panel) -> Plot {
    let palette = Color::PALETTE;
    let horizon = panel.horizon() as f64;
    let mut series = Vec::new();
    let measured = panel.curves.iter().filter(|c| !c.coverage.is_empty());
    for (index, curve) in measured.enumerate() {
        let sandwich = curve.key.ends_with("_sandwich");
        let color = palette[[0, 2, 3, 1, 4, 5, 6, 7][index / 2 % 8]];
        let dash = if sandwich { vec![7.0, 3.0] } else { vec![] };
        let shares: Vec<(f64, f64)> =
            curve.coverage.iter().map(|c| (mean(c), 1.96 * standard_error(c))).collect();
        let points = panel.checkpoints.iter().zip(&shares);
        let points = points.map(|(&n, (share, _))| Point::new(n as f64, *share)).collect();
        let band = shares.iter().map(|(s, e)| Band { lower: s - e, upper: s + e }).collect();
        series.push(Series { dash, band, ..Series::line(curve.label.clone(), color, points) });
    }
    let level = vec![Point::new(1.0, 0.95), Point::new(horizon, 0.95)];
    let line = Series::line("95 %", Color::INK, level);
    series.push(Series { dash: vec![2.0, 3.0], ..line });
    Plot {
        title: title.into(),
        x: Axis::log("n", [1.0, horizon]),
        y: Axis::linear("share covered", 0.0, 1.0),
        series,
        marks: Vec::new(),
    }
}
