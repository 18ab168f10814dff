//! The tail: features with a variance each.
//!
//! The means and variances of all members stand side by side in one cache line per feature, so a
//! row touches one line per feature whatever the number of members.

mod kernel;

use super::PerLane;
use super::lane_priors::{RootStep, Walk};
use super::row::Entry;
use crate::linalg::prefetch;
use crate::math::arch;
use kernel::{AddSums, TakeStep};

/// Numbers of a cache line.
const LINE: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// Most standard deviations that a mean comes to by a change of its unit, if it had fewer before.
const MAX_DEVIATIONS: f64 = 10.0;

/// Largest mean after a change of its unit, far within the range of `f32`.
const MAX_MEAN: f64 = 1e30;

/// The beliefs of all members about the features outside the core, slot after slot.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    lanes: usize,
    /// Features.
    len: usize,
    /// Per feature the members' means, then their variances.
    lines: Vec<Line>,
}

impl Tail {
    pub fn new(lanes: usize) -> Self {
        Self { lanes, len: 0, lines: Vec::new() }
    }

    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Bytes of so many features.
    pub fn bytes(lanes: usize, features: usize) -> usize {
        features.saturating_mul(2 * lanes * size_of::<f32>())
    }

    pub fn clear(&mut self) {
        self.len = 0;
        self.lines.clear();
    }

    /// Begins to load the record of a slot.
    #[inline(always)]
    pub fn prefetch(&self, slot: u32) {
        prefetch(&self.lines, slot as usize * 2 * self.lanes / LINE);
    }

    /// A feature that no row had, of mean 0 with these variances.
    pub fn push(&mut self, variances: &[f64]) {
        let slot = self.len as u32;
        self.len += 1;
        if self.lines.len() * LINE < 2 * self.lanes * self.len {
            self.lines.push(Line([0.0; LINE]));
        }
        let lanes = self.lanes;
        let record = self.record_mut(slot);
        record[..lanes].fill(0.0);
        for (to, &variance) in record[lanes..].iter_mut().zip(variances) {
            *to = variance as f32;
        }
    }

    /// The feature's unit has become `ratio` times as large: the prior is exchanged for that of the
    /// new unit, and what the rows have shown is kept.
    pub fn rescale(&mut self, slot: u32, ratio: f64, priors: &[f64]) {
        let lanes = self.lanes;
        let (means, variances) = self.record_mut(slot).split_at_mut(lanes);
        for ((mean, variance), &prior) in means.iter_mut().zip(variances).zip(priors) {
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
    pub fn add_sums(&self, entries: &[Entry], m: &mut PerLane, s: &mut PerLane) {
        let numbers = self.numbers();
        match self.lanes {
            8 => arch().dispatch(AddSums::<8> { numbers, entries, m, s }),
            4 => arch().dispatch(AddSums::<4> { numbers, entries, m, s }),
            2 => arch().dispatch(AddSums::<2> { numbers, entries, m, s }),
            _ => arch().dispatch(AddSums::<1> { numbers, entries, m, s }),
        }
    }

    /// $\theta_j \mathrel{+}= g\,v_jz_j$ and $v_j \mathrel{-}= c\,(v_jz_j)^2$, member by member.
    pub fn take_step(&mut self, entries: &[Entry], gain: &PerLane, contraction: &PerLane) {
        let lanes = self.lanes;
        let numbers = self.numbers_mut();
        match lanes {
            8 => arch().dispatch(TakeStep::<8> { numbers, entries, gain, contraction }),
            4 => arch().dispatch(TakeStep::<4> { numbers, entries, gain, contraction }),
            2 => arch().dispatch(TakeStep::<2> { numbers, entries, gain, contraction }),
            _ => arch().dispatch(TakeStep::<1> { numbers, entries, gain, contraction }),
        }
    }

    /// The step of a member with a root.
    pub fn take_root_step(&mut self, entries: &[Entry], lane: usize, step: RootStep) {
        let lanes = self.lanes;
        for &Entry { at, z } in entries {
            let record = self.record_mut(at);
            let after = step.variance(f64::from(record[lanes + lane]), z);
            record[lane] = (f64::from(record[lane]) + step.gain * after * z) as f32;
            record[lanes + lane] = after.max(f64::from(f32::MIN_POSITIVE)) as f32;
        }
    }

    /// Keeps these members alone.
    pub fn keep_lanes(&mut self, kept: &[usize]) {
        let mut smaller = Self::new(kept.len());
        smaller.len = self.len;
        smaller.lines = vec![Line([0.0; LINE]); (2 * kept.len() * self.len).div_ceil(LINE)];
        for slot in 0..self.len as u32 {
            let from = self.record(slot);
            let to = smaller.record_mut(slot);
            for (k, &lane) in kept.iter().enumerate() {
                to[k] = from[lane];
                to[kept.len() + k] = from[self.lanes + lane];
            }
        }
        *self = smaller;
    }

    /// Keeps these slots alone, in this order.
    pub fn keep_slots(&mut self, kept: &[u32]) {
        let records: Vec<f32> =
            kept.iter().flat_map(|&slot| self.record(slot).iter().copied()).collect();
        *self = Self::from_records(self.lanes, &records);
    }

    /// All records, slot after slot.
    pub fn records(&self) -> &[f32] {
        &self.numbers()[..2 * self.lanes * self.len]
    }

    /// From what [`records`](Self::records) gave.
    pub fn from_records(lanes: usize, records: &[f32]) -> Self {
        let mut tail = Self::new(lanes);
        tail.len = records.len() / (2 * lanes);
        tail.lines = vec![Line([0.0; LINE]); records.len().div_ceil(LINE)];
        tail.numbers_mut()[..records.len()].copy_from_slice(records);
        tail
    }
}
