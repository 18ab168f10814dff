//! The figure `bounds`: simulated risks and eigenvalues beside the paper's bounds.

use super::{Finished, Picture, finished};
use crate::bounds::{self, Bounds, Spread, SpreadPoint};
use crate::error::Result;
use crate::settings::{Figure, Settings};
use crate::workers::Workers;
use kalmia_chart::{Axis, Color, Plot, Point, Series, compose};

const PAPER: &str = "“Our central contribution is a local analysis of the EKF … provided that \
    consecutive steps stay in a small ball around the optimum.” After the convergence time τ the \
    cumulative excess risk is bounded by the logarithmic term drawn here plus terms that do not \
    grow with n (Theorems 1, 2, 14), and λ_max(P_t) of the truncated filter by 4/(Λ_min t^(1−β)) \
    from some T on (Proposition 11).";

/// Runs the simulations and draws them.
pub(super) fn figure(settings: &Settings, workers: &Workers) -> Result<Finished> {
    workers
        .progress
        .start(Figure::Bounds.name(), bounds::units(settings.horizon, settings.replicates));
    let measured = bounds::simulate(settings.horizon, settings.replicates, settings.seed, workers)?;
    let plots = [
        risk_plot(
            "Kalman filter, quadratic loss",
            "Theorems 2, 14: leading term",
            &measured.quadratic,
            &measured.quadratic_after,
        ),
        risk_plot(
            "EKF, logistic loss, θ*/10",
            "Theorem 1: leading term",
            &measured.logistic,
            &measured.logistic_after,
        ),
        eigenvalue_plot(&measured.eigenvalue),
    ];
    let picture = Picture {
        name: "bounds".into(),
        caption: caption(settings, &measured),
        scene: compose("The paper's bounds beside simulation", &plots),
        csv: csv(&measured),
    };
    let mut finished = finished(Figure::Bounds, PAPER, vec![picture], Vec::new());
    finished.bounds = Some(measured);
    Ok(finished)
}

/// Mean and worst of the replicates as two lines.
fn lines(spread: &Spread, name: &str, color: Color) -> [Series; 2] {
    let line = |pick: fn(&SpreadPoint) -> f64, label: String, dash: &[f64]| {
        let points = spread.points.iter().map(|p| Point::new(p.n as f64, pick(p)));
        let positive = points.filter(|p| p.y > 0.0).collect();
        Series { dash: dash.to_vec(), ..Series::line(label, color, positive) }
    };
    [
        line(|p| p.mean, format!("{name}, mean"), &[]),
        line(|p| p.worst, format!("{name}, worst"), &[7.0, 3.0]),
    ]
}

fn bound_line(label: &str, spread: &Spread) -> Series {
    let points = spread.points.iter().zip(&spread.bound);
    let points = points.map(|(p, bound)| Point::new(p.n as f64, *bound)).collect();
    Series::line(label, Color::PALETTE[2], points)
}

fn log_plot(title: &str, x: &str, y: &str, series: Vec<Series>, floor: f64) -> Plot {
    let points = || series.iter().flat_map(|s| s.points.iter());
    Plot {
        title: title.into(),
        x: Axis::log(x, points().map(|p| p.x)),
        y: Axis::log(y, points().map(|p| p.y.max(floor))),
        series,
        marks: Vec::new(),
    }
}

fn risk_plot(title: &str, bound: &str, all: &Spread, after: &Spread) -> Plot {
    let mut series = vec![bound_line(bound, all)];
    series.extend(lines(all, "all steps", Color::PALETTE[0]));
    if !after.points.is_empty() {
        series.extend(lines(after, "after τ", Color::PALETTE[1]));
    }
    log_plot(title, "n", "cumulative excess risk", series, 1e-3)
}

fn eigenvalue_plot(spread: &Spread) -> Plot {
    let mut series = vec![bound_line("4/(Λ t^(1−β)), Proposition 11", spread)];
    series.extend(lines(spread, "λ of P", Color::PALETTE[0]));
    log_plot(
        "truncated EKF, θ*/10: largest eigenvalue of P",
        "t",
        "largest eigenvalue",
        series,
        0.0,
    )
}

fn caption(settings: &Settings, measured: &Bounds) -> String {
    let tau = |tau: Option<u64>, epsilon: f64| match tau {
        Some(tau) => format!(
            "95 % of the replicates never leave the ball of radius {epsilon:.4} after τ = {tau}"
        ),
        None => {
            format!(
                "the replicates do not settle in the ball of radius {epsilon:.4} within these \
                 rows, so no τ is drawn"
            )
        }
    };
    format!(
        "Cumulative excess risk, mean and worst of {} replicates, beside the leading terms of \
         the theorems (P₁ = I, D_X = √11); after τ, n counts from τ. Above left: y = θ'X + \
         N(0,1), θ = θ*/10; {}. Above right: logistic, well specified; {}; the excess of a step \
         is measured at its own fresh X. Below: λ_max(P_t) of the truncated EKF (β = 0.49); \
         Proposition 11 claims the bound only from a T far beyond these rows.",
        settings.replicates,
        tau(measured.quadratic_tau, bounds::EPSILON_QUADRATIC),
        tau(measured.logistic_tau, measured.theory.epsilon_logistic),
    )
}

fn csv(measured: &Bounds) -> String {
    let mut csv = String::from("series,n,mean,worst,bound\n");
    for spread in measured.spreads() {
        for (point, bound) in spread.points.iter().zip(&spread.bound) {
            let SpreadPoint { n, mean, worst } = point;
            csv.push_str(&format!("{},{n},{mean:e},{worst:e},{bound:e}\n", spread.name));
        }
    }
    csv
}
