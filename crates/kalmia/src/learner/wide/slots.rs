//! What is known of the features besides the leading numbers, whatever is believed of them: where
//! each is kept, its unit and how often it was seen.

use super::index::PlaceIndex;

/// What is known of a feature beside the belief.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Slot {
    pub index: u32,
    /// Rows that had it, at most [`u32::MAX`].
    pub seen: u32,
    /// Rows learned before its last row, modulo $2^{32}$.
    pub last_row: u32,
    /// Whether it has moved to the core; its record in the tail is no longer used.
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

/// A row of a feature.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit {
    /// Rows since the last one that had it.
    pub away: u32,
    /// How many had it before.
    pub seen: u32,
}

/// The features in the order of their first row, those that moved to the core included.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    places: PlaceIndex,
}

impl Slots {
    pub fn new() -> Self {
        Self { slots: Vec::new(), places: PlaceIndex::new() }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn all(&self) -> &[Slot] {
        &self.slots
    }

    #[inline(always)]
    pub fn get(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    pub fn clear(&mut self) {
        self.slots.clear();
        self.places.clear();
    }

    /// Bytes of so many features, without their beliefs.
    pub fn bytes(features: usize) -> usize {
        // at least a quarter of the index is occupied
        features.saturating_mul(size_of::<Slot>() + 4 * size_of::<u64>())
    }

    /// The places of features in order. Their memory, and what `load` begins to load for a slot of
    /// the tail, is loaded meanwhile, so that a row waits for all of its features together.
    pub fn find_all(
        &self,
        indices: &[u32],
        places: &mut Vec<Option<Place>>,
        mut load: impl FnMut(u32),
    ) {
        indices.iter().for_each(|&index| self.places.prefetch(index));
        places.clear();
        for &index in indices {
            let place = self.find(index);
            if let Some(Place::Tail(slot)) = place {
                crate::linalg::prefetch(&self.slots, slot as usize);
                load(slot);
            }
            places.push(place);
        }
    }

    #[inline(always)]
    pub fn find(&self, index: u32) -> Option<Place> {
        self.places.find(index)
    }

    /// A feature that no row had.
    pub fn insert(&mut self, index: u32, scale: f64) -> u32 {
        let slot = self.slots.len() as u32;
        self.slots.push(Slot { index, seen: 0, last_row: 0, in_core: false, scale });
        self.places.insert(index, Place::Tail(slot));
        slot
    }

    /// The feature is in the core from now on.
    pub fn promote(&mut self, slot: u32, at: u32) {
        let known = &mut self.slots[slot as usize];
        known.in_core = true;
        self.places.insert(known.index, Place::Core(at));
    }

    /// Counts a row that has the feature.
    #[inline(always)]
    pub fn visit(&mut self, slot: u32, row: u64) -> Visit {
        let known = &mut self.slots[slot as usize];
        let seen = known.seen;
        let away = (row as u32).wrapping_sub(known.last_row);
        known.seen = seen.saturating_add(1);
        known.last_row = row as u32;
        Visit { away, seen }
    }

    /// Gives the feature another unit; returns the ratio to the one before.
    pub fn rescale(&mut self, slot: u32, scale: f64) -> f64 {
        let known = &mut self.slots[slot as usize];
        let ratio = scale / known.scale;
        known.scale = scale;
        ratio
    }

    /// These slots alone.
    pub fn kept(&self, kept: &[u32]) -> Self {
        Self::from_slots(kept.iter().map(|&slot| self.slots[slot as usize]).collect())
    }

    /// All features in the tail.
    pub fn from_slots(slots: Vec<Slot>) -> Self {
        let mut places = PlaceIndex::new();
        for (slot, known) in (0u32..).zip(&slots) {
            places.insert(known.index, Place::Tail(slot));
        }
        Self { slots, places }
    }

    /// Whether no feature occurs twice.
    pub fn is_consistent(&self) -> bool {
        self.places.len() == self.slots.len()
    }
}
