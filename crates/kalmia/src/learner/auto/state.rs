//! What an [`Auto`] needs to continue, bit for bit.

use super::bank::Bank;
use super::dispersion::{Dispersion, is_zero};
use super::member::Member;
use super::member_prior::Basis;
use super::prior::{PriorCenter, PriorScale};
use super::sandwich::Sandwich;
use super::scale::Scales;
use super::sentinel::Sentinel;
use super::stage::each_bank;
use super::{Auto, DriftMode, Stage};
use crate::covariance::{Covariance, Dense};
use crate::error::{Error, Result, require, require_count, require_len};
use crate::family::Family;
use crate::learner::standing::{self, Standing};
use crate::learner::warm_up::WarmUpRows;
use crate::linalg::{Buffer, Threads};
use serde::{Deserialize, Serialize};

/// The state of an [`Auto`], to be stored and restored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AutoState<F> {
    family: F,
    dim: usize,
    drift: DriftMode,
    count: u64,
    scales: Scales,
    dispersion: Dispersion,
    #[serde(rename = "level")]
    prior_scale: PriorScale,
    /// 0 in older files.
    #[serde(default, skip_serializing_if = "is_zero")]
    intercept_mean: f64,
    #[serde(rename = "kept")]
    warm_up: Option<WarmUpRows>,
    /// Covariance form of the members.
    form: String,
    /// Centers of the features of random-walk members; none in older files.
    #[serde(rename = "centres", default, skip_serializing_if = "Vec::is_empty")]
    centers: Vec<f64>,
    members: Vec<MemberState>,
    sentinel: Sentinel,
    /// None in older files, and for most families.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sandwich: Option<Box<Sandwich>>,
    /// None in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    follows_from: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct MemberState {
    p: f64,
    q: f64,
    #[serde(default, skip_serializing_if = "Basis::is_centered")]
    basis: Basis,
    theta: Vec<f64>,
    #[serde(with = "crate::covariance::packed")]
    covariance: Vec<f64>,
    log_weight: f64,
    /// Older files have only its logarithm.
    #[serde(default)]
    weight: Option<f64>,
    residual: f64,
    #[serde(default)]
    anchor: Option<f64>,
    influence: f64,
    #[serde(rename = "walk")]
    process_noise: Vec<f64>,
}

impl MemberState {
    /// Refuses numbers that no member can have.
    fn check(&self, dim: usize) -> Result<()> {
        if !self.process_noise.is_empty() {
            require_len("process noise", self.process_noise.len(), dim)?;
        }
        let numbers = [self.q, self.residual, self.influence, self.weight.unwrap_or(0.0)];
        let coefficients = self.theta.iter().chain(&self.covariance).copied();
        let all = numbers.into_iter().chain(self.anchor).chain(coefficients);
        for value in all.chain(self.process_noise.iter().copied()) {
            require(value.is_finite(), "member", value, "must be finite")?;
        }
        let positive = self.p.is_finite() && self.p > 0.0;
        require(positive, "prior size", self.p, "must be positive and finite")?;
        let shares = [self.q, self.weight.unwrap_or(0.0)];
        let least = shares.into_iter().chain(self.process_noise.iter().copied());
        let least = least.fold(f64::INFINITY, f64::min);
        require(least >= 0.0, "member", least, "must not be negative")
    }
}

fn members<C: Covariance>(bank: &Bank<C>) -> Vec<MemberState> {
    let member = |m: &Member<C>| MemberState {
        p: m.p,
        q: m.q,
        basis: m.basis,
        theta: m.theta[..m.covariance.dim()].to_vec(),
        covariance: m.covariance.parts(),
        log_weight: m.standing.weight.ln(),
        weight: Some(m.standing.weight),
        residual: m.residual,
        anchor: Some(m.standing.anchor),
        influence: m.standing.influence,
        process_noise: m.process_noise.clone(),
    };
    bank.members.iter().map(member).collect()
}

fn form<C: Covariance>(_: &Bank<C>) -> String {
    C::NAME.into()
}

fn bank<C: Covariance>(members: Vec<MemberState>, dim: usize) -> Result<Bank<C>> {
    let member = |state: MemberState| {
        require_len("theta", state.theta.len(), dim)?;
        state.check(dim)?;
        let mut member = Member::new(
            state.p,
            state.q,
            Buffer::from_slice(&state.theta),
            C::from_parts(&state.covariance, dim)?,
        );
        member.basis = state.basis;
        let weight = state.weight.unwrap_or(state.log_weight.exp());
        let anchor = state.anchor.unwrap_or(weight);
        member.standing = Standing { weight, anchor, influence: state.influence };
        member.residual = state.residual;
        member.process_noise = state.process_noise;
        Ok(member)
    };
    let members = members.into_iter().map(member).collect::<Result<Vec<_>>>()?;
    standing::check_total(&members)?;
    Ok(Bank::with_weights(members))
}

impl<F: Family> Auto<F> {
    /// The state, to be stored.
    pub fn state(&self) -> AutoState<F> {
        AutoState {
            family: self.family.clone(),
            dim: self.dim,
            drift: self.drift,
            count: self.count,
            scales: self.scales.clone(),
            dispersion: self.dispersion,
            prior_scale: self.prior.scale,
            intercept_mean: self.prior.intercept_mean,
            warm_up: self.warm_up.clone(),
            form: each_bank!(&self.stage, bank => form(bank)),
            centers: each_bank!(&self.stage, bank => bank.centers.clone()),
            // a learner that is all prior builds its members again
            members: match self.is_prior() {
                true => Vec::new(),
                false => each_bank!(&self.stage, bank => members(bank)),
            },
            sentinel: self.sentinel.clone(),
            sandwich: self.sandwich.clone(),
            follows_from: self.follows_from,
        }
    }

    /// The same learner with its family as another type, which must describe the same law: a
    /// [`Quantile`](crate::Quantile) as an [`AnyFamily`](crate::AnyFamily), or back.
    ///
    /// ```
    /// use kalmia::{AnyFamily, Auto, Learner, Quantile, Rows};
    /// let mut auto = Auto::builder(Quantile::new(0.5)?, 1).intercept().build()?;
    /// auto.learn(Rows::new(1, &[1.0, 1.0], &[2.0, 3.0])?)?;
    /// let any: Auto<AnyFamily> = auto.clone().map_family(AnyFamily::from);
    /// assert_eq!(any.coefficients(), auto.coefficients());
    /// # Ok::<(), kalmia::Error>(())
    /// ```
    pub fn map_family<G: Family>(self, family: impl FnOnce(F) -> G) -> Auto<G> {
        Auto {
            family: family(self.family),
            dim: self.dim,
            drift: self.drift,
            count: self.count,
            scales: self.scales,
            dispersion: self.dispersion,
            prior: self.prior,
            warm_up: self.warm_up,
            stage: self.stage,
            sentinel: self.sentinel,
            sandwich: self.sandwich,
            follows_from: self.follows_from,
            mean: self.mean,
            threads: self.threads,
            keeps_all: self.keeps_all,
        }
    }

    /// A learner that continues from a state.
    pub fn restore(state: AutoState<F>) -> Result<Self> {
        let dim = state.dim;
        state.scales.check(dim)?;
        state.sentinel.check(dim)?;
        if let Some(sandwich) = &state.sandwich {
            sandwich.check(dim)?;
        }
        state.dispersion.check(&state.family)?;
        require_count("rows", state.count)?;
        state.follows_from.map_or(Ok(()), |rows| require_count("rows before a drift", rows))?;
        require(
            state.intercept_mean.is_finite(),
            "intercept",
            state.intercept_mean,
            "must be finite",
        )?;
        state.prior_scale.check()?;
        if let Some(rows) = &state.warm_up {
            rows.rows(dim)?.validate(&state.family, dim)?;
        }
        let is_prior = state.members.is_empty() && state.count == 0 && state.warm_up.is_none();
        let stage = match state.form.as_str() {
            "factored" if is_prior => Stage::default(),
            "factored" => Stage::Static(bank(state.members, dim)?),
            "dense" => {
                if state.warm_up.is_some() {
                    return Err(Error::State("a drift is followed during the warm-up".into()));
                }
                let finite = state.centers.iter().all(|center| center.is_finite());
                require(finite, "centers", f64::NAN, "must be finite")?;
                if !state.centers.is_empty() {
                    require_len("centers", state.centers.len(), dim)?;
                }
                let mut bank: Bank<Dense> = bank(state.members, dim)?;
                bank.centers = state.centers;
                Stage::RandomWalk(bank)
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
            prior: PriorCenter { scale: state.prior_scale, intercept_mean: state.intercept_mean },
            warm_up: state.warm_up,
            stage,
            sentinel: state.sentinel.restored(),
            sandwich: state.sandwich,
            follows_from: state.follows_from,
            mean: vec![0.0; dim],
            threads: Threads::all(),
            keeps_all: false,
        };
        if is_prior {
            auto.forget()?;
        }
        auto.stage.mean(&mut auto.mean);
        Ok(auto)
    }
}
