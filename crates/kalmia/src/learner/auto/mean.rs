//! The mean that the mixture predicts for `y`.

use crate::family::Family;

/// A member's weight and its belief about the linear predictor, offset included.
#[derive(Debug, Clone, Copy)]
pub(in crate::learner) struct LinearBelief {
    pub weight: f64,
    pub linear: f64,
    pub variance: f64,
}

/// Largest variance of the linear predictor at which an unbounded mean is still averaged.
const MAX_AVERAGED_VARIANCE: f64 = 1.0;

/// The mean of `y` over the members' beliefs.
///
/// For families whose mean grows without bound (the log link) the average is dominated by the least
/// certain member. If any member's variance exceeds 1, the weighted-median member is used instead,
/// with its variance capped at 1.
pub(in crate::learner) fn predicted_mean<F: Family>(
    family: &F,
    beliefs: impl Iterator<Item = LinearBelief> + Clone,
) -> f64 {
    if family.bounded_gradient()
        || family.normal_noise().is_some()
        || beliefs.clone().all(|belief| belief.variance <= MAX_AVERAGED_VARIANCE)
    {
        return beliefs.map(|b| b.weight * family.moderated_mean(b.linear, b.variance)).sum();
    }
    let weight_up_to =
        |linear: f64| beliefs.clone().filter(|b| b.linear <= linear).map(|b| b.weight).sum::<f64>();
    let total: f64 = beliefs.clone().map(|b| b.weight).sum();
    let median = beliefs
        .clone()
        .filter(|b| weight_up_to(b.linear) >= 0.5 * total)
        .min_by(|a, b| a.linear.total_cmp(&b.linear));
    median.map_or(f64::NAN, |b| {
        family.moderated_mean(b.linear, b.variance.min(MAX_AVERAGED_VARIANCE))
    })
}
