//! What a [`Wide`] needs to continue, bit for bit.

use super::builder::MAX_CORE;
use super::core::{Core, Promoted};
use super::member::{Member, Members};
use super::row::{MIN_UNIT, RowEntries};
use super::tail::{Slot, Tail};
use super::warm_up::WarmUpRows;
use super::{MAX_LANES, NO_LIMIT, Wide};
use crate::error::{Error, Result, require, require_count, require_len};
use crate::family::Family;
use crate::learner::DriftMode;
use crate::learner::auto::dispersion::Dispersion;
use crate::learner::auto::prior::{PriorCenter, PriorScale};
use crate::learner::auto::scale::Scales;
use serde::{Deserialize, Serialize};

/// The state of a [`Wide`], to be stored and restored. It holds the features seen and nothing of
/// the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WideState<F> {
    family: F,
    drift: DriftMode,
    count: u64,
    scales: Scales,
    dispersion: Dispersion,
    prior_scale: PriorScale,
    intercept_mean: f64,
    warm_up: Option<WarmUpRows>,
    members: Vec<Member>,
    core: CoreState,
    tail: TailState,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CoreState {
    /// Features besides the numbers that fit.
    size: usize,
    /// The slots of these features.
    #[serde(with = "crate::covariance::packed")]
    slots: Vec<u32>,
    /// Feature by feature, the means of all members.
    #[serde(with = "crate::covariance::packed")]
    means: Vec<f64>,
    /// Row by row of the lower triangle, the entries of all members.
    #[serde(with = "crate::covariance::packed")]
    covariance: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TailState {
    #[serde(with = "crate::covariance::packed")]
    indices: Vec<u32>,
    #[serde(with = "crate::covariance::packed")]
    seen: Vec<u32>,
    #[serde(with = "crate::covariance::packed")]
    last_rows: Vec<u32>,
    /// Empty if all are 1.
    #[serde(with = "crate::covariance::packed")]
    scales: Vec<f64>,
    /// Feature by feature, the means of all members, then their variances.
    #[serde(with = "crate::covariance::packed")]
    records: Vec<f32>,
}

impl TailState {
    fn of(tail: &Tail) -> Self {
        let slots = tail.slots();
        let plain = slots.iter().all(|slot| slot.scale == 1.0);
        Self {
            indices: slots.iter().map(|slot| slot.index).collect(),
            seen: slots.iter().map(|slot| slot.seen).collect(),
            last_rows: slots.iter().map(|slot| slot.last_row).collect(),
            scales: if plain { Vec::new() } else { slots.iter().map(|s| s.scale).collect() },
            records: tail.records().to_vec(),
        }
    }

    fn tail(&self, lanes: usize) -> Result<Tail> {
        let len = self.indices.len();
        require_len("seen", self.seen.len(), len)?;
        require_len("last_rows", self.last_rows.len(), len)?;
        require_len("records", self.records.len(), 2 * lanes * len)?;
        if !self.scales.is_empty() {
            require_len("scales", self.scales.len(), len)?;
        }
        for record in self.records.chunks_exact(2 * lanes) {
            let legal = record.iter().all(|number| number.is_finite())
                && record[lanes..].iter().all(|variance| *variance > 0.0);
            if !legal {
                return Err(Error::State("a feature has no finite mean and variance".into()));
            }
        }
        let slot = |i: usize| {
            let scale = self.scales.get(i).copied().unwrap_or(1.0);
            let legal = scale >= MIN_UNIT && scale.is_finite();
            require(legal, "scale", scale, "must be at least 1e-100 and finite")?;
            Ok(Slot {
                index: self.indices[i],
                seen: self.seen[i],
                last_row: self.last_rows[i],
                in_core: false,
                scale,
            })
        };
        let slots = (0..len).map(slot).collect::<Result<Vec<_>>>()?;
        let tail = Tail::from_parts(lanes, slots, &self.records);
        match tail.is_consistent() {
            true => Ok(tail),
            false => Err(Error::State("a feature occurs twice".into())),
        }
    }
}

impl CoreState {
    fn of(core: &Core, lanes: usize) -> Self {
        let each = |f: &dyn Fn(usize, usize) -> f64, i: usize| {
            (0..lanes).map(|k| f(i, k)).collect::<Vec<_>>()
        };
        let pairs = (0..core.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
        Self {
            size: core.size(),
            slots: core.promoted().iter().map(|feature| feature.slot).collect(),
            means: (0..core.len()).flat_map(|i| each(&|i, k| core.mean(i, k), i)).collect(),
            covariance: pairs
                .flat_map(|(i, j)| (0..lanes).map(move |k| core.entry(i, j, k)))
                .collect(),
        }
    }

    fn core(&self, numbers: usize, lanes: usize, tail: &mut Tail) -> Result<Core> {
        let len = numbers + self.slots.len();
        let capacity = self.size.saturating_add(numbers);
        let expected = "must be at most 4096 with the numbers";
        require(capacity <= MAX_CORE, "core", capacity as f64, expected)?;
        require(self.slots.len() <= self.size, "core", len as f64, "has more features than fit")?;
        require_len("core means", self.means.len(), len * lanes)?;
        require_len("core covariance", self.covariance.len(), len * (len + 1) / 2 * lanes)?;
        for &value in self.means.iter().chain(&self.covariance) {
            require(value.is_finite(), "core", value, "must be finite")?;
        }
        let mut core = Core::new(self.size, numbers, lanes)?;
        let mut known = std::collections::HashSet::new();
        for &slot in &self.slots {
            let legal = (slot as usize) < tail.len() && known.insert(slot);
            require(legal, "core slot", f64::from(slot), "must be a feature, once")?;
            let at = core.promote(Promoted { slot, scale: tail.slot(slot).scale });
            tail.promote(slot, at as u32);
        }
        core.fill(&self.means, &self.covariance);
        for i in 0..len {
            for k in 0..lanes {
                let variance = core.entry(i, i, k);
                require(variance > 0.0, "core variance", variance, "must be positive")?;
            }
        }
        Ok(core)
    }
}

impl<F: Family> Wide<F> {
    /// The state, to be stored.
    pub fn state(&self) -> WideState<F> {
        WideState {
            family: self.family.clone(),
            drift: self.drift,
            count: self.count,
            scales: self.scales.clone(),
            dispersion: self.dispersion,
            prior_scale: self.prior.scale,
            intercept_mean: self.prior.intercept_mean,
            warm_up: self.warm_up.clone(),
            members: self.members.all.clone(),
            core: CoreState::of(&self.core, self.members.lanes()),
            tail: TailState::of(&self.tail),
        }
    }

    /// A learner that continues from a state. A limit on the features is no part of it: what fits
    /// depends on the machine, so give it again by [`with_limit`](Self::with_limit).
    pub fn restore(state: WideState<F>) -> Result<Self> {
        let lanes = state.members.len();
        let legal = lanes.is_power_of_two() && lanes <= MAX_LANES;
        require(legal, "members", lanes as f64, "must be 1, 2, 4 or 8")?;
        if state.warm_up.is_some() {
            require_len("members", lanes, MAX_LANES)?;
        }
        state.members.iter().try_for_each(Member::check)?;
        let total: f64 = state.members.iter().map(|member| member.weight).sum();
        require(total > 0.0 && total.is_finite(), "weights", total, "must add up to 1")?;
        let numbers = state.scales.dim();
        state.scales.check(numbers)?;
        state.dispersion.check(&state.family)?;
        state.prior_scale.check()?;
        require_count("rows", state.count)?;
        let mean = state.intercept_mean;
        require(mean.is_finite(), "intercept", mean, "must be finite")?;
        if let Some(rows) = &state.warm_up {
            rows.check(&state.family)?;
        }
        let mut tail = state.tail.tail(lanes)?;
        if let Some(slot) = tail.slots().iter().find(|slot| (slot.index as usize) < numbers) {
            let index = f64::from(slot.index);
            require(false, "feature", index, "must not be one of the leading numbers")?;
        }
        let core = state.core.core(numbers, lanes, &mut tail)?;
        Ok(Self {
            family: state.family,
            drift: state.drift,
            limit: NO_LIMIT,
            count: state.count,
            row: RowEntries::new(numbers),
            scales: state.scales,
            dispersion: state.dispersion,
            prior: PriorCenter { scale: state.prior_scale, intercept_mean: mean },
            warm_up: state.warm_up,
            members: Members::from(state.members),
            core,
            tail,
            keeps_all: false,
        })
    }
}
