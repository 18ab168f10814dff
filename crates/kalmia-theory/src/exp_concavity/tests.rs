//! Tests of the exp-concavity constants, by quadrature, finite differences and attained cases.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

fn close(a: f64, b: f64, rtol: f64) -> bool {
    (a - b).abs() <= rtol * a.abs().max(b.abs())
}

#[test]
fn the_ball_constant_holds_and_is_attained() {
    let radius = 2.0;
    let d_x = 1.7;
    let alpha = ln_ball_constant(radius, d_x).unwrap().exp();
    // Over y = 1 and u = theta'x, which fills [-D D_X, D D_X].
    let constant = |u: f64| (1.0 + u.exp()) / (1.0 + (-u).exp());
    let least = (0..=100)
        .map(|i| constant(radius * d_x * (f64::from(i) / 50.0 - 1.0)))
        .fold(f64::INFINITY, f64::min);
    assert!(close(least, alpha, 1e-12));
    assert!(ln_ball_constant(0.0, 1.0).is_err() && ln_ball_constant(1.0, f64::NAN).is_err());
}

/// Nodes and weights of the Gauss-Legendre rule on [0, 1], by Newton's method.
fn gauss_legendre(count: usize) -> Vec<(f64, f64)> {
    let n = count as f64;
    (1..=count)
        .map(|i| {
            let mut x = (std::f64::consts::PI * (i as f64 - 0.25) / (n + 0.5)).cos();
            let mut slope = 0.0;
            for _ in 0..50 {
                let mut p = 1.0;
                let mut previous = 0.0;
                for j in 0..count {
                    let j = j as f64;
                    (p, previous) = (((2.0 * j + 1.0) * x * p - j * previous) / (j + 1.0), p);
                }
                slope = n * (x * p - previous) / (x * x - 1.0);
                x -= p / slope;
            }
            (0.5 * (1.0 + x), 1.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

const THETA_STAR: [f64; 11] = [-0.9, 0.0, 0.3, -0.9, 0.4, -0.9, 1.5, 0.0, -0.7, 0.1, 0.0];

/// A product rule for (1, Z), Z uniform on [0,1]^10: two nodes (exact for second moments) where the
/// feature does not act, more the more it does.
fn quadrature() -> (Vec<f64>, Vec<f64>) {
    let mut rows = vec![1.0];
    let mut weights = vec![1.0];
    for (j, &coefficient) in THETA_STAR.iter().enumerate().skip(1) {
        let rule = gauss_legendre(match coefficient.abs() {
            0.0 => 2,
            c if c < 0.2 => 3,
            c if c < 0.5 => 4,
            c if c < 1.0 => 5,
            _ => 7,
        });
        let mut next = (Vec::new(), Vec::new());
        for (row, weight) in rows.chunks_exact(j).zip(&weights) {
            for (node, part) in &rule {
                next.0.extend_from_slice(row);
                next.0.push(*node);
                next.1.push(weight * part);
            }
        }
        (rows, weights) = next;
    }
    (rows, weights)
}

#[test]
fn exp_concavity_of_the_risk_agrees_with_quadrature() {
    let (rows, weights) = quadrature();
    let risk =
        LogisticRisk::well_specified(&rows, &THETA_STAR).unwrap().with_weights(&weights).unwrap();
    let radius = 1.1 * THETA_STAR.iter().map(|x| x * x).sum::<f64>().sqrt();
    let along = |scale: f64| THETA_STAR.map(|x| scale * x);
    let first = |x: f64| std::array::from_fn(|i| if i == 0 { x } else { 0.0 });
    // The values of erratum E26, by an independent quadrature; the two rules agree to 10
    // significant digits.
    let cases: [([f64; 11], f64); 5] = [
        (first(0.0), 4.144753736261),
        (along(-1.1), 0.5085761309),
        (along(1.1), 496.46480955),
        (first(radius), 0.155033634933),
        (first(-radius), 1.119189731083),
    ];
    for (theta, expected) in cases {
        let found = risk.constant_at(&theta).unwrap();
        assert!(close(found, expected, 1e-9), "{theta:?}: {found} against {expected}");
    }
    assert_eq!(risk.constant_at(&THETA_STAR).unwrap(), f64::INFINITY);
}

#[test]
fn the_sphere_minimum_is_reproducible_and_plausible() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    let rows: Vec<f64> =
        (0..2000 * 11).map(|i| if i % 11 == 0 { 1.0 } else { rng.random() }).collect();
    let risk = LogisticRisk::well_specified(&rows, &THETA_STAR).unwrap();
    let radius = 1.1 * THETA_STAR.iter().map(|x| x * x).sum::<f64>().sqrt();
    let run =
        || risk.sphere_minimum(&mut Xoshiro256PlusPlus::seed_from_u64(3), radius, 1000).unwrap();
    let least = run();
    assert_eq!(least, run());
    assert!(close(least.at.iter().map(|x| x * x).sum::<f64>().sqrt(), radius, 1e-12));
    assert_eq!(least.alpha, risk.constant_at(&least.at).unwrap());
    // The logarithm of this minimum has quantiles (5, 50, 95 %) -3.77, -3.40, -3.08 over the draws
    // of the points.
    assert!((-4.2..-2.7).contains(&least.alpha.ln()), "{}", least.alpha.ln());
    // The constant of the loss on the ball bounds that of the risk from below.
    assert!(least.alpha.ln() >= ln_ball_constant(radius, 11f64.sqrt()).unwrap());
    // More points, a smaller minimum.
    let few = risk.sphere_minimum(&mut Xoshiro256PlusPlus::seed_from_u64(3), radius, 50).unwrap();
    assert!(few.alpha >= least.alpha);
}

#[test]
fn the_risk_is_exp_concave_with_its_constant_and_no_more() {
    // e^{-a L} has the Hessian -a e^{-a L} (Hess - a grad grad'): along Hess^{-1} grad its sign
    // changes at a = alpha_L. In one dimension:
    let rows = [0.3, -1.2, 2.0];
    let success = vec![0.9, 0.2, 0.4];
    let risk = LogisticRisk::new(&rows, 1, success.clone()).unwrap();
    let loss = |theta: f64| -> f64 {
        let each = |(x, p): (&f64, &f64)| {
            p * (-theta * x).exp().ln_1p() + (1.0 - p) * (theta * x).exp().ln_1p()
        };
        rows.iter().zip(&success).map(each).sum::<f64>() / 3.0
    };
    for theta in [-2.0, 0.4, 1.5] {
        let alpha = risk.constant_at(&[theta]).unwrap();
        let bend = |a: f64| {
            let step = 1e-3;
            let f = |t: f64| (-a * (loss(t) - loss(theta))).exp();
            f(theta + step) - 2.0 * f(theta) + f(theta - step)
        };
        assert!(bend(0.99 * alpha) < 0.0 && bend(1.01 * alpha) > 0.0, "theta={theta}");
    }
}

#[test]
fn bad_samples_are_named() {
    let rows = [1.0, 0.5, 1.0, 0.25];
    assert!(matches!(
        LogisticRisk::well_specified(&rows, &[]),
        Err(Error::Parameter { name: "d", .. })
    ));
    assert!(matches!(
        LogisticRisk::well_specified(&rows[..3], &[0.0, 1.0]),
        Err(Error::Length { name: "rows", .. })
    ));
    assert!(matches!(
        LogisticRisk::new(&[], 2, vec![]),
        Err(Error::Parameter { name: "rows", .. })
    ));
    assert!(matches!(
        LogisticRisk::new(&rows, 2, vec![0.5]),
        Err(Error::Length { name: "success", .. })
    ));
    assert!(matches!(
        LogisticRisk::new(&rows, 2, vec![0.5, 1.5]),
        Err(Error::RowExtra { row: 1, .. })
    ));
    let infinite = LogisticRisk::new(&[1.0, f64::NAN], 2, vec![0.5]);
    assert!(matches!(infinite, Err(Error::Feature { row: 0, column: 1, .. })));
    let risk = LogisticRisk::well_specified(&rows, &[0.0, 1.0]).unwrap();
    assert!(matches!(risk.constant_at(&[1.0]), Err(Error::Length { name: "theta", .. })));
    assert!(matches!(
        risk.clone().with_weights(&[1.0]),
        Err(Error::Length { name: "weights", .. })
    ));
    assert!(matches!(
        risk.clone().with_weights(&[1.0, -1.0]),
        Err(Error::RowExtra { name: "weight", .. })
    ));
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    assert!(matches!(
        risk.sphere_minimum(&mut rng, 0.0, 10),
        Err(Error::Parameter { name: "D", .. })
    ));
    assert!(matches!(
        risk.sphere_minimum(&mut rng, 1.0, 0),
        Err(Error::Parameter { name: "points", .. })
    ));
    // One row cannot make a Hessian of rank two.
    let single = LogisticRisk::new(&rows[..2], 2, vec![0.5]).unwrap();
    assert!(matches!(single.constant_at(&[1.0, 1.0]), Err(Error::NotPositiveDefinite { .. })));
}
