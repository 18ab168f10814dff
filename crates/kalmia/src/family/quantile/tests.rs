//! The closed forms against plain integrals, for narrow and wide beliefs.

use super::*;

/// $\int (u-m)^k e^{-w\ell}N(u;m,s)\,du$ over both sides of the kink, by the midpoint rule.
fn integral(family: &Quantile, row: &Observation, m: f64, s: f64, k: i32) -> f64 {
    let kink = row.y - row.offset - m;
    let side = |from: f64, to: f64| {
        let n = 400_000;
        let step = (to - from) / f64::from(n);
        let at = |i: i32| {
            let v = from + (f64::from(i) + 0.5) * step;
            let density = (-0.5 * v * v / s - row.loss(family, m + v)).exp();
            v.powi(k) * density / (TAU * s).sqrt()
        };
        (0..n).map(at).sum::<f64>() * step
    };
    let reach = 12.0 * s.sqrt();
    let cut = kink.clamp(-reach, reach);
    side(-reach, cut) + side(cut, reach)
}

#[test]
fn the_closed_form_is_the_integral() {
    for tau in [0.1, 0.5, 0.97] {
        for scale in [0.2, 3.0] {
            let family = Quantile::new(tau).unwrap().with_scale(scale).unwrap();
            for r in [-4.0, -0.3, 0.0, 1.1, 6.0] {
                for s in [0.04, 1.0, 25.0] {
                    for weight in [1.0, 2.5] {
                        let row = Observation { y: r + 1.5, weight, offset: 0.5 };
                        let found = family.exact_moments(&row, 1.0, s).unwrap();
                        let mass = integral(&family, &row, 1.0, s, 0);
                        let mean = integral(&family, &row, 1.0, s, 1) / mass;
                        let square = integral(&family, &row, 1.0, s, 2) / mass;
                        let variance = square - mean * mean;
                        let kept = s - found.step.contraction * s * s;
                        let close = |a: f64, b: f64| (a - b).abs() < 1e-7 * b.abs().max(0.01 * s);
                        let same = close(found.evidence.ln(), mass.ln())
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
    let family = Quantile::new(0.2).unwrap().with_scale(0.7).unwrap();
    for y in [-3.0, 0.1, 0.9, 4.0] {
        for s in [0.01, 1.0, 30.0f64] {
            let found = family.predictive_cdf(y, 0.4, s).unwrap();
            let step = 1e-3;
            let term = |k: i32| {
                let z = f64::from(k) * step;
                (-0.5 * z * z).exp() * family.cdf(0.4 + s.sqrt() * z, y)
            };
            let sum: f64 = (-9000..=9000).map(term).sum();
            let expected = sum * step / TAU.sqrt();
            assert!((found - expected).abs() < 1e-7, "{y} {s}: {found} {expected}");
        }
    }
}

/// Beliefs from a millionth of the scale to a million times it: the variance left is that of the
/// law, or the belief's own. Priors are relative to the spread of the targets, so none is wider.
#[test]
fn wide_and_narrow_beliefs_keep_their_precision() {
    let family = Quantile::new(0.3).unwrap();
    let law = family.variance(0.0) - (0.4f64 / 0.21).powi(2);
    for s in [1e8, 1e12] {
        let step = family.exact_moments(&Observation::new(5.0), 5.0, s).unwrap().step;
        assert!((step.curvature * law - 1.0).abs() < 1e-3, "{s}: {step:?}");
    }
    for s in [1e-4, 1e-8, 1e-12] {
        let step = family.exact_moments(&Observation::new(5.0), 5.0, s).unwrap().step;
        // at the kink the curvature is that of a jump of 1/b under the normal density
        let expected = 1.0 / (TAU * s).sqrt();
        assert!((step.contraction / expected - 1.0).abs() < 0.02, "{s}: {step:?} {expected}");
        let far = family.exact_moments(&Observation::new(9.0), 5.0, s).unwrap().step;
        assert_eq!((far.gain, far.curvature), (0.3, 0.0), "{s}");
    }
}
