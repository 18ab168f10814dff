//! Predictions of learners: batches against single rows, quantiles, and intervals that contain
//! their mean.

use crate::common::rng;
use kalmia::learner::DriftMode;
use kalmia::predict::{MixturePrediction, Prediction, Predictive};
use kalmia::rule::AnyRule;
use kalmia::{
    AnyFamily, AnyLearner, Auto, Dense, Family, Filter, Inputs, Learner, MomentMatch, Predict,
    Prior, Rows,
};
use rand::RngExt;

const FAMILIES: [&str; 9] = [
    "gaussian",
    "bernoulli",
    "binomial:9",
    "poisson",
    "gamma:0.5",
    "binomial",
    "negative-binomial:0.5",
    "quantile:0.8",
    "student",
];

/// Rows of a linear predictor that the families share: the constant, then uniform features.
fn rows(family: AnyFamily, dim: usize, n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let x: Vec<f64> = (0..dim * n)
        .map(|i| if i % dim == 0 { 1.0 } else { rng.random_range(-1.0..1.0) })
        .collect();
    let y = x
        .chunks(dim)
        .map(|row| family.sample(row.iter().take(4).map(|x| 0.5 * x).sum(), &mut rng))
        .collect();
    (x, y)
}

fn auto(family: AnyFamily, dim: usize, n: usize, drift: DriftMode) -> Auto<AnyFamily> {
    let (x, y) = rows(family, dim, n, 3);
    let mut auto = Auto::builder(family, dim).intercept().drift(drift).build().unwrap();
    auto.learn(Rows::new(dim, &x, &y).unwrap()).unwrap();
    auto
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-12 * (1.0 + a.abs().max(b.abs()))
}

/// A batch, its means and its labels are those of the rows one by one.
fn batch_is_rows<L: Predict>(learner: &L, rows: usize, what: &str)
where
    L::Prediction: Summary,
{
    let dim = learner.dim();
    let mut rng = rng(9);
    let mut x: Vec<f64> = (0..rows * dim).map(|_| rng.random_range(-1.5..1.5)).collect();
    x.iter_mut().step_by(dim).for_each(|x| *x = 1.0);
    let offset: Vec<f64> = (0..rows).map(|_| rng.random_range(-0.3..0.3)).collect();
    let inputs = Inputs::new(dim, &x).unwrap().with_offsets(&offset).unwrap();
    let mut means = vec![f64::NAN; rows];
    let mut labels = vec![false; rows];
    learner.predict_means(inputs, &mut means).unwrap();
    learner.predict_labels(inputs, &mut labels).unwrap();
    let mut seen = 0;
    learner
        .predict_many(inputs, &mut |i, prediction| {
            assert_eq!(i, seen);
            seen += 1;
            let alone = learner.predict(&x[i * dim..(i + 1) * dim], offset[i])?;
            for (a, b) in prediction.summary().into_iter().zip(alone.summary()) {
                assert!(close(a, b), "{what}, row {i}: {a} {b}");
            }
            assert!(close(means[i], alone.mean()), "{what}, row {i}: {} ", means[i]);
            assert_eq!(labels[i], alone.mean() > 0.5, "{what}, row {i}");
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, rows, "{what}");
}

/// What a prediction says in numbers.
trait Summary {
    fn summary(&self) -> [f64; 4];
}

impl<F: Family> Summary for Prediction<F> {
    fn summary(&self) -> [f64; 4] {
        [self.mean, self.plug_in, self.linear, self.linear_variance]
    }
}

impl<F: Family> Summary for MixturePrediction<F> {
    fn summary(&self) -> [f64; 4] {
        [self.mean, self.plug_in, self.linear, self.linear_variance]
    }
}

#[test]
fn a_batch_predicts_as_row_by_row() {
    for name in FAMILIES {
        let family: AnyFamily = name.parse().unwrap();
        for (dim, n) in [(2, 3), (5, 100), (11, 700), (40, 300)] {
            for drift in [DriftMode::Off, DriftMode::Adapt] {
                let auto = auto(family, dim, n, drift);
                for count in [1, 3, 300] {
                    batch_is_rows(&auto, count, &format!("auto {name} {dim} {drift:?}"));
                }
                batch_is_rows(&AnyLearner::Auto(auto), 70, name);
            }
            let (x, y) = rows(family, dim, n, 4);
            let learned = Rows::new(dim, &x, &y).unwrap();
            let prior = || Prior::isotropic(dim, 2.0).unwrap();
            let mut filter = Filter::new(family, MomentMatch, prior()).unwrap();
            filter.learn(learned).unwrap();
            batch_is_rows(&filter, 300, &format!("filter {name} {dim}"));
            let mut dense = Filter::with_covariance::<Dense>(family, MomentMatch, prior()).unwrap();
            dense.learn(learned).unwrap();
            batch_is_rows(&dense, 90, &format!("dense {name} {dim}"));
        }
    }
}

#[test]
fn features_that_no_row_had_widen_a_batch_as_they_widen_a_row() {
    let mut auto = auto("gaussian".parse().unwrap(), 3, 60, DriftMode::Off);
    auto.grow().unwrap();
    batch_is_rows(&auto, 300, "grown");
}

#[test]
fn an_unseen_level_adds_the_prior_variance_of_one() {
    let family: AnyFamily = "bernoulli".parse().unwrap();
    let (x, y) = rows(family, 3, 200, 5);
    let learned = Rows::new(3, &x, &y).unwrap();
    let at = [1.0, 0.2, -0.4];
    let widened = |learner: &AnyLearner, unseen: u32| {
        let mut variance = f64::NAN;
        let unseen = [unseen];
        let inputs = Inputs::new(3, &at).unwrap().with_unseen(&unseen).unwrap();
        let mut take = |_: usize, prediction: &MixturePrediction<AnyFamily>| {
            variance = prediction.linear_variance;
            Ok(())
        };
        learner.predict_many(inputs, &mut take).unwrap();
        variance
    };
    let prior = Prior::isotropic(3, 2.5).unwrap();
    let mut filter = AnyLearner::Filter(Filter::new(family, AnyRule::Ekf, prior).unwrap());
    filter.learn(learned).unwrap();
    let known = widened(&filter, 0);
    assert!((widened(&filter, 2) - known - 5.0).abs() < 1e-12);

    // the default learner: as if the level were a feature that appears in this row
    let mut auto = Auto::builder(family, 3).intercept().build().unwrap();
    auto.learn(learned).unwrap();
    let mut grown = auto.clone();
    grown.grow().unwrap();
    let feature = grown.predict(&[1.0, 0.2, -0.4, 1.0], 0.0).unwrap();
    let auto = AnyLearner::Auto(auto);
    let found = widened(&auto, 1);
    assert!((found / feature.linear_variance - 1.0).abs() < 1e-12, "{found}");
    assert!(found > 1.5 * widened(&auto, 0));
}

#[test]
fn illegal_rows_are_named() {
    let auto = auto("poisson".parse().unwrap(), 2, 50, DriftMode::Off);
    let mut x = vec![1.0; 20];
    x[13] = f64::NAN;
    let mut means = [0.0; 10];
    let error = auto.predict_means(Inputs::new(2, &x).unwrap(), &mut means).unwrap_err();
    assert_eq!(error.row(), Some(6));
    assert!(Inputs::new(3, &x).is_err());
    let inputs = Inputs::new(2, &x[..12]).unwrap();
    assert!(inputs.with_offsets(&[0.0; 5]).is_err());
    assert!(auto.predict_means(inputs, &mut means).is_err(), "means for other rows");
    let offset = [0.0, 0.0, f64::NAN, 0.0, 0.0, 0.0];
    let inputs = inputs.with_offsets(&offset).unwrap();
    assert!(auto.predict_many(inputs, &mut |_, _| Ok(())).is_err());
}

#[test]
fn the_interval_of_the_mean_contains_the_mean() {
    for name in FAMILIES {
        let family: AnyFamily = name.parse().unwrap();
        for n in [1, 2, 5, 50] {
            let auto = auto(family, 3, n, DriftMode::Off);
            for far in [0.1, 3.0, 100.0, -1e4, 1e6] {
                let next = auto.predict(&[1.0, far, 0.3], 0.0).unwrap();
                assert!(next.linear_deviation().is_finite(), "{name} n {n}");
                for level in [0.5, 0.9, 0.95] {
                    let mean = next.mean_interval(level).unwrap();
                    let what = format!("{name} n {n} far {far} level {level}: {mean:?}");
                    assert!(mean.lower <= next.mean && next.mean <= mean.upper, "{what}");
                    let y = next.interval(level).unwrap();
                    assert!(y.lower <= y.upper, "{what} {y:?}");
                }
            }
        }
    }
}

/// Beyond the cap of the exponential nothing is known, and the intervals say so.
#[test]
fn far_outside_the_data_intervals_of_counts_are_open() {
    for name in ["poisson", "gamma:0.5", "negative-binomial:0.5"] {
        let far = Prediction::new(name.parse::<AnyFamily>().unwrap(), 1e3, 4.0).unwrap();
        for interval in [far.interval(0.9).unwrap(), far.mean_interval(0.9).unwrap()] {
            assert_eq!(interval.upper, f64::INFINITY, "{name}");
            assert!(interval.lower <= far.mean && interval.lower > 0.0, "{name} {interval:?}");
        }
        let near = Prediction::new(name.parse::<AnyFamily>().unwrap(), 100.0, 4.0).unwrap();
        assert!(near.interval(0.9).unwrap().upper.is_finite());
    }
}

#[test]
fn quantiles_invert_the_distribution_for_every_family() {
    for name in FAMILIES {
        let family: AnyFamily = name.parse().unwrap();
        for n in [3, 40, 300, 3000] {
            let mixture = auto(family, 4, n, DriftMode::Off).predict(&[1.0, 0.4, -0.2, 0.9], 0.0);
            let mixture = mixture.unwrap();
            let alone = mixture.parts()[0].1.clone();
            for q in [1e-6, 0.025, 0.5, 0.975, 1.0 - 1e-6] {
                let u = mixture.linear_quantile(q);
                let p: f64 = mixture.parts().iter().map(|(w, part)| w * part.linear_cdf(u)).sum();
                assert!((p - q).abs() <= 1e-9, "{name} n {n} q {q}: u {u} {p}");
            }
            for next in [&mixture as &dyn Predictive, &alone] {
                for q in [1e-6, 0.025, 0.5, 0.975, 1.0 - 1e-6] {
                    let y = next.quantile(q);
                    let p = next.cdf(y);
                    let what = format!("{name} n {n} q {q}: {y} {p}");
                    if family.discrete() {
                        // beyond 2^53 the next smaller number
                        let before = if y < 1e15 { y - 1.0 } else { y * (1.0 - 1e-9) };
                        assert!(p >= q - 1e-9 && next.cdf(before) < q + 1e-9, "{what}");
                    } else {
                        assert!((p - q).abs() <= 1e-9, "{what}");
                    }
                }
            }
        }
    }
}
