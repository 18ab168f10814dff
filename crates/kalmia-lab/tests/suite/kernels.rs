//! The kernels against plain scalar versions of the algorithms on the same rows.

use crate::common::{self, identity, mat_vec, residual};
use kalmia_lab::kernel::{Filter, Rule};
use kalmia_lab::lanes::{LANES, V};
use kalmia_lab::statistics::largest;
use kalmia_lab::world::{Block, D, World};

const ROWS: usize = 1500;

/// Rows of one world, cut in uneven pieces as the experiments do.
fn rows(world: World) -> (Block, Vec<std::ops::Range<usize>>) {
    let mut streams = world.streams(42, 3);
    let mut block = Block::new(ROWS);
    block.fill(world, &mut streams);
    (block, vec![0..1, 1..2, 2..77, 77..77, 77..600, 600..ROWS])
}

fn lane(v: &[V; D], l: usize) -> [f64; D] {
    std::array::from_fn(|j| v[j].0[l])
}

fn row(block: &Block, i: usize, l: usize) -> ([f64; D], f64) {
    (lane(&block.x[i], l), block.y[i].0[l])
}

fn assert_close(what: &str, got: [f64; D], expected: [f64; D], tolerance: f64) {
    let scale = largest(expected.iter().map(|v| v.abs())).max(1e-300);
    for j in 0..D {
        assert!(
            (got[j] - expected[j]).abs() <= tolerance * scale,
            "{what}: {got:?} against {expected:?}"
        );
    }
}

/// Any filter: last iterate, average and covariance after every row of the plain recursion.
fn check_filter(
    world: World,
    rule: Rule,
    weight: impl Fn(f64, u64) -> f64,
    slope: impl Fn(f64, f64) -> f64,
) {
    let (block, pieces) = rows(world);
    let mut kernel = Filter::new(rule, 1.0);
    pieces.into_iter().for_each(|piece| kernel.learn(&block, piece));
    for l in 0..LANES {
        let mut theta = [0.0; D];
        let mut sum = [0.0; D];
        let mut p = identity(1.0);
        for i in 0..ROWS {
            let (x, y) = row(&block, i, l);
            (0..D).for_each(|j| sum[j] += theta[j] / ROWS as f64);
            let m: f64 = (0..D).map(|j| theta[j] * x[j]).sum();
            let alpha = weight(m, i as u64 + 1);
            common::add_precision(&mut p, &x, alpha);
            // Algorithm 1 as printed: theta moves along the updated P.
            let px = mat_vec(&p, &x);
            (0..D).for_each(|j| theta[j] += slope(y, m) * px[j]);
        }
        assert_close("last", lane(&kernel.last(), l), theta, 1e-10);
        assert_close("average", lane(&kernel.average(), l), sum, 1e-10);
        let got = kernel.covariance(l);
        for i in 0..D {
            assert_close("covariance", got[i], p[i], 1e-9);
        }
    }
}

fn curvature(m: f64) -> f64 {
    1.0 / ((1.0 + m.exp()) * (1.0 + (-m).exp()))
}

#[test]
fn ekf_is_algorithm_1() {
    for world in [World::Strong, World::Weak, World::Misspecified] {
        check_filter(world, Rule::Ekf, |m, _| curvature(m), residual);
    }
}

#[test]
fn truncated_ekf_is_algorithm_2() {
    for scale in [1.0, 1e-10] {
        let floor = move |m: f64, t: u64| curvature(m).max(scale * (t as f64).powf(-0.49));
        check_filter(World::Strong, Rule::Truncated { scale, beta: 0.49 }, floor, residual);
    }
}

#[test]
fn kalman_filter_is_ridge_regression() {
    check_filter(World::Quadratic, Rule::Kalman, |_, _| 1.0, |y, m| y - m);
}
