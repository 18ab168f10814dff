//! The default learner: what it promises of accuracy, scale, raw features, dispersion, state and
//! drift.

use crate::common::{gap, largest, rng, uniform};
use kalmia::{
    Auto, Bernoulli, DriftMode, Ekf, Family, Filter, Gamma, Gaussian, Learner, Poisson, Predict,
    Prior, RowView, Rows,
};

const THETA: [f64; 11] = [-9.0, 0.0, 3.0, -9.0, 4.0, -9.0, 15.0, 0.0, -7.0, 1.0, 0.0];

/// The paper's experiment: $X = (1, Z)$, $Z$ uniform on the cube, a logistic model.
fn paper(seed: u64, n: usize, factor: f64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..n {
        let row: Vec<f64> = (0..11).map(|j| if j == 0 { 1.0 } else { uniform(&mut rng) }).collect();
        let u: f64 = row.iter().zip(&THETA).map(|(x, t)| factor * x * t).sum();
        y.push(f64::from(uniform(&mut rng) < Bernoulli.mean(u)));
        x.extend(row);
    }
    (x, y)
}

fn distance(a: &[f64], factor: f64) -> f64 {
    a.iter().zip(&THETA).map(|(a, t)| (a - factor * t).powi(2)).sum()
}

/// Maximum likelihood on all rows, by Newton's method.
fn maximum_likelihood(x: &[f64], y: &[f64]) -> Vec<f64> {
    let d = 11;
    let mut theta = vec![0.0; d];
    for _ in 0..25 {
        let mut gradient = vec![0.0; d];
        let mut hessian = vec![0.0; d * d];
        for (x, &y) in x.chunks(d).zip(y) {
            let u: f64 = x.iter().zip(&theta).map(|(x, t)| x * t).sum();
            let (first, second) = Bernoulli.derivatives(y, u);
            for i in 0..d {
                gradient[i] += first * x[i];
                for j in 0..d {
                    hessian[j * d + i] += second * x[i] * x[j];
                }
            }
        }
        kalmia::internals::cholesky_lower(&mut hessian, d, "hessian").unwrap();
        kalmia::internals::solve_cholesky(&hessian, d, &mut gradient);
        theta.iter_mut().zip(&gradient).for_each(|(t, g)| *t -= g);
    }
    theta
}

#[test]
fn as_good_as_maximum_likelihood_on_the_papers_data() {
    let mut auto_error = 0.0;
    let mut batch_error = 0.0;
    for seed in 0..30 {
        let (x, y) = paper(seed, 10_000, 1.0);
        let mut auto = Auto::new(Bernoulli, 11).unwrap();
        auto.learn(Rows::new(11, &x, &y).unwrap()).unwrap();
        auto_error += distance(&auto.coefficients(), 1.0) / 30.0;
        batch_error += distance(&maximum_likelihood(&x, &y), 1.0) / 30.0;
    }
    println!("squared error: auto {auto_error:.3}, maximum likelihood {batch_error:.3}");
    assert!(auto_error <= 2.0 * batch_error, "{auto_error} against {batch_error}");
}

#[test]
fn costs_little_more_than_the_right_prior() {
    let mut auto_excess = 0.0;
    let mut ekf_excess = 0.0;
    for seed in 100..130 {
        let (x, y) = paper(seed, 10_000, 0.1);
        let rows = Rows::new(11, &x, &y).unwrap();
        let star: f64 = (0..y.len())
            .map(|i| {
                Bernoulli.loss(y[i], rows.x(i).iter().zip(&THETA).map(|(x, t)| 0.1 * x * t).sum())
            })
            .sum();
        let mut auto = Auto::new(Bernoulli, 11).unwrap();
        auto.learn_observed(rows, Some(&mut |s: &RowView<'_>| auto_excess += s.loss / 30.0))
            .unwrap();
        let mut ekf = Filter::new(Bernoulli, Ekf, Prior::isotropic(11, 1.0).unwrap()).unwrap();
        ekf.learn_observed(rows, Some(&mut |s: &RowView<'_>| ekf_excess += s.loss / 30.0)).unwrap();
        auto_excess -= star / 30.0;
        ekf_excess -= star / 30.0;
    }
    println!("cumulative excess loss: auto {auto_excess:.2}, ekf {ekf_excess:.2}");
    assert!(auto_excess <= 1.2 * ekf_excess, "{auto_excess} against {ekf_excess}");
}

/// A few rows that a plane separates have huge coefficients under a wide prior; the mixture's mean
/// must not follow them.
#[test]
fn coefficients_of_the_first_rows_are_calm() {
    let mut error = 0.0;
    for seed in 200..240 {
        let (x, y) = paper(seed, 16, 0.1);
        let mut auto = Auto::new(Bernoulli, 11).unwrap();
        auto.learn(Rows::new(11, &x, &y).unwrap()).unwrap();
        error += distance(&auto.coefficients(), 0.1) / 40.0;
    }
    assert!(error < 120.0, "{error}");
}

fn means<F: Family>(auto: &mut Auto<F>, dim: usize, x: &[f64], y: &[f64]) -> Vec<f64> {
    let mut means = Vec::new();
    auto.learn_observed(
        Rows::new(dim, x, y).unwrap(),
        Some(&mut |s: &RowView<'_>| means.push(s.mean)),
    )
    .unwrap();
    means
}

#[test]
fn the_dispersion_of_amounts_is_learned() {
    let mut rng = rng(11);
    let family = Gamma::new(0.2).unwrap();
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..4000 {
        let z = uniform(&mut rng);
        x.extend([1.0, z]);
        y.push(family.sample(6.0 + 2.0 * z, &mut rng));
    }
    let mut auto = Auto::new(Gamma::default(), 2).unwrap();
    auto.learn(Rows::new(2, &x, &y).unwrap()).unwrap();
    assert!((auto.dispersion() / 0.2 - 1.0).abs() < 0.1, "{}", auto.dispersion());
    // sd of the slope: sqrt(phi / (n Var z)) with Var z = 1/12
    let expected = (0.2f64 * 12.0 / 4000.0).sqrt();
    assert!(
        (auto.standard_errors().unwrap()[1] / expected - 1.0).abs() < 0.1,
        "{:?}",
        auto.standard_errors().unwrap()
    );
    assert!((auto.coefficients()[1] - 2.0).abs() < 4.0 * expected);
}

#[test]
fn cuts_do_not_matter_and_a_restored_state_goes_on_bit_for_bit() {
    let (x, y) = paper(3, 1500, 0.3);
    for drift in [DriftMode::Off, DriftMode::Adapt] {
        let whole =
            means(&mut Auto::builder(Bernoulli, 11).drift(drift).build().unwrap(), 11, &x, &y);
        let mut auto = Auto::builder(Bernoulli, 11).drift(drift).build().unwrap();
        let mut never = auto.clone();
        let mut cut = Vec::new();
        let mut at = 0;
        for size in [1, 3, 60, 100, 7, 300, 29, 500, 500] {
            let x = &x[at * 11..(at + size) * 11];
            let y = &y[at..at + size];
            cut.extend(means(&mut auto, 11, x, y));
            means(&mut never, 11, x, y);
            let text = serde_json::to_string(&auto.state()).unwrap();
            auto = Auto::restore(serde_json::from_str(&text).unwrap()).unwrap();
            assert_eq!(auto.state(), never.state(), "{drift:?} after {size} at {at}");
            at += size;
        }
        assert_eq!(whole.len(), cut.len());
        let worst = largest(whole.iter().zip(&cut).map(|(a, b)| (a - b).abs() / a.min(1.0 - a)));
        assert!(worst < 1e-9, "{drift:?}: {worst}");
    }
}

#[test]
fn a_late_feature_changes_nothing_before_and_its_scale_nothing_after() {
    let (x, y) = paper(5, 1200, 0.3);
    let scaled = |factor: f64| -> Vec<f64> {
        // feature 10 is zero in the first 600 rows
        x.chunks(11)
            .enumerate()
            .flat_map(|(i, row)| {
                row.iter().enumerate().map(move |(j, &v)| {
                    if j == 10 { if i < 600 { 0.0 } else { factor * v } } else { v }
                })
            })
            .collect()
    };
    let from_start = means(&mut Auto::new(Bernoulli, 11).unwrap(), 11, &scaled(1.0), &y);
    let scaled_start = means(&mut Auto::new(Bernoulli, 11).unwrap(), 11, &scaled(1e4), &y);
    let narrow: Vec<f64> =
        x.chunks(11).take(600).flat_map(|row| row[..10].iter().copied()).collect();
    let mut grown = Auto::new(Bernoulli, 10).unwrap();
    let mut late = means(&mut grown, 10, &narrow, &y[..600]);
    grown.grow().unwrap();
    late.extend(means(&mut grown, 11, &scaled(1.0)[600 * 11..], &y[600..]));
    for (name, other) in [("scaled", &scaled_start), ("grown", &late)] {
        let worst = gap(other, &from_start, 1.0);
        assert!(worst < 1e-8, "{name}: {worst}");
    }
}

#[test]
fn drift_is_followed_when_asked_and_reported_when_not() {
    let mut rng = rng(9);
    let n = 20_000;
    let mut x = Vec::new();
    let mut moving = Vec::new();
    let mut fixed = Vec::new();
    for t in 0..n {
        let z = uniform(&mut rng) - 0.5;
        x.extend([1.0, z]);
        let swing = 2.0 * (t as f64 / 1500.0).sin();
        let coin = uniform(&mut rng);
        moving.push(f64::from(coin < Bernoulli.mean(swing + 3.0 * z)));
        fixed.push(f64::from(coin < Bernoulli.mean(0.5 + 3.0 * z)));
    }
    let loss = |y: &[f64], drift| {
        let mut auto = Auto::builder(Bernoulli, 2).drift(drift).build().unwrap();
        let mut total = 0.0;
        auto.learn_observed(
            Rows::new(2, &x, y).unwrap(),
            Some(&mut |s: &RowView<'_>| total += s.loss),
        )
        .unwrap();
        (total / n as f64, auto.drift_report())
    };
    let ((still, report), (follows, none)) =
        (loss(&moving, DriftMode::Off), loss(&moving, DriftMode::Adapt));
    println!("moving: static {still:.4}, adapting {follows:.4}, {report:?}");
    assert!(none.is_none() && follows < still - 0.03);
    let report = report.unwrap();
    assert!(report.drift() && report.gain > 0.5 * (still - follows), "{report:?}");
    let ((still, report), (follows, _)) =
        (loss(&fixed, DriftMode::Off), loss(&fixed, DriftMode::Adapt));
    println!("fixed: static {still:.4}, adapting {follows:.4}, {report:?}");
    assert!(follows < still + 0.001 && !report.unwrap().drift());
    // static to the last bit if nothing moves, and after the detection as good as `Adapt`
    let (detects, report) = loss(&fixed, DriftMode::Detect);
    assert!(detects == still && report.is_some());
    let ((detects, none), (follows, _)) =
        (loss(&moving, DriftMode::Detect), loss(&moving, DriftMode::Adapt));
    assert!(none.is_none() && detects < follows + 0.02, "{detects} {follows}");
}

/// With an intercept the zero of a feature does not matter to a learner that follows a drift, apart
/// from the members whose prior is that of features as they come; the intercept follows the shift.
#[test]
fn a_shifted_feature_is_followed_as_well() {
    fn check<F: Family + PartialEq>(family: F, tolerance: f64, target: impl Fn(f64, f64) -> f64) {
        let mut rng = rng(13);
        let n = 8000;
        let draws: Vec<[f64; 3]> =
            (0..n).map(|_| [0; 3].map(|_| uniform(&mut rng) - 0.5)).collect();
        let moving = |i: usize| (i as f64 / 1000.0).sin();
        let y: Vec<f64> = draws
            .iter()
            .enumerate()
            .map(|(i, [z, q, e])| target(0.5 * z + 3.0 * q * moving(i), *e))
            .collect();
        let run = |shift: f64| {
            let x: Vec<f64> = draws.iter().flat_map(|[z, q, _]| [1.0, shift + z, *q]).collect();
            let mut auto = Auto::builder(family.clone(), 3)
                .intercept()
                .drift(DriftMode::Adapt)
                .build()
                .unwrap();
            let means = means(&mut auto, 3, &x, &y);
            let last = auto.predict(&[1.0, shift + 0.2, 0.1], 0.0).unwrap();
            (means, last, auto)
        };
        let (plain, there, auto) = run(0.0);
        assert!(auto.weights().iter().any(|weight| weight.process_noise > 0.0));
        for shift in [100.0, 2013.0, 1e6] {
            let (shifted, here, moved) = run(shift);
            for (i, (a, b)) in plain.iter().zip(&shifted).enumerate().skip(1000) {
                assert!(
                    (a - b).abs() < tolerance * (1.0 + a.abs()),
                    "{} shift {shift} row {i}: {a} {b}",
                    family.name()
                );
            }
            let close = |a: f64, b: f64| (a - b).abs() < 10.0 * tolerance * a.abs();
            assert!(
                close(there.mean, here.mean) && close(there.linear_variance, here.linear_variance),
                "{shift}"
            );
            assert!(close(auto.standard_errors().unwrap()[1], moved.standard_errors().unwrap()[1]));
            let level = moved.coefficients()[0] + shift * moved.coefficients()[1];
            assert!(
                (level - auto.coefficients()[0]).abs() < 10.0 * tolerance,
                "{shift}: {level} {}",
                auto.coefficients()[0]
            );
            // the intercept's variance is that of the line at the feature's zero
            let variance: f64 = [(0, 0, 1.0), (0, 1, 2.0 * shift), (1, 1, shift * shift)]
                .map(|(i, j, times)| times * moved.covariance_entry(i, j).unwrap())
                .iter()
                .sum();
            let expected = auto.covariance_entry(0, 0).unwrap();
            assert!(
                shift > 1e4 || (variance / expected - 1.0).abs() < 10.0 * tolerance,
                "{shift}: {variance} {expected}"
            );
            assert_eq!(Auto::restore(moved.state()).unwrap().state(), moved.state());
        }
    }
    check(Bernoulli, 1e-2, |u, e| f64::from(e + 0.5 < Bernoulli.mean(u)));
    check(Gaussian::default(), 1e-3, |u, e| u + e);
}

/// A row of weight 0 changes nothing, whatever its values; the loss of a row with another weight is
/// that of one observation.
#[test]
fn rows_of_weight_zero_change_nothing_and_weights_no_loss() {
    let mut rng = rng(14);
    let mut x = Vec::new();
    let mut y = Vec::new();
    let mut weight = Vec::new();
    let mut plain_x = Vec::new();
    let mut plain_y = Vec::new();
    for i in 0..600 {
        let z = uniform(&mut rng) - 0.5;
        let target = 1.0 + 2.0 * z + 0.3 * (uniform(&mut rng) - 0.5);
        if i % 7 == 3 {
            x.extend([1.0, 1e6]);
            y.push(1e9);
            weight.push(0.0);
        }
        x.extend([1.0, z]);
        y.push(target);
        weight.push(1.0);
        plain_x.extend([1.0, z]);
        plain_y.push(target);
    }
    let learned = |rows: Rows<'_>| {
        let mut auto = Auto::builder(Gaussian::default(), 2).intercept().build().unwrap();
        let mut losses = Vec::new();
        let mut watch = |seen: &RowView<'_>| {
            losses.extend((seen.observation.weight > 0.0).then_some(seen.loss))
        };
        auto.learn_observed(rows, Some(&mut watch)).unwrap();
        (auto, losses)
    };
    let (with, seen) = learned(Rows::new(2, &x, &y).unwrap().with_weights(&weight).unwrap());
    let (without, expected) = learned(Rows::new(2, &plain_x, &plain_y).unwrap());
    // scales are taken after other rows of the warm-up: only the outcome is the same
    for j in 0..2 {
        let a = with.standard_errors().unwrap()[j];
        let b = without.standard_errors().unwrap()[j];
        assert!((a / b - 1.0).abs() < 1e-2, "{a} {b}");
        assert!((with.coefficients()[j] - without.coefficients()[j]).abs() < 0.05 * b);
    }
    assert!(
        (seen[300..].iter().sum::<f64>() / expected[300..].iter().sum::<f64>() - 1.0).abs() < 1e-2
    );
}

/// The loss shown to an observer is that of the prediction, for all weights and families.
#[test]
fn a_loss_is_the_density_that_was_predicted() {
    fn check<F: Family>(family: F, link: impl Fn(f64) -> f64) {
        let mut rng = rng(15);
        let mut auto = Auto::new(family.clone(), 2).unwrap();
        for i in 0..400 {
            let x = [1.0, uniform(&mut rng) - 0.5];
            let y = family.sample(link(0.4 + x[1]), &mut rng);
            let weight = [1.0, 3.0, 0.25][i % 3];
            let prediction = auto.predict(&x, 0.0).unwrap();
            let mut seen = (0.0, 0.0);
            let rows = Rows::new(2, &x, std::slice::from_ref(&y)).unwrap();
            let weights = [weight];
            let mut watch = |s: &RowView<'_>| seen = (s.loss, s.mean);
            auto.learn_observed(rows.with_weights(&weights).unwrap(), Some(&mut watch)).unwrap();
            // in the warm-up scales and members are taken anew before a row
            if i > 128 {
                let expected = -prediction.log_density(y);
                assert!(
                    (seen.0 - expected).abs() < 1e-6 * (1.0 + expected.abs()),
                    "{} {i}: {} {expected}",
                    family.name(),
                    seen.0
                );
                assert!(
                    (seen.1 / prediction.mean - 1.0).abs() < 1e-6,
                    "{} {i}: {} {}",
                    family.name(),
                    seen.1,
                    prediction.mean
                );
            }
        }
    }
    check(Bernoulli, |u| u);
    check(Gaussian::default(), |u| u);
    check(Poisson, |u| u);
    check(Gamma::new(0.05).unwrap(), |u| u);
}

/// A category that was never seen carries no information and must not inflate the mean.
#[test]
fn an_unseen_feature_leaves_a_mean_of_the_size_of_the_others() {
    let mut x = Vec::new();
    let mut y = Vec::new();
    for i in 0..60 {
        x.extend([1.0, f64::from(i % 2), 0.0]);
        y.push(f64::from(i % 5));
    }
    let mut auto = Auto::builder(Poisson, 3).intercept().build().unwrap();
    auto.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
    let unseen = auto.predict(&[1.0, 0.0, 1.0], 0.0).unwrap();
    assert!(unseen.mean > 0.5 && unseen.mean < 20.0, "{}", unseen.mean);
    // the prediction is still less certain than one from known categories
    assert!(
        unseen.linear_variance
            > 10.0 * auto.predict(&[1.0, 0.0, 0.0], 0.0).unwrap().linear_variance
    );
}

/// The dispersion estimated from a few rows is theirs, not that of the prior.
#[test]
fn a_small_dispersion_shows_in_few_rows() {
    let mut rng = rng(16);
    let family = Gamma::new(0.004).unwrap();
    let mut ratios = Vec::new();
    for _ in 0..20 {
        let mut x = Vec::new();
        let mut y = Vec::new();
        for _ in 0..100 {
            let row = [1.0, uniform(&mut rng), uniform(&mut rng) - 0.5, 10.0 * uniform(&mut rng)];
            y.push(family.sample(4.0 + row[1] - 2.0 * row[2] + 0.1 * row[3], &mut rng));
            x.extend(row);
        }
        let mut auto = Auto::builder(Gamma::default(), 4).intercept().build().unwrap();
        auto.learn(Rows::new(4, &x, &y).unwrap()).unwrap();
        ratios.push(auto.dispersion() / 0.004);
    }
    let mean = ratios.iter().sum::<f64>() / 20.0;
    println!("dispersion relative to the truth after 100 rows: {mean:.2}");
    assert!(mean > 0.85 && mean < 1.2, "{ratios:?}");
}

/// A feature that only one side has seen is known after merging.
#[test]
fn merging_takes_over_features_that_only_the_other_has_seen() {
    let mut rng = rng(17);
    let mut draw = |slope: f64| -> (Vec<f64>, Vec<f64>) {
        let rows = (0..500).map(|_| {
            let z = uniform(&mut rng) - 0.5;
            let e = 0.1 * (uniform(&mut rng) - 0.5);
            (
                if slope == 0.0 { [1.0, 0.0] } else { [1.0, z] },
                1.0 + slope * z * f64::from(slope != 0.0) + e,
            )
        });
        let rows: Vec<_> = rows.collect();
        (rows.iter().flat_map(|row| row.0).collect(), rows.iter().map(|row| row.1).collect())
    };
    let mut learned = |slope: f64| {
        let (x, y) = draw(slope);
        let mut auto = Auto::new(Gaussian::default(), 2).unwrap();
        auto.learn(Rows::new(2, &x, &y).unwrap()).unwrap();
        auto
    };
    let blind = learned(0.0);
    let seeing = learned(3.0);
    for merged in
        [blind.merge(&seeing).unwrap().into_inner(), seeing.merge(&blind).unwrap().into_inner()]
    {
        let prediction = merged.predict(&[0.0, 1.0], 0.0).unwrap();
        assert!((prediction.mean - 3.0).abs() < 0.05, "{}", prediction.mean);
        let mut later = merged.clone();
        later.learn(Rows::new(2, &[1.0, 0.2], &[1.6]).unwrap()).unwrap();
        assert!(later.standard_errors().unwrap()[1] <= 1.01 * merged.standard_errors().unwrap()[1]);
    }
}

/// Without noise, with dummies beside an intercept and a repeated column: the member without
/// process noise cannot keep its precision in the dense form and leaves the mixture; the others
/// continue.
#[test]
fn a_member_that_loses_its_precision_leaves_the_others() {
    let mut rng = rng(12);
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..6000 {
        let z = uniform(&mut rng) - 0.5;
        let w = uniform(&mut rng) - 0.5;
        let dummy = f64::from(z > 0.0);
        x.extend([1.0, dummy, 1.0 - dummy, z, w, w]);
        y.push(1.0 + 2.0 * dummy + 4.0 * (1.0 - dummy) + 3.0 * z + 11.0 * w);
    }
    let mut auto = Auto::builder(Gaussian::default(), 6).drift(DriftMode::Adapt).build().unwrap();
    let mut late = 0.0f64;
    let mut watch = |seen: &RowView<'_>| {
        let error = (seen.mean - seen.observation.y).abs();
        late = if seen.index < 1000 { 0.0 } else { largest([late, error]) };
    };
    auto.learn_observed(Rows::new(6, &x, &y).unwrap(), Some(&mut watch)).unwrap();
    // By construction, not by the draw: collinear features and no noise take all precision from the
    // member without process noise, and random-walk members are dropped only when they lose theirs.
    let noises: Vec<f64> = auto.weights().iter().map(|weight| weight.process_noise).collect();
    assert_eq!(noises, kalmia::learner::auto::PROCESS_NOISES[1..]);
    assert!(late < 1e-6, "{late}");
    assert_eq!(Auto::restore(auto.state()).unwrap().state(), auto.state());
}

#[test]
fn a_drift_is_detected_at_the_same_row_whatever_the_batches() {
    let mut rng = rng(10);
    let n = 6000;
    let x: Vec<f64> =
        (0..2 * n).map(|i| if i % 2 == 0 { 1.0 } else { uniform(&mut rng) - 0.5 }).collect();
    let swing = |t: usize| 2.0 * (t as f64 / 500.0).sin();
    let y: Vec<f64> = (0..n)
        .map(|t| f64::from(uniform(&mut rng) < Bernoulli.mean(swing(t) + x[2 * t + 1])))
        .collect();
    let means = |batch: usize| {
        let mut auto = Auto::builder(Bernoulli, 2).drift(DriftMode::Detect).build().unwrap();
        let mut means = Vec::new();
        let mut switched = None;
        for (x, y) in x.chunks(2 * batch).zip(y.chunks(batch)) {
            auto.learn_observed(
                Rows::new(2, x, y).unwrap(),
                Some(&mut |s: &RowView<'_>| means.push(s.mean)),
            )
            .unwrap();
            if auto.drift_report().is_none() {
                switched.get_or_insert(auto.count());
            }
            auto = Auto::restore(auto.state()).unwrap();
        }
        (means, switched)
    };
    let (one_by_one, switched) = means(1);
    assert!(switched.is_some_and(|row| row < 5000), "{switched:?}");
    for batch in [77, 1000, n] {
        let worst = gap(&means(batch).0, &one_by_one, 1.0);
        assert!(worst < 1e-9, "batch {batch}: {worst}");
    }
}

#[test]
fn merging_gathers_the_rows_of_both() {
    let mut rng = rng(21);
    let normal = Gaussian::new(4.0).unwrap();
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..3000 {
        let z = uniform(&mut rng) - 0.5;
        x.extend([1.0, z]);
        y.push(normal.sample(1.0 + 2.0 * z, &mut rng));
    }
    let learn = |from: usize, to: usize| {
        let mut auto = Auto::new(Gaussian::default(), 2).unwrap();
        auto.learn(Rows::new(2, &x[2 * from..2 * to], &y[from..to]).unwrap()).unwrap();
        auto
    };
    let all = learn(0, 3000);
    let halves = learn(0, 1400).merge(&learn(1400, 3000)).unwrap();
    assert!(!halves.is_exact());
    let halves = halves.into_inner();
    assert_eq!(halves.count(), 3000);
    for j in 0..2 {
        // the two priors differ by the scales of different first rows: a hundredth of a standard
        // error at 3000 rows
        let error = (halves.coefficients()[j] - all.coefficients()[j]).abs();
        let tolerance = 0.02 * all.standard_errors().unwrap()[j];
        assert!(error < tolerance, "{error}");
        assert!(
            (halves.standard_errors().unwrap()[j] / all.standard_errors().unwrap()[j] - 1.0).abs()
                < 0.01
        );
    }
    assert!(
        (halves.dispersion() / all.dispersion() - 1.0).abs() < 0.01,
        "{} {}",
        halves.dispersion(),
        all.dispersion()
    );
    let exact = learn(0, 2900).merge(&learn(2900, 3000)).unwrap();
    assert!(exact.is_exact());
    assert_eq!(exact.into_inner().coefficients(), all.coefficients());
}
