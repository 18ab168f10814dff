//! The members, static or with process noise: the one place that distinguishes the two.

use super::bank::{Bank, Context, MemberBelief};
use super::dispersion::Dispersion;
use super::member_prior::Basis;
use super::{MemberWeight, scale};
use crate::covariance::{Dense, Factored, Kernel};
use crate::error::Result;
use crate::family::Family;
use crate::linalg::require_memory;
use crate::observe::Observer;
use crate::rows::Rows;

/// The members. They are static, in the factored form, until random-walk members take over, which
/// are dense because process noise is cheap in that form.
#[derive(Debug, Clone)]
pub(super) enum Stage {
    Static(Bank<Factored>),
    RandomWalk(Bank<Dense>),
}

impl Default for Stage {
    /// No members.
    fn default() -> Self {
        Self::Static(Bank::default())
    }
}

macro_rules! each_bank {
    ($stage:expr, $bank:ident => $body:expr) => {
        match $stage {
            $crate::learner::auto::Stage::Static($bank) => $body,
            $crate::learner::auto::Stage::RandomWalk($bank) => $body,
        }
    };
}
pub(super) use each_bank;

impl Stage {
    pub fn is_static(&self) -> bool {
        matches!(self, Self::Static(_))
    }

    /// Whether every member could lose its precision on legal rows: dense members without process
    /// noise. With it each row adds enough variance that $\sum_j x_j^2P_{jj} / x^\top Px$ stays
    /// below $10^6$ and the number of rows.
    pub fn can_lose_precision(&self) -> bool {
        matches!(self, Self::RandomWalk(bank) if !bank.has_process_noise())
    }

    pub fn learn<F: Family>(
        &mut self,
        context: Context<'_, F>,
        rows: Rows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        each_bank!(self, bank => bank.learn(context, rows, observer))
    }

    /// Number of members.
    pub fn members(&self) -> usize {
        each_bank!(self, bank => bank.members.len())
    }

    /// Bytes of a member's matrix of `dim` coefficients.
    pub fn matrix_bytes(&self, dim: usize) -> usize {
        match self {
            Self::Static(_) => Factored::bytes(dim),
            Self::RandomWalk(_) => Dense::bytes(dim),
        }
    }

    /// Bytes of the matrices that [`Stage::grow`] allocates.
    fn growth_bytes(&self) -> usize {
        each_bank!(self, bank => {
            bank.members.iter().map(|m| m.covariance.growth_bytes()).fold(0, usize::saturating_add)
        })
    }

    /// The best member's estimate of the dispersion.
    pub fn dispersion(&self, dispersion: &Dispersion) -> f64 {
        each_bank!(self, bank => bank.dispersion(dispersion))
    }

    pub fn weights(&self) -> Vec<MemberWeight> {
        each_bank!(self, bank => bank.weights())
    }

    /// The members' beliefs about the linear predictor at `x`.
    pub fn beliefs(&self, x: &[f64]) -> Vec<MemberBelief> {
        each_bank!(self, bank => bank.beliefs(x))
    }

    /// The mean of the coefficients.
    pub fn mean(&self, mean: &mut [f64]) {
        each_bank!(self, bank => bank.mean(mean));
    }

    /// Entry $(i,j)$ of the coefficients' covariance.
    pub fn entry(&self, dispersion: &Dispersion, mean: &[f64], i: usize, j: usize) -> f64 {
        each_bank!(self, bank => bank.entry(dispersion, mean, i, j))
    }

    /// The part of it between the members.
    pub fn between(&self, mean: &[f64], i: usize, j: usize) -> f64 {
        each_bank!(self, bank => bank.between(mean, i, j))
    }

    /// Prior size of the member with the largest weight, and the features that it is relative to.
    pub fn best_prior(&self) -> (f64, Basis) {
        each_bank!(self, bank => {
            let best = bank.best();
            (best.p, best.basis)
        })
    }

    /// Refuses if there is no memory for one more coefficient.
    pub fn require_growth(&self) -> Result<()> {
        require_memory(self.growth_bytes())
    }

    /// One more coefficient.
    pub fn grow(&mut self, prior_scale: f64) {
        each_bank!(self, bank => bank.grow(prior_scale));
    }

    /// Gives unseen coefficient `j` its prior.
    pub fn set_prior(&mut self, j: usize, prior_scale: f64, scale: f64) {
        each_bank!(self, bank => {
            for member in &mut bank.members {
                member.set_prior(j, scale::variance(prior_scale * member.p, scale));
            }
        });
    }
}
