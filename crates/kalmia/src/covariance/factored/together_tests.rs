//! Blocks that several beliefs learn together, against the same rows one by one.

use super::Factored;
use super::octet_block::{BlockSteps, OctetBlock};
use super::side_by_side::SideBySide;
use super::together::{FactoredBelief, learn_rows, learn_together};
use super::together_block::{LearnBlock, TogetherBlock, TogetherScratch, block_rows};
use crate::covariance::simd_tests::others;
use crate::covariance::{Covariance, Kernel};
use crate::error::{Error, Result};
use crate::linalg::Buffer;
use crate::rule::{LinearRow, softmax_steps};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const ROWS: usize = 150;

/// Rows, their classes and weights.
struct Data {
    dim: usize,
    classes: usize,
    x: Vec<f64>,
    y: Vec<usize>,
    weights: Vec<f64>,
}

impl Data {
    fn new(dim: usize, classes: usize, kind: &str) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(dim as u64);
        let mut x: Vec<f64> = (0..ROWS * dim).map(|_| rng.random_range(-1.0..1.0)).collect();
        let mut y: Vec<usize> = (0..ROWS).map(|_| rng.random_range(0..classes)).collect();
        let mut weights = vec![1.0; ROWS];
        match kind {
            "plain" => {}
            "weights" => weights.iter_mut().zip(0..).for_each(|(w, i)| *w = [0.0, 1.0, 3.5][i % 3]),
            "constant" => y.fill(classes - 1),
            "separable" => {
                y.iter_mut()
                    .zip(x.chunks(dim))
                    .for_each(|(y, x)| *y = usize::from(x[1] > 0.0) % classes);
            }
            "repeated" => (dim..ROWS * dim).for_each(|i| x[i] = x[i % dim]),
            "huge" => x.iter_mut().enumerate().for_each(|(i, x)| *x *= [1.0, 1e4, 1e-6][i % 3]),
            _ => panic!("{kind}"),
        }
        Self { dim, classes, x, y, weights }
    }

    fn beliefs(&self) -> Vec<FactoredBelief> {
        let variances: Vec<f64> = (0..self.dim).map(|j| 0.5 + (j % 4) as f64 * 40.0).collect();
        let belief = FactoredBelief {
            theta: Buffer::zeros(self.dim),
            covariance: Factored::from_diagonal(&variances).unwrap(),
        };
        vec![belief; self.classes]
    }

    fn linear(&self) -> Vec<LinearRow> {
        vec![LinearRow::new(0.0, 0.0); self.classes]
    }

    /// Decides a row and records the probabilities.
    fn decide<'a>(
        &'a self,
        seen: &'a mut Vec<f64>,
    ) -> impl FnMut(usize, &mut [LinearRow]) -> Result<()> + 'a {
        move |i, rows| {
            let at = seen.len();
            seen.resize(at + self.classes, 0.0);
            softmax_steps(self.y[i], self.weights[i], 1.0, rows, &mut seen[at..]);
            Ok(())
        }
    }
}

/// Fails for NaN too. A difference is relative to the largest of the expected values.
fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(0f64, |size, value| size.max(value.abs()));
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance * size, "{what}, {i}: {a} is not {b}");
    }
}

/// Coefficients and variances of each coefficient agree.
fn assert_same_beliefs(
    found: &[FactoredBelief],
    expected: &[FactoredBelief],
    tolerance: f64,
    what: &str,
) {
    for (a, b) in found.iter().zip(expected) {
        assert_close(a.coefficients(), b.coefficients(), tolerance, what);
        let diagonal = |p: &Factored| (0..p.dim).map(|j| p.entry(j, j)).collect::<Vec<_>>();
        for (j, (a, b)) in diagonal(&a.covariance).iter().zip(diagonal(&b.covariance)).enumerate() {
            assert!((a / b - 1.0).abs() <= tolerance, "{what}, variance {j}: {a} is not {b}");
        }
    }
}

#[test]
fn blocks_are_rows_one_by_one() {
    let kinds = ["plain", "weights", "constant", "separable", "repeated", "huge"];
    for dim in [40, 43, 56, 97, 130, 241, 401] {
        // large matrices take their time
        let large = dim > 200;
        let classes: &[usize] = if large { &[3] } else { &[1, 2, 3, 7] };
        for &classes in classes {
            for kind in kinds {
                let what = format!("{dim} features, {classes} classes, {kind}");
                let data = Data::new(dim, classes, kind);
                let mut linear = data.linear();
                let mut expected = Vec::new();
                let mut one_by_one = data.beliefs();
                learn_rows(
                    &mut one_by_one,
                    &mut linear,
                    &data.x,
                    0,
                    &mut data.decide(&mut expected),
                )
                .unwrap();
                let mut found = Vec::new();
                let mut blocks = data.beliefs();
                let scratch = &mut TogetherScratch::default();
                let mut decide = data.decide(&mut found);
                learn_together(&mut blocks, &mut linear, &data.x, 13, scratch, &mut decide)
                    .unwrap();
                drop(decide);
                // a row that outweighs the prior by 1e10 costs both forms precision
                let tolerance = if kind == "huge" { 1e-7 } else { 1e-9 };
                assert_close(&found, &expected, tolerance, &what);
                assert_same_beliefs(&blocks, &one_by_one, tolerance, &what);
            }
        }
    }
}

#[test]
fn a_refused_row_is_named_and_its_block_changes_nothing() {
    let data = Data::new(50, 3, "plain");
    for bad in [0, 7, 40, 149] {
        let mut beliefs = data.beliefs();
        let scratch = &mut TogetherScratch::default();
        let mut seen = Vec::new();
        let mut decide = data.decide(&mut seen);
        let mut refuse = |i: usize, rows: &mut [LinearRow]| {
            decide(i, rows)?;
            if i < bad {
                Ok(())
            } else {
                Err(Error::Diverged { row: i, quantity: "s", value: 1.0 })
            }
        };
        let mut linear = data.linear();
        let refused = learn_together(&mut beliefs, &mut linear, &data.x, 0, scratch, &mut refuse);
        assert_eq!(refused.unwrap_err().row(), Some(bad));
        let size = block_rows(data.dim);
        let learned = bad / size * size;
        let mut expected = data.beliefs();
        let mut seen = Vec::new();
        let x = &data.x[..learned * data.dim];
        learn_rows(&mut expected, &mut linear, x, 0, &mut data.decide(&mut seen)).unwrap();
        assert_same_beliefs(&beliefs, &expected, 1e-9, &format!("row {bad}"));
    }
}

#[test]
fn every_instruction_set_gives_the_same_block() {
    for (dim, rows) in [(40, 8), (45, 5), (241, 16), (250, 11), (401, 32), (410, 19)] {
        let data = Data::new(dim, 3, "plain");
        let x = &data.x[..rows * dim];
        let mut linear = data.linear();
        let mut expected = data.beliefs();
        let mut seen = Vec::new();
        learn_rows(&mut expected, &mut linear, x, 0, &mut data.decide(&mut seen)).unwrap();
        for how in others() {
            let mut beliefs = data.beliefs();
            let mut octets = vec![OctetBlock::default(); 3];
            let size = block_rows(dim);
            let stride = beliefs[0].covariance.stride;
            octets.iter_mut().for_each(|octets| octets.reserve(stride, size / 8));
            let mut steps = BlockSteps::default();
            steps.reserve(stride, size / 8);
            let mut sides = SideBySide::default();
            sides.set(x, dim, size);
            let mut seen = Vec::new();
            let block = TogetherBlock {
                beliefs: &mut beliefs,
                rows: &mut linear,
                x,
                first: 0,
                decide: &mut data.decide(&mut seen),
            };
            let octets = &mut octets;
            let steps = &mut steps;
            let done = how.run(LearnBlock { dim, block, octets, sides: &sides, steps });
            assert_eq!(done.unwrap(), rows);
            assert_same_beliefs(&beliefs, &expected, 1e-9, &format!("{how:?}, {dim}"));
        }
    }
}
