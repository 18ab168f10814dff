//! The figure `phases`: far from $\theta^*$, then near it.

use super::{Finished, Picture};
use crate::bounds::phases::{self, PhaseCurve, PhasePoint};
use crate::error::Result;
use crate::number::count;
use crate::settings::{Figure, Settings};
use crate::workers::Workers;
use kalmia_chart::{Axis, Color, Plot, Point, Series, compose};

const PAPER: &str = "“Assumption 5 states that with high probability there exists a convergence \
    time after which the algorithm stays trapped in a local region around the optimum.” The \
    truncation α_t ≥ t^(−β) forces P_t to fall; “this seems very likely to hold as we have \
    intuitively P_t ∝ 1/t”, and a tight bound on λ_max(P_t) of the plain EKF “is a very important \
    and challenging open question”.";

/// Runs both filters in both settings and draws them.
pub(super) fn figure(settings: &Settings, workers: &Workers) -> Result<Finished> {
    workers.progress.start(Figure::Phases.name(), phases::units(settings));
    let curves = phases::simulate(settings, workers)?;
    let caption = caption(settings, &curves);
    let picture = Picture {
        name: "phases".into(),
        scene: compose(
            "The two phases of the EKF",
            &[
                distance_plot(&curves),
                share_plot(&curves),
                eigenvalue_plot(&curves, "theta", "θ*: largest eigenvalue of P"),
                eigenvalue_plot(&curves, "theta10", "θ*/10: largest eigenvalue of P"),
            ],
        ),
        caption,
        csv: csv(&curves),
    };
    Ok(Finished {
        paper: PAPER.into(),
        pictures: vec![picture],
        phases: curves,
        ..Finished::default()
    })
}

fn caption(settings: &Settings, curves: &[PhaseCurve]) -> String {
    let rows = curves.first().and_then(|c| c.points.last()).map_or(0, |p| p.n);
    let truncated = curves.iter().filter(|c| c.algorithm == "truncated");
    let state = truncated.map(|c| match (c.untruncated_from(), c.points.last()) {
        (Some(n), _) => format!("with {} from n = {} on", theta(c), count(n)),
        (None, Some(end)) => format!(
            "with {} not within these rows (at the end α_t = ℓ'' in {:.0} % of the steps)",
            theta(c),
            100.0 * end.share
        ),
        (None, None) => String::new(),
    });
    format!(
        "{} replicates of {} rows, mean over the replicates, P₁ = I. In the first phase the \
         estimate is far from θ*, and the truncated filter (β = 0.49) replaces ℓ'' by t^(−β). In \
         the second phase α_t = ℓ'' at every step: {}. Then the distance falls like n^(−1/2) and \
         λ_max(P_t) approaches 1/(λ_min(H) t) with H = E[ℓ'' XX'] at θ*.",
        settings.replicates,
        count(rows),
        state.collect::<Vec<_>>().join(", ")
    )
}

fn theta(curve: &PhaseCurve) -> &'static str {
    if curve.setting == "theta" { "θ*" } else { "θ*/10" }
}

fn label(curve: &PhaseCurve) -> String {
    let filter = if curve.algorithm == "ekf" { "EKF" } else { "truncated EKF" };
    format!("{filter}, {}", theta(curve))
}

fn line(curve: &PhaseCurve, pick: fn(&PhasePoint) -> f64) -> Series {
    let [black, blue, orange, _, pink, ..] = Color::PALETTE;
    let color = match (curve.setting, curve.algorithm) {
        ("theta", "ekf") => black,
        ("theta", _) => blue,
        (_, "ekf") => orange,
        _ => pink,
    };
    let dash = if curve.algorithm == "ekf" { Vec::new() } else { vec![7.0, 3.0] };
    let points = curve.points.iter().map(|p| Point::new(p.n as f64, pick(p))).collect();
    Series { dash, ..Series::line(label(curve), color, points) }
}

fn plot(title: &str, y: &str, series: Vec<Series>) -> Plot {
    let points = || series.iter().flat_map(|s| s.points.iter());
    Plot {
        title: title.into(),
        x: Axis::log("n", points().map(|p| p.x)),
        y: Axis::log(y, points().map(|p| p.y)),
        series,
        marks: Vec::new(),
    }
}

fn distance_plot(curves: &[PhaseCurve]) -> Plot {
    let series = curves.iter().map(|c| line(c, |p| p.distance.mean)).collect();
    plot("distance to θ*", "‖θ − θ*‖", series)
}

fn share_plot(curves: &[PhaseCurve]) -> Plot {
    let truncated = curves.iter().filter(|c| c.algorithm == "truncated");
    let series = truncated.map(|c| line(c, |p| p.share)).collect();
    let mut plot = plot("truncated EKF: share of steps with α = l''", "share", series);
    plot.y = Axis::linear("share", 0.0, 1.0);
    plot
}

fn eigenvalue_plot(curves: &[PhaseCurve], setting: &str, title: &str) -> Plot {
    let chosen: Vec<&PhaseCurve> = curves.iter().filter(|c| c.setting == setting).collect();
    // P_1 = I, so an eigenvalue above 1 is rounding, which would leave the frame.
    let pick = |p: &PhasePoint| if p.lambda_max.mean > 1.0 { 1.0 } else { p.lambda_max.mean };
    let mut series: Vec<Series> = chosen.iter().map(|c| line(c, pick)).collect();
    if let Some(curve) = chosen.first() {
        // Drawn where it is below λ_max(P_1) = 1.
        let points =
            curve.points.iter().map(|p| Point::new(p.n as f64, curve.limit / (p.n + 1) as f64));
        let below = points.filter(|p| p.y <= 1.0).collect();
        let reference = Series::line("1/(λ_min(H) t)", Color::PALETTE[7], below);
        series.push(Series { dash: vec![2.0, 5.0], ..reference });
    }
    plot(title, "λ_max(P)", series.into_iter().filter(|s| !s.points.is_empty()).collect())
}

fn csv(curves: &[PhaseCurve]) -> String {
    let mut csv = String::from(
        "setting,algorithm,n,distance_mean,distance_worst,share,lambda_max_mean,lambda_max_worst\n",
    );
    for curve in curves {
        for PhasePoint { n, distance, share, lambda_max } in &curve.points {
            csv.push_str(&format!(
                "{},{},{n},{:e},{:e},{share:e},{:e},{:e}\n",
                curve.setting,
                curve.algorithm,
                distance.mean,
                distance.worst,
                lambda_max.mean,
                lambda_max.worst
            ));
        }
    }
    csv
}
