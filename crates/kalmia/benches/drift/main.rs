//! How often `auto` sees a drift where there is none, how often and how soon where there is one,
//! and what following costs and gains.
//!
//! `cargo bench -p kalmia --bench drift` prints the tables of docs/benchmarks.md, `-- --quick` the
//! same from a fifth of the replicates, and `-- TEXT` only lines that contain the text. As a test
//! (`cargo test --benches`) it runs once, small.

#[path = "../../tests/streams/mod.rs"]
mod streams;

use kalmia::observe::RowView;
use kalmia::{Auto, DriftMode, Learner, Rows};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::atomic::{AtomicUsize, Ordering};
use streams::{Change, Draw, Noise, Stream};

/// Rows of a call; the result does not depend on it.
const CALL: usize = 64;

fn learner(stream: &Stream, drift: DriftMode) -> Auto<kalmia::AnyFamily> {
    Auto::builder(stream.family, stream.dim())
        .intercept()
        .drift(drift)
        .threads(1)
        .build()
        .expect("a legal learner")
}

/// The row from which a drift is followed by `detect`.
fn detection(stream: &Stream, draw: &Draw) -> Option<u64> {
    let dim = stream.dim();
    let mut auto = learner(stream, DriftMode::Detect);
    for (x, y) in draw.x.chunks(dim * CALL).zip(draw.y.chunks(CALL)) {
        auto.learn(Rows::new(dim, x, y).expect("rows")).expect("legal rows");
        if auto.follows_from().is_some() {
            return auto.follows_from();
        }
    }
    None
}

/// Mean log loss of the rows from `first` on, each predicted before it was learned.
fn loss(stream: &Stream, draw: &Draw, drift: DriftMode, first: usize) -> f64 {
    let mut auto = learner(stream, drift);
    let mut total = 0.0;
    let mut observer = |row: &RowView<'_>| {
        if row.index >= first {
            total += row.loss;
        }
    };
    let rows = Rows::new(stream.dim(), &draw.x, &draw.y).expect("rows");
    auto.learn_observed(rows, Some(&mut observer)).expect("legal rows");
    total / (stream.rows - first) as f64
}

/// `run` on `count` replicates of a stream, on all cores; replicate `k` has seed `k`.
fn replicates<T: Send>(stream: &Stream, count: usize, run: impl Fn(&Draw) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut results = Vec::new();
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= count {
                return results;
            }
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(k as u64);
            results.push((k, run(&stream.draw(&mut rng))));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut results: Vec<(usize, T)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|w| w.join().expect("a worker")).collect()
    });
    results.sort_by_key(|result| result.0);
    results.into_iter().map(|result| result.1).collect()
}

/// What is printed, and from how many replicates.
struct Run {
    replicates: usize,
    only: Option<String>,
}

impl Run {
    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only.as_str()))
    }

    /// Fewer for streams that take long.
    fn count(&self, stream: &Stream) -> usize {
        let work = stream.rows as f64 * (stream.dim() as f64).powi(2);
        let few = (self.replicates as f64 * 3e8 / work) as usize;
        self.replicates.min(few.max(self.replicates.div_ceil(10)))
    }

    fn false_alarms(&self, lines: &[(&str, Stream)]) {
        println!("| static stream | rows | alarms |\n|---|---:|---:|");
        for (name, stream) in lines.iter().filter(|line| self.wants(line.0)) {
            let count = self.count(stream);
            let found = replicates(stream, count, |draw| detection(stream, draw));
            let alarms = found.iter().flatten().count();
            println!("| {name} | {} | {alarms} of {count} |", stream.rows);
        }
    }

    fn power(&self, lines: &[(&str, Stream)]) {
        println!("\n| change | rows | detected | too soon | median delay | 90 % within |");
        println!("|---|---:|---:|---:|---:|---:|");
        for (name, stream) in lines.iter().filter(|line| self.wants(line.0)) {
            let count = self.count(stream);
            let start = match stream.change {
                Change::Slow(_) => 0,
                _ => stream.rows as u64 / 2,
            };
            let found = replicates(stream, count, |draw| detection(stream, draw));
            let mut delays: Vec<u64> =
                found.iter().flatten().filter_map(|row| row.checked_sub(start)).collect();
            delays.sort_unstable();
            let early = found.iter().flatten().count() - delays.len();
            let share = delays.len() as f64 / (count - early).max(1) as f64;
            let [median, most] =
                [0.5, 0.9].map(|q| delays.get((q * delays.len() as f64) as usize).unwrap_or(&0));
            println!("| {name} | {} | {share:.2} | {early} | {median} | {most} |", stream.rows);
        }
    }

    fn cost(&self, lines: &[(&str, Stream)]) {
        println!("\n| log loss per row, less that of `off` | rows | `detect` | `adapt` |");
        println!("|---|---:|---:|---:|");
        for (name, stream) in lines.iter().filter(|line| self.wants(line.0)) {
            let count = self.count(stream).div_ceil(5);
            let first = if stream.change == Change::None { 0 } else { stream.rows / 2 };
            let losses = replicates(stream, count, |draw| {
                let off = loss(stream, draw, DriftMode::Off, first);
                [DriftMode::Detect, DriftMode::Adapt]
                    .map(|drift| loss(stream, draw, drift, first) - off)
            });
            let mean = |k: usize| losses.iter().map(|l| l[k]).sum::<f64>() / count as f64;
            println!("| {name} | {} | {:.5} | {:.5} |", stream.rows, mean(0), mean(1));
        }
    }
}

fn main() {
    let full = std::env::args().any(|a| a == "--bench");
    let quick = std::env::args().any(|a| a == "--quick");
    let only = std::env::args().skip(1).find(|a| !a.starts_with("--"));
    let run = Run {
        replicates: if !full {
            1
        } else if quick {
            40
        } else {
            200
        },
        only,
    };
    let rows = |n: usize| if full { n } else { n / 10 };
    let stream = |family: &str, features: usize, n: usize| Stream::new(family, features, rows(n));
    let gaussian = |n: usize| stream("gaussian", 5, n);
    let logistic = |n: usize| stream("bernoulli", 5, n);
    let poisson = |n: usize| stream("poisson", 5, n);
    run.false_alarms(&[
        ("Gaussian, d = 5", gaussian(20_000)),
        ("logistic, d = 5", logistic(20_000)),
        ("Poisson, d = 5", poisson(20_000)),
        ("Gamma, d = 5", stream("gamma", 5, 20_000)),
        ("Gaussian, d = 30", stream("gaussian", 30, 5_000)),
        ("logistic, d = 30", stream("bernoulli", 30, 5_000)),
        ("Gaussian, d = 100", stream("gaussian", 100, 5_000)),
        ("logistic, d = 100", stream("bernoulli", 100, 5_000)),
        ("Gaussian, d = 300", stream("gaussian", 300, 5_000)),
        ("logistic, d = 300", stream("bernoulli", 300, 5_000)),
        ("Poisson, d = 300", stream("poisson", 300, 5_000)),
        ("Gaussian, d = 1000", stream("gaussian", 1000, 3_000)),
        ("logistic, d = 1000", stream("bernoulli", 1000, 3_000)),
        ("logistic, 1.5 % positive", logistic(3_000).intercept(-4.7)),
        ("logistic, 0.5 % positive", logistic(10_000).intercept(-5.8)),
        ("Cauchy noise", gaussian(3_000).noise(Noise::Cauchy)),
        ("1 % outliers of 100 sd", gaussian(3_000).noise(Noise::Outliers)),
        ("noise 4 times as large midway", gaussian(3_000).noise(Noise::LouderLater)),
        ("features with 3 degrees of freedom", gaussian(3_000).noise(Noise::HeavyFeatures)),
        ("a square left out", gaussian(3_000).noise(Noise::Curved)),
        ("negative binomial of size 1", poisson(3_000).noise(Noise::NegativeBinomial(1.0))),
        ("negative binomial of size 0.1", poisson(3_000).noise(Noise::NegativeBinomial(0.1))),
        ("Gaussian, groups of 20", gaussian(3_000).noise(Noise::Groups(20))),
        ("Gaussian, groups of 30", gaussian(3_000).noise(Noise::Groups(30))),
        (
            "Gaussian, groups of 30 with equal features",
            gaussian(3_000).noise(Noise::GroupsAlike(30)),
        ),
        ("logistic, groups of 30", logistic(3_000).noise(Noise::Groups(30))),
        ("Poisson, groups of 30", poisson(3_000).noise(Noise::Groups(30))),
        ("Gaussian, groups of 30, long", gaussian(20_000).noise(Noise::Groups(30))),
        ("AR(0.5) noise", gaussian(3_000).noise(Noise::Autoregressive(0.5))),
        ("AR(0.9) noise", gaussian(3_000).noise(Noise::Autoregressive(0.9))),
    ]);
    run.power(&[
        ("Gaussian, 0.5", gaussian(20_000).change(Change::Jump(0.5))),
        ("Gaussian, 1", gaussian(20_000).change(Change::Jump(1.0))),
        ("Gaussian, 2", gaussian(20_000).change(Change::Jump(2.0))),
        ("Gaussian, sign flip", gaussian(20_000).change(Change::Flip)),
        ("Gaussian, new effect of 1", gaussian(20_000).change(Change::NewEffect(1.0))),
        ("Gaussian, level by 1", gaussian(20_000).change(Change::Level(1.0))),
        ("Gaussian, slowly by 1", gaussian(20_000).change(Change::Slow(1.0))),
        ("Gaussian, 2, short", gaussian(4_000).change(Change::Jump(2.0))),
        ("Gaussian, 1, d = 100", stream("gaussian", 100, 10_000).change(Change::Jump(1.0))),
        ("Gaussian, 1, d = 300", stream("gaussian", 300, 10_000).change(Change::Jump(1.0))),
        ("logistic, 0.5", logistic(20_000).change(Change::Jump(0.5))),
        ("logistic, 1", logistic(20_000).change(Change::Jump(1.0))),
        ("logistic, 2", logistic(20_000).change(Change::Jump(2.0))),
        ("logistic, sign flip", logistic(20_000).change(Change::Flip)),
        ("logistic, new effect of 1", logistic(20_000).change(Change::NewEffect(1.0))),
        ("logistic, level by 1", logistic(20_000).change(Change::Level(1.0))),
        ("logistic, slowly by 1", logistic(20_000).change(Change::Slow(1.0))),
        ("logistic, 2, short", logistic(4_000).change(Change::Jump(2.0))),
        ("logistic, sign flip, short", logistic(4_000).change(Change::Flip)),
        ("Poisson, 0.5", poisson(20_000).change(Change::Jump(0.5))),
        ("Poisson, 1", poisson(20_000).change(Change::Jump(1.0))),
        ("Poisson, new effect of 1", poisson(20_000).change(Change::NewEffect(1.0))),
    ]);
    run.cost(&[
        ("cost: Gaussian, static", gaussian(5_000)),
        ("cost: logistic, static", logistic(5_000)),
        ("cost: Poisson, static", poisson(5_000)),
        ("cost: Gaussian, d = 50, static", stream("gaussian", 50, 5_000)),
        ("cost: logistic, d = 50, static", stream("bernoulli", 50, 5_000)),
        ("cost: negative binomial, static", poisson(5_000).noise(Noise::NegativeBinomial(1.0))),
        ("cost: Gaussian, by 1", gaussian(5_000).change(Change::Jump(1.0))),
        ("cost: logistic, by 1", logistic(5_000).change(Change::Jump(1.0))),
        ("cost: Poisson, by 1", poisson(5_000).change(Change::Jump(1.0))),
        ("cost: Gaussian, sign flip, 1000 rows", gaussian(1_000).change(Change::Flip)),
        ("cost: logistic, sign flip, 1000 rows", logistic(1_000).change(Change::Flip)),
    ]);
}
