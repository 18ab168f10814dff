//! A row in the coordinates of the belief: features in their own units, sorted by where they are
//! kept.

use super::Wide;
use super::core::Promoted;
use super::tail::{Place, Walk};
use crate::family::Family;
use crate::sparse::{SparseMatrix, SparseRow};

/// Rows that a feature must have been seen in before it moves to the core.
const SEEN_BEFORE_CORE: u32 = 16;

/// A feature moves to the core if at least every so many rows have it. Rarer ones gain nothing from
/// a covariance, and the core costs the square of its features in every row.
const MAX_ROWS_PER_VISIT: u64 = 128;

/// Rows of a feature whose values give its unit.
const SCALED_BY_ROWS: u32 = 8;

/// Smallest unit of a feature. In it the square of a value of moderate size (1e30) is finite.
pub(super) const MIN_UNIT: f64 = 1e-100;

/// A feature's value in its unit, and its place in the tail or in the core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entry {
    pub at: u32,
    pub z: f64,
}

/// One row.
#[derive(Debug, Clone, Default)]
pub(super) struct RowEntries {
    pub core: Vec<Entry>,
    pub tail: Vec<Entry>,
    /// The leading features, as the row has them.
    numbers: Vec<f64>,
    /// Features that no row had; each adds the prior variance. Only for rows that are predicted.
    pub unseen: f64,
    /// Scratch: where each feature is kept, if it was seen.
    places: Vec<Option<Place>>,
    /// The members whose variances grow, as [`Wide::walks`] gives them for this row.
    pub walks: Vec<Walk>,
}

impl RowEntries {
    pub fn new(numbers: usize) -> Self {
        Self { numbers: vec![0.0; numbers], ..Self::default() }
    }

    fn reset(&mut self) {
        self.core.clear();
        self.tail.clear();
        self.numbers.fill(0.0);
        self.unseen = 0.0;
    }

    /// Takes the leading features of a row; returns the others.
    fn take_numbers<'a>(&mut self, x: SparseRow<'a>) -> SparseRow<'a> {
        let first = x.indices.partition_point(|&index| (index as usize) < self.numbers.len());
        for (&index, &value) in x.indices[..first].iter().zip(x.values) {
            self.numbers[index as usize] = value;
        }
        SparseRow { indices: &x.indices[first..], values: &x.values[first..] }
    }

    /// The leading features as the row has them.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }
}

impl<F: Family> Wide<F> {
    /// Prior variance of a feature in its own unit under each member, in units of the dispersion.
    pub(super) fn prior_variances(&self) -> impl Iterator<Item = f64> + use<F> {
        let slopes = self.prior.scale.slopes;
        let sizes: [f64; super::MAX_LANES] = std::array::from_fn(|k| {
            self.members.all.get(k).map_or(0.0, |m| m.assumption.prior_size)
        });
        sizes.into_iter().take(self.members.lanes()).map(move |size| size * slopes)
    }

    /// The unit of the leading feature `j`; `None` while it has been zero in every row.
    pub(super) fn number_unit(&self, j: usize) -> Option<f64> {
        let scale = self.scales.scale(j);
        (scale != 0.0).then(|| scale.max(MIN_UNIT))
    }

    /// The members whose variances grow.
    pub(super) fn walks(&self, walks: &mut Vec<Walk>) {
        walks.clear();
        for (lane, (member, most)) in
            self.members.all.iter().zip(self.prior_variances()).enumerate()
        {
            let noise = member.assumption.process_noise;
            if noise > 0.0 {
                walks.push(Walk { lane, per_row: noise * most, most });
            }
        }
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

    /// Prepares a row to be learned: new features enter with their prior, frequent ones move to the
    /// core, variances grow by the time that features were away.
    pub(super) fn enter(&mut self, x: SparseRow<'_>) {
        let mut row = std::mem::take(&mut self.row);
        row.reset();
        let rest = row.take_numbers(x);
        if self.scales.incomplete() {
            self.scales.complete(&row.numbers, |_, _| {});
        }
        self.place_numbers(&mut row);
        let mut walks = std::mem::take(&mut row.walks);
        self.walks(&mut walks);
        self.tail.find_all(rest.indices, &mut row.places);
        for (k, (index, x)) in rest.iter().enumerate().filter(|(_, (_, x))| *x != 0.0) {
            let slot = match row.places[k] {
                Some(Place::Tail(slot)) => slot,
                Some(Place::Core(at)) => {
                    let feature = self.core.promoted()[at as usize - self.numbers()];
                    row.core.push(Entry { at, z: x / feature.scale });
                    self.tail.visit(feature.slot, self.count);
                    continue;
                }
                None => self.tail.insert(index, x.abs().max(MIN_UNIT), self.prior_variances()),
            };
            let (away, seen) = self.tail.visit(slot, self.count);
            if seen > 0 {
                self.tail.walk(slot, away, &walks);
            }
            let frequent =
                seen >= SEEN_BEFORE_CORE && u64::from(seen) * MAX_ROWS_PER_VISIT >= self.count;
            if frequent && self.core.room() > 0 {
                let at = self.promote(slot);
                row.core.push(Entry { at, z: x / self.tail.slot(slot).scale });
                continue;
            }
            let scale = self.tail.slot(slot).scale;
            if seen > 0 && seen < SCALED_BY_ROWS && x.abs() != scale {
                // the geometric mean, which one outlier hardly moves
                let share = 1.0 / f64::from(seen + 1);
                let mean = scale * (x.abs().max(MIN_UNIT) / scale).powf(share);
                self.tail.rescale(slot, mean, self.prior_variances());
            }
            row.tail.push(Entry { at: slot, z: x / self.tail.slot(slot).scale });
        }
        row.walks = walks;
        self.row = row;
    }

    /// Moves a feature from the tail to the core; its place there. Nothing is lost: its variance
    /// becomes its diagonal entry.
    fn promote(&mut self, slot: u32) -> u32 {
        let at = self.core.promote(Promoted { slot, scale: self.tail.slot(slot).scale });
        let lanes = self.members.lanes();
        for k in 0..lanes {
            let record = self.tail.record(slot);
            self.core.set(at, k, f64::from(record[k]), f64::from(record[lanes + k]));
        }
        self.tail.promote(slot, at as u32);
        at as u32
    }

    /// Prepares a row to be predicted; nothing changes.
    pub(super) fn look_up(&self, x: SparseRow<'_>, row: &mut RowEntries) {
        row.reset();
        self.walks(&mut row.walks);
        let rest = row.take_numbers(x);
        self.place_numbers(row);
        for (index, x) in rest.iter().filter(|(_, x)| *x != 0.0) {
            match self.tail.find(index) {
                Some(Place::Tail(at)) => {
                    row.tail.push(Entry { at, z: x / self.tail.slot(at).scale });
                }
                Some(Place::Core(at)) => {
                    let feature = self.core.promoted()[at as usize - self.numbers()];
                    row.core.push(Entry { at, z: x / feature.scale });
                }
                None => row.unseen += 1.0,
            }
        }
    }
}

/// Sparse rows that own their numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct SparseParts {
    pub starts: Vec<usize>,
    pub indices: Vec<u32>,
    pub values: Vec<f64>,
}

impl SparseParts {
    /// The numbers of dense rows that are not zero.
    pub fn of_dense(x: &[f64], dim: usize, rows: usize) -> Self {
        let mut parts = Self { starts: vec![0], ..Self::default() };
        for i in 0..rows {
            let row = (0u32..).zip(&x[i * dim..(i + 1) * dim]).filter(|(_, x)| **x != 0.0);
            for (index, &value) in row {
                parts.indices.push(index);
                parts.values.push(value);
            }
            parts.starts.push(parts.indices.len());
        }
        parts
    }

    pub fn row(&self, i: usize) -> SparseRow<'_> {
        let entries = self.starts[i]..self.starts[i + 1];
        SparseRow { indices: &self.indices[entries.clone()], values: &self.values[entries] }
    }

    pub fn matrix(&self) -> crate::error::Result<SparseMatrix<'_>> {
        SparseMatrix::new(&self.starts, &self.indices, &self.values)
    }
}
