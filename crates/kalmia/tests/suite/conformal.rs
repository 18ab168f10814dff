//! Conformal intervals: the coverage that they claim on streams of every kind, and on hostile ones.

#[path = "../../examples/conformal/streams.rs"]
mod streams;

use kalmia::evaluate::{Conformal, Metrics, Predicted};
use kalmia::learner::AnyLearner;
use kalmia::{AnyFamily, Auto, Family, Learner, Observer, Predict, RowView, Rows};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use streams::{JUDGED, STREAMS, Stream, WARM_UP};

/// Coverage and mean width of intervals.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    rows: f64,
    held: f64,
    width: f64,
}

impl Found {
    fn count(&mut self, conformal: &Conformal, row: &Predicted, level: f64, y: f64) {
        let interval = conformal.interval(row, level).unwrap();
        assert!(interval.lower <= interval.upper, "{interval:?}");
        self.rows += 1.0;
        self.held += f64::from(interval.lower <= y && y <= interval.upper);
        self.width += interval.upper - interval.lower;
    }

    fn coverage(&self) -> f64 {
        self.held / self.rows
    }
}

/// Of the model's own intervals, which are those of thresholds that have learned nothing, and of
/// the conformal ones.
fn judge(stream: &Stream, level: f64) -> [Found; 2] {
    let own = Conformal::new(stream.family()).unwrap();
    let mut conformal = own.clone();
    let mut found = [Found::default(); 2];
    for (i, row) in stream.predicted(7, 256).unwrap().iter().enumerate() {
        if i >= WARM_UP {
            found[0].count(&own, &row.predicted, level, row.y);
            found[1].count(&conformal, &row.predicted, level, row.y);
        }
        conformal.learn(&row.predicted, row.y, 1.0);
    }
    assert_eq!(found[1].rows, JUDGED as f64);
    found
}

#[test]
fn coverage_is_nominal_on_every_stream() {
    let mut wrong = 0;
    for stream in &STREAMS {
        for level in [0.9, 0.95] {
            let [own, conformal] = judge(stream, level);
            let error = conformal.coverage() - level;
            let name = stream.name;
            // whole counts hold at least the level
            let most = if stream.family == "poisson" { 1.0 } else { 0.01 };
            assert!((-0.01..=most).contains(&error), "{name}: {} of {level}", conformal.coverage());
            wrong += usize::from((own.coverage() - level).abs() > 0.02);
            if stream.kind == "static" {
                let price = conformal.width / own.width - 1.0;
                assert!(price.abs() < 0.05, "{name}: wider by {price}");
            }
        }
    }
    // the streams are hard: the model's own intervals do not hold on half of them
    assert!(wrong >= STREAMS.len() / 2, "{wrong}");
}

/// Targets of a family around the same linear predictor, with more noise than the family allows.
fn draw(family: &AnyFamily, u: f64, rng: &mut Xoshiro256PlusPlus) -> f64 {
    let noisy = u + 0.5 * (rng.random::<f64>() + rng.random::<f64>() - 1.0);
    family.sample(noisy, rng)
}

#[test]
fn every_family_is_covered() {
    let families = ["gaussian", "student:4", "quantile:0.3", "gamma", "poisson"];
    for name in families.into_iter().chain(["negative-binomial", "binomial:12"]) {
        let family: AnyFamily = name.parse().unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut model = Auto::builder(family, 2).intercept().build().unwrap();
        let mut conformal = Conformal::new(family).unwrap();
        let mut found = Found::default();
        for i in 0..21_000 {
            let x = [1.0, rng.random::<f64>() - 0.5];
            let y = draw(&family, 1.0 + x[1], &mut rng);
            let mut rows = |row: &RowView<'_>| {
                let predicted = Predicted::from(row);
                if i >= 1000 {
                    found.count(&conformal, &predicted, 0.9, y);
                }
                conformal.row(row);
            };
            model.learn_observed(Rows::new(2, &x, &[y]).unwrap(), Some(&mut rows)).unwrap();
        }
        let most = if family.discrete() { 0.09 } else { 0.01 };
        let error = found.coverage() - 0.9;
        assert!((-0.01..=most).contains(&error), "{name}: {}", found.coverage());
    }
}

#[test]
fn a_prediction_is_what_the_observer_will_see() {
    for name in ["gaussian", "student:4", "quantile:0.3", "gamma", "poisson", "negative-binomial"] {
        let family: AnyFamily = name.parse().unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        let mut model = Auto::builder(family, 2).intercept().build().unwrap();
        let mut last = None;
        for i in 0..3000 {
            let x = [1.0, rng.random::<f64>() - 0.5];
            let y = draw(&family, 1.0 + x[1], &mut rng);
            let prediction = model.predict(&x, 0.0).unwrap();
            let expected = Predicted::new(&prediction, model.dispersion());
            let mut seen = |row: &RowView<'_>| last = Some(Predicted::from(row));
            model.learn_observed(Rows::new(2, &x, &[y]).unwrap(), Some(&mut seen)).unwrap();
            let found = last.unwrap();
            if i >= 1000 {
                for (a, b) in [
                    (found.mean, expected.mean),
                    (found.linear, expected.linear),
                    (found.dispersion, expected.dispersion),
                ] {
                    assert!((a - b).abs() <= 0.003 * b.abs(), "{name}, row {i}: {a} {b}");
                }
                // A quantile's prediction reports the sandwich, an observer the members' variance,
                // of which the scale of a score has little.
                let share = if name.starts_with("quantile") { 0.3 } else { 0.003 };
                let (a, b) = (found.variance, expected.variance);
                assert!((a - b).abs() <= share * b.abs(), "{name}, row {i}: {a} {b}");
            }
        }
    }
}

/// Scores are targets: the model predicts 0 with noise 1.
const UNIT: Predicted = Predicted { linear: 0.0, variance: 0.0, dispersion: 1.0, mean: 0.0 };

/// The shares that the 90 % and 95 % intervals hold of what an opponent plays, who sees all of the
/// state before each row.
fn play(rows: usize, mut opponent: impl FnMut(usize, &Conformal) -> f64) -> [f64; 2] {
    let mut conformal = Conformal::new("gaussian".parse().unwrap()).unwrap();
    let mut found = [Found::default(); 2];
    for i in 0..rows {
        let y = opponent(i, &conformal);
        for (found, level) in found.iter_mut().zip([0.9, 0.95]) {
            found.count(&conformal, &UNIT, level, y);
        }
        conformal.learn(&UNIT, y, 1.0);
    }
    found.map(|found| found.coverage())
}

/// Too few rows are held nowhere. Where the scale falls by large factors again and again, a
/// threshold is on its way down most of the time, and somewhat too many are.
fn is_held(held: [f64; 2]) -> bool {
    held.into_iter().zip([0.9, 0.95]).all(|(held, level)| (-0.01..=0.03).contains(&(held - level)))
}

#[test]
fn an_opponent_who_sees_the_interval_cannot_break_it() {
    let rows = 40_000;
    for level in [0.9, 0.95] {
        // misses as narrowly as possible, whenever the bound of 1000 allows
        let above = |_: usize, conformal: &Conformal| {
            let upper = conformal.interval(&UNIT, level).unwrap().upper;
            (upper * (1.0 + 1e-9) + 1e-9).min(1000.0)
        };
        assert!(play(rows, above).into_iter().all(|held| held >= 0.89), "above {level}");
        // the same at both ends in turn
        let both = |i: usize, conformal: &Conformal| {
            let ends = conformal.interval(&UNIT, level).unwrap();
            let beyond = if i.is_multiple_of(2) { ends.upper + 1e-9 } else { ends.lower - 1e-9 };
            beyond.clamp(-1000.0, 1000.0)
        };
        assert!(play(rows, both).into_iter().all(|held| held >= 0.89), "both {level}");
    }
}

#[test]
fn quiet_and_loud_times_keep_the_coverage() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    for length in [100, 700, 5000] {
        for factor in [3.0, 1000.0, 1e8] {
            let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            let held = play(40_000, |i, _| {
                let loud = i / length % 2 == 1;
                if loud { factor * normal() } else { normal() }
            });
            assert!(is_held(held), "blocks of {length}, factor {factor}: {held:?}");
        }
    }
}

/// One stretch of a hostile stream: rows, scale, bias, and the tail of its noise.
fn stretch() -> impl Strategy<Value = (usize, f64, f64, f64)> {
    (200usize..4000, -3.0f64..3.0, -5.0f64..5.0, 0.0f64..1.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_sequence_of_stretches_keeps_the_coverage(
        stretches in prop::collection::vec(stretch(), 1..12),
        seed in any::<u64>(),
    ) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut now = stretches.iter().cycle();
        let (mut left, mut law) = (0, (0, 0.0, 0.0, 0.0));
        let held = play(40_000, |_, _| {
            if left == 0 {
                law = *now.next().unwrap();
                left = law.0;
            }
            left -= 1;
            let (_, scale, bias, tail) = law;
            let u = rng.random::<f64>() - 0.5;
            10f64.powf(scale) * (bias + u / (1.0 - 2.0 * u.abs()).max(1e-3).powf(tail))
        });
        prop_assert!(is_held(held), "{held:?}");
    }
}

/// As model files hold them.
fn bytes(metrics: &Metrics) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(metrics, &mut bytes).unwrap();
    bytes
}

#[test]
fn batches_and_files_do_not_matter() {
    let family: AnyFamily = "gaussian".parse().unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(6);
    let n = 1500;
    let x: Vec<f64> = (0..2 * n).map(|_| rng.random::<f64>()).collect();
    let y: Vec<f64> = x.chunks(2).map(|x| x[0] - x[1] + rng.random::<f64>()).collect();
    let learn = |batch: usize, stored: bool| {
        let mut model = AnyLearner::Auto(Auto::new(family, 2).unwrap());
        let mut metrics = Metrics::new(family).unwrap().with_conformal().unwrap();
        for (x, y) in x.chunks(2 * batch).zip(y.chunks(batch)) {
            model.learn_observed(Rows::new(2, x, y).unwrap(), Some(&mut metrics)).unwrap();
            if stored {
                metrics = ciborium::from_reader(&bytes(&metrics)[..]).unwrap();
                metrics.check(&family).unwrap();
            }
        }
        metrics
    };
    let whole = learn(n, false);
    assert_eq!(whole.conformal().unwrap().rows(), n as u64);
    let upper =
        |metrics: &Metrics| metrics.conformal().unwrap().interval(&UNIT, 0.95).unwrap().upper;
    for batch in [1, 7, 256] {
        let found = learn(batch, true);
        assert!(bytes(&found) == bytes(&learn(batch, false)), "stored after {batch} rows");
        // the learner's predictions depend on batches by rounding alone
        assert!((upper(&found) - upper(&whole)).abs() < 1e-6, "batches of {batch}");
    }
    // metrics of earlier versions have none
    let mut old = serde_json::to_value(&whole).unwrap();
    old.as_object_mut().unwrap().remove("conformal");
    let old: Metrics = serde_json::from_value(old).unwrap();
    assert!(old.conformal().is_none());
}

#[test]
fn merged_thresholds_lie_between_those_of_the_parts() {
    let family: AnyFamily = "gaussian".parse().unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
    let mut part = |scale: f64| {
        let mut conformal = Conformal::new(family).unwrap();
        (0..4000).for_each(|_| conformal.learn(&UNIT, scale * (rng.random::<f64>() - 0.5), 1.0));
        conformal
    };
    let [one, two] = [part(2.0), part(6.0)];
    let merged = one.merged(&two).unwrap();
    let upper = |conformal: &Conformal| conformal.interval(&UNIT, 0.95).unwrap().upper;
    let mean = 0.5 * (upper(&one) + upper(&two));
    assert!((upper(&merged) - mean).abs() < 1e-12);
    assert_eq!(merged.rows(), 8000);
    assert_eq!(merged.report().rows, one.report().rows + two.report().rows);
    merged.check(&family).unwrap();
    let other = Conformal::new("poisson".parse().unwrap()).unwrap();
    assert!(one.merged(&other).is_err());
}
