//! Streams that no sane data gives: constants, huge numbers, rows without features.

use super::{means, text, words};
use crate::common::sparse_batch::SparseBatch;
use crate::common::{Rng, rng, uniform};
use kalmia::{AnyFamily, Family, Learner, Observer, Poisson, RowView, Wide};

#[test]
fn odd_streams_give_finite_losses_and_sane_predictions() {
    type Stream = fn(usize, &mut Rng) -> (Vec<(u32, f64)>, f64);
    fn row(rng: &mut Rng) -> Vec<(u32, f64)> {
        words(rng, 50, 4).into_iter().map(|j| (j + 1, 1.0)).collect()
    }
    let streams: [(&str, &[&str], Stream); 9] = [
        ("tiny and huge values", &["bernoulli", "poisson", "gaussian", "gamma"], |i, rng| {
            let size = [1e-30, 1e30, 1.0, -1e30, 1e-300][i % 5];
            let entries = row(rng).into_iter().map(|(j, _)| (j, size * (0.5 + uniform(rng))));
            (entries.collect(), 1.0)
        }),
        ("all 0", &["bernoulli", "binomial:7", "poisson", "gaussian"], |_, rng| (row(rng), 0.0)),
        ("all 1", &["bernoulli", "binomial:7", "poisson", "gaussian", "gamma"], |_, rng| {
            (row(rng), 1.0)
        }),
        ("huge", &["poisson", "gaussian", "gamma"], |_, rng| {
            (row(rng), (1e9 * uniform(rng)).ceil())
        }),
        ("rarely huge", &["poisson", "gaussian", "gamma"], |i, rng| {
            (row(rng), if i % 97 == 96 { 1e9 } else { 1.0 })
        }),
        ("separable", &["bernoulli", "binomial:7", "poisson", "gaussian"], |i, rng| {
            let label = i % 2;
            let mut entries = row(rng);
            entries.push((100 + label as u32, 1.0));
            (entries, label as f64)
        }),
        ("one feature per row", &["bernoulli", "poisson", "gaussian", "gamma"], |i, _| {
            (vec![(1 + (i % 700) as u32, 2.0)], 1.0)
        }),
        ("no feature", &["bernoulli", "poisson", "gaussian", "gamma"], |_, _| (vec![], 1.0)),
        ("one value out of range", &["bernoulli", "poisson", "gaussian", "gamma"], |i, rng| {
            let mut entries = row(rng);
            if i % 50 == 49 {
                entries[0].1 = 1e30;
            }
            (entries, 1.0)
        }),
    ];
    for (name, families, stream) in streams {
        for family in families {
            for intercept in [false, true] {
                let family: AnyFamily = family.parse().unwrap();
                let mut rng = rng(12);
                let mut batch = SparseBatch::default();
                for i in 0..160 {
                    let (mut entries, y) = stream(i, &mut rng);
                    if intercept {
                        entries.insert(0, (0, 1.0));
                    }
                    batch.push(&entries, y);
                }
                let label = format!("{name}, {family:?}, intercept: {intercept}");
                let builder = Wide::builder(family).with_intercept(intercept);
                let mut wide = builder.build().unwrap();
                let mut add = |row: &RowView<'_>| {
                    // the quadrature of counts does not resolve a belief as wide as this
                    let lost = row.variance > 1e60 && row.loss.is_nan();
                    let sane = (row.loss.is_finite() || lost) && row.mean.is_finite();
                    let sane = sane && row.linear.is_finite() && row.variance >= 0.0;
                    assert!(sane, "{label}: {row:?}");
                };
                for from in (0..160).step_by(20) {
                    let part = batch.slice(from, from + 20);
                    // the density of counts costs more than all else: the first and the last rows
                    let shown = from == 0 || from == 140;
                    let observer: Option<&mut dyn Observer> =
                        if shown { Some(&mut add) } else { None };
                    wide.learn_sparse_observed(part.rows(), observer)
                        .unwrap_or_else(|error| panic!("{label}: {error}"));
                }
                let found = means(&wide, &batch.slice(120, 160));
                assert!(found.iter().all(|mean| mean.is_finite()), "{label}");
                let coefficients = wide.coefficients().to_vec();
                assert!(coefficients.iter().all(|c| c.is_finite()), "{label}");
                assert!(Wide::restore(wide.state()).is_ok(), "{label}");
                let last = found.iter().sum::<f64>() / 40.0;
                match name {
                    "all 0" if intercept => assert!(last.abs() < 0.1, "{label}: {last}"),
                    "all 1" if intercept => {
                        let share = if family.name() == "binomial" { 1.0 } else { last };
                        assert!((share - 1.0).abs() < 0.1, "{label}: {last}")
                    }
                    "huge" if intercept => assert!(last > 1e8 && last < 2e9, "{label}: {last}"),
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn targets_out_of_range_are_refused_and_change_nothing() {
    for y in [1e31, 1e60, 1e110] {
        let family: AnyFamily = "gaussian".parse().unwrap();
        let mut wide = Wide::new(family).unwrap();
        wide.learn_sparse(text(&family, 20, 200, 13).rows()).unwrap();
        let before = wide.state();
        let mut batch = SparseBatch::default();
        batch.push(&[(2, 1.0), (4, 1.0)], y);
        match wide.learn_sparse(batch.rows()) {
            Err(_) => assert!(wide.state() == before),
            Ok(()) => assert!(means(&wide, &batch)[0].is_finite(), "{y}"),
        }
        assert!(Wide::restore(wide.state()).is_ok(), "{y}");
    }
    // offsets far outside of what a log link can hold
    for offset in [-1e30, -800.0, 800.0, 1e30, 1e119] {
        let mut wide = Wide::new(AnyFamily::from(Poisson)).unwrap();
        let mut batch = text(&AnyFamily::from(Poisson), 20, 200, 14);
        wide.learn_sparse(batch.rows()).unwrap();
        let before = wide.state();
        batch = batch.slice(0, 3);
        let offsets = [0.0, offset, 0.0];
        let rows = batch.rows().with_offsets(&offsets).unwrap();
        if wide.learn_sparse(rows).is_err() {
            assert!(wide.state() == before, "{offset}");
        }
        assert!(Wide::restore(wide.state()).is_ok(), "{offset}");
    }
}
