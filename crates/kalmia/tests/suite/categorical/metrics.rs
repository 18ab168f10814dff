//! Progressive evaluation of several classes, by hand.

use super::data::Rows4;
use super::learner;
use crate::common::{assert_close, rng};
use kalmia::evaluate::ClassMetrics;

const ROWS: [(usize, [f64; 3], f64); 5] = [
    (0, [0.5, 0.3, 0.2], 1.0),
    (2, [0.5, 0.3, 0.2], 2.0),
    (1, [0.1, 0.1, 0.8], 0.0),
    (1, [0.4, 0.4, 0.2], 1.0),
    (2, [0.0, 0.0, 1.0], 1.0),
];

fn counted() -> ClassMetrics {
    let mut metrics = ClassMetrics::default();
    ROWS.iter().for_each(|(class, p, weight)| metrics.row(*class, p, *weight));
    metrics
}

#[test]
fn averages_are_those_of_their_definitions() {
    let report = counted().report();
    assert_eq!(report.rows, 5, "rows of weight 0 are seen, not judged");
    let loss = -(0.5f64.ln() + 2.0 * 0.2f64.ln() + 0.4f64.ln()) / 5.0;
    // shares before each row, half a row added per class: 1/3; 0.5/2.5; 0.5/4.5; 2.5/5.5
    let constant = -((1.0f64 / 3.0).ln()
        + 2.0 * (0.5f64 / 2.5).ln()
        + (0.5f64 / 4.5).ln()
        + (2.5f64 / 5.5).ln())
        / 5.0;
    let brier = (0.38 + 2.0 * (0.25 + 0.09 + 0.64) + (0.16 + 0.36 + 0.04) + 0.0) / 5.0;
    assert_close(
        &[report.loss, report.constant_loss, report.brier],
        &[loss, constant, brier],
        1e-12,
        "means",
    );
    // of equal probabilities the first class is predicted, so the fourth row is not
    assert_close(&report.top, &[2.0 / 5.0, 3.0 / 5.0, 1.0], 1e-12, "top");
    // bins at 0.5 (weight 3, right 1), 0.4 (0 of 1) and 1 (1 of 1)
    let error = (3.0 * (0.5f64 - 1.0 / 3.0).abs() + 0.4 + 0.0) / 5.0;
    assert_close(&[report.calibration_error], &[error], 1e-12, "calibration");
}

#[test]
fn an_impossible_class_costs_a_finite_loss() {
    let mut metrics = ClassMetrics::default();
    metrics.row(1, &[1.0, 0.0], 1.0);
    assert!(metrics.loss() > 700.0 && metrics.loss().is_finite());
    assert!(ClassMetrics::default().loss().is_nan());
}

#[test]
fn rows_that_are_not_learned_leave_the_constant_predictor_as_it_is() {
    let learned = counted();
    let mut after = ClassMetrics::after(&learned);
    after.row(0, &[0.2, 0.2, 0.6], 1.0);
    after.row(0, &[0.2, 0.2, 0.6], 1.0);
    // shares of the learned rows: 1, 1 and 3 of 5
    assert_close(&[after.report().constant_loss], &[-(1.5f64 / 6.5).ln()], 1e-12, "constant");
}

#[test]
fn the_learner_is_watched_and_stored_values_are_checked() {
    let data = Rows4::draw(&mut rng(41), 3, 700);
    let mut watched = learner();
    let mut metrics = ClassMetrics::default();
    watched.learn_observed(data.rows(), Some(&mut metrics)).unwrap();
    let report = metrics.report();
    assert_eq!((report.rows, metrics.course().last().unwrap().rows), (700, 700));
    assert_eq!(metrics.course().last().unwrap().loss, report.loss);
    assert!(report.loss < report.constant_loss && report.calibration_error < 0.1);
    let half = report.last_half.unwrap();
    assert!(half.last_row == 700 && half.loss < report.loss);
    let stored = serde_json::to_string(&metrics).unwrap();
    let again: ClassMetrics = serde_json::from_str(&stored).unwrap();
    assert_eq!(again, metrics);
    again.check().unwrap();
    for (from, to) in [("\"rows\":700", "\"rows\":9"), ("\"weight\":700.0", "\"weight\":-1.0")] {
        let forged = stored.replacen(from, to, 1);
        assert_ne!(forged, stored, "{from}");
        assert!(serde_json::from_str::<ClassMetrics>(&forged).unwrap().check().is_err(), "{from}");
    }
}

#[test]
fn sorted_classes_are_told_from_shuffled_ones() {
    let order = |classes: &mut dyn FnMut(usize) -> usize| {
        let mut metrics = ClassMetrics::default();
        (0..600).for_each(|i| metrics.row(classes(i), &[0.25; 4], 1.0));
        metrics.is_sorted()
    };
    assert!(order(&mut |i| i / 150));
    assert!(order(&mut |i| (i / 60) % 4), "in several stretches");
    assert!(!order(&mut |i| (i * 7 + i / 13) % 4));
    assert!(!order(&mut |_| 2), "a single class is no order");
    assert!(!order(&mut |i| usize::from(i == 300)), "a rare class");
}

#[test]
fn scores_of_two_learners_add_by_class() {
    // the second learner met the classes as c, a, b
    let rows: [(usize, [f64; 3]); 6] = [
        (0, [0.5, 0.3, 0.2]),
        (1, [0.1, 0.8, 0.1]),
        (2, [0.3, 0.3, 0.4]),
        (0, [0.2, 0.5, 0.3]),
        (2, [0.25, 0.25, 0.5]),
        (1, [0.6, 0.3, 0.1]),
    ];
    let mut whole = ClassMetrics::default();
    let mut here = ClassMetrics::default();
    let mut there = ClassMetrics::default();
    for (i, (class, p)) in rows.iter().enumerate() {
        let weight = 1.0 + i as f64;
        whole.row(*class, p, weight);
        match i < 3 {
            true => here.row(*class, p, weight),
            false => there.row((class + 1) % 3, &[p[2], p[0], p[1]], weight),
        }
    }
    let merged = here.merged(&there.clone().mapped(&[Some(1), Some(2), Some(0)]));
    let (found, expected) = (merged.report(), whole.report());
    assert_eq!(found.rows, 6);
    for (a, b) in [
        (found.loss, expected.loss),
        (found.brier, expected.brier),
        (found.calibration_error, expected.calibration_error),
        (found.top[0], expected.top[0]),
        (found.top[1], expected.top[1]),
    ] {
        assert!((a - b).abs() < 1e-14, "{a} {b}");
    }
    // the shares of the classes are what the constant predictor knows
    let mut next = ClassMetrics::after(&merged);
    let mut same = ClassMetrics::after(&whole);
    next.row(2, &rows[0].1, 1.0);
    same.row(2, &rows[0].1, 1.0);
    assert_eq!(next.report().constant_loss, same.report().constant_loss);
    merged.check().unwrap();
}
