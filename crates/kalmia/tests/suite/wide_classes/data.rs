//! Sparse rows of several classes.

use crate::common::{centered, rng, uniform};
use kalmia::{SparseInputs, SparseMatrix, SparseRows, WideCategorical};

/// Sparse rows with classes that own their numbers.
#[derive(Debug, Clone, Default)]
pub struct ClassBatch {
    pub starts: Vec<usize>,
    pub indices: Vec<u32>,
    pub values: Vec<f64>,
    pub y: Vec<f64>,
    pub weight: Vec<f64>,
}

impl ClassBatch {
    pub fn push(&mut self, entries: &[(u32, f64)], y: f64) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.indices.extend(entries.iter().map(|entry| entry.0));
        self.values.extend(entries.iter().map(|entry| entry.1));
        self.starts.push(self.indices.len());
        self.y.push(y);
        self.weight.push(1.0);
    }

    pub fn len(&self) -> usize {
        self.y.len()
    }

    pub fn matrix(&self) -> SparseMatrix<'_> {
        SparseMatrix::new(&self.starts, &self.indices, &self.values).unwrap()
    }

    pub fn rows(&self) -> SparseRows<'_> {
        SparseRows::new(self.matrix(), &self.y).unwrap().with_weights(&self.weight).unwrap()
    }

    pub fn slice(&self, from: usize, to: usize) -> Self {
        let entries = self.starts[from]..self.starts[to];
        Self {
            starts: self.starts[from..=to].iter().map(|s| s - entries.start).collect(),
            indices: self.indices[entries.clone()].to_vec(),
            values: self.values[entries].to_vec(),
            y: self.y[from..to].to_vec(),
            weight: self.weight[from..to].to_vec(),
        }
    }

    pub fn with_values(mut self, value: impl Fn(u32, f64) -> f64) -> Self {
        self.values.iter_mut().zip(&self.indices).for_each(|(x, &j)| *x = value(j, *x));
        self
    }

    pub fn with_classes(mut self, class: impl Fn(usize) -> f64) -> Self {
        self.y.iter_mut().for_each(|y| *y = class(*y as usize));
        self
    }
}

/// Rows with a constant, a number and some of `features` words; classes by a true softmax.
pub fn text(classes: usize, features: u32, rows: usize, seed: u64) -> ClassBatch {
    let mut rng = rng(seed);
    let effect = |j: u32, k: usize| 1.5 * (f64::from(j) * 0.7 + 2.0 * k as f64).sin();
    let mut batch = ClassBatch::default();
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

pub fn learned(classes: usize, batch: &ClassBatch) -> WideCategorical {
    let mut learner = learner(classes);
    learner.learn_sparse(batch.rows(), None).unwrap();
    learner
}

/// Of each row, the probability of each class.
pub fn probabilities(learner: &WideCategorical, batch: &ClassBatch) -> Vec<Vec<f64>> {
    let mut found = Vec::new();
    learner
        .predict_sparse(SparseInputs::new(batch.matrix()), &mut |_, probabilities| {
            found.push(probabilities.to_vec());
            Ok(())
        })
        .unwrap();
    found
}
