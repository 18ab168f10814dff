//! Sparse rows of several classes.

use crate::common::sparse_batch::SparseBatch;
use crate::common::{centered, rng, uniform};
use kalmia::{SparseInputs, WideCategorical};

/// Rows with a constant, a number and some of `features` words; classes by a true softmax.
pub fn text(classes: usize, features: u32, rows: usize, seed: u64) -> SparseBatch {
    let mut rng = rng(seed);
    let effect = |j: u32, k: usize| 1.5 * (f64::from(j) * 0.7 + 2.0 * k as f64).sin();
    let mut batch = SparseBatch::default();
    for _ in 0..rows {
        let number = 3.0 + 2.0 * centered(&mut rng);
        let mut words: Vec<u32> =
            (0..6).map(|_| (f64::from(features) * uniform(&mut rng).powi(3)) as u32).collect();
        words.sort_unstable();
        words.dedup();
        let score = |k: usize| {
            let words = words.iter().map(|&j| effect(j, k)).sum::<f64>();
            words + 0.3 * (k as f64 - 1.0) * (number - 3.0)
        };
        // the largest of scores with Gumbel noise has the probabilities of the softmax
        let mut best = (f64::NEG_INFINITY, 0);
        for k in 0..classes {
            let noisy = score(k) - (-uniform(&mut rng).ln()).ln();
            if noisy > best.0 {
                best = (noisy, k);
            }
        }
        let mut entries = vec![(0, 1.0), (1, number)];
        entries.extend(words.iter().map(|&j| (j + 2, 1.0)));
        batch.push(&entries, best.1 as f64);
    }
    batch
}

pub fn learner(classes: usize) -> WideCategorical {
    WideCategorical::builder(classes).intercept().numbers(1).build().unwrap()
}

pub fn learned(classes: usize, batch: &SparseBatch) -> WideCategorical {
    let mut learner = learner(classes);
    learner.learn_sparse(batch.rows(), None).unwrap();
    learner
}

/// Of each row, the probability of each class.
pub fn probabilities(learner: &WideCategorical, batch: &SparseBatch) -> Vec<Vec<f64>> {
    let mut found = Vec::new();
    learner
        .predict_sparse(SparseInputs::new(batch.matrix()), &mut |_, probabilities| {
            found.push(probabilities.to_vec());
            Ok(())
        })
        .unwrap();
    found
}
