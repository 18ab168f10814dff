//! Members from the prior at the current scales.
//!
//! Slopes have the priors of [`Auto`](crate::Auto), and the location that of its intercept. Gaps
//! start at those of levels that are equally frequent. Their prior is a normal law truncated at 0
//! whose mean would be 0 otherwise, so it is wide: its standard deviation is $\sqrt{\pi/2 - 1}$
//! times its mean. Under wide priors of the slopes linear predictors spread more, so gaps grow in
//! proportion to the root of the prior size. Counts of levels are not used: rows move the cutpoints
//! fast, and a prior from few counts would use these rows twice.

use super::Ordinal;
use super::member::Member;
use super::mixture::Mixture;
use crate::covariance::{Factored, FactoredBelief};
use crate::error::Result;
use crate::learner::auto::member_prior::{Basis, MemberPrior};
use crate::learner::auto::prior::MIN_INTERCEPT;
use crate::linalg::Buffer;
use std::f64::consts::FRAC_PI_2;

impl Ordinal {
    /// New members, in the memory of the old ones.
    pub(super) fn rebuild(&mut self) -> Result<()> {
        let priors = MemberPrior::all(self.scales.raw_differs());
        let old = std::mem::take(&mut self.mixture).members;
        let mut old = old.into_iter().map(|member| member.belief);
        let mut members = Vec::with_capacity(priors.len());
        for MemberPrior { size, basis, weight } in priors {
            let belief = self.prior_belief(size, basis, old.next())?;
            let mut member = Member::new(size, basis, belief);
            member.standing.weight = weight;
            members.push(member);
        }
        self.mixture = Mixture::new(members);
        Ok(())
    }

    /// A prior belief, in the memory of `old` if there is one.
    fn prior_belief(
        &self,
        size: f64,
        basis: Basis,
        old: Option<FactoredBelief>,
    ) -> Result<FactoredBelief> {
        let gaps = self.prior_gaps(size);
        let variances = self.prior_variances(size, basis, &gaps);
        let centers = self.prior_centers(basis);
        let mut belief = match old {
            Some(mut old) => {
                old.theta.fill(0.0);
                old.covariance.reset_centered(&variances, &centers)?;
                old
            }
            None => FactoredBelief {
                theta: Buffer::zeros(self.layout.size()),
                covariance: Factored::centered(&variances, &centers)?,
            },
        };
        belief.theta[self.layout.gap_places()].copy_from_slice(&gaps);
        Ok(belief)
    }

    /// Prior means of the gaps.
    fn prior_gaps(&self, size: f64) -> Vec<f64> {
        let levels = self.layout.levels as f64;
        let logit = |k: usize| (k as f64 / (levels - k as f64)).ln();
        let spread = size.max(1.0).sqrt();
        (1..=self.layout.gaps()).map(|k| spread * (logit(k + 1) - logit(k))).collect()
    }

    fn prior_variances(&self, size: f64, basis: Basis, gaps: &[f64]) -> Vec<f64> {
        let location = MIN_INTERCEPT * size.max(1.0);
        let slopes = self.scales.variances(size, basis).into_iter().skip(1);
        let gaps = gaps.iter().map(|gap| (FRAC_PI_2 - 1.0) * gap * gap);
        std::iter::once(location).chain(gaps).chain(slopes).collect()
    }

    /// The center of each coordinate; none for features as they come.
    fn prior_centers(&self, basis: Basis) -> Vec<f64> {
        if basis == Basis::Raw {
            return Vec::new();
        }
        let gaps = std::iter::repeat_n(0.0, 1 + self.layout.gaps());
        gaps.chain(self.scales.centers().iter().copied().skip(1)).collect()
    }
}
