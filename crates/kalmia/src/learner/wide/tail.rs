//! The tail: features with a variance each, and the map from a feature to its place.
//!
//! The means and variances of all members stand side by side in one cache line per feature, so a
//! row touches one line per feature whatever the number of members.

mod kernel;

use super::index::PlaceIndex;
use super::row::Entry;
use crate::error::Result;
use crate::linalg::{prefetch, require_memory};
use crate::math::arch;
use crate::sparse::SparseRows;
use kernel::{AddSums, TakeStep};
use std::collections::HashMap;

/// Numbers of a cache line.
const LINE: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// What is known of a feature beside the belief.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Slot {
    pub index: u32,
    /// Rows that had it, at most [`u32::MAX`].
    pub seen: u32,
    /// Rows learned before its last row, modulo $2^{32}$.
    pub last_row: u32,
    /// Whether it has moved to the core; its record here is no longer used.
    pub in_core: bool,
    /// Its unit, the geometric mean of its first values; the belief is one of features in it.
    pub scale: f64,
}

/// Where a feature is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Tail(u32),
    Core(u32),
}

/// Most standard deviations that a mean comes to by a change of its unit, if it had fewer before.
const MAX_DEVIATIONS: f64 = 10.0;

/// Largest mean after a change of its unit, far within the range of `f32`.
const MAX_MEAN: f64 = 1e30;

/// The bit that marks a place in the core.
const CORE: u32 = 1 << 31;

impl Place {
    /// As one number, never [`u32::MAX`]: there are fewer features than that.
    pub fn packed(self) -> u32 {
        match self {
            Self::Tail(slot) => slot,
            Self::Core(at) => at | CORE,
        }
    }

    pub fn unpacked(packed: u32) -> Self {
        if packed & CORE == 0 { Self::Tail(packed) } else { Self::Core(packed & !CORE) }
    }
}

/// The beliefs of all members about the features outside the core.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    lanes: usize,
    /// Per feature the members' means, then their variances.
    lines: Vec<Line>,
    slots: Vec<Slot>,
    places: PlaceIndex,
}

/// A member's variance that grows while a feature is away.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk {
    pub lane: usize,
    /// Variance added per row.
    pub per_row: f64,
    /// Largest variance: that of the prior.
    pub most: f64,
}

impl Tail {
    pub fn new(lanes: usize) -> Self {
        Self { lanes, lines: Vec::new(), slots: Vec::new(), places: PlaceIndex::new() }
    }

    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Features, those that moved to the core included.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub fn slot(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    pub fn clear(&mut self) {
        self.lines.clear();
        self.slots.clear();
        self.places.clear();
    }

    /// Bytes of so many features.
    pub fn bytes(lanes: usize, features: usize) -> usize {
        // at least a quarter of the index is occupied
        let each = 2 * lanes * size_of::<f32>() + size_of::<Slot>() + 4 * size_of::<u64>();
        features.saturating_mul(each)
    }

    /// The places of features in order. Their memory is loaded meanwhile, so that a row waits for
    /// all of its features together.
    pub fn find_all(&self, indices: &[u32], places: &mut Vec<Option<Place>>) {
        indices.iter().for_each(|&index| self.places.prefetch(index));
        places.clear();
        for &index in indices {
            let place = self.find(index);
            if let Some(Place::Tail(slot)) = place {
                prefetch(&self.slots, slot as usize);
                prefetch(&self.lines, slot as usize * 2 * self.lanes / LINE);
            }
            places.push(place);
        }
    }

    #[inline(always)]
    pub fn find(&self, index: u32) -> Option<Place> {
        self.places.find(index)
    }

    /// Refuses a batch if there is no memory for the features that it may bring.
    pub fn require_room(&self, rows: &SparseRows<'_>) -> Result<()> {
        // a vector that grows is held twice for a moment
        let bytes = |new: usize| Self::bytes(self.lanes, 2 * (self.slots.len() + new));
        if require_memory(bytes(rows.features().entries())).is_ok() {
            return Ok(());
        }
        require_memory(bytes(rows.features().distinct(|index| self.find(index).is_none())))
    }

    /// A feature that no row had, of mean 0 with these variances.
    pub fn insert(&mut self, index: u32, scale: f64, variances: impl Iterator<Item = f64>) -> u32 {
        let slot = self.slots.len() as u32;
        self.slots.push(Slot { index, seen: 0, last_row: 0, in_core: false, scale });
        let numbers = 2 * self.lanes * self.slots.len();
        if self.lines.len() * LINE < numbers {
            self.lines.push(Line([0.0; LINE]));
        }
        self.places.insert(index, Place::Tail(slot));
        let lanes = self.lanes;
        let record = self.record_mut(slot);
        record[..lanes].fill(0.0);
        for (to, variance) in record[lanes..].iter_mut().zip(variances) {
            *to = variance as f32;
        }
        slot
    }

    /// The feature is in the core from now on.
    pub fn promote(&mut self, slot: u32, at: u32) {
        let known = &mut self.slots[slot as usize];
        known.in_core = true;
        self.places.insert(known.index, Place::Core(at));
    }

    /// Counts a row that has the feature; returns the rows since the last one, and how many had it
    /// before.
    #[inline(always)]
    pub fn visit(&mut self, slot: u32, row: u64) -> (u32, u32) {
        let known = &mut self.slots[slot as usize];
        let seen = known.seen;
        let away = (row as u32).wrapping_sub(known.last_row);
        known.seen = seen.saturating_add(1);
        known.last_row = row as u32;
        (away, seen)
    }

    /// Gives the feature another unit: the prior is exchanged for that of the new unit, and what
    /// the rows have shown is kept.
    pub fn rescale(&mut self, slot: u32, scale: f64, priors: impl Iterator<Item = f64>) {
        let ratio = scale / self.slots[slot as usize].scale;
        let lanes = self.lanes;
        let (means, variances) = self.record_mut(slot).split_at_mut(lanes);
        for ((mean, variance), prior) in means.iter_mut().zip(variances).zip(priors) {
            // in the new unit all numbers are those of a coefficient `ratio` times as large
            let old = f64::from(*variance) * ratio * ratio;
            let evidence = (1.0 / old - 1.0 / (prior * ratio * ratio)).max(0.0);
            let new = 1.0 / (evidence + 1.0 / prior);
            let moved = f64::from(*mean) * ratio * new / old;
            // The evidence of a row that hardly moved the variance is lost in the rounding of
            // `f32`, and the mean alone would grow with the wider prior without a bound.
            let deviations = f64::from(mean.abs()) / f64::from(*variance).sqrt();
            let most = (deviations.max(MAX_DEVIATIONS) * new.sqrt()).min(MAX_MEAN);
            *mean = moved.clamp(-most, most) as f32;
            // units that differ by more than 1e19 take a variance out of the range of `f32`
            *variance = (new as f32).max(f32::MIN_POSITIVE);
        }
        self.slots[slot as usize].scale = scale;
    }

    #[inline(always)]
    fn numbers(&self) -> &[f32] {
        // SAFETY: `Line` is `repr(C)` over exactly LINE f32 values, without padding.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * LINE) }
    }

    #[inline(always)]
    fn numbers_mut(&mut self) -> &mut [f32] {
        let len = self.lines.len() * LINE;
        // SAFETY: as in `numbers`, and the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), len) }
    }

    /// The members' means, then their variances.
    #[inline(always)]
    pub fn record(&self, slot: u32) -> &[f32] {
        let len = 2 * self.lanes;
        &self.numbers()[slot as usize * len..][..len]
    }

    #[inline(always)]
    pub fn record_mut(&mut self, slot: u32) -> &mut [f32] {
        let len = 2 * self.lanes;
        &mut self.numbers_mut()[slot as usize * len..][..len]
    }

    /// Lets variances grow by the rows that a feature was away.
    #[inline(always)]
    pub fn walk(&mut self, slot: u32, away: u32, walks: &[Walk]) {
        let lanes = self.lanes;
        for walk in walks {
            let variance = &mut self.record_mut(slot)[lanes + walk.lane];
            *variance = walk.after(f64::from(*variance), away) as f32;
        }
    }

    /// Adds $\sum\theta_jz_j$ to `m` and $\sum v_jz_j^2$ to `s`, member by member.
    pub fn add_sums(&self, entries: &[Entry], m: &mut [f64; 8], s: &mut [f64; 8]) {
        let numbers = self.numbers();
        match self.lanes {
            8 => arch().dispatch(AddSums::<8> { numbers, entries, m, s }),
            4 => arch().dispatch(AddSums::<4> { numbers, entries, m, s }),
            2 => arch().dispatch(AddSums::<2> { numbers, entries, m, s }),
            _ => arch().dispatch(AddSums::<1> { numbers, entries, m, s }),
        }
    }

    /// $\theta_j \mathrel{+}= g\,v_jz_j$ and $v_j \mathrel{-}= c\,(v_jz_j)^2$, member by member.
    pub fn take_step(&mut self, entries: &[Entry], gain: &[f64; 8], contraction: &[f64; 8]) {
        let lanes = self.lanes;
        let numbers = self.numbers_mut();
        match lanes {
            8 => arch().dispatch(TakeStep::<8> { numbers, entries, gain, contraction }),
            4 => arch().dispatch(TakeStep::<4> { numbers, entries, gain, contraction }),
            2 => arch().dispatch(TakeStep::<2> { numbers, entries, gain, contraction }),
            _ => arch().dispatch(TakeStep::<1> { numbers, entries, gain, contraction }),
        }
    }

    /// Keeps these members alone.
    pub fn keep_lanes(&mut self, kept: &[usize]) {
        let mut smaller = Self::new(kept.len());
        smaller.lines = vec![Line([0.0; LINE]); (2 * kept.len() * self.slots.len()).div_ceil(LINE)];
        for slot in 0..self.slots.len() as u32 {
            let from = self.record(slot);
            let to = smaller.record_mut(slot);
            for (k, &lane) in kept.iter().enumerate() {
                to[k] = from[lane];
                to[kept.len() + k] = from[self.lanes + lane];
            }
        }
        self.lines = smaller.lines;
        self.lanes = kept.len();
    }

    /// Keeps these slots alone; the new slot of each old one.
    pub fn keep_slots(&mut self, kept: &[u32]) -> HashMap<u32, u32> {
        let slots = kept.iter().map(|&slot| self.slots[slot as usize]).collect();
        let records: Vec<f32> =
            kept.iter().flat_map(|&slot| self.record(slot).iter().copied()).collect();
        *self = Self::from_parts(self.lanes, slots, &records);
        kept.iter().copied().zip(0..).collect()
    }

    /// All records, feature after feature.
    pub fn records(&self) -> &[f32] {
        &self.numbers()[..2 * self.lanes * self.slots.len()]
    }

    /// From what [`slots`](Self::slots), [`records`](Self::records) and [`find`](Self::find) gave.
    pub fn from_parts(lanes: usize, slots: Vec<Slot>, records: &[f32]) -> Self {
        let mut tail = Self::new(lanes);
        tail.lines = vec![Line([0.0; LINE]); records.len().div_ceil(LINE)];
        tail.numbers_mut()[..records.len()].copy_from_slice(records);
        for (slot, known) in (0u32..).zip(&slots) {
            tail.places.insert(known.index, Place::Tail(slot));
        }
        tail.slots = slots;
        tail
    }

    /// Whether no feature occurs twice.
    pub fn is_consistent(&self) -> bool {
        self.places.len() == self.slots.len()
    }
}

impl Walk {
    /// The variance after `away` rows without the feature.
    #[inline(always)]
    pub fn after(&self, variance: f64, away: u32) -> f64 {
        // rounding may have left it slightly above the prior
        (variance + self.per_row * f64::from(away)).min(self.most.max(variance))
    }
}
