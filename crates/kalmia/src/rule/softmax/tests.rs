use super::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Each class on its own, without registers of classes.
fn one_by_one(row: &ClassifiedRow, rows: &mut [LinearRow], probabilities: &mut [f64]) -> f64 {
    let sums = RivalSums::new(rows, row.share, probabilities);
    let mut log_evidence = f64::NAN;
    for (k, (linear, probability)) in rows.iter_mut().zip(&mut *probabilities).enumerate() {
        let evidence = row.take_step(&sums, k, linear, probability);
        if k == row.class {
            log_evidence = evidence.ln();
        }
    }
    let total: f64 = probabilities.iter().sum();
    probabilities.iter_mut().for_each(|p| *p /= total);
    log_evidence - row.weight * total.ln()
}

fn assert_close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{what}: {found} is not {expected}");
}

#[test]
fn classes_taken_at_once_are_classes_taken_one_by_one() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    // from beliefs that two terms are enough for to some that need an integral, and vague ones
    for (spread, widest) in [
        (1.0, 1e-4),
        (3.0, 5e-3),
        (8.0, 2e-2),
        (3.0, 5e-2),
        (40.0, 0.3),
        (2.0, 0.6),
        (4.0, 1.1),
        (2.0, 2.0),
        (5.0, 4.0),
        (2.0, 20.0),
    ] {
        for classes in 2..=11 {
            for class in 0..classes {
                let share = if class % 2 == 0 { 1.0 } else { 0.5 };
                let rows: Vec<LinearRow> = (0..classes)
                    .map(|_| {
                        let m = rng.random_range(-spread..spread);
                        LinearRow::new(m, widest * rng.random_range(0.01..1.0))
                    })
                    .collect();
                let row = ClassifiedRow { classes, class, weight: 1.0, share };
                let what = format!("class {class} of {classes}, {rows:?}");
                let mut expected = rows.clone();
                let mut expected_probabilities = vec![0.0; classes];
                let log = one_by_one(&row, &mut expected, &mut expected_probabilities);
                let mut found = rows;
                let mut probabilities = vec![0.0; classes];
                let evidence = softmax_steps(class, 1.0, share, &mut found, &mut probabilities);
                assert!((evidence - log).abs() <= 1e-9 * (1.0 + log.abs()), "{evidence} {log}");
                for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    assert_close(probabilities[k], expected_probabilities[k], &what);
                    assert_close(found.step.gain, expected.step.gain, &what);
                    assert_close(found.step.curvature, expected.step.curvature, &what);
                    assert_close(found.step.contraction, expected.step.contraction, &what);
                }
            }
        }
    }
}

#[test]
fn a_belief_without_end_reaches_the_steps() {
    for bad in [f64::NAN, f64::INFINITY] {
        for k in 0..5 {
            let mut rows = [LinearRow::new(0.1, 0.01); 5];
            rows[k].s = bad;
            softmax_steps(1, 1.0, 1.0, &mut rows, &mut [0.0; 5]);
            let finite = |row: &LinearRow| {
                row.step.gain.is_finite() && (row.step.curvature * row.s).is_finite()
            };
            assert!(!rows.iter().all(finite), "{rows:?}");
        }
    }
}
