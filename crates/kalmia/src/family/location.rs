//! What the families of a location share: the range of their scale, the targets that are legal, and
//! what a row says of the scale if its prediction is vague.

use crate::error::{Result, require};
use crate::rows::MAX_FEATURE;

/// The targets that are legal, in words.
pub(super) const DOMAIN: &str = "a finite number, at most 1e120 in size";

/// Range of the scale.
const MIN_SCALE: f64 = 1e-140;
const MAX_SCALE: f64 = 1e140;

/// A scale that a user gives.
pub(super) fn checked_scale(scale: f64) -> Result<f64> {
    let legal = (MIN_SCALE..=MAX_SCALE).contains(&scale);
    require(legal, "scale", scale, "must lie between 1e-140 and 1e140")?;
    Ok(scale)
}

/// The nearest legal scale.
#[inline(always)]
pub(super) fn nearest_scale(scale: f64) -> f64 {
    scale.clamp(MIN_SCALE, MAX_SCALE)
}

/// A target, if it is legal.
#[inline(always)]
pub(super) fn legal_target(y: f64) -> Option<f64> {
    (y.abs() <= MAX_FEATURE).then_some(y)
}

/// How much wider than the noise a prediction is.
pub(super) struct Vagueness {
    /// The deviation of the predicted target over that of the noise.
    pub widening: f64,
    /// Whether the belief is wider than the law: what the row says of the scale then rests on the
    /// belief more than on the noise.
    pub is_vague: bool,
}

impl Vagueness {
    /// For noise of the given deviation around $N(m, s)$.
    pub fn new(deviation: f64, s: f64) -> Self {
        let ratio = s / (deviation * deviation);
        Self { widening: (1.0 + ratio).sqrt(), is_vague: ratio.is_nan() || ratio > 1.0 }
    }

    /// What a row of this weight counts as for the scale.
    pub fn weight(&self, weight: f64) -> f64 {
        if self.is_vague { weight / (self.widening * self.widening) } else { weight }
    }
}
