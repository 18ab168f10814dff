//! Bayes' rule over the members: weights after a row, and the evidence of the mixture.

use crate::math::{exp_m1, ln_1p};
use crate::rule::Evidence;

/// Log evidences that all differ by at most this from the heaviest member's are weighed by their
/// differences, which is faster and loses no precision.
const MAX_CLOSE_LOG: f64 = 1.0;

/// The weights after a row, in `next`; returns the evidence of the mixture.
pub(in crate::learner) fn posterior(
    weights: impl Iterator<Item = f64> + Clone,
    evidence: &[Evidence],
    next: &mut [f64],
) -> Evidence {
    let mut total = 0.0;
    let mut rest = 0.0;
    let labels = weights.clone().zip(evidence).zip(&mut *next).all(|((weight, evidence), next)| {
        let Evidence::Label { own, other } = *evidence else { return false };
        *next = weight * own;
        total += *next;
        rest += weight * other;
        true
    });
    if labels {
        next.iter_mut().for_each(|next| *next /= total);
        return Evidence::Label { own: total, other: rest };
    }
    next.iter_mut().zip(evidence).for_each(|(next, evidence)| *next = evidence.ln());
    Evidence::Log(posterior_of_logs(weights, next))
}

/// The same if `next` holds the log evidences; returns that of the mixture.
pub(in crate::learner) fn posterior_of_logs(
    weights: impl Iterator<Item = f64> + Clone,
    next: &mut [f64],
) -> f64 {
    let heaviest =
        weights.clone().zip(&*next).max_by(|a, b| a.0.total_cmp(&b.0)).map_or(0.0, |(_, &log)| log);
    if next.iter().all(|log| (log - heaviest).abs() <= MAX_CLOSE_LOG) {
        let mut change = 0.0;
        for (weight, next) in weights.clone().zip(&mut *next) {
            *next = exp_m1(*next - heaviest);
            change += weight * *next;
        }
        weights
            .zip(next)
            .for_each(|(weight, next)| *next = weight * (1.0 + *next) / (1.0 + change));
        return heaviest + ln_1p(change);
    }
    let largest = next.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for (weight, next) in weights.zip(&mut *next) {
        *next = weight * (*next - largest).exp();
        total += *next;
    }
    next.iter_mut().for_each(|next| *next /= total);
    largest + total.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: [f64; 4] = [0.2, 1e-200, 0.7, 0.1];

    fn check(logs: [f64; 4], found: f64, next: [f64; 4], what: &str) {
        let joint = |k: usize| f64::ln(WEIGHTS[k]) + logs[k];
        let largest = (0..4).map(joint).fold(f64::NEG_INFINITY, f64::max);
        let expected = largest + (0..4).map(|k| (joint(k) - largest).exp()).sum::<f64>().ln();
        assert!(
            (found - expected).abs() < 1e-14 * (1.0 + expected.abs()),
            "{what}: {found} {expected}"
        );
        for (k, next) in next.iter().enumerate() {
            let weight = (joint(k) - expected).exp();
            assert!((next - weight).abs() < 1e-12 * weight, "{what}, {k}: {next} {weight}");
        }
    }

    #[test]
    fn every_way_is_bayes_rule() {
        let mut next = [0.0; 4];
        for spread in [1e-9, 1e-3, 0.02, 0.9, 3.0, 300.0] {
            let logs = [-2.0, -2.0 + spread, -2.0 - spread, -2.0 - 0.3 * spread];
            let found = posterior(WEIGHTS.into_iter(), &logs.map(Evidence::Log), &mut next);
            check(logs, found.ln(), next, "logs");
        }
        for own in [1e-7, 0.3, 0.6, 1.0 - 1e-7] {
            let chances = [own, 0.9 * own, 0.5 * own, own];
            let labels = chances.map(|own| Evidence::Label { own, other: 1.0 - own });
            let found = posterior(WEIGHTS.into_iter(), &labels, &mut next);
            check(chances.map(f64::ln), found.ln(), next, "labels");
            // a member that has a logarithm turns all to logarithms
            let mixed = [labels[0], labels[1], Evidence::Log(chances[2].ln()), labels[3]];
            let found = posterior(WEIGHTS.into_iter(), &mixed, &mut next);
            check(chances.map(f64::ln), found.ln(), next, "mixed");
        }
    }
}
