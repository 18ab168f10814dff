//! New features and new classes.

use super::Categorical;
use super::member::Member;
use crate::covariance::{Covariance, Factored, FactoredBelief, Kernel};
use crate::error::Result;
use crate::family::{Bernoulli, Family};
use crate::linalg::require_memory;
use crate::math::dot;

/// Halvings of the range of a logit.
const BISECTIONS: usize = 50;

impl Categorical {
    /// Appends a feature that was zero in every row so far. Nothing already learned changes. Its
    /// first value other than zero sets its scale.
    pub fn grow(&mut self) -> Result<()> {
        let blocks = self.mixture.members.iter().flat_map(|member| &member.blocks);
        let bytes = blocks.map(|block| block.covariance.growth_bytes());
        require_memory(bytes.fold(0, usize::saturating_add))?;
        for rows in self.warm_up.iter_mut().chain(&mut self.remembered) {
            rows.grow(self.dim);
        }
        self.dim += 1;
        self.scales.grow();
        self.mixture.members.iter_mut().for_each(Member::grow);
        self.joint = None;
        Ok(())
    }

    /// Appends a class that no row had so far, with the prior of its coefficients.
    ///
    /// With an intercept it starts as rare as a class that $n$ rows did not have: at the mean of
    /// the features its probability is about $1/(n+2)$, and more where it is less certain. The
    /// coefficients of the other classes do not change. During the first 128 rows the class is
    /// then treated as known from the start.
    pub fn grow_class(&mut self) -> Result<()> {
        let blocks = self.mixture.members.len();
        require_memory(Factored::bytes(self.dim).saturating_mul(blocks))?;
        let mut added = Vec::with_capacity(self.mixture.members.len());
        for member in &self.mixture.members {
            let mut block = self.prior_block(member.prior_size, member.basis)?;
            if self.scales.has_intercept() {
                block.theta[0] = self.rare_level(member, &block);
            }
            added.push(block);
        }
        for (member, block) in self.mixture.members.iter_mut().zip(added) {
            member.blocks.push(block);
        }
        self.mixture.watch_new_class();
        self.classes += 1;
        if self.classes == 3 {
            self.mixture.start_sharpening();
        }
        self.joint = None;
        Ok(())
    }

    /// The linear predictor at which a new class has probability $1/(n+2)$ at the mean of the
    /// features, averaged over its prior.
    fn rare_level(&self, member: &Member, block: &FactoredBelief) -> f64 {
        let mut center = self.scales.centers().to_vec();
        center[0] = 1.0;
        let levels = member.blocks.iter().map(|block| dot(&center, block.coefficients()));
        let top = levels.clone().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = levels.map(|level| (level - top).exp()).sum();
        let chance = 1.0 / (self.count as f64 + 2.0);
        top + sum.ln() + averaged_logit(chance, block.covariance.variance(&center))
    }
}

/// The mean of a normal $u$ of the given variance with $E\,\sigma(u)$ equal to `chance`, at most
/// one half.
pub(in crate::learner) fn averaged_logit(chance: f64, variance: f64) -> f64 {
    let mut high = 0.0;
    let mut low = -1.0;
    while Bernoulli.moderated_mean(low, variance) > chance {
        low *= 2.0;
    }
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if Bernoulli.moderated_mean(middle, variance) > chance {
            high = middle;
        } else {
            low = middle;
        }
    }
    0.5 * (low + high)
}
