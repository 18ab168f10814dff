//! How far the default learner on many shards, merged, is from the maximum likelihood of all rows,
//! before and after Newton steps on exact sums; and what a shard costs to ship and to merge.
//!
//! `cargo bench -p kalmia --bench shards` prints both tables; as a test (`cargo test --benches`)
//! it runs once, small.

use kalmia::learner::Information;
use kalmia::sums::{Next, Polish, Polished, PriorPrecision, Sums, polish};
use kalmia::{AnyFamily, Auto, DriftMode, Family, Learner, Predict, Rows};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Instant;

const DIM: usize = 11;

struct Table {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Table {
    /// An intercept and uniform features; the linear predictor has a standard deviation of about
    /// `spread`.
    fn draw(family: AnyFamily, dim: usize, rows: usize, spread: f64, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let size = spread * (3.0 / dim as f64).sqrt();
        let truth: Vec<f64> = (0..dim).map(|j| if j % 2 == 0 { size } else { -size }).collect();
        let mut x = Vec::with_capacity(dim * rows);
        let mut y = Vec::with_capacity(rows);
        for _ in 0..rows {
            let first = x.len();
            x.push(1.0);
            x.extend((1..dim).map(|_| rng.random_range(-1.0..1.0)));
            let linear: f64 = x[first..].iter().zip(&truth).map(|(x, t)| x * t).sum();
            y.push(family.sample(linear, &mut rng));
        }
        Self { x, y }
    }

    fn sorted(self) -> Self {
        let mut order: Vec<usize> = (0..self.y.len()).collect();
        order.sort_by(|&a, &b| self.x[a * DIM + 1].total_cmp(&self.x[b * DIM + 1]));
        Self {
            x: order.iter().flat_map(|&i| &self.x[i * DIM..][..DIM]).copied().collect(),
            y: order.iter().map(|&i| self.y[i]).collect(),
        }
    }

    fn rows(&self) -> Rows<'_> {
        Rows::new(self.x.len() / self.y.len(), &self.x, &self.y).unwrap()
    }
}

fn learned(family: AnyFamily, rows: Rows<'_>) -> Auto<AnyFamily> {
    let builder = Auto::builder(family, rows.dim()).intercept().drift(DriftMode::Off);
    let mut auto = builder.build().unwrap();
    auto.learn(rows).unwrap();
    auto
}

fn step(family: AnyFamily, theta: &[f64], rows: Rows<'_>) -> Polished {
    let mut sums = Sums::new(family, theta).unwrap();
    sums.add(rows).unwrap();
    polish(&PriorPrecision::flat(theta.len()), &sums).unwrap()
}

fn maximum(start: &Auto<AnyFamily>, rows: Rows<'_>) -> Polished {
    let mut newton = Polish::new(PriorPrecision::flat(rows.dim())).with_tolerance(1e-8).unwrap();
    let mut theta = start.coefficients().to_vec();
    loop {
        let mut sums = Sums::new(start.family(), &theta).unwrap();
        sums.add(rows).unwrap();
        match newton.step(&sums).unwrap() {
            Next::Again(next) => theta = next,
            Next::Done(done) => return *done,
        }
    }
}

/// Root mean square of the differences in standard errors.
fn distance(a: &[f64], best: &Polished) -> f64 {
    let errors = best.standard_errors();
    let z = a.iter().zip(best.coefficients()).zip(errors).map(|((a, b), e)| (a - b) / e);
    (z.map(|z| z * z).sum::<f64>() / a.len() as f64).sqrt()
}

/// The largest of some seeds.
fn distances(rows: usize, shards: &[usize], seeds: u64) {
    println!(
        "Standard errors from the maximum likelihood, {rows} rows, the worst of {seeds} seeds"
    );
    println!("| family | order | shards | merged | one Newton step | two |");
    println!("|---|---|--:|--:|--:|--:|");
    for (name, spread) in [("bernoulli", 2.0), ("poisson", 1.0), ("gamma:0.5", 1.0)] {
        let family: AnyFamily = name.parse().unwrap();
        for order in ["alike", "sorted"] {
            for &count in shards {
                let mut worst = [0.0_f64; 3];
                for seed in 0..seeds {
                    let table = Table::draw(family, DIM, rows, spread, 100 + seed);
                    let table = if order == "sorted" { table.sorted() } else { table };
                    let all = table.rows();
                    let part = |k: usize| all.slice(k * rows / count..(k + 1) * rows / count);
                    let parts: Vec<_> = (0..count).map(|k| learned(family, part(k))).collect();
                    let many: Vec<_> = parts.iter().collect();
                    let merged = Auto::merge_many(&many).unwrap().merged.into_inner();
                    let best = maximum(&merged, all);
                    let one = step(merged.family(), &merged.coefficients(), all);
                    let two = step(merged.family(), one.coefficients(), all);
                    let found =
                        [&merged.coefficients()[..], one.coefficients(), two.coefficients()];
                    for (worst, theta) in worst.iter_mut().zip(found) {
                        *worst = worst.max(distance(theta, &best));
                    }
                }
                let [merged, one, two] = worst;
                println!("| {name} | {order} | {count} | {merged:.3} | {one:.5} | {two:.6} |");
            }
        }
    }
}

/// What a shard ships, and what merging it costs.
fn costs(dims: &[usize], rows: usize) {
    println!("\n| d | bytes per shard | add one shard, ms | build the model, ms |");
    println!("|--:|--:|--:|--:|");
    let family: AnyFamily = "bernoulli".parse().unwrap();
    for &dim in dims {
        let table = Table::draw(family, dim, rows.max(3 * dim), 1.0, 7);
        let auto = learned(family, table.rows());
        let reference = auto.coefficients().to_vec();
        let part = auto.information(reference.clone()).unwrap();
        let bytes = 8 * (dim * (dim + 1) / 2 + 4 * dim + 4);
        let mut total = Information::none(reference);
        let repeats = if dim < 500 { 100 } else { 10 };
        let start = Instant::now();
        (0..repeats).for_each(|_| total.add(&part).unwrap());
        let add = start.elapsed().as_secs_f64() / f64::from(repeats);
        let start = Instant::now();
        auto.with_information(&total).unwrap();
        let build = start.elapsed().as_secs_f64();
        println!("| {dim} | {bytes} | {:.3} | {:.1} |", 1e3 * add, 1e3 * build);
    }
}

fn main() {
    let full = std::env::args().any(|a| a == "--bench");
    if full {
        distances(400_000, &[8, 32, 128, 512], 3);
        costs(&[11, 100, 1000], 2000);
    } else {
        distances(3000, &[4], 1);
        costs(&[11], 300);
    }
}
