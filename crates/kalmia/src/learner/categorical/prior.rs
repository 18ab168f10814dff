//! Members from the prior at the current scales.

use super::Categorical;
use super::member::{BLOCK_SHARE, Member};
use super::mixture::Mixture;
use crate::covariance::{Factored, FactoredBelief};
use crate::error::Result;
use crate::learner::auto::prior::{Basis, MIN_INTERCEPT, PRIOR_SIZES, PRIOR_WEIGHTS};
use crate::linalg::Buffer;

/// What a member assumes in each basis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assumption {
    /// Prior size of a difference between two classes, relative to the scaled features.
    pub prior_size: f64,
    /// Share of $x^\top Px$ that it believes.
    pub variance_share: f64,
    /// Weight before the first row, relative to the others.
    weight: f64,
}

/// One more member if there are three classes or more. Independent blocks leave differences between
/// classes too much variance where the classes are easy to tell apart. Without this member the
/// progressive loss is 17 % higher on wine and 12 % higher on digits. Steps at half of the variance
/// are too long: they pay off in the first rows only.
pub(super) const PARTIAL_SHARE: Assumption =
    Assumption { prior_size: 100.0, variance_share: 0.7, weight: 1.0 };

/// The members of each basis. The blocks of two classes keep the exact variance, so these believe
/// all of it.
fn assumptions(classes: usize) -> impl Iterator<Item = Assumption> {
    let all = PRIOR_SIZES.into_iter().zip(PRIOR_WEIGHTS);
    all.map(|(prior_size, weight)| Assumption { prior_size, variance_share: 1.0, weight })
        .chain((classes > 2).then_some(PARTIAL_SHARE))
}

/// Members of each basis.
pub(super) fn members_per_basis(classes: usize) -> usize {
    assumptions(classes).count()
}

impl Categorical {
    /// New members, in the memory of the old ones.
    pub(super) fn rebuild(&mut self) -> Result<()> {
        // Without a feature off center both kinds are the same.
        let bases: &[Basis] = if self.scales.has_intercept() && self.scales.off_center() {
            &[Basis::Centered, Basis::Raw]
        } else {
            &[Basis::Centered]
        };
        let old = std::mem::take(&mut self.mixture).members;
        let mut old = old.into_iter().map(|member| member.blocks);
        let mut members = Vec::with_capacity(bases.len() * members_per_basis(self.classes));
        for &basis in bases {
            for Assumption { prior_size, variance_share, weight } in assumptions(self.classes) {
                let blocks =
                    self.prior_blocks(prior_size, basis, old.next().unwrap_or_default())?;
                let mut member = Member::new(prior_size, basis, blocks);
                member.variance_share = variance_share;
                member.weight = weight;
                members.push(member);
            }
        }
        self.mixture = Mixture::new(members);
        Ok(())
    }

    /// A prior belief per class.
    pub(super) fn prior_blocks(
        &self,
        size: f64,
        basis: Basis,
        mut blocks: Vec<FactoredBelief>,
    ) -> Result<Vec<FactoredBelief>> {
        let variances = self.prior_variances(size, basis);
        let centers = self.prior_centers(basis);
        blocks.truncate(self.classes);
        for block in &mut blocks {
            block.theta.fill(0.0);
            block.covariance.reset_centered(&variances, centers)?;
        }
        while blocks.len() < self.classes {
            blocks.push(self.prior_block(size, basis)?);
        }
        Ok(blocks)
    }

    /// A prior belief of one class.
    pub(super) fn prior_block(&self, size: f64, basis: Basis) -> Result<FactoredBelief> {
        let variances = self.prior_variances(size, basis);
        Ok(FactoredBelief {
            theta: Buffer::zeros(self.dim),
            covariance: Factored::centered(&variances, self.prior_centers(basis))?,
        })
    }

    pub(super) fn prior_variances(&self, size: f64, basis: Basis) -> Vec<f64> {
        let mut variances = self.scales.variances(BLOCK_SHARE * size, basis);
        if self.scales.has_intercept() {
            variances[0] = BLOCK_SHARE * MIN_INTERCEPT * size.max(1.0);
        }
        variances
    }

    fn prior_centers(&self, basis: Basis) -> &[f64] {
        match basis {
            Basis::Centered => self.scales.centers(),
            Basis::Raw => &[],
        }
    }
}
