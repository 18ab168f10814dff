//! A drift is detected when it is there, and only then; `adapt` follows from the end of the
//! warm-up.

#[path = "../streams/mod.rs"]
#[allow(dead_code)] // the benchmark has more streams
mod streams;

use crate::common::rng;
use kalmia::learner::AutoState;
use kalmia::observe::RowView;
use kalmia::{AnyFamily, Auto, DriftMode, Learner, Rows};
use streams::{Change, Draw, Noise, Stream};

type Any = Auto<AnyFamily>;

fn learner(stream: &Stream, drift: DriftMode) -> Any {
    Auto::builder(stream.family, stream.dim()).intercept().drift(drift).build().unwrap()
}

fn learned(stream: &Stream, draw: &Draw, drift: DriftMode) -> Any {
    let mut auto = learner(stream, drift);
    auto.learn(Rows::new(stream.dim(), &draw.x, &draw.y).unwrap()).unwrap();
    auto
}

/// The rows from which `detect` follows a drift, over replicates with the seeds 0, 1, ...
fn detections(stream: &Stream, replicates: u64) -> Vec<Option<u64>> {
    let one = |seed| learned(stream, &stream.draw(&mut rng(seed)), DriftMode::Detect);
    (0..replicates).map(|seed| one(seed).follows_from()).collect()
}

fn quiet(name: &str, stream: &Stream, replicates: u64) {
    let found = detections(stream, replicates);
    assert!(found.iter().all(Option::is_none), "{name}: {found:?}");
}

#[test]
fn many_features_are_no_drift() {
    for family in ["gaussian", "bernoulli"] {
        quiet(family, &Stream::new(family, 300, 3000), 2);
    }
    quiet("gaussian, more features than rows", &Stream::new("gaussian", 1000, 700), 1);
}

#[test]
fn alike_neighbors_are_no_drift() {
    for family in ["gaussian", "bernoulli", "poisson"] {
        quiet(family, &Stream::new(family, 5, 3000).noise(Noise::Groups(30)), 10);
    }
    let stream = Stream::new("gaussian", 5, 3000);
    quiet("equal features", &stream.clone().noise(Noise::GroupsAlike(20)), 10);
    quiet("autoregression", &stream.noise(Noise::Autoregressive(0.9)), 10);
}

#[test]
fn wild_noise_is_no_drift() {
    let gaussian = Stream::new("gaussian", 5, 3000);
    for (name, noise) in [
        ("outliers", Noise::Outliers),
        ("Cauchy", Noise::Cauchy),
        ("louder later", Noise::LouderLater),
        ("heavy features", Noise::HeavyFeatures),
    ] {
        quiet(name, &gaussian.clone().noise(noise), 10);
    }
    let poisson = Stream::new("poisson", 5, 3000);
    quiet("negative binomial", &poisson.noise(Noise::NegativeBinomial(0.1)), 20);
    quiet("rare events", &Stream::new("bernoulli", 5, 5000).intercept(-5.0), 20);
}

#[test]
fn changes_are_detected_soon() {
    for (family, within) in [("gaussian", 400), ("bernoulli", 1500), ("poisson", 500)] {
        for (name, change) in [
            ("slopes", Change::Jump(1.5)),
            ("an unused feature", Change::NewEffect(1.5)),
            ("the level", Change::Level(1.5)),
        ] {
            let stream = Stream::new(family, 5, 8000).change(change);
            for (seed, row) in detections(&stream, 5).into_iter().enumerate() {
                let delay = row.and_then(|row| row.checked_sub(4000));
                assert!(
                    delay.is_some_and(|delay| delay <= within),
                    "{family}, {name}, seed {seed}: {row:?}"
                );
            }
        }
    }
}

#[test]
fn off_is_static_and_reports_what_detect_follows() {
    let stream = Stream::new("gaussian", 3, 4000).change(Change::Flip);
    let draw = stream.draw(&mut rng(1));
    let off = learned(&stream, &draw, DriftMode::Off);
    let detect = learned(&stream, &draw, DriftMode::Detect);
    let report = off.drift_report().unwrap();
    assert!(report.drift() && report.gain > 0.1, "{report:?}");
    assert_eq!(report.detected_at, detect.follows_from());
    assert!(!off.is_following() && off.follows_from().is_none());
    assert!(detect.is_following() && detect.drift_report().is_none());
}

/// Mean log loss of the second half.
fn late_loss(stream: &Stream, draw: &Draw, drift: DriftMode) -> f64 {
    let mut auto = learner(stream, drift);
    let mut total = 0.0;
    let mut observer = |row: &RowView<'_>| {
        if 2 * row.index >= stream.rows {
            total += row.loss;
        }
    };
    let rows = Rows::new(stream.dim(), &draw.x, &draw.y).unwrap();
    auto.learn_observed(rows, Some(&mut observer)).unwrap();
    total / (stream.rows / 2) as f64
}

#[test]
fn adapt_follows_from_the_end_of_the_warm_up() {
    for (family, gain) in [("gaussian", 0.3), ("bernoulli", 0.05), ("poisson", 0.05)] {
        let stream = Stream::new(family, 2, 1000).change(Change::Flip);
        for seed in 0..5 {
            let draw = stream.draw(&mut rng(seed));
            let auto = learned(&stream, &draw, DriftMode::Adapt);
            assert_eq!(auto.follows_from(), Some(auto.first_followed_row() - 1));
            let off = late_loss(&stream, &draw, DriftMode::Off);
            let adapt = late_loss(&stream, &draw, DriftMode::Adapt);
            assert!(adapt < off - gain, "{family}, seed {seed}: {adapt} {off}");
        }
    }
    let short = Stream::new("gaussian", 2, 127);
    let auto = learned(&short, &short.draw(&mut rng(1)), DriftMode::Adapt);
    assert!(!auto.is_following() && auto.drift_report().is_none());
}

#[test]
fn following_costs_little_where_nothing_moves() {
    for (family, features) in [("gaussian", 5), ("bernoulli", 5), ("bernoulli", 50)] {
        let stream = Stream::new(family, features, 4000);
        let cost = |seed| {
            let draw = stream.draw(&mut rng(seed));
            late_loss(&stream, &draw, DriftMode::Adapt) - late_loss(&stream, &draw, DriftMode::Off)
        };
        let mean = (0..4).map(cost).sum::<f64>() / 4.0;
        assert!(mean < 1.5e-3, "{family}, {features} features: {mean}");
    }
}

#[test]
fn units_of_features_and_targets_do_not_matter() {
    let stream = Stream::new("gaussian", 3, 4000).change(Change::NewEffect(0.7));
    let draw = stream.draw(&mut rng(3));
    let plain = learned(&stream, &draw, DriftMode::Detect).follows_from();
    assert!(plain.is_some_and(|row| row > 2000), "{plain:?}");
    let mut x = draw.x.clone();
    for row in x.chunks_exact_mut(4) {
        row[1] = 2000.0 + 1e3 * row[1];
        row[2] = 1e-3 * row[2] - 5.0;
    }
    let y = draw.y.iter().map(|y| 1e4 * y).collect();
    let other = learned(&stream, &Draw { x, y }, DriftMode::Detect).follows_from();
    assert_eq!(plain, other);
}

#[test]
fn a_restored_watch_continues_bit_for_bit_whatever_the_batches() {
    let stream = Stream::new("poisson", 4, 3000).change(Change::Jump(1.0));
    let draw = stream.draw(&mut rng(4));
    let whole = learned(&stream, &draw, DriftMode::Detect);
    assert!(whole.is_following());
    for batch in [1, 50, 997] {
        let mut auto = learner(&stream, DriftMode::Detect);
        let mut never = learner(&stream, DriftMode::Detect);
        for (x, y) in draw.x.chunks(5 * batch).zip(draw.y.chunks(batch)) {
            let rows = Rows::new(5, x, y).unwrap();
            auto.learn(rows).unwrap();
            never.learn(rows).unwrap();
            if auto.count().is_multiple_of(997) || batch == 50 {
                let text = serde_json::to_string(&auto.state()).unwrap();
                auto = Auto::restore(serde_json::from_str(&text).unwrap()).unwrap();
            }
        }
        assert_eq!(auto.state(), never.state(), "batches of {batch}");
        assert_eq!(auto.follows_from(), whole.follows_from(), "batches of {batch}");
    }
}

/// A file written before the evidence was kept: the watch starts anew, and nothing else changes.
#[test]
fn a_state_without_evidence_starts_the_watch_anew() {
    let stream = Stream::new("gaussian", 3, 6000).change(Change::Flip);
    let draw = stream.draw(&mut rng(5));
    let cut = 2000;
    let rows = |range: std::ops::Range<usize>| {
        Rows::new(4, &draw.x[4 * range.start..4 * range.end], &draw.y[range]).unwrap()
    };
    let mut before = learner(&stream, DriftMode::Detect);
    before.learn(rows(0..cut)).unwrap();
    let mut state = serde_json::to_value(before.state()).unwrap();
    let corrector =
        serde_json::json!({"beta": [0.1, 0.0], "p": [1e-3, 0.0, 1e-3], "gain": 9.0, "square": 2.0});
    state["sentinel"] = serde_json::json!({
        "walkers": [corrector, corrector], "curvature": 1.0, "size": 1.0, "rows": 1872
    });
    let state: AutoState<AnyFamily> = serde_json::from_value(state).unwrap();
    let mut after = Auto::restore(state).unwrap();
    assert_eq!(after.coefficients(), before.coefficients());
    assert_eq!(after.drift_report().unwrap().rows, 0);
    after.learn(rows(cut..6000)).unwrap();
    assert!(after.follows_from().is_some_and(|row| row > 3000), "{:?}", after.follows_from());
}
