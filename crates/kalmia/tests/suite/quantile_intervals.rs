//! Quantiles: whether their intervals hold, and the covariance wherever it is asked for.

use crate::common::{dot, normal, rng, uniform};
use crate::quantile::{DIM, learner, skewed};
use kalmia::learner::Sample;
use kalmia::predict::{Interval, MixturePrediction};
use kalmia::{Auto, Inputs, Learner, Predict, Quantile, Rows};
use rand_distr::{Distribution, Exp1, StudentT};
use std::f64::consts::{LN_2, LN_10};

/// Over repeated samples, for several laws of noise whose size may grow with a feature: 90 %
/// intervals of the quantile and of its coefficients hold them.
#[test]
fn intervals_of_the_quantile_hold_it() {
    type Law = fn(&mut crate::common::Rng) -> f64;
    let laws: [(&str, Law, [f64; 3]); 3] = [
        ("normal", |rng| normal(rng), [-1.281_551_6, 0.0, 1.281_551_6]),
        ("exponential", |rng| Exp1.sample(rng), [-0.9f64.ln(), LN_2, LN_10]),
        (
            "Student, 3",
            |rng| StudentT::new(3.0).unwrap().sample(rng),
            [-1.637_744_4, 0.0, 1.637_744_4],
        ),
    ];
    const RUNS: u64 = 160;
    let mut all = 0.0;
    for (name, law, quantiles) in laws {
        for (tau, quantile) in [0.1, 0.5, 0.9].into_iter().zip(quantiles) {
            for growth in [0.0, 1.0] {
                let truth = [2.0 + 0.5 * quantile, 1.0 + growth * quantile, -0.5];
                let truth = if growth == 0.0 { [2.0 + quantile, 1.0, -0.5] } else { truth };
                let mut held = [0; 4];
                for run in 0..RUNS {
                    let mut rng = rng(1000 + run);
                    let mut x = Vec::new();
                    let mut y = Vec::new();
                    for _ in 0..1500 {
                        let row = [1.0, 2.0 * uniform(&mut rng), normal(&mut rng)];
                        let size = if growth == 0.0 { 1.0 } else { 0.5 + growth * row[1] };
                        y.push(2.0 + row[1] - 0.5 * row[2] + size * law(&mut rng));
                        x.extend(row);
                    }
                    let mut auto = learner(tau, 3);
                    auto.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
                    let point = [1.0, 1.5, 1.0];
                    let prediction = auto.predict(&point, 0.0).unwrap();
                    let Interval { lower, upper } = prediction.mean_interval(0.9).unwrap();
                    let level = dot(&point, &truth);
                    held[0] += usize::from(lower <= level && level <= upper);
                    let errors = auto.standard_errors().unwrap();
                    for (j, error) in errors.iter().enumerate() {
                        let off = (auto.coefficients()[j] - truth[j]).abs();
                        held[j + 1] += usize::from(off <= 1.644_853_6 * error);
                    }
                }
                let shares = held.map(|held| held as f64 / RUNS as f64);
                println!("{name}, tau {tau}, growth {growth}: {shares:?}");
                // three standard errors of such a share are 0.07
                for share in shares {
                    assert!((0.81..=0.98).contains(&share), "{name} {tau} {growth}: {shares:?}");
                    all += share / 72.0;
                }
            }
        }
    }
    println!("on average {all:.4}");
    assert!((0.88..=0.92).contains(&all), "{all}");
}

/// The covariance is that of the predictions and of the draws, in any unit and for features far
/// from 0, and a learner that grows knows its new coefficient no better than its prior.
#[test]
fn the_covariance_is_the_same_wherever_it_is_asked_for() {
    let (mut x, y) = skewed(2000, 12);
    for row in x.chunks_mut(DIM) {
        row[2] *= 1e-3;
        row[3] = 2000.0 + 3.0 * row[3];
    }
    let mut auto = learner(0.8, DIM);
    auto.learn(Rows::new(DIM, &x, &y).unwrap()).unwrap();
    let entry = |i: usize, j: usize| auto.covariance_entry(i, j).unwrap();
    for row in x.chunks(DIM).take(5) {
        let mut square = 0.0;
        let mut size = 0.0;
        for i in 0..DIM {
            for j in 0..DIM {
                let term = row[i] * row[j] * entry(i, j);
                square += term;
                size += term.abs();
            }
        }
        let found = auto.predict(row, 0.0).unwrap().linear_variance;
        // the entries of a feature far from 0 nearly cancel
        assert!((square - found).abs() < 1e-9 * size + 0.02 * found, "{square} {found}");
        let mut batch = 0.0;
        let inputs = Inputs::new(DIM, row).unwrap();
        let mut note = |_: usize, one: &MixturePrediction<Quantile>| {
            batch = one.linear_variance;
            Ok(())
        };
        auto.predict_many(inputs, &mut note).unwrap();
        assert!((batch / found - 1.0).abs() < 1e-9, "{batch} {found}");
    }
    let draws = auto.sample_coefficients(4000, &mut rng(3)).unwrap();
    for j in 0..DIM {
        let values = || draws.chunks(DIM).map(|draw| draw[j]);
        let mean = values().sum::<f64>() / 4000.0;
        let variance = values().map(|v| (v - mean).powi(2)).sum::<f64>() / 4000.0;
        let ratio = variance / entry(j, j);
        assert!((0.85..1.15).contains(&ratio), "{j}: {ratio}");
    }
    let before = auto.clone();
    auto.grow().unwrap();
    let grown = auto.covariance_entry(DIM, DIM).unwrap();
    assert!(grown > 10.0 * entry_of(&before, 4), "{grown}");
    assert_eq!(entry_of(&before, 2), entry_of(&auto, 2));
    auto.shrink().unwrap();
    assert_eq!(auto.state(), before.state());
}

fn entry_of(auto: &Auto<Quantile>, j: usize) -> f64 {
    auto.covariance_entry(j, j).unwrap()
}
