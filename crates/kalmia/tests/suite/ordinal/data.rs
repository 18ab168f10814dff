//! Rows of a true proportional odds model, and losses of a learner.

use crate::common::{Rng, centered, normal, uniform};
use kalmia::learner::ClassRow;
use kalmia::{Ordinal, Rows};

/// Coefficients of three features.
pub const SLOPES: [f64; 3] = [1.0, -0.5, 0.3];
/// Cutpoints of five levels.
pub const CUTS: [f64; 4] = [-2.0, -0.5, 0.5, 2.0];

/// Rows of three features, the second of which is off center.
pub struct Rows3 {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
}

impl Rows3 {
    pub fn draw(rng: &mut Rng, slopes: [f64; 3], cuts: &[f64], rows: usize) -> Self {
        let mut data = Self { x: Vec::new(), y: Vec::new() };
        for _ in 0..rows {
            let x = [normal(rng), 1.0 + 2.0 * centered(rng), normal(rng)];
            let chance = uniform(rng);
            let noise = (chance / (1.0 - chance)).ln();
            let latent = noise + x.iter().zip(slopes).map(|(x, slope)| x * slope).sum::<f64>();
            data.x.extend_from_slice(&x);
            data.y.push(cuts.iter().filter(|cut| latent >= **cut).count() as f64);
        }
        data
    }

    /// Five levels.
    pub fn five(rng: &mut Rng, rows: usize) -> Self {
        Self::draw(rng, SLOPES, &CUTS, rows)
    }

    pub fn rows(&self) -> Rows<'_> {
        Rows::new(3, &self.x, &self.y).unwrap()
    }

    pub fn row(&self, i: usize) -> &[f64] {
        &self.x[3 * i..3 * (i + 1)]
    }

    /// The features behind a constant.
    pub fn with_constant(&self) -> Vec<f64> {
        self.x.chunks_exact(3).flat_map(|x| [1.0, x[0], x[1], x[2]]).collect()
    }
}

/// The loss of each row before it was learned.
pub fn losses(learner: &mut Ordinal, rows: Rows<'_>) -> Vec<f64> {
    let mut losses = Vec::new();
    learner.learn_observed(rows, Some(&mut |row: &ClassRow<'_>| losses.push(row.loss))).unwrap();
    losses
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
