//! Ordered levels: proportional odds and its mixture.

mod data;
mod quality;

use crate::common::rng;
use data::{CUTS, Rows3, SLOPES, losses};
use kalmia::learner::{ClassRow, OrdinalState};
use kalmia::{Error, Inputs, Ordinal, Rows, SparseMatrix, SparseRows};

fn learner() -> Ordinal {
    Ordinal::builder(5, 3).build().unwrap()
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
fn batches_rows_and_a_stored_state_give_the_same_bits() {
    let data = Rows3::five(&mut rng(3), 700);
    let rows = data.rows();
    let mut whole = learner();
    let expected = losses(&mut whole, rows);
    let mut pieces = learner();
    let mut found = Vec::new();
    let mut i = 0;
    for size in [1, 1, 5, 100, 40, 1, 300, 1, 251] {
        // during the warm-up and after it
        let text = serde_json::to_string(&pieces.state()).unwrap();
        let state: OrdinalState = serde_json::from_str(&text).unwrap();
        assert_eq!(state, pieces.state());
        pieces = Ordinal::restore(state).unwrap();
        found.extend(losses(&mut pieces, rows.slice(i..i + size)));
        i += size;
    }
    assert_eq!(i, 700);
    assert_eq!(found, expected);
    assert_eq!(pieces.state(), whole.state());
    assert_eq!(whole.count(), 700);
}

/// What observers see is what `predict` said before the row, and nothing of the row itself.
#[test]
fn rows_are_predicted_before_they_are_learned() {
    let data = Rows3::five(&mut rng(4), 300);
    let mut learner = learner();
    for i in 0..300 {
        let before = learner.predict(data.row(i)).unwrap();
        let mut seen = Vec::new();
        let mut loss = f64::NAN;
        let row = data.rows().slice(i..i + 1);
        learner
            .learn_observed(
                row,
                Some(&mut |row: &ClassRow<'_>| {
                    seen = row.probabilities.to_vec();
                    loss = row.loss;
                }),
            )
            .unwrap();
        // rows that take scales anew are predicted at these scales
        if i >= 128 {
            assert_close(&seen, &before, 1e-9, "probabilities");
        }
        let sum: f64 = seen.iter().sum();
        assert!((sum - 1.0).abs() < 1e-12 && seen.iter().all(|p| *p > 0.0), "{seen:?}");
        assert_eq!(loss, -seen[data.y[i] as usize].ln());
    }
}

/// Cutpoints ascend after every row, in every member's mean, whatever the levels are.
#[test]
fn cutpoints_ascend_from_the_first_row() {
    let ascends = |learner: &Ordinal| {
        let estimate = learner.estimate();
        estimate.cutpoints().windows(2).all(|pair| pair[0] < pair[1])
    };
    let skewed = Rows3::draw(&mut rng(6), SLOPES, &[1.0, 2.5, 4.0, 4.5], 300);
    let close = Rows3::draw(&mut rng(7), [3.0, 0.0, 0.0], &[-0.02, 0.0, 0.01, 0.02], 300);
    for data in [skewed, close] {
        let mut learner = learner();
        for i in 0..300 {
            learner.learn(data.rows().slice(i..i + 1)).unwrap();
            assert!(ascends(&learner), "after row {i}: {:?}", learner.estimate().cutpoints());
        }
    }
    // a level that never comes, one level only, and the two ends
    for levels in [[0.0, 1.0, 4.0], [3.0; 3], [0.0, 4.0, 0.0]] {
        let mut learner = learner();
        for i in 0..1200 {
            let x = [(f64::from(i) * 0.7).sin(), 0.3, (f64::from(i) * 1.3).cos()];
            let y = levels[i as usize % 3];
            learner.learn(Rows::new(3, &x, &[y]).unwrap()).unwrap();
            assert!(ascends(&learner), "{levels:?} after row {i}");
        }
        let p = learner.predict(&[0.0, 0.3, 0.0]).unwrap();
        assert!(p[2] < 0.01 && p[2] > 0.0, "{p:?}");
    }
}

/// A constant feature and centered features change nothing but the cutpoints.
#[test]
fn a_constant_feature_takes_no_coefficient() {
    let data = Rows3::five(&mut rng(8), 400);
    let mut plain = learner();
    let expected = losses(&mut plain, data.rows());
    let x = data.with_constant();
    let mut with = Ordinal::builder(5, 4).intercept().build().unwrap();
    let found = losses(&mut with, Rows::new(4, &x, &data.y).unwrap());
    assert_eq!(found, expected);
    assert_eq!(with.estimate(), plain.estimate());
    assert_eq!((with.dim(), with.has_intercept()), (4, true));
    assert_eq!(with.estimate().coefficients().len(), 3);
}

#[test]
fn the_scale_of_a_feature_does_not_matter() {
    let data = Rows3::five(&mut rng(9), 400);
    let mut scaled = data.x.clone();
    for x in scaled.chunks_exact_mut(3) {
        x[0] *= 3e5;
        x[2] *= 1e-7;
    }
    let a = losses(&mut learner(), data.rows());
    let b = losses(&mut learner(), Rows::new(3, &scaled, &data.y).unwrap());
    assert_close(&a, &b, 1e-7, "losses");
}

/// The prior does not favor a direction; only the order of the two labels of a row does.
#[test]
fn reversed_levels_mirror_the_model() {
    let data = Rows3::five(&mut rng(10), 1000);
    let reversed: Vec<f64> = data.y.iter().map(|y| 4.0 - y).collect();
    let mut up = learner();
    let mut down = learner();
    // before any row the symmetry is exact
    let mut p = down.predict(&[0.0; 3]).unwrap();
    p.reverse();
    assert_close(&p, &up.predict(&[0.0; 3]).unwrap(), 1e-12, "prior");
    up.learn(data.rows()).unwrap();
    down.learn(Rows::new(3, &data.x, &reversed).unwrap()).unwrap();
    let mut p = down.predict(data.row(5)).unwrap();
    p.reverse();
    assert_close(&p, &up.predict(data.row(5)).unwrap(), 2e-3, "probabilities");
    let opposite: Vec<f64> = down.estimate().coefficients().iter().map(|c| -c).collect();
    assert_close(up.estimate().coefficients(), &opposite, 2e-3, "coefficients");
}

#[test]
fn refused_rows_change_nothing() {
    let data = Rows3::five(&mut rng(11), 200);
    let mut learner = learner();
    learner.learn(data.rows()).unwrap();
    let before = learner.state();
    let x = [0.1, 0.2, 0.3, 0.1, f64::NAN, 0.3];
    let refused = learner.learn(Rows::new(3, &x, &[0.0, 1.0]).unwrap());
    assert!(matches!(refused, Err(Error::Feature { row: 1, column: 1, .. })), "{refused:?}");
    let x = [1.0; 6];
    for level in [5.0, -1.0, 0.5, f64::NAN, f64::INFINITY] {
        let refused = learner.learn(Rows::new(3, &x, &[0.0, level]).unwrap());
        let Err(error @ Error::Target { row: 1, .. }) = refused else { panic!("{refused:?}") };
        let text = error.to_string();
        assert!(text.contains("a level from 0 to 4; the order of a new level"), "{text}");
    }
    let two = Rows::new(3, &x, &[0.0, 1.0]).unwrap();
    let weight = learner.learn(two.with_weights(&[1.0, -1.0]).unwrap());
    assert!(matches!(weight, Err(Error::RowExtra { row: 1, .. })), "{weight:?}");
    let offset = learner.learn(two.with_offsets(&[0.0, 0.5]).unwrap());
    assert!(matches!(offset, Err(Error::RowExtra { row: 1, .. })), "{offset:?}");
    let narrow = learner.learn(Rows::new(2, &[1.0; 2], &[0.0]).unwrap());
    assert!(matches!(narrow, Err(Error::Length { .. })), "{narrow:?}");
    assert_eq!(learner.state(), before);
    // legal numbers that overflow on the way
    let huge = [1e110, -1e110, 1e115, 1e119, 1e119, -1e119];
    if learner.learn(Rows::new(3, &huge, &[1.0, 0.0]).unwrap()).is_err() {
        assert_eq!(learner.state(), before);
    }
    assert!(learner.predict(&[1.0, 0.0]).is_err());
    let inputs = Inputs::new(3, &[0.0; 3]).unwrap().with_offsets(&[1.0]).unwrap();
    assert!(learner.predict_many(inputs, &mut |_, _| Ok(())).is_err());
    assert!(Ordinal::builder(1, 2).build().is_err());
    assert!(Ordinal::builder(3, 0).build().is_err());
}

#[test]
fn damaged_states_are_refused() {
    let mut learner = learner();
    learner.learn(Rows3::five(&mut rng(12), 200).rows()).unwrap();
    let state = serde_json::to_value(learner.state()).unwrap();
    let damages: [(&str, serde_json::Value); 6] = [
        ("/levels", 4.into()),
        ("/levels", 1.into()),
        ("/dim", 5.into()),
        ("/begins_with_constant", true.into()),
        ("/members/0/weight", (-1.0).into()),
        ("/members/0/prior_size", 0.0.into()),
    ];
    for (place, value) in damages {
        let mut damaged = state.clone();
        *damaged.pointer_mut(place).unwrap() = value;
        let parsed: OrdinalState = serde_json::from_value(damaged).unwrap();
        assert!(Ordinal::restore(parsed).is_err(), "{place}");
    }
}

#[test]
fn a_row_of_weight_0_is_predicted_only() {
    let data = Rows3::five(&mut rng(13), 300);
    let mut with = learner();
    let mut without = learner();
    for i in 0..300 {
        let row = data.rows().slice(i..i + 1);
        with.learn(row.with_weights(&[0.0]).unwrap()).unwrap();
        with.learn(row).unwrap();
        without.learn(row).unwrap();
    }
    let a = with.predict(data.row(0)).unwrap();
    let b = without.predict(data.row(0)).unwrap();
    assert_close(&a, &b, 1e-12, "probabilities");
    assert_eq!(with.count(), 600);
}

/// A weight counts a row so many times: estimates are those of repeated rows.
#[test]
fn weights_count_rows() {
    let data = Rows3::five(&mut rng(14), 1500);
    let weights = vec![2.0; 1500];
    let mut weighted = learner();
    weighted.learn(data.rows().with_weights(&weights).unwrap()).unwrap();
    let mut repeated = learner();
    for i in 0..1500 {
        repeated.learn(data.rows().slice(i..i + 1)).unwrap();
        repeated.learn(data.rows().slice(i..i + 1)).unwrap();
    }
    let a = weighted.estimate();
    let b = repeated.estimate();
    let errors = b.cutpoint_errors();
    for (k, (a, b)) in a.cutpoints().iter().zip(b.cutpoints()).enumerate() {
        assert!((a - b).abs() < 0.3 * errors[k], "{a} {b}");
    }
    for (a, b) in a.cutpoint_errors().iter().zip(errors) {
        assert!((a / b - 1.0).abs() < 0.03, "{a} {b}");
    }
    for (a, b) in a.coefficient_errors().iter().zip(b.coefficient_errors()) {
        assert!((a / b - 1.0).abs() < 0.03, "{a} {b}");
    }
}

#[test]
fn sparse_rows_are_dense_rows() {
    let data = Rows3::five(&mut rng(15), 300);
    let starts: Vec<usize> = (0..=300).map(|i| 3 * i).collect();
    let indices: Vec<u32> = (0..900).map(|i| i % 3).collect();
    let x = SparseMatrix::new(&starts, &indices, &data.x).unwrap();
    let mut sparse = learner();
    let mut dense = learner();
    sparse.learn_sparse(SparseRows::new(x, &data.y).unwrap(), None).unwrap();
    dense.learn(data.rows()).unwrap();
    assert_eq!(sparse.state(), dense.state());
}

/// A feature that comes later is one that was 0 in all rows before.
#[test]
fn a_new_feature_is_one_that_was_zero() {
    let data = Rows3::five(&mut rng(16), 600);
    for start in [40, 300] {
        let late: Vec<f64> = (0..600)
            .flat_map(|i| {
                let x = data.row(i);
                [x[0], x[1], if i < start { 0.0 } else { x[2] }]
            })
            .collect();
        let narrow: Vec<f64> = late.chunks_exact(3).flat_map(|x| [x[0], x[1]]).collect();
        let mut grown = Ordinal::builder(5, 2).build().unwrap();
        grown.learn(Rows::new(2, &narrow[..2 * start], &data.y[..start]).unwrap()).unwrap();
        grown.grow().unwrap();
        grown.learn(Rows::new(3, &late[3 * start..], &data.y[start..]).unwrap()).unwrap();
        let mut whole = learner();
        whole.learn(Rows::new(3, &late, &data.y).unwrap()).unwrap();
        assert_close(
            &grown.predict(data.row(1)).unwrap(),
            &whole.predict(data.row(1)).unwrap(),
            1e-9,
            "probabilities",
        );
    }
}

/// Levels of a category that no row had make a prediction less certain.
#[test]
fn unseen_features_widen_a_prediction() {
    let data = Rows3::five(&mut rng(17), 500);
    let mut learner = learner();
    learner.learn(data.rows()).unwrap();
    let x = [3.0, -1.0, 1.0];
    let inputs = Inputs::new(3, &x).unwrap().with_unseen(&[2]).unwrap();
    let mut wide = Vec::new();
    learner
        .predict_many(inputs, &mut |_, p| {
            wide = p.to_vec();
            Ok(())
        })
        .unwrap();
    let sure = learner.predict(&x).unwrap();
    assert!(sure[4] > 0.5 && wide[4] < sure[4] - 0.01, "{sure:?} {wide:?}");
}

#[test]
fn predictions_of_many_rows_are_those_of_single_ones() {
    let data = Rows3::five(&mut rng(18), 600);
    let mut learner = learner();
    learner.learn(data.rows()).unwrap();
    let inputs = Inputs::new(3, &data.x).unwrap();
    let mut seen = 0;
    learner
        .predict_many(inputs, &mut |i, p| {
            assert_close(p, &learner.predict(data.row(i)).unwrap(), 1e-12, "probabilities");
            seen += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, 600);
    assert!(learner.memory(3) > 0 && learner.memory(30) > learner.memory(3));
    learner.require_copy().unwrap();
    let total: f64 = learner.weights().iter().map(|member| member.weight).sum();
    assert!((total - 1.0).abs() < 1e-9);
    assert_eq!(learner.levels(), CUTS.len() + 1);
}
