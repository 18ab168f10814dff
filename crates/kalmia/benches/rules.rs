//! Nanoseconds per step of each rule: `cargo bench -p kalmia --bench rules`. Without `--bench`, as
//! under `cargo test`, each case runs only a few times.

use kalmia::family::Bernoulli;
use kalmia::rows::Observation;
use kalmia::rule::{Ekf, Implicit, MomentMatch, Truncated};
use kalmia::{Family, Rule};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// $\ell = e^u - yu$; rules do not use the rest of the trait.
#[derive(Debug, Clone, Copy)]
struct Counts;

impl Family for Counts {
    fn name(&self) -> &str {
        "counts"
    }
    fn domain(&self) -> &str {
        "0, 1, 2, ..."
    }
    fn canonical(&self, y: f64) -> Option<f64> {
        (y >= 0.0 && y.fract() == 0.0).then_some(y)
    }
    #[inline(always)]
    fn loss(&self, y: f64, u: f64) -> f64 {
        u.exp() - y * u
    }
    #[inline(always)]
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        let e = u.exp();
        (e - y, e)
    }
    fn log_base(&self, _y: f64) -> f64 {
        0.0
    }
    fn mean(&self, u: f64) -> f64 {
        u.exp()
    }
    fn variance(&self, u: f64) -> f64 {
        u.exp()
    }
    fn quantile(&self, _u: f64, _q: f64) -> f64 {
        unreachable!("rules use the loss only")
    }
    fn cdf(&self, _u: f64, _y: f64) -> f64 {
        unreachable!("rules use the loss only")
    }
    fn sample<R: rand::Rng + ?Sized>(&self, _u: f64, _rng: &mut R) -> f64 {
        unreachable!("rules use the loss only")
    }
}

/// Linear predictors over the usual range of both families, in the mixed order of a stream.
fn predictors() -> Vec<f64> {
    (0..256).map(|i| -4.0 + 8.0 * ((i * 97 % 256) as f64) / 255.0).collect()
}

/// The fastest of several passes, in nanoseconds per step.
fn time<R: Rule, F: Family>(
    rule: &R,
    family: &F,
    targets: [f64; 2],
    s: f64,
    budget: Duration,
) -> f64 {
    let predictors = predictors();
    let mut best = f64::INFINITY;
    let start = Instant::now();
    loop {
        let pass = Instant::now();
        for (i, &m) in predictors.iter().enumerate() {
            let row = Observation::new(targets[i % 2]);
            black_box(rule.step(family, &black_box(row), black_box(m), black_box(s), 1000));
        }
        best = best.min(pass.elapsed().as_nanos() as f64 / predictors.len() as f64);
        if start.elapsed() >= budget {
            return best;
        }
    }
}

fn table<F: Family>(family: &F, targets: [f64; 2], budget: Duration) {
    println!(
        "{:<10} {:>9} {:>8} {:>10} {:>9} {:>8}",
        family.name(),
        "s",
        "ekf",
        "truncated",
        "implicit",
        "moment"
    );
    for s in [1e-3, 0.05, 1.0, 100.0, 1e4] {
        let cells = [
            time(&Ekf, family, targets, s, budget),
            time(&Truncated::paper(), family, targets, s, budget),
            time(&Implicit, family, targets, s, budget),
            time(&MomentMatch, family, targets, s, budget),
        ];
        println!(
            "{:<10} {s:>9} {:>8.1} {:>10.1} {:>9.1} {:>8.1}",
            "", cells[0], cells[1], cells[2], cells[3]
        );
    }
}

fn main() {
    let measure = std::env::args().any(|a| a == "--bench");
    let budget = if measure { Duration::from_millis(100) } else { Duration::ZERO };
    println!("nanoseconds per step, m over [-4, 4]");
    table(&Bernoulli, [0.0, 1.0], budget);
    table(&Counts, [0.0, 3.0], budget);
}
