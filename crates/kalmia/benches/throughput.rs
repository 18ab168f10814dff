//! Rows per second of the recursion, beside a textbook loop and the machine's matrix-product peak, all in one run.
//!
//! `cargo bench --bench throughput` prints the table of the README; as a test (`cargo test --benches`) it runs once, small.

use kalmia::linalg::{Buffer, Threads};
use kalmia::{Bernoulli, Covariance, Dense, Ekf, Factored, Observation, Rule};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rows and labels in the shape of the paper's experiment, from a small congruential generator.
fn rows(dim: usize, n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut state = 7u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let x: Vec<f64> = (0..dim * n).map(|i| if i % dim == 0 { 1.0 } else { uniform() - 0.5 }).collect();
    let y = (0..n).map(|_| f64::from(uniform() < 0.4)).collect();
    (x, y)
}

/// The recursion as a textbook writes it: dense `P`, one pass for `Px`, one for the update, plain iterators.
fn textbook(dim: usize, x: &[f64], y: &[f64], theta: &mut [f64], p: &mut [f64], v: &mut [f64]) {
    for (x, &y) in x.chunks_exact(dim).zip(y) {
        for (v, row) in v.iter_mut().zip(p.chunks_exact(dim)) {
            *v = row.iter().zip(x).map(|(p, x)| p * x).sum();
        }
        let s: f64 = v.iter().zip(x).map(|(v, x)| v * x).sum();
        let m: f64 = theta.iter().zip(x).map(|(t, x)| t * x).sum();
        let mean = 1.0 / (1.0 + (-m).exp());
        let alpha = mean * (1.0 - mean);
        let gain = (y - mean) / (1.0 + alpha * s);
        let c = alpha / (1.0 + alpha * s);
        for (t, v) in theta.iter_mut().zip(&*v) {
            *t += gain * v;
        }
        for (row, &vi) in p.chunks_exact_mut(dim).zip(&*v) {
            for (p, &vj) in row.iter_mut().zip(&*v) {
                *p -= c * vi * vj;
            }
        }
    }
}

fn filter<C: Covariance>(form: &mut C, theta: &mut Buffer, dim: usize, x: &[f64], y: &[f64], batch: usize, threads: Threads) {
    let mut t = 0u64;
    for (x, y) in x.chunks(batch * dim).zip(y.chunks(batch)) {
        let decide = |i: usize, m: f64, s: f64| {
            t += 1;
            Ok(Ekf.step(&Bernoulli, &Observation::new(y[i]), m, s, t))
        };
        form.learn(theta, x, decide, threads).expect("legal rows");
    }
}

/// Best rows per second over a few repetitions within the time allowed.
fn best(n: usize, limit: Duration, mut run: impl FnMut()) -> f64 {
    run();
    let start = Instant::now();
    let mut rate = 0.0_f64;
    while start.elapsed() < limit || rate == 0.0 {
        let now = Instant::now();
        run();
        rate = rate.max(n as f64 / now.elapsed().as_secs_f64());
    }
    rate
}

/// Operations per second of a square product of the size of the problem, one core.
fn peak(limit: Duration, dim: usize) -> f64 {
    let n = dim.clamp(512, 1024);
    let (a, b, mut c) = (vec![1.0; n * n], vec![1.0; n * n], vec![0.0; n * n]);
    2.0 * (n as f64).powi(3) * best(1, limit, || kalmia::linalg::square_product(n, &a, &b, black_box(&mut c)))
}

fn main() {
    let full = std::env::args().any(|a| a == "--bench");
    let chosen: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let (dims, limit): (&[usize], _) =
        if full { (&[11, 28, 100, 300, 1000, 2000], Duration::from_millis(1500)) } else { (&[11, 300], Duration::ZERO) };
    let dims = if chosen.is_empty() { dims } else { &chosen };
    let peak = peak(limit, 1024);
    println!("matrix-product peak, one core: {:.1} GFlop/s", peak / 1e9);
    println!("rows per second (x textbook, % of peak at 3 d^2 operations a row)");
    println!(
        "{:>6} {:>12} {:>28} {:>28} {:>28} {:>28} {:>28}",
        "d", "textbook", "dense, row by row", "dense", "factored, row by row", "factored", "factored, two cores"
    );
    for &dim in dims {
        let n = if full { (400_000_000 / (dim * dim)).clamp(512, 200_000) } else { 40 };
        let (x, y) = rows(dim, n);
        let prior = vec![1.0; dim];
        let mut theta = vec![0.0; dim];
        let mut p = vec![0.0; dim * dim];
        (0..dim).for_each(|j| p[j * dim + j] = 1.0);
        let mut v = vec![0.0; dim];
        let base = best(n, limit, || textbook(dim, &x, &y, &mut theta, &mut p, &mut v));
        let show = |rate: f64| {
            let share = 3.0 * (dim * dim) as f64 * rate / peak;
            format!("{:>10.0} ({:>5.1}x, {:>3.0} %)", rate, rate / base, 100.0 * share)
        };
        fn run<C: Covariance>(prior: &[f64], x: &[f64], y: &[f64], batch: usize, threads: usize, limit: Duration) -> f64 {
            let dim = prior.len();
            let mut form = C::from_diagonal(prior).expect("positive");
            let mut theta = Buffer::zeros(dim);
            best(y.len(), limit, || filter(&mut form, &mut theta, dim, x, y, batch, Threads(threads)))
        }
        println!(
            "{:>6} {:>12.0} {:>28} {:>28} {:>28} {:>28} {:>28}",
            dim,
            base,
            show(run::<Dense>(&prior, &x, &y, 15, 1, limit)),
            show(run::<Dense>(&prior, &x, &y, n, 1, limit)),
            show(run::<Factored>(&prior, &x, &y, 15, 1, limit)),
            show(run::<Factored>(&prior, &x, &y, n, 1, limit)),
            show(run::<Factored>(&prior, &x, &y, n, 2, limit)),
        );
    }
}
