//! What the default learner may not depend on: the units and the zero of `y` and of every feature,
//! the order of features, rows of weight 0.

use crate::common::{Rng, centered, property, rng, uniform};
use kalmia::{
    AnyFamily, Auto, Bernoulli, DriftMode, Family, Gamma, Gaussian, Learner, Poisson, Predict,
    RowView, Rows,
};
use proptest::prelude::*;

const FAMILIES: [&str; 7] =
    ["gaussian", "bernoulli", "poisson", "gamma", "negative-binomial", "quantile:0.7", "student"];
const DIM: usize = 4;
const ROWS: usize = 300;

/// Rows `(1, x)` with features of several sizes, and a linear predictor.
fn rows(rng: &mut Rng) -> (Vec<f64>, Vec<f64>) {
    let slopes = [0.3, 0.8 * centered(rng), 0.05 * centered(rng), 0.0];
    let mut x = Vec::new();
    let mut linear = Vec::new();
    for _ in 0..ROWS {
        let row = [1.0, centered(rng), 10.0 * uniform(rng), f64::from(uniform(rng) < 0.3)];
        linear.push(row.iter().zip(slopes).map(|(x, t)| x * t).sum());
        x.extend(row);
    }
    (x, linear)
}

fn sampled<F: Family>(family: F, linear: &[f64], rng: &mut Rng) -> Vec<f64> {
    linear.iter().map(|&u| family.sample(u, rng)).collect()
}

/// What a learner with an intercept predicted before each row, and its total loss.
fn learned<F: Family>(family: F, drift: DriftMode, rows: Rows<'_>) -> (Auto<F>, Vec<f64>, f64) {
    let mut auto = Auto::builder(family, rows.dim()).intercept().drift(drift).build().unwrap();
    let mut means = Vec::new();
    let mut loss = 0.0;
    let mut watch = |seen: &RowView<'_>| {
        means.push(seen.mean);
        loss += seen.loss;
    };
    auto.learn_observed(rows, Some(&mut watch)).unwrap();
    (auto, means, loss)
}

fn predicted<F: Family>(family: F, drift: DriftMode, x: &[f64], y: &[f64]) -> (Auto<F>, Vec<f64>) {
    let (auto, means, _) = learned(family, drift, Rows::new(DIM, x, y).unwrap());
    (auto, means)
}

/// Every value equals its counterpart, up to `tolerance`; NaN does not.
fn assert_same(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len());
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance, "{what}, value {i}: {a} for {b}");
    }
}

proptest! {
    #![proptest_config(property(1, 12))]

    #[test]
    fn shifting_and_scaling_the_target_does_just_that(
        seed in 0u64..1000,
        shift in prop_oneof![Just(300.0), Just(-1e6), -10.0..10.0],
        scale in prop_oneof![Just(1e-6), Just(-1.0), Just(1e6), 0.1..10.0],
        mode in 0usize..3,
    ) {
        let mut rng = rng(seed);
        let (x, linear) = rows(&mut rng);
        let y = sampled(Gaussian::default(), &linear, &mut rng);
        let drift = DriftMode::ALL[mode];
        let moved = |y: f64| scale * (y + shift);
        let other: Vec<f64> = y.iter().map(|&y| moved(y)).collect();
        let (plain, means) = predicted(Gaussian::default(), drift, &x, &y);
        let (auto, others) = predicted(Gaussian::default(), drift, &x, &other);
        let expected: Vec<f64> = means.iter().map(|&mean| moved(mean)).collect();
        // rounding of `y` itself at this shift
        let tolerance = 1e-9 * scale.abs() * (1.0 + shift.abs());
        assert_same(&others[1..], &expected[1..], tolerance, "mean");
        let row = &x[..DIM];
        let here = auto.predict(row, 0.0).unwrap().interval(0.9).unwrap();
        let there = plain.predict(row, 0.0).unwrap().interval(0.9).unwrap();
        let (a, b) = (moved(there.lower), moved(there.upper));
        let tolerance = 1e3 * tolerance;
        assert_same(&[here.lower, here.upper], &[a.min(b), a.max(b)], tolerance, "interval");
    }

    #[test]
    fn a_constant_in_the_target_of_a_log_link_moves_the_intercept_alone(
        seed in 0u64..1000,
        shift in -6.0..6.0f64,
    ) {
        let mut rng = rng(seed);
        let (x, linear) = rows(&mut rng);
        let amounts = sampled(Gamma::new(0.5).unwrap(), &linear, &mut rng);
        let scaled: Vec<f64> = amounts.iter().map(|y| y * shift.exp()).collect();
        let (auto, means) = predicted(Gamma::default(), DriftMode::Off, &x, &amounts);
        let (moved, others) = predicted(Gamma::default(), DriftMode::Off, &x, &scaled);
        let ratios: Vec<f64> = others.iter().zip(&means).map(|(a, b)| (a / b).ln()).collect();
        assert_same(&ratios[1..], &vec![shift; ROWS - 1], 1e-7, "amount");
        let expected = auto.coefficients()[0] + shift;
        assert_same(&moved.coefficients()[..1], &[expected], 1e-7, "intercept");

        // a constant offset is an exposure that all rows share
        let counts = sampled(Poisson, &linear, &mut rng);
        let offsets = vec![shift; ROWS];
        let (_, means) = predicted(Poisson, DriftMode::Off, &x, &counts);
        let exposed = Rows::new(DIM, &x, &counts).unwrap().with_offsets(&offsets).unwrap();
        let (_, others, _) = learned(Poisson, DriftMode::Off, exposed);
        let ratios: Vec<f64> = others.iter().zip(&means).map(|(a, b)| (a / b).ln()).collect();
        assert_same(&ratios[1..], &vec![0.0; ROWS - 1], 1e-7, "count");
    }

    #[test]
    fn the_other_label_has_the_other_probability(seed in 0u64..1000) {
        let mut rng = rng(seed);
        let (x, linear) = rows(&mut rng);
        let y = sampled(Bernoulli, &linear, &mut rng);
        let (_, means) = predicted(Bernoulli, DriftMode::Detect, &x, &y);
        let other: Vec<f64> = y.iter().map(|y| 1.0 - y).collect();
        let (_, others) = predicted(Bernoulli, DriftMode::Detect, &x, &other);
        let expected: Vec<f64> = means.iter().map(|mean| 1.0 - mean).collect();
        assert_same(&others, &expected, 1e-9, "probability");
    }

    #[test]
    fn units_and_order_of_features_change_no_prediction(
        seed in 0u64..1000,
        family in 0usize..FAMILIES.len(),
    ) {
        let mut rng = rng(seed);
        let (x, linear) = rows(&mut rng);
        let family = FAMILIES[family];
        let family: AnyFamily = family.parse().unwrap();
        let y = sampled(family, &linear, &mut rng);
        let (_, means) = predicted(family, DriftMode::Off, &x, &y);
        let size = means.iter().fold(1.0, |size: f64, mean| size.max(mean.abs()));
        let scaled: Vec<f64> =
            x.chunks(DIM).flat_map(|x| [1.0, 1e4 * x[1], -1e-3 * x[2], 7.0 * x[3]]).collect();
        let (_, others) = predicted(family, DriftMode::Off, &scaled, &y);
        assert_same(&others, &means, 1e-7 * size, "units");
        let turned: Vec<f64> = x.chunks(DIM).flat_map(|x| [1.0, x[3], x[1], x[2]]).collect();
        let (_, others) = predicted(family, DriftMode::Off, &turned, &y);
        assert_same(&others, &means, 1e-7 * size, "order");
    }

    /// Half of the members take features as they come, and these depend on the zero of a feature.
    /// The mixture's total loss is at most `ln 2` above that of the other half alone, which does
    /// not. A year instead of an age costs no more.
    #[test]
    fn the_zero_of_a_feature_costs_at_most_a_factor_of_two_in_likelihood(
        seed in 0u64..1000,
        family in 0usize..FAMILIES.len(),
    ) {
        let mut rng = rng(seed);
        let (x, linear) = rows(&mut rng);
        let family = FAMILIES[family];
        let family: AnyFamily = family.parse().unwrap();
        let y = sampled(family, &linear, &mut rng);
        // so far away that the members with features as they come cannot use the slopes
        let far: Vec<f64> =
            x.chunks(DIM).flat_map(|x| [1.0, x[1] + 1e7, x[2] - 1e8, x[3] + 1e7]).collect();
        let further: Vec<f64> =
            x.chunks(DIM).flat_map(|x| [1.0, x[1] - 3e7, x[2] + 1e8, x[3] + 2e7]).collect();
        let loss = |x: &[f64]| learned(family, DriftMode::Off, Rows::new(DIM, x, &y).unwrap()).2;
        let near = loss(&x);
        let far_away = loss(&far);
        // the zero is out of reach in both: nothing depends on where it is
        prop_assert!((far_away - loss(&further)).abs() < 0.02, "{far_away}");
        // Of the far rows, half of the members learn the intercept alone, which may be luck; and
        // the first rows are predicted under other scales. Neither is in the bound.
        prop_assert!(near <= far_away + 2f64.ln() + 2.0, "{near} {far_away}");
    }
}

/// Rows of weight 0 are predicted and nothing else, in the warm-up and after it.
#[test]
fn a_row_of_weight_zero_is_no_row() {
    let mut rng = rng(21);
    let (x, linear) = rows(&mut rng);
    for family in FAMILIES {
        let family: AnyFamily = family.parse().unwrap();
        let y = sampled(family, &linear, &mut rng);
        let (plain, means) = predicted(family, DriftMode::Off, &x[..DIM * 200], &y[..200]);
        let mut wide = Vec::new();
        let mut targets = Vec::new();
        let mut weights = Vec::new();
        for (i, row) in x[..DIM * 200].chunks(DIM).enumerate() {
            if i % 5 == 2 {
                wide.extend([1.0, 1e5, -1e9, 3.0]);
                targets.push(1.0);
                weights.push(0.0);
            }
            wide.extend(row);
            targets.push(y[i]);
            weights.push(1.0);
        }
        let rows = Rows::new(DIM, &wide, &targets).unwrap().with_weights(&weights).unwrap();
        let (auto, others, _) = learned(family, DriftMode::Off, rows);
        let weighted = others.iter().zip(&weights).filter(|(_, weight)| **weight > 0.0);
        let others: Vec<f64> = weighted.map(|(mean, _)| *mean).collect();
        let size = means.iter().fold(1.0, |size: f64, mean| size.max(mean.abs()));
        assert_same(&others, &means, 1e-9 * size, family.name());
        assert_same(&auto.coefficients(), &plain.coefficients(), 1e-9 * size, family.name());
    }
}

/// After the warm-up a row of weight 2 is that row twice. For normal noise this is exact; the
/// scales of the warm-up count rows, so there the two differ.
#[test]
fn a_doubled_row_is_a_row_of_weight_two() {
    let mut rng = rng(22);
    let (x, linear) = rows(&mut rng);
    let y = sampled(Gaussian::default(), &linear, &mut rng);
    let (start, _) = predicted(Gaussian::default(), DriftMode::Off, &x[..DIM * 150], &y[..150]);
    let rest = (150..200).map(|i| (&x[DIM * i..DIM * (i + 1)], y[i]));
    let mut doubled = start.clone();
    let mut weighted = start;
    for (row, y) in rest {
        let twice = [row, row].concat();
        doubled.learn(Rows::new(DIM, &twice, &[y, y]).unwrap()).unwrap();
        let one = Rows::new(DIM, row, std::slice::from_ref(&y)).unwrap();
        weighted.learn(one.with_weights(&[2.0]).unwrap()).unwrap();
    }
    assert_same(&weighted.coefficients(), &doubled.coefficients(), 1e-9, "coefficient");
    let errors = weighted.standard_errors().unwrap();
    assert_same(&errors, &doubled.standard_errors().unwrap(), 1e-9, "standard error");
    assert_same(&[weighted.dispersion()], &[doubled.dispersion()], 1e-9, "dispersion");
}
