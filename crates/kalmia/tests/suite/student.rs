//! Robust regression: contaminated targets beside Huber's estimate, outliers of a million
//! deviations, coverage and odd streams.

use crate::common::streams::{OddRows, Target, assert_continues, learn_finite};
use crate::common::{Matrix, Rng, centered, dot, normal, rng, uniform};
use kalmia::predict::Interval;
use kalmia::sums::Sums;
use kalmia::{
    AnyFamily, Auto, DriftMode, Family, Filter, Gaussian, Learner, MomentMatch, Predict, Prior,
    Quantile, RowView, Rows, Student,
};
use rand_distr::{Distribution, StudentT};

const DIM: usize = 6;
const THETA: [f64; DIM] = [3.0, 1.0, -2.0, 0.5, 0.0, 4.0];

/// Rows `(1, x)` with normal noise; a share of the targets is 30 to 60 deviations too large.
fn contaminated(n: usize, share: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..n {
        let mut row = vec![1.0];
        row.extend((1..DIM).map(|_| normal(&mut rng)));
        let wrong = if uniform(&mut rng) < share { 30.0 + 30.0 * uniform(&mut rng) } else { 0.0 };
        y.push(dot(&row, &THETA) + normal(&mut rng) + wrong);
        x.extend(row);
    }
    (x, y)
}

fn learner<F: Family>(family: F, dim: usize) -> Auto<F> {
    Auto::builder(family, dim).intercept().build().unwrap()
}

fn learned<F: Family>(family: F, dim: usize, x: &[f64], y: &[f64]) -> Auto<F> {
    let mut auto = learner(family, dim);
    auto.learn(Rows::new(dim, x, y).unwrap()).unwrap();
    auto
}

/// Root of the summed squared errors of the coefficients.
fn distance(theta: &[f64]) -> f64 {
    theta.iter().zip(THETA).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Iteratively reweighted least squares; `weight` of a residual in units of the scale, which is
/// the median distance from 0.
fn reweighted(dim: usize, x: &[f64], y: &[f64], weight: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut theta = vec![0.0; dim];
    let mut weights = vec![1.0; y.len()];
    for _ in 0..60 {
        let mut gram = Matrix::new(vec![0.0; dim * dim]);
        let mut right = vec![0.0; dim];
        for ((x, y), w) in x.chunks(dim).zip(y).zip(&weights) {
            for i in 0..dim {
                right[i] += w * x[i] * y;
                for j in 0..dim {
                    gram.a[i * dim + j] += w * x[i] * x[j];
                }
            }
        }
        theta = gram.inverse().times(&right);
        let residuals: Vec<f64> =
            x.chunks(dim).zip(y).map(|(x, y)| (y - dot(x, &theta)).abs()).collect();
        let mut sorted = residuals.clone();
        sorted.sort_by(f64::total_cmp);
        let scale = 1.4826 * sorted[sorted.len() / 2];
        weights = residuals.iter().map(|r| weight(r / scale)).collect();
    }
    theta
}

fn huber(dim: usize, x: &[f64], y: &[f64]) -> Vec<f64> {
    reweighted(dim, x, y, |z| if z < 1.35 { 1.0 } else { 1.35 / z })
}

#[test]
fn contaminated_targets_are_learned_beside_hubers_estimate() {
    for share in [0.0, 0.01, 0.1] {
        let mut totals = [0.0; 4];
        for seed in 0..10 {
            let (x, y) = contaminated(5000, share, seed);
            totals[0] += distance(&learned(Student::default(), DIM, &x, &y).coefficients());
            totals[1] += distance(&huber(DIM, &x, &y));
            totals[2] += distance(&learned(Gaussian::default(), DIM, &x, &y).coefficients());
            let median = Quantile::new(0.5).unwrap();
            totals[3] += distance(&learned(median, DIM, &x, &y).coefficients());
        }
        let [student, huber, gaussian, median] = totals.map(|total| total / 10.0);
        println!(
            "{share}: Student {student:.4}, Huber {huber:.4}, Gaussian {gaussian:.4}, median \
             {median:.4}"
        );
        assert!(student < 1.15 * huber, "{share}: {student} {huber}");
        if share > 0.0 {
            assert!(student < 0.3 * gaussian, "{share}: {student} {gaussian}");
        }
    }
}

#[test]
fn one_outlier_of_a_million_deviations_does_not_ruin_it() {
    for at in [0, 3, 60, 127, 128, 1000, 3999] {
        for size in [1e6, -1e6, 1e100] {
            let (x, mut y) = contaminated(4000, 0.0, 20);
            let clean = learned(Student::default(), DIM, &x, &y);
            y[at] += size;
            let auto = learned(Student::default(), DIM, &x, &y);
            let moved: f64 = auto
                .coefficients()
                .iter()
                .zip(clean.coefficients().iter())
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f64::max);
            assert!(moved < 0.02, "row {at}, {size:e}: moved by {moved}");
            let ratio = auto.dispersion() / clean.dispersion();
            assert!((ratio - 1.0).abs() < 0.03, "row {at}, {size:e}: scale {ratio}");
        }
    }
}

/// Maximum likelihood by reweighting, at the scale that the learner found.
#[test]
fn heavy_tails_reach_the_batch_fit() {
    let law = StudentT::new(4.0).unwrap();
    let mut rng = rng(30);
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..8000 {
        let mut row = vec![1.0];
        row.extend((1..DIM).map(|_| centered(&mut rng)));
        y.push(dot(&row, &THETA) + 0.7 * law.sample(&mut rng));
        x.extend(row);
    }
    let auto = learned(Student::default(), DIM, &x, &y);
    println!("scale {:.4}", auto.dispersion());
    assert!((auto.dispersion() / 0.7 - 1.0).abs() < 0.03, "{}", auto.dispersion());
    // the scale of the batch fit is the median distance, 0.741 of sigma for this law
    let best = reweighted(DIM, &x, &y, |z| 5.0 / (4.0 + (z * 1.4826 * 0.741).powi(2)));
    let errors = auto.standard_errors().unwrap();
    for j in 0..DIM {
        let away = (auto.coefficients()[j] - best[j]) / errors[j];
        assert!(away.abs() < 0.3, "coefficient {j}: {away}");
    }
    // Newton's method on sums of the loss stays at the batch fit
    let family = Student::new(4.0).unwrap().with_scale(auto.dispersion()).unwrap();
    let mut sums = Sums::new(family, &best).unwrap();
    sums.add(Rows::new(DIM, &x, &y).unwrap()).unwrap();
    assert!(Sums::new(Quantile::new(0.5).unwrap(), &best).is_err());
}

#[test]
fn intervals_hold_what_they_claim() {
    type Law = fn(&mut Rng) -> f64;
    let laws: [(&str, Law); 3] = [
        ("Student, 4", |rng| StudentT::new(4.0).unwrap().sample(rng)),
        ("normal", |rng| normal(rng)),
        ("Student, 2.5", |rng| StudentT::new(2.5).unwrap().sample(rng)),
    ];
    for (name, law) in laws {
        let runs = 200;
        let mut means = 0;
        let mut targets = 0;
        for run in 0..runs {
            let mut rng = rng(500 + run);
            let mut x = Vec::new();
            let mut y = Vec::new();
            for _ in 0..800 {
                let row = [1.0, centered(&mut rng), normal(&mut rng)];
                y.push(2.0 + row[1] - 0.5 * row[2] + law(&mut rng));
                x.extend(row);
            }
            let auto = learned(Student::default(), 3, &x, &y);
            let prediction = auto.predict(&[1.0, 0.5, 1.0], 0.0).unwrap();
            let inside = |interval: Interval, y: f64| interval.lower <= y && y <= interval.upper;
            means += usize::from(inside(prediction.mean_interval(0.9).unwrap(), 2.0));
            let next = 2.0 + law(&mut rng);
            targets += usize::from(inside(prediction.interval(0.9).unwrap(), next));
        }
        let means = means as f64 / runs as f64;
        let targets = targets as f64 / runs as f64;
        println!("{name}: 90 % intervals of the mean hold {means}, of targets {targets}");
        assert!((0.83..=0.96).contains(&means), "{name}: {means}");
        assert!((0.83..=0.96).contains(&targets), "{name}: {targets}");
    }
}

/// The second derivative is the mean square of the first under the law.
#[test]
fn derivatives_are_those_of_the_loss() {
    for (dof, scale) in [(2.1, 1.0), (4.0, 0.3), (50.0, 7.0)] {
        let family = Student::new(dof).unwrap().with_scale(scale).unwrap();
        for k in -40..=40 {
            let u = 0.25 * f64::from(k);
            let first = family.derivatives(0.0, u).0;
            let h = 1e-4 * scale;
            let slope = (family.loss(0.0, u + h) - family.loss(0.0, u - h)) / (2.0 * h);
            assert!((slope - first).abs() < 1e-6 * (1.0 + first.abs()), "{dof} {u}");
        }
        // y = scale sinh(v)
        let step = 1e-3;
        let square: f64 = (-20_000..=20_000)
            .map(|i| {
                let v = f64::from(i) * step;
                let y = scale * v.sinh();
                let density = family.log_density(y, 0.0).exp() * scale * v.cosh();
                density * family.derivatives(y, 0.0).0.powi(2) * step
            })
            .sum();
        let second = family.derivatives(1.0, 0.0).1;
        assert!((second / square - 1.0).abs() < 1e-6, "{dof}: {second} {square}");
    }
}

#[test]
fn odd_streams_stay_finite() {
    let rows = OddRows::new(3000, 40);
    let streams: [(&str, Target); 6] = [
        ("constant", |_, _| 3.0),
        ("zero", |_, _| 0.0),
        ("exact fit", |x, _| 2.0 * x[1] - x[2] + 5.0),
        ("two values", |_, i| f64::from(i % 3 == 0)),
        ("huge", |x, i| 1e100 * (x[1] + (i % 7) as f64)),
        ("all sizes", |_, i| 10f64.powi((i * 37 % 200) as i32 - 100)),
    ];
    for (name, target) in streams {
        let y = rows.targets(target);
        let mut auto = learner(Student::default(), OddRows::DIM);
        learn_finite(&mut auto, Rows::new(OddRows::DIM, rows.x(), &y).unwrap(), name);
        if name == "exact fit" {
            let theta = auto.coefficients();
            let off = (theta[0] - 5.0).abs() + (theta[1] - 2.0).abs() + (theta[2] + 1.0).abs();
            assert!(off < 1e-3, "{off}");
        }
    }
}

#[test]
fn shifting_and_scaling_the_target_does_just_that() {
    let (x, y) = contaminated(700, 0.05, 50);
    let means = |scale: f64, shift: f64| {
        let moved: Vec<f64> = y.iter().map(|y| scale * y + shift).collect();
        let mut means = Vec::new();
        let mut auto = learner(Student::default(), DIM);
        let mut watch = |row: &RowView<'_>| means.push((row.mean - shift) / scale);
        auto.learn_observed(Rows::new(DIM, &x, &moved).unwrap(), Some(&mut watch)).unwrap();
        means
    };
    let plain = means(1.0, 0.0);
    for (scale, shift) in [(1e-6, 0.0), (-1.0, 0.0), (1e9, 0.0), (1.0, 40.0), (30.0, -1e4)] {
        for (i, (a, b)) in means(scale, shift).iter().zip(&plain).enumerate().skip(3) {
            assert!((a - b).abs() < 1e-5, "{scale} {shift}, row {i}: {a} {b}");
        }
    }
}

#[test]
fn a_start_of_equal_targets_does_not_freeze_it() {
    let mut rng = rng(45);
    let mut x = Vec::new();
    let mut y = Vec::new();
    for i in 0..6000 {
        let row = [1.0, centered(&mut rng)];
        let noise = normal(&mut rng);
        y.push(if i < 400 { 0.0 } else { 1e3 * (5.0 + row[1] + noise) });
        x.extend(row);
    }
    let auto = learned(Student::default(), 2, &x, &y);
    let theta = auto.coefficients();
    println!("theta {theta:?}, scale {}", auto.dispersion());
    assert!((theta[0] / 5e3 - 1.0).abs() < 0.1, "{theta:?}");
    assert!((theta[1] / 1e3 - 1.0).abs() < 0.3, "{theta:?}");
}

#[test]
fn a_restored_learner_continues_bit_for_bit() {
    for drift in [DriftMode::Off, DriftMode::Adapt] {
        let (x, y) = contaminated(900, 0.05, 60);
        let family: AnyFamily = "student:5".parse().unwrap();
        let auto = Auto::builder(family, DIM).intercept().drift(drift).build().unwrap();
        assert_continues(auto, Rows::new(DIM, &x, &y).unwrap());
    }
}

#[test]
fn a_filter_with_a_known_scale_ignores_outliers_too() {
    let (x, y) = contaminated(4000, 0.1, 70);
    let prior = Prior::isotropic(DIM, 100.0).unwrap();
    let mut filter = Filter::new(Student::default(), MomentMatch, prior).unwrap();
    filter.learn(Rows::new(DIM, &x, &y).unwrap()).unwrap();
    let found = distance(&filter.coefficients());
    let reference = distance(&huber(DIM, &x, &y));
    assert!(found < 1.1 * reference, "{found} {reference}");
}

#[test]
fn bad_input_is_refused() {
    for dof in [0.0, 2.0, 101.0, f64::NAN] {
        assert!(Student::new(dof).is_err(), "{dof}");
    }
    assert!(Student::default().with_scale(f64::NAN).is_err());
    let mut auto = learner(Student::default(), 1);
    for bad in [f64::NAN, f64::INFINITY, 1e121] {
        let targets = [bad];
        let error = auto.learn(Rows::new(1, &[1.0], &targets).unwrap()).unwrap_err();
        assert!(error.to_string().contains("finite"), "{error}");
    }
}
