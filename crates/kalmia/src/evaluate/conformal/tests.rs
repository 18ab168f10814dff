use super::*;

const UNIT: Predicted = Predicted { linear: 0.0, variance: 0.0, dispersion: 1.0, mean: 0.0 };

fn gaussian() -> Conformal {
    Conformal::new("gaussian".parse().unwrap()).unwrap()
}

/// Scores like the quantiles of a skewed law, in an order that looks random.
fn learned(rows: u64) -> Conformal {
    let mut conformal = gaussian();
    for row in 0..rows {
        let uniform = jitter(row + 17) + 0.5;
        conformal.learn(&UNIT, -uniform.ln(), 1.0);
    }
    conformal
}

#[test]
fn before_the_first_row_intervals_are_those_of_the_model() {
    for level in [0.1, 0.5, 0.7, 0.9, 0.95, 0.99] {
        let interval = gaussian().interval(&UNIT, level).unwrap();
        let expected = normal_quantile(0.5 + 0.5 * level);
        assert!((interval.upper - expected).abs() < 1e-12, "{level}");
        assert!((interval.lower + expected).abs() < 1e-12, "{level}");
    }
    let student = Conformal::new("student:4".parse().unwrap()).unwrap();
    // scipy.stats.t.ppf(0.975, 4)
    let upper = student.interval(&UNIT, 0.95).unwrap().upper;
    assert!((upper - 2.776_445_105).abs() < 1e-8, "{upper}");
}

#[test]
fn ends_are_the_quantiles_of_a_skewed_law() {
    let conformal = learned(200_000);
    for level in LEVELS {
        let interval = conformal.interval(&UNIT, level).unwrap();
        let below = 1.0 - (-interval.lower).exp();
        let above = (-interval.upper).exp();
        let expected = tail(level);
        // at the hard lower edge of the law, steps are large against its density
        assert!((below - expected).abs() < 0.4 * expected, "{level}: {below} below");
        assert!((above - expected).abs() < 0.15 * expected, "{level}: {above} above");
    }
}

#[test]
fn intervals_are_nested() {
    let mut conformal = gaussian();
    for row in 0..3000 {
        conformal.learn(&UNIT, 10.0 * jitter(row) * if row % 500 < 100 { 30.0 } else { 1.0 }, 1.0);
        let mut last = conformal.interval(&UNIT, 0.01).unwrap();
        for level in (2..100).map(|percent| f64::from(percent) / 100.0) {
            let next = conformal.interval(&UNIT, level).unwrap();
            assert!(next.lower <= last.lower + 1e-9 && last.upper <= next.upper + 1e-9, "{level}");
            last = next;
        }
    }
}

#[test]
fn levels_and_families_without_intervals_are_refused() {
    for level in [0.0, 1.0, 0.991, f64::NAN, -1.0] {
        let error = gaussian().interval(&UNIT, level).unwrap_err().to_string();
        assert!(error.contains("at most 0.99"), "{error}");
    }
    for family in ["bernoulli", "binomial"] {
        let error = Conformal::new(family.parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("labels and proportions have none"), "{error}");
    }
}

#[test]
fn rows_without_weight_or_prediction_are_left_out() {
    let mut conformal = gaussian();
    conformal.learn(&UNIT, 5.0, 0.0);
    conformal.learn(&Predicted { mean: f64::NAN, ..UNIT }, 5.0, 1.0);
    conformal.learn(&Predicted { dispersion: f64::NAN, ..UNIT }, 5.0, 1.0);
    assert_eq!(conformal, gaussian());
}

#[test]
fn a_model_without_noise_is_missed_or_exact() {
    let certain = Predicted { dispersion: 0.0, ..UNIT };
    let mut conformal = gaussian();
    for row in 0..5000 {
        conformal.learn(&certain, f64::from(u8::from(row % 3 == 0)), 1.0);
    }
    conformal.check(&"gaussian".parse().unwrap()).unwrap();
    let interval = conformal.interval(&certain, 0.9).unwrap();
    assert_eq!((interval.lower, interval.upper), (0.0, 0.0));
}

#[test]
fn the_report_counts_both_intervals() {
    let conformal = learned(20_000);
    let report = conformal.report();
    assert_eq!(report.rows, 20_000 - WARM_UP_ROWS);
    assert!((report.covered - 0.95).abs() < 0.005, "{report:?}");
    // P(E <= 1.96) for an exponential E
    assert!((report.model_covered - 0.859).abs() < 0.01, "{report:?}");
    assert!((report.model_width - 3.919_928).abs() < 1e-6, "{report:?}");
    assert!((report.width - 3.66).abs() < 0.15, "{report:?}");
    assert!(gaussian().report().covered.is_nan());
}

#[test]
fn damaged_states_are_refused() {
    let family: AnyFamily = "gaussian".parse().unwrap();
    let good = serde_json::to_value(learned(100)).unwrap();
    let check = |value: serde_json::Value| {
        serde_json::from_value::<Conformal>(value).map_or(true, |read| read.check(&family).is_err())
    };
    assert!(!check(good.clone()));
    for (place, value) in [
        ("/upper/0/value", serde_json::json!(1e200)),
        ("/lower/4/since", serde_json::json!(u64::MAX)),
        ("/judged/covered", serde_json::json!(101)),
        ("/judged/model_lower", serde_json::json!(9.0)),
        ("/size/size", serde_json::json!(-1.0)),
        ("/rows", serde_json::json!(1)),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(place).unwrap() = value;
        assert!(check(bad), "{place}");
    }
    assert!(learned(100).check(&"poisson".parse().unwrap()).is_err());
}

/// If crossed ends were swapped, the interval would hold every row, and the ends would move further
/// apart the wrong way for ever.
#[test]
fn thresholds_that_crossed_come_apart_again() {
    let mut conformal = gaussian();
    for threshold in conformal.lower.iter_mut().chain(&mut conformal.upper) {
        *threshold = Threshold::new(-3.0);
    }
    let crossed = conformal.interval(&UNIT, 0.9).unwrap();
    assert_eq!((crossed.lower, crossed.upper), (0.0, 0.0));
    let mut held = 0;
    for i in 0..4000 {
        let y = 3.0 * jitter(i);
        let interval = conformal.interval(&UNIT, 0.9).unwrap();
        held += u32::from(i >= 2000 && interval.lower <= y && y <= interval.upper);
        conformal.learn(&UNIT, y, 1.0);
    }
    let share = f64::from(held) / 2000.0;
    assert!((share - 0.9).abs() < 0.02, "{share}");
}
