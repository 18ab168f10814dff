//! The priors that members start from: their sizes, and the features that they are independent in.

use serde::{Deserialize, Serialize};

/// Prior sizes of the members.
pub const PRIOR_SIZES: [f64; 6] = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0];
/// Their weights before the first row, relative to each other. Under the widest priors a few rows
/// that one plane separates have huge coefficients, which would dominate the mixture's mean.
pub(in crate::learner) const PRIOR_WEIGHTS: [f64; PRIOR_SIZES.len()] =
    [1.0, 1.0, 1.0, 1.0, 0.3, 0.03];

/// The features that a member's prior takes as independent. Which is better depends on the data:
/// where zero has a meaning (pixels, counts of words) features as they come predict better, where
/// it has none (a year) centered ones do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::learner) enum Basis {
    /// Features less their means, in units of their standard deviation.
    #[default]
    Centered,
    /// Features as they come, in units of their root mean square.
    Raw,
}

impl Basis {
    pub fn is_centered(&self) -> bool {
        *self == Self::Centered
    }
}

/// What a member starts from.
#[derive(Debug, Clone, Copy)]
pub(in crate::learner) struct MemberPrior {
    /// Relative to the scaled features.
    pub size: f64,
    pub basis: Basis,
    /// Before the first row, relative to that of the other members.
    pub weight: f64,
}

impl MemberPrior {
    /// Of all members: every size for centered features, and with `raw` for features as they come.
    pub fn all(raw: bool) -> Vec<Self> {
        let bases: &[Basis] = if raw { &[Basis::Centered, Basis::Raw] } else { &[Basis::Centered] };
        let sizes = || PRIOR_SIZES.into_iter().zip(PRIOR_WEIGHTS);
        bases
            .iter()
            .flat_map(|&basis| sizes().map(move |(size, weight)| Self { size, basis, weight }))
            .collect()
    }
}
