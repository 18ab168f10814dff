//! `kalmia evaluate`: losses on files without learning.

mod classes;
mod quantiles;

use crate::args::EvaluateArgs;
use crate::error::{Failure, Result};
use crate::format::{counted, grouped};
use crate::learn::report_left_out;
use crate::output;
use crate::plan::{Files, SourcePlan};
use crate::progress::Ui;
use crate::report::{conformal_text, scores_text};
use kalmia::evaluate::{Predicted, Progressive};
use kalmia::{AnyFamily, Family};
use kalmia_data::{Block, Encoder, Mode};
use kalmia_model::{
    AnyModel, ConformalIntervals, ConformalScores, ConformalSums, Dispersion, Model, ModelLearner,
    ModelOf, Scores,
};
use serde::Serialize;

/// What `--json` prints: the rows, then `scores`, in one flat object.
#[derive(Serialize)]
struct Evaluation<S> {
    rows: u64,
    skipped: u64,
    unseen_levels: u64,
    family: String,
    #[serde(flatten)]
    scores: S,
}

impl<S: Serialize> Evaluation<S> {
    /// Of `rows` rows, beside those that the encoder has counted.
    fn new(encoder: &Encoder, family: &str, rows: u64, scores: S) -> Self {
        let counts = encoder.counts();
        Self {
            rows,
            skipped: counts.skipped,
            unseen_levels: counts.unseen,
            family: family.into(),
            scores,
        }
    }

    /// Prints it as JSON, or how many rows there were and the scores as `text` has them.
    fn print(&self, args: &EvaluateArgs, text: impl FnOnce(&S) -> String) -> Result<()> {
        if args.json {
            return output::print_json(self);
        }
        let mut head = counted(self.rows, "row");
        let extras = [(self.skipped, "skipped"), (self.unseen_levels, "values of unknown levels")];
        for (n, what) in extras.into_iter().filter(|extra| extra.0 > 0) {
            head.push_str(&format!(", {} {what}", grouped(n)));
        }
        output::print(&format!("{head}\n{}", text(&self.scores)))
    }
}

/// The scores of numbers or two labels.
#[derive(Serialize)]
struct NumberScores {
    #[serde(flatten)]
    own: Scores,
    #[serde(skip_serializing_if = "Option::is_none")]
    conformal: Option<ConformalScores>,
}

/// Runs the command.
pub fn run(args: &EvaluateArgs, ui: Ui) -> Result<()> {
    let source = SourcePlan::new(&args.source)?;
    Files::default().source(&source).reads("the model", &args.model).check()?;
    match AnyModel::load(&args.model)?.content {
        AnyModel::Numbers(model) => numbers(*model, &source, args, ui),
        AnyModel::Classes(model) => classes::run(*model, &source, args, ui),
        AnyModel::Quantiles(model) => quantiles::run(*model, &source, args, ui),
    }
}

/// The losses of a model of numbers or two labels.
fn numbers(mut model: Model, source: &SourcePlan, args: &EvaluateArgs, ui: Ui) -> Result<()> {
    let mut sums = Progressive::after(&model.metrics.progressive);
    let mut conformal = Judge::of(&model);
    each_block(&mut model, source, args, ui, |model, block| {
        evaluate(model, block, &mut sums)?;
        if let Some(judge) = &mut conformal {
            judge.count(model, block)?;
        }
        Ok((sums.rows(), sums.loss()))
    })?;
    let scores = NumberScores {
        own: Scores::new(&sums),
        conformal: conformal.and_then(|judge| judge.sums.scores()),
    };
    let result = Evaluation::new(&model.encoder, model.family().name(), sums.rows(), scores);
    result.print(args, |scores| {
        let conformal = scores.conformal.as_ref().map(conformal_text).unwrap_or_default();
        scores_text(&scores.own) + &conformal
    })
}

/// Calls `take` with each block of the source, which returns rows and loss so far.
fn each_block<L: ModelLearner>(
    model: &mut ModelOf<L>,
    source: &SourcePlan,
    args: &EvaluateArgs,
    ui: Ui,
    mut take: impl FnMut(&ModelOf<L>, &Block) -> Result<(u64, f64)>,
) -> Result<()> {
    model.encoder.reset_counts();
    args.missing.apply(&mut model.encoder)?;
    let mut reader = source.open(&mut model.encoder, Mode::Evaluate)?;
    let mut block = Block::new();
    let mut meter = ui.progress(reader.progress());
    let mut rows = 0;
    while reader.next_block(&mut model.encoder, &mut block)? {
        let (seen, loss) = take(model, &block)?;
        rows = seen;
        meter.tick(reader.progress(), rows, || Some(loss).filter(|loss| loss.is_finite()));
    }
    meter.finish();
    report_left_out(&reader, ui);
    if rows == 0 { Err(Failure::no_rows(model.encoder.counts())) } else { Ok(()) }
}

/// The weight of a row; without a weight column all rows weigh the same.
pub(super) fn weight(block: &Block, i: usize) -> f64 {
    block.weight.as_ref().map(|weight| weight[i]).filter(|w| !w.is_nan()).unwrap_or(1.0)
}

/// Judges conformal intervals beside the model's own. The thresholds stay as they are after the
/// rows of the fit, as those of `kalmia predict` do.
struct Judge {
    intervals: ConformalIntervals,
    sums: ConformalSums,
}

impl Judge {
    /// `None` for a model without conformal intervals.
    fn of(model: &Model) -> Option<Self> {
        let intervals = ConformalIntervals::new(&model.learner, &model.metrics).ok()?;
        Some(Self { intervals, sums: ConformalSums::default() })
    }

    /// Counts the rows of a block, except those of weight 0.
    fn count(&mut self, model: &Model, block: &Block) -> Result<()> {
        model.predict(block, &mut |i, prediction| {
            if block.weight.as_ref().is_none_or(|weight| weight[i] != 0.0) {
                let conformal = self.intervals.interval(prediction, 0.95)?;
                self.sums.row(block.y[i], conformal, prediction.interval(0.95)?);
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Adds the losses of a block under a model.
pub fn evaluate(model: &Model, block: &Block, sums: &mut Progressive) -> Result<()> {
    let dispersion = Dispersion::of(&model.learner).value.unwrap_or(1.0);
    model.predict(block, &mut |i, prediction| {
        let weight = weight(block, i);
        // labels need no interval, and that of a proportion depends on its trials, the weight
        let by_mean = match sums.family() {
            AnyFamily::Bernoulli(_) => true,
            AnyFamily::Binomial(family) => family.trials().is_none(),
            _ => false,
        };
        let counted = if by_mean {
            let row = Predicted {
                linear: prediction.linear,
                variance: prediction.linear_variance,
                dispersion,
                mean: prediction.mean,
            };
            sums.row_predicted(block.y[i], &row, weight)
        } else {
            let interval = match sums.family() {
                // its interval is that of the quantile and says nothing about targets
                AnyFamily::Quantile(_) => None,
                _ => Some(prediction.interval(0.95)?),
            };
            sums.row(block.y[i], prediction.mean, interval, weight)
        };
        counted.map_err(|error| error.at_row(i))
    })?;
    Ok(())
}
