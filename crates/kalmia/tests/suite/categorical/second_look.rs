//! The second look at the first rows.

use super::data::{Rows4, clusters};
use crate::common::{centered, rng};
use kalmia::learner::CategoricalState;
use kalmia::sums::{ClassSums, polish_classes};
use kalmia::{Categorical, DriftMode, Rows};
use serde_json::{Value, json};

const DIM: usize = 11;

fn learner(drift: DriftMode) -> Categorical {
    Categorical::builder(5, DIM).intercept().drift(drift).build().unwrap()
}

fn state(learner: &Categorical) -> Value {
    serde_json::to_value(learner.state()).unwrap()
}

fn restored(state: Value) -> kalmia::Result<Categorical> {
    Categorical::restore(serde_json::from_value::<CategoricalState>(state).unwrap())
}

/// Rows that the learner remembers.
fn remembered(learner: &Categorical) -> Option<usize> {
    Some(state(learner).get("remembered")?["y"].as_array().unwrap().len())
}

/// The learner without the rows that it remembers.
fn forgetful(learner: &Categorical) -> Categorical {
    let mut state = state(learner);
    state.as_object_mut().unwrap().remove("remembered").unwrap();
    restored(state).unwrap()
}

fn held_out(learner: &Categorical, x: &[f64], y: &[f64]) -> f64 {
    let loss = |(x, y): (&[f64], &f64)| -learner.predict(x).unwrap()[*y as usize].ln();
    x.chunks_exact(DIM).zip(y).map(loss).sum::<f64>() / y.len() as f64
}

/// Clusters overlap a little, so that a batch fit has finite coefficients and early steps are poor.
/// The looks of the warm-up, which both learners have, are tested beside the code.
#[test]
fn looks_after_the_warm_up_lower_held_out_losses() {
    let mut with = 0.0;
    let mut without = 0.0;
    for seed in 0..8 {
        let (x, y) = clusters(100 + seed, 1512);
        let (train, test) = x.split_at(512 * DIM);
        let rows = Rows::new(DIM, train, &y[..512]).unwrap();
        let mut learner = learner(DriftMode::Detect);
        learner.learn(rows.slice(0..128)).unwrap();
        let mut forgetful = forgetful(&learner);
        learner.learn(rows.slice(128..512)).unwrap();
        forgetful.learn(rows.slice(128..512)).unwrap();
        with += held_out(&learner, test, &y[512..]);
        without += held_out(&forgetful, test, &y[512..]);
    }
    println!("held-out loss {:.4}, without a second look {:.4}", with / 8.0, without / 8.0);
    assert!(with < 0.99 * without, "{with} {without}");
}

/// Where planes separate the classes, means under wide priors are far from the mode.
#[test]
fn a_polish_starts_from_the_prior_that_predicted_best_in_one_pass() {
    let (x, y) = clusters(100, 512);
    let rows = Rows::new(DIM, &x, &y).unwrap();
    let mut learner = learner(DriftMode::Off);
    assert_eq!(learner.polishing_start(), learner.coefficients_against_first());
    learner.learn(rows).unwrap();
    assert_ne!(learner.polishing_start(), learner.coefficients_against_first());
    let objective = |theta: &[f64]| {
        let prior = learner.polishing_prior().unwrap();
        let mut sums = ClassSums::new(5, theta).unwrap();
        sums.add(rows).unwrap();
        let dim = theta.len();
        let pull = prior.matrix().chunks_exact(dim).map(|row| dot(row, theta));
        let pull: Vec<f64> = pull.collect();
        0.5 * (sums.deviance() + dot(theta, &pull))
    };
    let start = objective(&learner.polishing_start());
    let mean = objective(&learner.coefficients_against_first());
    println!("minus the log posterior: {start:.2} at the start, {mean:.2} at the mean");
    assert!(start < mean, "{start} {mean}");
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn rows_are_remembered_until_they_hardly_matter() {
    let (x, y) = clusters(5, 4200);
    let rows = Rows::new(DIM, &x, &y).unwrap();
    let mut learner = learner(DriftMode::Off);
    learner.learn(rows.slice(0..127)).unwrap();
    assert_eq!(remembered(&learner), None); // the warm-up has them
    learner.learn(rows.slice(127..128)).unwrap();
    assert_eq!(remembered(&learner), Some(128));
    // rows of weight 0 teach nothing
    let weights: Vec<f64> = (0..72).map(|i| f64::from(i % 2)).collect();
    learner.learn(rows.slice(128..200).with_weights(&weights).unwrap()).unwrap();
    assert_eq!(remembered(&learner), Some(164));
    learner.learn(rows.slice(200..4131)).unwrap();
    assert_eq!(remembered(&learner), Some(4095));
    learner.learn(rows.slice(4131..4132)).unwrap();
    assert_eq!(remembered(&learner), None);
}

#[test]
fn two_classes_wide_rows_drift_and_a_polish_leave_nothing_to_remember() {
    let two = Rows4::draw(&mut rng(3), 2, 300);
    let mut learner_of_two = Categorical::builder(2, 4).intercept().build().unwrap();
    learner_of_two.learn(two.rows()).unwrap();
    assert_eq!(remembered(&learner_of_two), None);

    // 2 MB of numbers are 131 rows of 2000
    let mut rng = rng(4);
    let x: Vec<f64> = (0..2000 * 132).map(|_| centered(&mut rng)).collect();
    let y: Vec<f64> = (0..132).map(|i| f64::from(i % 3)).collect();
    let mut wide = Categorical::builder(3, 2000).build().unwrap();
    wide.learn(Rows::new(2000, &x[..2000 * 131], &y[..131]).unwrap()).unwrap();
    assert_eq!(remembered(&wide), Some(131));
    wide.learn(Rows::new(2000, &x[2000 * 131..], &y[131..]).unwrap()).unwrap();
    assert_eq!(remembered(&wide), None);

    let (x, y) = clusters(6, 300);
    let rows = Rows::new(DIM, &x, &y).unwrap();
    let mut adapting = learner(DriftMode::Adapt);
    adapting.learn(rows).unwrap();
    assert_eq!(remembered(&adapting), None);

    let mut learner = learner(DriftMode::Off);
    learner.learn(rows).unwrap();
    assert_eq!(remembered(&learner), Some(300));
    let mut sums = ClassSums::new(5, &learner.coefficients_against_first()).unwrap();
    sums.add(rows).unwrap();
    let polished = polish_classes(&learner.polishing_prior().unwrap(), &sums).unwrap();
    assert_eq!(remembered(&learner.with_polished(&polished).unwrap()), None);
}

#[test]
fn features_and_classes_that_grow_are_in_the_second_look() {
    let (x, y) = clusters(8, 512);
    let rows = Rows::new(DIM, &x, &y).unwrap();
    let mut learner = learner(DriftMode::Off);
    learner.learn(rows.slice(0..200)).unwrap();
    learner.grow().unwrap();
    learner.grow_class().unwrap();
    let mut grown = Vec::new();
    let mut classes = Vec::new();
    for (i, &class) in y.iter().enumerate().skip(200) {
        let new = i % 5 == 0;
        grown.extend_from_slice(rows.x(i));
        grown.push(f64::from(new));
        classes.push(if new { 5.0 } else { class });
    }
    learner.learn(Rows::new(DIM + 1, &grown, &classes).unwrap()).unwrap();
    let p = learner.predict(&grown[grown.len() - 2 * (DIM + 1)..][..DIM + 1]).unwrap();
    assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{p:?}");
    let mut new = grown[..DIM + 1].to_vec();
    assert_eq!(new[DIM], 1.0);
    assert!(learner.predict(&new).unwrap()[5] > 0.9);
    new[DIM] = 0.0;
    assert!(learner.predict(&new).unwrap()[5] < 0.1);
}

#[test]
fn forged_rows_are_refused() {
    let (x, y) = clusters(9, 200);
    let mut learner = learner(DriftMode::Off);
    learner.learn(Rows::new(DIM, &x, &y).unwrap()).unwrap();
    let good = state(&learner);
    assert!(restored(good.clone()).is_ok());
    for (place, value) in [
        ("/remembered/y/0", json!(7.0)),
        ("/remembered/y/0", json!(0.5)),
        ("/remembered/x/3", json!(1e300)),
        ("/remembered/y", json!([])),
        ("/remembered/weight/0", json!(-1.0)),
        ("/remembered/offset/2", json!(1.0)),
    ] {
        let mut forged = good.clone();
        *forged.pointer_mut(place).unwrap() = value;
        assert!(restored(forged).is_err(), "{place}");
    }
}
