//! Rows per second of `Sums`, as a share of the matrix-product peak in the same run; and how far
//! merged beliefs are from maximum likelihood before and after one Newton step.
//!
//! `cargo bench -p kalmia --bench sums` prints both tables; as a test (`cargo test --benches`) it
//! runs once, small. Numbers after `--` choose dimensions.

use kalmia::sums::{Belief, Next, Polish, PriorPrecision, Sums, merge_many, polish};
use kalmia::{Bernoulli, Filter, Learner, MomentMatch, Prior, Rows};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Uniform numbers from a small congruential generator.
fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Rows with an intercept, and labels of a logistic model.
fn rows(dim: usize, n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut uniform = uniform(seed);
    let mut x = Vec::with_capacity(dim * n);
    let mut y = Vec::with_capacity(n);
    for _ in 0..n {
        let mut linear = 0.0;
        for j in 0..dim {
            let value = if j == 0 { 1.0 } else { 2.0 * uniform() - 1.0 };
            linear += if j % 2 == 0 { value } else { -value } * 3.0 / (dim as f64).sqrt();
            x.push(value);
        }
        y.push(f64::from(uniform() < 1.0 / (1.0 + (-linear).exp())));
    }
    (x, y)
}

/// Operations per second of a matrix product on each of `cores` cores at once, best of many.
fn peak(cores: usize, limit: Duration) -> f64 {
    let n = 256;
    let one = || {
        let a = vec![1.0; n * n];
        let b = vec![1.0; n * n];
        let mut c = vec![0.0; n * n];
        let repeats = 8;
        let mut seconds = f64::INFINITY;
        let begin = Instant::now();
        while seconds.is_infinite() || begin.elapsed() < limit {
            let start = Instant::now();
            for _ in 0..repeats {
                kalmia::internals::square_product(n, &a, &b, black_box(&mut c));
            }
            seconds = seconds.min(start.elapsed().as_secs_f64());
        }
        2.0 * (n as f64).powi(3) * f64::from(repeats) / seconds
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..cores).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|core| core.join().unwrap()).sum()
    })
}

/// Rows per second, best of many.
fn rate(dim: usize, n: usize, cores: usize, scores: bool, limit: Duration) -> f64 {
    let (x, y) = rows(dim, n, 7);
    let theta = vec![0.01; dim];
    let mut sums = Sums::new(Bernoulli, &theta).unwrap().with_threads(cores);
    if scores {
        sums = sums.with_scores().unwrap();
    }
    let mut seconds = f64::INFINITY;
    let begin = Instant::now();
    while seconds.is_infinite() || begin.elapsed() < limit {
        let start = Instant::now();
        sums.add(black_box(Rows::new(dim, &x, &y).unwrap())).unwrap();
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    n as f64 / seconds
}

/// The share of the peak counts `d(d+1)` operations per row and matrix: a triangle, no more.
fn speed(dims: &[usize], full: bool) {
    let limit = Duration::from_millis(if full { 1500 } else { 0 });
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    println!("| d | cores | squared scores | rows per second | product's peak, GFlop/s | share |");
    println!("|--:|--:|---|--:|--:|--:|");
    for &dim in dims {
        for cores in [1, cores] {
            for scores in [false, true] {
                let n = if full { (40_000_000 / (dim * dim)).clamp(4096, 65_536) } else { 300 };
                let peak = peak(cores, limit / 4);
                let rate = rate(dim, n, cores, scores, limit);
                let flops = (dim * (dim + 1) * if scores { 2 } else { 1 }) as f64;
                println!(
                    "| {dim} | {cores} | {scores} | {rate:.0} | {:.1} | {:.0} % |",
                    peak / 1e9,
                    100.0 * flops * rate / peak
                );
            }
        }
    }
}

/// Root mean square of the differences in standard errors.
fn distance(a: &[f64], b: &[f64], errors: &[f64]) -> f64 {
    let squares = a.iter().zip(b).zip(errors).map(|((a, b), e)| ((a - b) / e).powi(2));
    (squares.sum::<f64>() / a.len() as f64).sqrt()
}

/// The table of distances from maximum likelihood, for rows as they come and sorted by a feature.
fn distances(n: usize, shards: &[usize]) {
    let dim = 11;
    let (x, y) = rows(dim, n, 3);
    let mut order: Vec<usize> = (0..n).collect();
    println!("\n| rows | shards | order | merged | and one Newton step | p-value |");
    println!("|--:|--:|---|--:|--:|--:|");
    for sorted in [false, true] {
        if sorted {
            order.sort_by(|&a, &b| x[a * dim + 1].total_cmp(&x[b * dim + 1]));
        }
        let x: Vec<f64> = order.iter().flat_map(|&i| &x[i * dim..][..dim]).copied().collect();
        let y: Vec<f64> = order.iter().map(|&i| y[i]).collect();
        let all = Rows::new(dim, &x, &y).unwrap();
        let prior = Prior::isotropic(dim, 100.0).unwrap();
        let precision = PriorPrecision::of(&prior).unwrap();
        let sums_at = |theta: &[f64]| {
            let mut sums = Sums::new(Bernoulli, theta).unwrap();
            sums.add(all).unwrap();
            sums
        };
        let mut newton = Polish::new(precision.clone());
        let mut theta = vec![0.0; dim];
        let best = loop {
            match newton.step(&sums_at(&theta)).unwrap() {
                Next::Again(next) => theta = next,
                Next::Done(best) => break best,
            }
        };
        for &s in shards {
            let beliefs: Vec<Belief> = (0..s)
                .map(|k| {
                    let mut filter = Filter::new(Bernoulli, MomentMatch, prior.clone()).unwrap();
                    filter.learn(all.slice(k * n / s..(k + 1) * n / s)).unwrap();
                    Belief::of(&filter).unwrap()
                })
                .collect();
            let pooled = merge_many(&precision, &beliefs).unwrap();
            let polished = polish(&precision, &sums_at(pooled.belief.mean())).unwrap();
            let errors = best.standard_errors();
            let from = |theta: &[f64]| distance(theta, best.coefficients(), &errors);
            println!(
                "| {n} | {s} | {} | {:.4} | {:.5} | {:.3} |",
                if sorted { "sorted" } else { "alike" },
                from(pooled.belief.mean()),
                from(polished.coefficients()),
                pooled.heterogeneity.p_value
            );
        }
    }
}

fn main() {
    let full = std::env::args().any(|a| a == "--bench");
    let chosen: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let dims: &[usize] = if full { &[11, 100, 300, 1000] } else { &[11, 60] };
    speed(if chosen.is_empty() { dims } else { &chosen }, full);
    if chosen.is_empty() {
        if full {
            distances(400_000, &[8, 32, 128, 512]);
        } else {
            distances(2_000, &[2]);
        }
    }
}
