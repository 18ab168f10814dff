//! How good predictions and standard errors are on rows of a true softmax model.

use super::data::{Rows4, chances, losses};
use crate::common::{Matrix, rng};
use kalmia::{Categorical, Rows};

/// A batch fit; class 0 is the reference.
struct Fit {
    theta: Vec<[f64; 4]>,
    /// Of the coefficients of the classes from 1 on.
    covariance: Matrix,
}

/// The batch fit of the first `classes` classes by Newton's method.
fn batch_fit(data: &Rows4, classes: usize) -> Fit {
    let mut theta = vec![[0.0; 4]; classes];
    let mut covariance = Matrix::identity(4 * (classes - 1));
    let size = 4 * (classes - 1);
    for _ in 0..12 {
        let mut gradient = vec![0.0; size];
        let mut information = vec![0.0; size * size];
        for (x, y) in data.x.chunks_exact(4).zip(&data.y) {
            let p = chances(&theta, x);
            for a in 0..size {
                let k = a / 4 + 1;
                gradient[a] += (f64::from(*y == k as f64) - p[k]) * x[a % 4];
                for b in 0..size {
                    let l = b / 4 + 1;
                    let weight = p[k] * (f64::from(k == l) - p[l]);
                    information[a * size + b] += weight * x[a % 4] * x[b % 4];
                }
            }
        }
        covariance = Matrix::new(information).inverse();
        let step = covariance.times(&gradient);
        for (a, step) in step.iter().enumerate() {
            theta[a / 4 + 1][a % 4] += step;
        }
    }
    Fit { theta, covariance }
}

/// The mean loss on rows that were not learned.
fn held_out(data: &Rows4, predict: impl Fn(&[f64]) -> Vec<f64>) -> f64 {
    let loss = |(x, y): (&[f64], &f64)| -predict(x)[*y as usize].ln();
    data.x.chunks_exact(4).zip(&data.y).map(loss).sum::<f64>() / data.y.len() as f64
}

#[test]
fn one_pass_predicts_as_well_as_a_batch_fit_and_is_calibrated() {
    let train = Rows4::draw(&mut rng(11), 4, 1500);
    let test = Rows4::draw(&mut rng(12), 4, 4000);
    let mut learner = Categorical::builder(4, 4).intercept().build().unwrap();
    learner.learn(train.rows()).unwrap();
    let theta = batch_fit(&train, 4).theta;
    let batch = held_out(&test, |x| chances(&theta, x));
    let online = held_out(&test, |x| learner.predict(x).unwrap());
    println!("held-out loss {online:.4}, batch fit {batch:.4}");
    assert!(online < 1.02 * batch, "{online} {batch}");
    // per tenth of the predicted probability: as many events as predicted, within 4 deviations
    for class in 0..4 {
        let mut expected = [0.0; 10];
        let mut variance = [0.0; 10];
        let mut observed = [0.0; 10];
        for (x, y) in test.x.chunks_exact(4).zip(&test.y) {
            let p = learner.predict(x).unwrap()[class];
            let bin = ((10.0 * p) as usize).min(9);
            expected[bin] += p;
            variance[bin] += p * (1.0 - p);
            observed[bin] += f64::from(*y == class as f64);
        }
        for bin in 0..10 {
            let away = observed[bin] - expected[bin];
            // an error of the coefficients moves all rows of a bin together: 3 % of them
            let allowed = 4.0 * variance[bin].sqrt() + 0.03 * expected[bin] + 1.0;
            assert!(away.abs() <= allowed, "class {class}, bin {bin}: {away} of {allowed}");
        }
    }
}

#[test]
fn standard_errors_of_differences_have_the_right_size() {
    let mut from_batch = 0.0;
    let mut ratio = 0.0;
    let mut terms = 0.0;
    for seed in 0..12 {
        let data = Rows4::draw(&mut rng(100 + seed), 4, 1200);
        let mut learner = Categorical::builder(4, 4).intercept().build().unwrap();
        learner.learn(data.rows()).unwrap();
        let fit = batch_fit(&data, 4);
        for (class, theta) in fit.theta.iter().enumerate().skip(1) {
            let contrast = learner.contrast(class, 0).unwrap();
            let errors = contrast.standard_errors();
            for j in 0..4 {
                let at = 4 * (class - 1) + j;
                let batch_variance = fit.covariance.at(at, at);
                from_batch += (contrast.coefficients[j] - theta[j]).powi(2) / batch_variance;
                ratio += errors[j].powi(2) / batch_variance;
                terms += 1.0;
            }
        }
    }
    let relative: f64 = ratio / terms;
    assert!(relative > 0.8 && relative < 1.25, "{relative}");
    // one pass and the prior keep the coefficients within a standard error of the batch fit
    let away: f64 = from_batch / terms;
    assert!(away < 0.5, "{away}");
}

#[test]
fn a_late_class_is_learned_and_disturbs_the_others_little() {
    let mut three = Rows4::draw(&mut rng(13), 3, 800);
    let four = Rows4::draw(&mut rng(14), 4, 800);
    let mut late = Categorical::builder(3, 4).intercept().build().unwrap();
    late.learn(three.rows()).unwrap();
    let before = late.predict(&[1.0, 0.0, 1.0, 0.0]).unwrap();
    late.grow_class().unwrap();
    let after = late.predict(&[1.0, 0.0, 1.0, 0.0]).unwrap();
    assert!(after[3] > 1e-5 && after[3] < 0.05, "{after:?}");
    for k in 0..3 {
        assert!((after[k] - before[k]).abs() < 0.05, "{before:?} {after:?}");
    }
    let mut known = Categorical::builder(4, 4).intercept().build().unwrap();
    known.learn(three.rows()).unwrap();
    let late_loss: f64 = losses(&mut late, four.rows()).iter().sum();
    let known_loss: f64 = losses(&mut known, four.rows()).iter().sum();
    println!("loss after the change: {late_loss:.1}, known from the start: {known_loss:.1}");
    assert!(late_loss < known_loss + 20.0, "{late_loss} {known_loss}");
    // during the warm-up the class counts as known from the start
    three.x.truncate(4 * 50);
    three.y.truncate(50);
    let mut early = Categorical::builder(3, 4).intercept().build().unwrap();
    early.learn(three.rows()).unwrap();
    early.grow_class().unwrap();
    early.learn(four.rows()).unwrap();
    assert_eq!(early.classes(), 4);
    assert!(early.predict(&[1.0, 1.0, 1.0, 1.0]).unwrap()[3] > 0.1);
}

#[test]
fn a_late_feature_changes_nothing_before_its_first_value() {
    let data = Rows4::draw(&mut rng(15), 3, 600);
    let narrow: Vec<f64> = data.x.chunks_exact(4).flat_map(|x| x[..3].to_vec()).collect();
    let padded: Vec<f64> = data.x.chunks_exact(4).flat_map(|x| [x[0], x[1], x[2], 0.0]).collect();
    for grown_after in [50, 300] {
        let mut grown = Categorical::builder(3, 3).intercept().build().unwrap();
        let mut wide = Categorical::builder(3, 4).intercept().build().unwrap();
        let rows = Rows::new(3, &narrow, &data.y).unwrap();
        let padded = Rows::new(4, &padded, &data.y).unwrap();
        let first = losses(&mut grown, rows.slice(0..grown_after));
        grown.grow().unwrap();
        let expected = losses(&mut wide, padded.slice(0..grown_after));
        let agrees = |a: &f64, b: &f64| (a - b).abs() < 1e-9;
        assert!(first.iter().zip(&expected).all(|(a, b)| agrees(a, b)));
        let rest = data.rows().slice(grown_after..600);
        let a = losses(&mut grown, rest);
        let b = losses(&mut wide, rest);
        assert_eq!(a.len(), b.len());
        assert!(a.iter().zip(&b).all(|(a, b)| agrees(a, b)));
        assert!(grown.contrast(2, 0).unwrap().coefficients[3] < -0.5);
    }
}
