//! How much sharper than the mixture its probabilities should be.
//!
//! A belief per class cannot show how classes are correlated. So where classes are easy to tell
//! apart, probabilities averaged over the beliefs are too cautious. They are replaced by
//!
//! $$q_k = \sum_b v_b \frac{p_k^b}{\sum_j p_j^b}, \qquad b \in \{1, 3/2, 2\}$$
//!
//! with weights $v_b$ that follow the past likelihood of each power. Early rows need larger powers
//! than late ones, so after each row a small share of the weights goes back to where they started:
//! $1/(4t)$ after row $t$. Over $n$ rows that costs about $\ln(n)/4$ in total loss at most.
//!
//! Two classes have no sharpening, because their beliefs are exact. Neither has a polished learner,
//! which predicts at the mode.

use crate::error::{Result, require, require_count};
use serde::{Deserialize, Serialize};

/// A number per power.
type PerPower = [f64; 3];

/// The powers, which `raised` computes.
const POWERS: PerPower = [1.0, 1.5, 2.0];
/// Their weights before the first row.
const START: PerPower = [0.6, 0.2, 0.2];
/// Share of the weights that goes back to the start, times the number of the row.
const EXCHANGE: f64 = 0.25;
/// Weight of the power 1 from which sharpening is over.
const MIN_PLAIN_WEIGHT: f64 = 0.999;

/// A weight per power.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Sharpening {
    weights: PerPower,
    /// Rows learned so far.
    rows: u64,
}

impl Default for Sharpening {
    fn default() -> Self {
        Self { weights: START, rows: 0 }
    }
}

impl Sharpening {
    /// Sharpens the probabilities of a row.
    pub fn apply(&self, probabilities: &mut [f64]) {
        sharpen(&self.factors(probabilities), probabilities);
    }

    /// Sharpens the probabilities of a row of class `class`, then learns the row.
    pub fn learn(&mut self, class: usize, weight: f64, probabilities: &mut [f64]) {
        let factors = self.factors(probabilities);
        let own = raised(probabilities[class]);
        sharpen(&factors, probabilities);
        let likelihoods: PerPower = std::array::from_fn(|b| own[b] * factors[b] / self.weights[b]);
        let best = likelihoods.into_iter().fold(0.0, f64::max);
        // a class of probability 0 says nothing about the powers
        if weight == 0.0 || best == 0.0 {
            return;
        }
        self.rows += 1;
        let likely = |b: usize| {
            let ratio = likelihoods[b] / best;
            self.weights[b] * if weight == 1.0 { ratio } else { ratio.powf(weight) }
        };
        let next: PerPower = std::array::from_fn(likely);
        let total: f64 = next.iter().sum();
        let back = EXCHANGE / self.rows as f64;
        self.weights = std::array::from_fn(|b| (1.0 - back) * next[b] / total + back * START[b]);
    }

    /// Whether the mixture's own probabilities are as good as any.
    pub fn is_over(&self) -> bool {
        self.weights[0] >= MIN_PLAIN_WEIGHT
    }

    /// The mean of the powers.
    pub fn power(&self) -> f64 {
        weighted(&self.weights, &POWERS)
    }

    /// Checks a restored value.
    pub fn check(&self) -> Result<()> {
        require_count("rows", self.rows)?;
        for weight in self.weights {
            let legal = weight > 0.0 && weight <= 1.0;
            require(legal, "sharpening", weight, "must be above 0, at most 1")?;
        }
        let total: f64 = self.weights.iter().sum();
        require((total - 1.0).abs() <= 1e-9, "sharpening", total, "must add up to 1")
    }

    /// The weight of each power over the sum of the raised probabilities.
    fn factors(&self, probabilities: &[f64]) -> PerPower {
        let mut sums = PerPower::default();
        for &p in probabilities {
            sums.iter_mut().zip(raised(p)).for_each(|(sum, raised)| *sum += raised);
        }
        std::array::from_fn(|b| self.weights[b] / sums[b])
    }
}

/// A probability to each of the [`POWERS`].
#[inline(always)]
fn raised(p: f64) -> PerPower {
    [p, p * p.sqrt(), p * p]
}

#[inline(always)]
fn weighted(weights: &PerPower, values: &PerPower) -> f64 {
    weights.iter().zip(values).map(|(weight, value)| weight * value).sum()
}

fn sharpen(factors: &PerPower, probabilities: &mut [f64]) {
    probabilities.iter_mut().for_each(|p| *p = weighted(factors, &raised(*p)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula, with powers from the standard library.
    fn plain(sharpening: &Sharpening, p: &[f64]) -> Vec<f64> {
        let term = |b: usize, k: usize| {
            let sum: f64 = p.iter().map(|p| p.powf(POWERS[b])).sum();
            sharpening.weights[b] * p[k].powf(POWERS[b]) / sum
        };
        (0..p.len()).map(|k| (0..POWERS.len()).map(|b| term(b, k)).sum()).collect()
    }

    #[test]
    fn probabilities_are_those_of_the_formula_and_add_up_to_one() {
        let sharpening = Sharpening { weights: [0.2, 0.3, 0.5], rows: 7 };
        for p in [vec![0.5, 0.3, 0.2], vec![1.0, 0.0, 0.0], vec![1e-300, 0.6, 0.4], vec![0.25; 4]] {
            let mut found = p.clone();
            sharpening.apply(&mut found);
            for (found, expected) in found.iter().zip(plain(&sharpening, &p)) {
                assert!((found - expected).abs() <= 1e-15 * expected, "{found} is not {expected}");
            }
            assert!((found.iter().sum::<f64>() - 1.0).abs() <= 1e-15);
        }
    }

    #[test]
    fn weights_follow_the_likelihood_of_each_power() {
        let mut sharpening = Sharpening::default();
        let p = [0.5, 0.3, 0.2];
        let mut seen = p;
        sharpening.learn(0, 1.0, &mut seen);
        let likelihood = POWERS.map(|b| p[0].powf(b) / p.iter().map(|p| p.powf(b)).sum::<f64>());
        let total = weighted(&START, &likelihood);
        for b in 0..POWERS.len() {
            let expected = 0.75 * START[b] * likelihood[b] / total + 0.25 * START[b];
            assert!((sharpening.weights[b] - expected).abs() <= 1e-15, "{:?}", sharpening.weights);
        }
        // a row of weight 0 is predicted and not learned
        let before = sharpening.clone();
        let mut other = p;
        sharpening.learn(0, 0.0, &mut other);
        assert_eq!(sharpening, before);
        let mut applied = p;
        before.apply(&mut applied);
        assert_eq!(other, applied);
    }

    #[test]
    fn cautious_probabilities_raise_the_power_and_right_ones_end_the_sharpening() {
        let mut cautious = Sharpening::default();
        let mut right = Sharpening::default();
        for row in 0..4000 {
            cautious.learn(0, 1.0, &mut [0.6, 0.3, 0.1]);
            // classes as often as they were predicted
            let class = if row % 10 < 6 {
                0
            } else if row % 10 < 9 {
                1
            } else {
                2
            };
            right.learn(class, 1.0, &mut [0.6, 0.3, 0.1]);
        }
        assert!(cautious.power() > 1.99, "{}", cautious.power());
        assert!(!cautious.is_over());
        assert!(right.is_over(), "{:?}", right.weights);
    }

    #[test]
    fn huge_weights_and_impossible_classes_leave_legal_weights() {
        let mut sharpening = Sharpening::default();
        for weight in [1e6, 1e300, 1e-300] {
            sharpening.learn(2, weight, &mut [0.7, 0.3, 0.0]);
            sharpening.check().unwrap();
        }
    }
}
