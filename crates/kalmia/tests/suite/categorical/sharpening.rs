//! Probabilities that are sharper than those of the mixture.

use super::data::{Rows4, clusters, losses};
use crate::common::rng;
use kalmia::rule::{LinearRow, softmax_steps};
use kalmia::sums::{ClassSums, polish_classes};
use kalmia::{Categorical, Rows};

#[test]
fn steps_at_a_share_have_the_moments_of_smaller_variances_and_contract_by_all() {
    let share = 0.7;
    for (m, s) in [([0.3, -0.4, 1.0], [0.2, 0.5, 0.1]), ([4.0, 1.0, -9.0], [3.0, 40.0, 0.5])] {
        for class in 0..3 {
            let believed = |k: usize| LinearRow::new(m[k], share * s[k]);
            let mut smaller: [LinearRow; 3] = std::array::from_fn(believed);
            let mut rows: [LinearRow; 3] = std::array::from_fn(|k| LinearRow::new(m[k], s[k]));
            let mut expected = [0.0; 3];
            let mut found = [0.0; 3];
            let log = softmax_steps(class, 1.0, 1.0, &mut smaller, &mut expected);
            let evidence = softmax_steps(class, 1.0, share, &mut rows, &mut found);
            assert_eq!(evidence, log);
            assert_eq!(found, expected);
            for (row, smaller) in rows.iter().zip(&smaller) {
                assert_eq!(row.step.gain, smaller.step.gain);
                assert_eq!(row.step.curvature, smaller.step.curvature);
                let contraction = row.step.curvature / (1.0 + row.step.curvature * row.s);
                assert!((row.step.contraction - contraction).abs() <= 1e-15 * contraction);
            }
        }
    }
}

fn learner(classes: usize, dim: usize) -> Categorical {
    Categorical::builder(classes, dim).intercept().build().unwrap()
}

/// The weights of the powers in a learner's state; `None` if it does not sharpen.
fn powers(learner: &Categorical) -> Option<[f64; 3]> {
    let state = serde_json::to_value(learner.state()).unwrap();
    let weights = &state.get("sharpening")?["weights"];
    Some(std::array::from_fn(|b| weights[b].as_f64().unwrap()))
}

#[test]
fn clusters_are_sharpened_and_noisy_classes_are_not() {
    let (x, y) = clusters(63, 600);
    let mut clear = learner(5, 11);
    clear.learn(Rows::new(11, &x, &y).unwrap()).unwrap();
    let weights = powers(&clear).unwrap();
    assert!(weights[0] < 0.1, "{weights:?}");

    // over once the mixture's own probabilities are the best
    let mut noisy = learner(3, 4);
    noisy.learn(Rows4::draw(&mut rng(64), 3, 4096).rows()).unwrap();
    assert_eq!(powers(&noisy), None);
}

#[test]
fn two_classes_are_not_sharpened_until_there_is_a_third() {
    assert_eq!(powers(&learner(2, 4)), None);
    assert!(powers(&learner(3, 4)).is_some());
    for rows in [20, 300] {
        let mut grown = learner(2, 4);
        grown.learn(Rows4::draw(&mut rng(61), 2, rows).rows()).unwrap();
        assert_eq!(powers(&grown), None);
        grown.grow_class().unwrap();
        assert!(powers(&grown).is_some(), "{rows} rows");
    }
}

/// The loss that observers see of a row is that of the prediction before it, once the scales of the
/// features are known.
#[test]
fn predictions_are_those_that_are_scored() {
    let (x, y) = clusters(63, 300);
    let mut learner = learner(5, 11);
    let rows = Rows::new(11, &x, &y).unwrap();
    learner.learn(rows.slice(0..128)).unwrap();
    for i in 128..300 {
        let predicted = learner.predict(rows.x(i)).unwrap();
        let loss = losses(&mut learner, rows.slice(i..i + 1))[0];
        let expected = -predicted[y[i] as usize].ln();
        assert!((loss - expected).abs() <= 1e-12 * (1.0 + expected), "row {i}: {loss} {expected}");
    }
}

/// Odds are those of the sharpened probabilities: their mean is close to the prediction.
#[test]
fn odds_agree_with_the_prediction() {
    let (x, y) = clusters(63, 600);
    let mut learner = learner(5, 11);
    learner.learn(Rows::new(11, &x, &y).unwrap()).unwrap();
    assert!(powers(&learner).is_some());
    for x in x.chunks_exact(11).take(50) {
        let predicted = learner.predict(x).unwrap();
        for (class, predicted) in predicted.iter().enumerate() {
            let mean = learner.odds(x, class, 0).unwrap().mean;
            assert!((mean - predicted).abs() < 0.05, "{mean} {predicted}");
        }
    }
}

#[test]
fn a_polished_learner_predicts_at_the_mode() {
    let (x, y) = clusters(63, 600);
    let rows = Rows::new(11, &x, &y).unwrap();
    let mut learner = learner(5, 11);
    learner.learn(rows).unwrap();
    let mut sums = ClassSums::new(5, &learner.coefficients_against_first()).unwrap();
    sums.add(rows).unwrap();
    let polished = polish_classes(&learner.polishing_prior().unwrap(), &sums).unwrap();
    assert_eq!(powers(&learner.with_polished(&polished).unwrap()), None);
}

#[test]
fn forged_weights_are_refused() {
    for weights in ["[0.6,0.4,0.0]", "[0.6,0.6,0.6]", "[2.0,-0.5,-0.5]"] {
        let state = serde_json::to_string(&learner(3, 4).state()).unwrap();
        let forged = state.replace("[0.6,0.2,0.2]", weights);
        assert_ne!(forged, state);
        assert!(Categorical::restore(serde_json::from_str(&forged).unwrap()).is_err(), "{weights}");
    }
}
