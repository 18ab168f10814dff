//! The map from the index of a feature to its place: open addressing in one array, because a
//! look-up of a feature that is not in the cache should wait for memory once.

use super::slots::Place;
use crate::linalg::prefetch;

/// Cells at the start.
const MIN_CELLS: usize = 64;

/// A cell without a feature. No feature has this place (see [`Place::packed`]).
const EMPTY: u64 = u64::MAX;

/// Features with their places. At most half of the cells are occupied.
#[derive(Debug, Clone)]
pub(super) struct PlaceIndex {
    /// The index in the upper half, the packed place in the lower.
    cells: Vec<u64>,
    len: usize,
}

impl PlaceIndex {
    pub fn new() -> Self {
        Self { cells: vec![EMPTY; MIN_CELLS], len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn clear(&mut self) {
        self.cells.fill(EMPTY);
        self.len = 0;
    }

    /// The cell in which a search for an index begins: the upper bits of a product, which depend on
    /// all bits of the index.
    #[inline(always)]
    fn first_cell(&self, index: u32) -> usize {
        let mixed = u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (64 - self.cells.len().trailing_zeros())) as usize
    }

    /// Begins to load the cell of an index.
    #[inline(always)]
    pub fn prefetch(&self, index: u32) {
        prefetch(&self.cells, self.first_cell(index));
    }

    /// The cell of an index, or the empty one where it would stand.
    #[inline(always)]
    fn cell(&self, index: u32) -> usize {
        let mut at = self.first_cell(index);
        loop {
            let cell = self.cells[at];
            if cell == EMPTY || (cell >> 32) as u32 == index {
                return at;
            }
            at = (at + 1) & (self.cells.len() - 1);
        }
    }

    #[inline(always)]
    pub fn find(&self, index: u32) -> Option<Place> {
        let cell = self.cells[self.cell(index)];
        (cell != EMPTY).then(|| Place::unpacked(cell as u32))
    }

    /// Enters a feature, or gives it another place.
    pub fn insert(&mut self, index: u32, place: Place) {
        if 2 * (self.len + 1) > self.cells.len() {
            self.double();
        }
        let at = self.cell(index);
        self.len += usize::from(self.cells[at] == EMPTY);
        self.cells[at] = u64::from(index) << 32 | u64::from(place.packed());
    }

    fn double(&mut self) {
        let old = std::mem::take(&mut self.cells);
        self.cells = vec![EMPTY; 2 * old.len()];
        for cell in old.into_iter().filter(|&cell| cell != EMPTY) {
            let at = self.cell((cell >> 32) as u32);
            self.cells[at] = cell;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn it_is_a_map() {
        let mut index = PlaceIndex::new();
        let mut map = HashMap::new();
        // runs, multiples of powers of two, the ends of the range, and pseudo-random indices
        let scattered = (0u32..3000).map(|i| i.wrapping_mul(2_654_435_761));
        let keys = (0..2000).chain((0..2000).map(|i| i << 21)).chain([u32::MAX, u32::MAX - 1]);
        for (slot, key) in (0u32..).zip(keys.chain(scattered)) {
            let place = if slot % 7 == 0 { Place::Core(slot) } else { Place::Tail(slot) };
            index.insert(key, place);
            map.insert(key, place);
        }
        assert_eq!(index.len(), map.len());
        assert!(map.iter().all(|(key, place)| index.find(*key) == Some(*place)));
        assert_eq!(index.find(123_456_789), None);
        index.clear();
        assert_eq!((index.len(), index.find(5)), (0, None));
    }
}
