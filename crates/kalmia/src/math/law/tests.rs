//! Series against the laws, and quantiles against distribution functions.

use super::*;
use std::f64::consts::TAU;

const LAWS: [Law; 10] = [
    Law::Student { dof: f64::INFINITY },
    Law::Student { dof: 0.6 },
    Law::Student { dof: 2.0 },
    Law::Student { dof: 11.0 },
    Law::Student { dof: 1e4 },
    Law::LogGamma { shape: 0.05 },
    Law::LogGamma { shape: 0.7 },
    Law::LogGamma { shape: 1.0 },
    Law::LogGamma { shape: 9.0 },
    Law::LogGamma { shape: 4e3 },
];

#[test]
fn series_are_the_law() {
    for law in LAWS {
        for k in 0..=200 {
            let t = law.quantile((f64::from(k) + 0.5) / 201.0) + 0.001 * f64::from(k % 7);
            let CdfAt { value, density } = with_laws(|laws| laws.cdf(law, t, 0.0)).unwrap();
            assert!((value - law.cdf(t)).abs() < 1e-11, "{law:?} {t}: {value}");
            let exact = law.density(t);
            assert!((density - exact).abs() < 1e-9 * (1.0 + exact), "{law:?} {t}: {density}");
        }
    }
}

/// Against the trapezoid rule, which is exact for a normal average of an analytic function.
#[test]
fn a_normal_addition_is_averaged_over() {
    let mut answered = 0;
    for law in LAWS {
        let width = law.quantile(0.84) - law.quantile(0.16);
        for share in [1e-6, 1e-3, 0.01, 0.03, 0.06] {
            let deviation = share * width;
            for q in [1e-4, 0.025, 0.4, 0.9, 0.9999] {
                let t = law.quantile(q);
                let Some(found) = with_laws(|laws| laws.cdf(law, t, deviation * deviation)) else {
                    continue;
                };
                answered += 1;
                let node = |k: i32| {
                    let z = 0.1 * f64::from(k);
                    (-0.5 * z * z).exp() * law.cdf(t - deviation * z)
                };
                let sum = (-90..=90).map(node).sum::<f64>() * 0.1 / TAU.sqrt();
                assert!((found.value - sum).abs() < 1e-10, "{law:?} {share} {q}: {found:?}");
            }
        }
    }
    assert!(answered > 150, "{answered}");
}

#[test]
fn quantiles_invert_the_law() {
    for law in LAWS {
        // twice: the second time from what is kept, after more quantiles than are kept
        for q in [1e-6, 1e-3, 0.025, 0.2, 0.5, 0.7, 0.975, 0.999, 1.0 - 1e-6].repeat(2) {
            let t = with_laws(|laws| laws.quantile(law, q));
            assert!((law.cdf(t) - q).abs() < 1e-13 + 1e-10 * q.min(1.0 - q), "{law:?} {q}");
        }
    }
}

#[test]
fn far_out_and_not_a_number_end() {
    with_laws(|laws| {
        let normal = Law::Student { dof: f64::INFINITY };
        assert_eq!(laws.cdf(normal, -1e9, 0.0).unwrap().value, 0.0);
        assert_eq!(laws.cdf(normal, 1e9, 0.0).unwrap().value, 1.0);
        assert!(laws.cdf(normal, f64::NAN, 0.0).is_none_or(|at| at.value.is_nan()));
        assert!(laws.cdf(normal, 0.0, 50.0).is_none());
    });
}
