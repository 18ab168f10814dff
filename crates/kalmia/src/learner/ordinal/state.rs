//! What an [`Ordinal`] needs to continue, bit for bit.

use super::Ordinal;
use super::check::check_rows;
use super::layout::Layout;
use super::member::Member;
use super::mixture::Mixture;
use crate::covariance::Kernel;
use crate::error::{Result, require, require_count};
use crate::learner::auto::member_prior::Basis;
use crate::learner::auto::scale::Scales;
use crate::learner::categorical::restored_belief;
use crate::learner::standing::{self, Standing};
use crate::learner::warm_up::WarmUpRows;
use serde::{Deserialize, Serialize};

/// The state of an [`Ordinal`], to be stored and restored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrdinalState {
    /// The first of the fields and of their names, by which a file knows this state.
    begins_with_constant: bool,
    count: u64,
    dim: usize,
    levels: usize,
    members: Vec<MemberState>,
    scales: Scales,
    warm_up: Option<WarmUpRows>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct MemberState {
    prior_size: f64,
    basis: Basis,
    weight: f64,
    anchor: f64,
    influence: f64,
    theta: Vec<f64>,
    #[serde(with = "crate::covariance::packed")]
    covariance: Vec<f64>,
}

impl MemberState {
    fn new(member: &Member) -> Self {
        Self {
            prior_size: member.prior_size,
            basis: member.basis,
            weight: member.standing.weight,
            anchor: member.standing.anchor,
            influence: member.standing.influence,
            theta: member.belief.coefficients().to_vec(),
            covariance: member.belief.covariance.parts(),
        }
    }

    fn restore(&self, size: usize) -> Result<Member> {
        let belief = restored_belief(&self.theta, &self.covariance, size)?;
        let positive = self.prior_size > 0.0 && self.prior_size.is_finite();
        require(positive, "prior size", self.prior_size, "must be positive and finite")?;
        let standing =
            Standing { weight: self.weight, anchor: self.anchor, influence: self.influence };
        standing.check()?;
        let mut member = Member::new(self.prior_size, self.basis, belief);
        member.standing = standing;
        Ok(member)
    }
}

impl Ordinal {
    /// The state, to be stored.
    pub fn state(&self) -> OrdinalState {
        let Layout { levels, dim, constant } = self.layout;
        OrdinalState {
            begins_with_constant: constant,
            count: self.count,
            dim,
            levels,
            members: self.mixture.members.iter().map(MemberState::new).collect(),
            scales: self.scales.clone(),
            warm_up: self.warm_up.clone(),
        }
    }

    /// A learner that continues from a state.
    pub fn restore(state: OrdinalState) -> Result<Self> {
        let OrdinalState { begins_with_constant, count, dim, levels, members, scales, warm_up } =
            state;
        require(levels > 1, "levels", levels as f64, "must be at least 2")?;
        require(dim > 0, "dim", dim as f64, "must be at least 1")?;
        let layout = Layout { levels, dim, constant: begins_with_constant };
        scales.check(1 + layout.slopes())?;
        require_count("rows", count)?;
        let members = members.iter().map(|member| member.restore(layout.size()));
        let members = members.collect::<Result<Vec<_>>>()?;
        standing::check_total(&members)?;
        if let Some(rows) = &warm_up {
            check_rows(&rows.rows(dim)?, &layout)?;
        }
        Ok(Self { layout, count, scales, warm_up, mixture: Mixture::with_weights(members) })
    }
}
