//! A density counted in a normal window around predictions.

use crate::math::normal_quantile;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// Smallest $h^2$, in units of the prediction's variance.
const MIN_WINDOW: f64 = 1.25;
/// $z^{2/3}$ of Hall and Sheather's bandwidth, for intervals of 90 %.
const INTERVAL_FACTOR: f64 = 1.393_8;

/// A density counted in a window: sums of weights, of the window's heights and of their squares.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "[f64; 3]", into = "[f64; 3]")]
pub(super) struct Window {
    pub weight: f64,
    pub sum: f64,
    squares: f64,
}

impl From<[f64; 3]> for Window {
    fn from([weight, sum, squares]: [f64; 3]) -> Self {
        Self { weight, sum, squares }
    }
}

impl From<Window> for [f64; 3] {
    fn from(window: Window) -> Self {
        [window.weight, window.sum, window.squares]
    }
}

impl Window {
    /// The height at a residual of a normal window with the variance $h^2 - s$.
    pub fn height(residual: f64, square: f64, s: f64) -> f64 {
        let variance = square.max(MIN_WINDOW * s) - s;
        (-0.5 * residual * residual / variance).exp() / (TAU * variance).sqrt()
    }

    pub fn add(&mut self, weight: f64, height: f64) {
        self.weight += weight;
        self.sum += weight * height;
        self.squares += weight * height * weight * height;
    }

    /// The density, with rows of another one added.
    pub fn density(&self, other: f64, weight: f64) -> f64 {
        (self.sum + weight * other) / (self.weight + weight)
    }

    /// The number of rows that as exact a density would have in its window.
    pub fn hits(&self) -> f64 {
        if self.squares > 0.0 { self.sum * self.sum / self.squares } else { 0.0 }
    }
}

/// Hall and Sheather's bandwidth in probabilities, as the standard deviation of a normal window.
pub(super) fn bandwidth(tau: f64, rows: f64) -> f64 {
    let z = normal_quantile(tau);
    let square = (-z * z).exp() / TAU;
    INTERVAL_FACTOR * (1.5 * square / (rows * (2.0 * z * z + 1.0))).cbrt() / 3.0f64.sqrt()
}
