//! The report as one JSON object.

use super::Report;
use super::bounds::{bounds_json, phases_json};
use crate::claims::Claim;
use crate::density::Density;
use crate::experiment::{Curve, Panel};
use crate::statistics::mean;
use serde_json::{Map, Value, json};

/// The object of [`Report::to_json`].
pub(super) fn render(report: &Report) -> Value {
    let figures = || report.figures.iter();
    let swept = figures().filter_map(|f| f.lambda.as_ref()).flat_map(|l| &l.sweeps);
    let panels = figures()
        .flat_map(|f| &f.panels)
        .chain(swept.map(|sweep| &sweep.panel))
        .map(|p| (p.name.clone(), panel(p)));
    let cost = figures().filter_map(|f| f.scaling.as_ref()).flat_map(|s| &s.cost);
    let cost = cost.map(|c| json!({"d": c.dim, "seconds_per_row": c.seconds}));
    let commands = figures().map(|f| (f.name.clone(), json!(f.command)));
    let densities = figures().flat_map(|f| &f.densities).map(|d| (d.name.to_owned(), density(d)));
    let bounds = figures().find_map(|f| f.bounds.as_ref()).map(bounds_json);
    let phases = figures().find(|f| !f.phases.is_empty()).map(|f| phases_json(&f.phases));
    let files = report.files.iter().map(|f| f.display().to_string());
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "seed": report.settings.seed,
        "horizon": report.settings.horizon,
        "replicates": report.settings.replicates,
        "seconds": report.elapsed.as_secs_f64(),
        "interrupted": report.interrupted,
        "figures": panels.collect::<Map<String, Value>>(),
        "densities": densities.collect::<Map<String, Value>>(),
        "bounds": bounds,
        "phases": phases,
        "cost": cost.collect::<Vec<Value>>(),
        "commands": commands.collect::<Map<String, Value>>(),
        "claims": report.claims.iter().map(claim).collect::<Vec<Value>>(),
        "files": files.collect::<Vec<String>>(),
    })
}

fn panel(panel: &Panel) -> Value {
    let algorithms =
        panel.curves.iter().map(|c| (c.key.clone(), curve(c))).collect::<Map<String, Value>>();
    json!({
        "title": panel.title,
        "checkpoints": panel.checkpoints,
        "replicates": panel.replicates,
        "theta_star": panel.population.star,
        "efficient_limit_times_n": panel.population.efficient,
        "algorithms": algorithms,
    })
}

fn curve(curve: &Curve) -> Value {
    let mut object = json!({"mse": curve.mse(), "se": curve.standard_error()});
    if !curve.coverage.is_empty() {
        object["coverage"] = curve.coverage.iter().map(|c| json!(mean(c))).collect();
    }
    object
}

fn density(density: &Density) -> Value {
    density.bins().into_iter().map(|bin| json!([bin.from, bin.to, bin.density])).collect()
}

fn claim(claim: &Claim) -> Value {
    json!({
        "claim": claim.text,
        "figure": claim.figure.name(),
        "panel": claim.panel,
        "verdict": claim.verdict.word(),
        "choice": claim.choice,
        "evidence": claim.evidence,
        "horizon": claim.horizon,
        "replicates": claim.replicates,
        "errata": claim.errata,
    })
}
