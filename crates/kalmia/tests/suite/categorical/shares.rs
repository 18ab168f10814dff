//! The member that believes a share of the variance.

use super::data::Rows4;
use crate::common::{centered, rng, uniform};
use kalmia::rule::{LinearRow, softmax_steps};
use kalmia::{Categorical, Rows};

/// The shares of a learner's members.
fn shares(learner: &Categorical) -> Vec<f64> {
    learner.weights().iter().map(|member| member.variance_share).collect()
}

/// The weight of the members that believe less than all of the variance.
fn partial_weight(learner: &Categorical) -> f64 {
    let weights = learner.weights();
    weights.iter().filter(|member| member.variance_share < 1.0).map(|member| member.weight).sum()
}

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

#[test]
fn three_classes_have_the_member_and_two_have_not() {
    let two = Categorical::builder(2, 4).intercept().build().unwrap();
    let mut three = Categorical::builder(3, 4).intercept().build().unwrap();
    assert!(shares(&two).iter().all(|&share| share == 1.0));
    assert_eq!(shares(&three).iter().filter(|&&share| share == 0.7).count(), 1);

    // two classes that become three, during the warm-up and after it
    for rows in [20, 300] {
        let data = Rows4::draw(&mut rng(61), 2, rows);
        let mut grown = Categorical::builder(2, 4).intercept().build().unwrap();
        grown.learn(data.rows()).unwrap();
        let before = grown.weights();
        grown.grow_class().unwrap();
        let after = grown.weights();
        let copied = before.iter().filter(|member| member.prior_size == 100.0).count();
        assert_eq!(after.len(), before.len() + copied, "{rows} rows");
        let total: f64 = after.iter().map(|member| member.weight).sum();
        assert!((total - 1.0).abs() <= 1e-12, "{total}");
    }
    let state = three.state();
    three.learn(Rows4::draw(&mut rng(62), 3, 40).rows()).unwrap();
    let restored = Categorical::restore(state).unwrap();
    assert!(shares(&restored).contains(&0.7));
}

/// Rows of five clusters that lie far apart in ten directions.
fn clusters(rows: usize) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(63);
    let centers: Vec<f64> = (0..50).map(|_| 6.0 * centered(&mut rng)).collect();
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..rows {
        let class = (5.0 * uniform(&mut rng)) as usize;
        x.push(1.0);
        x.extend((0..10).map(|j| centers[10 * class + j] + 4.0 * centered(&mut rng)));
        y.push(class as f64);
    }
    (x, y)
}

#[test]
fn clusters_prefer_a_share_and_noisy_classes_all_of_the_variance() {
    let (x, y) = clusters(600);
    let mut learner = Categorical::builder(5, 11).intercept().build().unwrap();
    learner.learn(Rows::new(11, &x, &y).unwrap()).unwrap();
    let weight = partial_weight(&learner);
    assert!(weight > 0.5, "clusters: {weight}");

    let mut learner = Categorical::builder(3, 4).intercept().build().unwrap();
    learner.learn(Rows4::draw(&mut rng(64), 3, 2000).rows()).unwrap();
    let weight = partial_weight(&learner);
    assert!(weight < 0.1, "noisy classes: {weight}");
}
