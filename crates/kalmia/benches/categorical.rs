//! Time of the learner of several classes, against as many learners of one label each: per row and
//! member against filters, and for whole streams against the default learner.
//!
//! `cargo bench -p kalmia --bench categorical` prints two tables. As a test (`cargo test
//! --benches`) each case runs once, short.

use kalmia::{Auto, Bernoulli, Categorical, Filter, Learner, MomentMatch, Prior, Rows};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Entries of matrices per pass, about.
const WORK: usize = 1_000_000_000;
/// Passes that are measured: a call of many classes and features takes so long that it is seldom
/// undisturbed.
const PASSES: usize = 2;
/// Rows per review: members are dropped at its multiples only.
const REVIEW: usize = 256;

/// Rows per call: short enough that a call of many features is seldom interrupted.
fn batch_rows(dim: usize) -> usize {
    if dim < 100 { REVIEW } else { 32 }
}

/// Seconds that this thread has run. Other programs on the machine do not count.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn seconds() -> f64 {
    const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    }
    let mut time = [0; 2];
    // SAFETY: the C library that the standard library links; it writes two 64-bit numbers.
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time[0] as f64 + 1e-9 * time[1] as f64
}

/// Seconds since some point in time.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn seconds() -> f64 {
    use std::sync::LazyLock;
    use std::time::Instant;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_secs_f64()
}

/// Rows whose class follows the features, with noise.
struct Data {
    dim: usize,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Data {
    fn new(classes: usize, dim: usize, rows: usize) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut data = Self { dim, x: Vec::new(), y: Vec::new() };
        for _ in 0..rows {
            let x: Vec<f64> = (0..dim).map(|_| rng.random_range(-1.0..1.0)).collect();
            let largest = (0..classes)
                .max_by(|&a, &b| x[a % dim].total_cmp(&x[b % dim]))
                .expect("there are classes");
            let noise = rng.random::<f64>() < 0.3;
            data.y.push(if noise { rng.random_range(0..classes) } else { largest } as f64);
            data.x.extend(x);
        }
        data
    }

    /// The rows with other labels.
    fn rows<'a>(&'a self, y: &'a [f64]) -> Rows<'a> {
        Rows::new(self.dim, &self.x, y).expect("lengths")
    }

    /// Nanoseconds per row of the fastest batch of [`PASSES`] passes over the rows with the labels
    /// `y`, after one that is not measured, in which most members leave: other programs on the
    /// machine can only add to it. `learn` returns the members at work.
    fn time(&self, y: &[f64], mut learn: impl FnMut(Rows<'_>) -> usize) -> f64 {
        self.pass(y, &mut learn);
        (0..PASSES).map(|_| self.pass(y, &mut learn)).fold(f64::INFINITY, f64::min)
    }

    /// Nanoseconds per row of the fastest batch of one pass.
    fn pass(&self, y: &[f64], learn: &mut impl FnMut(Rows<'_>) -> usize) -> f64 {
        let rows = self.rows(y);
        let mut fastest = f64::INFINITY;
        let size = batch_rows(self.dim);
        for first in (0..y.len()).step_by(size) {
            let batch = rows.slice(first..y.len().min(first + size));
            let start = seconds();
            let members = learn(batch);
            let each = (seconds() - start) / (members * batch.len()) as f64;
            fastest = fastest.min(1e9 * each);
        }
        fastest
    }
}

fn main() {
    let full = std::env::args().any(|a| a == "--bench");
    per_member(full);
    whole_streams(full);
}

/// Times per row of one member, when all are at work that will be.
fn per_member(full: bool) {
    let (classes, dims): (&[usize], &[usize]) =
        if full { (&[3, 10, 30], &[5, 16, 64, 200, 500]) } else { (&[3], &[5, 64]) };
    println!(
        "| classes | features | ns per row and member | ns in K filters, one after the other | \
         ratio | ns in K filters, batch by batch | ratio |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|");
    for &classes in classes {
        for &dim in dims {
            let most = if full { 40_000 } else { 512 };
            let rows =
                (WORK / (classes * dim * dim)).clamp(1024, 40_000).min(most) / REVIEW * REVIEW;
            let data = Data::new(classes, dim, rows);
            let mut learner = Categorical::builder(classes, dim).build().expect("legal");
            let own = data.time(&data.y, |rows| {
                let members = learner.weights().len();
                learner.learn(rows).expect("legal rows");
                members
            });
            let alone = filters_alone(&data, classes);
            let in_turn = filters_in_turn(&data, classes);
            println!(
                "| {classes} | {dim} | {own:.0} | {alone:.0} | {:.2} | {in_turn:.0} | {:.2} |",
                own / alone,
                own / in_turn
            );
        }
    }
}

fn label_filter(dim: usize) -> Filter<Bernoulli, MomentMatch> {
    let prior = Prior::isotropic(dim, 1.0).expect("legal");
    Filter::new(Bernoulli, MomentMatch, prior).expect("legal")
}

/// Nanoseconds per row of one filter per class. Each goes over all rows before the next, so its
/// matrix stays in the cache.
fn filters_alone(data: &Data, classes: usize) -> f64 {
    let time = |class: usize| {
        let mut filter = label_filter(data.dim);
        let y: Vec<f64> = data.y.iter().map(|&y| f64::from(y == class as f64)).collect();
        data.time(&y, |rows| {
            filter.learn(rows).expect("legal rows");
            1
        })
    };
    (0..classes).map(time).sum()
}

/// Nanoseconds per row of one filter per class. All learn a batch before the next one, as those of
/// a stream must.
fn filters_in_turn(data: &Data, classes: usize) -> f64 {
    let mut filters: Vec<_> = (0..classes).map(|_| label_filter(data.dim)).collect();
    let mut first = 0;
    let mut labels = Vec::new();
    data.time(&data.y, |rows| {
        let end = first + rows.len();
        let x = &data.x[first * data.dim..end * data.dim];
        for (class, filter) in filters.iter_mut().enumerate() {
            labels.clear();
            labels.extend(data.y[first..end].iter().map(|&y| f64::from(y == class as f64)));
            let rows = Rows::new(data.dim, x, &labels).expect("lengths");
            filter.learn(rows).expect("legal rows");
        }
        first = end % data.y.len();
        1
    })
}

/// Seconds from the first row to the last, with the warm-up, all members and the second looks.
fn whole_streams(full: bool) {
    println!("\n| classes | features | rows | seconds | seconds in K learners of labels | ratio |");
    println!("|--:|--:|--:|--:|--:|--:|");
    let all_rows: &[usize] = if full { &[1000, 4096, 40_000] } else { &[300] };
    for (classes, dim) in [(3, 5), (10, 16), (10, 64)] {
        for &rows in all_rows {
            let data = Data::new(classes, dim, rows);
            let mut learner = Categorical::builder(classes, dim).build().expect("legal");
            let start = seconds();
            learner.learn(data.rows(&data.y)).expect("legal rows");
            let own = seconds() - start;
            let mut labels = 0.0;
            for class in 0..classes {
                let y: Vec<f64> = data.y.iter().map(|&y| f64::from(y == class as f64)).collect();
                let mut auto = Auto::builder(Bernoulli, dim).build().expect("legal");
                let start = seconds();
                auto.learn(data.rows(&y)).expect("legal rows");
                labels += seconds() - start;
            }
            let ratio = own / labels;
            println!("| {classes} | {dim} | {rows} | {own:.3} | {labels:.3} | {ratio:.2} |");
        }
    }
}
