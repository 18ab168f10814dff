//! Quantiles: pinball losses against a batch fit and stochastic gradients, shares below, and odd
//! streams.

use crate::common::streams::{OddRows, Target, assert_continues, learn_finite};
use crate::common::{Matrix, centered, dot, normal, rng, uniform};
use kalmia::evaluate::Progressive;
use kalmia::{
    AnyFamily, Auto, DriftMode, Ekf, Family, Filter, Learner, MomentMatch, Predict, Prior,
    Quantile, RowView, Rows,
};
use rand_distr::{Distribution, Exp1};

pub const DIM: usize = 11;

/// Skewed noise whose size grows with a feature: every quantile has other coefficients.
pub fn skewed(n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let theta: Vec<f64> = (0..DIM).map(|_| 0.5 * normal(&mut rng)).collect();
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..n {
        let mut row = vec![1.0, 2.0 * uniform(&mut rng)];
        row.extend((2..DIM).map(|_| normal(&mut rng)));
        let noise: f64 = Exp1.sample(&mut rng);
        y.push(dot(&row, &theta) + (0.5 + row[1]) * (noise - 1.0));
        x.extend(row);
    }
    (x, y)
}

pub fn learner(tau: f64, dim: usize) -> Auto<Quantile> {
    Auto::builder(Quantile::new(tau).unwrap(), dim).intercept().build().unwrap()
}

fn pinball(tau: f64, x: &[f64], y: &[f64], theta: &[f64]) -> f64 {
    let family = Quantile::new(tau).unwrap();
    let loss = |(x, y): (&[f64], &f64)| family.pinball(*y, dot(x, theta));
    x.chunks(theta.len()).zip(y).map(loss).sum::<f64>() / y.len() as f64
}

/// Least pinball loss by iteratively reweighted least squares.
fn batch(tau: f64, dim: usize, x: &[f64], y: &[f64]) -> Vec<f64> {
    let mut theta = vec![0.0; dim];
    for round in 0..120 {
        let mut gram = Matrix::new(vec![0.0; dim * dim]);
        let mut right = vec![0.0; dim];
        for (x, y) in x.chunks(dim).zip(y) {
            let residual = y - dot(x, &theta);
            let side = if residual < 0.0 { 1.0 - tau } else { tau };
            let smallest = if round < 20 { 0.1 } else { 1e-4 };
            let weight = if round == 0 { 1.0 } else { side / residual.abs().max(smallest) };
            for i in 0..dim {
                right[i] += weight * x[i] * y;
                for j in 0..dim {
                    gram.a[i * dim + j] += weight * x[i] * x[j];
                }
            }
        }
        theta = gram.inverse().times(&right);
    }
    theta
}

/// Progressive pinball loss of stochastic gradients with the rate `rate / sqrt(t)`.
fn gradients(tau: f64, rate: f64, x: &[f64], y: &[f64]) -> f64 {
    let mut theta = vec![0.0; DIM];
    let mut total = 0.0;
    for (t, (x, y)) in x.chunks(DIM).zip(y).enumerate() {
        let residual = y - dot(x, &theta);
        let slope = if residual < 0.0 { tau - 1.0 } else { tau };
        total += slope * residual;
        let step = rate * slope / ((t + 1) as f64).sqrt();
        theta.iter_mut().zip(x).for_each(|(t, x)| *t += step * x);
    }
    total / y.len() as f64
}

#[test]
fn one_pass_comes_close_to_the_batch_fit() {
    let (x, y) = skewed(20_000, 1);
    for tau in [0.1, 0.5, 0.9] {
        let mut auto = learner(tau, DIM);
        let progressive = Progressive::new(Quantile::new(tau).unwrap().into());
        let mut below = 0;
        let count = |row: &RowView<'_>| below += usize::from(row.observation.y < row.mean);
        let rows = Rows::new(DIM, &x, &y).unwrap();
        let mut observers = (progressive, count);
        auto.learn_observed(rows, Some(&mut observers)).unwrap();
        let report = observers.0.report();
        let best = pinball(tau, &x, &y, &batch(tau, DIM, &x, &y));
        let last = pinball(tau, &x, &y, &auto.coefficients());
        let sgd = [0.03, 0.1, 0.3, 1.0].map(|rate| gradients(tau, rate, &x, &y));
        let sgd = sgd.into_iter().fold(f64::INFINITY, f64::min);
        let share = below as f64 / y.len() as f64;
        println!(
            "tau {tau}: progressive {:.4}, at the end {last:.4}, batch {best:.4}, best of four \
             gradient rates {sgd:.4}, constant {:.4}, below {share:.4}, scale {:.4}",
            report.loss,
            report.constant_loss,
            auto.dispersion(),
        );
        assert!(last < 1.001 * best, "{last} {best}");
        assert!(report.loss < 1.015 * best, "{} {best}", report.loss);
        assert!(report.loss < sgd && report.loss < 0.8 * report.constant_loss);
        assert!((share - tau).abs() < 0.006, "{share}");
        assert!((auto.dispersion() / report.loss - 1.0).abs() < 0.1, "{}", auto.dispersion());
    }
}

/// Sorted predictions of several levels do not cross, and cost no more.
#[test]
fn sorting_removes_crossings() {
    let (x, y) = skewed(3000, 2);
    let levels = [0.1, 0.3, 0.5, 0.7, 0.9];
    let mut learners = levels.map(|tau| learner(tau, DIM));
    for learner in &mut learners {
        learner.learn(Rows::new(DIM, &x, &y).unwrap()).unwrap();
    }
    let mut apart = 0.0;
    let mut sorted = 0.0;
    let mut crossings = 0;
    for (x, y) in x.chunks(DIM).zip(&y) {
        let mut found = learners.each_ref().map(|l| l.predict(x, 0.0).unwrap().mean);
        let loss = |found: &[f64; 5]| -> f64 {
            let each = levels.iter().zip(found);
            each.map(|(tau, u)| Quantile::new(*tau).unwrap().pinball(*y, *u)).sum()
        };
        apart += loss(&found);
        crossings += usize::from(!found.is_sorted());
        found.sort_by(f64::total_cmp);
        sorted += loss(&found);
    }
    println!("{crossings} of {} rows cross", y.len());
    assert!(sorted <= apart * (1.0 + 1e-12), "{sorted} {apart}");
    assert!(crossings < y.len() / 50, "{crossings}");
}

/// Units and zero of the target change predictions by just that.
#[test]
fn shifting_and_scaling_the_target_does_just_that() {
    let (x, y) = skewed(700, 3);
    let means = |scale: f64, shift: f64| {
        let moved: Vec<f64> = y.iter().map(|y| scale * y + shift).collect();
        let mut means = Vec::new();
        let mut auto = learner(0.8, DIM);
        let mut watch = |row: &RowView<'_>| means.push((row.mean - shift) / scale);
        auto.learn_observed(Rows::new(DIM, &x, &moved).unwrap(), Some(&mut watch)).unwrap();
        means
    };
    let plain = means(1.0, 0.0);
    for (scale, shift) in [(1e-6, 0.0), (1e9, 0.0), (1.0, 40.0), (30.0, -1e4)] {
        for (i, (a, b)) in means(scale, shift).iter().zip(&plain).enumerate().skip(3) {
            assert!((a - b).abs() < 1e-5, "{scale} {shift}, row {i}: {a} {b}");
        }
    }
}

#[test]
fn one_outlier_does_not_ruin_it() {
    let (x, mut y) = skewed(6000, 4);
    let best = pinball(0.9, &x, &y, &batch(0.9, DIM, &x, &y));
    let clean = y.clone();
    y[2000] = 1e6;
    y[2500] = -1e6;
    let mut auto = learner(0.9, DIM);
    auto.learn(Rows::new(DIM, &x, &y).unwrap()).unwrap();
    let found = pinball(0.9, &x, &clean, &auto.coefficients());
    println!("pinball {found:.4} against {best:.4}, scale {:.4}", auto.dispersion());
    assert!(found < 1.01 * best, "{found} {best}");
    assert!(auto.dispersion() < 1.3 * best, "{}", auto.dispersion());
}

#[test]
fn odd_streams_stay_finite() {
    let rows = OddRows::new(3000, 5);
    let x = rows.x();
    let streams: [(&str, Target); 5] = [
        ("constant", |_, _| 3.0),
        ("zero", |_, _| 0.0),
        ("exact fit", |x, _| 2.0 * x[1] - x[2] + 5.0),
        ("two values", |_, i| f64::from(i % 3 == 0)),
        ("huge", |x, i| 1e100 * (x[1] + (i % 7) as f64)),
    ];
    for (name, target) in streams {
        let y = rows.targets(target);
        for tau in [0.05, 0.5] {
            let mut auto = learner(tau, OddRows::DIM);
            learn_finite(&mut auto, Rows::new(OddRows::DIM, x, &y).unwrap(), name);
            let size = y.iter().fold(1e-3, |size: f64, y| size.max(y.abs()));
            let best = pinball(tau, x, &y, &[if name == "constant" { 3.0 } else { 0.0 }, 0.0, 0.0]);
            let found = pinball(tau, x, &y, &auto.coefficients());
            assert!(found <= best + 0.02 * size, "{name}, tau {tau}: {found} {best}");
        }
    }
}

/// Targets on a grid: the first ones equal, the others of a few levels. The mean of equal targets
/// is off by rounding, so they seem to have a tiny spread.
#[test]
fn targets_on_a_grid_do_not_diverge() {
    for seed in 0..80 {
        let mut rng = rng(seed);
        let dim = 2 + seed as usize % 4;
        let equal_rows = seed as usize % 20;
        let step = [0.1, 1.0, 1e-3, 7e5][seed as usize % 4];
        let mut x = Vec::new();
        let mut y = Vec::new();
        for i in 0..150 {
            x.push(1.0);
            x.extend((1..dim).map(|_| (30.0 * uniform(&mut rng)).floor() / 10.0));
            let level = if i < equal_rows { 0 } else { (3.0 * uniform(&mut rng)) as u8 };
            y.push(0.2 + step * f64::from(level));
        }
        let rows = Rows::new(dim, &x, &y).unwrap();
        for name in ["quantile:0.1", "quantile:0.5", "quantile:0.99", "student"] {
            let family: AnyFamily = name.parse().unwrap();
            let mut auto = Auto::builder(family, dim).intercept().build().unwrap();
            learn_finite(&mut auto, rows, &format!("{name}, seed {seed}"));
        }
    }
}

/// 400 equal targets leave no scale. The rows after them are learned as by a fresh learner, in any
/// unit, however they are cut into batches.
#[test]
fn a_start_of_equal_targets_is_forgotten_with_the_first_other_one() {
    for (unit, shift, only) in
        [(1e3, 0.0, 0.0), (1e-6, 0.0, 0.0), (1e9, -3e9, 7e8), (1.0, 0.0, 3.0)]
    {
        let mut rng = rng(9);
        let mut x = Vec::new();
        let mut y = Vec::new();
        for i in 0..1400 {
            let row = [1.0, centered(&mut rng)];
            let noise = normal(&mut rng);
            y.push(if i < 400 { only } else { shift + unit * (5.0 + row[1] + noise) });
            x.extend(row);
        }
        for tau in [0.1, 0.5, 0.9] {
            let mut auto = learner(tau, 2);
            let mut means = Vec::new();
            let mut watch = |row: &RowView<'_>| means.push(row.mean);
            auto.learn_observed(Rows::new(2, &x, &y).unwrap(), Some(&mut watch)).unwrap();
            let mut fresh = learner(tau, 2);
            let mut expected = Vec::new();
            let mut watch = |row: &RowView<'_>| expected.push(row.mean);
            let later = Rows::new(2, &x[800..], &y[400..]).unwrap();
            fresh.learn_observed(later, Some(&mut watch)).unwrap();
            let family = Quantile::new(tau).unwrap();
            let loss = |means: &[f64]| -> f64 {
                // all but the first other target, which nobody can know
                let rows = y[401..].iter().zip(&means[1..]);
                rows.map(|(y, mean)| family.pinball(*y, *mean)).sum()
            };
            let ratio = loss(&means[400..]) / loss(&expected);
            println!("unit {unit}, tau {tau}: {ratio:.4} of a fresh learner's loss");
            assert!((ratio - 1.0).abs() < 0.01, "{unit} {tau}: {ratio}");
            assert_eq!(auto.count(), 1400);
            // one row at a time
            let mut single = learner(tau, 2);
            for i in 0..1400 {
                single.learn(Rows::new(2, &x[2 * i..][..2], &y[i..=i]).unwrap()).unwrap();
                if i == 399 || i == 450 {
                    single = Auto::restore(single.state()).unwrap();
                }
            }
            let pairs =
                single.coefficients().to_vec().into_iter().zip(auto.coefficients().to_vec());
            for (one, two) in pairs {
                assert!((one - two).abs() < 1e-6 * unit, "{one} {two}");
            }
        }
    }
}

#[test]
fn a_restored_learner_continues_bit_for_bit() {
    for drift in [DriftMode::Off, DriftMode::Adapt] {
        let (x, y) = skewed(900, 6);
        let family: AnyFamily = "quantile:0.8".parse().unwrap();
        let auto = Auto::builder(family, DIM).intercept().drift(drift).build().unwrap();
        assert_continues(auto, Rows::new(DIM, &x, &y).unwrap());
    }
}

/// A filter with the scale given; the plain Kalman step, with the expected curvature, is no better.
#[test]
fn a_filter_with_a_known_scale_is_close_too() {
    let (x, y) = skewed(8000, 7);
    let family = Quantile::new(0.5).unwrap().with_scale(0.6).unwrap();
    let best = pinball(0.5, &x, &y, &batch(0.5, DIM, &x, &y));
    let prior = || Prior::isotropic(DIM, 10.0).unwrap();
    let rows = Rows::new(DIM, &x, &y).unwrap();
    let mut matched = Filter::new(family, MomentMatch, prior()).unwrap();
    matched.learn(rows).unwrap();
    let mut plain = Filter::new(family, Ekf, prior()).unwrap();
    plain.learn(rows).unwrap();
    let found = pinball(0.5, &x, &y, &matched.coefficients());
    let other = pinball(0.5, &x, &y, &plain.coefficients());
    println!("moment matching {found:.5}, extended Kalman {other:.5}, batch {best:.5}");
    assert!(found < 1.001 * best && found <= other && other < 1.05 * best, "{found} {other}");
}

#[test]
fn a_change_is_followed() {
    let mut rng = rng(8);
    let mut x = Vec::new();
    let mut y = Vec::new();
    for i in 0..6000 {
        let row = [1.0, centered(&mut rng)];
        let slope = if i < 3000 { 2.0 } else { -2.0 };
        y.push(slope * row[1] + normal(&mut rng));
        x.extend(row);
    }
    let builder = Auto::builder(Quantile::new(0.5).unwrap(), 2).intercept();
    let mut auto = builder.drift(DriftMode::Detect).build().unwrap();
    auto.learn(Rows::new(2, &x, &y).unwrap()).unwrap();
    assert!(auto.is_following(), "{:?}", auto.drift_report());
    let slope = auto.coefficients()[1];
    assert!((slope + 2.0).abs() < 0.3, "{slope}");
}

/// Away from the kink; the second derivative is the mean square of the first under the law.
#[test]
fn derivatives_are_those_of_the_loss() {
    for (tau, scale) in [(0.02, 1.0), (0.5, 0.3), (0.9, 7.0)] {
        let family = Quantile::new(tau).unwrap().with_scale(scale).unwrap();
        for k in -40..=40 {
            let u = 0.25 * f64::from(k) + 0.1;
            let (first, second) = family.derivatives(0.0, u);
            let slope = (family.loss(0.0, u + 0.01) - family.loss(0.0, u - 0.01)) / 0.02;
            assert!((slope - first).abs() < 1e-9 * (1.0 + first.abs()), "{tau} {u}");
            let below = family.derivatives(0.0, 1.0).0;
            let above = family.derivatives(0.0, -1.0).0;
            // u exceeds y with probability tau
            let square = tau * below * below + (1.0 - tau) * above * above;
            assert!((second / square - 1.0).abs() < 1e-12, "{tau}: {second} {square}");
        }
        assert_eq!(family.derivatives(2.0, 2.0).0, 0.0);
    }
}

#[test]
fn bad_input_is_refused() {
    for tau in [0.0, 1.0, -0.1, 1.5, f64::NAN] {
        assert!(Quantile::new(tau).is_err(), "{tau}");
    }
    assert!(Quantile::new(0.5).unwrap().with_scale(0.0).is_err());
    assert!("quantile:1".parse::<AnyFamily>().is_err());
    assert_eq!("quantile".parse::<AnyFamily>().unwrap(), Quantile::new(0.5).unwrap().into());
    let mut auto = learner(0.5, 1);
    for bad in [f64::NAN, f64::INFINITY, 1e121] {
        let targets = [bad];
        let error = auto.learn(Rows::new(1, &[1.0], &targets).unwrap()).unwrap_err();
        assert!(error.to_string().contains("finite"), "{error}");
    }
}
