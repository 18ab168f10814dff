//! Speed of predictions as a multiple of the speed of learning, measured in the same run: with
//! intervals, without, and the means alone. `cargo bench -p kalmia --bench predict`; as a test each
//! measurement runs once.

use kalmia::learner::DriftMode;
use kalmia::{AnyFamily, Auto, Family, Inputs, Learner, Predict, Rows};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rows of the constant and uniform features, five of which matter.
fn rows(family: AnyFamily, dim: usize, n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let x: Vec<f64> = (0..dim * n)
        .map(|i| if i % dim == 0 { 1.0 } else { rng.random_range(-0.5..0.5) })
        .collect();
    let signal = |row: &[f64]| row.iter().take(6).sum::<f64>();
    let y = x.chunks(dim).map(|row| family.sample(signal(row), &mut rng)).collect();
    (x, y)
}

/// Best rows per second of a run over `n` rows, on what `prepare` makes for it.
fn best<T>(n: usize, limit: Duration, prepare: impl Fn() -> T, mut run: impl FnMut(T)) -> f64 {
    let mut best = 0.0_f64;
    let start = Instant::now();
    loop {
        let state = prepare();
        let turn = Instant::now();
        run(state);
        best = best.max(n as f64 / turn.elapsed().as_secs_f64());
        if start.elapsed() >= limit {
            return best;
        }
    }
}

/// One line of the table.
fn measure(name: &str, drift: DriftMode, dim: usize, n: usize, learned: usize, limit: Duration) {
    let family: AnyFamily = name.parse().expect("a family");
    let (x, y) = rows(family, dim, learned, 1);
    let mut auto = Auto::builder(family, dim).intercept().drift(drift).build().expect("legal");
    auto.learn(Rows::new(dim, &x, &y).expect("lengths")).expect("legal rows");
    let members = auto.weights().len();
    let (x, y) = rows(family, dim, n, 2);
    let batch = Rows::new(dim, &x, &y).expect("lengths");
    let inputs = Inputs::new(dim, &x).expect("lengths");
    // each time a new copy learns, so that it has as many members as the model that predicts
    let copy = || auto.clone();
    let learning = best(n, limit, copy, |mut copy| copy.learn(batch).expect("legal rows"));
    let nothing = || ();
    let of_mean = family.bounded_gradient();
    let with = best(n, limit, nothing, |()| {
        auto.predict_many(inputs, &mut |_, prediction| {
            let interval = if of_mean {
                prediction.mean_interval(0.95)?
            } else {
                prediction.interval(0.95)?
            };
            black_box(interval);
            Ok(())
        })
        .expect("legal rows");
    });
    let without = best(n, limit, nothing, |()| {
        let mut take = |_: usize, prediction: &_| {
            black_box(prediction);
            Ok(())
        };
        auto.predict_many(inputs, &mut take).expect("legal rows");
    });
    let mut means = vec![0.0; n];
    let alone = best(n, limit, nothing, |()| {
        auto.predict_means(inputs, &mut means).expect("legal rows");
    });
    println!(
        "| {name}{} | {dim} | {members} | {:.0} k | {:.2} | {:.2} | {:.2} |",
        if drift == DriftMode::Off { "" } else { ", drift followed" },
        learning / 1e3,
        with / learning,
        without / learning,
        alone / learning,
    );
}

fn main() {
    let full = std::env::args().any(|a| a == "--bench");
    let limit = Duration::from_millis(if full { 700 } else { 0 });
    println!(
        "| family | d | members | rows learned per second | with interval | without | mean alone |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let rows = if full { 2048 } else { 16 };
    for name in ["gaussian", "bernoulli", "binomial:9", "poisson", "gamma:0.5"] {
        for learned in if full { &[1000, 30_000][..] } else { &[100][..] } {
            measure(name, DriftMode::Off, 11, rows, *learned, limit);
        }
    }
    for (dim, learned) in if full { &[(300, 3000), (1000, 3000)][..] } else { &[(40, 50)][..] } {
        for name in ["gaussian", "bernoulli"] {
            measure(name, DriftMode::Off, *dim, rows / 2, *learned, limit);
        }
        measure("gaussian", DriftMode::Adapt, *dim, rows / 8, 2 * learned, limit);
    }
}
