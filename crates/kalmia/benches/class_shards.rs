//! How far several classes on many shards, merged, are from the maximum likelihood of all rows,
//! before and after Newton steps on exact sums.
//!
//! `cargo bench -p kalmia --bench class_shards` prints the table; as a test (`cargo test
//! --benches`) it runs once, small.

use kalmia::sums::{ClassSums, Next, Polish, Polished, PriorPrecision, polish_classes};
use kalmia::{Categorical, DriftMode, Rows};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const DIM: usize = 11;
const CLASSES: usize = 5;

struct Table {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Table {
    /// An intercept and uniform features; classes of a true softmax.
    fn draw(rows: usize, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let truth: Vec<f64> = (0..CLASSES * DIM).map(|_| rng.random_range(-1.5..1.5)).collect();
        let mut x = Vec::with_capacity(DIM * rows);
        let mut y = Vec::with_capacity(rows);
        for _ in 0..rows {
            let first = x.len();
            x.push(1.0);
            x.extend((1..DIM).map(|_| rng.random_range(-1.0..1.0)));
            let row = &x[first..];
            let linear = |theta: &[f64]| -> f64 { theta.iter().zip(row).map(|(t, x)| t * x).sum() };
            let shares: Vec<f64> = truth.chunks(DIM).map(|theta| linear(theta).exp()).collect();
            let mut left = rng.random_range(0.0..1.0) * shares.iter().sum::<f64>();
            let mut class = 0;
            while class + 1 < CLASSES && left >= shares[class] {
                left -= shares[class];
                class += 1;
            }
            y.push(class as f64);
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
        Rows::new(DIM, &self.x, &self.y).unwrap()
    }
}

fn learned(rows: Rows<'_>) -> Categorical {
    let builder = Categorical::builder(CLASSES, DIM).intercept().drift(DriftMode::Off);
    let mut learner = builder.build().unwrap();
    learner.learn(rows).unwrap();
    learner
}

fn sums(theta: &[f64], rows: Rows<'_>) -> ClassSums {
    let mut sums = ClassSums::new(CLASSES, theta).unwrap();
    sums.add(rows).unwrap();
    sums
}

fn step(theta: &[f64], rows: Rows<'_>) -> Polished {
    polish_classes(&PriorPrecision::flat(theta.len()), &sums(theta, rows)).unwrap()
}

fn maximum(mut theta: Vec<f64>, rows: Rows<'_>) -> Polished {
    let mut newton = Polish::new(PriorPrecision::flat(theta.len())).with_tolerance(1e-8).unwrap();
    loop {
        match newton.step_classes(&sums(&theta, rows)).unwrap() {
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
        "Standard errors from the maximum likelihood, {rows} rows, {CLASSES} classes, the worst \
         of {seeds} seeds"
    );
    println!("| order | shards | merged | one Newton step | two | three |");
    println!("|---|--:|--:|--:|--:|--:|");
    for order in ["alike", "sorted"] {
        for &count in shards {
            let mut worst = [0.0_f64; 4];
            for seed in 0..seeds {
                let table = Table::draw(rows, 100 + seed);
                let table = if order == "sorted" { table.sorted() } else { table };
                let all = table.rows();
                let part = |k: usize| all.slice(k * rows / count..(k + 1) * rows / count);
                let parts: Vec<_> = (0..count).map(|k| learned(part(k))).collect();
                let many: Vec<_> = parts.iter().collect();
                let merged = Categorical::merge_many(&many).unwrap().merged.into_inner();
                let mut theta = merged.coefficients_against_first();
                let best = maximum(theta.clone(), all);
                for worst in &mut worst {
                    *worst = worst.max(distance(&theta, &best));
                    theta = step(&theta, all).coefficients().to_vec();
                }
            }
            let [merged, one, two, three] = worst;
            println!("| {order} | {count} | {merged:.3} | {one:.5} | {two:.6} | {three:.7} |");
        }
    }
}

fn main() {
    if std::env::args().any(|a| a == "--bench") {
        distances(200_000, &[1, 8, 128], 2);
    } else {
        distances(2000, &[1, 4], 1);
    }
}
