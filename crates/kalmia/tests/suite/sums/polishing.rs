//! Newton steps from sums against a plain Newton method, the normal equations and the sandwich.

use super::{centered, dot, gap, largest, near, rng};
use crate::common::{Data, Matrix, minus};
use kalmia::sums::{Next, Polish, Polished, PriorPrecision, Sums, polish};
use kalmia::{
    AnyFamily, Bernoulli, Ekf, Error, Factored, Family, Filter, Gaussian, Learner, Poisson,
    Predict, Prior, Rows,
};

/// Rows with an intercept and targets of a model with moderate coefficients.
fn draw(family: &AnyFamily, dim: usize, rows: usize, seed: u64) -> Data {
    let mut rng = rng(seed);
    let truth: Vec<f64> = (0..dim).map(|j| if j % 2 == 0 { 0.5 } else { -0.4 }).collect();
    let mut data = Data {
        dim,
        x: Vec::new(),
        y: Vec::new(),
        weight: (0..rows).map(|i| 0.5 + (i % 3) as f64).collect(),
        offset: (0..rows).map(|i| 0.1 * (i % 5) as f64).collect(),
    };
    for i in 0..rows {
        let x: Vec<f64> = (0..dim).map(|j| if j == 0 { 1.0 } else { centered(&mut rng) }).collect();
        data.y.push(family.sample(dot(&x, &truth) + data.offset[i], &mut rng));
        data.x.extend(x);
    }
    data
}

fn sums_at<F: Family>(family: &F, theta: &[f64], rows: Rows<'_>) -> Sums<F> {
    let mut sums = Sums::new(family.clone(), theta).unwrap().with_scores().unwrap();
    sums.add(rows).unwrap();
    sums
}

/// Passes until nothing moves.
fn fit<F: Family>(
    family: &F,
    prior: &PriorPrecision,
    start: &[f64],
    rows: Rows<'_>,
) -> Result<(Polished, usize), Error> {
    let mut newton = Polish::new(prior.clone()).with_tolerance(1e-7)?;
    let mut theta = start.to_vec();
    loop {
        match newton.step(&sums_at(family, &theta, rows))? {
            Next::Again(next) => theta = next,
            Next::Done(done) => return Ok((*done, newton.passes())),
        }
    }
}

/// Newton's method by plain loops from 0, with the precision of a prior of mean `m`.
fn book(family: &AnyFamily, rows: Rows<'_>, precision: f64, m: f64) -> (Vec<f64>, Matrix) {
    let d = rows.dim();
    let mut theta = vec![0.0; d];
    for _ in 0..60 {
        let mut hessian = Matrix::new(vec![0.0; d * d]);
        let mut gradient: Vec<f64> = theta.iter().map(|t| precision * (t - m)).collect();
        for j in 0..d {
            hessian.a[j * d + j] = precision;
        }
        for i in 0..rows.len() {
            let row = rows.observation(i);
            let y = family.canonical(row.y).unwrap();
            let (first, second) = family.derivatives(y, dot(rows.x(i), &theta) + row.offset);
            hessian = hessian.plus_outer(row.weight * second, rows.x(i));
            for (gradient, x) in gradient.iter_mut().zip(rows.x(i)) {
                *gradient += row.weight * first * x;
            }
        }
        let step = hessian.inverse().times(&gradient);
        // half a step while it is large: no line search is needed from 0
        let size = largest(step.iter().map(|s| s.abs()));
        let part = if size > 1.0 { 1.0 / size } else { 1.0 };
        theta.iter_mut().zip(&step).for_each(|(t, s)| *t -= part * s);
        if size < 1e-14 {
            return (theta, hessian);
        }
    }
    let hessian = Matrix::new(vec![f64::NAN; d * d]);
    (theta, hessian)
}

#[test]
fn passes_from_afar_reach_the_maximum() {
    for name in ["bernoulli", "binomial:7", "poisson", "gamma:0.5", "gaussian:2.5"] {
        let family: AnyFamily = name.parse().unwrap();
        let dim = 5;
        let data = draw(&family, dim, 600, 21);
        for (precision, m) in [(0.0, 0.0), (30.0, 0.2)] {
            let prior = PriorPrecision::diagonal(vec![m; dim], &[precision; 5]).unwrap();
            let (best, hessian) = book(&family, data.rows(), precision, m);
            for start in [vec![0.0; dim], vec![3.0, -2.0, 2.0, -1.0, 1.0], vec![-4.0; dim]] {
                let (done, passes) = fit(&family, &prior, &start, data.rows())
                    .unwrap_or_else(|error| panic!("{name} from {start:?}: {error}"));
                assert!(passes < 25, "{name}: {passes} passes from {start:?}");
                assert!(gap(done.coefficients(), &best, 1.0) < 1e-8, "{name} from {start:?}");
                let covariance = hessian.inverse();
                let known = done.with_dispersion(family.dispersion().unwrap_or(1.0)).unwrap();
                assert!(gap(&known.covariance(), &covariance.a, 0.0) < 1e-6, "{name}");
                assert!(known.moved().max <= 1e-7 || name.starts_with("gaussian"));
            }
        }
    }
}

#[test]
fn normal_noise_takes_one_step() {
    let family = Gaussian::new(2.5).unwrap();
    let any = AnyFamily::from(family);
    let dim = 7;
    let data = draw(&any, dim, 500, 22);
    for precision in [0.0, 4.0] {
        let mut equations = Matrix::new(vec![0.0; dim * dim]);
        let mut right = vec![0.0; dim];
        for j in 0..dim {
            equations.a[j * dim + j] = precision * 2.5;
        }
        for i in 0..500 {
            let x = data.rows().x(i);
            equations = equations.plus_outer(data.weight[i], x);
            let y = data.y[i] - data.offset[i];
            (0..dim).for_each(|j| right[j] += data.weight[i] * y * x[j]);
        }
        let expected = equations.inverse().times(&right);
        let prior = PriorPrecision::diagonal(vec![0.0; dim], &vec![precision; dim]).unwrap();
        let far: Vec<f64> = (0..dim).map(|j| 10.0 * (j as f64 - 3.0)).collect();
        let sums = sums_at(&family, &far, data.rows());
        let one = polish(&prior, &sums).unwrap();
        assert!(gap(one.coefficients(), &expected, 0.0) < 1e-10);
        // the residual variance is known from the first pass alone
        let residuals = (0..500).map(|i| {
            let m = dot(data.rows().x(i), &expected) + data.offset[i];
            data.weight[i] * (data.y[i] - m).powi(2)
        });
        let residuals: f64 = residuals.sum();
        near(one.deviance(), residuals, 1e-9, 1.0);
        let inverse = equations.inverse();
        let effective = dim as f64 - precision * 2.5 * inverse.trace();
        let weight: f64 = data.weight.iter().sum();
        near(one.dispersion(), residuals / (weight - effective), 1e-9, 1.0);
        near(one.degrees_of_freedom(), weight - effective, 1e-9, 1.0);
        for j in 0..dim {
            let expected = (one.dispersion() * inverse.at(j, j)).sqrt();
            near(one.standard_errors()[j], expected, 1e-9, 0.0);
        }
        let penalty = 0.5 * precision * dot(&expected, &expected);
        near(one.log_posterior(), -residuals / 5.0 - penalty, 1e-9, 1.0);
        let (two, passes) = fit(&family, &prior, &far, data.rows()).unwrap();
        assert_eq!(passes, 2);
        assert!(two.moved().max < 1e-9, "{:?}", two.moved());
        assert!(one.moved().max > 100.0 && one.moved().rms <= one.moved().max);
    }
}

#[test]
fn a_polished_filter_is_the_kalman_filter() {
    let family = Gaussian::new(2.5).unwrap();
    let data = draw(&family.into(), 4, 200, 23);
    let prior = Prior::isotropic(4, 3.0).unwrap().with_mean(&[0.5, 0.0, -0.5, 1.0]).unwrap();
    let mut filter: Filter<_, _, Factored> = Filter::new(family, Ekf, prior.clone()).unwrap();
    let blank = filter.clone();
    filter.learn(data.rows()).unwrap();
    let sums = sums_at(&family, &[0.0; 4], data.rows());
    let polished = polish(&PriorPrecision::of(&prior).unwrap(), &sums).unwrap();
    // the filter knows the noise
    let known = polished.clone().with_dispersion(2.5).unwrap();
    let same = blank.with_polished(&known).unwrap();
    assert_eq!(same.count(), 200);
    assert!(gap(&same.coefficients(), &filter.coefficients(), 0.0) < 1e-12);
    for i in 0..4 {
        for j in 0..4 {
            let expected = filter.covariance_entry(i, j).unwrap();
            near(same.covariance_entry(i, j).unwrap(), expected, 1e-11, 1e-3);
        }
    }
    let full = Prior::full(prior.matrix(), 4).unwrap().with_mean(prior.mean()).unwrap();
    let again = polish(&PriorPrecision::of(&full).unwrap(), &sums).unwrap();
    assert!(gap(again.coefficients(), polished.coefficients(), 0.0) < 1e-12);
}

#[test]
fn dispersions_are_estimated_as_documented() {
    // Gamma: Pearson over n - d; counts: at least 1; labels: 1
    let gamma: AnyFamily = "gamma:1".parse().unwrap();
    let data = draw(&"gamma:0.2".parse().unwrap(), 3, 4000, 24);
    let flat = PriorPrecision::flat(3);
    let plain = data.plain().with_offsets(&data.offset).unwrap();
    let (done, _) = fit(&gamma, &flat, &[0.0; 3], plain).unwrap();
    let pearson: f64 = (0..4000)
        .map(|i| {
            let mean = (dot(plain.x(i), done.coefficients()) + data.offset[i]).exp();
            (data.y[i] / mean - 1.0).powi(2)
        })
        .sum();
    near(done.dispersion(), pearson / 3997.0, 1e-6, 0.0);
    assert!((done.dispersion() - 0.2).abs() < 0.03 && done.degrees_of_freedom().is_infinite());
    let ratio = done.covariance()[0] / done.clone().with_dispersion(1.0).unwrap().covariance()[0];
    near(ratio, done.dispersion(), 1e-12, 0.0);
    let steady: Vec<f64> = vec![2.0; 50];
    let ones = vec![1.0; 50];
    let rows = Rows::new(1, &ones, &steady).unwrap();
    let (done, _) = fit(&Poisson, &PriorPrecision::flat(1), &[0.0], rows).unwrap();
    assert_eq!(done.dispersion(), 1.0);
    let spread: Vec<f64> = (0..50).map(|i| f64::from(i % 2) * 20.0).collect();
    let rows = Rows::new(1, &ones, &spread).unwrap();
    let (done, _) = fit(&Poisson, &PriorPrecision::flat(1), &[0.0], rows).unwrap();
    near(done.dispersion(), 50.0 * 10.0 / 49.0, 1e-9, 0.0);
    let labels: Vec<f64> = (0..50).map(|i| f64::from(i % 2)).collect();
    let rows = Rows::new(1, &ones, &labels).unwrap();
    let (done, _) = fit(&Bernoulli, &PriorPrecision::flat(1), &[0.3], rows).unwrap();
    assert_eq!(done.dispersion(), 1.0);
    near(done.standard_errors()[0], (4.0f64 / 50.0).sqrt(), 1e-9, 0.0);
}

#[test]
fn the_sandwich_of_normal_noise_is_whites() {
    let family = Gaussian::new(2.5).unwrap();
    let dim = 4;
    let data = draw(&family.into(), dim, 300, 25);
    let rows = data.plain();
    let (done, _) = fit(&family, &PriorPrecision::flat(dim), &[1.0; 4], rows).unwrap();
    let mut square = Matrix::new(vec![0.0; dim * dim]);
    let mut meat = square.clone();
    for i in 0..300 {
        square = square.plus_outer(1.0, rows.x(i));
        let residual = data.y[i] - dot(rows.x(i), done.coefficients());
        meat = meat.plus_outer(residual * residual, rows.x(i));
    }
    let white = square.inverse().product(&meat).product(&square.inverse());
    let robust = done.robust_covariance().unwrap();
    assert!(gap(&robust, &white.a, 0.0) < 1e-11);
    let errors = done.robust_standard_errors().unwrap();
    near(errors[2], white.at(2, 2).sqrt(), 1e-11, 0.0);
    let mut bare = Sums::new(family, &[0.0; 4]).unwrap();
    bare.add(rows).unwrap();
    let bare = polish(&PriorPrecision::flat(dim), &bare).unwrap();
    assert!(bare.robust_covariance().unwrap_err().to_string().contains("with_scores"));
}

#[test]
fn the_sandwich_is_the_inverse_information_if_the_model_is_right() {
    // the mean over replicates of the ratio of variances, within four standard errors of 1
    let replicates = 60;
    for name in ["bernoulli", "poisson", "gamma:0.5"] {
        let family: AnyFamily = name.parse().unwrap();
        let mut ratios = Vec::new();
        for seed in 0..replicates {
            let data = draw(&family, 3, 1500, 100 + seed);
            let rows = data.plain().with_offsets(&data.offset).unwrap();
            let (done, _) = fit(&family, &PriorPrecision::flat(3), &[0.0; 3], rows).unwrap();
            let dispersion = family.dispersion().unwrap_or(1.0);
            let known = done.with_dispersion(dispersion).unwrap().standard_errors();
            let (done, _) = fit(&family, &PriorPrecision::flat(3), &[0.0; 3], rows).unwrap();
            let robust = done.robust_standard_errors().unwrap();
            let mean = robust.iter().zip(&known).map(|(r, k)| (r / k).powi(2)).sum::<f64>() / 3.0;
            ratios.push(mean);
        }
        let mean = ratios.iter().sum::<f64>() / replicates as f64;
        let spread = ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>();
        let error = (spread / (replicates * (replicates - 1)) as f64).sqrt();
        assert!((mean - 1.0).abs() < 4.0 * error + 3.0 / 1500.0, "{name}: {mean} +- {error}");
    }
}

#[test]
fn features_that_rows_do_not_determine_are_named() {
    let mut rng = rng(26);
    let n = 400;
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..n {
        let a = centered(&mut rng);
        let b = centered(&mut rng);
        // feature 3 is 2a - b, in units that differ by 1e6
        x.extend([1.0, 1e3 * a, b, 1e-3 * (2.0 * a - b), 0.0]);
        y.push(f64::from(a + centered(&mut rng) > 0.0));
    }
    let rows = Rows::new(5, &x, &y).unwrap();
    let error = fit(&Bernoulli, &PriorPrecision::flat(5), &[0.0; 5], rows).unwrap_err();
    assert!(matches!(error, Error::Undetermined { feature: 4, .. }), "{error}");
    let kept: Vec<f64> = x.chunks(5).flat_map(|row| &row[..4]).copied().collect();
    let rows = Rows::new(4, &kept, &y).unwrap();
    let error = fit(&Bernoulli, &PriorPrecision::flat(4), &[0.0; 4], rows).unwrap_err();
    assert!(matches!(error, Error::Undetermined { feature: 3, .. }), "{error}");
    assert!(error.to_string().contains("feature 3"), "{error}");
    // a prior determines it
    let prior = PriorPrecision::of(&Prior::isotropic(4, 1.0).unwrap()).unwrap();
    fit(&Bernoulli, &prior, &[0.0; 4], rows).unwrap();
    // and no rows determine nothing
    let error = fit(&Bernoulli, &PriorPrecision::flat(4), &[0.0; 4], rows.slice(0..0));
    assert!(matches!(error, Err(Error::Undetermined { feature: 0, .. })));
}

#[test]
fn separated_labels_have_no_maximum_without_a_prior() {
    let mut rng = rng(27);
    let n = 300;
    let mut x = Vec::new();
    let mut complete = Vec::new();
    let mut rare = Vec::new();
    for i in 0..n {
        let a = centered(&mut rng);
        // feature 2 is a level of 20 rows that all have the label 1
        let level = f64::from(i % 15 == 0);
        x.extend([1.0, a, level]);
        complete.push(f64::from(a > 0.0));
        rare.push(if level == 1.0 { 1.0 } else { f64::from(a + centered(&mut rng) > 0.0) });
    }
    for (name, y) in [("complete", &complete), ("one level", &rare)] {
        let rows = Rows::new(3, &x, y).unwrap();
        let error = fit(&Bernoulli, &PriorPrecision::flat(3), &[0.0; 3], rows).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Separated { .. } | Error::Undetermined { .. } | Error::NotConverged { .. }
            ),
            "{name}: {error}"
        );
        if name == "one level" {
            assert_eq!(error, Error::Separated { feature: 2 });
        }
        let prior = PriorPrecision::of(&Prior::isotropic(3, 10.0).unwrap()).unwrap();
        let (done, _) = fit(&Bernoulli, &prior, &[0.0; 3], rows).unwrap();
        assert!(done.coefficients().iter().all(|c| c.abs() < 30.0));
    }
    // rare events are not separation: one label in 20 000 rows
    let ones = vec![1.0; 20_000];
    let mut y = vec![0.0; 20_000];
    y[7] = 1.0;
    let rows = Rows::new(1, &ones, &y).unwrap();
    let (done, _) = fit(&Bernoulli, &PriorPrecision::flat(1), &[0.0], rows).unwrap();
    near(done.coefficients()[0], -(19_999f64.ln()), 1e-9, 0.0);
}

#[test]
fn a_pass_at_other_coefficients_is_refused_and_passes_end() {
    let family: AnyFamily = "poisson".parse().unwrap();
    let data = draw(&family, 3, 200, 28);
    let mut newton = Polish::new(PriorPrecision::flat(3)).with_max_passes(2).unwrap();
    let Next::Again(theta) = newton.step(&sums_at(&family, &[2.0; 3], data.rows())).unwrap() else {
        panic!("2 is far away")
    };
    let error = newton.step(&sums_at(&family, &[1.0; 3], data.rows())).unwrap_err();
    assert!(error.to_string().contains("asked for"), "{error}");
    let error = newton.step(&sums_at(&family, &theta, data.rows())).unwrap_err();
    assert!(matches!(error, Error::NotConverged { passes: 2, .. }), "{error}");
    let latest = newton.latest().unwrap();
    assert!(minus(latest.coefficients(), &theta).iter().all(|d| d.is_finite()));
    assert!(Polish::new(PriorPrecision::flat(1)).with_tolerance(f64::NAN).is_err());
    assert!(PriorPrecision::diagonal(vec![0.0], &[-1.0]).is_err());
    assert!(PriorPrecision::full(vec![0.0; 2], vec![1.0, 0.5, 0.4, 1.0]).is_err());
    assert!(PriorPrecision::full(vec![0.0; 2], vec![1.0, 0.0, 0.0, f64::NAN]).is_err());
    assert!(polish(&PriorPrecision::flat(2), &sums_at(&family, &theta, data.rows())).is_err());
}
