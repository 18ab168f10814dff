//! Sparse rows of a filter whose covariance takes them as they are.
//!
//! Nothing here costs more than the features of the rows: the checks that guard a dense batch look
//! at every coefficient, these at the ones that the rows have.

use super::{Belief, Filter, steps::Steps};
use crate::covariance::Covariance;
use crate::error::Result;
use crate::family::Family;
use crate::learner::auto::outliers::FilterJudge;
use crate::learner::{Drift, Learner};
use crate::observe::Observer;
use crate::predict::Prediction;
use crate::rule::Rule;
use crate::sparse::{SparseInputs, SparseMatrix, SparseRows};

impl<F: Family, R: Rule, C: Covariance> Filter<F, R, C> {
    /// Whether sparse rows are learned as such. Drift moves every coefficient in each row, so with
    /// it there is nothing to gain.
    pub(super) fn takes_sparse(&self) -> bool {
        self.drift == Drift::Off && self.belief.covariance.sparse().is_some()
    }

    /// As [`is_moderate`](Self::is_moderate), for the coefficients that the rows have.
    fn is_moderate_at(&self, x: SparseMatrix<'_>) -> bool {
        let theta = &self.belief.theta;
        self.prior_is_moderate && x.indices().iter().all(|&j| theta[j as usize].abs() <= 1e120)
    }

    /// Learns sparse rows; only if it [takes them](Self::takes_sparse).
    pub(super) fn learn_as_sparse(
        &mut self,
        rows: SparseRows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        let x = rows.features();
        let moderate =
            x.check(self.dim() as u64)? & rows.observations().check_observations(&self.family)?;
        let fragile = C::CAN_LOSE_PRECISION || self.rule.can_diverge(&self.family);
        // a single row is rejected before any state changes, unless its values are large
        let guarded = !moderate || !self.is_moderate_at(x) || (fragile && rows.len() > 1);
        let Self { family, rule, count, belief, threads, .. } = self;
        let Belief { theta, covariance, downweighting } = belief;
        let before = *downweighting;
        let judge = downweighting.as_mut().map(|judged| FilterJudge::new(judged, family));
        let mut steps = Steps { rows: rows.observations(), observer, judge };
        let mut decide =
            |i: usize, m: f64, s: f64| steps.decide(family, rule, i, m, s, *count + i as u64 + 1);
        let learned = match covariance.sparse_mut() {
            Some(kernel) => kernel.learn_sparse(theta, x, &mut decide, guarded, *threads),
            None => Ok(()),
        };
        if learned.is_err() {
            *downweighting = before;
        }
        learned?;
        self.count += rows.len() as u64;
        Ok(())
    }

    /// Predicts sparse rows; `None` if the covariance does not take them.
    pub(super) fn predict_as_sparse(
        &self,
        inputs: SparseInputs<'_>,
        take: &mut dyn FnMut(usize, &Prediction<F>) -> Result<()>,
    ) -> Option<Result<()>> {
        let kernel = self.belief.covariance.sparse()?;
        let mut scratch = Vec::new();
        let mut predict = |i: usize| {
            let x = inputs.x(i);
            let m: f64 = x.iter().map(|(j, x)| self.belief.theta[j as usize] * x).sum();
            let unseen = f64::from(inputs.unseen(i)) * self.new_variance();
            let s = kernel.sparse_variance(x, &mut scratch) + unseen;
            take(i, &Prediction::new(self.family.clone(), m + inputs.offset(i), s)?)
        };
        let checked = inputs.check(self.dim() as u64);
        Some(checked.and_then(|()| (0..inputs.len()).try_for_each(&mut predict)))
    }
}
