//! Progressive evaluation against averages written out here.

use super::*;
use crate::family::{Bernoulli, Binomial, Gamma, Gaussian, Poisson};
use crate::{Ekf, Filter, Learner, Prior, Rows};
use rand::{RngExt, SeedableRng};

fn rng() -> rand_xoshiro::Xoshiro256PlusPlus {
    rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(11)
}

fn families() -> Vec<AnyFamily> {
    vec![
        Gaussian::new(2.5).unwrap().into(),
        Bernoulli.into(),
        Binomial::new(7).unwrap().into(),
        Binomial::proportion().into(),
        Poisson.into(),
        Gamma::new(0.5).unwrap().into(),
    ]
}

/// Rows (y, mean, weight) drawn from the family.
fn rows(family: &AnyFamily, n: usize) -> Vec<(f64, f64, f64)> {
    let mut rng = rng();
    (0..n)
        .map(|i| {
            let u = 2.0 * rng.random::<f64>() - 1.0;
            let weight = if i % 9 == 4 { 0.0 } else { 0.5 + rng.random::<f64>() };
            (family.sample(u, &mut rng), family.mean(u), weight)
        })
        .collect()
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{a} {b}");
}

#[test]
fn losses_are_weighted_means_of_half_deviances() {
    for family in families() {
        let rows = rows(&family, 200);
        let mut progressive = Progressive::new(family);
        let mut loss = 0.0;
        let mut constant = 0.0;
        let mut weight = 0.0;
        for (i, &(y, mean, w)) in rows.iter().enumerate() {
            let past =
                rows[..i].iter().fold((0.0, 0.0), |(sum, all), r| (sum + r.2 * r.0, all + r.2));
            let guess = match family {
                AnyFamily::Bernoulli(_) => Some((past.0 + 0.5) / (past.1 + 1.0)),
                AnyFamily::Binomial(b) => {
                    let n = b.trials().unwrap_or(1) as f64;
                    Some(n * (past.0 + 0.5) / (past.1 * n + 1.0))
                }
                AnyFamily::Poisson(_) => (past.1 > 0.0).then(|| (past.0 + 0.5) / past.1),
                _ => (past.1 > 0.0).then(|| past.0 / past.1),
            };
            loss += w * 0.5 * deviance(&family, y, mean);
            constant += guess.map_or(0.0, |guess| w * 0.5 * deviance(&family, y, guess));
            weight += w;
            progressive.row(y, mean, None, w).unwrap();
        }
        let report = progressive.report();
        close(report.loss, loss / weight);
        close(report.constant_loss, constant / weight);
        close(report.deviance, 2.0 * loss / weight);
        assert!(report.loss < report.constant_loss && report.rows == 200, "{report:?}");
    }
}

#[test]
fn labels_have_log_loss_accuracy_and_brier() {
    let rows = rows(&Bernoulli.into(), 300);
    let mut progressive = Progressive::new(Bernoulli.into());
    rows.iter().for_each(|&(y, p, w)| progressive.row(2.0 * y - 1.0, p, None, w).unwrap());
    let weight: f64 = rows.iter().map(|r| r.2).sum();
    let average = |f: &dyn Fn(f64, f64) -> f64| {
        rows.iter().map(|&(y, p, w)| w * f(y, p)).sum::<f64>() / weight
    };
    let found = progressive.report().classification.unwrap();
    close(found.log_loss, average(&|y, p| -(if y > 0.0 { p } else { 1.0 - p }).ln()));
    close(found.accuracy, average(&|y, p| f64::from((p > 0.5) == (y > 0.0))));
    close(found.brier, average(&|y, p| (y - p) * (y - p)));
    close(found.reliability.iter().map(|bin| bin.weight).sum::<f64>(), weight);
    assert!(found.auc > 0.6 && found.calibration_error < 0.15);
}

#[test]
fn gaussian_errors_and_coverage_of_a_filter() {
    let family = Gaussian::new(2.5).unwrap();
    let mut rng = rng();
    let x: Vec<f64> = (0..4000).map(|_| rng.random::<f64>() - 0.5).collect();
    let y: Vec<f64> = x.chunks(2).map(|x| family.sample(3.0 * x[0] - x[1], &mut rng)).collect();
    let mut filter: Filter<_, _> =
        Filter::new(family, Ekf, Prior::isotropic(2, 10.0).unwrap()).unwrap();
    let mut both = (Progressive::new(family.into()), Vec::new());
    let mut observer = |row: &RowView<'_>| {
        Observer::row(&mut both.0, row);
        both.1.push((row.observation.y - row.mean, (2.5 + row.variance).sqrt()));
    };
    filter.learn_observed(Rows::new(2, &x, &y).unwrap(), Some(&mut observer)).unwrap();
    let report = both.0.report();
    let n = both.1.len() as f64;
    let regression = report.regression.unwrap();
    close(regression.rmse, (both.1.iter().map(|r| r.0 * r.0).sum::<f64>() / n).sqrt());
    close(regression.mae, both.1.iter().map(|r| r.0.abs()).sum::<f64>() / n);
    let coverage = report.coverage.unwrap();
    close(
        coverage.covered,
        both.1.iter().filter(|r| r.0.abs() <= QUANTILE_95 * r.1).count() as f64 / n,
    );
    // 2000 draws: four standard errors of a share of 0.95
    assert!((coverage.covered - 0.95).abs() < 0.02, "{coverage:?}");
    close(coverage.width, 2.0 * QUANTILE_95 * both.1.iter().map(|r| r.1).sum::<f64>() / n);
}

#[test]
fn a_restored_evaluation_continues_bit_for_bit() {
    for family in families() {
        let rows = rows(&family, 120);
        let mut whole =
            Progressive::new(family).with_trace(Cadence::Geometric { factor: 1.5 }).unwrap();
        let mut part = whole.clone();
        for (i, &(y, mean, w)) in rows.iter().enumerate() {
            let interval = Some(Interval { lower: mean - 1.0, upper: mean + 0.5 });
            whole.row(y, mean, interval, w).unwrap();
            part.row(y, mean, interval, w).unwrap();
            if i % 37 == 20 {
                part = serde_json::from_str(&serde_json::to_string(&part).unwrap()).unwrap();
            }
        }
        assert_eq!(part, whole);
        assert_eq!(part.trace().last().unwrap().rows, whole.trace().last().unwrap().rows);
        assert!(part.trace().len() > 8);
    }
}

#[test]
fn illegal_rows_are_named_and_change_nothing() {
    let mut progressive = Progressive::new(Poisson.into());
    progressive.row(2.0, 1.5, None, 1.0).unwrap();
    let before = progressive.clone();
    assert!(matches!(progressive.row(1.5, 1.0, None, 1.0), Err(Error::Target { row: 1, .. })));
    assert!(matches!(
        progressive.row(1.0, f64::NAN, None, 1.0),
        Err(Error::Parameter { name: "mean", .. })
    ));
    assert!(matches!(
        progressive.row(1.0, 1.0, None, -1.0),
        Err(Error::Parameter { name: "weight", .. })
    ));
    assert_eq!(progressive, before);
}
