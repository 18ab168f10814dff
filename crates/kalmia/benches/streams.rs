//! Rows per second of the default learner on ordinary and odd streams, from the first row on,
//! relative to balanced labels in the same run.
//!
//! `cargo bench -p kalmia --bench streams` prints the table of docs/benchmarks.md. As a test
//! (`cargo test --benches`) each stream runs once, short.

use kalmia::{
    AnyFamily, Auto, Bernoulli, Binomial, Gamma, Gaussian, Learner, NegativeBinomial, Poisson,
    Quantile, Rows, Student,
};
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Instant;

/// Features, the first one constant.
const DIM: usize = 11;
/// Rows per call.
const BATCH: usize = 1000;

/// A stream: a family, and how its targets follow from the signal, a number of spread 1.
struct Stream {
    name: &'static str,
    family: AnyFamily,
    target: fn(f64, &mut Xoshiro256PlusPlus) -> f64,
}

/// A draw from a family whose linear predictor is `u`.
fn draw(family: impl kalmia::Family, u: f64, rng: &mut Xoshiro256PlusPlus) -> f64 {
    family.sample(u, rng)
}

fn normal<R: Rng>(rng: &mut R) -> f64 {
    rng.sample(StandardNormal)
}

fn gamma(dispersion: f64) -> Gamma {
    Gamma::new(dispersion).expect("a legal dispersion")
}

fn ten() -> Binomial {
    Binomial::new(10).expect("legal trials")
}

/// The streams; the first is the one that others are compared with.
fn streams() -> Vec<Stream> {
    let stream = |name, family, target| Stream { name, family, target };
    let label = AnyFamily::from(Bernoulli);
    let number = AnyFamily::from(Gaussian::default());
    let count = AnyFamily::from(Poisson);
    let amount = AnyFamily::from(Gamma::default());
    let visits = AnyFamily::from(NegativeBinomial::default());
    let level = AnyFamily::from(Quantile::new(0.9).expect("a legal level"));
    let robust = AnyFamily::from(Student::default());
    vec![
        stream("labels, balanced", label, |u, rng| draw(Bernoulli, u, rng)),
        stream("labels, 1 %", label, |u, rng| draw(Bernoulli, u - 5.0, rng)),
        stream("labels, 0.1 %", label, |u, rng| draw(Bernoulli, u - 7.4, rng)),
        stream("labels, separable", label, |u, _| f64::from(u > 0.0)),
        stream("labels, constant", label, |_, _| 0.0),
        stream("numbers, normal", number, |u, rng| u + normal(rng)),
        stream("numbers, exact fit", number, |u, _| u),
        stream("numbers, constant", number, |_, _| 3.0),
        stream("counts, mean 1", count, |u, rng| draw(Poisson, 0.5 * u, rng)),
        stream("counts, mean 0.01", count, |u, rng| draw(Poisson, 0.5 * u - 4.6, rng)),
        stream("counts, mean 1e6", count, |u, rng| draw(Poisson, 0.5 * u + 13.8, rng)),
        stream("counts, all zero", count, |_, _| 0.0),
        stream("counts, overdispersed", count, |u, rng| {
            let level = draw(gamma(3.0), 0.5 * u + 1.0, rng);
            draw(Poisson, level.max(1e-100).ln(), rng)
        }),
        stream("visits, mean 1", visits, |u, rng| draw(NegativeBinomial::default(), 0.5 * u, rng)),
        stream("visits, mean 1e6", visits, |u, rng| {
            draw(NegativeBinomial::default(), 0.5 * u + 13.8, rng)
        }),
        stream("visits, all zero", visits, |_, _| 0.0),
        stream("visits, constant", visits, |_, _| 3.0),
        stream("quantile 0.9, normal", level, |u, rng| u + normal(rng)),
        stream("quantile 0.9, exact fit", level, |u, _| u),
        stream("quantile 0.9, constant", level, |_, _| 3.0),
        stream("Student, normal", robust, |u, rng| u + normal(rng)),
        stream("Student, exact fit", robust, |u, _| u),
        stream("Student, constant", robust, |_, _| 3.0),
        stream("amounts, shape 2", amount, |u, rng| draw(gamma(0.5), u, rng).max(1e-100)),
        stream("amounts near 1e9", amount, |u, rng| draw(gamma(0.5), u + 20.7, rng).max(1e-100)),
        stream("successes of 10", AnyFamily::from(ten()), |u, rng| draw(ten(), u, rng)),
    ]
}

/// Features in `[-1, 1]` and the targets of a stream.
fn rows(stream: &Stream, n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut x = Vec::with_capacity(n * DIM);
    let mut y = Vec::with_capacity(n);
    for _ in 0..n {
        let row = x.len();
        x.push(1.0);
        x.extend((1..DIM).map(|_| rng.random_range(-1.0..1.0)));
        let signal = x[row + 1] - x[row + 2] + 0.8 * x[row + 3] - 0.6 * x[row + 4];
        y.push((stream.target)(signal, &mut rng));
    }
    (x, y)
}

/// Seconds of one pass over the stream from the first row on.
fn seconds(stream: &Stream, x: &[f64], y: &[f64]) -> (f64, usize) {
    let built = Auto::builder(stream.family, DIM).intercept().threads(1).build();
    let mut auto = built.expect("a legal learner");
    let start = Instant::now();
    for (x, y) in x.chunks(BATCH * DIM).zip(y.chunks(BATCH)) {
        auto.learn(Rows::new(DIM, x, y).expect("lengths")).expect("legal rows");
    }
    (start.elapsed().as_secs_f64(), auto.weights().len())
}

fn main() {
    let full = std::env::args().any(|a| a == "--bench");
    let chosen: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let n = if full { 200_000 } else { 400 };
    let rounds = if full { 5 } else { 1 };
    let streams = streams();
    let data: Vec<_> = streams.iter().map(|stream| rows(stream, n)).collect();
    let mut best = vec![(f64::INFINITY, 0); streams.len()];
    // in turns, so that noise on the machine affects all of them
    for _ in 0..rounds {
        for ((stream, (x, y)), best) in streams.iter().zip(&data).zip(&mut best) {
            let wanted = chosen.is_empty() || chosen.iter().any(|name| stream.name.contains(name));
            if wanted {
                let (seconds, members) = seconds(stream, x, y);
                *best = (best.0.min(seconds), members);
            }
        }
    }
    println!("| d = {DIM}, {n} rows from the first on | rows per second | ratio | members left |");
    println!("|---|---:|---:|---:|");
    for (stream, (seconds, members)) in streams.iter().zip(&best).filter(|row| row.1.1 > 0) {
        println!(
            "| {} | {:.0} k | {:.2} | {members} |",
            stream.name,
            n as f64 / seconds / 1e3,
            best[0].0 / seconds
        );
    }
}
