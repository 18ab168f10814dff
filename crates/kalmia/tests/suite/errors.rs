//! Refused rows and parameters: a typed error that names what is wrong, and an unchanged learner.

use crate::common;

use common::{Data, rng};
use kalmia::covariance::Covariance;
use kalmia::learner::Drift;
use kalmia::rows::MAX_WEIGHT;
use kalmia::rule::AnyRule;
use kalmia::{
    AnyFamily, Bernoulli, Dense, Ekf, Error, Factored, Filter, Gamma, Gaussian, Learner,
    MomentMatch, Poisson, Predict, Prior, Rows, Truncated,
};

type Any<C> = Filter<AnyFamily, AnyRule, C>;

fn learned<C: Covariance>(family: &str, rule: &str, dim: usize) -> Any<C> {
    let family: AnyFamily = family.parse().unwrap();
    let data = Data::draw(&mut rng(3), &family, dim, 40);
    let mut filter = untrained::<C>(family, rule, dim);
    filter.learn(data.rows()).unwrap();
    filter
}

fn untrained<C: Covariance>(family: AnyFamily, rule: &str, dim: usize) -> Any<C> {
    let prior = Prior::isotropic(dim, 0.7).unwrap();
    Filter::with_covariance(family, rule.parse().unwrap(), prior).unwrap()
}

/// Refuses the rows, leaves the state, and can go on.
fn refuses<C: Covariance>(filter: &mut Any<C>, rows: Rows<'_>) -> Error {
    let before = filter.state();
    let error = filter.learn(rows).unwrap_err();
    assert_eq!(filter.state(), before, "after {error}");
    let mut untouched = Any::<C>::restore(before).unwrap();
    let data = Data::draw(&mut rng(4), &filter.family(), filter.dim(), 30);
    filter.learn(data.rows()).unwrap();
    untouched.learn(data.rows()).unwrap();
    assert_eq!(filter.state(), untouched.state(), "going on after {error}");
    error
}

fn illegal_numbers<C: Covariance>(dim: usize) {
    let family: AnyFamily = Poisson.into();
    let good = Data::draw(&mut rng(5), &family, dim, 300);
    for row in [0, 137, 299] {
        let column = row % dim;
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e121] {
            let mut bad = good.clone();
            bad.x[row * dim + column] = value;
            match refuses(&mut learned::<C>("poisson", "implicit", dim), bad.rows()) {
                Error::Feature { row: r, column: c, value: v } => {
                    assert!(r == row && c == column && v.to_bits() == value.to_bits());
                }
                other => panic!("{other}"),
            }
        }
        for value in [f64::NAN, f64::INFINITY, -1.0, -0.5] {
            let mut bad = good.clone();
            bad.y[row] = value;
            let error = refuses(&mut learned::<C>("poisson", "moment", dim), bad.rows());
            let Error::Target { row: r, family, .. } = &error else { panic!("{error}") };
            assert!(*r == row && family == "poisson", "{error}");
            assert!(error.is_recoverable() && error.row() == Some(row));
        }
        for value in [f64::NAN, f64::INFINITY, -0.5, MAX_WEIGHT.next_up(), 1e300] {
            let mut bad = good.clone();
            bad.weight[row] = value;
            let error = refuses(&mut learned::<C>("poisson", "ekf", dim), bad.rows());
            assert!(
                matches!(error, Error::RowExtra { row: r, name: "weight", .. } if r == row),
                "{error}"
            );
        }
        for value in [f64::NAN, f64::NEG_INFINITY] {
            let mut bad = good.clone();
            bad.offset[row] = value;
            let error = refuses(&mut learned::<C>("poisson", "truncated", dim), bad.rows());
            assert!(
                matches!(error, Error::RowExtra { row: r, name: "offset", .. } if r == row),
                "{error}"
            );
        }
    }
}

#[test]
fn illegal_numbers_in_a_row_or_batch() {
    illegal_numbers::<Dense>(3);
    illegal_numbers::<Factored>(3);
    illegal_numbers::<Dense>(170);
}

#[test]
fn targets_outside_the_domain() {
    for (family, bad) in [
        ("gaussian", vec![f64::NAN, f64::INFINITY]),
        ("bernoulli", vec![0.5, 2.0, -2.0, f64::NAN]),
        ("binomial:7", vec![8.0, -1.0, 2.5]),
        ("binomial", vec![1.1, -0.1]),
        ("poisson", vec![-1.0, -0.5, 1e300]),
        ("gamma", vec![0.0, -1.0, f64::INFINITY]),
        ("negative-binomial:0.5", vec![-1.0, 0.5, f64::NAN]),
        ("quantile:0.9", vec![f64::NAN, f64::INFINITY]),
        ("student:3", vec![f64::NAN, f64::NEG_INFINITY]),
    ] {
        for value in bad {
            let error = refuses(
                &mut learned::<Factored>(family, "implicit", 2),
                Rows::new(2, &[1.0, 2.0], &[value]).unwrap(),
            );
            let name = family.split(':').next().unwrap();
            assert!(
                matches!(&error, Error::Target { row: 0, family, .. } if *family == name),
                "{error}"
            );
        }
    }
}

#[test]
fn lengths_are_checked() {
    let mut filter = learned::<Factored>("gaussian", "ekf", 3);
    assert_eq!(
        Rows::new(3, &[0.0; 5], &[0.0; 2]).unwrap_err(),
        Error::Length { name: "x", expected: 6, found: 5 }
    );
    let rows = Rows::new(2, &[0.0; 4], &[0.0; 2]).unwrap();
    assert!(matches!(
        rows.with_weights(&[1.0]),
        Err(Error::Length { name: "weight", expected: 2, found: 1 })
    ));
    assert!(matches!(rows.with_offsets(&[1.0; 3]), Err(Error::Length { name: "offset", .. })));
    assert_eq!(refuses(&mut filter, rows), Error::Length { name: "row", expected: 3, found: 2 });
    assert!(matches!(
        filter.predict(&[1.0], 0.0),
        Err(Error::Length { name: "x", expected: 3, found: 1 })
    ));
    assert!(matches!(
        filter.predict(&[1.0, f64::NAN, 0.0], 0.0),
        Err(Error::Feature { column: 1, .. })
    ));
}

#[test]
fn priors_that_are_no_covariance() {
    let bad = |error: Error, at: usize| {
        assert!(matches!(error, Error::NotPositiveDefinite { pivot, .. } if pivot == at), "{error}")
    };
    bad(Prior::diagonal(vec![1.0, 0.0, 2.0]).unwrap_err(), 1);
    bad(Prior::diagonal(vec![1.0, 1.0, -2.0]).unwrap_err(), 2);
    bad(Prior::isotropic(2, f64::NAN).unwrap_err(), 0);
    let indefinite = Prior::full(vec![1.0, 2.0, 2.0, 1.0], 2).unwrap_err();
    assert!(matches!(indefinite, Error::NotPositiveDefinite { .. }), "{indefinite}");
    let asymmetric = Prior::full(vec![1.0, 0.2, 0.1, 1.0], 2).unwrap_err();
    assert!(matches!(asymmetric, Error::Parameter { name: "covariance", .. }), "{asymmetric}");
    let infinite = Prior::full(vec![1.0, f64::INFINITY, f64::INFINITY, 1.0], 2).unwrap_err();
    assert!(matches!(infinite, Error::Parameter { name: "covariance", .. }), "{infinite}");
    assert!(matches!(Prior::full(vec![1.0; 3], 2), Err(Error::Length { name: "covariance", .. })));
    let prior = Prior::isotropic(2, 1.0).unwrap();
    assert!(matches!(prior.clone().with_mean(&[0.0]), Err(Error::Length { name: "mean", .. })));
    assert!(matches!(
        prior.with_mean(&[0.0, f64::NAN]),
        Err(Error::Parameter { name: "mean", .. })
    ));
}

#[test]
fn parameters_out_of_range_are_named() {
    let named = |error: Error, expected: &str| {
        assert!(matches!(&error, Error::Parameter { name, .. } if *name == expected), "{error}")
    };
    let prior = || Prior::isotropic(2, 1.0).unwrap();
    let filter = || Filter::with_covariance::<Dense>(Bernoulli, Ekf, prior()).unwrap();
    for factor in [0.0, 1.0, -0.1, 1.5, f64::NAN] {
        named(filter().with_drift(Drift::Forget { factor }).unwrap_err(), "factor");
    }
    named(
        filter().with_drift(Drift::Walk { variances: vec![0.1, -0.1] }).unwrap_err(),
        "variances",
    );
    assert!(matches!(
        filter().with_drift(Drift::Walk { variances: vec![0.1] }),
        Err(Error::Length { name: "variances", .. })
    ));
    for beta in [0.0, 0.5, f64::NAN] {
        named(Truncated::new(1.0, beta).unwrap_err(), "beta");
    }
    for scale in [0.0, -1.0, f64::INFINITY] {
        named(Truncated::new(scale, 0.3).unwrap_err(), "scale");
    }
    named(Gaussian::new(0.0).unwrap_err(), "noise");
    named(Gamma::new(-1.0).unwrap_err(), "dispersion");
    named("binomial:0".parse::<AnyFamily>().unwrap_err(), "trials");
    for level in [0.0, 1.0, f64::NAN] {
        named(filter().predict(&[1.0, 0.0], 0.0).unwrap().interval(level).unwrap_err(), "level");
    }
    for variance in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut filter = filter();
        let before = filter.state();
        named(filter.grow_with(variance).unwrap_err(), "variance");
        assert_eq!(filter.state(), before);
    }
}

/// Huge features after a huge count: the plain step overflows in the middle of the batch.
fn diverges<C: Covariance>(dim: usize, drift: Drift) {
    let rows = 200;
    let mut x = vec![0.0; dim * rows];
    let mut y = vec![0.0; rows];
    for i in 0..rows {
        x[i * dim + i % dim] = 1e-3;
        y[i] = (i % 3) as f64;
    }
    // the plain step from a mean of 1 to a count of 4e15 lands at e^(1e15), and the next row has a
    // variance of 1e237
    for (row, feature) in [(100, 1.0), (101, 1e119)] {
        x[row * dim..][..dim].fill(0.0);
        x[row * dim] = feature;
    }
    y[100] = 4e15;
    let rows = Rows::new(dim, &x, &y).unwrap();
    let prior = Prior::isotropic(dim, 1.0).unwrap();
    let family: AnyFamily = Poisson.into();
    let filter = Filter::with_covariance::<C>(family, AnyRule::Ekf, prior).unwrap();
    let mut filter = filter.with_drift(drift).unwrap();
    let before = filter.state();
    let error = filter.learn(rows).unwrap_err();
    assert!(matches!(error, Error::Diverged { row: 101, .. }), "{error}");
    assert_eq!(filter.state(), before);
    // row by row: the state is the one before the row that failed (a dense matrix may then run out
    // of precision, which is an error too)
    for i in 0..rows.len() {
        let before = filter.state();
        let result = filter.learn(rows.slice(i..i + 1));
        if let Err(error) = &result {
            assert_eq!(filter.state(), before, "row {i}");
            assert!(
                matches!(
                    error,
                    Error::Diverged { row: 0, .. } | Error::PrecisionLost { row: 0, .. }
                ),
                "row {i}: {error}"
            );
        }
        if i <= 101 {
            assert_eq!(matches!(result, Err(Error::Diverged { .. })), i == 101, "row {i}");
        }
    }
}

#[test]
fn divergence_leaves_the_state() {
    for dim in [2, 9, 170, 300] {
        diverges::<Dense>(dim, Drift::Off);
        diverges::<Factored>(dim, Drift::Off);
    }
    diverges::<Dense>(3, Drift::Forget { factor: 0.9 });
    diverges::<Factored>(3, Drift::Forget { factor: 0.9 });
    diverges::<Dense>(3, Drift::Walk { variances: vec![0.1; 3] });
}

/// A coefficient that overflows, at any place of a batch and under the safe rules too.
#[test]
fn numbers_beyond_all_range_never_enter_the_state() {
    for rule in ["ekf", "implicit", "moment", "truncated"] {
        for (x, y) in [
            ([1e-100, 1e115], [1e300, 1.0]),
            ([1.0, 1e-5], [1.0, 1e308]),
            ([1e-5, 1.0], [1e308, 1e308]),
            ([1e-100, 1e115], [1e119, -1e119]),
        ] {
            let family: AnyFamily = Gaussian::default().into();
            let prior = Prior::isotropic(1, 1e30).unwrap();
            let mut filter = Filter::new(family, rule.parse::<AnyRule>().unwrap(), prior).unwrap();
            for cut in [1, 2] {
                for i in (0..2).step_by(cut) {
                    let before = filter.state();
                    match filter.learn(Rows::new(1, &x[i..i + cut], &y[i..i + cut]).unwrap()) {
                        Ok(()) => {
                            assert!(filter.coefficients()[0].is_finite(), "{rule} {x:?} {y:?}")
                        }
                        Err(error) => {
                            assert!(
                                matches!(error, Error::Diverged { .. } | Error::Target { .. }),
                                "{error}"
                            );
                            assert_eq!(filter.state(), before, "{rule} {x:?} {y:?}: {error}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn states_that_do_not_fit_are_refused() {
    let filter = learned::<Dense>("gaussian", "ekf", 3);
    assert!(matches!(Any::<Factored>::restore(filter.state()), Err(Error::State(_))));
    let mut short = filter.state();
    short.theta.pop();
    assert!(matches!(Any::<Dense>::restore(short), Err(Error::Length { name: "theta", .. })));
    let mut short = filter.state();
    short.covariance.pop();
    assert!(matches!(Any::<Dense>::restore(short), Err(Error::Length { name: "covariance", .. })));
    let mut bad = filter.state();
    bad.covariance[0] = -1.0;
    assert!(matches!(Any::<Dense>::restore(bad), Err(Error::NotPositiveDefinite { pivot: 0, .. })));
    let wider = Prior::isotropic(3, 0.8).unwrap();
    let other: Any<Dense> =
        Filter::with_covariance(filter.family(), *filter.rule(), wider).unwrap();
    assert!(matches!(filter.merge(&other), Err(Error::State(_))));
    let forget = Drift::Forget { factor: 0.9 };
    let forgetful =
        untrained::<Dense>(filter.family(), "ekf", 3).with_drift(forget.clone()).unwrap();
    assert!(matches!(filter.merge(&forgetful), Err(Error::State(_))));
    // rows learned without drift are not undone by setting one
    assert!(matches!(filter.with_drift(forget), Err(Error::State(_))));
}

#[test]
fn a_dense_matrix_without_precision_is_an_error() {
    let mut failed = 0;
    for (dim, rows) in [(3, 40), (200, 400)] {
        // one direction known to 1e-10, in a prior of 1e10: 20 orders of magnitude apart
        let mut rng = rng(8);
        let mut x = Vec::new();
        for _ in 0..rows {
            let common = common::centered(&mut rng);
            x.extend((0..dim).map(|_| common + 1e-9 * common::centered(&mut rng)));
        }
        let y = vec![1.0; rows];
        let prior = Prior::isotropic(dim, 1e10).unwrap();
        let family = Gaussian::new(1e-8).unwrap();
        let rows = Rows::new(dim, &x, &y).unwrap();
        let mut dense =
            Filter::with_covariance::<Dense>(family, MomentMatch, prior.clone()).unwrap();
        let mut factored = Filter::new(family, MomentMatch, prior).unwrap();
        let mut sd = Vec::new();
        let mut sf = Vec::new();
        factored
            .learn_observed(rows, Some(&mut |seen: &kalmia::RowView<'_>| sf.push(seen.variance)))
            .unwrap();
        let result = dense
            .learn_observed(rows, Some(&mut |seen: &kalmia::RowView<'_>| sd.push(seen.variance)));
        // what was not refused agrees to 0.1 %
        for (i, (d, f)) in sd.iter().zip(&sf).enumerate() {
            assert!(
                (d - f).abs() <= 1e-3 * f.max(1e-30),
                "dim {dim} row {i}: dense {d:e}, factored {f:e}"
            );
        }
        if let Err(error) = result {
            assert!(matches!(error, Error::PrecisionLost { .. }), "{error}");
            assert!(!error.is_recoverable());
            failed += 1;
        }
    }
    assert!(failed > 0);
}

/// A prior so wide that one row cancels nearly all of it: the dense form keeps six significant
/// digits or returns an error, by row and in blocks.
#[test]
fn a_nearly_flat_prior_is_exact_or_refused() {
    let mut rng = rng(9);
    let mut refused = 0;
    for dim in [1, 3, 11, 28, 40, 130] {
        let rows = 2 * dim + 8;
        let x: Vec<f64> = (0..dim * rows).map(|_| common::centered(&mut rng)).collect();
        let y: Vec<f64> = (0..rows).map(|_| common::centered(&mut rng)).collect();
        let rows = Rows::new(dim, &x, &y).unwrap();
        for exponent in [6, 9, 11, 13, 15, 16, 18, 30] {
            let prior = Prior::isotropic(dim, 10f64.powi(exponent)).unwrap();
            let mut dense =
                Filter::with_covariance::<Dense>(Gaussian::default(), Ekf, prior.clone()).unwrap();
            let mut factored = Filter::new(Gaussian::default(), Ekf, prior).unwrap();
            factored.learn(rows).unwrap();
            match dense.learn(rows) {
                Ok(()) => {
                    for (d, f) in dense
                        .standard_errors()
                        .unwrap()
                        .iter()
                        .zip(factored.standard_errors().unwrap())
                    {
                        assert!(
                            (d / f - 1.0).abs() < 1e-6,
                            "dim {dim}, prior 1e{exponent}: dense {d:e}, factored {f:e}"
                        );
                    }
                }
                Err(error) => {
                    assert!(matches!(error, Error::PrecisionLost { .. }), "{error}");
                    assert_eq!(dense.count(), 0);
                    assert!(exponent >= 9, "dim {dim}, prior 1e{exponent}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 0);
}

/// Rows of enormous weight: the dense form agrees with the factored one to a tenth of a standard
/// error, or returns an error.
#[test]
fn enormous_weights_are_exact_or_refused() {
    let mut rng = rng(10);
    let mut refused = 0;
    for (dim, prior, near) in [(5, 1.0, 1.0), (5, 1e6, 1.0), (16, 1e6, 1e-5), (40, 1.0, 1e-3)] {
        for largest in [1.0, 1e3, 1e6, 1e9, 1e12] {
            let rows = 4 * dim;
            let x: Vec<f64> = (0..rows)
                .flat_map(|_| {
                    let common = common::centered(&mut rng);
                    (0..dim)
                        .map(|_| common * (1.0 - near) + near * common::centered(&mut rng))
                        .collect::<Vec<_>>()
                })
                .collect();
            let weight: Vec<f64> =
                (0..rows).map(|i| if i % 3 == 0 { largest } else { 1.0 }).collect();
            let y: Vec<f64> = x
                .chunks(dim)
                .zip(&weight)
                .map(|(x, w)| x.iter().sum::<f64>() + common::centered(&mut rng) / w.sqrt())
                .collect();
            let rows = Rows::new(dim, &x, &y).unwrap().with_weights(&weight).unwrap();
            let start = Prior::isotropic(dim, prior).unwrap();
            let mut dense =
                Filter::with_covariance::<Dense>(Gaussian::default(), Ekf, start.clone()).unwrap();
            let mut factored = Filter::new(Gaussian::default(), Ekf, start).unwrap();
            factored.learn(rows).unwrap();
            match dense.learn(rows) {
                Ok(()) => {
                    let errors = factored.standard_errors().unwrap();
                    for (j, (d, f)) in
                        dense.coefficients().iter().zip(&*factored.coefficients()).enumerate()
                    {
                        assert!(
                            (d - f).abs() < 0.1 * errors[j],
                            "dim {dim}, weight {largest:e}: {d} {f}, error {:e}",
                            errors[j]
                        );
                    }
                }
                Err(error) => {
                    // only rows at least 1e9 times as informative as the prior may cancel that much
                    let ratio = prior * largest;
                    assert!(ratio >= 1e9, "dim {dim}, weight {largest:e}: {error}");
                    assert!(matches!(error, Error::PrecisionLost { .. }), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 0);
}
