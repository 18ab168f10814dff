//! The sums over widths against plain integrals, and rows far out.

use super::*;
use std::f64::consts::TAU;

/// $\int (u-m)^k e^{-w\ell}N(u;m,s)\,du$ by the trapezoid rule.
fn integral(family: &Student, row: &Observation, m: f64, s: f64, k: i32) -> f64 {
    let n = 60_000;
    let reach = 12.0 * s.sqrt();
    let step = 2.0 * reach / f64::from(n);
    let at = |i: i32| {
        let v = -reach + f64::from(i) * step;
        v.powi(k) * (-0.5 * v * v / s - row.loss(family, m + v)).exp() / (TAU * s).sqrt()
    };
    (0..=n).map(at).sum::<f64>() * step
}

#[test]
fn the_sum_over_widths_is_the_integral() {
    for dof in [2.1, 4.0, 30.0] {
        for scale in [0.3, 2.0] {
            let family = Student::new(dof).unwrap().with_scale(scale).unwrap();
            for r in [-30.0, -0.4, 0.0, 1.7, 5.0] {
                for s in [1e-3, 0.5, 20.0] {
                    for weight in [1.0, 0.3, 4.0] {
                        let row = Observation { y: r + 1.5, weight, offset: 0.5 };
                        let found = family.exact_moments(&row, 1.0, s).unwrap();
                        let mass = integral(&family, &row, 1.0, s, 0);
                        let mean = integral(&family, &row, 1.0, s, 1) / mass;
                        let square = integral(&family, &row, 1.0, s, 2) / mass;
                        // a row after which the belief would be wider leaves it as it is
                        let variance = (square - mean * mean).min(s);
                        let kept = s - found.step.contraction * s * s;
                        let close = |a: f64, b: f64| (a - b).abs() < 1e-5 * b.abs().max(0.01 * s);
                        let evidence = (found.evidence.ln() - mass.ln()).abs();
                        let same = evidence < 1e-5 * mass.ln().abs().max(1.0)
                            && close(found.step.gain * s, mean)
                            && close(kept, variance);
                        assert!(same, "{family:?} {row:?} {s}: {found:?} {mean} {variance}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_predictive_distribution_is_the_integral() {
    let family = Student::new(4.0).unwrap().with_scale(0.7).unwrap();
    for y in [-30.0, 0.1, 0.9, 4.0] {
        for s in [1e-6, 0.01, 1.0, 30.0f64] {
            let found = family.predictive_cdf(y, 0.4, s).unwrap();
            let step = 1e-3;
            let term = |k: i32| {
                let z = f64::from(k) * step;
                (-0.5 * z * z).exp() * family.cdf(0.4 + s.sqrt() * z, y)
            };
            let sum: f64 = (-9000..=9000).map(term).sum();
            let expected = sum * step / TAU.sqrt();
            assert!((found / expected - 1.0).abs() < 1e-6, "{y} {s}: {found} {expected}");
        }
    }
}

#[test]
fn a_row_far_out_moves_nothing() {
    let family = Student::default();
    for (y, s) in [(1e6, 0.1), (1e9, 1.0), (1e12, 1.0), (1e100, 1e-3), (-1e120, 10.0)] {
        for weight in [1.0, 10.0] {
            let row = Observation { y, weight, offset: 0.0 };
            let Moments { evidence, step, .. } = family.exact_moments(&row, 0.0, s).unwrap();
            assert!((step.gain * y / weight - 5.0).abs() < 1e-3, "{y} {s}: {step:?}");
            assert_eq!(step.curvature, 0.0, "{y} {s}");
            assert!((evidence.ln() / -row.loss(&family, 0.0) - 1.0).abs() < 1e-3, "{y} {s}");
        }
    }
}

#[test]
fn a_vague_belief_takes_the_law_of_the_row() {
    let family = Student::default();
    for s in [1e6, 1e12, 1e18] {
        let step = family.exact_moments(&Observation::new(3.0), 1.0, s).unwrap().step;
        // the variance of Student's law with 4 degrees of freedom is 2
        assert!((step.curvature * 2.0 - 1.0).abs() < 0.02, "{s}: {step:?}");
    }
}
