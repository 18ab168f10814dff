//! Sparse rows: the entries of each row by index, without the zeros.

/// The first index that belongs to no named feature.
///
/// A named feature (an entry of [`crate::Encoder::features`]) has its own number, below this. A
/// hashed token or level has `FIRST_UNNAMED` plus its hash, and a libsvm index $k$ has
/// `FIRST_UNNAMED` $+ k$, or plus the hash of its decimal digits if indices are hashed.
pub const FIRST_UNNAMED: u32 = 1 << 31;

/// The rows of a block with very many possible features, of which each row has few.
///
/// Within a row, indices ascend strictly. So the named features come first, and among them the
/// intercept and the numbers, [`crate::Encoder::number_features`] of them, which every row has,
/// even if they are 0: the learner can center them. No other entry is 0. Entries whose hashes agree
/// are one entry with their sum; among tokens of texts it is 1.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseBlock {
    /// Where each row begins in `indices` and `values`, and at last their length: rows + 1 places.
    pub starts: Vec<usize>,
    /// The indices of all rows; see [`FIRST_UNNAMED`].
    pub indices: Vec<u32>,
    /// The values under these indices.
    pub values: Vec<f64>,
}

/// One row of a [`SparseBlock`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SparseRow<'a> {
    /// The indices, ascending strictly.
    pub indices: &'a [u32],
    /// The values under these indices.
    pub values: &'a [f64],
}

impl SparseBlock {
    /// Rows in the block.
    pub fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Row `i`; empty if there is none.
    pub fn row(&self, i: usize) -> SparseRow<'_> {
        let range = match self.starts.get(i..).unwrap_or_default() {
            [start, end, ..] => *start..*end,
            _ => 0..0,
        };
        SparseRow {
            indices: self.indices.get(range.clone()).unwrap_or_default(),
            values: self.values.get(range).unwrap_or_default(),
        }
    }

    /// Removes all rows and keeps the buffers.
    pub(crate) fn clear(&mut self) {
        self.starts.clear();
        self.starts.push(0);
        self.indices.clear();
        self.values.clear();
    }

    /// Adds an entry to the row that is not ended yet.
    #[inline]
    pub(crate) fn push(&mut self, index: u32, value: f64) {
        self.indices.push(index);
        self.values.push(value);
    }

    pub(crate) fn end_row(&mut self) {
        self.starts.push(self.indices.len());
    }
}
