//! What the members assume of a feature that no row had, side by side.

use super::assumption::Assumption;
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

/// A member whose precisions grow as a root.
#[derive(Debug, Clone, Copy)]
pub(super) struct Root {
    pub lane: usize,
    pub rate: f64,
}

/// How a member with a root moves: $v_j \mathrel{/}= \sqrt{1 + (g\,v_jz_j/\eta)^2}$, then
/// $\theta_j \mathrel{+}= g\,v_jz_j$.
#[derive(Debug, Clone, Copy)]
pub(super) struct RootStep {
    /// $g$.
    pub gain: f64,
    /// $\eta$.
    pub rate: f64,
}

impl RootStep {
    /// The variance of a feature with value `z` after the step.
    #[inline(always)]
    pub fn variance(&self, before: f64, z: f64) -> f64 {
        before / (before * self.gain * z / self.rate).hypot(1.0)
    }
}

/// What each member assumes of a feature that no row had, in its own unit. Lists that are short and
/// asked for at every entry of a row, so they are made once per row, on the stack.
#[derive(Debug, Clone, Copy)]
pub(super) struct LanePriors {
    lanes: usize,
    variances: PerLane,
    walks: [Walk; MAX_LANES],
    walk_count: usize,
    roots: [Root; MAX_LANES],
    root_count: usize,
}

impl LanePriors {
    /// The priors of all members; `unit` is the prior variance of size 1.
    #[inline(always)]
    pub fn new(members: &[Member], unit: f64) -> Self {
        let mut priors = Self {
            lanes: members.len(),
            variances: [0.0; MAX_LANES],
            walks: [Walk { lane: 0, per_row: 0.0, most: 0.0 }; MAX_LANES],
            walk_count: 0,
            roots: [Root { lane: 0, rate: 0.0 }; MAX_LANES],
            root_count: 0,
        };
        for (lane, member) in members.iter().enumerate() {
            let Assumption { prior_size, process_noise, root_rate, .. } = member.assumption;
            let most = prior_size * unit;
            priors.variances[lane] = most;
            if process_noise > 0.0 {
                priors.walks[priors.walk_count] =
                    Walk { lane, per_row: process_noise * most, most };
                priors.walk_count += 1;
            }
            if root_rate > 0.0 {
                priors.roots[priors.root_count] = Root { lane, rate: root_rate };
                priors.root_count += 1;
            }
        }
        priors
    }

    #[inline(always)]
    pub fn variances(&self) -> &[f64] {
        &self.variances[..self.lanes]
    }

    /// The members whose variances grow.
    #[inline(always)]
    pub fn walks(&self) -> &[Walk] {
        &self.walks[..self.walk_count]
    }

    /// The members whose precisions grow as a root.
    #[inline(always)]
    pub fn roots(&self) -> &[Root] {
        &self.roots[..self.root_count]
    }
}
