//! Blocks, rows and forms agree with the textbook recursion.

use crate::common::{Predictor, Textbook, rng, uniform};
use kalmia::covariance::Covariance;
use kalmia::internals::{Buffer, Threads};
use kalmia::rows::Observation;
use kalmia::rule::Step;
use kalmia::{Bernoulli, Dense, Ekf, Factored, Result, Rule};

fn check<C: Covariance>(dim: usize, rows: usize, cut: usize, threads: usize) {
    let mut rng = rng((dim * 1000 + rows) as u64);
    let x: Vec<f64> =
        (0..rows * dim).map(|i| if i % dim == 0 { 1.0 } else { uniform(&mut rng) - 0.5 }).collect();
    let y: Vec<f64> = (0..rows).map(|_| if uniform(&mut rng) < 0.4 { 1.0 } else { 0.0 }).collect();
    let variances: Vec<f64> = (0..dim).map(|_| 0.5 + uniform(&mut rng)).collect();
    let mut p = vec![0.0; dim * dim];
    (0..dim).for_each(|j| p[j * dim + j] = variances[j]);
    let mut book = Textbook::new(vec![0.0; dim], p);
    let rule = |i: usize, m: f64, s: f64| {
        Ekf.step(&Bernoulli, &Observation::new(y[i]), m, s, i as u64 + 1)
    };
    let mut learn = |i: usize| book.learn(&x[i * dim..][..dim], |p| rule(i, p.m, p.s));
    let expected: Vec<Predictor> = (0..rows).map(&mut learn).collect();

    let mut form = C::from_diagonal(&variances).unwrap();
    let mut theta = Buffer::zeros(dim);
    let mut seen = Vec::new();
    let mut first = 0;
    for x in x.chunks(cut * dim) {
        let mut decide = |i: usize, m: f64, s: f64| -> Result<Step> {
            seen.push((m, s));
            Ok(rule(first + i, m, s))
        };
        form.learn(&mut theta, x, &mut decide, Threads::new(threads).unwrap()).unwrap();
        first += x.len() / dim;
    }
    let close = |a: f64, b: f64, scale: f64| {
        assert!((a - b).abs() <= 1e-9 * scale, "{a} {b} dim {dim} rows {rows} cut {cut}")
    };
    assert_eq!(seen.len(), rows);
    for ((m, s), expected) in seen.iter().zip(&expected) {
        close(*m, expected.m, expected.m.abs().max(1.0));
        close(*s, expected.s, expected.s);
    }
    for j in 0..dim {
        close(theta[j], book.theta[j], 1.0);
        for i in 0..dim {
            close(form.entry(i, j), book.p[i * dim + j], 1.0);
        }
    }
}

#[test]
fn every_form_and_cut_is_the_textbook_recursion() {
    for (dim, rows) in [
        (1, 5),
        (2, 30),
        (3, 40),
        (8, 50),
        (11, 100),
        (17, 100),
        (33, 64),
        (100, 150),
        (200, 300),
        (300, 400),
    ] {
        for cut in [1, 7, 1000] {
            check::<Dense>(dim, rows, cut, 1);
            check::<Factored>(dim, rows, cut, 1);
        }
    }
    // a stride that keeps neighboring columns apart
    check::<Dense>(256, 60, 7, 1);
    check::<Factored>(256, 60, 7, 1);
}

#[test]
fn cores_share_a_block_without_a_trace() {
    for threads in [1, 2, 3] {
        check::<Dense>(650, 150, 1000, threads);
        check::<Factored>(650, 150, 1000, threads);
    }
}
