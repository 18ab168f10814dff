//! Several classes: the softmax filter and its mixture.

mod blocks;
mod data;
mod drift;
mod growing;
mod metrics;
mod quality;
mod second_look;
mod sharpening;
mod steps;

use crate::common::rng;
use data::{Rows4, losses};
use kalmia::learner::{CategoricalState, ClassRow};
use kalmia::{
    Auto, Bernoulli, Categorical, Error, Inputs, Learner, Predict, RowView, Rows, SparseMatrix,
    SparseRows,
};

fn learner() -> Categorical {
    Categorical::builder(3, 4).intercept().build().unwrap()
}

/// Fails for NaN too.
fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        let close = (a - b).abs() <= tolerance * (1.0 + b.abs());
        assert!(close, "{what}, {i}: {a} is not {b}");
    }
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
fn batches_rows_and_a_stored_state_give_the_same_bits() {
    let data = Rows4::draw(&mut rng(3), 3, 700);
    let rows = data.rows();
    let mut whole = learner();
    let expected = losses(&mut whole, rows);
    let mut pieces = learner();
    let mut found = Vec::new();
    let mut i = 0;
    for size in [1, 1, 5, 100, 40, 1, 300, 1, 251] {
        // during the warm-up and after it
        let text = serde_json::to_string(&pieces.state()).unwrap();
        let state: CategoricalState = serde_json::from_str(&text).unwrap();
        assert_eq!(state, pieces.state());
        pieces = Categorical::restore(state).unwrap();
        found.extend(losses(&mut pieces, rows.slice(i..i + size)));
        i += size;
    }
    assert_eq!(i, 700);
    assert_eq!(found, expected);
    assert_eq!(pieces.state(), whole.state());
}

#[test]
fn the_scale_of_a_feature_does_not_matter() {
    let data = Rows4::draw(&mut rng(4), 3, 400);
    let mut scaled = data.x.clone();
    for x in scaled.chunks_exact_mut(4) {
        x[1] *= 3e5;
        x[3] *= 1e-7;
    }
    let a = losses(&mut learner(), data.rows());
    let b = losses(&mut learner(), Rows::new(4, &scaled, &data.y).unwrap());
    assert_close(&a, &b, 1e-7, "losses");
}

#[test]
fn refused_rows_change_nothing() {
    let data = Rows4::draw(&mut rng(5), 3, 200);
    let mut learner = learner();
    learner.learn(data.rows()).unwrap();
    let before = learner.state();
    let x = [1.0, 0.1, 0.2, 0.3, 1.0, 0.1, f64::NAN, 0.3];
    let refused = learner.learn(Rows::new(4, &x, &[0.0, 1.0]).unwrap());
    assert!(matches!(refused, Err(Error::Feature { row: 1, column: 2, .. })), "{refused:?}");
    let x = [1.0; 8];
    for class in [3.0, -1.0, 0.5, f64::NAN, f64::INFINITY] {
        let refused = learner.learn(Rows::new(4, &x, &[0.0, class]).unwrap());
        assert!(matches!(refused, Err(Error::Target { row: 1, .. })), "{class}: {refused:?}");
    }
    let two = Rows::new(4, &x, &[0.0, 1.0]).unwrap();
    let weight = learner.learn(two.with_weights(&[1.0, -1.0]).unwrap());
    assert!(matches!(weight, Err(Error::RowExtra { row: 1, .. })), "{weight:?}");
    let offset = learner.learn(two.with_offsets(&[0.0, 0.5]).unwrap());
    assert!(matches!(offset, Err(Error::RowExtra { row: 1, .. })), "{offset:?}");
    let narrow = learner.learn(Rows::new(3, &[1.0; 3], &[0.0]).unwrap());
    assert!(matches!(narrow, Err(Error::Length { .. })), "{narrow:?}");
    assert_eq!(learner.state(), before);
    // legal numbers that overflow on the way
    let huge = [1.0, 1e110, -1e110, 1e115, 1.0, 1e119, 1e119, -1e119];
    if learner.learn(Rows::new(4, &huge, &[1.0, 0.0]).unwrap()).is_err() {
        assert_eq!(learner.state(), before);
    }
    assert!(learner.predict(&[1.0, 0.0, 0.0]).is_err());
    assert!(learner.contrast(3, 0).is_err());
    assert!(Categorical::builder(0, 2).build().is_err());
    assert!(Categorical::builder(2, 0).build().is_err());
}

#[test]
fn damaged_states_are_refused() {
    let mut learner = learner();
    learner.learn(Rows4::draw(&mut rng(5), 3, 200).rows()).unwrap();
    let state = serde_json::to_value(learner.state()).unwrap();
    let damages: [(&str, serde_json::Value); 4] = [
        ("/classes", 4.into()),
        ("/dim", 5.into()),
        ("/members/0/weight", (-1.0).into()),
        ("/members/0/prior_size", 0.0.into()),
    ];
    for (place, value) in damages {
        let mut damaged = state.clone();
        *damaged.pointer_mut(place).unwrap() = value;
        let parsed: CategoricalState = serde_json::from_value(damaged).unwrap();
        assert!(Categorical::restore(parsed).is_err(), "{place}");
    }
}

#[test]
fn a_row_of_weight_0_is_predicted_only() {
    let data = Rows4::draw(&mut rng(6), 3, 300);
    let mut with = learner();
    let mut without = learner();
    for i in 0..300 {
        let row = data.rows().slice(i..i + 1);
        with.learn(row).unwrap();
        without.learn(row).unwrap();
        with.learn(row.with_weights(&[0.0]).unwrap()).unwrap();
    }
    let a = with.predict(data.row(0)).unwrap();
    let b = without.predict(data.row(0)).unwrap();
    assert_close(&a, &b, 1e-12, "probabilities");
    assert_eq!(with.count(), 600);
}

#[test]
fn sparse_rows_are_dense_rows() {
    let data = Rows4::draw(&mut rng(7), 3, 300);
    let starts: Vec<usize> = (0..=300).map(|i| 4 * i).collect();
    let indices: Vec<u32> = (0..1200).map(|i| i % 4).collect();
    let x = SparseMatrix::new(&starts, &indices, &data.x).unwrap();
    let mut sparse = learner();
    let mut dense = learner();
    sparse.learn_sparse(SparseRows::new(x, &data.y).unwrap(), None).unwrap();
    dense.learn(data.rows()).unwrap();
    assert_eq!(sparse.state(), dense.state());
}

#[test]
fn one_class_is_certain_and_predictions_come_in_batches() {
    let mut one = Categorical::builder(1, 2).intercept().build().unwrap();
    one.learn(Rows::new(2, &[1.0, 3.0], &[0.0]).unwrap()).unwrap();
    assert_eq!(one.predict(&[1.0, 2.0]).unwrap(), [1.0]);
    let data = Rows4::draw(&mut rng(8), 3, 600);
    let mut learner = learner();
    learner.learn(data.rows()).unwrap();
    let inputs = Inputs::new(4, &data.x).unwrap();
    let mut seen = 0;
    learner
        .predict_many(inputs, &mut |i, probabilities| {
            assert_eq!(i, seen);
            seen += 1;
            let single = learner.predict(data.row(i))?;
            assert_close(probabilities, &single, 1e-12, "batch");
            assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, 600);
}
