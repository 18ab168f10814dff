//! Tests that look at single members: their recursion against a plain one, and what dropping costs.

use super::*;
use crate::family::Bernoulli;
use crate::learner::wide::slots::Place;
use crate::observe::RowView;
use crate::rows::Observation;
use crate::rule::moments;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Features of the reference.
const DIM: usize = 12;

/// Rows that a feature must have been seen in before it moves to the core.
const SEEN_BEFORE_CORE: usize = 16;

/// The recursion of one member in plain arithmetic: a full matrix, in which only the diagonal and
/// the pairs of the core move.
struct Reference {
    theta: [f64; DIM],
    p: [[f64; DIM]; DIM],
    seen: [usize; DIM],
    core: Vec<usize>,
    room: usize,
    share: f64,
}

impl Reference {
    fn new(prior_size: f64, share: f64, room: usize) -> Self {
        let mut p = [[0.0; DIM]; DIM];
        (0..DIM).for_each(|j| p[j][j] = prior_size);
        Self { theta: [0.0; DIM], p, seen: [0; DIM], core: Vec::new(), room, share }
    }

    fn learn(&mut self, x: &[f64; DIM], y: f64) {
        for j in (0..DIM).filter(|&j| x[j] != 0.0) {
            let frequent = self.seen[j] >= SEEN_BEFORE_CORE && self.core.len() < self.room;
            if frequent && !self.core.contains(&j) {
                self.core.push(j);
            }
            self.seen[j] += 1;
        }
        let px: [f64; DIM] = std::array::from_fn(|i| (0..DIM).map(|j| self.p[i][j] * x[j]).sum());
        let m = (0..DIM).map(|j| self.theta[j] * x[j]).sum();
        let s: f64 = (0..DIM).map(|j| px[j] * x[j]).sum();
        let step = moments(&Bernoulli, &Observation::new(y), m, self.share * s).step;
        let c = step.curvature / (1.0 + step.curvature * s);
        for i in 0..DIM {
            self.theta[i] += step.gain * px[i];
            for j in 0..DIM {
                if i == j || (self.core.contains(&i) && self.core.contains(&j)) {
                    self.p[i][j] -= c * px[i] * px[j];
                }
            }
        }
    }
}

/// Rows of ones and zeros, the first features frequent, and labels.
fn rows(count: usize, seed: u64) -> Vec<([f64; DIM], f64)> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let row = |_| {
        let x: [f64; DIM] =
            std::array::from_fn(|j| f64::from(rng.random::<f64>() < 2.0 / (2.0 + j as f64)));
        let u: f64 = (0..DIM).map(|j| x[j] * (1.7 * j as f64).sin()).sum();
        (x, f64::from(rng.random::<f64>() < Bernoulli.mean(u)))
    };
    (0..count).map(row).collect()
}

fn follow(room: usize) {
    let rows = rows(300, 1);
    let mut wide = Wide::builder(Bernoulli).core(room).build().unwrap();
    for (x, y) in &rows {
        wide.learn(Rows::new(DIM, x, &[*y]).unwrap()).unwrap();
    }
    let members: Vec<_> = wide.members.all.iter().map(|member| member.assumption).collect();
    assert_eq!(members.len(), MAX_LANES);
    for (k, member) in members.into_iter().enumerate() {
        let mut reference = Reference::new(member.prior_size, member.share, room);
        rows.iter().for_each(|(x, y)| reference.learn(x, *y));
        assert_eq!(wide.core_features(), reference.core.len());
        for j in 0..DIM {
            let lanes = wide.belief.tail.lanes();
            let (mean, variance) = match wide.features.slots.find(j as u32).unwrap() {
                Place::Core(at) => {
                    let at = at as usize;
                    (wide.belief.core.mean(at, k), wide.belief.core.entry(at, at, k))
                }
                Place::Tail(slot) => {
                    let record = wide.belief.tail.record(slot);
                    (f64::from(record[k]), f64::from(record[lanes + k]))
                }
            };
            let expected = reference.theta[j];
            let gap = (mean - expected).abs() / expected.abs().max(0.1);
            assert!(gap < 1e-5, "core {room}, member {k}, mean of {j}: {mean} {expected}");
            let ratio = variance / reference.p[j][j];
            assert!(
                (ratio - 1.0).abs() < 1e-5,
                "core {room}, member {k}, variance of {j}: {ratio}"
            );
        }
    }
}

#[test]
fn a_member_follows_the_plain_recursion() {
    follow(0);
    follow(5);
    follow(DIM);
}

#[test]
fn a_core_is_symmetric_to_the_last_bit() {
    let mut wide = Wide::builder(Bernoulli).core(DIM).build().unwrap();
    for (x, y) in &rows(300, 2) {
        wide.learn(Rows::new(DIM, x, &[*y]).unwrap()).unwrap();
    }
    for i in 0..wide.belief.core.len() {
        for j in 0..i {
            for k in 0..MAX_LANES {
                assert_eq!(wide.belief.core.entry(i, j, k), wide.belief.core.entry(j, i, k));
            }
        }
    }
}

#[test]
fn a_dropped_member_is_not_missed() {
    let mut dropping = Wide::new(Bernoulli).unwrap();
    let mut keeping = Wide { keeps_all: true, ..dropping.clone() };
    let mut with = 0.0;
    let mut without = 0.0;
    // five words of 300, the first ones frequent
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut x = vec![0.0; 300 * (9 << 10)];
    let mut y = Vec::new();
    for row in x.chunks_mut(300) {
        for _ in 0..5 {
            row[(300.0 * rng.random::<f64>().powi(3)) as usize] = 1.0;
        }
        let u: f64 = row.iter().enumerate().map(|(j, x)| x * (0.7 * j as f64).sin()).sum();
        y.push(f64::from(rng.random::<f64>() < Bernoulli.mean(u)));
    }
    let rows = Rows::new(300, &x, &y).unwrap();
    dropping.learn_observed(rows, Some(&mut |row: &RowView<'_>| without += row.loss)).unwrap();
    keeping.learn_observed(rows, Some(&mut |row: &RowView<'_>| with += row.loss)).unwrap();
    assert_eq!(keeping.weights().len(), MAX_LANES);
    assert!(dropping.weights().len() < MAX_LANES);
    // 4 nats were lost of 5275
    assert!((without - with).abs() < 1e-3 * with, "{without} {with}");
}
