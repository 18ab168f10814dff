//! Classes that appear while rows are learned, odds and draws.

use super::data::Rows4;
use super::learner;
use crate::common::{assert_close, rng};
use kalmia::learner::ClassRow;
use kalmia::{Categorical, Error, Rows};

/// Rows in which classes come late: 0 and 1 first, 2 after 150 rows.
fn late(rows: usize) -> (Rows4, Vec<f64>) {
    let data = Rows4::draw(&mut rng(31), 3, rows);
    let late = data.y.iter().enumerate().map(|(i, &y)| if i < 150 { y.min(1.0) } else { y });
    let late = late.collect();
    (data, late)
}

#[test]
fn new_classes_are_added_just_before_their_first_row() {
    let (data, y) = late(400);
    let rows = Rows::new(4, &data.x, &y).unwrap();
    let mut whole = Categorical::builder(1, 4).intercept().build().unwrap();
    let mut classes = Vec::new();
    whole
        .learn_growing(
            rows,
            10,
            Some(&mut |row: &ClassRow<'_>| classes.push(row.probabilities.len())),
        )
        .unwrap();
    let first = |class: f64| y.iter().position(|&other| other == class).unwrap();
    for (i, &known) in classes.iter().enumerate() {
        let expected = (0..3).filter(|&class| first(f64::from(class)) <= i || class == 0).count();
        assert_eq!(known, expected, "row {i}");
    }
    // by hand, and cut into other calls
    let mut by_hand = Categorical::builder(1, 4).intercept().build().unwrap();
    let mut cut = by_hand.clone();
    for (i, &y) in y.iter().enumerate() {
        while y >= by_hand.classes() as f64 {
            by_hand.grow_class().unwrap();
        }
        by_hand.learn(rows.slice(i..i + 1)).unwrap();
    }
    for part in [0..97, 97..98, 98..313, 313..400] {
        cut.learn_growing(rows.slice(part), 10, None).unwrap();
    }
    assert_eq!(whole.state(), by_hand.state());
    assert_eq!(whole.state(), cut.state());
}

#[test]
fn a_refused_call_adds_no_class() {
    let (data, y) = late(300);
    let mut x = data.x;
    let mut learner = Categorical::builder(2, 4).intercept().build().unwrap();
    let before = learner.state();
    let refused = learner.learn_growing(Rows::new(4, &x, &y).unwrap(), 2, None);
    let late = y.iter().position(|&y| y == 2.0).unwrap();
    assert!(matches!(refused, Err(Error::Target { row, .. }) if row == late), "{refused:?}");
    x[4 * 290 + 1] = f64::NAN;
    let refused = learner.learn_growing(Rows::new(4, &x, &y).unwrap(), 3, None);
    assert!(matches!(refused, Err(Error::Feature { row: 290, column: 1, .. })), "{refused:?}");
    assert_eq!(learner.state(), before);
}

#[test]
fn odds_of_two_classes_are_mirrored_and_their_means_are_the_probabilities() {
    let data = Rows4::draw(&mut rng(32), 3, 500);
    let mut three = learner();
    three.learn(data.rows()).unwrap();
    for x in [[1.0, 0.2, -0.4, 1.1], [1.0, 1.5, 0.0, 0.0]] {
        let p = three.predict(&x).unwrap();
        let odds: Vec<_> = (0..3).map(|class| three.odds(&x, class, 0).unwrap()).collect();
        let total: f64 = odds.iter().map(|odds| odds.mean).sum();
        let shares: Vec<f64> = odds.iter().map(|odds| odds.mean / total).collect();
        // members are averaged before and after the division by the sum
        assert_close(&shares, &p, 2e-3, "shares");
        for (odds, p) in odds.iter().zip(&p) {
            let interval = odds.mean_interval(0.9).unwrap();
            assert!(interval.lower < *p && *p < interval.upper, "{interval:?} {p}");
        }
        let wider = three.odds(&x, 0, 3).unwrap();
        assert!(wider.linear_variance > odds[0].linear_variance);
    }
    let two = Rows4::draw(&mut rng(33), 2, 300);
    let mut pair = Categorical::builder(2, 4).intercept().build().unwrap();
    pair.learn(two.rows()).unwrap();
    let x = [1.0, -0.3, 0.8, 0.1];
    let [a, b] = [0, 1].map(|class| pair.odds(&x, class, 0).unwrap());
    assert_close(&[a.linear, a.linear_variance], &[-b.linear, b.linear_variance], 1e-12, "odds");
    assert_close(&[a.mean], &[pair.predict(&x).unwrap()[0]], 1e-12, "mean");
    assert!(pair.odds(&x, 2, 0).is_err());
}

#[test]
fn draws_have_the_moments_of_the_contrasts() {
    let data = Rows4::draw(&mut rng(34), 3, 800);
    let mut three = learner();
    three.learn(data.rows()).unwrap();
    let draws = three.sample_coefficients(20_000, &mut rng(35)).unwrap();
    let contrast = three.contrast(2, 0).unwrap();
    for j in 0..4 {
        let differences: Vec<f64> = draws.iter().map(|draw| draw[8 + j] - draw[j]).collect();
        let mean = differences.iter().sum::<f64>() / 20_000.0;
        let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 20_000.0;
        let error = contrast.standard_errors()[j];
        assert!((mean - contrast.coefficients[j]).abs() < 0.03 * error, "{j}: {mean}");
        assert!((variance.sqrt() / error - 1.0).abs() < 0.03, "{j}: {variance}");
    }
}
