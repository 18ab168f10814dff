//! Counts with a learned dispersion: log scores against Poisson's, batch fits, coverage, and odd
//! streams.

use crate::common::streams::{OddRows, Target, assert_continues, learn_finite};
use crate::common::{Matrix, centered, dot, rng};
use crate::real::real;
use kalmia::predict::Interval;
use kalmia::rows::Observation;
use kalmia::rule::moments;
use kalmia::{
    Auto, DriftMode, Family, Filter, Learner, MomentMatch, NegativeBinomial, Poisson, Predict,
    Prior, RowView, Rows, Wide,
};
use rand_distr::{Distribution, StandardNormal};

fn law(dispersion: f64) -> NegativeBinomial {
    NegativeBinomial::new(dispersion).unwrap()
}

/// Rows `(1, x)` with counts of dispersion `alpha`, and the coefficients.
fn counts(n: usize, dim: usize, alpha: f64, level: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..n {
        let row: Vec<f64> =
            (0..dim).map(|j| if j == 0 { 1.0 } else { centered(&mut rng) }).collect();
        let u = level + row.iter().skip(1).enumerate().map(|(j, x)| x * slope(j)).sum::<f64>();
        y.push(law(alpha).sample(u, &mut rng));
        x.extend(row);
    }
    (x, y)
}

fn slope(j: usize) -> f64 {
    [0.8, -0.5, 0.3, 0.0][j % 4]
}

fn learner<F: Family>(family: F, dim: usize) -> Auto<F> {
    Auto::builder(family, dim).intercept().build().unwrap()
}

/// Mean log score of the predictions, each made before its row, in nats.
fn log_score<F: Family>(family: F, dim: usize, x: &[f64], y: &[f64]) -> (f64, Auto<F>) {
    let mut auto = learner(family, dim);
    let mut total = 0.0;
    let mut watch = |row: &RowView<'_>| total += row.loss;
    auto.learn_observed(Rows::new(dim, x, y).unwrap(), Some(&mut watch)).unwrap();
    (total / y.len() as f64, auto)
}

/// Maximum likelihood: Fisher scoring for the coefficients, golden section for $\ln\alpha$.
fn batch(dim: usize, x: &[f64], y: &[f64]) -> (Vec<f64>, f64, Vec<f64>) {
    let mut theta = vec![0.0; dim];
    theta[0] = (y.iter().sum::<f64>() / y.len() as f64).ln();
    let mut alpha = 1.0;
    let mut errors = Vec::new();
    for _ in 0..30 {
        let mut information = Matrix::new(vec![0.0; dim * dim]);
        let mut score = vec![0.0; dim];
        for (x, &y) in x.chunks(dim).zip(y) {
            let mean = dot(x, &theta).exp();
            let weight = 1.0 / (1.0 + alpha * mean);
            for i in 0..dim {
                score[i] += (y - mean) * weight * x[i];
                for j in 0..dim {
                    information.a[i * dim + j] += mean * weight * x[i] * x[j];
                }
            }
        }
        let inverse = information.inverse();
        theta.iter_mut().zip(inverse.times(&score)).for_each(|(t, step)| *t += step);
        errors = (0..dim).map(|j| inverse.at(j, j).sqrt()).collect();
        let loss = |log: f64| -> f64 {
            let family = law(log.exp());
            -x.chunks(dim).zip(y).map(|(x, y)| family.log_density(*y, dot(x, &theta))).sum::<f64>()
        };
        alpha = golden(loss, -6.0, 4.0).exp();
    }
    (theta, alpha, errors)
}

/// The minimum of a function with one.
fn golden(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let ratio = 0.5 * (5f64.sqrt() - 1.0);
    while high - low > 1e-5 {
        let a = high - ratio * (high - low);
        let b = low + ratio * (high - low);
        if f(a) < f(b) { high = b } else { low = a }
    }
    0.5 * (low + high)
}

/// Counts whose rate has a lognormal factor: the law that Poisson's overdispersion assumes.
fn lognormal_counts(n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..n {
        let z: f64 = StandardNormal.sample(&mut rng);
        let row = [1.0, centered(&mut rng), centered(&mut rng)];
        y.push(Poisson.sample(0.5 + row[1] - 0.5 * row[2] + 0.7 * z, &mut rng));
        x.extend(row);
    }
    (x, y)
}

/// Poisson's score is that of the default learner, which already widens its law by a dispersion
/// that it learns.
#[test]
fn the_log_score_beats_poissons() {
    let randhie = real("examples/randhie.csv.gz");
    let visits = real("crates/kalmia/tests/data/real/visits.csv.gz");
    let (x, y) = counts(6000, 5, 0.7, 1.0, 1);
    let (far_x, far_y) = lognormal_counts(6000, 2);
    for (name, (dim, x, y), gain) in [
        ("randhie", randhie, 0.003),
        ("visits", visits, 0.003),
        ("simulated", (5, x, y), 0.02),
        ("lognormal rates", (3, far_x, far_y), 0.005),
    ] {
        let (poisson, quasi) = log_score(Poisson, dim, &x, &y);
        let (own, auto) = log_score(NegativeBinomial::default(), dim, &x, &y);
        println!(
            "{name}: negative binomial {own:.4} (alpha {:.4}), Poisson {poisson:.4} (phi {:.3})",
            auto.dispersion(),
            quasi.dispersion(),
        );
        assert!(own < poisson - gain, "{name}: {own} {poisson}");
    }
}

/// statsmodels 0.15, `NegativeBinomial(y, X).fit()`: dispersion and its standard error, mean log
/// likelihood, first coefficients with their standard errors.
#[test]
fn real_counts_reach_the_batch_fit() {
    let sets = [
        (
            "examples/randhie.csv.gz",
            (1.29295, 0.0186, -2.148770),
            [(0.66356, 0.02477), (-0.05795, 0.00609), (-0.26779, 0.02269), (0.04121, 0.00415)],
        ),
        (
            "crates/kalmia/tests/data/real/visits.csv.gz",
            (0.82076, 0.0229, -2.758737),
            [(1.13629, 0.21278), (0.21430, 0.02181), (0.16938, 0.01248), (0.08223, 0.04175)],
        ),
    ];
    for (path, (alpha, alpha_error, likelihood), coefficients) in sets {
        let (dim, x, y) = real(path);
        let mut auto = learner(NegativeBinomial::default(), dim);
        auto.learn(Rows::new(dim, &x, &y).unwrap()).unwrap();
        let found = auto.dispersion();
        println!("{path}: alpha {found:.4} against {alpha:.4}");
        assert!((found - alpha).abs() < 3.0 * alpha_error, "{path}: {found}");
        let theta = auto.coefficients();
        let density = |(x, y): (&[f64], &f64)| law(found).log_density(*y, dot(x, &theta));
        let reached = x.chunks(dim).zip(&y).map(density).sum::<f64>() / y.len() as f64;
        assert!(reached > likelihood - 0.002, "{path}: {reached}");
        let errors = auto.standard_errors().unwrap();
        for (j, (value, error)) in coefficients.into_iter().enumerate() {
            let away = (theta[j] - value) / error;
            assert!(away.abs() < 1.0, "{path}, coefficient {j}: {away} standard errors");
            assert!((0.8..1.25).contains(&(errors[j] / error)), "{path}, error {j}: {}", errors[j]);
        }
    }
}

#[test]
fn simulated_counts_reach_the_batch_fit() {
    for (alpha, level, n) in
        [(0.02, 1.0, 20_000), (0.3, 3.0, 8000), (1.0, 0.0, 8000), (5.0, -1.0, 20_000)]
    {
        let (x, y) = counts(n, 5, alpha, level, 3);
        let (theta, best, errors) = batch(5, &x, &y);
        let mut auto = learner(NegativeBinomial::default(), 5);
        auto.learn(Rows::new(5, &x, &y).unwrap()).unwrap();
        let found = auto.dispersion();
        println!("alpha {alpha}: batch {best:.5}, found {found:.5}");
        let tolerance = 0.03 * best + 0.003;
        assert!((found - best).abs() < tolerance, "alpha {alpha}: {found} for {best}");
        for j in 0..5 {
            let away = (auto.coefficients()[j] - theta[j]) / errors[j];
            assert!(away.abs() < 0.5, "alpha {alpha}, coefficient {j}: {away}");
            let ratio = auto.standard_errors().unwrap()[j] / errors[j];
            assert!((0.9..1.1).contains(&ratio), "alpha {alpha}, error {j}: {ratio}");
        }
    }
}

#[test]
fn poisson_counts_have_hardly_any_dispersion() {
    let mut rng = rng(4);
    let x: Vec<f64> =
        (0..10_000).map(|i| if i % 2 == 0 { 1.0 } else { centered(&mut rng) }).collect();
    let y: Vec<f64> = x.chunks(2).map(|x| Poisson.sample(1.0 + 0.5 * x[1], &mut rng)).collect();
    let (own, auto) = log_score(NegativeBinomial::default(), 2, &x, &y);
    let (poisson, _) = log_score(Poisson, 2, &x, &y);
    println!("alpha {:e}, scores {own:.5} {poisson:.5}", auto.dispersion());
    assert!(auto.dispersion() < 0.01, "{}", auto.dispersion());
    // what is lost, is lost before the dispersion is known
    assert!(own < poisson + 0.005, "{own} {poisson}");
}

#[test]
fn intervals_hold_what_they_claim() {
    for (alpha, level) in [(0.2, 2.0), (1.5, 0.5), (0.5, 6.0)] {
        let (x, y) = counts(6000, 4, alpha, level, 5);
        let mut auto = learner(NegativeBinomial::default(), 4);
        let mut covered = 0.0;
        let mut expected = 0.0;
        for (i, (x, y)) in x.chunks(4).zip(&y).enumerate() {
            if i % 4 == 0 && i > 500 {
                let prediction = auto.predict(x, 0.0).unwrap();
                let Interval { lower, upper } = prediction.interval(0.9).unwrap();
                covered += f64::from(lower <= *y && *y <= upper);
                expected += prediction.cdf(upper) - prediction.cdf(lower - 1.0);
            }
            auto.learn(Rows::new(4, x, std::slice::from_ref(y)).unwrap()).unwrap();
        }
        let rows = (501..6000).filter(|i| i % 4 == 0).count() as f64;
        let share = covered / rows;
        let claimed = expected / rows;
        println!("alpha {alpha}, level {level}: {share:.4} of {claimed:.4}");
        assert!(claimed >= 0.9, "{claimed}");
        // three standard errors
        assert!((share - claimed).abs() < 0.028, "alpha {alpha}: {share} of {claimed}");
    }
}

/// Coverage of the intervals of means over many small data sets.
#[test]
fn standard_errors_hold_over_repeated_samples() {
    let mut covered = 0;
    for seed in 0..300 {
        let (x, y) = counts(600, 3, 0.8, 0.5, 100 + seed);
        let mut auto = learner(NegativeBinomial::default(), 3);
        auto.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
        let at = [1.0, 0.5, -0.5];
        let truth = (0.5 + 0.5 * slope(0) - 0.5 * slope(1)).exp();
        let Interval { lower, upper } = auto.predict(&at, 0.0).unwrap().mean_interval(0.9).unwrap();
        covered += usize::from(lower <= truth && truth <= upper);
    }
    let share = covered as f64 / 300.0;
    println!("90 % intervals of the mean hold {share}");
    assert!((0.85..=0.95).contains(&share), "{share}");
}

/// The trapezoid rule in the test, in the family's own density.
#[test]
fn moments_are_those_of_the_integral() {
    for alpha in [1e-3, 0.5, 1.0, 20.0] {
        let family = law(alpha);
        for y in [0.0, 1.0, 6.0, 150.0] {
            for (m, s) in [(-2.0, 0.3), (0.3, 1e-3), (1.0, 4.0), (4.0, 0.1), (-1.0, 60.0)] {
                for weight in [1.0, 0.4] {
                    let row = Observation { y, weight, offset: 0.25 };
                    let found = moments(&family, &row, m, s);
                    let h = 0.002;
                    let mut sums = [0.0; 3];
                    let peak = (-20_000..=20_000)
                        .map(|k| {
                            let z = f64::from(k) * h;
                            -0.5 * z * z - row.loss(&family, m + s.sqrt() * z)
                        })
                        .fold(f64::NEG_INFINITY, f64::max);
                    for k in -20_000..=20_000 {
                        let z = f64::from(k) * h;
                        let u = m + f64::sqrt(s) * z;
                        let p = (-0.5 * z * z - row.loss(&family, u) - peak).exp();
                        for (power, sum) in sums.iter_mut().enumerate() {
                            *sum += p * (u - m).powi(power as i32);
                        }
                    }
                    let ln_z = (sums[0] * h / std::f64::consts::TAU.sqrt()).ln() + peak;
                    let mean = sums[1] / sums[0];
                    let variance = sums[2] / sums[0] - mean * mean;
                    let close = |a: f64, b: f64| (a - b).abs() < 1e-7 * b.abs().max(1e-3);
                    let same = close(found.evidence.ln(), ln_z)
                        && close(found.step.gain * s, mean)
                        && close(s - found.step.contraction * s * s, variance);
                    assert!(same, "{alpha} {y} {m} {s} {weight}: {found:?} {ln_z} {mean}");
                }
            }
        }
    }
}

#[test]
fn odd_streams_stay_finite() {
    let rows = OddRows::new(2000, 6);
    let streams: [(&str, Target); 7] = [
        ("all zero", |_, _| 0.0),
        ("constant", |_, _| 7.0),
        ("huge", |x, i| (1e12 * (x[1] + 0.01 * (i % 7) as f64).exp()).floor()),
        ("largest", |_, i| if i % 2 == 0 { 9e15 } else { 0.0 }),
        ("separable", |x, _| if x[1] > 0.0 { 1000.0 } else { 0.0 }),
        ("one outlier", |_, i| if i == 1000 { 9e15 } else { (i % 3) as f64 }),
        ("exact", |x, _| (3.0 + x[1]).exp().round()),
    ];
    for (name, target) in streams {
        let y = rows.targets(target);
        let mut auto = learner(NegativeBinomial::default(), OddRows::DIM);
        learn_finite(&mut auto, Rows::new(OddRows::DIM, rows.x(), &y).unwrap(), name);
        assert!((1e-8..=1e8).contains(&auto.dispersion()), "{name}");
        let first = &rows.x()[..OddRows::DIM];
        let Interval { lower, upper } = auto.predict(first, 0.0).unwrap().interval(0.9).unwrap();
        assert!(lower <= upper, "{name}");
    }
}

#[test]
fn a_restored_learner_continues_bit_for_bit() {
    for drift in [DriftMode::Off, DriftMode::Adapt] {
        let (x, y) = counts(1500, 4, 0.9, 0.7, 7);
        let rows = Rows::new(4, &x, &y).unwrap();
        let builder = Auto::builder(NegativeBinomial::default(), 4).intercept().drift(drift);
        let mut at_once = builder.build().unwrap();
        let whole = assert_continues(at_once.clone(), rows);
        at_once.learn(rows).unwrap();
        assert!((at_once.dispersion() / whole.dispersion() - 1.0).abs() < 1e-9, "{drift:?}");
    }
}

#[test]
fn merged_learners_have_the_dispersion_of_both() {
    let (x, y) = counts(4000, 3, 0.6, 1.0, 8);
    let half = |from: usize| {
        let mut auto = learner(NegativeBinomial::default(), 3);
        auto.learn(Rows::new(3, &x[3 * from..][..6000], &y[from..][..2000]).unwrap()).unwrap();
        auto
    };
    let mut all = learner(NegativeBinomial::default(), 3);
    all.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
    let merged = half(0).merge(&half(2000)).unwrap().into_inner();
    let ratio = merged.dispersion() / all.dispersion();
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

#[test]
fn sparse_rows_learn_the_same_dispersion() {
    let (x, y) = counts(6000, 3, 0.6, 1.0, 9);
    let mut wide =
        Wide::builder(NegativeBinomial::default()).intercept().numbers(2).build().unwrap();
    wide.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
    let mut auto = learner(NegativeBinomial::default(), 3);
    auto.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
    let ratio = wide.dispersion() / auto.dispersion();
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

/// A filter keeps the dispersion that it was given, and at the right one it is the batch fit.
#[test]
fn a_filter_keeps_its_dispersion() {
    let (x, y) = counts(8000, 5, 0.5, 1.0, 10);
    let (theta, _, errors) = batch(5, &x, &y);
    let mut filter =
        Filter::new(law(0.5), MomentMatch, Prior::isotropic(5, 10.0).unwrap()).unwrap();
    let mut shown = 0.0;
    let mut watch = |row: &RowView<'_>| shown = row.dispersion;
    filter.learn_observed(Rows::new(5, &x, &y).unwrap(), Some(&mut watch)).unwrap();
    assert_eq!((shown, filter.family().dispersion()), (0.5, 0.5));
    for j in 0..5 {
        let away = (filter.coefficients()[j] - theta[j]) / errors[j];
        assert!(away.abs() < 0.3, "coefficient {j}: {away}");
    }
}

#[test]
fn what_is_no_count_is_refused_and_changes_nothing() {
    let (x, y) = counts(300, 3, 0.5, 1.0, 11);
    let mut auto = learner(NegativeBinomial::default(), 3);
    auto.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
    let before = auto.state();
    for bad in [-1.0, 0.5, 1e16, f64::NAN, f64::INFINITY] {
        let targets = [1.0, bad];
        let rows = Rows::new(3, &x[..6], &targets).unwrap();
        let error = auto.learn(rows).unwrap_err().to_string();
        assert!(error.contains("negative-binomial") && error.contains("whole"), "{error}");
    }
    assert_eq!(auto.state(), before);
}
