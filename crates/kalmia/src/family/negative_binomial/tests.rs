//! Sums against the incomplete beta function, the Poisson limit, and what rows say of the shape.

use super::*;

fn family(dispersion: f64) -> NegativeBinomial {
    NegativeBinomial::new(dispersion).unwrap()
}

#[test]
fn sums_are_the_incomplete_beta_function() {
    for a in [1e-3, 0.4, 3.0, 50.0] {
        for y in [0.0, 1.0, 7.0, 47.0] {
            for mean in [1e-6, 0.3, 4.0, 120.0, 499.0] {
                let scaled: f64 = a * mean;
                let sum = family(a).summed_cdf(mean, y);
                let x = 1.0 / (1.0 + scaled);
                let exact = beta_regularized(1.0 / a, y + 1.0, x, scaled * x);
                assert!((sum - exact).abs() <= 1e-11 * exact, "{a} {y} {mean}: {sum} {exact}");
            }
        }
    }
}

#[test]
fn a_vanishing_dispersion_is_poisson() {
    let narrow = family(MIN_DISPERSION);
    for y in [0.0, 1.0, 5.0, 60.0] {
        for u in [-3.0, 0.2, 4.0] {
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-4 * (1.0 + b.abs());
            let poisson = crate::Poisson;
            assert!(close(narrow.log_density(y, u), poisson.log_density(y, u)), "{y} {u}");
            assert!(close(narrow.derivatives(y, u).0, poisson.derivatives(y, u).0), "{y} {u}");
            assert!(close(narrow.cdf(u, y), poisson.cdf(u, y)), "{y} {u}");
        }
    }
}

#[test]
fn the_shape_score_is_the_derivative_of_the_log_density() {
    for a in [0.01f64, 0.3, 2.0, 20.0] {
        for y in [0.0, 1.0, 4.0, 33.0, 2000.0] {
            for u in [-2.0, 0.5, 4.0] {
                let h = 1e-4 * a;
                let at = |a: f64| family(a).log_density(y, u);
                let by_density = (at(a + h) - at(a - h)) / (2.0 * h);
                let found = family(a).shape_terms(&Observation::new(y), u, 0.0).score;
                let size = by_density.abs() + at(a).abs() / a;
                assert!((found - by_density).abs() < 1e-6 * size, "{a} {y} {u}: {found}");
            }
        }
    }
}

/// $E[\text{score}^2]$ over the law, term by term.
#[test]
fn the_information_is_near_that_of_the_law() {
    for a in [0.05, 0.5, 1.0, 5.0, 50.0] {
        for mean in [0.05f64, 1.0, 20.0] {
            let u = mean.ln();
            let terms = |y: f64| family(a).shape_terms(&Observation::new(y), u, 0.0);
            let exact: f64 = (0..60_000)
                .map(f64::from)
                .map(|y| family(a).log_density(y, u).exp() * terms(y).score.powi(2))
                .sum();
            let ratio = terms(0.0).information / exact;
            assert!((0.55..1.8).contains(&ratio), "{a} {mean}: {ratio}");
        }
    }
}
