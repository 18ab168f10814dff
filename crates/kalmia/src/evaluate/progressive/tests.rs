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
                AnyFamily::Poisson(_) | AnyFamily::NegativeBinomial(_) => {
                    (past.1 > 0.0).then(|| (past.0 + 0.5) / past.1)
                }
                _ => (past.1 > 0.0).then(|| past.0 / past.1),
            };
            // a first row that nobody can predict is judged for neither
            if let Some(guess) = guess {
                loss += w * 0.5 * deviance(&family, y, mean);
                constant += w * 0.5 * deviance(&family, y, guess);
                weight += w;
            }
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
    both.1.remove(0);
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
    close(coverage.width.unwrap(), 2.0 * QUANTILE_95 * both.1.iter().map(|r| r.1).sum::<f64>() / n);
}

#[test]
fn the_first_row_costs_neither_the_model_nor_the_constant_predictor() {
    for (name, first) in [("gaussian", 300.0), ("poisson", 250.0), ("gamma", 1e6)] {
        let mut progressive = Progressive::new(name.parse().unwrap());
        progressive.row(first, 1e-3, None, 0.0).unwrap();
        progressive.row(first, 1e-3, None, 2.0).unwrap();
        assert!(!progressive.is_judged() && progressive.report().last_half.is_none());
        let guess = progressive.constant().unwrap();
        progressive.row(first + 1.0, guess, None, 1.0).unwrap();
        let report = progressive.report();
        assert_eq!((report.rows, report.weight), (3, 1.0));
        assert!(report.loss < 1.0 && report.loss == report.constant_loss, "{name} {report:?}");
    }
}

#[test]
fn the_last_half_is_that_of_an_evaluation_which_starts_there() {
    for family in families() {
        for n in [40, 333, 1000] {
            let rows = rows(&family, n);
            let mut whole = Progressive::new(family);
            let interval = |mean: f64| Some(Interval { lower: 0.7 * mean, upper: 1.4 * mean });
            rows.iter().for_each(|&(y, mean, w)| whole.row(y, mean, interval(mean), w).unwrap());
            let found = whole.report().last_half.unwrap();
            let start = found.first_row as usize - 1;
            assert_eq!(found.last_row, n as u64);
            assert!((n - start) as f64 / n as f64 <= 0.5625 && n - start >= n / 2, "{n} {start}");
            let mut before = Progressive::new(family);
            rows[..start].iter().for_each(|&(y, mean, w)| before.row(y, mean, None, w).unwrap());
            let mut half = Progressive::after(&before);
            let mut squares = 0.0;
            let mut judged = 0.0;
            for &(y, mean, w) in &rows[start..] {
                half.row(y, mean, interval(mean), w).unwrap();
                let variance = family.variance(link(&family, mean));
                squares += w * (y - mean) * (y - mean) / variance;
                judged += if matches!(family, AnyFamily::Binomial(b) if b.trials().is_none()) {
                    f64::from(w > 0.0)
                } else {
                    w
                };
            }
            let expected = half.report();
            let same = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{a} {b}");
            same(found.loss, expected.loss);
            same(found.constant_loss, expected.constant_loss);
            same(found.covered.unwrap(), expected.coverage.unwrap().covered);
            match found.dispersion {
                Some(value) => {
                    same(value, squares / judged * family.dispersion().unwrap_or(1.0));
                }
                None => assert!(matches!(family, AnyFamily::Bernoulli(_))),
            }
        }
    }
}

/// The linear predictor of a mean.
fn link(family: &AnyFamily, mean: f64) -> f64 {
    match family {
        AnyFamily::Gaussian(_) | AnyFamily::Quantile(_) | AnyFamily::Student(_) => mean,
        AnyFamily::Bernoulli(_) => (mean / (1.0 - mean)).ln(),
        AnyFamily::Binomial(b) => (mean / (b.trials().unwrap_or(1) as f64 - mean)).ln(),
        AnyFamily::Poisson(_) | AnyFamily::Gamma(_) | AnyFamily::NegativeBinomial(_) => mean.ln(),
    }
}

#[test]
fn counts_that_vary_more_show_in_dispersion_and_coverage() {
    let mut rng = rng();
    let n = 40_000;
    let mut report = |factor: f64, exposure: f64| {
        // counts of mean 4 times the exposure in units of `factor`: variance factor times the mean
        let law = rand_distr::Poisson::new(4.0 * exposure / factor).unwrap();
        let y: Vec<f64> = (0..n).map(|_| factor * rng.sample(law) / exposure).collect();
        let weights = vec![exposure; n];
        let x = vec![1.0; n];
        let mut filter: Filter<_, _> =
            Filter::new(Poisson, Ekf, Prior::isotropic(1, 1.0).unwrap()).unwrap();
        let mut progressive = Progressive::new(Poisson.into());
        let rows = Rows::new(1, &x, &y).unwrap().with_weights(&weights).unwrap();
        filter.learn_observed(rows, Some(&mut progressive)).unwrap();
        let half = progressive.report().last_half.unwrap();
        (half.dispersion.unwrap(), half.covered.unwrap())
    };
    let (plain, held) = report(1.0, 1.0);
    // the interval of a Poisson variable of mean 4 is 1 to 8 and holds 0.960
    assert!((plain - 1.0).abs() < 0.1 && (held - 0.960).abs() < 0.03, "{plain} {held}");
    let (more, held) = report(5.0, 1.0);
    // 0 or 10 and more: P(Poisson(0.8) != 1) = 0.64 lie outside
    assert!((more / 5.0 - 1.0).abs() < 0.1 && (held - 0.36).abs() < 0.06, "{more} {held}");
    // a rate of 7.3 units of exposure has the dispersion of its count
    let (rate, held) = report(1.0, 7.3);
    assert!((rate - 1.0).abs() < 0.1 && (held - 0.955).abs() < 0.03, "{rate} {held}");
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
    assert!(matches!(progressive.row(-1.5, 1.0, None, 1.0), Err(Error::Target { row: 1, .. })));
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

#[test]
fn a_quantile_has_the_share_of_targets_below_it() {
    let family: AnyFamily = "quantile:0.8".parse().unwrap();
    let rows = rows(&family, 400);
    let share = |rows: &[(f64, f64, f64)]| {
        let weight: f64 = rows.iter().map(|r| r.2).sum();
        rows.iter().filter(|r| r.0 <= r.1).map(|r| r.2).sum::<f64>() / weight
    };
    let mut parts = [Progressive::new(family), Progressive::new(family)];
    for (part, rows) in parts.iter_mut().zip(rows.chunks(200)) {
        rows.iter().for_each(|&(y, quantile, w)| part.row(y, quantile, None, w).unwrap());
        let report = part.report();
        let below = report.below.unwrap();
        assert_eq!(below.level, 0.8);
        // the first row is not judged
        close(below.share, share(&rows[1..]));
        let half = report.last_half.unwrap();
        close(half.share_below.unwrap(), share(&rows[half.first_row as usize - 1..]));
        // four standard errors of a share of 0.8 in 200 rows of unequal weight
        assert!((below.share - 0.8).abs() < 0.13, "{below:?}");
    }
    let text = serde_json::to_string(&parts[0]).unwrap();
    assert_eq!(serde_json::from_str::<Progressive>(&text).unwrap(), parts[0]);
    let both = parts[0].merged(&parts[1]).unwrap().report();
    let judged = [&rows[1..200], &rows[201..]].concat();
    close(both.below.unwrap().share, share(&judged));
    let gaussian = Progressive::new(Gaussian::default().into()).report();
    assert!(gaussian.below.is_none());
}
