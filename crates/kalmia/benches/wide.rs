//! Rows per second of the learner for sparse rows, by the number of features and of entries per
//! row: a row costs what it has entries, whatever the number of features.
//!
//! `cargo bench -p kalmia --bench wide` prints the table of docs/benchmarks.md. As a test (`cargo
//! test --benches`) each case runs once, short.

use kalmia::{Bernoulli, DriftMode, Learner, SparseMatrix, SparseRows, Wide};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Instant;

/// Rows per call.
const BATCH: usize = 1000;

/// Rows with about `entries` features of `width`, drawn alike, and labels that follow some of them.
struct Data {
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    y: Vec<f64>,
}

impl Data {
    fn new(width: u32, entries: usize, rows: usize) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut data = Self { starts: vec![0], indices: vec![], values: vec![], y: vec![] };
        for _ in 0..rows {
            let mut row: Vec<u32> = (0..entries).map(|_| rng.random_range(1..width)).collect();
            row.push(0); // the constant
            row.sort_unstable();
            row.dedup();
            let odd = row.iter().filter(|index| *index % 2 == 1).count() as f64;
            let chance = (odd / row.len() as f64).clamp(0.1, 0.9);
            data.y.push(f64::from(rng.random::<f64>() < chance));
            data.indices.extend(row);
            data.starts.push(data.indices.len());
        }
        data.values = vec![1.0; data.indices.len()];
        data
    }

    /// Seconds of a pass over the rows, in batches.
    fn learn(&self, wide: &mut Wide<Bernoulli>) -> f64 {
        let start = Instant::now();
        for first in (0..self.y.len()).step_by(BATCH) {
            let end = self.y.len().min(first + BATCH);
            let entries = self.starts[first]..self.starts[end];
            let starts: Vec<usize> =
                self.starts[first..=end].iter().map(|at| at - entries.start).collect();
            let indices = &self.indices[entries.clone()];
            let x = SparseMatrix::new(&starts, indices, &self.values[entries]).expect("a matrix");
            let rows = SparseRows::new(x, &self.y[first..end]).expect("lengths");
            wide.learn_sparse(rows).expect("legal rows");
        }
        start.elapsed().as_secs_f64()
    }
}

fn main() {
    let full = std::env::args().any(|a| a == "--bench");
    let total = if full { 5_000_000 } else { 20_000 };
    println!(
        "| features | entries per row | first pass, rows/s | second pass, rows/s | ns per entry |"
    );
    println!("|--:|--:|--:|--:|--:|");
    for width in [10_000, 1_000_000, 10_000_000] {
        for entries in [10, 100] {
            let rows = total / entries;
            let data = Data::new(width, entries, rows);
            let builder = Wide::builder(Bernoulli).intercept().drift(DriftMode::Detect);
            let mut wide = builder.build().expect("a legal learner");
            // in the second pass every feature is known, and most members have left
            let first = data.learn(&mut wide);
            let second = data.learn(&mut wide);
            println!(
                "| {width} | {entries} | {:.0} k | {:.0} k | {:.0} |",
                rows as f64 / first / 1e3,
                rows as f64 / second / 1e3,
                1e9 * second / (rows * entries) as f64
            );
        }
    }
}
