//! Sparse rows that own their numbers.

use kalmia::{SparseMatrix, SparseRows};

/// Sparse rows with targets and weights.
#[derive(Debug, Clone, Default)]
pub struct SparseBatch {
    pub starts: Vec<usize>,
    pub indices: Vec<u32>,
    pub values: Vec<f64>,
    pub y: Vec<f64>,
    pub weight: Vec<f64>,
}

impl SparseBatch {
    /// Rows of `dim` features, all of which are listed.
    pub fn of_dense(dim: usize, x: &[f64], y: &[f64]) -> Self {
        let mut batch = Self::default();
        for (x, &y) in x.chunks_exact(dim).zip(y) {
            let entries: Vec<(u32, f64)> = (0..).zip(x.iter().copied()).collect();
            batch.push(&entries, y);
        }
        batch
    }

    /// The features of all rows, written out.
    pub fn dense(&self, dim: usize) -> Vec<f64> {
        let mut x = vec![0.0; dim * self.len()];
        for i in 0..self.len() {
            let row = self.matrix().row(i);
            for (&j, &value) in row.indices.iter().zip(row.values) {
                x[i * dim + j as usize] = value;
            }
        }
        x
    }

    pub fn push(&mut self, entries: &[(u32, f64)], y: f64) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.indices.extend(entries.iter().map(|entry| entry.0));
        self.values.extend(entries.iter().map(|entry| entry.1));
        self.starts.push(self.indices.len());
        self.y.push(y);
        self.weight.push(1.0);
    }

    pub fn len(&self) -> usize {
        self.y.len()
    }

    pub fn matrix(&self) -> SparseMatrix<'_> {
        SparseMatrix::new(&self.starts, &self.indices, &self.values).unwrap()
    }

    pub fn rows(&self) -> SparseRows<'_> {
        SparseRows::new(self.matrix(), &self.y).unwrap().with_weights(&self.weight).unwrap()
    }

    pub fn slice(&self, from: usize, to: usize) -> Self {
        let entries = self.starts[from]..self.starts[to];
        Self {
            starts: self.starts[from..=to].iter().map(|s| s - entries.start).collect(),
            indices: self.indices[entries.clone()].to_vec(),
            values: self.values[entries].to_vec(),
            y: self.y[from..to].to_vec(),
            weight: self.weight[from..to].to_vec(),
        }
    }

    pub fn with_values(mut self, value: impl Fn(u32, f64) -> f64) -> Self {
        self.values.iter_mut().zip(&self.indices).for_each(|(x, &j)| *x = value(j, *x));
        self
    }

    pub fn with_classes(mut self, class: impl Fn(usize) -> f64) -> Self {
        self.y.iter_mut().for_each(|y| *y = class(*y as usize));
        self
    }
}
