//! Every family against finite differences, its own density, its samples and the identities of the
//! logistic loss.

use kalmia::Error;
use kalmia::family::{
    AnyFamily, Bernoulli, Binomial, Family, Gamma, Gaussian, NegativeBinomial, Poisson, Quantile,
    Student,
};
use kalmia::rows::Observation;
use kalmia::rule::{AnyRule, Ekf, Rule};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Every family, with non-default parameters, and legal `y`.
fn cases() -> Vec<(AnyFamily, Vec<f64>)> {
    let count = vec![0.0, 1.0, 3.0, 17.0, 1000.0];
    vec![
        (Gaussian::default().into(), vec![-50.0, -1.0, 0.0, 0.3, 20.0]),
        (Gaussian::new(0.37).unwrap().into(), vec![-50.0, -1.0, 0.0, 0.3, 20.0]),
        (Bernoulli.into(), vec![0.0, 1.0]),
        (Binomial::new(1).unwrap().into(), vec![0.0, 1.0]),
        (Binomial::new(23).unwrap().into(), vec![0.0, 1.0, 11.0, 23.0]),
        (Binomial::proportion().into(), vec![0.0, 0.125, 0.6, 1.0]),
        (Poisson.into(), count.clone()),
        (NegativeBinomial::default().into(), count.clone()),
        (NegativeBinomial::new(0.2).unwrap().into(), count.clone()),
        (NegativeBinomial::new(1e-6).unwrap().into(), count),
        (Gamma::default().into(), vec![1e-6, 0.2, 1.0, 5.0, 1e4]),
        (Gamma::new(0.3).unwrap().into(), vec![1e-6, 0.2, 1.0, 5.0, 1e4]),
        (Gamma::new(4.0).unwrap().into(), vec![1e-6, 0.2, 1.0, 5.0, 1e4]),
    ]
}

/// The families of a location: their loss has no second derivative of its own.
fn location_cases() -> Vec<(AnyFamily, Vec<f64>)> {
    let values = vec![-50.0, -1.0, 0.0, 0.3, 20.0];
    vec![
        (Quantile::new(0.5).unwrap().into(), values.clone()),
        (Quantile::new(0.93).unwrap().with_scale(0.4).unwrap().into(), values.clone()),
        (Student::default().into(), values.clone()),
        (Student::new(9.0).unwrap().with_scale(2.5).unwrap().into(), values),
    ]
}

fn all_cases() -> Vec<(AnyFamily, Vec<f64>)> {
    cases().into_iter().chain(location_cases()).collect()
}

/// Central difference of order 4.
fn slope(f: impl Fn(f64) -> f64, u: f64) -> f64 {
    let h = 1e-2;
    (8.0 * (f(u + h) - f(u - h)) - (f(u + 2.0 * h) - f(u - 2.0 * h))) / (12.0 * h)
}

#[test]
fn derivatives_are_those_of_the_loss() {
    for (family, ys) in cases() {
        for &y in &ys {
            for k in -60..=60 {
                let u = f64::from(k) * 0.5 + 0.013;
                let (first, second) = family.derivatives(y, u);
                let size = family.loss(y, u).abs() + first.abs() + second.abs();
                let by_loss = slope(|v| family.loss(y, v), u);
                let by_first = slope(|v| family.derivatives(y, v).0, u);
                assert!(
                    (by_loss - first).abs() <= 2e-8 * size,
                    "{family:?} y={y} u={u}: l' {first} {by_loss}"
                );
                assert!(
                    (by_first - second).abs() <= 2e-8 * size,
                    "{family:?} y={y} u={u}: l'' {second} {by_first}"
                );
                assert!(second >= 0.0);
            }
        }
    }
}

/// Points of the support with their probabilities under `u` (a fine grid in `y` or $\ln y$ for
/// continuous families).
fn law(family: &AnyFamily, u: f64) -> Vec<(f64, f64)> {
    let grid = |point: &dyn Fn(f64) -> (f64, f64), low: f64, high: f64| {
        let n = 40_000;
        let step = (high - low) / f64::from(n);
        let at = |i: i32| point(low + f64::from(i) * step);
        (0..=n).map(|i| (at(i).0, at(i).1 * step)).collect()
    };
    let density = |y: f64| family.log_density(y, u).exp();
    match family {
        AnyFamily::Gaussian(g) => {
            let reach = 12.0 * g.noise().sqrt();
            grid(&|y| (y, density(y)), u - reach, u + reach)
        }
        AnyFamily::Quantile(q) => {
            let reach = 20.0 * q.scale() / q.tau().min(1.0 - q.tau());
            grid(&|y| (y, density(y)), u - reach, u + reach)
        }
        AnyFamily::Student(t) => {
            // y = u + sigma sinh(v)
            let scale = t.scale();
            grid(
                &|v: f64| (u + scale * v.sinh(), density(u + scale * v.sinh()) * scale * v.cosh()),
                -12.0,
                12.0,
            )
        }
        AnyFamily::Gamma(_) => {
            grid(&|t: f64| (t.exp(), density(t.exp()) * t.exp()), u - 200.0, u + 8.0)
        }
        AnyFamily::Bernoulli(_) => vec![(0.0, density(0.0)), (1.0, density(1.0))],
        AnyFamily::Binomial(b) => {
            (0..=b.trials().unwrap_or(1)).map(|k| (k as f64, density(k as f64))).collect()
        }
        AnyFamily::Poisson(_) => (0..2000).map(|k| (f64::from(k), density(f64::from(k)))).collect(),
        AnyFamily::NegativeBinomial(_) => {
            (0..8000).map(|k| (f64::from(k), density(f64::from(k)))).collect()
        }
    }
}

#[test]
fn density_has_mass_one_the_stated_moments_and_the_identities_of_the_score() {
    for (family, _) in cases() {
        for u in [-3.0, -0.4, 0.0, 1.1, 4.0] {
            let law = law(&family, u);
            let expect = |f: &dyn Fn(f64) -> f64| law.iter().map(|&(y, p)| p * f(y)).sum::<f64>();
            let mean = family.mean(u);
            let variance = family.variance(u);
            assert!((expect(&|_| 1.0) - 1.0).abs() < 1e-9, "{family:?} u={u}");
            assert!((expect(&|y| y) - mean).abs() < 1e-9 * (1.0 + mean.abs()), "{family:?} u={u}");
            assert!(
                (expect(&|y| (y - mean).powi(2)) / variance - 1.0).abs() < 1e-8,
                "{family:?} u={u}"
            );
            let information = expect(&|y| family.derivatives(y, u).1);
            assert!(
                expect(&|y| family.derivatives(y, u).0).abs() < 1e-8 * (1.0 + information),
                "{family:?} u={u}"
            );
            let score = expect(&|y| family.derivatives(y, u).0.powi(2));
            assert!(
                (score / information - 1.0).abs() < 1e-8,
                "{family:?} u={u}: {score} {information}"
            );
        }
    }
}

#[test]
fn cdf_sums_the_density_and_quantile_inverts_it() {
    for (family, _) in all_cases() {
        for u in [-3.0, 0.0, 1.1, 4.0] {
            let law = law(&family, u);
            let mut sum = 0.0;
            for (i, &(y, p)) in law.iter().enumerate() {
                // Trapezoid for the continuous ones: half of the last cell.
                sum += p;
                let partial = if family.discrete() { sum } else { sum - 0.5 * p };
                if i % 97 == 0 || law.len() < 100 {
                    assert!(
                        (family.cdf(u, y) - partial).abs() < 2e-6,
                        "{family:?} u={u} y={y}: {}",
                        family.cdf(u, y) - partial
                    );
                    if family.discrete() {
                        assert!((family.cdf(u, y) - partial).abs() < 1e-11);
                        assert_eq!(family.cdf(u, y + 0.5), family.cdf(u, y));
                    }
                }
            }
            for q in [1e-9, 0.003, 0.2, 0.5, 0.77, 0.9999] {
                let y = family.quantile(u, q);
                if family.discrete() {
                    assert!(
                        family.cdf(u, y) >= q && family.cdf(u, y - 1.0) < q,
                        "{family:?} u={u} q={q}: {y}"
                    );
                } else {
                    assert!(
                        (family.cdf(u, y) / q - 1.0).abs() < 1e-10,
                        "{family:?} u={u} q={q}: {y}"
                    );
                }
            }
        }
    }
}

#[test]
fn samples_are_legal_and_have_the_stated_mean_and_variance() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(20);
    let n = 40_000;
    for (family, _) in cases() {
        for u in [-1.0, 0.6, 3.0] {
            let mean = family.mean(u);
            let variance = family.variance(u);
            let draws: Vec<f64> = (0..n).map(|_| family.sample(u, &mut rng)).collect();
            assert!(draws.iter().all(|&y| family.canonical(y).is_some()), "{family:?}");
            let average =
                |f: &dyn Fn(f64) -> f64| draws.iter().map(|&y| f(y)).sum::<f64>() / f64::from(n);
            let got = average(&|y| y);
            assert!(
                (got - mean).abs() < 5.0 * (variance / f64::from(n)).sqrt(),
                "{family:?} u={u}: {got} {mean}"
            );
            let law = law(&family, u);
            let fourth: f64 = law.iter().map(|&(y, p)| p * (y - mean).powi(4)).sum();
            let error = ((fourth - variance * variance) / f64::from(n)).sqrt() + 1e-4 * variance;
            let spread = average(&|y| (y - mean).powi(2));
            assert!(
                (spread - variance).abs() < 5.0 * error,
                "{family:?} u={u}: {spread} {variance}"
            );
        }
    }
}

#[test]
fn nothing_is_nan_or_infinite_at_any_finite_linear_predictor() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
    for (family, ys) in all_cases() {
        for u in [-1e4, -745.0, -301.0, -40.0, 40.0, 301.0, 745.0, 1e4] {
            for &y in &ys {
                let (first, second) = family.derivatives(y, u);
                for value in
                    [family.loss(y, u), first, second, first * first, family.log_density(y, u)]
                {
                    assert!(value.is_finite(), "{family:?} y={y} u={u}: {value}");
                }
                assert!((0.0..=1.0).contains(&family.cdf(u, y)), "{family:?} y={y} u={u}");
                let step = Ekf.step(&family, &Observation::new(y), u, 3.0, 1);
                assert!(step.gain.is_finite() && step.curvature >= 0.0);
            }
            assert!(family.mean(u).is_finite() && family.variance(u).is_finite());
            assert!(
                family.quantile(u, 0.3).is_finite() && family.sample(u, &mut rng).is_finite(),
                "{family:?} u={u}"
            );
        }
    }
}

/// Beyond the cap the loss is still convex with the stated slope, so a diverging predictor is
/// pulled back.
#[test]
fn saturated_losses_keep_their_slope() {
    for u in [301.0, 400.0, 9e3] {
        let by_loss = |family: &AnyFamily, y: f64, u: f64| {
            (family.loss(y, u + 1.0) - family.loss(y, u - 1.0)) / 2.0
        };
        let poisson = AnyFamily::from(Poisson);
        let first = poisson.derivatives(2.0, u).0;
        assert!(first > 0.0 && (by_loss(&poisson, 2.0, u + 1.0) / first - 1.0).abs() < 1e-9);
        let gamma = AnyFamily::from(Gamma::new(0.5).unwrap());
        let first = gamma.derivatives(2.0, -u).0;
        assert!(first < 0.0 && (by_loss(&gamma, 2.0, -u - 1.0) / first - 1.0).abs() < 1e-9);
    }
}

#[test]
fn canonical_refuses_what_is_outside_the_domain() {
    for (family, ys) in all_cases() {
        for y in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(family.canonical(y), None, "{family:?}");
        }
        assert!(ys.iter().all(|&y| family.canonical(y) == Some(y)), "{family:?}");
    }
    let refused: [(AnyFamily, &[f64]); 6] = [
        (Bernoulli.into(), &[0.5, 2.0, -0.5]),
        (Binomial::new(5).unwrap().into(), &[-1.0, 6.0, 2.5]),
        (Binomial::proportion().into(), &[-0.1, 1.1]),
        (Poisson.into(), &[-1.0, -0.5, 1e16]),
        (NegativeBinomial::default().into(), &[-1.0, 0.5, 1e16]),
        (Gamma::default().into(), &[0.0, -0.0, -1.0, 1e121]),
    ];
    for (family, ys) in refused {
        assert!(ys.iter().all(|&y| family.canonical(y).is_none()), "{family:?}");
    }
}

#[test]
fn proportions_weighted_by_trials_are_counts() {
    for n in [1u32, 3, 10, 64] {
        let counts = Binomial::new(n.into()).unwrap();
        let shares = Binomial::proportion();
        for k in 0..=n {
            let share =
                Observation { y: f64::from(k) / f64::from(n), weight: n.into(), offset: 0.25 };
            let count = Observation { y: k.into(), weight: 1.0, offset: 0.25 };
            for u in [-1e4, -9.0, -0.5, 0.0, 2.0, 30.0] {
                let close = |a: f64, b: f64, size: f64| (a - b).abs() <= 4e-15 * size.abs();
                let ((a1, a2), (b1, b2)) =
                    (share.derivatives(&shares, u), count.derivatives(&counts, u));
                assert!(close(a1, b1, f64::from(n)) && close(a2, b2, b2), "n={n} k={k} u={u}");
                assert!(close(
                    share.loss(&shares, u),
                    count.loss(&counts, u),
                    count.loss(&counts, u)
                ));
                if n.is_power_of_two() {
                    assert_eq!((a1, a2), (b1, b2));
                }
            }
        }
    }
}

#[test]
fn one_trial_is_bernoulli_and_the_codings_agree_to_the_bit() {
    let one = Binomial::new(1).unwrap();
    for k in -400..=400 {
        let u = f64::from(k) * 0.173;
        for (label, sign, truth) in [(0.0, -1.0, false), (1.0, 1.0, true)] {
            let codings =
                [label, sign, f64::from(u8::from(truth))].map(|y| Bernoulli.canonical(y).unwrap());
            let bits = codings.map(|y| {
                let (first, second) = Bernoulli.derivatives(y, u);
                (first.to_bits(), second.to_bits())
            });
            assert!(bits[0] == bits[1] && bits[1] == bits[2]);
            assert_eq!(one.derivatives(label, u), Bernoulli.derivatives(label, u));
        }
    }
}

#[test]
fn logistic_identities() {
    for k in -300..=300 {
        let u = f64::from(k) * 0.1 + 0.003;
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-13 * b.abs();
        for y in [-1.0, 1.0] {
            let label = Bernoulli.canonical(y).unwrap();
            let (first, second) = Bernoulli.derivatives(label, u);
            // I12: a = 2, b(u) = 2 ln(1+e^u) - u; b' = tanh(u/2), so (y - b')/a loses precision in
            // the tail: compare absolutely.
            assert!(((y - (u / 2.0).tanh()) / 2.0 + first).abs() < 1e-15);
            assert!(close(-first, y / (1.0 + (y * u).exp())));
            assert!(close(second, 1.0 / ((1.0 + u.exp()) * (1.0 + (-u).exp()))));
            assert!(close(Bernoulli.log_density(label, u).exp(), 1.0 / (1.0 + (-y * u).exp())));
            // I13.
            assert!(close(first * first, (-y * u).exp() * second));
            // I14.
            assert!(
                second <= 0.25 && second * (1.0 + 1e-14) >= 1.0 / (2.0 * (1.0 + u.abs().exp()))
            );
            for v in [-7.0f64, -0.2, 0.0, 3.0, 25.0] {
                let there = Bernoulli.derivatives(label, v).1;
                assert!(second * (1.0 + 1e-13) >= (-(u - v).abs()).exp() * there);
            }
            // I22: (x,y) -> (-x,-y) turns u into -u: same curvature, opposite slope, so the same
            // step, bit for bit.
            let (mirrored, curvature) = Bernoulli.derivatives(1.0 - label, -u);
            assert_eq!((mirrored, curvature), (-first, second));
            let step =
                |label: f64, m: f64| Ekf.step(&Bernoulli, &Observation::new(label), m, 2.0, 1);
            assert_eq!(step(label, u).gain, -step(1.0 - label, -u).gain);
        }
    }
}

#[test]
fn parameters_are_validated_by_constructor_name_and_file() {
    let name = |error: Error| match error {
        Error::Parameter { name, .. } | Error::Choice { name, .. } => name,
        other => panic!("{other}"),
    };
    assert_eq!(name(Binomial::new(0).unwrap_err()), "trials");
    assert_eq!(name(Gamma::new(0.0).unwrap_err()), "dispersion");
    assert_eq!(name(Gamma::new(f64::NAN).unwrap_err()), "dispersion");
    assert_eq!(name(Gaussian::new(-1.0).unwrap_err()), "noise");
    for (text, wrong) in [
        ("gauss", "family"),
        ("binomial:2.5", "trials"),
        ("binomial:-3", "trials"),
        ("gamma:-1", "dispersion"),
        ("gamma:x", "family parameter"),
        ("negative-binomial:0", "dispersion"),
        ("quantile:1", "tau"),
        ("student:2", "degrees of freedom"),
        ("poisson:2", "family parameter"),
    ] {
        assert_eq!(name(text.parse::<AnyFamily>().unwrap_err()), wrong, "{text}");
    }
    assert_eq!("Logistic".parse::<AnyFamily>().unwrap(), Bernoulli.into());
    assert_eq!("gaussian:0.5".parse::<AnyFamily>().unwrap(), Gaussian::new(0.5).unwrap().into());
    assert_eq!("binomial".parse::<AnyFamily>().unwrap(), Binomial::proportion().into());
    for (family, _) in all_cases() {
        let text = serde_json::to_string(&family).unwrap();
        assert!(text.contains(&format!("\"kind\":\"{}\"", family.name())), "{text}");
        assert_eq!(serde_json::from_str::<AnyFamily>(&text).unwrap(), family);
    }
    for text in [
        r#"{"kind":"binomial","trials":0}"#,
        r#"{"kind":"gamma","dispersion":-1}"#,
        r#"{"kind":"gaussian","noise":0}"#,
        r#"{"kind":"negative-binomial","dispersion":-1}"#,
        r#"{"kind":"quantile","tau":0.5,"scale":0}"#,
        r#"{"kind":"student","dof":1,"scale":1}"#,
    ] {
        assert!(serde_json::from_str::<AnyFamily>(text).is_err(), "{text}");
    }
}

#[test]
fn dispersions_out_of_range_are_refused() {
    for family in ["gaussian", "gamma"] {
        let family: AnyFamily = family.parse().unwrap();
        for value in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
            let error = family.with_dispersion(value).unwrap_err();
            assert!(matches!(error, Error::Parameter { .. }), "{family:?} {value}: {error}");
        }
        assert_eq!(family.with_dispersion(0.5).unwrap().dispersion(), Some(0.5));
    }
    assert_eq!(AnyFamily::from(Poisson).with_dispersion(-1.0).unwrap().dispersion(), None);
}

/// A count `c` of exposure `e` is a count with the offset `ln e`, or a rate `c/e` of weight `e`:
/// the losses differ by a constant, so rules without a bound on the curvature take the same step.
#[test]
fn a_rate_weighted_by_its_exposure_steps_as_its_count() {
    for name in ["ekf", "implicit", "moment"] {
        let rule: AnyRule = name.parse().unwrap();
        for (count, exposure) in [(0.0, 0.3), (1.0, 0.3), (3.0, 7.1), (250.0, 0.01), (4.0, 900.0)] {
            for (m, s) in [(-1.0, 0.2), (0.4, 0.01), (0.1, 3.0)] {
                let y = Poisson.canonical(count / exposure).unwrap();
                let rate = Observation { y, weight: exposure, offset: 0.0 };
                let counted = Observation { y: count, weight: 1.0, offset: exposure.ln() };
                let [a, b] = [rate, counted].map(|row| rule.step(&Poisson, &row, m, s, 9));
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-8 * b.abs().max(1e-6);
                let same = close(a.gain, b.gain) && close(a.curvature, b.curvature);
                assert!(same, "{name}, {count} of {exposure}, m {m}, s {s}: {a:?} {b:?}");
            }
        }
    }
}
