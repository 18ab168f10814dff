//! Rows per second of `Sums`, as a share of the matrix-product peak in the same run.
//!
//! `cargo bench -p kalmia --bench sums` prints the table; as a test (`cargo test --benches`) it
//! runs once, small. Numbers after `--` choose dimensions.

use kalmia::sums::Sums;
use kalmia::{Bernoulli, Rows};
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

fn main() {
    let full = std::env::args().any(|a| a == "--bench");
    let chosen: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let dims: &[usize] = if full { &[11, 100, 300, 1000] } else { &[11, 60] };
    speed(if chosen.is_empty() { dims } else { &chosen }, full);
}
