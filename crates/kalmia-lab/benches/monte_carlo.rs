//! Monte Carlo speed of the kernels, data generation included, against a plain scalar loop with the
//! same generator.
//!
//! `cargo bench -p kalmia-lab`; without `--bench` (as `cargo test` runs it) a few rows only.

use kalmia_lab::kernel::{Asgd, Filter, Ons, OnsConstants, Rule};
use kalmia_lab::lanes::LANES;
use kalmia_lab::random::replicate_state;
use kalmia_lab::world::{Block, D, World};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let full = std::env::args().any(|a| a == "--bench");
    let rows = if full { 1_000_000 } else { 200 };
    let plain = rate("plain scalar loop, EKF", rows, || black_box(plain_ekf(rows)));
    let lanes = rate("lanes, EKF", rows * LANES, || {
        black_box(run(rows, Filter::new(Rule::Ekf, 1.0), |k, b, r| k.learn(b, r)))
    });
    println!("{:<28} {:>8.1} times the plain loop", "", lanes / plain);
    let truncated = Filter::new(Rule::Truncated { scale: 1.0, beta: 0.49 }, 1.0);
    rate("lanes, truncated EKF", rows * LANES, || {
        black_box(run(rows, truncated.clone(), |k, b, r| k.learn(b, r)))
    });
    let ons = Ons::paper(OnsConstants::new(543f64.sqrt() / 10.0, 2.5e-2));
    rate("lanes, ONS", rows * LANES, || black_box(run(rows, ons.clone(), |k, b, r| k.learn(b, r))));
    let outside = Ons::new(OnsConstants::new(0.1, 2.5e-2), 1.0);
    rate("lanes, ONS, always projected", rows / 10 * LANES, || {
        black_box(run(rows / 10, outside.clone(), |k, b, r| k.learn(b, r)))
    });
    let asgd = Asgd::plain(&[rows as u64]);
    rate("lanes, ASGD of one horizon", rows * LANES, || {
        black_box(run(rows, asgd.clone(), |k, b, r| k.learn(b, r)))
    });
}

/// Prints and returns iterations per second, best of three.
fn rate<T>(name: &str, iterations: usize, mut work: impl FnMut() -> T) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let speed = iterations as f64 / best;
    println!("{name:<28} {:>8.2} M iterations/s on one core", speed / 1e6);
    speed
}

/// A kernel on fresh rows.
fn run<K>(rows: usize, mut kernel: K, learn: impl Fn(&mut K, &Block, std::ops::Range<usize>)) -> K {
    let mut streams = World::Weak.streams(1, 0);
    let mut block = Block::new(100);
    for _ in 0..rows.div_ceil(100) {
        block.fill(World::Weak, &mut streams);
        learn(&mut kernel, &block, 0..100);
    }
    kernel
}

/// One replicate by the textbook loop: full matrix, standard exponential, the same generator.
fn plain_ekf(rows: usize) -> [f64; D] {
    let bytes: Vec<u8> = replicate_state(1, 2, 0).iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut rng = Xoshiro256PlusPlus::from_seed(bytes.try_into().expect("32 bytes"));
    let mut uniform = move || (rng.next_u64() >> 12) as f64 / (1u64 << 52) as f64;
    let star = World::Weak.generator();
    let (mut theta, mut p) = ([0.0; D], [[0.0; D]; D]);
    (0..D).for_each(|i| p[i][i] = 1.0);
    for _ in 0..rows {
        let x: [f64; D] = std::array::from_fn(|j| if j == 0 { 1.0 } else { uniform() });
        let u_star: f64 = (0..D).map(|j| star[j] * x[j]).sum();
        let y = if uniform() < 1.0 / (1.0 + (-u_star).exp()) { 1.0 } else { -1.0 };
        let px: [f64; D] = std::array::from_fn(|i| (0..D).map(|j| p[i][j] * x[j]).sum());
        let m: f64 = (0..D).map(|j| theta[j] * x[j]).sum();
        let s: f64 = (0..D).map(|j| px[j] * x[j]).sum();
        let e = (-f64::abs(m)).exp();
        let alpha = e / (1.0 + e) / (1.0 + e);
        let residual = y / (1.0 + (y * m).exp());
        let scale = 1.0 + alpha * s;
        for i in 0..D {
            theta[i] += residual * px[i] / scale;
            for j in 0..D {
                p[i][j] -= alpha / scale * px[i] * px[j];
            }
        }
    }
    theta
}
