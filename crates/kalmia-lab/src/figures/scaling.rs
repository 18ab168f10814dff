//! The figure `scaling`: errors over the dimension and the conditioning, and the cost of a row.

use super::{Finished, Picture, run_all, sample};
use crate::error::Result;
use crate::experiment::{Data, Experiment, Features, Law, Loss, MethodSpec, Panel};
use crate::settings::{Figure, Settings};
use crate::statistics::mean;
use crate::workers::Workers;
use kalmia::{Bernoulli, Ekf, Filter, Learner, Prior, Rows};
use kalmia_chart::{Axis, Color, Plot, Point, Series, compose};
use std::time::Instant;

const PAPER: &str = "The EKF “has a running-time complexity of O(d²) at each iteration”. In the \
    bounds its constant is d; that of first-order methods grows with D_X²/Λ_min, the conditioning \
    of E[XXᵀ].";

const DIMENSIONS: [usize; 4] = [5, 10, 20, 40];
const CONDITIONS: [f64; 4] = [1.0, 4.0, 16.0, 64.0];
/// Dimension of the runs over the conditioning.
const FIXED_DIMENSION: usize = 10;
/// $\|\theta^*\|$ with features of equal size.
const NORM: f64 = 2.0;
/// Dimensions at which the time of a row is measured.
const TIMED: [usize; 5] = [32, 64, 128, 256, 512];
/// Rows of one measurement, and how often it is repeated; the best counts.
const TIMED_ROWS: usize = 64;
const ROUNDS: usize = 7;

const METHODS: [(&str, &str); 3] =
    [("ekf", "EKF"), ("ons_averaged", "averaged ONS"), ("asgd_oracle", "ASGD oracle")];

/// What the figure measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// Time of a row of the EKF at each dimension.
    pub cost: Vec<Cost>,
}

/// The time that the EKF takes for a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Number of coefficients.
    pub dim: usize,
    /// Seconds per row, best of several measurements.
    pub seconds: f64,
}

pub(super) fn figure(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let length = settings.shorter(10, 5);
    let by_dimension = DIMENSIONS.map(|d| experiment(d, 1.0, format!("dimension_{d}")));
    let by_condition = CONDITIONS.map(|k| experiment(FIXED_DIMENSION, k, format!("condition_{k}")));
    let all: Vec<Experiment> = by_dimension.into_iter().chain(by_condition).collect();
    let panels = run_all(Figure::Scaling, &all, length, workers)?;
    let (dimensions, conditions) = panels.split_at(DIMENSIONS.len());
    let cost = TIMED.into_iter().map(measure).collect::<Result<Vec<Cost>>>()?;
    let plots = [
        ratio_plot("over the dimension", "d", DIMENSIONS.map(|d| d as f64), dimensions),
        ratio_plot(
            "over the conditioning",
            "largest / smallest variance of a feature",
            CONDITIONS,
            conditions,
        ),
        cost_plot(&cost),
    ];
    let caption = format!(
        "Above: squared error in the norm of the Hessian of the risk, in units of its efficient \
         limit d/n; logistic, features uniform on [−1, 1] with equal effects, {}. Left over d, \
         ‖θ*‖ = 2; right over the ratio of the features' variances, d = {FIXED_DIMENSION}, half of \
         the features small. Below: time of a row of the EKF, row by row, with a line of slope 2.",
        sample(length)
    );
    let picture = Picture {
        name: "scaling".into(),
        scene: compose(&caption, &plots),
        csv: csv(dimensions, conditions, &cost),
        caption,
    };
    Ok(Finished {
        paper: PAPER.into(),
        pictures: vec![picture],
        scaling: Some(Scaling { cost }),
        ..Finished::default()
    })
}

/// Equal effects of all features; the second half of them is small, so its coefficients are large.
fn experiment(d: usize, condition: f64, name: String) -> Experiment {
    let scales: Vec<f64> =
        (0..d).map(|j| if j < d / 2 { 1.0 } else { condition.sqrt().recip() }).collect();
    let sign = |j: usize| if j.is_multiple_of(2) { 1.0 } else { -1.0 };
    let theta = (0..d).map(|j| sign(j) * NORM / (d as f64).sqrt() / scales[j]).collect();
    let ons =
        MethodSpec { average: true, radius_of_star: Some(1.1), ..MethodSpec::new("ons", "ONS") };
    let asgd = MethodSpec {
        key: Some("asgd_oracle".into()),
        oracle_step: true,
        ..MethodSpec::new("asgd", "ASGD oracle")
    };
    Experiment {
        name,
        title: String::new(),
        horizon: None,
        replicates: None,
        draw_from: 1,
        coverage: false,
        data: Data {
            loss: Loss::Logistic,
            theta,
            mixture: Vec::new(),
            intercept: false,
            features: Features { law: Law::Centered, correlation: 0.0, scales },
            noise: 1.0,
            bend: 0.0,
            star: None,
            stream: 100 + d as u64,
        },
        methods: vec![MethodSpec::new("ekf", "EKF"), ons, asgd],
    }
}

/// Errors at the last row in units of the efficient limit.
fn ratio_plot<const N: usize>(title: &str, x: &str, at: [f64; N], panels: &[Panel]) -> Plot {
    let [black, _, _, green, _, brown, ..] = Color::PALETTE;
    let series: Vec<Series> = METHODS
        .iter()
        .zip([black, green, brown])
        .map(|((key, label), color)| {
            let points =
                at.iter().zip(panels).map(|(&at, panel)| Point::new(at, ratio(panel, key)));
            Series::line(*label, color, points.collect())
        })
        .collect();
    let values: Vec<f64> = series.iter().flat_map(|s| s.points.iter().map(|p| p.y)).collect();
    Plot {
        title: title.into(),
        x: Axis::log(x, at),
        y: Axis::log("error / efficient limit d/n", values.into_iter().chain([1.0])),
        series,
        marks: Vec::new(),
    }
}

fn ratio(panel: &Panel, key: &str) -> f64 {
    let errors = panel.curve(key).and_then(|curve| curve.risk_errors.last());
    let error = errors.map_or(f64::NAN, |errors| mean(errors));
    error * panel.horizon() as f64 / panel.population.efficient_risk
}

/// Seconds per row of the EKF on its own, one call per row.
fn measure(dim: usize) -> Result<Cost> {
    let data = experiment(dim, 1.0, String::new()).data;
    let (mut x, mut y) = (Vec::new(), Vec::new());
    data.sampler(1, 0).fill(TIMED_ROWS, &mut x, &mut y);
    let rows = Rows::new(dim, &x, &y)?;
    let mut seconds = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut filter = Filter::new(Bernoulli, Ekf, Prior::isotropic(dim, 1.0)?)?;
        let start = Instant::now();
        (0..TIMED_ROWS).try_for_each(|i| filter.learn(rows.slice(i..i + 1)))?;
        seconds = seconds.min(start.elapsed().as_secs_f64() / TIMED_ROWS as f64);
    }
    Ok(Cost { dim, seconds })
}

fn cost_plot(cost: &[Cost]) -> Plot {
    let points: Vec<Point> =
        cost.iter().map(|c| Point::new(c.dim as f64, 1e6 * c.seconds)).collect();
    let last = points[points.len() - 1];
    let slope: Vec<Point> =
        points.iter().map(|p| Point::new(p.x, last.y * (p.x / last.x).powi(2))).collect();
    let values: Vec<f64> = points.iter().chain(&slope).map(|p| p.y).collect();
    Plot {
        title: "time of a row".into(),
        x: Axis::log("d", points.iter().map(|p| p.x).collect::<Vec<_>>()),
        y: Axis::log("microseconds", values),
        series: vec![
            Series::line("EKF", Color::PALETTE[0], points),
            Series { dash: vec![2.0, 3.0], ..Series::line("slope 2", Color::INK, slope) },
        ],
        marks: Vec::new(),
    }
}

fn csv(dimensions: &[Panel], conditions: &[Panel], cost: &[Cost]) -> String {
    let mut csv = String::from("part,at,algorithm,value\n");
    let parts = [
        ("dimension", DIMENSIONS.map(|d| d as f64), dimensions),
        ("conditioning", CONDITIONS, conditions),
    ];
    for (part, at, panels) in parts {
        for (at, panel) in at.iter().zip(panels) {
            for (key, _) in METHODS {
                csv.push_str(&format!("{part},{at},{key},{:e}\n", ratio(panel, key)));
            }
        }
    }
    for Cost { dim, seconds } in cost {
        csv.push_str(&format!("seconds_per_row,{dim},ekf,{seconds:e}\n"));
    }
    csv
}
