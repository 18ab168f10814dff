//! The lower triangle of $\sum_i a_i x_i x_i^\top$, by matrix products over blocks of rows.
//!
//! Products add up to [`MAX_OPEN_ROWS`] rows in place; then the block is closed, that is added to
//! the carried sums. So no sum of floating-point numbers is longer than a block, and a billion rows
//! are as precise as one block.

use super::carried::Carried;
use crate::linalg::{Buffer, View, ViewMut, multiply};
use std::ops::Range;

/// Rows per product: the scaled copy of so many rows stays in the second-level cache.
pub(super) const PIECE_ROWS: usize = 256;
/// Rows of a block. Closing one costs three passes over the matrix, little against its products.
const MAX_OPEN_ROWS: usize = 4096;
/// Largest square on the diagonal that is computed as a whole: half of it is not needed, but
/// smaller products are slower.
const MAX_LEAF: usize = 48;

/// The sum over some rows, and its block that is open.
#[derive(Debug, Clone)]
pub(super) struct Triangle {
    dim: usize,
    stride: usize,
    /// Columns `stride` apart; only the lower triangle counts.
    open: Buffer,
    open_rows: usize,
    /// Column after column, each from the diagonal down.
    closed: Carried,
}

/// Entries of a lower triangle.
pub(super) fn packed_len(dim: usize) -> usize {
    dim * (dim + 1) / 2
}

/// Index of the diagonal entry of column `j` in a packed lower triangle.
fn packed_start(dim: usize, j: usize) -> usize {
    j * dim - j * j.saturating_sub(1) / 2
}

/// The symmetric matrix of a packed lower triangle, row after row.
pub(super) fn unpacked(packed: &[f64], dim: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; dim * dim];
    for j in 0..dim {
        let column = &packed[packed_start(dim, j)..][..dim - j];
        for (i, &value) in (j..).zip(column) {
            matrix[i * dim + j] = value;
            matrix[j * dim + i] = value;
        }
    }
    matrix
}

impl Triangle {
    pub fn zeros(dim: usize) -> Self {
        Self::from_packed(dim, Carried::zeros(packed_len(dim)))
    }

    /// From closed sums.
    pub fn from_packed(dim: usize, closed: Carried) -> Self {
        debug_assert_eq!(closed.len(), packed_len(dim));
        let stride = Buffer::column_stride(dim);
        Self { dim, stride, open: Buffer::zeros(dim * stride), open_rows: 0, closed }
    }

    /// Bytes of one for `dim` features.
    pub fn bytes(dim: usize) -> usize {
        let numbers = Buffer::column_stride(dim).saturating_mul(dim);
        numbers.saturating_add(packed_len(dim).saturating_mul(2)).saturating_mul(size_of::<f64>())
    }

    /// Adds $\sum_i x_i z_i^\top$ for at most [`PIECE_ROWS`] rows `x` and their scaled copies `z`.
    pub fn add(&mut self, x: &[f64], scaled: &[f64], rows: usize) {
        let mut open = ViewMut::columns(&mut self.open, self.dim, self.dim, self.stride);
        let factors = Factors { x, scaled, dim: self.dim, rows };
        factors.add_lower(&mut open, 0, self.dim);
        self.open_rows += rows;
        if self.open_rows >= MAX_OPEN_ROWS {
            self.close();
        }
    }

    /// Carries the open block over.
    fn close(&mut self) {
        if self.open_rows == 0 {
            return;
        }
        for j in 0..self.dim {
            let column = &mut self.open[j * self.stride..][j..self.dim];
            self.closed.add(packed_start(self.dim, j), column);
        }
        self.open.fill(0.0);
        self.open_rows = 0;
    }

    /// Adds another sum of the same dimension.
    pub fn absorb(&mut self, other: &Self) {
        self.closed.absorb(&other.closed);
        for j in 0..self.dim {
            let column = &other.open[j * other.stride..][j..self.dim];
            self.closed.add(packed_start(self.dim, j), column);
        }
    }

    /// The packed lower triangle of several sums, each entry rounded once.
    pub fn total<'a>(dim: usize, parts: impl Iterator<Item = &'a Self>) -> Vec<f64> {
        let mut total = Self::zeros(dim);
        parts.for_each(|part| total.absorb(part));
        total.closed.values()
    }
}

/// Rows and their scaled copies, `dim` numbers per row.
struct Factors<'a> {
    x: &'a [f64],
    scaled: &'a [f64],
    dim: usize,
    rows: usize,
}

impl Factors<'_> {
    /// Adds the lower triangle of columns `from..to`, halves first: the part between them is one
    /// product of a good shape.
    fn add_lower(&self, sum: &mut ViewMut<'_>, from: usize, to: usize) {
        if to - from <= MAX_LEAF {
            return self.add_product(sum, from..to, from..to);
        }
        let middle = (from + (to - from) / 2).next_multiple_of(Buffer::LINE);
        self.add_lower(sum, from, middle);
        self.add_product(sum, middle..to, from..middle);
        self.add_lower(sum, middle, to);
    }

    fn add_product(&self, sum: &mut ViewMut<'_>, below: Range<usize>, columns: Range<usize>) {
        let x = self.features(self.x, &below);
        let scaled = self.features(self.scaled, &columns);
        multiply(sum.part(below, columns), true, 1.0, x, scaled.t());
    }

    /// Some features of all rows, a column per row.
    fn features<'a>(&self, data: &'a [f64], range: &Range<usize>) -> View<'a> {
        View::columns(&data[range.start..], range.len(), self.rows, self.dim)
    }
}
