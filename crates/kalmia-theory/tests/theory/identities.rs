//! Lemmas and constants against independent computations.

use super::reference::close;
use kalmia_theory::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Number of eigenvalues below `shift` of the second moment of (1, Z), by the signs of the pivots
/// of A - shift I.
fn eigenvalues_below(m: usize, shift: f64) -> usize {
    let entry = |i: usize, j: usize| match (i, j) {
        (0, 0) => 1.0,
        (0, _) | (_, 0) => 0.5,
        _ if i == j => 1.0 / 3.0,
        _ => 0.25,
    };
    let mut a: Vec<Vec<f64>> = (0..=m)
        .map(|i| (0..=m).map(|j| entry(i, j) - if i == j { shift } else { 0.0 }).collect())
        .collect();
    let mut negative = 0;
    for k in 0..=m {
        negative += usize::from(a[k][k] < 0.0);
        for i in k + 1..=m {
            let factor = a[i][k] / a[k][k];
            let pivot_row = a[k].clone();
            a[i].iter_mut().zip(&pivot_row).skip(k).for_each(|(x, p)| *x -= factor * p);
        }
    }
    negative
}

#[test]
fn the_design_has_the_inertia_of_its_matrix() {
    for m in [1usize, 2, 3, 10, 40] {
        let out = UniformDesign { m: m as u64 }.evaluate().unwrap();
        let around = |x: f64| {
            (eigenvalues_below(m, x * (1.0 - 1e-7)), eigenvalues_below(m, x * (1.0 + 1e-7)))
        };
        assert_eq!(around(out.lambda_min), (0, 1), "m={m}");
        assert_eq!(around(out.bulk), (1, m), "m={m}");
        assert_eq!(around(out.lambda_max), (m, m + 1), "m={m}");
    }
}

#[test]
fn logistic_constants_hold_and_are_attained() {
    let d_x = 1.5;
    let norm_star = 0.8;
    let eps = 0.1;
    let out = LogisticConstants { d_x, norm_star, eps }.evaluate().unwrap();
    let second = |u: f64| 1.0 / ((1.0 + u.exp()) * (1.0 + (-u).exp()));
    let first = |u: f64| 1.0 / (1.0 + u.exp());
    let edge = d_x * (norm_star + eps);
    let ratio = |u: f64| first(u).powi(2) / second(u);
    assert!(close(ratio(-edge), out.kappa, 1e-13));
    for i in 0..=200 {
        let u = edge * (f64::from(i) / 100.0 - 1.0);
        assert!(ratio(u) <= out.kappa * (1.0 + 1e-13) && second(u) <= out.h);
        let near = u + eps * d_x;
        let far = u + 2.0 * eps * d_x;
        assert!(
            second(near) >= out.rho * second(u) && second(far) >= out.rho_two_sided * second(u)
        );
    }
}

#[test]
fn the_trace_lemma_bounds_a_recursion() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    for p1 in [0.1, 1.0, 1e4] {
        // P in the plane, by Sherman-Morrison; every |x| <= sqrt 2 and every weight <= 1/4.
        let mut a = p1;
        let mut b = 0.0;
        let mut c = p1;
        let mut sum = 0.0;
        for n in 1..=300u64 {
            let x = 1.0;
            let z = rng.random::<f64>();
            let weight = 0.25 * rng.random::<f64>();
            let u = a * x + b * z;
            let v = b * x + c * z;
            let s = x * u + z * v;
            let shrink = weight / (1.0 + weight * s);
            (a, b, c) = (a - shrink * u * u, b - shrink * u * v, c - shrink * v * v);
            sum += weight * s / (1.0 + weight * s);
            let bound = SumTrace { d: 2, n, h: 0.25, lmax_pk1: p1, d_x: 2f64.sqrt() }
                .evaluate()
                .unwrap()
                .bound;
            assert!(sum <= bound, "n={n}");
        }
    }
}

#[test]
fn sums_agree_with_loops() {
    for beta in [0.1, 0.25, 0.33, 0.49] {
        for tau in [0u32, 1, 7, 255, 256, 257, 20_000] {
            let out = TruncationExcess { beta, tau: f64::from(tau) }.evaluate().unwrap();
            let weights = || {
                (1..=tau).map(|t| (t, f64::from(t).powf(-beta) - 0.25)).filter(|(_, w)| *w > 0.0)
            };
            let naive: f64 = weights().map(|(_, w)| w).sum();
            assert!(
                (out.excess - naive).abs() <= 1e-11 * (1.0 + naive),
                "{beta} {tau}: {} against {naive}",
                out.excess
            );
            assert_eq!(out.last_t, weights().next_back().map_or(0.0, |(t, _)| f64::from(t)));
        }
    }
    let base =
        DescentF { k: 3, t: 4000, eta: 0.3, d_eta: 0.4, d_x: 1.2, c: 0.3, beta: 0.2, l1_gap: 0.1 };
    for (k, t) in [(1u32, 2), (1, 300), (63, 65), (64, 4000), (500, 501)] {
        let out = DescentF { k: k.into(), t: t.into(), ..base }.evaluate().unwrap();
        let drift = |from: u32| -> f64 {
            (from..t)
                .map(|s| {
                    (0.4f64 / 1.2).powi(2) / f64::from(s)
                        - 2.0 * 1.2f64.powi(4) * 0.09 * f64::from(s).powf(-1.6)
                })
                .sum()
        };
        assert!(
            (out.f - (0.15 + drift(k))).abs() < 1e-12 && (out.f0 - (0.2 + drift(1))).abs() < 1e-12
        );
    }
}

#[test]
fn the_truncated_filter_is_consistent() {
    let d = 5;
    let d_x = 2.0;
    let lambda_min = 0.3;
    let beta = 0.4;
    for delta in [1e-9, 0.01, 0.5] {
        let c = CDelta { d, d_x, lambda_min, delta, lmax_p1: 3.0 }.evaluate().unwrap();
        let p = BoundP { d, d_x, lambda_min, delta, beta, t: 1e4 }.evaluate().unwrap();
        // C_delta is lambda_max(P_1) T^(1-beta): the trivial bound up to T.
        assert!(close(c.second, 3.0 * ((1.0 - beta) * p.ln_threshold).exp(), 1e-12));
        // Lemma 19, summed over t > T, is what Proposition 11 promises.
        let fail = |t: f64| {
            let lemma =
                ConcentrationTropp { d, t: t as u64, beta, lambda_min, d_x }.evaluate().unwrap();
            assert!(lemma.applies && lemma.level >= 1.0 / p_bound(t, lambda_min, beta));
            lemma.ln_prob_bound.exp()
        };
        let mut total = 0.0;
        let mut t = p.threshold.ceil();
        let step = 1000.0;
        // Upper Riemann sum of a decreasing function.
        while fail(t) > 1e-30 {
            total += step * fail(t);
            t += step;
        }
        assert!(total <= delta, "{total} {delta}");
    }
}

/// The bound of Proposition 11.
fn p_bound(t: f64, lambda_min: f64, beta: f64) -> f64 {
    BoundP { d: 5, d_x: 2.0, lambda_min, delta: 0.5, beta, t }.evaluate().unwrap().bound
}
