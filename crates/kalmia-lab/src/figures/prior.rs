//! The figure `prior`: how much the first variance $P_1 = p_1 I$ matters.

use super::sweep::{self, Line};
use super::{Finished, run_all, sample};
use crate::error::Result;
use crate::experiment::{Experiment, MethodSpec};
use crate::settings::{Figure, Settings};
use crate::workers::Workers;
use kalmia_chart::Color;

const PAPER: &str = "The paper takes P₁ = I. “There are initialization parameters …, but they have \
    no impact on the leading terms of our bounds.”";

/// The values of $p_1$.
const PRIORS: [f64; 5] = [0.1, 1.0, 10.0, 100.0, 1000.0];

/// The filters with a prior.
const FILTERS: [(&str, &str); 4] = [
    ("ekf", "EKF"),
    ("truncated", "truncated EKF"),
    ("implicit", "implicit"),
    ("moment", "moment matching"),
];

pub(super) fn figure(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let length = settings.shorter(10, 1);
    let experiments = [("comparison1", "prior"), ("comparison10_theory", "prior10")];
    let experiments = experiments
        .map(|(setting, name)| experiment(setting, name))
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    let panels = run_all(Figure::Prior, &experiments, length, workers)?;
    let palette = Color::PALETTE;
    let colors = [palette[0], palette[7], palette[1], palette[2]];
    let mut lines: Vec<Line> = FILTERS
        .iter()
        .zip(colors)
        .map(|(&(method, label), color)| Line { method, label: label.into(), color, dash: &[] })
        .collect();
    let auto = "auto (no prior to choose)";
    lines.push(Line { method: "auto", label: auto.into(), color: palette[3], dash: &[7.0, 3.0] });
    let titles = ["θ*", "θ*/10"];
    let plots: Vec<_> = panels
        .iter()
        .zip(titles)
        .map(|(panel, title)| sweep::plot(panel, title, "prior", "p₁", &lines))
        .collect();
    let caption = format!(
        "Mean squared error at the last row over the first variance P₁ = p₁ I, {}. The best p₁ of \
         the EKF depends on θ*, which the user does not know; `auto` has none to choose.",
        sample(length)
    );
    Ok(sweep::finished("prior", PAPER, caption, &plots, panels))
}

fn experiment(setting: &str, name: &str) -> Result<Experiment> {
    let swept =
        |(method, label): &(&str, &str)| MethodSpec::new(method, label).with_grid("prior", &PRIORS);
    let methods = FILTERS.iter().map(swept).chain([MethodSpec::new("auto", "auto")]).collect();
    Experiment::on_rows_of(setting, name, methods)
}
