//! Probabilities of the levels from beliefs about $q_k$.

use crate::family::{Bernoulli, Family};
use crate::rule::LinearRow;

/// Smallest probability of a middle level relative to the smaller of $P(y \ge k)$ and
/// $P(y \le k)$. Differences of averaged probabilities are below it only if a gap is hardly known.
const MIN_SHARE: f64 = 1e-4;

/// $P(y \ge k)$, by the smaller of it and its complement.
#[derive(Clone, Copy)]
struct Tail {
    chance: f64,
    /// Whether `chance` is that of $y < k$.
    below: bool,
}

impl Tail {
    fn new(row: &LinearRow) -> Self {
        let below = row.m > 0.0;
        Self { chance: Bernoulli.moderated_mean(-row.m.abs(), row.s), below }
    }

    /// $P(y \ge k)$.
    fn at_least(self) -> f64 {
        if self.below { 1.0 - self.chance } else { self.chance }
    }

    /// $P(y < k)$.
    fn less(self) -> f64 {
        if self.below { self.chance } else { 1.0 - self.chance }
    }
}

/// Sets the probability of each level: $P(y \ge k) = E\,\sigma(q_k)$ less that of $k + 1$, without
/// cancellation in the tails. `cuts` has the belief about $q_1, \dots, q_{K-1}$.
///
/// The differences are exact for a normal belief. It may give gaps below 0 some chance, so small
/// differences are raised and all divided by their sum.
pub(super) fn level_probabilities(cuts: &[LinearRow], probabilities: &mut [f64]) {
    let mut lower = Tail::new(&cuts[0]);
    probabilities[0] = lower.less();
    for (cut, p) in cuts[1..].iter().zip(&mut probabilities[1..]) {
        let upper = Tail::new(cut);
        let difference = match (lower.below, upper.below) {
            (true, true) => upper.chance - lower.chance,
            (false, false) => lower.chance - upper.chance,
            _ => lower.at_least() - upper.at_least(),
        };
        *p = difference.max(MIN_SHARE * lower.at_least().min(upper.less()));
        lower = upper;
    }
    probabilities[cuts.len()] = lower.at_least();
    let total: f64 = probabilities.iter().sum();
    probabilities.iter_mut().for_each(|p| *p /= total);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::logistic;

    fn probabilities(cuts: &[(f64, f64)]) -> Vec<f64> {
        let cuts: Vec<LinearRow> = cuts.iter().map(|&(m, s)| LinearRow::new(m, s)).collect();
        let mut found = vec![f64::NAN; cuts.len() + 1];
        level_probabilities(&cuts, &mut found);
        found
    }

    #[test]
    fn certain_beliefs_give_differences_of_the_logistic_function() {
        for shift in [-40.0, -3.0, 0.0, 1.0, 40.0] {
            let found = probabilities(&[(1.5 + shift, 0.0), (shift, 0.0), (shift - 2.0, 0.0)]);
            // sigma(a) - sigma(b) = sigma(a) sigma(-b) (1 - e^{b-a})
            let between = |a: f64, b: f64| -logistic(a) * logistic(-b) * (b - a).exp_m1();
            let expected = [
                logistic(-1.5 - shift),
                between(1.5 + shift, shift),
                between(shift, shift - 2.0),
                logistic(shift - 2.0),
            ];
            for (found, expected) in found.iter().zip(expected) {
                let close = (found / expected - 1.0).abs() < 1e-12;
                assert!(close, "{shift}: {found} {expected}");
            }
        }
    }

    #[test]
    fn probabilities_are_positive_and_sum_to_1_whatever_the_belief() {
        for cuts in [
            [(0.0, 1.0), (0.5, 1.0)],
            [(3.0, 1.0), (3.0, 900.0)],
            [(-50.0, 1.0), (-60.0, 1e4)],
            [(600.0, 1e-3), (590.0, 1e-3)],
        ] {
            let found = probabilities(&cuts);
            assert!(found.iter().all(|&p| p > 0.0 && p < 1.0 + 1e-12), "{cuts:?}: {found:?}");
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}
