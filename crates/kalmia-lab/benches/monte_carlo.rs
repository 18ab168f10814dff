//! Speed of the Monte Carlo kernel against the library's learners, on the same replicates.
//!
//! Both sides learn rows that were drawn before, so only learning is timed: the kernel eight
//! replicates side by side, the library one replicate after the other. Every block of rows counts
//! with its best time over the rounds, because other work on the machine only adds time.
//! `cargo bench -p kalmia-lab`; without `--bench` (as `cargo test` runs it) only a few rows.

use kalmia::{Averaged, Bernoulli, Dense, Ekf, Filter, Gaussian, Learner, Prior, Rows, Truncated};
use kalmia_lab::kernel::{Filter as Lanes, Rule};
use kalmia_lab::lanes::LANES;
use kalmia_lab::random::Streams;
use kalmia_lab::world::{Block, D, World};
use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Rows between two calls, as in the experiments of the library's learners.
const BLOCK: usize = 1000;

fn main() {
    let full = std::env::args().any(|a| a == "--bench");
    let blocks = if full { 100 } else { 1 };
    let rounds = if full { 5 } else { 1 };
    let bench = Bench { blocks, rounds };
    bench.drawing();
    bench.filters();
}

struct Bench {
    blocks: usize,
    rounds: usize,
}

impl Bench {
    fn rows(&self) -> usize {
        self.blocks * BLOCK
    }

    fn drawing(&self) {
        let mut block = Block::new(BLOCK);
        let mut streams = World::Weak.streams(1, 0);
        let mut best = Duration::MAX;
        for _ in 0..self.blocks {
            let start = Instant::now();
            block.fill(World::Weak, &mut streams);
            best = best.min(start.elapsed());
            black_box(&block);
        }
        let rate = self.rate(best * self.blocks as u32);
        println!("{:<34} {rate:>8.2} M rows/s", "drawing the rows");
    }

    fn filters(&self) {
        let prior = || Prior::isotropic(D, 1.0).unwrap();
        let ekf = || Lanes::new(Rule::Ekf, 1.0);
        let factored =
            || -> Filter<_, _> { Filter::with_covariance(Bernoulli, Ekf, prior()).unwrap() };
        let dense =
            || -> Filter<_, _, Dense> { Filter::with_covariance(Bernoulli, Ekf, prior()).unwrap() };
        self.compare("EKF, factored", World::Weak, ekf, factored, Lanes::learn);
        self.compare("EKF, dense", World::Weak, ekf, dense, Lanes::learn);
        let averaged = || Averaged::new(dense());
        self.compare("EKF and its average, dense", World::Weak, ekf, averaged, Lanes::learn);
        let truncated = || Lanes::new(Rule::Truncated { scale: 1.0, beta: 0.49 }, 1.0);
        let dense = || -> Filter<_, _, Dense> {
            Filter::with_covariance(Bernoulli, Truncated::paper(), prior()).unwrap()
        };
        self.compare("truncated EKF, dense", World::Weak, truncated, dense, Lanes::learn);
        let kalman = || Lanes::new(Rule::Kalman, 1.0);
        let family = || Gaussian::new(1.0).unwrap();
        let dense =
            || -> Filter<_, _, Dense> { Filter::with_covariance(family(), Ekf, prior()).unwrap() };
        self.compare("Kalman filter, dense", World::Quadratic, kalman, dense, Lanes::learn);
    }

    /// Prints rows of single replicates per second on both sides. That both sides end at the same
    /// coefficients is checked in `tests/library.rs`.
    fn compare<K, L: Learner>(
        &self,
        name: &str,
        world: World,
        kernel: impl Fn() -> K,
        learner: impl Fn() -> L,
        learn: impl Fn(&mut K, &Block, Range<usize>),
    ) {
        let mut lanes = vec![Duration::MAX; self.blocks];
        let mut library = vec![Duration::MAX; self.blocks];
        for _ in 0..self.rounds {
            let mut kernel = kernel();
            let mut learners: Vec<L> = (0..LANES).map(|_| learner()).collect();
            let mut source = Source::new(world);
            for (lanes, library) in lanes.iter_mut().zip(&mut library) {
                source.draw();
                let start = Instant::now();
                learn(&mut kernel, &source.block, 0..BLOCK);
                *lanes = start.elapsed().min(*lanes);
                let start = Instant::now();
                for (learner, replicate) in learners.iter_mut().zip(&source.replicates) {
                    let rows = Rows::new(D, &replicate.x, &replicate.y).unwrap();
                    learner.learn(rows).unwrap();
                }
                *library = start.elapsed().min(*library);
            }
            black_box((&kernel, learners.iter().map(|l| l.coefficients()[0]).sum::<f64>()));
        }
        let lanes = self.rate(lanes.iter().sum());
        let library = self.rate(library.iter().sum());
        println!(
            "{name:<34} {lanes:>8.2} M rows/s in lanes, {library:>7.2} by the library: {:>5.2} \
             times",
            lanes / library
        );
    }

    /// Million rows of single replicates per second.
    fn rate(&self, time: Duration) -> f64 {
        (self.rows() * LANES) as f64 / time.as_secs_f64() / 1e6
    }
}

/// One replicate's rows as the library takes them.
#[derive(Default)]
struct Replicate {
    x: Vec<f64>,
    y: Vec<f64>,
}

/// A block of rows in both layouts.
struct Source {
    world: World,
    streams: Streams,
    block: Block,
    replicates: Vec<Replicate>,
}

impl Source {
    fn new(world: World) -> Self {
        let replicates = (0..LANES).map(|_| Replicate::default()).collect();
        Self { world, streams: world.streams(1, 0), block: Block::new(BLOCK), replicates }
    }

    fn draw(&mut self) {
        self.block.fill(self.world, &mut self.streams);
        for (lane, replicate) in self.replicates.iter_mut().enumerate() {
            replicate.x.clear();
            replicate.x.extend(self.block.x.iter().flatten().map(|v| v.0[lane]));
            replicate.y.clear();
            replicate.y.extend(self.block.y.iter().map(|y| y.0[lane]));
        }
    }
}
