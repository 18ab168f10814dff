//! Losses of a model of several quantiles, and the share of targets below each.

use super::{each_block, head, weight};
use crate::args::EvaluateArgs;
use crate::error::Result;
use crate::output;
use crate::plan::SourcePlan;
use crate::progress::Ui;
use crate::report::quantile_scores_text;
use kalmia::evaluate::QuantileMetrics;
use kalmia_model::{QuantileModel, QuantileScores};
use serde::Serialize;

/// What `--json` prints.
#[derive(Serialize)]
struct Evaluation {
    rows: u64,
    skipped: u64,
    unseen_levels: u64,
    family: &'static str,
    #[serde(flatten)]
    scores: QuantileScores,
}

/// Evaluates the rows of a source.
pub fn run(
    mut model: QuantileModel,
    source: &SourcePlan,
    args: &EvaluateArgs,
    ui: Ui,
) -> Result<()> {
    let mut metrics = QuantileMetrics::after(&model.metrics)?;
    each_block(&mut model, source, args, ui, |model, block| {
        model.predict_quantiles(block, &mut |i, quantiles| {
            let counted = metrics.row(block.y[i], quantiles, weight(block, i));
            counted.map_err(|error| error.at_row(i))
        })?;
        Ok((metrics.rows(), metrics.loss()))
    })?;
    let counts = model.encoder.counts();
    let result = Evaluation {
        rows: metrics.rows(),
        skipped: counts.skipped,
        unseen_levels: counts.unseen,
        family: "quantile",
        scores: QuantileScores::new(&metrics),
    };
    if args.json {
        return output::print_json(&result);
    }
    let text = quantile_scores_text(&result.scores);
    output::print(&format!("{}\n{text}", head(result.rows, counts)))
}
