//! The block: rows as the learner takes them, numbers only, each row contiguous.

use crate::batch::Origin;
use crate::error::Location;
use crate::sparse::SparseBlock;

/// A block of encoded rows. Its buffers are reused from block to block.
///
/// `x` holds row after row, each of `dim` features: seen as a matrix it is $X$, $d \times B$, by
/// columns. Features that appear for the first time in this block are at the end of every row, zero
/// before they appear.
///
/// If the encoder is wide ([`crate::Encoder::is_wide`]), the rows are in `sparse` and `x` is empty.
#[derive(Debug, Clone, Default)]
pub struct Block {
    /// Features per row; the named ones, if the rows are sparse.
    pub dim: usize,
    /// The features, `rows() * dim` of them; none if the rows are sparse.
    pub x: Vec<f64>,
    /// The features of a wide encoder, in place of `x`.
    pub sparse: Option<SparseBlock>,
    /// The targets; `NaN` if a row to predict has none.
    pub y: Vec<f64>,
    /// The weights, if a column gives them.
    pub weight: Option<Vec<f64>>,
    /// The offsets, if a column gives them.
    pub offset: Option<Vec<f64>>,
    /// Values per row whose level the schema does not know; empty if no row has one.
    pub unseen: Vec<u32>,
    /// Data rows of the whole input before this block.
    pub first_row: u64,
    /// Data rows read for this block, including those left out.
    pub rows_read: usize,
    /// The place of each row among the rows read.
    pub(crate) index: Vec<u32>,
    pub(crate) origin: Origin,
}

impl Block {
    /// An empty block.
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows in the block.
    pub fn rows(&self) -> usize {
        self.y.len()
    }

    /// The features of row `i`; nothing if the rows are sparse, see [`SparseBlock::row`].
    pub fn row(&self, i: usize) -> &[f64] {
        if self.sparse.is_some() {
            return &[];
        }
        &self.x[i * self.dim..(i + 1) * self.dim]
    }

    /// Values of row `i` whose level the schema does not know.
    pub fn unseen(&self, i: usize) -> u32 {
        self.unseen.get(i).copied().unwrap_or(0)
    }

    /// Data row of the whole input, from 0, that row `i` comes from.
    pub fn input_row(&self, i: usize) -> u64 {
        self.first_row + u64::from(self.index[i])
    }

    /// The file, row and line that row `i` comes from.
    pub fn location(&self, i: usize) -> Location {
        self.origin.location(self.index[i] as usize)
    }

    /// Whether every row has a target.
    pub fn has_targets(&self) -> bool {
        self.y.iter().all(|y| !y.is_nan())
    }
}
