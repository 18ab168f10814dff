//! The kernels against the library's learners of the same name, on the same rows.

use kalmia::{Averaged, Bernoulli, Ekf, Filter, Learner, Prior, Rows, Truncated};
use kalmia_lab::kernel::{Filter as Lanes, Rule};
use kalmia_lab::lanes::V;
use kalmia_lab::statistics::largest;
use kalmia_lab::world::{Block, D, World};

const ROWS: usize = 1200;
const LANE: usize = 5;

/// Rows for the kernels, and those of one replicate for the library.
fn rows(world: World) -> (Block, Vec<f64>, Vec<f64>) {
    let mut block = Block::new(ROWS);
    block.fill(world, &mut world.streams(8, 1));
    let x = block.x.iter().flat_map(|x| x.map(|v| v.0[LANE])).collect();
    let y = block.y.iter().map(|y| y.0[LANE]).collect();
    (block, x, y)
}

fn assert_same(what: &str, kernel: [V; D], library: &[f64]) {
    let scale = largest(library.iter().map(|v| v.abs())).max(1e-300);
    for (a, b) in kernel.iter().zip(library) {
        assert!((a.0[LANE] - b).abs() < 1e-9 * scale, "{what}: {} against {b}", a.0[LANE]);
    }
}

/// After these rows of the block the averaged learner's mean and inner iterate must be the
/// kernel's.
fn assert_averaged<L: Learner + Clone>(
    what: &str,
    inner: L,
    x: &[f64],
    y: &[f64],
    last: [V; D],
    average: [V; D],
) {
    let mut averaged = Averaged::new(inner);
    averaged.learn(Rows::new(D, x, y).unwrap()).unwrap();
    assert_same(what, last, &averaged.inner().coefficients());
    assert_same(&format!("{what}, averaged"), average, &averaged.coefficients());
}

#[test]
fn filters_agree() {
    for world in [World::Strong, World::Misspecified] {
        let (block, x, y) = rows(world);
        let prior = || Prior::isotropic(D, 1.0).unwrap();
        let mut kernel = Lanes::new(Rule::Ekf, 1.0);
        kernel.learn(&block, 0..ROWS);
        let filter = Filter::new(Bernoulli, Ekf, prior()).unwrap();
        assert_averaged("ekf", filter, &x, &y, kernel.last(), kernel.average());
        let mut kernel = Lanes::new(Rule::Truncated { scale: 1.0, beta: 0.49 }, 1.0);
        kernel.learn(&block, 0..ROWS);
        let filter = Filter::new(Bernoulli, Truncated::paper(), prior()).unwrap();
        assert_averaged("truncated", filter, &x, &y, kernel.last(), kernel.average());
    }
}
