//! How well it predicts: against one label per class, a true softmax, and after a drift.

use super::data::{learner, text};
use crate::common::sparse_batch::SparseBatch;
use kalmia::learner::ClassRow;
use kalmia::{Bernoulli, DriftMode, Learner, RowView, SparseRows, Wide, WideCategorical};

/// Mean loss of the rows from `first` on.
fn loss(learner: &mut WideCategorical, batch: &SparseBatch, first: usize) -> f64 {
    let mut total = 0.0;
    let mut add = |row: &ClassRow<'_>| {
        if row.index >= first {
            total += row.loss;
        }
    };
    learner.learn_sparse(batch.rows(), Some(&mut add)).unwrap();
    total / (batch.len() - first) as f64
}

/// The same of one learner per class, whose probabilities are divided by their sum.
fn one_against_rest(classes: usize, batch: &SparseBatch, first: usize) -> f64 {
    let of_class = |k: usize| {
        let mut wide = Wide::builder(Bernoulli).intercept().numbers(1).build().unwrap();
        let y: Vec<f64> = batch.y.iter().map(|&y| f64::from(y as usize == k)).collect();
        let rows = SparseRows::new(batch.matrix(), &y).unwrap();
        let mut means = vec![0.0; batch.len()];
        let mut keep = |row: &RowView<'_>| means[row.index] = row.mean;
        wide.learn_sparse_observed(rows, Some(&mut keep)).unwrap();
        means
    };
    let means: Vec<Vec<f64>> = (0..classes).map(of_class).collect();
    let total = |i: usize| means.iter().map(|of_class| of_class[i]).sum::<f64>();
    let own = |i: usize| means[batch.y[i] as usize][i] / total(i);
    (first..batch.len()).map(|i| -own(i).ln()).sum::<f64>() / (batch.len() - first) as f64
}

#[test]
fn joint_learning_beats_one_label_per_class() {
    let batch = text(6, 300, 4000, 31);
    let joint = loss(&mut learner(6), &batch, 0);
    let apart = one_against_rest(6, &batch, 0);
    assert!(joint < 0.99 * apart, "{joint} {apart}");
    assert!(joint < 0.9 * 6f64.ln(), "{joint}");
}

#[test]
fn a_drift_is_followed() {
    let before = text(4, 100, 6000, 32);
    let after = text(4, 100, 6000, 33).with_classes(|class| ((class + 1) % 4) as f64);
    let run = |drift: DriftMode| {
        let builder = WideCategorical::builder(4).intercept().numbers(1).drift(drift);
        let mut learner = builder.build().unwrap();
        loss(&mut learner, &before, 0);
        let late = loss(&mut learner, &after, 3000);
        (late, learner)
    };
    let (fixed, _) = run(DriftMode::Off);
    let (followed, learner) = run(DriftMode::Detect);
    assert!(followed < 0.9 * fixed, "{followed} {fixed}");
    let walking: f64 =
        learner.weights().iter().filter(|m| m.process_noise > 0.0).map(|m| m.weight).sum();
    assert!(walking > 0.5, "{walking}");
}
