//! Checks of the default learner that every family with a learned scale has to pass.

use super::{centered, rng};
use kalmia::{Auto, Family, Learner, RowView, Rows};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The target of a row, by its features and its number.
pub type Target = fn(&[f64], usize) -> f64;

/// Features of rows of an odd stream: the constant and two numbers in $(-1, 1)$.
pub struct OddRows {
    x: Vec<f64>,
}

impl OddRows {
    pub const DIM: usize = 3;

    pub fn new(rows: usize, seed: u64) -> Self {
        let mut rng = rng(seed);
        let number = |i: usize| if i.is_multiple_of(Self::DIM) { 1.0 } else { centered(&mut rng) };
        Self { x: (0..Self::DIM * rows).map(number).collect() }
    }

    pub fn x(&self) -> &[f64] {
        &self.x
    }

    pub fn targets(&self, target: Target) -> Vec<f64> {
        self.x.chunks(Self::DIM).enumerate().map(|(i, x)| target(x, i)).collect()
    }
}

/// Learns rows, and asserts that every prediction before its row and the coefficients are finite.
#[track_caller]
pub fn learn_finite<F: Family>(auto: &mut Auto<F>, rows: Rows<'_>, name: &str) {
    let mut finite = true;
    let mut watch = |row: &RowView<'_>| finite &= row.loss.is_finite() && row.mean.is_finite();
    auto.learn_observed(rows, Some(&mut watch)).unwrap();
    let theta = auto.coefficients();
    println!("{name}: dispersion {:e}, theta {theta:?}", auto.dispersion());
    assert!(finite && theta.iter().all(|t| t.is_finite()), "{name}");
}

/// Asserts that a learner that is stored and restored after each batch ends with the state of one
/// that never stopped, which is returned.
#[track_caller]
pub fn assert_continues<F>(untrained: Auto<F>, rows: Rows<'_>) -> Auto<F>
where
    F: Family + PartialEq + Serialize + DeserializeOwned,
{
    let mut whole = untrained;
    let mut stopped = whole.clone();
    let mut from = 0;
    for size in [1, 2, 60, 100, 300, 37, 1000] {
        let to = (from + size).min(rows.len());
        let batch = rows.slice(from..to);
        whole.learn(batch).unwrap();
        stopped.learn(batch).unwrap();
        let text = serde_json::to_string(&stopped.state()).unwrap();
        stopped = Auto::restore(serde_json::from_str(&text).unwrap()).unwrap();
        from = to;
    }
    assert_eq!(whole.state(), stopped.state(), "{:?}", whole.drift_mode());
    whole
}
