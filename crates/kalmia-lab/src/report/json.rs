//! The report as one JSON object.

use super::Report;
use crate::bounds::{Spread, SpreadPoint};
use crate::claims::Claim;
use crate::density::Density;
use crate::experiment::Panel;
use serde_json::{Map, Value, json};

/// The object of [`Report::to_json`].
pub(super) fn render(report: &Report) -> Value {
    let figures = || report.figures.iter();
    let panels = figures().flat_map(|f| &f.panels).map(|p| (p.name.to_owned(), panel(p)));
    let densities = figures().flat_map(|f| &f.densities).map(|d| (d.name.to_owned(), density(d)));
    let bounds = figures()
        .filter_map(|f| f.bounds.as_ref())
        .flat_map(|b| b.spreads())
        .map(|s| (s.name.to_owned(), spread(s)));
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
        "bounds": bounds.collect::<Map<String, Value>>(),
        "claims": report.claims.iter().map(claim).collect::<Vec<Value>>(),
        "files": files.collect::<Vec<String>>(),
    })
}

fn panel(panel: &Panel) -> Value {
    let algorithms = panel
        .curves
        .iter()
        .map(|c| (c.key.to_owned(), json!({"mse": c.mse(), "se": c.standard_error()})))
        .collect::<Map<String, Value>>();
    json!({"checkpoints": panel.checkpoints, "algorithms": algorithms})
}

fn density(density: &Density) -> Value {
    density.bins().into_iter().map(|bin| json!([bin.from, bin.to, bin.density])).collect()
}

fn spread(spread: &Spread) -> Value {
    let column =
        |pick: fn(&SpreadPoint) -> Value| -> Value { spread.points.iter().map(pick).collect() };
    json!({
        "n": column(|p| json!(p.n)),
        "mean": column(|p| json!(p.mean)),
        "worst": column(|p| json!(p.worst)),
        "bound": spread.bound,
    })
}

fn claim(claim: &Claim) -> Value {
    json!({
        "claim": claim.text,
        "figure": claim.panel,
        "verdict": claim.verdict.word(),
        "evidence": claim.evidence,
    })
}
