//! The joint step of a row against integrals.

use kalmia::Bernoulli;
use kalmia::rows::Observation;
use kalmia::rule::{LinearRow, moments, softmax_probabilities, softmax_steps};

/// $E[\text{softmax}_c(u)]$ of three classes by the trapezoid rule in three dimensions.
fn expected_softmax(class: usize, m: [f64; 3], s: [f64; 3]) -> f64 {
    let nodes = |m: f64, s: f64| {
        (-16..=16).map(move |i| {
            let z = 0.5 * f64::from(i);
            (m + z * s.sqrt(), (-0.5 * z * z).exp())
        })
    };
    let mut sum = 0.0;
    let mut total = 0.0;
    for (a, wa) in nodes(m[0], s[0]) {
        for (b, wb) in nodes(m[1], s[1]) {
            for (c, wc) in nodes(m[2], s[2]) {
                let e = [a, b, c].map(f64::exp);
                let weight = wa * wb * wc;
                sum += weight * e[class] / (e[0] + e[1] + e[2]);
                total += weight;
            }
        }
    }
    sum / total
}

#[test]
fn two_classes_move_their_difference_as_a_label_does() {
    for (m, s) in [([0.3, -0.4], 0.2), ([5.0, 1.0], 3.0), ([-300.0, 450.0], 40.0)] {
        for class in [0, 1] {
            let mut rows = m.map(|m| LinearRow::new(m, s));
            let mut probabilities = [0.0; 2];
            let evidence = softmax_steps(class, 1.0, 1.0, &mut rows, &mut probabilities);
            let label = Observation::new(class as f64);
            let exact = moments(&Bernoulli, &label, m[1] - m[0], 2.0 * s);
            let log = exact.evidence.ln();
            assert!((evidence - log).abs() <= 1e-9 * (1.0 + log.abs()), "{evidence} {log}");
            // the difference moves by g (P_1 + P_0) x and contracts by c ((P_1 + P_0) x)^2
            let gain = 0.5 * (rows[1].step.gain - rows[0].step.gain);
            assert!((gain - exact.step.gain).abs() <= 1e-9, "{gain} {:?}", exact.step);
            let contraction = 0.25 * (rows[0].step.contraction + rows[1].step.contraction);
            let expected = exact.step.contraction;
            assert!((contraction - expected).abs() <= 1e-9 * expected, "{contraction} {expected}");
            let curvature = rows[0].step.curvature;
            let expected = 2.0 * exact.step.curvature;
            assert!((curvature - expected).abs() <= 1e-7 * expected, "{curvature} {expected}");
        }
    }
}

#[test]
fn three_narrow_classes_have_the_moments_of_the_integral() {
    let h = 1e-4;
    for (m, s) in [
        ([0.0, 0.0, 0.0], [0.02, 0.02, 0.02]),
        ([1.0, -0.5, 0.2], [0.01, 0.05, 0.02]),
        ([-2.0, 1.5, 1.4], [0.05, 0.01, 0.03]),
    ] {
        for class in 0..3 {
            let mut rows = [0, 1, 2].map(|k| LinearRow::new(m[k], s[k]));
            let mut probabilities = [0.0; 3];
            let evidence = softmax_steps(class, 1.0, 1.0, &mut rows, &mut probabilities);
            let mut predicted = [0.0; 3];
            softmax_probabilities(&rows, &mut predicted);
            for k in 0..3 {
                let exact = expected_softmax(k, m, s);
                assert!((probabilities[k] - exact).abs() < 2e-3, "{} {exact}", probabilities[k]);
                assert!((predicted[k] - probabilities[k]).abs() < 1e-9, "{predicted:?}");
            }
            let log = expected_softmax(class, m, s).ln();
            assert!((evidence - log).abs() < 1e-2, "{evidence} {log}");
            for k in 0..3 {
                let moved = |by: f64| {
                    let mut m = m;
                    m[k] += by;
                    expected_softmax(class, m, s).ln()
                };
                let gain = (moved(h) - moved(-h)) / (2.0 * h);
                assert!((rows[k].step.gain - gain).abs() < 1e-2, "{:?} {gain}", rows[k].step);
                let contraction = -(moved(h) - 2.0 * log + moved(-h)) / (h * h);
                let found = rows[k].step.contraction;
                // from once to twice that of the block alone
                let low = 0.98 * contraction - 1e-3;
                let high = 2.02 * contraction + 1e-3;
                assert!(found > low && found < high, "{found} {contraction}");
            }
        }
    }
}

#[test]
fn steps_stay_finite_and_never_make_a_variance_negative() {
    for m in [0.0, 3.0, -40.0, 800.0, 1e6] {
        for s in [1e-12, 0.1, 10.0, 1e4, 1e9] {
            for other in [1e-9, 1.0, 1e6] {
                let classes = 5;
                for class in 0..classes {
                    let mut rows = vec![LinearRow::new(0.0, other); classes];
                    rows[0] = LinearRow::new(m, s);
                    let mut probabilities = vec![0.0; classes];
                    let evidence = softmax_steps(class, 1.0, 1.0, &mut rows, &mut probabilities);
                    let total: f64 = probabilities.iter().sum();
                    assert!((total - 1.0).abs() < 1e-12 && evidence <= 1e-9, "{evidence}");
                    for row in &rows {
                        let left = 1.0 / (1.0 + row.step.curvature * row.s);
                        assert!(left > 0.0 && left <= 1.0, "{row:?}");
                        assert!(row.step.gain.is_finite(), "{row:?}");
                    }
                }
            }
        }
    }
}
