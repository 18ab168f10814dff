//! Growth undone: the last feature goes, if no row has had a value for it.

use super::stage::each_bank;
use super::{Auto, bank::Bank, member::Member};
use crate::covariance::Covariance;
use crate::error::Result;
use crate::family::Family;
use crate::learner::used_feature;
use crate::linalg::Buffer;

impl<F: Family> Auto<F> {
    /// Removes the last feature.
    pub(super) fn drop_last(&mut self) -> Result<()> {
        let last = self.dim.checked_sub(1).ok_or_else(used_feature)?;
        // feature 0 with an intercept is the constant, which every row has
        let is_constant = last == 0 && self.scales.has_intercept();
        if is_constant || !self.scales.is_unseen(last) {
            return Err(used_feature());
        }
        if let Some(rows) = &mut self.warm_up {
            rows.shrink(self.dim);
        }
        self.dim = last;
        self.scales.shrink();
        self.mean.truncate(last);
        each_bank!(&mut self.stage, bank => bank.shrink());
        if let Some(sandwich) = &mut self.sandwich {
            sandwich.shrink();
        }
        Ok(())
    }
}

impl<C: Covariance> Bank<C> {
    fn shrink(&mut self) {
        self.members.iter_mut().for_each(Member::shrink);
        self.centers.pop();
    }
}

impl<C: Covariance> Member<C> {
    fn shrink(&mut self) {
        self.covariance.shrink();
        let dim = self.covariance.dim();
        let mut theta = Buffer::zeros(dim);
        theta[..dim].copy_from_slice(&self.theta[..dim]);
        self.theta = theta;
        self.process_noise.truncate(dim);
    }
}
