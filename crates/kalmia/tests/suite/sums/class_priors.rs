//! The prior of several classes that a polish chooses, against the evidence of others.

use super::classes::{Draw, learned, polished};
use super::{dot, gap};
use crate::common::Matrix;
use kalmia::sums::{ClassPrior, ClassSums, Next, Polish, Polished};
use kalmia::{Categorical, DriftMode, Rows};

/// Newton's method with the choice of a prior, from the one that predicted best.
fn chosen(learner: &Categorical, start: ClassPrior, rows: Rows<'_>) -> Polished {
    let mut driver = Polish::of_classes(start).unwrap().with_tolerance(1e-9).unwrap();
    let mut theta = learner.coefficients_against_first();
    loop {
        match driver.step_classes(&sums_at(&theta, learner.classes(), rows)).unwrap() {
            Next::Again(next) => theta = next,
            Next::Done(fit) => return *fit,
        }
    }
}

fn sums_at(theta: &[f64], classes: usize, rows: Rows<'_>) -> ClassSums {
    let mut sums = ClassSums::new(classes, theta).unwrap();
    sums.add(rows).unwrap();
    sums
}

/// By elimination, of a symmetric positive definite matrix.
fn log_det(mut a: Vec<f64>, dim: usize) -> f64 {
    let mut sum = 0.0;
    for k in 0..dim {
        let pivot = a[k * dim + k];
        sum += pivot.ln();
        for i in k + 1..dim {
            let factor = a[i * dim + k] / pivot;
            for j in k..dim {
                a[i * dim + j] -= factor * a[k * dim + j];
            }
        }
    }
    sum
}

/// Laplace's approximation at the mode under a prior.
fn evidence(learner: &Categorical, prior: &ClassPrior, rows: Rows<'_>) -> f64 {
    let precision = prior.precision().unwrap();
    let mode = polished(learner.clone(), precision.clone(), rows).coefficients_against_first();
    let sums = sums_at(&mode, learner.classes(), rows);
    let information = sums.information();
    let total = information.iter().zip(precision.matrix()).map(|(i, l)| i + l).collect();
    let penalty = 0.5 * dot(&mode, &Matrix::new(precision.matrix().to_vec()).times(&mode));
    let volume = log_det(precision.matrix().to_vec(), mode.len()) - log_det(total, mode.len());
    -0.5 * sums.deviance() - penalty + 0.5 * volume
}

#[test]
fn the_size_has_the_largest_evidence_wherever_the_choice_starts() {
    let draw = Draw::new(4, 6, 300, 91);
    let learner = learned(&draw, draw.rows(), DriftMode::Off);
    let start = learner.class_prior().unwrap();
    let mut sizes = Vec::new();
    for size in [0.05, start.size(), 500.0] {
        let start = start.with_size(size).unwrap();
        let fit = chosen(&learner, start, draw.rows());
        let prior = fit.class_prior().unwrap();
        let best = evidence(&learner, prior, draw.rows());
        for factor in [0.5, 2.0] {
            let other = prior.with_size(factor * prior.size()).unwrap();
            let other = evidence(&learner, &other, draw.rows());
            assert!(other < best, "{factor} of {}: {other} {best}", prior.size());
        }
        // the coefficients are the most probable ones under that prior
        let mode = polished(learner.clone(), prior.precision().unwrap(), draw.rows());
        assert!(gap(fit.coefficients(), &mode.coefficients_against_first(), 1.0) < 1e-7);
        sizes.push(prior.size());
    }
    let spread = sizes.iter().fold(0.0, |most: f64, size| most.max((size / sizes[0]).ln().abs()));
    assert!(spread < 0.3, "{sizes:?}");
}

#[test]
fn the_learner_keeps_the_chosen_prior_and_a_second_polish_moves_nothing() {
    let draw = Draw::new(3, 5, 300, 92);
    let learner = learned(&draw, draw.rows(), DriftMode::Detect);
    let start = learner.class_prior().unwrap().with_size(1000.0).unwrap();
    let fit = chosen(&learner, start, draw.rows());
    let size = fit.class_prior().unwrap().size();
    assert!(size < 500.0, "{size}");
    let once = learner.with_polished(&fit).unwrap();
    assert_eq!(once.weights()[0].prior_size, size);
    let again = chosen(&once, once.class_prior().unwrap(), draw.rows());
    assert_eq!(again.class_prior().unwrap().size(), size);
    assert!(gap(again.coefficients(), &once.coefficients_against_first(), 1.0) < 1e-7);
}

#[test]
fn features_far_from_zero_are_centered() {
    let mut draw = Draw::new(3, 4, 300, 93);
    for row in draw.x.chunks_exact_mut(4) {
        row[1..].iter_mut().for_each(|x| *x += 30.0);
    }
    let learner = learned(&draw, draw.rows(), DriftMode::Off);
    let fit = chosen(&learner, learner.class_prior().unwrap(), draw.rows());
    let weights = learner.with_polished(&fit).unwrap().weights();
    assert!(weights[0].centered, "{weights:?}");
}

#[test]
fn a_size_that_is_no_variance_is_refused() {
    let draw = Draw::new(3, 3, 200, 94);
    let prior = learned(&draw, draw.rows(), DriftMode::Off).class_prior().unwrap();
    for size in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(prior.with_size(size).is_err(), "{size}");
    }
}
