//! Rows per second of the recursion, compared with a textbook loop and with the machine's
//! matrix-product peak in the same run.
//!
//! `cargo bench -p kalmia --bench throughput` prints the table of docs/benchmarks.md; as a test
//! (`cargo test --benches`) it runs once, small. `KALMIA_SIMD=avx2` in the environment limits all
//! kernels, the matrix product included, to what a machine without AVX-512 has.

#[path = "../tests/textbook/mod.rs"]
mod textbook;

use kalmia::covariance::Covariance;
use kalmia::rule::Step;
use kalmia::{
    Auto, Bernoulli, Dense, Ekf, Factored, Filter, Learner, MomentMatch, Prior, Rows, Rule,
};
use std::hint::black_box;
use std::time::{Duration, Instant};
use textbook::{Predictor, Textbook};

/// Rows and labels in the shape of the paper's experiment, from a small congruential generator.
fn rows(dim: usize, n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut state = seed;
    let mut uniform = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let x: Vec<f64> =
        (0..dim * n).map(|i| if i % dim == 0 { 1.0 } else { uniform() - 0.5 }).collect();
    let signal = |row: &[f64]| row.iter().take(6).skip(1).map(|x| 3.0 * x).sum::<f64>();
    let y = x
        .chunks(dim)
        .map(|row| f64::from(uniform() < 1.0 / (1.0 + (-signal(row)).exp())))
        .collect();
    (x, y)
}

/// A method that learns the same rows again and again.
trait Contender {
    fn name(&self) -> String;
    fn run(&mut self, dim: usize, x: &[f64], y: &[f64]);

    /// Number of filters that a mixture still has.
    fn filters(&self) -> Option<usize> {
        None
    }
}

/// The logistic filter, by the book.
impl Contender for Textbook {
    fn name(&self) -> String {
        "textbook".into()
    }

    fn run(&mut self, dim: usize, x: &[f64], y: &[f64]) {
        for (x, &y) in x.chunks_exact(dim).zip(y) {
            self.learn(x, |Predictor { m, s }| {
                let mean = 1.0 / (1.0 + (-m).exp());
                Step::against(mean - y, mean * (1.0 - mean), s)
            });
        }
    }
}

fn textbook(dim: usize) -> Textbook {
    let mut p = vec![0.0; dim * dim];
    (0..dim).for_each(|j| p[j * dim + j] = 1.0);
    Textbook::new(vec![0.0; dim], p)
}

/// A learner of the library, fed in batches.
struct Fed<L> {
    name: &'static str,
    learner: L,
    batch: usize,
}

impl<L: Learner> Contender for Fed<L> {
    fn name(&self) -> String {
        self.name.into()
    }

    fn run(&mut self, dim: usize, x: &[f64], y: &[f64]) {
        for (x, y) in x.chunks(self.batch * dim).zip(y.chunks(self.batch)) {
            self.learner.learn(Rows::new(dim, x, y).expect("lengths")).expect("legal rows");
        }
    }
}

/// The default learner after enough rows to drop its weak members.
struct Mixture(Auto<Bernoulli>);

impl Mixture {
    fn new(dim: usize, warm_up: usize) -> Self {
        let mut auto = Auto::builder(Bernoulli, dim).threads(1).build().expect("legal");
        let (x, y) = rows(dim, warm_up, 8);
        auto.learn(Rows::new(dim, &x, &y).expect("lengths")).expect("legal rows");
        Self(auto)
    }
}

impl Contender for Mixture {
    fn name(&self) -> String {
        "auto".into()
    }

    fn filters(&self) -> Option<usize> {
        Some(self.0.weights().len())
    }

    fn run(&mut self, dim: usize, x: &[f64], y: &[f64]) {
        self.0.learn(Rows::new(dim, x, y).expect("lengths")).expect("legal rows");
    }
}

fn filter<R: Rule, C: Covariance>(rule: R, dim: usize, threads: usize) -> Filter<Bernoulli, R, C> {
    Filter::with_covariance(Bernoulli, rule, Prior::isotropic(dim, 1.0).expect("positive"))
        .expect("legal")
        .with_threads(threads)
}

/// Best rows per second of each contender. They run in short turns: noise on the machine then
/// affects all of them, and each finds a quiet moment.
fn measure(
    contenders: &mut [Box<dyn Contender>],
    dim: usize,
    x: &[f64],
    y: &[f64],
    limit: Duration,
) -> Vec<f64> {
    let mut best = vec![0.0_f64; contenders.len()];
    let start = Instant::now();
    for round in 0.. {
        for (contender, best) in contenders.iter_mut().zip(&mut best) {
            // the second run of a turn finds its numbers in the cache, as in a stream of rows
            for _ in 0..2 {
                let start = Instant::now();
                contender.run(dim, x, y);
                *best = best.max(y.len() as f64 / start.elapsed().as_secs_f64());
            }
        }
        if round >= 2 && start.elapsed() > limit || limit.is_zero() {
            break;
        }
    }
    best
}

/// Operations per second of a square product, one core.
fn peak(limit: Duration) -> f64 {
    // a product of less than a millisecond finds a quiet moment on a busy machine
    let n = 256;
    let a = vec![1.0; n * n];
    let b = vec![1.0; n * n];
    let mut c = vec![0.0; n * n];
    let mut seconds = f64::INFINITY;
    let begin = Instant::now();
    while seconds.is_infinite() || begin.elapsed() < limit {
        let start = Instant::now();
        kalmia::internals::square_product(n, &a, &b, black_box(&mut c));
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    2.0 * (n as f64).powi(3) / seconds
}

fn main() {
    let full = std::env::args().any(|a| a == "--bench");
    let chosen: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let dims: &[usize] = if full { &[11, 28, 100, 300, 1000, 2000] } else { &[11, 300] };
    let dims = if chosen.is_empty() { dims } else { &chosen };
    let limit = Duration::from_secs(if full { 8 } else { 0 });
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let peak = peak(limit / 4);
    println!("matrix-product peak on one core: {:.1} GFlop/s", peak / 1e9);
    let mut lines: Vec<(String, Vec<f64>)> = Vec::new();
    let mut filters = Vec::new();
    for &dim in dims {
        // turns of about a millisecond, but whole blocks
        let n = match dim {
            _ if !full => 40,
            640.. => 384,
            _ => (2_000_000 / (dim * dim)).clamp(96, 4096),
        };
        let (x, y) = rows(dim, n, 7);
        let mut contenders: Vec<Box<dyn Contender>> = vec![
            Box::new(textbook(dim)),
            Box::new(Fed {
                name: "dense, one row per call",
                learner: filter::<_, Dense>(Ekf, dim, 1),
                batch: 1,
            }),
            Box::new(Fed { name: "dense", learner: filter::<_, Dense>(Ekf, dim, 1), batch: n }),
            Box::new(Fed {
                name: "dense, all cores",
                learner: filter::<_, Dense>(Ekf, dim, cores),
                batch: n,
            }),
            Box::new(Fed {
                name: "factored, one row per call",
                learner: filter::<_, Factored>(Ekf, dim, 1),
                batch: 1,
            }),
            Box::new(Fed {
                name: "factored",
                learner: filter::<_, Factored>(Ekf, dim, 1),
                batch: n,
            }),
            Box::new(Fed {
                name: "factored, all cores",
                learner: filter::<_, Factored>(Ekf, dim, cores),
                batch: n,
            }),
            Box::new(Fed {
                name: "moment matching",
                learner: filter::<_, Factored>(MomentMatch, dim, 1),
                batch: n,
            }),
            Box::new(Mixture::new(
                dim,
                if full { (1_500_000_000 / (dim * dim)).clamp(3000, 200_000) } else { n },
            )),
        ];
        let rates = measure(&mut contenders, dim, &x, &y, limit);
        lines.resize_with(contenders.len(), Default::default);
        for ((contender, rate), line) in contenders.iter().zip(&rates).zip(&mut lines) {
            line.0 = contender.name();
            line.1.push(*rate);
        }
        filters.push(contenders.iter().find_map(|contender| contender.filters()).unwrap_or(0));
    }
    print(dims, &lines, peak);
    println!("\nauto had {filters:?} filters left");
}

/// Prints rows per second with the ratio to the textbook, and the share of the matrix-product peak,
/// counting 3 flops per entry of `P` per row.
fn print(dims: &[usize], lines: &[(String, Vec<f64>)], peak: f64) {
    let row = |name: &str, cells: Vec<String>| println!("| {name} | {} |", cells.join(" | "));
    row("rows per second, d =", dims.iter().map(usize::to_string).collect());
    println!("|---|{}", "---:|".repeat(dims.len()));
    let books = &lines[0].1;
    for (name, rates) in lines {
        row(
            name,
            rates
                .iter()
                .zip(books)
                .map(|(rate, book)| format!("{} (x {:.1})", short(*rate), rate / book))
                .collect(),
        );
    }
    for (name, rates) in
        lines.iter().filter(|line| ["dense", "factored"].contains(&line.0.as_str()))
    {
        let share = |(rate, dim): (&f64, &usize)| {
            format!("{:.0} %", 300.0 * (dim * dim) as f64 * rate / peak)
        };
        row(&format!("{name}, of the product's peak"), rates.iter().zip(dims).map(share).collect());
    }
}

fn short(rate: f64) -> String {
    match rate {
        1e6.. => format!("{:.1} M", rate / 1e6),
        1e4.. => format!("{:.0} k", rate / 1e3),
        1e3.. => format!("{:.1} k", rate / 1e3),
        _ => format!("{rate:.0}"),
    }
}
