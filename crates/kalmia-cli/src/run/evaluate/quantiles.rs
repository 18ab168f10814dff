//! Losses of a model of several quantiles, and the share of targets below each.

use super::{Evaluation, each_block, weight};
use crate::args::EvaluateArgs;
use crate::error::Result;
use crate::plan::SourcePlan;
use crate::progress::Ui;
use crate::report::quantile_scores_text;
use kalmia::evaluate::QuantileMetrics;
use kalmia_model::{QuantileModel, QuantileScores};

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
    let scores = QuantileScores::new(&metrics);
    let result = Evaluation::new(&model.encoder, "quantile", metrics.rows(), scores);
    result.print(args, quantile_scores_text)
}
