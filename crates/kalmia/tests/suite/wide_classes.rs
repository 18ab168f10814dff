//! Several classes from sparse rows: the relation to one label, symmetries, batches, storing,
//! refusals.

pub mod data;
mod growing;
mod quality;

use crate::common::gap;
use crate::common::sparse_batch::SparseBatch;
use data::{learned, learner, probabilities, text};
use kalmia::learner::{AnyCategorical, AnyCategoricalState, ClassRow};
use kalmia::predict::Predictive;
use kalmia::{
    Bernoulli, Categorical, DriftMode, Error, Learner, Predict, RowView, Rows, SparseInputs,
    SparseMatrix, SparseRows, Wide, WideCategorical,
};

#[test]
fn two_classes_are_one_label() {
    for drift in [DriftMode::Off, DriftMode::Adapt] {
        let batch = text(2, 300, 3000, 1);
        let builder = Wide::builder(Bernoulli).intercept().numbers(1).drift(drift);
        let mut label = builder.build().unwrap();
        let builder = WideCategorical::builder(2).intercept().numbers(1).drift(drift);
        let mut classes = builder.build().unwrap();
        let mut expected = Vec::new();
        let mut keep = |row: &RowView<'_>| expected.push(row.mean);
        label.learn_sparse_observed(batch.rows(), Some(&mut keep)).unwrap();
        let mut found = Vec::new();
        let mut keep = |row: &ClassRow<'_>| found.push(row.probabilities[1]);
        classes.learn_sparse(batch.rows(), Some(&mut keep)).unwrap();
        assert_eq!(found.len(), batch.len());
        // the beliefs of the tail are kept in f32
        let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-4, "{drift:?}: {worst}");
        assert_eq!(classes.features(), label.features());
        assert_eq!(classes.core_features(), label.core_features());
        let contrast = classes.contrast(1, 0).unwrap();
        assert!(gap(&contrast.coefficients, &label.coefficients(), 1.0) < 1e-3);
        assert!(gap(&contrast.standard_errors, &label.standard_errors().unwrap(), 1.0) < 1e-3);
        for (own, other) in classes.weights().iter().zip(label.weights()) {
            assert!((own.weight - other.weight).abs() < 1e-3, "{own:?} {other:?}");
        }
        let mut smaller = classes.clone();
        assert_eq!(smaller.prune(1.5).unwrap(), label.prune(1.5).unwrap());
        assert!(smaller.dim() < classes.dim());
    }
}

#[test]
fn the_order_of_the_classes_does_not_matter() {
    let batch = text(5, 200, 1500, 2);
    let other = batch.clone().with_classes(|class| [3.0, 0.0, 4.0, 1.0, 2.0][class]);
    let plain = learned(5, &batch);
    let permuted = learned(5, &other);
    let test = text(5, 200, 50, 3);
    for (a, b) in probabilities(&plain, &test).iter().zip(probabilities(&permuted, &test)) {
        let back = [b[3], b[0], b[4], b[1], b[2]];
        assert!(gap(a, &back, 1.0) < 1e-6, "{a:?} {back:?}");
    }
}

#[test]
fn the_units_of_features_do_not_matter() {
    let batch = text(4, 60, 600, 4);
    let test = text(4, 60, 50, 5);
    let expected = probabilities(&learned(4, &batch), &test);
    let changes: [&dyn Fn(u32, f64) -> f64; 3] = [
        &|j, x| if j > 1 && j % 3 == 0 { 1e-6 * x } else { x },
        &|j, x| if j > 1 { 1e5 * x } else { x },
        &|j, x| if j == 1 { 7.0 * x + 100.0 } else { x },
    ];
    for change in changes {
        let found = learned(4, &batch.clone().with_values(change));
        let found = probabilities(&found, &test.clone().with_values(change));
        for (a, b) in found.iter().zip(&expected) {
            assert!(gap(a, b, 1.0) < 1e-3, "{a:?} {b:?}");
        }
    }
}

#[test]
fn an_observer_sees_what_would_have_been_predicted() {
    let batch = text(3, 100, 400, 7);
    let mut learner = learner(3);
    for i in 0..batch.len() {
        let row = batch.slice(i, i + 1);
        let expected = probabilities(&learner, &row);
        let mut found = Vec::new();
        let mut keep = |seen: &ClassRow<'_>| {
            found.extend_from_slice(seen.probabilities);
            assert_eq!(seen.class, row.y[0] as usize);
            assert_eq!(seen.loss, -seen.probabilities[seen.class].ln());
        };
        // warm-up rows are predicted at scales that the row itself takes part in
        let compare = ![0, 1, 2, 3, 7, 15, 31, 63, 127].contains(&i);
        learner.learn_sparse(row.rows(), Some(&mut keep)).unwrap();
        assert!(!compare || gap(&found, &expected[0], 1.0) < 1e-9, "{i}: {found:?} {expected:?}");
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn rows_of_weight_0_are_predicted_and_not_learned() {
    let mut batch = text(3, 100, 300, 8);
    let with: Vec<usize> = (0..300).filter(|i| i % 3 != 0).collect();
    batch.weight.iter_mut().step_by(3).for_each(|weight| *weight = 0.0);
    let all = learned(3, &batch);
    let mut some = learner(3);
    for &i in &with {
        some.learn_sparse(batch.slice(i, i + 1).rows(), None).unwrap();
    }
    assert_eq!((all.count(), some.count()), (300, 200));
    assert_eq!(all.features(), some.features());
    let test = text(3, 100, 30, 9);
    // features move to the core by their share of all rows, so a difference remains
    for (a, b) in probabilities(&all, &test).iter().zip(probabilities(&some, &test)) {
        assert!(gap(a, &b, 1.0) < 1e-6, "{a:?} {b:?}");
    }
}

#[test]
fn a_refused_batch_changes_nothing() {
    let batch = text(3, 100, 300, 10);
    let mut learner = learned(3, &batch);
    learner.set_limit(2000);
    let before = learner.state();
    let row = |x: f64, y: f64| {
        let mut bad = batch.slice(0, 5);
        bad.push(&[(0, 1.0), (3, x)], y);
        bad
    };
    let refused = [row(f64::NAN, 0.0), row(1.0, 3.0), row(1.0, 0.5), row(1.0, -1.0)];
    for bad in &refused {
        let error = learner.learn_sparse(bad.rows(), None).unwrap_err();
        assert_eq!(error.row(), Some(5), "{error}");
        assert_eq!(learner.state(), before);
    }
    let offsets = vec![1.0; batch.len()];
    let shifted = batch.rows().with_offsets(&offsets).unwrap();
    assert!(matches!(learner.learn_sparse(shifted, None), Err(Error::RowExtra { .. })));
    let mut many = SparseBatch::default();
    let wide: Vec<(u32, f64)> = (0..3000).map(|j| (j + 2, 1.0)).collect();
    many.push(&wide, 0.0);
    let error = learner.learn_sparse(many.rows(), None).unwrap_err();
    assert!(matches!(error, Error::TooManyFeatures { row: 0, limit: 2000 }), "{error}");
    assert_eq!(learner.state(), before);
    // values above 1e30 run on a copy: learned or refused, never half
    for size in [1e40, 1e100, 1e119] {
        let huge = row(size, 1.0);
        match learner.clone().learn_sparse(huge.rows(), None) {
            Ok(()) => assert!(learner.clone().predict(&[1.0, 0.0, 1.0]).unwrap()[0].is_finite()),
            Err(error) => assert!(error.row().is_some(), "{error}"),
        }
    }
}

#[test]
fn either_form_is_read_back_from_its_state() {
    let wide = AnyCategorical::from(learned(3, &text(3, 50, 200, 11)));
    let mut dense = Categorical::builder(3, 2).intercept().build().unwrap();
    dense.learn(Rows::new(2, &[1.0, 2.0, 1.0, 0.5], &[2.0, 0.0]).unwrap()).unwrap();
    let plain = serde_json::to_value(dense.state()).unwrap();
    for learner in [wide, AnyCategorical::from(dense)] {
        let json = serde_json::to_string(&learner.state()).unwrap();
        let state: AnyCategoricalState = serde_json::from_str(&json).unwrap();
        assert_eq!(state, learner.state());
        // keys in the order of their names, as files have them
        let sorted: serde_json::Value = serde_json::from_str(&json).unwrap();
        let state: AnyCategoricalState = serde_json::from_value(sorted.clone()).unwrap();
        let again = AnyCategorical::restore(state).unwrap();
        assert_eq!((again.state(), again.method()), (learner.state(), learner.method()));
        // states of dense rows are as they were before there was another form
        assert!(learner.wide().is_some() || sorted == plain);
    }
    let wrong = serde_json::from_str::<AnyCategoricalState>(r#"{"classes": "many"}"#).unwrap_err();
    assert!(wrong.to_string().contains("invalid type: string \"many\""), "{wrong}");
}

#[test]
fn forged_states_are_refused() {
    let learner = learned(3, &text(3, 50, 200, 11));
    let json = serde_json::to_value(learner.state()).unwrap();
    let back = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(WideCategorical::restore(back).unwrap().state(), learner.state());
    let changes: [(&str, serde_json::Value); 6] = [
        ("/beliefs", serde_json::json!([])),
        ("/members", serde_json::json!([])),
        ("/members/0/weight", serde_json::json!(-1.0)),
        ("/beliefs/0/records", json["beliefs"][0]["means"].clone()),
        ("/features/core_size", serde_json::json!(100_000)),
        ("/features/seen", json["beliefs"][0]["means"].clone()),
    ];
    for (place, value) in changes {
        let mut forged = json.clone();
        *forged.pointer_mut(place).unwrap() = value;
        let refused = match serde_json::from_value(forged) {
            Ok(state) => WideCategorical::restore(state).is_err(),
            Err(_) => true,
        };
        assert!(refused, "{place}");
    }
}

#[test]
fn odds_have_the_probability_as_their_mean() {
    let batch = text(4, 100, 500, 12);
    let learner = learned(4, &batch);
    let test = text(4, 100, 20, 13);
    for (i, expected) in probabilities(&learner, &test).iter().enumerate() {
        let means: Vec<f64> = (0..4)
            .map(|class| learner.odds(test.matrix().row(i), class, 0).unwrap().mean())
            .collect();
        let total: f64 = means.iter().sum();
        // of each class alone, so their sum is only close to 1
        assert!((total - 1.0).abs() < 0.25, "{total}");
        let divided: Vec<f64> = means.iter().map(|mean| mean / total).collect();
        assert!(gap(&divided, expected, 1.0) < 0.03, "{divided:?} {expected:?}");
    }
    assert!(learner.odds(test.matrix().row(0), 4, 0).is_err());
}

#[test]
fn a_row_of_unseen_features_is_less_certain() {
    let learner = learned(3, &text(3, 100, 500, 14));
    let top = |extra: u32| {
        let indices: Vec<u32> = [0, 1, 2].into_iter().chain(5000..5000 + extra).collect();
        let values: Vec<f64> = indices.iter().map(|_| 1.0).collect();
        let starts = [0, indices.len()];
        let x = SparseMatrix::new(&starts, &indices, &values).unwrap();
        let mut found = 0.0;
        learner
            .predict_sparse(SparseInputs::new(x), &mut |_, p| {
                found = p.iter().copied().fold(0.0, f64::max);
                Ok(())
            })
            .unwrap();
        found
    };
    assert!(top(0) > top(10) && top(10) > top(1000), "{} {} {}", top(0), top(10), top(1000));
    let inputs = SparseMatrix::new(&[0, 1], &[0], &[1.0]).unwrap();
    let shifted = SparseInputs::new(inputs).with_offsets(&[1.0]).unwrap();
    assert!(learner.predict_sparse(shifted, &mut |_, _| Ok(())).is_err());
    let y = [0.0];
    assert!(SparseRows::new(inputs, &y).is_ok());
}
