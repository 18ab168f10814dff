//! Rows of a true softmax model, and losses of a learner.

use crate::common::{Rng, centered, rng, uniform};
use kalmia::learner::ClassRow;
use kalmia::{Categorical, Rows};

/// Coefficients of up to four classes for a constant and three features.
pub const TRUTH: [[f64; 4]; 4] =
    [[0.3, 1.5, -1.0, 0.0], [0.0, -1.0, 0.5, 1.0], [-0.5, 0.0, 1.0, -2.0], [0.2, 1.0, 1.0, 1.0]];

/// Rows of a constant and three features.
pub struct Rows4 {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
}

impl Rows4 {
    /// Rows of the first `classes` classes.
    pub fn draw(rng: &mut Rng, classes: usize, rows: usize) -> Self {
        let mut data = Self { x: Vec::new(), y: Vec::new() };
        for _ in 0..rows {
            let x = [1.0, 2.0 * centered(rng), 1.0 + 2.0 * centered(rng), 2.0 * centered(rng)];
            let chances = chances(&TRUTH[..classes], &x);
            let mut left = uniform(rng);
            let mut class = 0;
            while class + 1 < classes && left >= chances[class] {
                left -= chances[class];
                class += 1;
            }
            data.x.extend_from_slice(&x);
            data.y.push(class as f64);
        }
        data
    }

    pub fn rows(&self) -> Rows<'_> {
        Rows::new(4, &self.x, &self.y).unwrap()
    }

    pub fn row(&self, i: usize) -> &[f64] {
        &self.x[4 * i..4 * (i + 1)]
    }
}

/// Rows of a constant and ten features, of five clusters that lie far apart in ten directions.
pub fn clusters(seed: u64, rows: usize) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let centers: Vec<f64> = (0..50).map(|_| 6.0 * centered(&mut rng)).collect();
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..rows {
        let class = (5.0 * uniform(&mut rng)) as usize;
        x.push(1.0);
        x.extend((0..10).map(|j| centers[10 * class + j] + 4.0 * centered(&mut rng)));
        y.push(class as f64);
    }
    (x, y)
}

/// The softmax of the linear predictors.
pub fn chances(theta: &[[f64; 4]], x: &[f64]) -> Vec<f64> {
    let linear = |theta: &[f64; 4]| theta.iter().zip(x).map(|(t, x)| t * x).sum::<f64>();
    let exponentials: Vec<f64> = theta.iter().map(|theta| linear(theta).exp()).collect();
    let total: f64 = exponentials.iter().sum();
    exponentials.into_iter().map(|e| e / total).collect()
}

/// The loss of each row before it was learned.
pub fn losses(learner: &mut Categorical, rows: Rows<'_>) -> Vec<f64> {
    let mut losses = Vec::new();
    learner.learn_observed(rows, Some(&mut |row: &ClassRow<'_>| losses.push(row.loss))).unwrap();
    losses
}
