//! Tests that look at single members: their recursion against a plain one.

use super::*;
use crate::learner::wide::member::WideWeight;
use crate::learner::wide::slots::Place;
use crate::rule::softmax_steps;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const DIM: usize = 9;
const CLASSES: usize = 4;

/// Rows that a feature must have been seen in before it moves to the core.
const SEEN_BEFORE_CORE: usize = 16;

/// The recursion of one member in plain arithmetic: a full matrix per class, in which only the
/// diagonal and the pairs of the core move.
struct Reference {
    theta: [[f64; DIM]; CLASSES],
    p: [[[f64; DIM]; DIM]; CLASSES],
    seen: [usize; DIM],
    core: Vec<usize>,
    room: usize,
    share: f64,
    root_rate: f64,
}

impl Reference {
    fn new(member: WideWeight, room: usize) -> Self {
        let WideWeight { prior_size, variance_share: share, root_rate, .. } = member;
        let mut p = [[0.0; DIM]; DIM];
        (0..DIM).for_each(|j| p[j][j] = 0.5 * prior_size);
        let theta = [[0.0; DIM]; CLASSES];
        Self { theta, p: [p; CLASSES], seen: [0; DIM], core: vec![], room, share, root_rate }
    }

    fn learn(&mut self, x: &[f64; DIM], class: usize) {
        for j in (0..DIM).filter(|&j| x[j] != 0.0) {
            let frequent = self.seen[j] >= SEEN_BEFORE_CORE && self.core.len() < self.room;
            if frequent && !self.core.contains(&j) {
                self.core.push(j);
            }
            self.seen[j] += 1;
        }
        let px: [[f64; DIM]; CLASSES] = std::array::from_fn(|k| {
            std::array::from_fn(|i| (0..DIM).map(|j| self.p[k][i][j] * x[j]).sum())
        });
        let m = |k: usize| (0..DIM).map(|j| self.theta[k][j] * x[j]).sum();
        let s = |k: usize| (0..DIM).map(|j| px[k][j] * x[j]).sum::<f64>();
        let mut linear: Vec<LinearRow> =
            (0..CLASSES).map(|k| LinearRow::new(m(k), self.share * s(k))).collect();
        // the moments at a share of the variance; the belief contracts by all of it
        softmax_steps(class, 1.0, 1.0, &mut linear, &mut [0.0; CLASSES]);
        for k in 0..CLASSES {
            let step = linear[k].step;
            let c = step.curvature / (1.0 + step.curvature * s(k));
            for i in 0..DIM {
                if self.root_rate > 0.0 {
                    let precision = 1.0 / self.p[k][i][i];
                    let slope = step.gain * x[i];
                    let after = (precision.powi(2) + (slope / self.root_rate).powi(2)).sqrt();
                    self.p[k][i][i] = 1.0 / after;
                    self.theta[k][i] += slope / after;
                    continue;
                }
                self.theta[k][i] += step.gain * px[k][i];
                for j in 0..DIM {
                    if i == j || (self.core.contains(&i) && self.core.contains(&j)) {
                        self.p[k][i][j] -= c * px[k][i] * px[k][j];
                    }
                }
            }
        }
    }
}

/// Rows of ones and zeros, the first features frequent, and classes.
fn rows(count: usize) -> Vec<([f64; DIM], usize)> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let row = |_| {
        let x: [f64; DIM] =
            std::array::from_fn(|j| f64::from(rng.random::<f64>() < 2.0 / (2.0 + j as f64)));
        let score = |k: usize| -> f64 {
            (0..DIM).map(|j| x[j] * (1.7 * j as f64 + k as f64).sin()).sum::<f64>()
        };
        // the largest of scores with Gumbel noise has the probabilities of the softmax
        let noisy: Vec<f64> =
            (0..CLASSES).map(|k| score(k) - (-rng.random::<f64>().ln()).ln()).collect();
        let best = (0..CLASSES).max_by(|&a, &b| noisy[a].total_cmp(&noisy[b]));
        (x, best.unwrap())
    };
    (0..count).map(row).collect()
}

fn follow(room: usize) {
    let rows = rows(300);
    let mut learner = WideCategorical::builder(CLASSES).core(room).build().unwrap();
    for (x, class) in &rows {
        learner.learn(Rows::new(DIM, x, &[*class as f64]).unwrap()).unwrap();
    }
    assert_eq!(learner.weights().len(), class_lanes(CLASSES));
    for (lane, member) in learner.weights().into_iter().enumerate() {
        let mut reference = Reference::new(member, room);
        rows.iter().for_each(|(x, class)| reference.learn(x, *class));
        assert_eq!(learner.core_features(), reference.core.len());
        for j in 0..DIM {
            for (k, belief) in learner.beliefs.iter().enumerate() {
                let (mean, variance) = match learner.features.slots.find(j as u32).unwrap() {
                    Place::Core(at) => {
                        let at = at as usize;
                        (belief.core.mean(at, lane), belief.core.entry(at, at, lane))
                    }
                    Place::Tail(slot) => {
                        let record = belief.tail.record(slot);
                        (f64::from(record[lane]), f64::from(record[belief.lanes() + lane]))
                    }
                };
                let expected = reference.theta[k][j];
                let gap = (mean - expected).abs() / expected.abs().max(0.1);
                assert!(
                    gap < 1e-5,
                    "core {room}, member {lane}, class {k}, {j}: {mean} {expected}"
                );
                let ratio = variance / reference.p[k][j][j];
                assert!((ratio - 1.0).abs() < 1e-5, "core {room}, {lane}, {k}, {j}: {ratio}");
            }
        }
    }
}

#[test]
fn a_member_follows_the_plain_recursion() {
    follow(0);
    follow(4);
    follow(DIM);
}

#[test]
fn more_classes_have_fewer_members() {
    assert_eq!([1, 64, 65, 128, 129, 1000].map(class_lanes), [8, 8, 4, 4, 2, 2]);
    let bytes = |classes: usize, features: usize| {
        WideCategorical::builder(classes).build().unwrap().memory(features)
    };
    assert!(bytes(30, 100_000) < 220 << 20);
    assert!(bytes(1000, 10_000) < 220 << 20);
}
