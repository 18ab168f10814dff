//! What a [`Categorical`] needs to continue, bit for bit.

use super::Categorical;
use super::drift::Watch;
use super::joint::Joint;
use super::member::Member;
use super::mixture::Mixture;
use super::sharpening::Sharpening;
use crate::covariance::{Factored, FactoredBelief, Kernel};
use crate::error::{Error, Result, require, require_count, require_len};
use crate::learner::auto::DriftMode;
use crate::learner::auto::member_prior::Basis;
use crate::learner::auto::scale::Scales;
use crate::learner::standing::{self, Standing};
use crate::learner::warm_up::WarmUpRows;
use crate::linalg::Buffer;
use serde::{Deserialize, Serialize};

/// The state of a [`Categorical`], to be stored and restored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CategoricalState {
    classes: usize,
    dim: usize,
    count: u64,
    scales: Scales,
    warm_up: Option<WarmUpRows>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remembered: Option<WarmUpRows>,
    members: Vec<MemberState>,
    #[serde(default)]
    drift: DriftMode,
    #[serde(default)]
    follows_from: Option<u64>,
    #[serde(default)]
    watch: Option<Watch>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    joint: Option<Joint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sharpening: Option<Sharpening>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct MemberState {
    prior_size: f64,
    basis: Basis,
    weight: f64,
    anchor: f64,
    influence: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prior_evidence: Option<f64>,
    #[serde(default)]
    process_noise: f64,
    #[serde(default = "all_of_it")]
    variance_share: f64,
    blocks: Vec<BlockState>,
}

/// The share in files that were written before members had one.
fn all_of_it() -> f64 {
    1.0
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct BlockState {
    theta: Vec<f64>,
    #[serde(with = "crate::covariance::packed")]
    covariance: Vec<f64>,
}

impl BlockState {
    fn new(block: &FactoredBelief) -> Self {
        Self { theta: block.coefficients().to_vec(), covariance: block.covariance.parts() }
    }

    fn restore(&self, dim: usize) -> Result<FactoredBelief> {
        restored_belief(&self.theta, &self.covariance, dim)
    }
}

/// The belief about `dim` coefficients that a state holds, if its numbers are legal.
pub(in crate::learner) fn restored_belief(
    theta: &[f64],
    covariance: &[f64],
    dim: usize,
) -> Result<FactoredBelief> {
    require_len("theta", theta.len(), dim)?;
    for &value in theta.iter().chain(covariance) {
        require(value.is_finite(), "member", value, "must be finite")?;
    }
    Ok(FactoredBelief {
        theta: Buffer::from_slice(theta),
        covariance: Factored::from_parts(covariance, dim)?,
    })
}

impl MemberState {
    fn new(member: &Member) -> Self {
        Self {
            prior_size: member.prior_size,
            basis: member.basis,
            weight: member.standing.weight,
            anchor: member.standing.anchor,
            influence: member.standing.influence,
            prior_evidence: member.prior_evidence,
            process_noise: member.process_noise,
            variance_share: member.variance_share,
            blocks: member.blocks.iter().map(BlockState::new).collect(),
        }
    }

    fn restore(&self, classes: usize, dim: usize) -> Result<Member> {
        require_len("classes", self.blocks.len(), classes)?;
        let positive = self.prior_size > 0.0 && self.prior_size.is_finite();
        require(positive, "prior size", self.prior_size, "must be positive and finite")?;
        let standing =
            Standing { weight: self.weight, anchor: self.anchor, influence: self.influence };
        standing.check()?;
        let noise = (0.0..=f64::MAX).contains(&self.process_noise);
        require(noise, "member", self.process_noise, "must be finite and not negative")?;
        if let Some(evidence) = self.prior_evidence {
            require(evidence.is_finite(), "member", evidence, "must be finite")?;
        }
        let believes = self.variance_share > 0.0 && self.variance_share <= 1.0;
        require(believes, "variance share", self.variance_share, "must be above 0, at most 1")?;
        let blocks = self.blocks.iter().map(|block| block.restore(dim));
        let mut member = Member::new(self.prior_size, self.basis, blocks.collect::<Result<_>>()?);
        member.standing = standing;
        member.prior_evidence = self.prior_evidence;
        member.process_noise = self.process_noise;
        member.variance_share = self.variance_share;
        Ok(member)
    }
}

impl Categorical {
    /// The state, to be stored.
    pub fn state(&self) -> CategoricalState {
        CategoricalState {
            classes: self.classes,
            dim: self.dim,
            count: self.count,
            scales: self.scales.clone(),
            warm_up: self.warm_up.clone(),
            remembered: self.remembered.clone(),
            members: self.mixture.members.iter().map(MemberState::new).collect(),
            drift: self.drift,
            follows_from: self.follows_from,
            watch: self.mixture.watch.clone(),
            joint: self.joint.clone(),
            sharpening: self.mixture.sharpening.clone(),
        }
    }

    /// A learner that continues from a state.
    pub fn restore(state: CategoricalState) -> Result<Self> {
        let CategoricalState { classes, dim, count, scales, warm_up, members, .. } = state;
        let CategoricalState { remembered, drift, follows_from, watch, joint, sharpening, .. } =
            state;
        require(classes > 0, "classes", classes as f64, "must be at least 1")?;
        require(dim > 0, "dim", dim as f64, "must be at least 1")?;
        scales.check(dim)?;
        require_count("rows", count)?;
        if let Some(rows) = follows_from.filter(|&rows| rows > count) {
            return Err(Error::State(format!("a drift after {rows} of {count} rows")));
        }
        let members = members.iter().map(|member| member.restore(classes, dim));
        let members = members.collect::<Result<Vec<_>>>()?;
        standing::check_total(&members)?;
        if let Some(watch) = &watch {
            watch.check(classes, dim)?;
        }
        if let Some(joint) = &joint {
            joint.check(classes, dim)?;
        }
        if let Some(sharpening) = &sharpening {
            sharpening.check()?;
        }
        let mut mixture = Mixture::with_weights(members);
        mixture.watch = watch;
        mixture.sharpening = sharpening;
        let learner = Self {
            classes,
            dim,
            count,
            scales,
            warm_up,
            remembered,
            mixture,
            drift,
            follows_from,
            joint,
        };
        for rows in learner.warm_up.iter().chain(&learner.remembered) {
            learner.check(&rows.rows(dim)?)?;
        }
        Ok(learner)
    }
}
