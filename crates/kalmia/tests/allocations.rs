//! The hot path allocates nothing after its first call, by a count of every allocation of the
//! process.

#[path = "suite/common/mod.rs"]
#[allow(dead_code)] // this binary needs only some of it
mod common;

use common::{Data, rng};
use kalmia::covariance::Covariance;
use kalmia::learner::Drift;
use kalmia::rule::AnyRule;
use kalmia::sums::Sums;
use kalmia::{
    AnyFamily, Auto, Bernoulli, Categorical, CoreTail, Dense, DriftMode, Factored, Filter, Learner,
    Ordinal, Predict, Prior, Rows, SparseMatrix, SparseRows, Wide, WideCategorical,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system allocator unchanged; the counter is a plain cell of the
// thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread during `work`.
fn allocations(work: impl FnOnce()) -> usize {
    let before = COUNT.with(Cell::get);
    work();
    COUNT.with(Cell::get) - before
}

fn filter<C: Covariance>(family: &str, rule: &str, dim: usize) -> Filter<AnyFamily, AnyRule, C> {
    Filter::with_covariance(
        family.parse().unwrap(),
        rule.parse().unwrap(),
        Prior::isotropic(dim, 0.5).unwrap(),
    )
    .unwrap()
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![0.0; 3]))), 1);
}

fn row_by_row<C: Covariance>() {
    for family in
        ["bernoulli", "gaussian:2.5", "poisson", "negative-binomial", "quantile:0.9", "student"]
    {
        for rule in ["ekf", "truncated", "implicit", "moment"] {
            for dim in [11, 28, 100, 300] {
                let mut filter = filter::<C>(family, rule, dim);
                let data = Data::draw(&mut rng(1), &filter.family(), dim, 64);
                let rows = data.rows();
                filter.learn(rows.slice(0..2)).unwrap();
                for batch in [1, 7, 64, 1] {
                    let count = allocations(|| filter.learn(rows.slice(0..batch)).unwrap());
                    assert_eq!(count, 0, "{} {family} {rule} d = {dim}, {batch} rows", C::NAME);
                }
                let x = rows.x(3);
                assert_eq!(
                    allocations(|| {
                        filter.linear(x).unwrap();
                        assert!(filter.covariance().variance(x) >= 0.0);
                    }),
                    0,
                    "{} {dim}",
                    C::NAME
                );
                assert_eq!(
                    allocations(|| assert!(filter.predict(x, 0.1).unwrap().mean.is_finite())),
                    0,
                    "{} {dim}",
                    C::NAME
                );
            }
        }
    }
}

#[test]
fn rows_allocate_nothing() {
    row_by_row::<Dense>();
    row_by_row::<Factored>();
}

/// Products that one lower triangle of a piece of rows takes: halves, down to squares of 32.
fn products(dim: usize) -> usize {
    if dim <= 32 {
        return 1;
    }
    let first = (dim / 2).next_multiple_of(32);
    products(first) + 1 + products(dim - first)
}

/// `gemm` takes a buffer for each factor of a product; the sums themselves take nothing.
#[test]
fn sums_allocate_nothing_of_their_own() {
    for family in
        ["bernoulli", "gaussian:2.5", "poisson", "gamma:0.5", "negative-binomial", "student"]
    {
        for dim in [1, 11, 100, 300] {
            let family: AnyFamily = family.parse().unwrap();
            let data = Data::draw(&mut rng(3), &family, dim, 500);
            let theta = vec![0.01; dim];
            let mut sums = Sums::new(family, &theta).unwrap().with_threads(1);
            sums = sums.with_scores().unwrap();
            sums.add(data.rows()).unwrap();
            for rows in [1, 130, 500] {
                let count = allocations(|| sums.add(data.rows().slice(0..rows)).unwrap());
                // two triangles per 128 rows, two factors per product
                let most = 4 * rows.div_ceil(128) * products(dim);
                assert!(count <= most, "{family:?} d = {dim}, {rows} rows: {count} of {most}");
            }
        }
    }
}

#[test]
fn drift_allocates_nothing() {
    fn check<C: Covariance>(drift: Drift) {
        let mut filter = filter::<C>("bernoulli", "moment", 28).with_drift(drift.clone()).unwrap();
        let data = Data::draw(&mut rng(2), &filter.family(), 28, 64);
        filter.learn(data.rows()).unwrap();
        assert_eq!(allocations(|| filter.learn(data.rows()).unwrap()), 0, "{} {drift:?}", C::NAME);
    }
    for drift in [Drift::Forget { factor: 0.9 }, Drift::Walk { variances: vec![1e-3; 28] }] {
        check::<Dense>(drift.clone());
        check::<Factored>(drift);
    }
}

#[test]
fn the_default_learner_allocates_nothing_once_it_has_settled() {
    for drift in [DriftMode::Off, DriftMode::Adapt] {
        let mut auto = Auto::builder(AnyFamily::from(Bernoulli), 11).drift(drift).build().unwrap();
        let data = Data::draw(&mut rng(4), &auto.family(), 11, 5000);
        auto.learn(data.rows()).unwrap();
        assert_eq!(
            auto.weights().iter().any(|weight| weight.process_noise > 0.0),
            drift == DriftMode::Adapt
        );
        for batch in [64, 1, 7] {
            let rows = data.rows().slice(0..batch);
            assert_eq!(allocations(|| auto.learn(rows).unwrap()), 0, "{drift:?}, {batch} rows");
        }
    }
}

#[test]
fn several_classes_allocate_nothing_once_the_first_rows_are_forgotten() {
    // the last second look is at row 4096
    const ROWS: usize = 4200;
    for dim in [11, 40, 105] {
        let mut learner = Categorical::builder(4, dim).intercept().build().unwrap();
        let data = Data::draw(&mut rng(5), &AnyFamily::from(Bernoulli), dim, ROWS);
        let y: Vec<f64> = (0..ROWS as i32).map(|i| f64::from(i % 4)).collect();
        let rows = Rows::new(dim, data.rows().features(), &y).unwrap();
        learner.learn(rows).unwrap();
        for batch in [64, 1, 7, 200] {
            let count = allocations(|| learner.learn(rows.slice(0..batch)).unwrap());
            assert_eq!(count, 0, "d = {dim}, {batch} rows");
        }
    }
}

#[test]
fn ordered_levels_allocate_nothing_after_the_warm_up() {
    for dim in [5, 45] {
        let mut learner = Ordinal::builder(4, dim).build().unwrap();
        let data = Data::draw(&mut rng(5), &AnyFamily::from(Bernoulli), dim, 1500);
        let y: Vec<f64> = (0..1500).map(|i| f64::from(i % 4)).collect();
        let rows = Rows::new(dim, data.rows().features(), &y).unwrap();
        learner.learn(rows).unwrap();
        for batch in [64, 1, 7, 200] {
            let count = allocations(|| learner.learn(rows.slice(0..batch)).unwrap());
            assert_eq!(count, 0, "d = {dim}, {batch} rows");
        }
    }
}

/// Sparse rows of five features out of 40.
fn sparse_rows(rows: usize) -> (Vec<usize>, Vec<u32>, Vec<f64>, Vec<f64>) {
    let starts = (0..=rows).map(|i| 5 * i).collect();
    let indices = (0..rows as u32).flat_map(|i| (0..5).map(move |k| 8 * k + (i * (k + 3)) % 8));
    let values = (0..5 * rows).map(|i| 1.0 + (i % 3) as f64);
    let y = (0..rows).map(|i| f64::from(i % 3 == 0)).collect();
    (starts, indices.collect(), values.collect(), y)
}

/// Learns sparse rows to warm up, then counts the allocations of batches of known features.
fn sparse_batches<L: Learner>(label: &str, learner: &mut L) {
    let (starts, indices, values, y) = sparse_rows(5000);
    let batch = |rows: usize| {
        let entries = 5 * rows;
        let x = SparseMatrix::new(&starts[..=rows], &indices[..entries], &values[..entries]);
        SparseRows::new(x.unwrap(), &y[..rows]).unwrap()
    };
    learner.learn_sparse(batch(5000)).unwrap();
    for rows in [64, 1, 7, 64] {
        let rows = batch(rows);
        let count = allocations(|| learner.learn_sparse(rows).unwrap());
        assert_eq!(count, 0, "{label}, {} rows", rows.len());
    }
}

#[test]
fn sparse_rows_of_known_features_allocate_nothing() {
    for family in
        ["bernoulli", "gaussian", "poisson", "negative-binomial", "quantile:0.9", "student"]
    {
        let family: AnyFamily = family.parse().unwrap();
        for drift in [DriftMode::Off, DriftMode::Adapt] {
            let mut wide = Wide::builder(family).drift(drift).build().unwrap();
            sparse_batches(&format!("wide {family:?} {drift:?}"), &mut wide);
        }
    }
    for drift in [DriftMode::Off, DriftMode::Adapt] {
        let builder = WideCategorical::builder(3).drift(drift);
        let mut learner = builder.build().unwrap();
        let (starts, indices, values, _) = sparse_rows(5000);
        let y: Vec<f64> = (0..5000).map(|i| f64::from(i % 3)).collect();
        let batch = |rows: usize| {
            let entries = 5 * rows;
            let x = SparseMatrix::new(&starts[..=rows], &indices[..entries], &values[..entries]);
            SparseRows::new(x.unwrap(), &y[..rows]).unwrap()
        };
        learner.learn_sparse(batch(5000), None).unwrap();
        for rows in [64, 1, 7, 64] {
            let rows = batch(rows);
            let count = allocations(|| learner.learn_sparse(rows, None).unwrap());
            assert_eq!(count, 0, "classes {drift:?}, {} rows", rows.len());
        }
    }
    sparse_batches("core_tail", &mut filter::<CoreTail<8>>("bernoulli", "moment", 40));
    sparse_batches("core_tail", &mut filter::<CoreTail<0>>("gaussian:2.5", "ekf", 40));
}

/// Products pack their operands into buffers that the `gemm` crate allocates and frees again: the
/// same number per block, whatever came before.
fn in_blocks<C: Covariance>(dim: usize, size: usize) {
    let mut filter = filter::<C>("bernoulli", "ekf", dim);
    let data = Data::draw(&mut rng(3), &filter.family(), dim, 4 * size);
    let rows = data.rows();
    filter.learn(rows.slice(0..size)).unwrap();
    let mut learn =
        |from: usize, to: usize| allocations(|| filter.learn(rows.slice(from..to)).unwrap());
    let block = learn(size, 2 * size);
    assert_eq!(learn(2 * size, 3 * size), block, "{} d = {dim}: each block the same", C::NAME);
    assert_eq!(learn(0, 4 * size), 4 * block, "{} d = {dim}: four blocks in one call", C::NAME);
    assert_eq!(learn(0, size), block, "{} d = {dim}: whatever came before", C::NAME);
    // at most a packing buffer for each operand of a product
    let strips = 2 * size.div_ceil(32);
    let panels = if C::NAME == "dense" {
        dim.div_ceil(96) * 3
    } else {
        dim.div_ceil(32) * 7 + dim.div_ceil(128)
    };
    let products = 2 + strips + panels;
    assert!(
        block <= 2 * products,
        "{} d = {dim}: {block} allocations, {products} products",
        C::NAME
    );
    println!("{} d = {dim}: {block} allocations a block", C::NAME);
    assert_eq!(learn(0, 15), 0, "{} d = {dim}: a batch below a block", C::NAME);
}

#[test]
fn blocks_allocate_for_packing_alone() {
    in_blocks::<Dense>(650, 128);
    in_blocks::<Factored>(650, 128);
}
