//! The lower triangle of $\sum_i z_i z_i^\top$, by matrix products over blocks of rows.
//!
//! Products add up to [`MAX_OPEN_ROWS`] rows in place; then the block is closed, that is added to
//! the carried sums. So no sum of floating-point numbers is longer than a block, and a billion rows
//! are as precise as one block.

use crate::linalg::{Buffer, Carried, View, ViewMut, multiply};
use std::ops::Range;

/// Rows per product: at 300 features they and the sums fit into a second-level cache of 2 MB.
pub(super) const PIECE_ROWS: usize = 128;
/// Rows of a block. Closing one costs three passes over the matrix, little against its products.
const MAX_OPEN_ROWS: usize = 4096;
/// Side of the squares on the diagonal, which are computed as a whole though half of each is not
/// needed. Also the unit of all cuts: the widest kernel of `gemm` takes 32 rows at once.
const LEAF: usize = 32;

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

    /// Numbers per row of `z`, whole cache lines.
    pub fn row_stride(dim: usize) -> usize {
        Buffer::column_stride(dim)
    }

    /// Adds $\sum_i z_iz_i^\top$ for at most [`PIECE_ROWS`] rows,
    /// [`row_stride`](Self::row_stride) apart.
    pub fn add(&mut self, z: &[f64], rows: usize) {
        let mut open = ViewMut::columns(&mut self.open, self.dim, self.dim, self.stride);
        let factor = Factor { z, stride: self.stride, rows };
        factor.add_lower(&mut open, 0, self.dim);
        self.count(rows);
    }

    /// Adds, for squares of side `block` along the diagonal, $\sum_i y_iy_i^\top$ within each and
    /// $-\sum_i z_iz_i^\top$ below all of them, for at most [`PIECE_ROWS`] rows,
    /// [`row_stride`](Self::row_stride) apart.
    pub fn add_blocks(&mut self, block: usize, within: &[f64], below: &[f64], rows: usize) {
        let mut open = ViewMut::columns(&mut self.open, self.dim, self.dim, self.stride);
        let within = Factor { z: within, stride: self.stride, rows };
        let below = Factor { z: below, stride: self.stride, rows };
        for from in (0..self.dim).step_by(block.max(1)) {
            let to = (from + block).min(self.dim);
            within.add_lower(&mut open, from, to);
            below.add_product(&mut open, -1.0, to..self.dim, from..to);
        }
        self.count(rows);
    }

    /// After rows were added to the open block.
    fn count(&mut self, rows: usize) {
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

/// Rows of numbers.
struct Factor<'a> {
    z: &'a [f64],
    stride: usize,
    rows: usize,
}

impl<'a> Factor<'a> {
    /// Adds the lower triangle of columns `from..to`, halves first: the part between them is one
    /// product of a good shape.
    fn add_lower(&self, sum: &mut ViewMut<'_>, from: usize, to: usize) {
        if to - from <= LEAF {
            return self.add_product(sum, 1.0, from..to, from..to);
        }
        let middle = from + ((to - from) / 2).next_multiple_of(LEAF);
        self.add_lower(sum, from, middle);
        self.add_product(sum, 1.0, middle..to, from..middle);
        self.add_lower(sum, middle, to);
    }

    /// Adds `factor` times the products of features `below` with features `columns`.
    fn add_product(
        &self,
        sum: &mut ViewMut<'_>,
        factor: f64,
        below: Range<usize>,
        columns: Range<usize>,
    ) {
        let left = self.features(&below);
        let right = self.features(&columns);
        multiply(sum.part(below, columns), true, factor, left, right.t());
    }

    /// Some features of all rows, a column per row.
    fn features(&self, range: &Range<usize>) -> View<'a> {
        // an empty range may start at the end
        let first = range.start.min(self.z.len());
        View::columns(&self.z[first..], range.len(), self.rows, self.stride)
    }
}
