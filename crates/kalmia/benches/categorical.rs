//! Time per row of the learner of several classes, against as many filters of one label each.
//!
//! `cargo bench -p kalmia --bench categorical` prints a table. As a test (`cargo test --benches`)
//! each case runs once, short.

use kalmia::{Bernoulli, Categorical, Filter, Learner, MomentMatch, Prior, Rows};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Instant;

/// Rows per call.
const BATCH: usize = 1000;

/// Rows whose class follows the features, with noise.
struct Data {
    dim: usize,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Data {
    fn new(classes: usize, dim: usize, rows: usize) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut data = Self { dim, x: Vec::new(), y: Vec::new() };
        for _ in 0..rows {
            let x: Vec<f64> = (0..dim).map(|_| rng.random_range(-1.0..1.0)).collect();
            let largest = (0..classes)
                .max_by(|&a, &b| x[a % dim].total_cmp(&x[b % dim]))
                .expect("there are classes");
            let noise = rng.random::<f64>() < 0.3;
            data.y.push(if noise { rng.random_range(0..classes) } else { largest } as f64);
            data.x.extend(x);
        }
        data
    }

    /// Nanoseconds per row of a pass over the rows with the labels `y`, in batches.
    fn time(&self, y: &[f64], mut learn: impl FnMut(Rows<'_>)) -> f64 {
        let start = Instant::now();
        let rows = Rows::new(self.dim, &self.x, y).expect("lengths");
        for first in (0..y.len()).step_by(BATCH) {
            learn(rows.slice(first..y.len().min(first + BATCH)));
        }
        1e9 * start.elapsed().as_secs_f64() / y.len() as f64
    }
}

fn main() {
    let full = std::env::args().any(|a| a == "--bench");
    let work = if full { 400_000_000 } else { 2_000_000 };
    println!("| classes | features | members | ns per row | ns in K filters | ratio per member |");
    println!("|--:|--:|--:|--:|--:|--:|");
    for classes in [3, 10, 30] {
        for dim in [8, 28, 64, 200] {
            let rows = (work / (classes * dim * dim)).clamp(600, 40_000);
            let data = Data::new(classes, dim, rows);
            let mut learner = Categorical::builder(classes, dim).build().expect("legal");
            data.time(&data.y, |rows| learner.learn(rows).expect("legal rows"));
            // in the second pass most members have left
            let own = data.time(&data.y, |rows| learner.learn(rows).expect("legal rows"));
            let members = learner.weights().len();
            let mut filters = 0.0;
            for class in 0..classes {
                let prior = Prior::isotropic(dim, 1.0).expect("legal");
                let mut filter = Filter::new(Bernoulli, MomentMatch, prior).expect("legal");
                let y: Vec<f64> = data.y.iter().map(|&y| f64::from(y == class as f64)).collect();
                data.time(&y, |rows| filter.learn(rows).expect("legal rows"));
                filters += data.time(&y, |rows| filter.learn(rows).expect("legal rows"));
            }
            let each = own / members as f64;
            let ratio = each / filters;
            println!("| {classes} | {dim} | {members} | {own:.0} | {filters:.0} | {ratio:.2} |");
        }
    }
}
