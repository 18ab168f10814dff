//! `kalmia evaluate`: losses on files without learning.

use crate::args::EvaluateArgs;
use crate::error::{Failure, Result, locate};
use crate::model::Model;
use crate::plan::SourcePlan;
use crate::report::{self, Scores};
use crate::ui::{self, Ui, counted, grouped};
use kalmia::evaluate::Progressive;
use kalmia::{Family, Predict, Predictive};
use kalmia_data::{Block, Mode, Reader};
use serde::Serialize;

/// What `--json` prints.
#[derive(Serialize)]
struct Evaluation {
    rows: u64,
    skipped: u64,
    unseen_levels: u64,
    family: &'static str,
    #[serde(flatten)]
    scores: Scores,
}

/// Runs the command.
pub fn run(args: &EvaluateArgs, ui: Ui) -> Result<()> {
    let source = SourcePlan::new(&args.source)?;
    let (model, _) = Model::load(&args.model)?;
    let mut encoder = model.encoder.clone();
    encoder.reset_counts();
    args.missing.apply(&mut encoder)?;
    let mut reader = Reader::open(source.inputs, source.options, encoder, Mode::Judge)?;
    let mut sums = Progressive::new(*model.metrics.progressive.family());
    let (mut block, mut meter) = (Block::new(), ui.progress(reader.progress()));
    while reader.next_block(&mut block)? {
        judge(&model, &block, &mut sums)?;
        meter.tick(reader.progress(), sums.rows(), || {
            Some(sums.loss()).filter(|loss| loss.is_finite())
        });
    }
    meter.finish();
    let counts = reader.encoder().counts();
    if sums.rows() == 0 {
        return Err(Failure::no_rows(counts));
    }
    let family = model.family().name();
    let scores = Scores::new(&sums);
    let result = Evaluation {
        rows: sums.rows(),
        skipped: counts.skipped,
        unseen_levels: counts.unseen,
        family,
        scores,
    };
    if args.json {
        return ui::print(&report::json(&result)?);
    }
    let mut head = counted(result.rows, "row");
    for (n, what) in
        [(result.skipped, "skipped"), (result.unseen_levels, "values of levels never seen")]
    {
        if n > 0 {
            head.push_str(&format!(", {} {what}", grouped(n)));
        }
    }
    ui::print(&format!("{head}\n{}", result.scores.text()))
}

fn judge(model: &Model, block: &Block, sums: &mut Progressive) -> Result<()> {
    for (i, &y) in block.y.iter().enumerate() {
        let offset = block.offset.as_ref().map_or(0.0, |offset| offset[i]);
        // a weight column that is not there weighs all rows alike
        let weight =
            block.weight.as_ref().map(|weight| weight[i]).filter(|w| !w.is_nan()).unwrap_or(1.0);
        let fail = |error: kalmia::Error| locate(error.at_row(i), block, &model.encoder, false);
        let prediction = model.learner.predict(block.row(i), offset).map_err(fail)?;
        let interval = match sums.family().normal_noise() {
            Some(_) => Some(prediction.interval(0.95)?),
            None => None,
        };
        sums.row(y, prediction.mean, interval, weight).map_err(fail)?;
    }
    Ok(())
}
