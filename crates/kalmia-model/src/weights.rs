//! What the weights of rows mean, and the scale that precision weights are brought to.

use serde::{Deserialize, Serialize};

/// Means of frequency weights outside this range are reported: they are probably no frequencies.
const USUAL_MEANS: std::ops::RangeInclusive<f64> = 0.1..=10.0;

/// What a row's weight means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WeightKind {
    /// Rows: a weight of 2 counts as the row twice. Twice the weights give half the variances.
    #[default]
    Frequency,
    /// Precision relative to the other rows: a weight of 2 halves the variance of the row's target.
    /// Weights are divided by their mean, so a constant factor changes nothing.
    Precision,
}

impl WeightKind {
    /// Both kinds, the default first.
    pub const ALL: [Self; 2] = [Self::Frequency, Self::Precision];

    /// The name as users type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frequency => "frequency",
            Self::Precision => "precision",
        }
    }

    /// Whether it is the default, which files leave out.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl std::str::FromStr for WeightKind {
    type Err = crate::Error;

    fn from_str(name: &str) -> crate::Result<Self> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| crate::Error::UnknownWeightKind { name: name.into() })
    }
}

/// The weights so far, as they were given.
///
/// ```
/// use kalmia_model::Weights;
/// let mut weights = Weights::default();
/// let mut scaled = [4.0, 0.0, 8.0];
/// weights.divide_by_running_mean(&mut scaled);
/// assert_eq!(scaled, [1.0, 0.0, 8.0 / 6.0]);
/// assert_eq!(weights.mean(), Some(6.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Weights {
    /// Rows that had a weight.
    pub given: u64,
    /// Rows that had a weight above 0; others count nowhere.
    pub rows: u64,
    /// The sum of the weights.
    pub total: f64,
}

impl Weights {
    /// Refuses a value read from a file that no rows can give.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let legal = self.given <= u64::MAX / 2 && self.rows <= self.given;
        match legal && self.total.is_finite() && self.total >= 0.0 {
            true => Ok(()),
            false => Err(format!("the weights of {} rows add up to {}", self.rows, self.total)),
        }
    }

    /// Whether no row had a weight; files then leave it out.
    pub fn is_empty(&self) -> bool {
        self.given == 0
    }

    /// Counts weights.
    pub fn count(&mut self, weights: &[f64]) {
        weights.iter().for_each(|&weight| self.add(weight));
    }

    fn add(&mut self, weight: f64) {
        self.given += 1;
        self.rows += u64::from(weight > 0.0);
        self.total += weight;
    }

    /// Counts weights, and divides each by the mean of all that are above 0 up to it. What was
    /// learned from earlier rows stays as it was, so the factor of the first rows is provisional.
    pub fn divide_by_running_mean(&mut self, weights: &mut [f64]) {
        for weight in weights {
            self.add(*weight);
            if *weight > 0.0 {
                *weight *= self.rows as f64 / self.total;
            }
        }
    }

    /// Counts weights, and divides them by their common mean.
    pub fn divide_by_mean(&mut self, weights: &mut [f64]) {
        let mut own = Self::default();
        own.count(weights);
        if let Some(mean) = own.mean() {
            weights.iter_mut().for_each(|weight| *weight /= mean);
        }
        *self = self.merged(&own);
    }

    /// Those of two models together.
    pub fn merged(&self, other: &Self) -> Self {
        Self {
            given: self.given + other.given,
            rows: self.rows + other.rows,
            total: self.total + other.total,
        }
    }

    /// The mean of the weights above 0; `None` before the first.
    pub fn mean(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.total / self.rows as f64)
    }

    /// Whether all rows so far had the weight 0, so that nothing was learned.
    pub fn are_all_zero(&self) -> bool {
        self.given > 0 && self.rows == 0
    }

    /// The mean, if it is far from 1: the number of rows then says little about how sure a model
    /// that counts weights as rows may be.
    pub fn unusual_mean(&self) -> Option<f64> {
        self.mean().filter(|mean| !USUAL_MEANS.contains(mean))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_factor_changes_nothing_and_rows_of_weight_0_are_left_out() {
        let given = [3.0, 0.0, 1.0, 5.0, 0.0, 7.0];
        for scale in [
            Weights::divide_by_running_mean as fn(&mut Weights, &mut [f64]),
            Weights::divide_by_mean,
        ] {
            let scaled = |factor: f64, given: &[f64]| {
                let mut weights = Weights::default();
                let mut scaled: Vec<f64> = given.iter().map(|w| factor * w).collect();
                scale(&mut weights, &mut scaled);
                (scaled, weights)
            };
            let (one, weights) = scaled(1.0, &given);
            for (a, b) in one.iter().zip(&scaled(1e-9, &given).0) {
                assert!((a - b).abs() < 1e-14, "{a} {b}");
            }
            let without: Vec<f64> = given.into_iter().filter(|&w| w > 0.0).collect();
            let left: Vec<f64> = one.into_iter().filter(|&w| w > 0.0).collect();
            assert_eq!(left, scaled(1.0, &without).0);
            assert_eq!((weights.rows, weights.mean()), (4, Some(4.0)));
        }
    }

    #[test]
    fn parts_are_scaled_as_the_whole() {
        let given: Vec<f64> = (1..40).map(|i| f64::from(i * i % 17)).collect();
        let mut whole = given.clone();
        let mut parts = given.clone();
        let mut one = Weights::default();
        let mut other = Weights::default();
        one.divide_by_running_mean(&mut whole);
        parts.chunks_mut(7).for_each(|part| other.divide_by_running_mean(part));
        assert_eq!((one, whole), (other, parts));
    }

    #[test]
    fn weights_that_sum_to_1_are_reported_and_weights_of_0_are_seen() {
        let of = |weights: &[f64]| {
            let mut sums = Weights::default();
            sums.count(weights);
            sums
        };
        assert_eq!(of(&[0.01; 100]).unusual_mean(), Some(of(&[0.01; 100]).mean().unwrap()));
        assert_eq!(of(&[0.5, 2.0, 3.0]).unusual_mean(), None);
        assert!(of(&[0.0, 0.0]).are_all_zero() && !of(&[]).are_all_zero());
        assert!(!of(&[0.0, 1.0]).are_all_zero());
    }
}
