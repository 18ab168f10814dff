//! Members from the prior at the current scales.

use super::Categorical;
use super::member::{BLOCK_SHARE, Member};
use super::mixture::Mixture;
use crate::covariance::{Factored, FactoredBelief};
use crate::error::Result;
use crate::learner::auto::member_prior::{Basis, MemberPrior};
use crate::learner::auto::prior::MIN_INTERCEPT;
use crate::linalg::Buffer;

impl Categorical {
    /// New members, in the memory of the old ones.
    pub(super) fn rebuild(&mut self) -> Result<()> {
        let priors = MemberPrior::all(self.may_be_raw() && self.scales.raw_differs());
        let old = std::mem::take(&mut self.mixture).members;
        let mut old = old.into_iter().map(|member| member.blocks);
        let mut members = Vec::with_capacity(priors.len());
        for MemberPrior { size, basis, weight } in priors {
            let blocks = self.prior_blocks(size, basis, old.next().unwrap_or_default())?;
            let mut member = Member::new(size, basis, blocks);
            member.standing.weight = weight;
            members.push(member);
        }
        self.mixture = Mixture::new(members);
        Ok(())
    }

    /// Whether there may be raw priors. Two classes have the members of [`Auto`](crate::Auto).
    /// Three or more have centered priors only: raw ones predict no set better by 0.1 %, digits
    /// worse by 6 %, and take as long again.
    pub(super) fn may_be_raw(&self) -> bool {
        self.classes < 3 && self.scales.has_intercept()
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
