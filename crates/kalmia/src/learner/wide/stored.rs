//! What is stored of features and of a belief about them, and its checks.

use super::belief::Belief;
use super::core::Core;
use super::features::Features;
use super::row::MIN_UNIT;
use super::settings::{NO_LIMIT, check_core};
use super::slots::{Slot, Slots};
use super::tail::Tail;
use crate::error::{Error, Result, require, require_len};
use crate::learner::auto::scale::Scales;
use serde::{Deserialize, Serialize};

/// The features besides the leading numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FeatureState {
    /// Features besides the numbers that fit into the core.
    pub core_size: usize,
    /// The slots of those in the core.
    #[serde(with = "crate::covariance::packed")]
    pub core_slots: Vec<u32>,
    #[serde(with = "crate::covariance::packed")]
    pub indices: Vec<u32>,
    #[serde(with = "crate::covariance::packed")]
    pub seen: Vec<u32>,
    #[serde(with = "crate::covariance::packed")]
    pub last_rows: Vec<u32>,
    /// Empty if all are 1.
    #[serde(with = "crate::covariance::packed")]
    pub scales: Vec<f64>,
}

/// The belief about one linear predictor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct BeliefState {
    /// Of the core: feature by feature, the means of all members.
    #[serde(with = "crate::covariance::packed")]
    pub means: Vec<f64>,
    /// Row by row of the lower triangle, the entries of all members.
    #[serde(with = "crate::covariance::packed")]
    pub covariance: Vec<f64>,
    /// Of the tail: feature by feature, the means of all members, then their variances.
    #[serde(with = "crate::covariance::packed")]
    pub records: Vec<f32>,
}

impl FeatureState {
    pub fn of(features: &Features) -> Self {
        let slots = features.slots.all();
        let plain = slots.iter().all(|slot| slot.scale == 1.0);
        Self {
            core_size: features.core_size(),
            core_slots: features.promoted().iter().map(|feature| feature.slot).collect(),
            indices: slots.iter().map(|slot| slot.index).collect(),
            seen: slots.iter().map(|slot| slot.seen).collect(),
            last_rows: slots.iter().map(|slot| slot.last_row).collect(),
            scales: if plain { Vec::new() } else { slots.iter().map(|s| s.scale).collect() },
        }
    }

    /// The features, with these scales of the leading numbers.
    pub fn restore(&self, scales: Scales) -> Result<Features> {
        let numbers = scales.dim();
        scales.check(numbers)?;
        check_core(self.core_size.saturating_add(numbers))?;
        let in_core = self.core_slots.len();
        require(in_core <= self.core_size, "core", in_core as f64, "has more features than fit")?;
        let mut features = Features::new(scales, self.core_size, NO_LIMIT);
        features.slots = self.slots(numbers)?;
        for &slot in &self.core_slots {
            let known = (slot as usize) < features.slots.len();
            let legal = known && !features.slots.get(slot).in_core;
            require(legal, "core slot", f64::from(slot), "must be a feature, once")?;
            features.promote(slot);
        }
        Ok(features)
    }

    fn slots(&self, numbers: usize) -> Result<Slots> {
        let len = self.indices.len();
        require_len("seen", self.seen.len(), len)?;
        require_len("last_rows", self.last_rows.len(), len)?;
        if !self.scales.is_empty() {
            require_len("scales", self.scales.len(), len)?;
        }
        let slot = |i: usize| {
            let scale = self.scales.get(i).copied().unwrap_or(1.0);
            let legal = scale >= MIN_UNIT && scale.is_finite();
            require(legal, "scale", scale, "must be at least 1e-100 and finite")?;
            let index = self.indices[i];
            let expected = "must not be one of the leading numbers";
            require(index as usize >= numbers, "feature", f64::from(index), expected)?;
            Ok(Slot {
                index,
                seen: self.seen[i],
                last_row: self.last_rows[i],
                in_core: false,
                scale,
            })
        };
        let slots = Slots::from_slots((0..len).map(slot).collect::<Result<Vec<_>>>()?);
        match slots.is_consistent() {
            true => Ok(slots),
            false => Err(Error::State("a feature occurs twice".into())),
        }
    }
}

impl BeliefState {
    pub fn of(belief: &Belief) -> Self {
        let Belief { core, tail } = belief;
        let lanes = belief.lanes();
        let features = (0..core.len()).flat_map(|i| (0..lanes).map(move |k| (i, k)));
        let pairs = (0..core.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
        Self {
            means: features.map(|(i, k)| core.mean(i, k)).collect(),
            covariance: pairs
                .flat_map(|(i, j)| (0..lanes).map(move |k| core.entry(i, j, k)))
                .collect(),
            records: tail.records().to_vec(),
        }
    }

    /// The belief of `lanes` members about the features.
    pub fn restore(&self, features: &Features, lanes: usize) -> Result<Belief> {
        require_len("records", self.records.len(), 2 * lanes * features.slots.len())?;
        for record in self.records.chunks_exact(2 * lanes) {
            let legal = record.iter().all(|number| number.is_finite())
                && record[lanes..].iter().all(|variance| *variance > 0.0);
            if !legal {
                return Err(Error::State("a feature has no finite mean and variance".into()));
            }
        }
        let len = features.numbers() + features.promoted().len();
        require_len("core means", self.means.len(), len * lanes)?;
        require_len("core covariance", self.covariance.len(), len * (len + 1) / 2 * lanes)?;
        for &value in self.means.iter().chain(&self.covariance) {
            require(value.is_finite(), "core", value, "must be finite")?;
        }
        let mut core = Core::new(features.capacity(), len, lanes)?;
        core.fill(&self.means, &self.covariance);
        for i in 0..len {
            for k in 0..lanes {
                let variance = core.entry(i, i, k);
                require(variance > 0.0, "core variance", variance, "must be positive")?;
            }
        }
        Ok(Belief { core, tail: Tail::from_records(lanes, &self.records) })
    }
}
