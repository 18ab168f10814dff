//! Tests of what only the inside shows: moves between the parts, and forged states.

use super::*;
use crate::covariance::SparseKernel;
use crate::error::Error;
use crate::linalg::{Buffer, Threads};
use crate::rule::Step;
use crate::sparse::SparseMatrix;

fn decide(_: usize, _: f64, s: f64) -> Result<Step> {
    Ok(Step::against(0.25, 0.5, s))
}

/// Rows with the features 0 and `second`.
fn learn(p: &mut CoreTail<2>, theta: &mut Buffer, second: usize, rows: usize) {
    for _ in 0..rows {
        let mut x = vec![0.0; p.dim()];
        x[0] = 1.0;
        x[second] = -0.5;
        p.learn(theta, &x, &mut decide, Threads::ONE).unwrap();
    }
}

#[test]
fn a_promoted_feature_keeps_its_mean_and_its_variance() {
    let mut p = CoreTail::<2>::from_diagonal(&[2.0, 0.3, 1.0, 1.0]).unwrap();
    let mut theta = Buffer::zeros(4);
    learn(&mut p, &mut theta, 1, 16);
    assert!(p.core_features().is_empty());
    // the plain recursion of the next row
    let s = p.entry(0, 0) + 0.25 * p.entry(1, 1);
    let c = 0.5 / (1.0 + 0.5 * s);
    let expected: Vec<[f64; 2]> = [1.0, -0.5]
        .iter()
        .enumerate()
        .map(|(j, x)| {
            let px = p.entry(j, j) * x;
            [theta[j] - 0.25 / (1.0 + 0.5 * s) * px, p.entry(j, j) - c * px * px]
        })
        .collect();
    learn(&mut p, &mut theta, 1, 1);
    assert_eq!(p.core_features(), [0, 1]);
    for (j, [mean, variance]) in expected.into_iter().enumerate() {
        assert!((theta[j] - mean).abs() < 1e-15, "mean of {j}");
        assert!((p.entry(j, j) - variance).abs() < 1e-15, "variance of {j}");
    }
    assert_eq!(p.entry(0, 1), 0.0);
    learn(&mut p, &mut theta, 1, 1);
    assert!(p.entry(0, 1) != 0.0);
    // full: others stay in the tail
    learn(&mut p, &mut theta, 2, 40);
    assert_eq!(p.core_features(), [0, 1]);
}

#[test]
fn single_features_and_rows_without_a_step_do_not_count() {
    let mut p = CoreTail::<2>::from_diagonal(&[1.0; 3]).unwrap();
    let mut theta = Buffer::zeros(3);
    let unit = [0.0, 1.0, 0.0];
    let both = [1.0, 1.0, 0.0];
    for _ in 0..40 {
        p.learn(&mut theta, &unit, &mut decide, Threads::ONE).unwrap();
        p.learn(&mut theta, &both, &mut |_, _, _| Ok(Step::NONE), Threads::ONE).unwrap();
    }
    assert!(p.core_features().is_empty());
}

#[test]
fn a_failed_batch_returns_what_it_touched_and_the_core() {
    let mut p = CoreTail::<2>::from_diagonal(&[1.0; 5]).unwrap();
    let mut theta = Buffer::zeros(5);
    learn(&mut p, &mut theta, 1, 16);
    learn(&mut p, &mut theta, 3, 3);
    let before = (p.clone(), theta.clone());
    // the first row of the batch promotes feature 1, the second fails
    let starts = [0, 2, 4, 6];
    let x = SparseMatrix::new(&starts, &[0, 1, 1, 4, 0, 2], &[1.0; 6]).unwrap();
    let mut fails = |i: usize, m: f64, s: f64| match i {
        2 => Err(Error::State("refused".into())),
        _ => decide(i, m, s),
    };
    p.learn_sparse(&mut theta, x, &mut fails, true, Threads::ONE).unwrap_err();
    assert_eq!((&p, &theta), (&before.0, &before.1));
    p.learn_sparse(&mut theta, x, &mut decide, true, Threads::ONE).unwrap();
    assert!(p != before.0);
}

#[test]
fn a_feature_leaves_the_core_from_any_place() {
    let mut p = CoreTail::<3>::from_diagonal(&[1.0, 2.0, 3.0, 4.0]).unwrap();
    p.promote(3);
    p.promote(1);
    assert_eq!(p.core_features(), [3, 1]);
    p.shrink();
    assert_eq!((p.core_features(), p.dim()), (&[1][..], 3));
    assert_eq!(p.matrix(), [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0]);
    p.grow(5.0);
    assert_eq!(p.entry(3, 3), 5.0);
}

#[test]
fn the_square_root_and_the_determinant_are_those_of_the_matrix() {
    let mut p = CoreTail::<2>::from_diagonal(&[1.0, 2.0, 3.0, 4.0]).unwrap();
    let mut theta = Buffer::zeros(4);
    learn(&mut p, &mut theta, 2, 30);
    assert_eq!(p.core_features(), [0, 2]);
    let l = p.square_root().unwrap();
    let matrix = p.matrix();
    for i in 0..4 {
        for j in 0..4 {
            let product: f64 = (0..4).map(|k| l[k * 4 + i] * l[k * 4 + j]).sum();
            assert!((product - matrix[i * 4 + j]).abs() < 1e-14, "({i}, {j})");
        }
    }
    let mut factor = matrix;
    crate::linalg::cholesky_lower(&mut factor, 4, "covariance").unwrap();
    let log_det: f64 = (0..4).map(|j| 2.0 * factor[j * 5].ln()).sum();
    assert!((p.log_det().unwrap() - log_det).abs() < 1e-12);
}

#[test]
fn forged_parts_are_refused() {
    let mut p = CoreTail::<2>::from_diagonal(&[1.0; 4]).unwrap();
    let mut theta = Buffer::zeros(4);
    learn(&mut p, &mut theta, 2, 20);
    let parts = p.parts();
    assert_eq!(CoreTail::<2>::from_parts(&parts, 4).unwrap(), p);
    let forged = |at: usize, value: f64| {
        let mut parts = parts.clone();
        parts[at] = value;
        CoreTail::<2>::from_parts(&parts, 4)
    };
    let last = parts.len() - 1;
    for (at, value) in [
        (0, 3.0),
        (0, -1.0),
        (0, 0.5),
        (0, f64::NAN),
        (1, 2.0),
        (1, 4.0),
        (2, 1e300),
        (3, -1.0),
        (last - 3, 0.0),
        (last, 18.0),
        (last, 0.5),
        (last, f64::NAN),
    ] {
        assert!(forged(at, value).is_err(), "{at}: {value}");
    }
    for len in 0..parts.len() {
        assert!(CoreTail::<2>::from_parts(&parts[..len], 4).is_err(), "{len}");
    }
    assert!(CoreTail::<1>::from_parts(&parts, 4).is_err());
    assert!(CoreTail::<2>::from_parts(&[], 0).is_ok_and(|p| p.dim() == 0));
}
