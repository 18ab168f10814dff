//! The implicit and moment-matching rules against integrals at 75 significant digits, and against
//! identities that hold for any numbers.

use crate::losses;

use kalmia::family::{Bernoulli, Gaussian, Poisson};
use kalmia::rows::Observation;
use kalmia::rule::Step;
use kalmia::rule::{Ekf, Evidence, Implicit, MomentMatch, Moments, moments};
use kalmia::{Family, Rule};
use losses::{ABSOLUTE, GAMMA, HUBER, POISSON, SQUARE};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(serde::Deserialize, Debug)]
struct Case {
    family: String,
    y: f64,
    weight: f64,
    m: f64,
    s: f64,
    ln_z: f64,
    g: f64,
    c: f64,
}

/// Written by `data/moment_cases.py`.
fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("../data/moment_cases.json"))
        .expect("the file is a list of cases")
}

fn moments_of(family: &str, row: &Observation, m: f64, s: f64) -> Moments {
    match family {
        "bernoulli" => moments(&Bernoulli, row, m, s),
        "poisson" => moments(&POISSON, row, m, s),
        "gamma" => moments(&GAMMA, row, m, s),
        other => panic!("no family {other}"),
    }
}

fn relative(a: f64, b: f64) -> f64 {
    (a - b).abs() / b.abs().max(f64::MIN_POSITIVE)
}

#[test]
fn moments_agree_with_high_precision_integrals() {
    let cases = cases();
    assert!(cases.len() >= 400, "{} cases", cases.len());
    let mut failures = Vec::new();
    for case in &cases {
        // Half of m given as the offset must change nothing.
        let row = Observation { y: case.y, weight: case.weight, offset: 0.5 * case.m };
        let found = moments_of(&case.family, &row, 0.5 * case.m, case.s);
        let tolerance = if case.s <= 100.0 { 1e-9 } else { 1e-6 };
        let errors = [
            relative(found.step.gain, case.g),
            relative(found.step.contraction, case.c),
            (found.evidence.ln() - case.ln_z).abs() / case.ln_z.abs().max(1.0),
        ];
        if !errors.iter().all(|e| *e <= tolerance) {
            failures.push(format!("{case:?}: errors of g, c, ln Z {errors:?}"));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

/// The fixed rules for a label or a count of 0 that a wide belief expects, by the families of the
/// crate: closer to the reference than the bound above, on both sides of their borders.
#[test]
fn certain_observations_agree_with_high_precision_integrals() {
    let mut checked = 0;
    for case in cases().iter().filter(|case| case.s > 5.0 && case.s <= 4e3) {
        let row = Observation { y: case.y, weight: case.weight, offset: 0.0 };
        let found = match case.family.as_str() {
            "bernoulli" if case.weight == 1.0 => moments(&Bernoulli, &row, case.m, case.s),
            "poisson" if case.y == 0.0 => moments(&Poisson, &row, case.m, case.s),
            _ => continue,
        };
        let expected =
            if case.family == "poisson" { -case.m } else { case.m * (2.0 * case.y - 1.0) };
        if expected < -3.0 * case.s.sqrt() {
            continue;
        }
        checked += 1;
        let errors = [
            relative(found.step.gain, case.g),
            relative(found.step.contraction, case.c),
            relative(found.step.curvature, case.c / (1.0 - case.c * case.s)),
            // the integral, beyond the borders, rounds ln Z as a number near 1
            (found.evidence.ln() - case.ln_z).abs() / (case.ln_z.abs() + 1e-3),
        ];
        // an unexpected label cancels
        let tolerance = if expected >= 0.0 { 1e-10 } else { 1e-9 };
        assert!(errors.iter().all(|e| *e <= tolerance), "{case:?} {found:?} {errors:?}");
    }
    assert!(checked >= 250, "{checked}");
}

fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// Log-uniform in $10^{from}..10^{to}$.
fn magnitude(rng: &mut impl rand::Rng, from: f64, to: f64) -> f64 {
    10f64.powf(rng.random_range(from..to))
}

#[test]
fn gaussian_rules_coincide() {
    let mut rng = random(1);
    for _ in 0..2000 {
        let noise = magnitude(&mut rng, -3.0, 3.0);
        let family = Gaussian::new(noise).unwrap();
        let row = Observation {
            y: rng.random_range(-9.0..9.0),
            weight: rng.random_range(0.0..5.0),
            offset: rng.random_range(-3.0..3.0),
        };
        let m = rng.random_range(-9.0..9.0);
        let s = magnitude(&mut rng, -6.0, 6.0);
        let reference = Ekf.step(&family, &row, m, s, 1);
        for step in
            [Implicit.step(&family, &row, m, s, 1), MomentMatch.step(&family, &row, m, s, 1)]
        {
            assert!(relative(step.gain, reference.gain) < 1e-12, "{step:?} {reference:?}");
            assert!(
                relative(step.curvature, reference.curvature) < 1e-12,
                "{step:?} {reference:?}"
            );
        }
    }
}

#[test]
fn quadrature_finds_the_gaussian_closed_form() {
    let mut rng = random(2);
    for _ in 0..2000 {
        let row = Observation {
            y: rng.random_range(-9.0..9.0),
            weight: magnitude(&mut rng, -3.0, 3.0),
            offset: 0.7,
        };
        let m = rng.random_range(-9.0..9.0);
        let s = magnitude(&mut rng, -6.0, 6.0);
        let found = moments(&SQUARE, &row, m, s);
        let exact = moments(&Gaussian::default(), &row, m, s);
        assert!(
            relative(found.step.gain, exact.step.gain) < 1e-10,
            "{row:?} m {m} s {s}: {found:?} {exact:?}"
        );
        assert!(
            relative(found.step.curvature, exact.step.curvature) < 1e-10,
            "{row:?} m {m} s {s}: {found:?} {exact:?}"
        );
        assert!(
            (found.evidence.ln() - exact.evidence.ln()).abs()
                < 1e-10 * exact.evidence.ln().abs().max(1.0),
            "{found:?} {exact:?}"
        );
    }
}

/// The fixed-point equation, and $m^+$ between $m$ and the minimizer of the loss: $\ell'(m^+)$
/// keeps the sign of $\ell'(m)$.
fn check_implicit<F: Family>(family: &F, row: &Observation, m: f64, s: f64) {
    let step = Implicit.step(family, row, m, s, 1);
    let next = m + s * step.gain;
    let (before, _) = row.derivatives(family, m);
    let (after, second) = row.derivatives(family, next);
    let rounding = 1e-14 * second * (m.abs() + next.abs() + row.offset.abs());
    assert!(
        (after + step.gain).abs() <= 1e-13 * after.abs() + rounding,
        "{} {row:?} m {m} s {s}: {step:?} against {after}",
        family.name()
    );
    assert!(
        after * before.signum() >= -rounding && after.abs() <= before.abs() + rounding,
        "{row:?} m {m} s {s}: overshoot"
    );
    assert!(
        relative(step.curvature, second) <= 1e-10 || (second - step.curvature).abs() <= rounding,
        "{row:?} m {m} s {s}"
    );
}

#[test]
fn implicit_solves_its_equation_over_huge_ranges() {
    let mut rng = random(3);
    for _ in 0..20_000 {
        let reach = magnitude(&mut rng, -1.0, 2.5);
        let m = rng.random_range(-reach..reach);
        let s = magnitude(&mut rng, -8.0, 12.0);
        let weight = magnitude(&mut rng, -3.0, 3.0);
        let row = |y: f64| Observation { y, weight, offset: 0.25 };
        check_implicit(&Bernoulli, &row(f64::from(rng.random::<bool>())), m, s);
        check_implicit(&POISSON, &row(rng.random_range(0..1000) as f64), m, s);
        check_implicit(&GAMMA, &row(magnitude(&mut rng, -3.0, 3.0)), m, s);
        check_implicit(&SQUARE, &row(rng.random_range(-50.0..50.0)), m, s);
        check_implicit(&HUBER, &row(rng.random_range(-50.0..50.0)), m, s);
    }
}

#[test]
fn implicit_stops_at_a_kink() {
    // The proximal point of |u - y| is y itself once s >= |m - y|, else a unit pull.
    for (m, s) in [(3.0, 5.0), (-2.0, 1e9), (4.0, 0.5), (-7.5, 7.0)] {
        let step = Implicit.step(&ABSOLUTE, &Observation::new(1.0), m, s, 1);
        let expected = (1.0 - m).clamp(-s, s) / s;
        assert!((step.gain - expected).abs() <= 1e-12 * expected.abs(), "{m} {s}: {step:?}");
    }
}

fn check_finite<F: Family>(family: &F, row: &Observation, m: f64, s: f64) {
    let tilted = moments(family, row, m, s);
    let context = || format!("{} {row:?} m {m:e} s {s:e}: {tilted:?}", family.name());
    assert!(
        !tilted.evidence.ln().is_nan() && tilted.evidence.ln() < f64::INFINITY,
        "{}",
        context()
    );
    for step in [tilted.step, Implicit.step(family, row, m, s, 1)] {
        assert!(
            step.gain.is_finite() && step.curvature.is_finite() && step.curvature >= 0.0,
            "{step:?} in {}",
            context()
        );
        let contraction = step.contraction * s;
        assert!(
            (0.0..=1.0 + f64::EPSILON).contains(&contraction) && (m + s * step.gain).is_finite(),
            "{step:?} in {}",
            context()
        );
    }
    assert_eq!(tilted.step, MomentMatch.step(family, row, m, s, 1), "{}", context());
}

#[test]
fn no_numbers_lead_to_nan() {
    let mut rng = random(4);
    for i in 0..6000 {
        let reach = magnitude(&mut rng, -2.0, 4.0);
        let m = rng.random_range(-reach..reach);
        let s = if i % 50 == 0 { 0.0 } else { magnitude(&mut rng, -12.0, 12.0) };
        let weight = if i % 40 == 0 { 0.0 } else { magnitude(&mut rng, -6.0, 3.0) };
        let row = |y: f64| Observation { y, weight, offset: 0.0 };
        check_finite(&Bernoulli, &row(f64::from(rng.random::<bool>())), m, s);
        check_finite(&POISSON, &row([0.0, 1.0, 50.0, 1000.0][i % 4]), m, s);
        check_finite(&GAMMA, &row(magnitude(&mut rng, -6.0, 6.0)), m, s);
        check_finite(&HUBER, &row(rng.random_range(-5.0..5.0)), m, s);
        check_finite(&ABSOLUTE, &row(rng.random_range(-5.0..5.0)), m, s);
        check_finite(&SQUARE, &row(rng.random_range(-5.0..5.0)), m, s);
    }
}

/// $(\ln Z)'$ and $(\ln Z)''$ by central differences of fourth order.
fn check_differences<F: Family>(family: &F, row: &Observation, m: f64, s: f64) {
    let here = moments(family, row, m, s);
    let h = 0.02 * s.sqrt();
    let at = |k: f64| moments(family, row, m + k * h, s);
    let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(at);
    let difference =
        |f: fn(&Moments) -> f64| (8.0 * (f(&c) - f(&b)) - (f(&d) - f(&a))) / (12.0 * h);
    let g = difference(|x| x.evidence.ln());
    let minus_c = difference(|x| x.step.gain);
    let contraction = here.step.contraction;
    let rounding = 1e-14 * here.evidence.ln().abs().max(1.0) / h;
    assert!(
        (g - here.step.gain).abs() <= 1e-6 * here.step.gain.abs() + rounding,
        "{row:?} m {m} s {s}: {g} {here:?}"
    );
    assert!(
        (minus_c + contraction).abs() <= 1e-6 * (contraction + g.abs() / s.sqrt()),
        "{row:?} m {m} s {s}: {minus_c} {here:?}"
    );
    assert!((0.0..1.0).contains(&(contraction * s)));
}

#[test]
fn step_is_the_derivative_of_the_evidence() {
    let mut rng = random(5);
    for _ in 0..2000 {
        let m = rng.random_range(-8.0..8.0);
        let s = magnitude(&mut rng, -3.0, 4.0);
        let row = |y: f64| Observation { y, weight: 1.3, offset: 0.0 };
        check_differences(&Bernoulli, &row(f64::from(rng.random::<bool>())), m, s);
        check_differences(&POISSON, &row([0.0, 1.0, 5.0, 50.0][rng.random_range(0..4)]), m, s);
        check_differences(&GAMMA, &row(magnitude(&mut rng, -2.0, 2.0)), m, s);
    }
}

/// Means and variances under the tilted belief by brute force: the midpoint rule with $10^6$
/// points.
fn brute_force<F: Family>(family: &F, row: &Observation, m: f64, s: f64) -> (f64, f64) {
    let n = 1_000_000;
    let reach = 12.0 * s.sqrt();
    let mut z = 0.0;
    let mut zx = 0.0;
    let mut zxx = 0.0;
    for i in 0..n {
        let x = reach * ((2 * i + 1) as f64 / n as f64 - 1.0);
        let p = (-0.5 * x * x / s - row.loss(family, m + x)).exp();
        z += p;
        zx += p * x;
        zxx += p * x * x;
    }
    (zx / z, zxx / z - (zx / z) * (zx / z))
}

#[test]
fn kinks_cost_accuracy_only() {
    for (m, s) in [(0.3, 4.0), (-2.0, 30.0), (1.5, 1.0)] {
        for (family, tolerance) in [(HUBER, 1e-6), (ABSOLUTE, 1e-4)] {
            let row = Observation::new(0.4);
            let Step { gain, .. } = moments(&family, &row, m, s).step;
            let contraction = moments(&family, &row, m, s).step.contraction;
            let (shift, variance) = brute_force(&family, &row, m, s);
            assert!(
                (gain * s - shift).abs() <= tolerance * s.sqrt(),
                "{family:?} {m} {s}: {gain} {}",
                shift / s
            );
            assert!(
                (s - contraction * s * s - variance).abs() <= tolerance * s,
                "{family:?} {m} {s}: {contraction} {variance}"
            );
        }
    }
}

#[test]
fn a_known_predictor_or_a_weightless_row_moves_as_it_must() {
    let row = Observation { y: 1.0, weight: 2.0, offset: 0.1 };
    let (first, second) = row.derivatives(&Bernoulli, -0.4);
    let point = moments(&Bernoulli, &row, -0.4, 0.0);
    assert_eq!((point.step.gain, point.step.curvature), (-first, second));
    assert_eq!(point.evidence.ln(), -row.loss(&Bernoulli, -0.4));
    let nothing = Observation { y: 3.0, weight: 0.0, offset: 0.0 };
    assert_eq!(
        moments(&POISSON, &nothing, 900.0, 2.0),
        Moments { evidence: Evidence::Log(0.0), slope: 0.0, step: Step::NONE }
    );
}
