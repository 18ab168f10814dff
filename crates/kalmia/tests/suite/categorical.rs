//! Several classes: the softmax filter and its mixture.

mod blocks;
pub mod data;
mod drift;
mod growing;
mod metrics;
mod quality;
mod second_look;
mod sharpening;
mod steps;

use crate::common::{assert_close, rng};
use data::{Rows4, losses};
use kalmia::learner::ClassRow;
use kalmia::{Auto, Bernoulli, Categorical, Learner, Predict, RowView, Rows};

fn learner() -> Categorical {
    Categorical::builder(3, 4).intercept().build().unwrap()
}

#[test]
fn two_classes_are_the_default_learner_of_labels() {
    let data = Rows4::draw(&mut rng(1), 2, 700);
    let weights: Vec<f64> = (0..700).map(|i| 0.5 + f64::from(i % 3)).collect();
    for weighted in [false, true] {
        let mut rows = data.rows();
        if weighted {
            rows = rows.with_weights(&weights).unwrap();
        }
        let mut two = Categorical::builder(2, 4).intercept().build().unwrap();
        let mut auto = Auto::builder(Bernoulli, 4).intercept().build().unwrap();
        let mut chances = Vec::new();
        let mut means = Vec::new();
        two.learn_observed(rows, Some(&mut |r: &ClassRow<'_>| chances.push(r.probabilities[1])))
            .unwrap();
        auto.learn_observed(rows, Some(&mut |r: &RowView<'_>| means.push(r.mean))).unwrap();
        assert_close(&chances, &means, 1e-7, "probabilities");
        let contrast = two.contrast(1, 0).unwrap();
        assert_close(&contrast.coefficients, &auto.coefficients(), 1e-6, "coefficients");
        let errors = auto.standard_errors().unwrap();
        assert_close(&contrast.standard_errors(), &errors, 1e-6, "standard errors");
        let next = [1.0, 0.3, -2.0, 5.0];
        let mean = auto.predict(&next, 0.0).unwrap().mean;
        assert_close(&two.predict(&next).unwrap(), &[1.0 - mean, mean], 1e-7, "prediction");
    }
}

#[test]
fn other_names_of_the_classes_change_nothing() {
    let data = Rows4::draw(&mut rng(2), 3, 500);
    let order = [2, 0, 1];
    let renamed: Vec<f64> = data.y.iter().map(|&y| f64::from(order[y as usize])).collect();
    let mut first = learner();
    let mut second = learner();
    let a = losses(&mut first, data.rows());
    let b = losses(&mut second, Rows::new(4, &data.x, &renamed).unwrap());
    assert_close(&a, &b, 1e-7, "losses");
    let p = first.predict(data.row(7)).unwrap();
    let q = second.predict(data.row(7)).unwrap();
    let back: Vec<f64> = order.iter().map(|&k| q[k as usize]).collect();
    assert_close(&p, &back, 1e-7, "probabilities");
}

#[test]
fn one_class_is_certain_and_none_is_refused() {
    let mut one = Categorical::builder(1, 2).intercept().build().unwrap();
    one.learn(Rows::new(2, &[1.0, 3.0], &[0.0]).unwrap()).unwrap();
    assert_eq!(one.predict(&[1.0, 2.0]).unwrap(), [1.0]);
    assert!(learner().contrast(3, 0).is_err());
    assert!(Categorical::builder(0, 2).build().is_err());
    assert!(Categorical::builder(2, 0).build().is_err());
}
