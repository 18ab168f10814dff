//! What [`Auto`] needs to go on, bit for bit.

use super::bank::Bank;
use super::dispersion::Dispersion;
use super::member::Member;
use super::scale::Scales;
use super::sentinel::Sentinel;
use super::{Auto, AutoDrift, Kept, Stage};
use crate::covariance::{Covariance, Dense};
use crate::error::{Error, Result, require_len};
use crate::family::Family;
use crate::linalg::{Buffer, Threads};
use serde::{Deserialize, Serialize};

/// The state of an [`Auto`], to be stored and restored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AutoState<F> {
    family: F,
    dim: usize,
    drift: AutoDrift,
    count: u64,
    scales: Scales,
    dispersion: Dispersion,
    level: [f64; 2],
    kept: Option<Kept>,
    /// Covariance form of the members.
    form: String,
    /// What is taken off the features of walking members; none in older files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    centres: Vec<f64>,
    members: Vec<MemberState>,
    sentinel: Sentinel,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct MemberState {
    p: f64,
    q: f64,
    theta: Vec<f64>,
    #[serde(with = "crate::covariance::packed")]
    covariance: Vec<f64>,
    log_weight: f64,
    /// Older files have its logarithm only.
    #[serde(default)]
    weight: Option<f64>,
    residual: f64,
    #[serde(default)]
    anchor: Option<f64>,
    influence: f64,
    walk: Vec<f64>,
}

fn members<C: Covariance>(bank: &Bank<C>) -> (String, Vec<MemberState>) {
    let member = |m: &Member<C>| MemberState {
        p: m.p,
        q: m.q,
        theta: m.theta[..m.covariance.dim()].to_vec(),
        covariance: m.covariance.parts(),
        log_weight: m.weight.ln(),
        weight: Some(m.weight),
        residual: m.residual,
        anchor: Some(m.anchor),
        influence: m.influence,
        walk: m.walk.clone(),
    };
    (C::NAME.into(), bank.members.iter().map(member).collect())
}

fn bank<C: Covariance>(members: Vec<MemberState>, dim: usize) -> Result<Bank<C>> {
    let member = |state: MemberState| {
        require_len("theta", state.theta.len(), dim)?;
        let mut member = Member::new(
            state.p,
            state.q,
            Buffer::from_slice(&state.theta),
            C::from_parts(&state.covariance, dim)?,
        );
        member.weight = state.weight.unwrap_or(state.log_weight.exp());
        member.residual = state.residual;
        member.anchor = state.anchor.unwrap_or(member.weight);
        member.influence = state.influence;
        member.walk = state.walk;
        Ok(member)
    };
    let members = members.into_iter().map(member).collect::<Result<Vec<_>>>()?;
    if members.is_empty() {
        return Err(Error::State("the mixture has no members".into()));
    }
    Ok(Bank::with_weights(members))
}

impl<F: Family> Auto<F> {
    /// Takes the state.
    pub fn state(&self) -> AutoState<F> {
        let (form, members) = match &self.stage {
            Stage::Static(bank) => members(bank),
            Stage::Walking(bank) => members(bank),
        };
        AutoState {
            family: self.family.clone(),
            dim: self.dim,
            drift: self.drift,
            count: self.count,
            scales: self.scales.clone(),
            dispersion: self.dispersion,
            level: self.level,
            kept: self.kept.clone(),
            form,
            centres: match &self.stage {
                Stage::Static(_) => Vec::new(),
                Stage::Walking(bank) => bank.centres.clone(),
            },
            members,
            sentinel: self.sentinel.clone(),
        }
    }

    /// A learner that goes on where the state was taken.
    pub fn restore(state: AutoState<F>) -> Result<Self> {
        let dim = state.dim;
        state.scales.check(dim)?;
        if let Some(kept) = &state.kept {
            kept.rows(dim)?.validate(&state.family, dim)?;
        }
        let stage = match state.form.as_str() {
            "factored" => Stage::Static(bank(state.members, dim)?),
            "dense" => {
                if !state.centres.is_empty() {
                    require_len("centres", state.centres.len(), dim)?;
                }
                let mut bank: Bank<Dense> = bank(state.members, dim)?;
                bank.centres = state.centres;
                Stage::Walking(bank)
            }
            other => return Err(Error::State(format!("unknown covariance form {other}"))),
        };
        let mut auto = Self {
            family: state.family,
            dim,
            drift: state.drift,
            count: state.count,
            scales: state.scales,
            dispersion: state.dispersion,
            level: state.level,
            kept: state.kept,
            stage,
            sentinel: state.sentinel,
            mean: vec![0.0; dim],
            threads: Threads::all(),
            keeps_all: false,
        };
        match &auto.stage {
            Stage::Static(bank) => bank.mean(&mut auto.mean),
            Stage::Walking(bank) => bank.mean(&mut auto.mean),
        }
        Ok(auto)
    }
}
