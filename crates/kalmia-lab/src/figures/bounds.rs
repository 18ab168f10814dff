//! The figure `bounds`: the paper's theorems, whole, beside the quantities that they bound, and its
//! convergence times beside the measured ones.

use super::{Finished, Picture};
use crate::bounds::{self, BoundCurve, BoundPoint, Bounds, DELTA, Eigenvalues};
use crate::error::Result;
use crate::number::{count, scientific};
use crate::settings::{Figure, Settings};
use crate::workers::Workers;
use kalmia_chart::{Axis, Color, Mark, Plot, Point, Series, compose};

const PAPER: &str = "“Our central contribution is a local analysis of the EKF … provided that \
    consecutive steps stay in a small ball around the optimum.” Theorems 1 and 2 bound the \
    cumulative excess risk of the steps after a convergence time τ, Theorems 10 and 14 that of \
    all steps, Theorem 3 that of the Online Newton Step; λ_max(P_t) of the truncated filter is \
    at most 4/(Λ_min t^(1−β)) from some T on (Proposition 11).";

/// Runs the simulations and draws them.
pub(super) fn figure(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let measured = bounds::simulate(Figure::Bounds.name(), settings, workers)?;
    let risks = Picture {
        name: "bounds".into(),
        caption: caption(settings, &measured),
        scene: compose(
            "The paper's bounds and the risks that they bound",
            &[
                risk_plot(&measured.curves),
                bound_plot(&measured.curves),
                ratio_plot(&measured.curves),
                eigenvalue_plot(&measured.eigenvalues),
            ],
        ),
        csv: csv(&measured),
    };
    let times = Picture {
        name: "tau".into(),
        caption: tau_caption(settings, &measured),
        scene: compose("Convergence times, measured and by the paper", &[tau_plot(&measured)]),
        csv: bounds::tau::csv(&measured.taus),
    };
    Ok(Finished {
        paper: PAPER.into(),
        pictures: vec![risks, times],
        bounds: Some(measured),
        ..Finished::default()
    })
}

/// What a theorem bounds.
fn subject(curve: &BoundCurve) -> &'static str {
    match curve.theorem {
        1 => "EKF after τ",
        2 => "Kalman after τ",
        3 => "ONS",
        10 => "truncated EKF",
        _ => "Kalman",
    }
}

fn color(curve: &BoundCurve) -> Color {
    let [black, blue, orange, green, pink, ..] = Color::PALETTE;
    match curve.theorem {
        1 => black,
        2 => blue,
        3 => orange,
        10 => pink,
        _ => green,
    }
}

/// A line of one theorem; nothing where `pick` has no positive number.
fn line(
    curve: &BoundCurve,
    label: String,
    dash: &[f64],
    pick: fn(&BoundPoint) -> Option<f64>,
) -> Series {
    let at = |p: &BoundPoint| pick(p).filter(|&y| y > 0.0).map(|y| Point::new(p.n as f64, y));
    let points = curve.points.iter().filter_map(at).collect();
    Series { dash: dash.to_vec(), ..Series::line(label, color(curve), points) }
}

fn log_plot(title: &str, x: &str, y: &str, series: Vec<Series>, marks: Vec<Mark>) -> Plot {
    let series: Vec<Series> = series.into_iter().filter(|s| !s.points.is_empty()).collect();
    let points = || series.iter().flat_map(|s| s.points.iter());
    Plot {
        title: title.into(),
        x: Axis::log(x, points().map(|p| p.x)),
        y: Axis::log(y, points().map(|p| p.y)),
        series,
        marks,
    }
}

const STEPS: &str = "n, steps of the theorem's sum";

fn risk_plot(curves: &[BoundCurve]) -> Plot {
    let mut series = Vec::new();
    for curve in curves {
        let label = format!("Th. {}: {}", curve.theorem, subject(curve));
        series.push(line(curve, label, &[], |p| Some(p.quantile)));
        series.push(line(curve, String::new(), &[3.0, 4.0], |p| Some(p.mean)));
    }
    let total = curves.iter().filter(|c| !c.local);
    let marks = total.filter_map(|c| {
        let tau = c.tau?.tau?;
        Some(Mark { x: tau as f64, label: format!("τ, Th. {}", c.theorem) })
    });
    log_plot(
        "what is bounded: 1 − kδ quantile (dots: mean)",
        STEPS,
        "cumulative excess risk",
        series,
        marks.collect(),
    )
}

fn bound_plot(curves: &[BoundCurve]) -> Plot {
    let series = curves.iter().map(|c| {
        let percent = (100.0 * c.probability()).round();
        line(c, format!("Th. {}, probability {percent} %", c.theorem), &[], |p| p.bound)
    });
    log_plot(
        &format!("the whole bound, δ = {DELTA}"),
        STEPS,
        "right-hand side",
        series.collect(),
        Vec::new(),
    )
}

fn ratio_plot(curves: &[BoundCurve]) -> Plot {
    let series =
        curves.iter().map(|c| line(c, format!("Theorem {}", c.theorem), &[], BoundPoint::ratio));
    log_plot("bound over quantile", STEPS, "ratio", series.collect(), Vec::new())
}

fn eigenvalue_plot(eigenvalues: &Eigenvalues) -> Plot {
    let points = |pick: fn(&BoundPoint) -> f64| -> Vec<Point> {
        eigenvalues.points.iter().map(|p| Point::new(p.n as f64, pick(p))).collect()
    };
    let from = scientific(eigenvalues.applies_from, 1);
    let bound = points(|p| p.bound.unwrap_or(f64::NAN));
    let series = vec![
        Series {
            dash: vec![2.0, 5.0],
            ..Series::line(
                format!("4/(Λ t^(1−β)): applies from t = {from}"),
                Color::PALETTE[7],
                bound,
            )
        },
        Series::line("mean", Color::PALETTE[4], points(|p| p.mean)),
        Series {
            dash: vec![7.0, 3.0],
            ..Series::line("worst", Color::PALETTE[5], points(|p| p.worst))
        },
    ];
    log_plot("truncated EKF: largest eigenvalue of P", "t", "λ_max(P_t)", series, Vec::new())
}

fn tau_plot(measured: &Bounds) -> Plot {
    let mut series = Vec::new();
    let [black, blue, _, _, pink, ..] = Color::PALETTE;
    let at_delta = || measured.taus.iter().filter(|row| row.delta == DELTA);
    for (algorithm, label, color) in [
        ("kalman", "Kalman, measured", blue),
        ("ekf", "EKF, measured", black),
        ("truncated", "truncated EKF, measured", pink),
    ] {
        let rows = at_delta().filter(|row| row.algorithm == algorithm);
        let points = rows.filter_map(|row| {
            row.measured.tau.map(|tau| Point::new(row.epsilon, (tau as f64).max(1.0)))
        });
        let dash = if algorithm == "truncated" { vec![7.0, 3.0] } else { Vec::new() };
        series.push(Series { dash, ..Series::line(label, color, points.collect()) });
    }
    let kalman = || at_delta().filter(|row| row.algorithm == "kalman");
    let of_paper = |pick: fn(&bounds::TheoryTau) -> f64| -> Vec<Point> {
        let theory = kalman().filter_map(|row| Some((row.epsilon, row.theory?)));
        theory.map(|(epsilon, t)| Point::new(epsilon, pick(&t).exp())).collect()
    };
    let printed = of_paper(|t| t.ln_printed);
    series.push(Series {
        dash: vec![2.0, 5.0],
        ..Series::line("Corollary 24, printed", blue, printed)
    });
    let corrected = of_paper(|t| t.ln_corrected);
    series.push(Series {
        dash: vec![10.0, 5.0],
        ..Series::line("Corollary 24, corrected", blue, corrected)
    });
    let title = format!("convergence time τ(ε, δ), δ = {DELTA}");
    log_plot(&title, "ε", "τ, rows", series, Vec::new())
}

fn caption(settings: &Settings, measured: &Bounds) -> String {
    let tau = |theorem: u32| {
        let curve = measured.theorem(theorem);
        let found = curve.and_then(|c| Some((c.tau?, c.epsilon?)));
        found.map_or_else(String::new, |(tau, epsilon)| {
            format!("Theorem {theorem}: ε = {epsilon:.3}, τ {}", equals(&tau.to_string()))
        })
    };
    let share = measured.events.first().map_or(f64::NAN, |e| e.share);
    format!(
        "{} replicates, θ*/10, P₁ = I, δ = {DELTA}. Above left: cumulative excess risk, the value \
         that a share kδ of the replicates may exceed (kδ is the theorem's failure probability) \
         and the mean; n counts the steps of the theorem's own sum. Above right: the whole \
         right-hand side with measured τ and λ_max(P⁻¹), as the proofs have it. {}; {}; {}; {}. \
         Theorem 3 is run with the step 3/γ and the diameter of its ball. The excess risk is exact \
         for the quadratic loss, within {:.1} % for Theorem 1, and measured at the step's own X \
         for Theorems 3 and 10. Below right: Proposition 11 says nothing about these rows; the \
         event A_C of Theorem 12 held in {:.0} % of the replicates.",
        settings.replicates,
        tau(1),
        tau(2),
        tau(10),
        tau(14),
        100.0 * bounds::local_error(measured.theory.epsilon_logistic, measured.theory.d_x),
        100.0 * share,
    )
}

/// `= 31623`, or `> 1000000` as it is.
fn equals(tau: &str) -> String {
    if tau.starts_with('>') { tau.into() } else { format!("= {tau}") }
}

fn tau_caption(settings: &Settings, measured: &Bounds) -> String {
    let theory = |epsilon: f64| {
        let row = measured.tau("truncated", epsilon, DELTA).and_then(|row| row.theory);
        row.map_or_else(String::new, |t| bounds::power(t.ln_corrected))
    };
    format!(
        "The number of rows after which a share 1 − δ of {} replicates never leaves the ball of \
         radius ε again, within runs of {} (quadratic) and {} rows (logistic); for the truncated \
         filter α_t = ℓ'' as well (Assumption 6). Corollary 24 is about the Kalman filter. \
         Corollary 13 has τ = {} at ε = 1 and {} at \
         ε = 1/(20 D_X) for the truncated filter, outside any plot; for the plain EKF the paper \
         has none.",
        settings.replicates,
        count(measured.taus.first().map_or(0, |row| row.measured.rows)),
        count(measured.taus.last().map_or(0, |row| row.measured.rows)),
        theory(1.0),
        theory(measured.theory.epsilon_logistic),
    )
}

fn csv(measured: &Bounds) -> String {
    let mut csv = String::from("series,n,mean,quantile,worst,bound\n");
    let mut add = |name: &str, points: &[BoundPoint]| {
        for BoundPoint { n, mean, quantile, worst, bound } in points {
            let bound = bound.map_or_else(String::new, |b| format!("{b:e}"));
            csv.push_str(&format!("{name},{n},{mean:e},{quantile:e},{worst:e},{bound}\n"));
        }
    };
    for curve in &measured.curves {
        add(&format!("theorem_{}", curve.theorem), &curve.points);
    }
    add("lambda_max", &measured.eigenvalues.points);
    csv
}
