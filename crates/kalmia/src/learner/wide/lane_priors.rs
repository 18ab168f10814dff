//! What the members assume of a feature that no row had, side by side.

use super::member::Member;
use super::{MAX_LANES, PerLane};

/// A member's variance that grows while a feature is away.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk {
    pub lane: usize,
    /// Variance added per row.
    pub per_row: f64,
    /// Largest variance: that of the prior.
    pub most: f64,
}

impl Walk {
    /// The variance after `away` rows without the feature.
    #[inline(always)]
    pub fn after(&self, variance: f64, away: u32) -> f64 {
        // rounding may have left it slightly above the prior
        (variance + self.per_row * f64::from(away)).min(self.most.max(variance))
    }
}

/// What each member assumes of a feature that no row had, in its own unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct LanePriors {
    lanes: usize,
    variances: PerLane,
    /// Process noise relative to the prior.
    noises: PerLane,
    root_rates: PerLane,
}

impl LanePriors {
    /// The priors of all members; `unit` is the prior variance of size 1.
    #[inline(always)]
    pub fn new(members: &[Member], unit: f64) -> Self {
        let mut priors = Self {
            lanes: members.len(),
            variances: [0.0; MAX_LANES],
            noises: [0.0; MAX_LANES],
            root_rates: [0.0; MAX_LANES],
        };
        for (k, member) in members.iter().enumerate() {
            priors.variances[k] = member.assumption.prior_size * unit;
            priors.noises[k] = member.assumption.process_noise;
            priors.root_rates[k] = member.assumption.root_rate;
        }
        priors
    }

    #[inline(always)]
    pub fn variances(&self) -> &[f64] {
        &self.variances[..self.lanes]
    }

    pub fn has_walks(&self) -> bool {
        self.noises.iter().any(|&noise| noise > 0.0)
    }

    /// The members whose precisions grow as a root, with their rates.
    #[inline(always)]
    pub fn roots(&self) -> impl Iterator<Item = (usize, f64)> + use<'_> {
        let rates = self.root_rates[..self.lanes].iter().copied().enumerate();
        rates.filter(|(_, rate)| *rate > 0.0)
    }

    /// The members whose variances grow.
    #[inline(always)]
    pub fn walks(&self) -> impl Iterator<Item = Walk> + use<'_> {
        let lanes = self.noises[..self.lanes].iter().enumerate();
        lanes.filter(|(_, noise)| **noise > 0.0).map(|(lane, noise)| {
            let most = self.variances[lane];
            Walk { lane, per_row: noise * most, most }
        })
    }
}
