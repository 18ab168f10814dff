//! A row in the coordinates of the belief: features in their own units, sorted by where they are
//! kept.

use super::slots::Place;
use crate::sparse::{SparseMatrix, SparseRow};

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
    pub numbers: Vec<f64>,
    /// Features that no row had; each adds the prior variance. Only for rows that are predicted.
    pub unseen: f64,
    /// Rows since each feature of the tail was seen. Only for rows that are predicted.
    pub away: Vec<u32>,
    /// Scratch: where each feature is kept, if it was seen.
    pub places: Vec<Option<Place>>,
}

impl RowEntries {
    pub fn new(numbers: usize) -> Self {
        Self { numbers: vec![0.0; numbers], ..Self::default() }
    }

    pub fn reset(&mut self) {
        self.core.clear();
        self.tail.clear();
        self.away.clear();
        self.numbers.fill(0.0);
        self.unseen = 0.0;
    }

    /// Takes the leading features of a row; returns the others.
    pub fn take_numbers<'a>(&mut self, x: SparseRow<'a>) -> SparseRow<'a> {
        let first = x.indices.partition_point(|&index| (index as usize) < self.numbers.len());
        for (&index, &value) in x.indices[..first].iter().zip(x.values) {
            self.numbers[index as usize] = value;
        }
        SparseRow { indices: &x.indices[first..], values: &x.values[first..] }
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
