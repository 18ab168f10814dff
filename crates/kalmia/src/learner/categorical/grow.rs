//! New features and new classes.

use super::Categorical;
use super::member::Member;
use crate::covariance::{Factored, Kernel};
use crate::error::Result;
use crate::linalg::require_memory;
use crate::math::dot;

impl Categorical {
    /// Appends a feature that was zero in every row so far. Nothing already learned changes. Its
    /// first value other than zero sets its scale.
    pub fn grow(&mut self) -> Result<()> {
        let blocks = self.mixture.members.iter().flat_map(|member| &member.blocks);
        let bytes = blocks.map(|block| block.covariance.growth_bytes());
        require_memory(bytes.fold(0, usize::saturating_add))?;
        if let Some(rows) = &mut self.warm_up {
            rows.grow(self.dim);
        }
        self.dim += 1;
        self.scales.grow();
        self.mixture.members.iter_mut().for_each(Member::grow);
        Ok(())
    }

    /// Appends a class that no row had so far, with the prior of its coefficients.
    ///
    /// With an intercept it starts as rare as a class that $n$ rows did not have: at the mean of
    /// the features its probability is about $1/(n+2)$. The coefficients of the other classes do
    /// not change. During the first 128 rows the class is then treated as known from the start.
    pub fn grow_class(&mut self) -> Result<()> {
        let bytes = Factored::bytes(self.dim).saturating_mul(self.mixture.members.len());
        require_memory(bytes)?;
        let mut added = Vec::with_capacity(self.mixture.members.len());
        for member in &self.mixture.members {
            let mut block = self.prior_block(member.prior_size, member.basis)?;
            if self.scales.has_intercept() {
                block.theta[0] = self.rare_level(member);
            }
            added.push(block);
        }
        for (member, block) in self.mixture.members.iter_mut().zip(added) {
            member.blocks.push(block);
        }
        self.classes += 1;
        Ok(())
    }

    /// The linear predictor of a class that has $1/(n+1)$ of the weight of all others together, at
    /// the mean of the features.
    fn rare_level(&self, member: &Member) -> f64 {
        let mut center = self.scales.centers().to_vec();
        center[0] = 1.0;
        let levels: Vec<f64> =
            member.blocks.iter().map(|block| dot(&center, block.coefficients())).collect();
        let top = levels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = levels.iter().map(|level| (level - top).exp()).sum();
        top + sum.ln() - ((self.count + 1) as f64).ln()
    }
}
