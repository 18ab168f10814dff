//! The features that a learner of sparse rows knows, and a row in the coordinates of its beliefs.

use super::belief::{Belief, Coordinate, Terms};
use super::lane_priors::LanePriors;
use super::row::{Entry, MIN_UNIT, RowEntries};
use super::slots::{Place, Slots, Visit};
use super::tail::Tail;
use crate::error::{Error, Result};
use crate::learner::auto::scale::Scales;
use crate::linalg::require_memory;
use crate::sparse::{SparseRow, SparseRows};
use std::collections::{HashMap, HashSet};

/// Rows that a feature must have been seen in before it moves to the core.
const SEEN_BEFORE_CORE: u32 = 16;

/// A feature moves to the core if at least every so many rows have it. Rarer ones gain nothing from
/// a covariance, and the core costs the square of its features in every row.
const MAX_ROWS_PER_VISIT: u64 = 128;

/// Rows of a feature whose values give its unit.
const SCALED_BY_ROWS: u32 = 8;

/// A feature that moved from the tail to the core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Promoted {
    /// Its slot.
    pub slot: u32,
    /// The unit of the feature.
    pub scale: f64,
}

/// The features, whatever is believed of their coefficients. Several beliefs can share them.
#[derive(Debug, Clone)]
pub(super) struct Features {
    /// Most features besides the leading numbers.
    pub limit: usize,
    /// Of the leading features that are numbers.
    pub scales: Scales,
    pub slots: Slots,
    /// The features of the core besides the numbers, and how many fit.
    promoted: Vec<Promoted>,
    core_size: usize,
}

impl Features {
    pub fn new(scales: Scales, core_size: usize, limit: usize) -> Self {
        let promoted = Vec::with_capacity(core_size);
        Self { limit, scales, slots: Slots::new(), promoted, core_size }
    }

    /// Leading features that are numbers, the intercept included.
    pub fn numbers(&self) -> usize {
        self.scales.dim()
    }

    /// All features.
    pub fn len(&self) -> usize {
        self.numbers() + self.slots.len()
    }

    /// The features of the core besides the numbers.
    pub fn promoted(&self) -> &[Promoted] {
        &self.promoted
    }

    /// Features besides the numbers that can be in the core.
    pub fn core_size(&self) -> usize {
        self.core_size
    }

    /// Features that fit into the core.
    pub fn capacity(&self) -> usize {
        self.numbers() + self.core_size
    }

    /// Back to the numbers alone.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.promoted.clear();
    }

    /// All features: the numbers, then the others in the order of their first row.
    pub fn indices(&self) -> Vec<u32> {
        let numbers = 0..self.numbers() as u32;
        numbers.chain(self.slots.all().iter().map(|slot| slot.index)).collect()
    }

    /// Rows that had each feature; `None` for the numbers.
    pub fn seen(&self) -> Vec<Option<u32>> {
        let numbers = std::iter::repeat_n(None, self.numbers());
        numbers.chain(self.slots.all().iter().map(|slot| Some(slot.seen))).collect()
    }

    /// Refuses a batch whose new features would exceed the limit, before anything is learned.
    pub fn check_limit(&self, rows: SparseRows<'_>) -> Result<()> {
        let room = self.limit.saturating_sub(self.slots.len());
        // entries are at least as many as new features
        if rows.features().entries() <= room {
            return Ok(());
        }
        let mut new = HashSet::new();
        for row in 0..rows.len() {
            // a zero that a row lists brings no feature
            let unknown = |&(index, x): &(u32, f64)| {
                x != 0.0 && index as usize >= self.numbers() && self.slots.find(index).is_none()
            };
            new.extend(rows.x(row).iter().filter(unknown).map(|(index, _)| index));
            if new.len() > room {
                return Err(Error::TooManyFeatures { row, limit: self.limit });
            }
        }
        Ok(())
    }

    /// Refuses a batch if there is no memory for the features that it may bring, with `beliefs`
    /// beliefs of `lanes` members.
    pub fn require_room(&self, rows: SparseRows<'_>, beliefs: usize, lanes: usize) -> Result<()> {
        let bytes = |new: usize| {
            // a vector that grows is held twice for a moment
            let features = 2 * (self.slots.len() + new);
            let tails = Tail::bytes(lanes, features).saturating_mul(beliefs);
            Slots::bytes(features).saturating_add(tails)
        };
        if require_memory(bytes(rows.features().entries())).is_ok() {
            return Ok(());
        }
        let new = rows.features().distinct(|index| self.slots.find(index).is_none());
        require_memory(bytes(new))
    }

    /// Refuses rows that led a coefficient of the tail out of the range of its `f32`. Targets of
    /// moderate size cannot.
    pub fn check_range(&self, rows: SparseRows<'_>, beliefs: &[Belief]) -> Result<()> {
        for row in 0..rows.len() {
            for index in rows.x(row).indices {
                let Some(Place::Tail(slot)) = self.slots.find(*index) else { continue };
                let mut numbers = beliefs.iter().flat_map(|belief| belief.tail.record(slot));
                if let Some(&value) = numbers.find(|number| !number.is_finite()) {
                    let value = f64::from(value);
                    return Err(Error::Diverged { row, quantity: "a coefficient", value });
                }
            }
        }
        Ok(())
    }

    /// The unit of the leading feature `j`; `None` while it has been zero in every row.
    pub fn number_unit(&self, j: usize) -> Option<f64> {
        let scale = self.scales.scale(j);
        (scale != 0.0).then(|| scale.max(MIN_UNIT))
    }

    /// The leading features of the row as entries of the core.
    fn place_numbers(&self, row: &mut RowEntries) {
        let centers = self.scales.centers();
        for (j, &x) in row.numbers.iter().enumerate() {
            let Some(scale) = self.number_unit(j) else {
                row.unseen += f64::from(u8::from(x != 0.0));
                continue;
            };
            let constant = j == 0 && self.scales.has_intercept();
            let z = if constant { x } else { (x - centers[j]) / scale };
            if z != 0.0 {
                row.core.push(Entry { at: j as u32, z });
            }
        }
    }

    /// Prepares a row to be learned after `count` rows: new features enter all beliefs with their
    /// prior, frequent ones move to the core, variances grow by the time that features were away.
    // Inlined: with one belief the loops over beliefs vanish, which saves [`Wide`](super::Wide)
    // a twentieth of its instructions.
    #[inline(always)]
    pub fn enter(
        &mut self,
        x: SparseRow<'_>,
        count: u64,
        priors: &LanePriors,
        beliefs: &mut [Belief],
        row: &mut RowEntries,
    ) {
        row.reset();
        let rest = row.take_numbers(x);
        if self.scales.incomplete() {
            self.scales.complete(&row.numbers, |_, _| {});
        }
        self.place_numbers(row);
        self.slots.find_all(rest.indices, &mut row.places, |slot| {
            beliefs.iter().for_each(|belief| belief.tail.prefetch(slot));
        });
        for (k, (index, x)) in rest.iter().enumerate().filter(|(_, (_, x))| *x != 0.0) {
            let slot = match row.places[k] {
                Some(Place::Tail(slot)) => slot,
                Some(Place::Core(at)) => {
                    let feature = self.promoted[at as usize - self.numbers()];
                    row.core.push(Entry { at, z: x / feature.scale });
                    self.slots.visit(feature.slot, count);
                    continue;
                }
                None => {
                    beliefs.iter_mut().for_each(|belief| belief.push(priors));
                    self.slots.insert(index, x.abs().max(MIN_UNIT))
                }
            };
            let Visit { away, seen } = self.slots.visit(slot, count);
            if seen > 0 {
                let tails = beliefs.iter_mut().map(|belief| &mut belief.tail);
                tails.for_each(|tail| tail.walk(slot, away, priors.walks()));
            }
            let frequent =
                seen >= SEEN_BEFORE_CORE && u64::from(seen) * MAX_ROWS_PER_VISIT >= count;
            if frequent && self.promoted.len() < self.core_size {
                beliefs.iter_mut().for_each(|belief| belief.promote(slot));
                let at = self.promote(slot);
                row.core.push(Entry { at, z: x / self.slots.get(slot).scale });
                continue;
            }
            let scale = self.slots.get(slot).scale;
            if seen > 0 && seen < SCALED_BY_ROWS && x.abs() != scale {
                // the geometric mean, which one outlier hardly moves
                let share = 1.0 / f64::from(seen + 1);
                let mean = scale * (x.abs().max(MIN_UNIT) / scale).powf(share);
                let ratio = self.slots.rescale(slot, mean);
                let tails = beliefs.iter_mut().map(|belief| &mut belief.tail);
                tails.for_each(|tail| tail.rescale(slot, ratio, priors.variances()));
            }
            row.tail.push(Entry { at: slot, z: x / self.slots.get(slot).scale });
        }
    }

    /// The feature is in the core from now on; its place there.
    pub fn promote(&mut self, slot: u32) -> u32 {
        let at = (self.numbers() + self.promoted.len()) as u32;
        self.promoted.push(Promoted { slot, scale: self.slots.get(slot).scale });
        self.slots.promote(slot, at);
        at
    }

    /// Prepares a row to be predicted after `count` rows; nothing changes.
    pub fn look_up(&self, x: SparseRow<'_>, count: u64, row: &mut RowEntries) {
        row.reset();
        let rest = row.take_numbers(x);
        self.place_numbers(row);
        for (index, x) in rest.iter().filter(|(_, x)| *x != 0.0) {
            match self.slots.find(index) {
                Some(Place::Tail(at)) => {
                    let slot = self.slots.get(at);
                    row.tail.push(Entry { at, z: x / slot.scale });
                    row.away.push((count as u32).wrapping_sub(slot.last_row));
                }
                Some(Place::Core(at)) => {
                    let feature = self.promoted[at as usize - self.numbers()];
                    row.core.push(Entry { at, z: x / feature.scale });
                }
                None => row.unseen += 1.0,
            }
        }
    }

    /// Keeps these slots alone, those of the core among them.
    pub fn keep_slots(&mut self, kept: &[u32]) {
        let moved: HashMap<u32, u32> = kept.iter().copied().zip(0..).collect();
        self.slots = self.slots.kept(kept);
        for (at, feature) in (self.numbers() as u32..).zip(&mut self.promoted) {
            feature.slot = moved.get(&feature.slot).copied().unwrap_or(feature.slot);
            self.slots.promote(feature.slot, at);
        }
    }

    /// Coefficient `i` in coordinates of a belief. A number whose unit is not known yet has none.
    pub fn terms(&self, i: usize) -> Terms {
        let number = |j: usize| self.number_unit(j).map(|unit| (Coordinate::Core(j), 1.0 / unit));
        if i >= self.numbers() {
            let slot = (i - self.numbers()) as u32;
            let known = self.slots.get(slot);
            let at = match self.slots.find(known.index) {
                Some(Place::Core(at)) => Coordinate::Core(at as usize),
                _ => Coordinate::Tail(slot),
            };
            return vec![(at, 1.0 / known.scale)];
        }
        if i > 0 || !self.scales.has_intercept() {
            return number(i).into_iter().collect();
        }
        // features are centered: the intercept of the data is that of the belief less the centers
        let centers = self.scales.centers();
        let shift = |j: usize| number(j).map(|(at, factor)| (at, -centers[j] * factor));
        let shifts = (1..self.numbers()).filter(|&j| centers[j] != 0.0).filter_map(shift);
        std::iter::once((Coordinate::Core(0), 1.0)).chain(shifts).collect()
    }

    /// The slot of coefficient `i`, if it is one of the tail. Nearly all are, and their moments
    /// need no terms.
    pub fn tail_slot(&self, i: usize) -> Option<u32> {
        let slot = i.checked_sub(self.numbers())? as u32;
        (!self.slots.get(slot).in_core).then_some(slot)
    }
}
