//! Ordered levels: proportional odds and its mixture.

pub mod data;
mod quality;

use crate::common::{assert_close, rng};
use data::{CUTS, Rows3, SLOPES, losses};
use kalmia::{Inputs, Ordinal, Rows};

fn learner() -> Ordinal {
    Ordinal::builder(5, 3).build().unwrap()
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
fn what_is_no_level_is_refused_with_a_remedy() {
    let mut learner = learner();
    for level in [5.0, -1.0, 0.5, f64::NAN, f64::INFINITY] {
        let refused = learner.learn(Rows::new(3, &[1.0; 6], &[0.0, level]).unwrap());
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("a level from 0 to 4; the order of a new level"), "{text}");
    }
    assert!(Ordinal::builder(1, 2).build().is_err());
    assert!(Ordinal::builder(3, 0).build().is_err());
}

#[test]
fn weights_sum_to_1() {
    let mut learner = learner();
    learner.learn(Rows3::five(&mut rng(18), 600).rows()).unwrap();
    let total: f64 = learner.weights().iter().map(|member| member.weight).sum();
    assert!((total - 1.0).abs() < 1e-9);
    assert_eq!(learner.levels(), CUTS.len() + 1);
}
