//! What the members at the start assume.

use super::MAX_LANES;
use serde::{Deserialize, Serialize};

/// What a member assumes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Assumption {
    /// Prior variance relative to the scale of a feature.
    pub prior_size: f64,
    /// Share of $s$ that the member believes. The tail takes features as independent, so $s$ is
    /// too large where they are correlated, and steps would be too small.
    pub share: f64,
    /// Variance that a feature regains per row, relative to its prior; 0 for a static member.
    pub process_noise: f64,
    /// The rate $\eta$ of a member that takes all features as independent and lets their
    /// precisions grow as the root of their squared slopes over $\eta$, as AdaGrad does; 0 for
    /// other members. Features that overlap, such as character n-grams, bring less information
    /// per row than the curvature says.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub root_rate: f64,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

const fn fixed(prior_size: f64, share: f64) -> Assumption {
    Assumption { prior_size, share, process_noise: 0.0, root_rate: 0.0 }
}

const fn root(prior_size: f64, share: f64, root_rate: f64) -> Assumption {
    Assumption { prior_size, share, process_noise: 0.0, root_rate }
}

/// The members at the start for labels. Chosen on text, hashed words and character n-grams, where
/// the best member has a prior size from 0.3 to 10 and a share from 0.15 to 0.5; a share of 1 is
/// right for rows with one feature.
pub(super) const FOR_LABELS: [Assumption; MAX_LANES] = [
    fixed(0.1, 0.15),
    fixed(0.3, 0.15),
    fixed(1.0, 0.5),
    fixed(1.0, 0.3),
    fixed(3.0, 0.15),
    fixed(3.0, 1.0),
    fixed(10.0, 0.4),
    fixed(0.3, 0.3),
];

/// The members at the start for other targets, where one word changes the linear predictor less:
/// by a tenth of a deviation of `y`, or of a factor of $e$.
pub(super) const FOR_NUMBERS: [Assumption; MAX_LANES] = [
    fixed(0.01, 0.3),
    fixed(0.03, 0.1),
    fixed(0.03, 0.4),
    fixed(0.1, 0.1),
    fixed(0.1, 0.5),
    fixed(0.3, 0.3),
    fixed(1.0, 1.0),
    fixed(0.1, 0.3),
];

/// The members at the start for three classes or more, the most useful first: of many classes only
/// the first ones are kept. Chosen on words, pairs of words and character n-grams, where the best
/// member has a prior size from 0.3 to 3 and a share from 0.02 to 0.15. On n-grams of few thousand
/// rows a root is better: 1.18 in place of 1.21 for nine languages.
pub(super) const FOR_CLASSES: [Assumption; MAX_LANES] = [
    fixed(2.0, 0.1),
    root(1.0, 0.005, 0.15),
    fixed(4.0, 0.15),
    fixed(1.0, 0.03),
    fixed(0.3, 0.05),
    root(2.0, 0.005, 0.1),
    fixed(10.0, 0.4),
    fixed(1.0, 0.3),
];

/// Beliefs of one feature, one per class and member, that memory and time are spent on. With more
/// classes there are fewer members.
const MAX_BELIEFS: usize = 512;
/// Fewest members: with drift, one static and one with process noise.
const MIN_LANES: usize = 2;

/// Members at the start for so many classes.
pub(super) fn class_lanes(classes: usize) -> usize {
    let mut lanes = MAX_LANES;
    while lanes > MIN_LANES && classes * lanes > MAX_BELIEFS {
        lanes /= 2;
    }
    lanes
}
