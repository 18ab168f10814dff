//! Losses of a model of several classes, and which classes it takes for others.

use super::{Evaluation, each_block, weight};
use crate::args::EvaluateArgs;
use crate::error::Result;
use crate::plan::SourcePlan;
use crate::progress::Ui;
use crate::report::{class_scores_text, confusion_text};
use kalmia::evaluate::ClassMetrics;
use kalmia_model::{ClassModel, ClassScores, ModelLearner, likeliest};
use serde::Serialize;

/// The scores, with the confusions.
#[derive(Serialize)]
struct Confusions {
    #[serde(flatten)]
    scores: ClassScores,
    classes: Vec<String>,
    /// Weight of the rows of each true class by predicted class, in the order of `classes`.
    confusion: Vec<Vec<f64>>,
}

/// Evaluates the rows of a source.
pub fn run(mut model: ClassModel, source: &SourcePlan, args: &EvaluateArgs, ui: Ui) -> Result<()> {
    let mut metrics = ClassMetrics::after(&model.metrics);
    let sorted = model.sorted_classes();
    let mut place = vec![0; model.learner.classes()];
    sorted.iter().enumerate().for_each(|(at, &class)| place[class] = at);
    let mut confusion = vec![vec![0.0; sorted.len()]; sorted.len()];
    each_block(&mut model, source, args, ui, |model, block| {
        model.predict_classes(block, &mut |i, probabilities| {
            let class = block.y[i] as usize;
            metrics.row(class, probabilities, weight(block, i));
            confusion[place[class]][place[likeliest(probabilities)]] += weight(block, i);
            Ok(())
        })?;
        Ok((metrics.rows(), metrics.loss()))
    })?;
    let found = Confusions {
        scores: ClassScores::new(&metrics),
        classes: sorted.iter().map(|&class| model.classes()[class].clone()).collect(),
        confusion,
    };
    let family = model.learner.family_name();
    let result = Evaluation::new(&model.encoder, &family, metrics.rows(), found);
    result.print(args, |found| {
        let Confusions { scores, classes, confusion } = found;
        format!("{}\n{}", class_scores_text(scores), confusion_text(classes, confusion))
    })
}
