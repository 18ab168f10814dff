//! The choice of a prior during a polish of several classes, by its evidence.

use super::PriorPrecision;
use super::newton::NewtonSums;
use super::polish::{Polished, polish_sums};
use crate::error::Result;
use crate::learner::ClassPrior;

/// Largest step, root mean square in standard errors, at which the parabola of the sums is good
/// enough to judge a prior. Far from the mode it favors priors that are much too wide.
const CLOSE: f64 = 0.3;
/// A size that would change by less than this factor stays.
const MIN_FACTOR: f64 = 1.05;
/// Largest factor by which a size changes at once.
const MAX_FACTOR: f64 = 10.0;
/// Changes of the size at most; each takes it closer to the best one.
const MAX_CHANGES: usize = 20;

/// A prior and what is still to be decided about it.
#[derive(Debug, Clone)]
pub(super) struct PriorChoice {
    prior: ClassPrior,
    /// Whether features as they come were compared with centered ones.
    compared: bool,
    changes: usize,
}

impl PriorChoice {
    pub fn new(prior: ClassPrior) -> Self {
        Self { prior, compared: false, changes: 0 }
    }

    pub fn prior(&self) -> &ClassPrior {
        &self.prior
    }

    /// Another prior of larger evidence, once the step is small; `None` if this one stays.
    pub fn improve(
        &mut self,
        polished: &Polished,
        sums: &impl NewtonSums,
    ) -> Result<Option<PriorPrecision>> {
        let close = polished.moved().rms <= CLOSE;
        if !close || self.changes == MAX_CHANGES {
            return Ok(None);
        }
        let factor = polished.prior_growth().clamp(1.0 / MAX_FACTOR, MAX_FACTOR);
        let resized = self.prior.resized(factor);
        let change = resized.size() / self.prior.size();
        // a NaN, of no effective parameters, changes nothing
        if change.ln().abs() > MIN_FACTOR.ln() {
            self.changes += 1;
            self.prior = resized;
            return self.prior.precision().map(Some);
        }
        if !std::mem::replace(&mut self.compared, true)
            && let Some(other) = self.prior.other_basis()
        {
            let precision = other.precision()?;
            let there = polish_sums(&precision, sums)?.log_evidence(other.log_det());
            if there > polished.log_evidence(self.prior.log_det()) {
                self.prior = other;
                return Ok(Some(precision));
            }
        }
        Ok(None)
    }
}
