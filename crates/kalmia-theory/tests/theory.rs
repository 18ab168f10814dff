//! The closed forms of `kalmia_theory`: against 60-digit reference values, against independent
//! computations, and on bad input.
//!
//! `data/bounds_cases.json` holds the reference values: the paper's formulas evaluated at 60
//! digits, independently of this crate (`out` as printed in the paper, `out_corrected` with its
//! errata). `data/closed_forms.py` writes many of them, from the text of the paper.

use std::collections::BTreeMap;

use kalmia::Error;
use kalmia_theory::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    functions: BTreeMap<String, Function>,
}

#[derive(Deserialize)]
struct Function {
    holds_with_probability: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(rename = "in")]
    inputs: Inputs,
    out: Outputs,
    #[serde(default)]
    out_corrected: Option<Outputs>,
    rtol: BTreeMap<String, f64>,
}

fn reference() -> File {
    serde_json::from_str(include_str!("data/bounds_cases.json"))
        .expect("the reference file is well formed")
}

/// The inputs of a function's first case.
fn sample(file: &File, name: &str) -> Inputs {
    file.functions[name].cases[0].inputs.clone()
}

fn close(a: f64, b: f64, rtol: f64) -> bool {
    (a - b).abs() <= rtol * a.abs().max(b.abs())
}

fn compare(place: &str, found: &Outputs, expected: &Outputs, rtol: &BTreeMap<String, f64>) {
    let keys = |o: &Outputs| o.iter().map(|(k, _)| k.to_owned()).collect::<Vec<_>>();
    assert_eq!(keys(found), keys(expected), "{place}");
    for ((key, a), (_, b)) in found.iter().zip(expected.iter()) {
        let same = match (a, b) {
            (Value::Number(a), Value::Number(b)) => {
                rtol.get(key).map_or((a - b).abs() <= 1e-13, |&r| close(*a, *b, r))
            }
            _ => a == b,
        };
        assert!(same, "{place}: {key} is {a}, expected {b}");
    }
}

#[test]
fn every_case_of_the_reference_file() {
    let file = reference();
    for (name, function) in &file.functions {
        let entry = find(name).expect("every function of the file is in the registry");
        assert_eq!(entry.holds, function.holds_with_probability, "{name}");
        for case in &function.cases {
            let place = format!("{name} / {}", case.name);
            compare(&place, &entry.evaluate(&case.inputs).expect(&place), &case.out, &case.rtol);
            let corrected = entry.evaluate_corrected(&case.inputs).expect(&place);
            assert_eq!(corrected.is_some(), case.out_corrected.is_some(), "{place}");
            if let (Some(found), Some(expected)) = (&corrected, &case.out_corrected) {
                compare(&format!("{place}, corrected"), found, expected, &case.rtol);
            }
        }
    }
    for entry in registry() {
        assert!(
            file.functions.contains_key(entry.name),
            "{} is not in the reference file",
            entry.name
        );
    }
}

#[test]
fn entries_describe_themselves() {
    for entry in registry() {
        assert!(!entry.summary.is_empty() && !entry.label.is_empty(), "{}", entry.name);
        for parameter in entry.parameters {
            assert!(parameter.description().ends_with('.'), "{}: {}", entry.name, parameter.name);
        }
    }
}

#[test]
fn bad_parameters_are_named() {
    let file = reference();
    let always = [f64::NAN, f64::INFINITY];
    for entry in registry() {
        for parameter in entry.parameters {
            let bad: &[f64] = match (parameter.name, entry.name) {
                ("beta", "concentration_tropp") => &[-0.1, 1.0],
                ("beta", _) => &[0.0, 0.5, -0.2, 0.7],
                ("delta", _) => &[0.0, 1.0, -0.1, 1.5],
                ("rho", _) => &[0.0, 1.1],
                ("d" | "n" | "m" | "N" | "k", _) => &[0.0, -1.0],
                ("t" | "condP1", _) => &[0.0, -3.0],
                ("D_eta", "bound_f") => &[0.0, -1.0],
                ("outside", _) => &[-0.1, 1.0],
                (
                    "sigma" | "Dapp" | "nstar" | "dist1" | "L1gap" | "D_eta" | "ln_t" | "tau"
                    | "quad" | "sumQ",
                    _,
                ) => &[-1.0],
                ("variant" | "ln_tau", _) => &[],
                _ => &[0.0, -1.0],
            };
            for &x in bad.iter().chain(&always) {
                let text = format!("{x}");
                let inputs = sample(&file, entry.name).with(parameter.name, text);
                match entry
                    .evaluate(&inputs)
                    .expect_err(&format!("{}: {} = {x}", entry.name, parameter.name))
                {
                    RegistryError::Bound(Error::Parameter { name, value, .. }) => {
                        assert!(
                            name == parameter.name && (value == x || x.is_nan()),
                            "{name} {value}"
                        );
                    }
                    // Not a whole number, or not a variant.
                    RegistryError::Type { name, .. } => {
                        assert!(name == parameter.name && (parameter.kind != Kind::Real), "{name}");
                    }
                    other => panic!("{other}"),
                }
            }
        }
    }
}

#[test]
fn unknown_missing_and_mistyped_parameters_are_named() {
    let file = reference();
    for entry in registry() {
        let inputs = sample(&file, entry.name);
        for parameter in entry.parameters {
            let without: Inputs = inputs
                .iter()
                .filter(|(k, _)| *k != parameter.name)
                .map(|(k, v)| (k.to_owned(), v.clone()))
                .collect();
            match (entry.evaluate(&without), parameter.default) {
                (Ok(_), Some(_)) => {}
                (Err(RegistryError::MissingParameters { names, .. }), None) => {
                    assert_eq!(names, [parameter.name])
                }
                (other, _) => panic!("{} without {}: {other:?}", entry.name, parameter.name),
            }
            let worded = inputs.clone().with(parameter.name, "many");
            let Err(RegistryError::Type { name, .. }) = entry.evaluate(&worded) else {
                panic!("{} takes a word for {}", entry.name, parameter.name);
            };
            assert_eq!(name, parameter.name);
        }
    }
    for entry in registry() {
        let needed: Vec<_> =
            entry.parameters.iter().filter(|p| p.default.is_none()).map(|p| p.name).collect();
        let Err(RegistryError::MissingParameters { names, .. }) = entry.evaluate(&Inputs::new())
        else {
            panic!("{} needs no parameter", entry.name);
        };
        assert_eq!(names, needed, "{}", entry.name);
    }
    let message = |function: &str, name: &'static str| {
        find(function)
            .unwrap()
            .evaluate(&sample(&file, function).with(name, 1.0))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(message("boundP", "lmin"), "`boundP` has no parameter `lmin`; did you mean `Lmin`?");
    assert!(message("ons_constants", "alhpa").contains("`alpha`"));
    assert!(message("result_linear", "d_x").contains("`D_X`"));
    assert!(find("localised_linear").unwrap_err().to_string().contains("`localized_linear`"));
    let fractional = sample(&file, "sumtrace").with("n", 2.5);
    assert!(
        find("sumtrace")
            .unwrap()
            .evaluate(&fractional)
            .unwrap_err()
            .to_string()
            .contains("whole number")
    );
}

#[test]
fn relations_between_parameters_are_checked() {
    let file = reference();
    let error = |function: &str, key: &'static str, x: f64| {
        find(function)
            .unwrap()
            .evaluate(&sample(&file, function).with(key, x))
            .unwrap_err()
            .to_string()
    };
    assert!(error("descent_f", "k", 50.0).contains("less than t"));
    for entry in registry()
        .iter()
        .filter(|e| ["Lmin", "D_X"].iter().all(|p| e.parameters.iter().any(|q| q.name == *p)))
    {
        assert!(error(entry.name, "Lmin", 11.1).contains("D_X^2"), "{}", entry.name);
    }
}

#[test]
fn text_is_read_as_numbers_and_overflow_is_null() {
    let entry = find("logistic_constants").unwrap();
    let out = entry
        .evaluate(&[("D_X", "1e3"), ("nstar", "1"), ("eps", "0.5")].into_iter().collect())
        .unwrap();
    assert_eq!(out.get("ln_kappa"), Some(&Value::Number(1500.0)));
    assert_eq!(out.get("kappa"), Some(&Value::Null));
    assert_eq!(serde_json::to_string(&out).unwrap().matches("null").count(), 1);
    // tau = 0 is given by its logarithm, and so is what it multiplies.
    let file = reference();
    let logistic = find("result_logistic").unwrap();
    let out = logistic.evaluate(&sample(&file, "result_logistic").with("ln_tau", "-inf")).unwrap();
    assert_eq!(out.get("ln_tau_term"), Some(&Value::from("-inf")));
    assert_eq!(out.get("ln_total"), out.get("ln_local"));
}

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

fn p_bound(t: f64, lambda_min: f64, beta: f64) -> f64 {
    BoundP { d: 5, d_x: 2.0, lambda_min, delta: 0.5, beta, t }.evaluate().unwrap().bound
}

#[test]
fn theorem_12_agrees_with_plain_arithmetic() {
    let d_x = 0.9f64;
    let lambda_min = 0.8f64;
    let norm_star = 0.1;
    let eps = 0.9f64;
    let beta = 0.12;
    let c = 0.05f64;
    let k1 = 1.0 + (d_x * (norm_star + eps)).exp();
    let rest = 1.0 - 2.0 * beta;
    let c1 =
        lambda_min.powi(6) * rest * eps.powi(4) / (65536.0 * d_x.powi(12) * c * c * k1.powi(6));
    let c2 = lambda_min.powi(2) * rest * eps.powi(4) / (2048.0 * d_x.powi(4) * c * c * k1 * k1);
    for t in [1.0f64, 2.0, 50.0, 1e4, 1e8, 1e11] {
        let out = ConvergenceProb { ln_t: t.ln(), d_x, lambda_min, norm_star, eps, beta, c }
            .evaluate()
            .unwrap();
        let term1 = (t.sqrt() + 1.0) * (-c1 * t.ln().powi(2)).exp();
        let ln_term2 = t.ln() - c2 * (t.sqrt() - 1.0).powf(rest);
        assert!(close(out.ln_term1.exp(), term1, 1e-11), "t={t}");
        assert!((out.ln_term2 - ln_term2).abs() <= 1e-10 * (1.0 + ln_term2.abs()), "t={t}");
        assert!(close(out.ln_bound.exp(), term1 + ln_term2.exp(), 1e-9), "t={t}");
        assert_eq!(out.ln_minus_ln_term2.is_some(), ln_term2 < 0.0, "t={t}");
        assert!(out.ln_minus_ln_term2.is_none_or(|x| close(-x.exp(), ln_term2, 1e-9)), "t={t}");
    }
}

#[test]
fn corollary_13_follows_from_theorem_12() {
    let base = CoroConvergenceTau {
        d: 3,
        d_x: 1.3,
        lambda_min: 0.4,
        norm_star: 0.7,
        eps: 0.5,
        delta: 0.02,
        beta: 0.2,
        lmax_p1: 2.0,
        variant: Variant::Paper,
    };
    for beta in [0.05, 0.2, 0.31, 0.33, 0.49] {
        let tau = CoroConvergenceTau { beta, ..base }.evaluate().unwrap();
        let CoroConvergenceTau { d_x, lambda_min, norm_star, eps, .. } = base;
        let prob = ConvergenceProb {
            ln_t: 1.0,
            d_x,
            lambda_min,
            norm_star,
            eps,
            beta,
            c: tau.c_half_delta,
        };
        let ln_c1 = prob.evaluate().unwrap().ln_c1;
        let rest = 1.0 - 2.0 * beta;
        assert!(close(tau.ln_ln_tau_b, 1.5f64.ln() - ln_c1 - 0.5 * rest.ln(), 1e-12));
        // From tau_a on the truncation is below the least curvature of the local region.
        let kappa = LogisticConstants { d_x, norm_star, eps }.evaluate().unwrap().kappa;
        assert!(close((-beta * tau.ln_tau_a).exp(), 0.5 / (1.0 + kappa), 1e-12));
        // Corrected, the step of the proof that needs ln tau >= 5/(2 C_1) is covered.
        let corrected =
            CoroConvergenceTau { beta, variant: Variant::Corrected, ..base }.evaluate().unwrap();
        assert!(corrected.ln_ln_tau_b >= 2.5f64.ln() - ln_c1 - 1e-9);
        assert_eq!(corrected == tau, beta > 0.32);
        let threshold =
            ConvergenceThreshold { d_x, lambda_min, norm_star, eps, beta, c: tau.c_half_delta };
        assert!(threshold.evaluate().unwrap().ln_ln_t_min <= tau.ln_ln_tau_b && tau.applies);
    }
    assert!(!CoroConvergenceTau { eps: 0.8, ..base }.evaluate().unwrap().applies);
}

#[test]
fn theorem_10_agrees_with_plain_arithmetic_and_contains_theorem_1() {
    let bound = ResultLogistic {
        d: 3,
        n: 500,
        delta: 0.01,
        d_x: 1.5,
        norm_star: 0.9,
        dist1: 1.1,
        lmax_p1: 2.0,
        lmax_p1_inv: 0.5,
        ln_tau: 40f64.ln(),
        beta: 0.49,
        variant: Variant::Paper,
    };
    let out = bound.evaluate().unwrap();
    let tau = 40.0;
    let scale = (1.5f64 * 0.9).exp();
    let local = 9.0 * scale * (500.0f64 * 2.0 * 2.25 / 12.0).ln_1p()
        + 0.5 / (75.0 * 2.25)
        + 64.0 * scale * (1.0f64 / 0.01).ln();
    let total = local + tau * (1.0 / 300.0 + 1.5 * 1.1) + tau * tau * 2.25;
    assert!(close(out.ln_local.exp(), local, 1e-12) && close(out.ln_total.exp(), total, 1e-12));
    let constants =
        LogisticConstants { d_x: 1.5, norm_star: 0.9, eps: out.eps }.evaluate().unwrap();
    let theorem1 = LocalizedBounded {
        d: 3,
        n: 500,
        eps: out.eps,
        delta: 0.01,
        kappa: constants.kappa,
        h: constants.h,
        rho: constants.rho,
        d_x: 1.5,
        lmax_p1: 2.0,
        lmax_p_inv: 0.5,
    };
    let theorem1 = theorem1.evaluate().unwrap();
    assert!(theorem1.applies && theorem1.total <= local);
    let extra = TruncationExcess { beta: 0.49, tau }.evaluate().unwrap().extra_bound;
    let corrected = ResultLogistic { variant: Variant::Corrected, ..bound }.evaluate().unwrap();
    assert!(close(corrected.ln_total.exp(), total + extra, 1e-12));
    assert!(close(corrected.ln_excess_term.exp(), extra, 1e-12));
    assert_eq!(out.ln_excess_term, f64::NEG_INFINITY);
}

const LINEAR: ResultLinear = ResultLinear {
    d: 4,
    n: 1000,
    eps: 0.2,
    delta: 0.01,
    sigma: 0.7,
    d_app: 0.1,
    d_x: 1.8,
    lmax_p1: 3.0,
    lmax_p1_inv: 0.5,
    dist1: 1.4,
    tau: 25.0,
    cond_p1: 1.0,
    variant: Variant::Corrected,
};

#[test]
fn theorem_14_sums_lemma_22_and_theorem_2() {
    let ResultLinear {
        d,
        n,
        eps,
        delta,
        sigma,
        d_app,
        d_x,
        lmax_p1,
        lmax_p1_inv,
        dist1,
        tau,
        cond_p1,
        variant,
    } = LINEAR;
    let out = LINEAR.evaluate().unwrap();
    // The first tau risks by Lemma 22, the others by Theorem 2 with the matrix grown by tau rows.
    let first: f64 = (1..=tau as u64)
        .map(|t| {
            QuadraticFirst { t, delta, sigma, d_app, d_x, lmax_p1, dist1, cond_p1 }
                .evaluate()
                .unwrap()
                .bound
        })
        .map(|distance| (d_x * distance).powi(2))
        .sum();
    let grown = lmax_p1_inv + tau * d_x * d_x;
    let local = LocalizedLinear {
        d,
        n,
        eps,
        delta,
        sigma,
        d_app,
        d_x,
        lmax_p1,
        lmax_p_inv: grown,
        variant,
    };
    let local = local.evaluate().unwrap();
    assert!(first + local.total <= out.total);
    assert!(close(out.init_term + 5.0 * eps * eps * tau * d_x * d_x, local.init_term, 1e-13));
    // Without a convergence phase it is Theorem 2.
    let at_zero = ResultLinear { tau: 0.0, ..LINEAR }.evaluate().unwrap();
    let theorem2 = LocalizedLinear {
        d,
        n,
        eps,
        delta,
        sigma,
        d_app,
        d_x,
        lmax_p1,
        lmax_p_inv: lmax_p1_inv,
        variant,
    };
    assert_eq!(at_zero.total, theorem2.evaluate().unwrap().total);
    // The variants differ by their constants alone.
    let printed = ResultLinear { variant: Variant::Paper, ..LINEAR }.evaluate().unwrap();
    assert!(close(printed.dev_term * 140.0, out.dev_term * 115.0, 1e-14));
    let unit =
        |variant| ResultLinear { dist1: 1.0, variant, ..LINEAR }.evaluate().unwrap().tau_term;
    assert_eq!(unit(Variant::Paper), unit(Variant::Corrected));
}

#[test]
fn lemma_22_needs_the_condition_number() {
    // P_1 = diag(1, 100), x = (1, 1) again and again, no noise, theta_1 - theta* = (1, 0): the
    // printed bound is 1.
    let a = 1.0;
    let c = 100.0;
    let bound = QuadraticFirst {
        t: 1001,
        delta: 0.1,
        sigma: 0.0,
        d_app: 0.0,
        d_x: 2f64.sqrt(),
        lmax_p1: 100.0,
        dist1: 1.0,
        cond_p1: c / a,
    };
    // theta_t - theta* = P_t P_1^{-1} (1, 0), with P_t = P_1 - k P_1 x x' P_1.
    let n = 1000.0;
    let shrink = n / (1.0 + n * (a + c));
    let distance = f64::hypot(1.0 - shrink * a, shrink * c);
    assert!(distance > 1.4 && distance <= bound.evaluate().unwrap().bound);
    assert!(distance > QuadraticFirst { cond_p1: 1.0, ..bound }.evaluate().unwrap().bound);
}

#[test]
fn corollary_24_delivers_what_it_promises() {
    let base = TauDeltaLinear {
        d: 4,
        eps: 0.1,
        delta: 0.05,
        sigma: 0.8,
        d_app: 0.2,
        d_x: 1.7,
        lambda_min: 0.4,
        dist1: 0.6,
        norm_star: 2.0,
        p1: 5.0,
        variant: Variant::Corrected,
    };
    for eps in [0.01, 0.1, 1.0] {
        let out = TauDeltaLinear { eps, ..base }.evaluate().unwrap();
        assert!(out.applies);
        let TauDeltaLinear {
            d,
            delta,
            sigma,
            d_app,
            d_x,
            lambda_min,
            dist1,
            norm_star,
            p1,
            variant,
            ..
        } = base;
        assert!(out.tau.fract() == 0.0 && out.tau >= out.tau1.max(out.tau2).max(out.tau3));
        for t in [out.tau, 3.0 * out.tau, 1e3 * out.tau] {
            // The union bound of the proof takes Lemma 23 at delta / t^2.
            let delta = delta / (t * t);
            let t = t as u64;
            let lemma = ResultHsu {
                d,
                t,
                delta,
                sigma,
                d_app,
                d_x,
                lambda_min,
                dist1,
                norm_star,
                p1,
                variant,
            };
            let lemma = lemma.evaluate().unwrap();
            assert!(lemma.applies && lemma.delta_is_small && lemma.t_is_large);
            assert!((lemma.bound / lambda_min).sqrt() <= eps, "eps={eps} t={t}");
        }
    }
    // Nothing to learn, nothing to wait for but the design.
    let still = TauDeltaLinear { sigma: 0.0, d_app: 0.0, dist1: 0.0, norm_star: 0.0, ..base }
        .evaluate()
        .unwrap();
    assert_eq!((still.tau2, still.tau3, still.tau), (0.0, 0.0, still.tau1.ceil()));
}

#[test]
fn bounds_move_the_right_way() {
    let file = reference();
    let total = |function: &str, key: &'static str, x: f64, out: &str| {
        let outputs =
            find(function).unwrap().evaluate(&sample(&file, function).with(key, x)).unwrap();
        outputs.get(out).unwrap().as_number().unwrap()
    };
    // (function, output, parameter, values along which the output grows)
    let growing: &[(&str, &str, &'static str, [f64; 3])] = &[
        ("localized_bounded", "total", "n", [1.0, 10.0, 1e6]),
        ("localized_bounded", "total", "delta", [0.5, 0.01, 1e-9]),
        ("localized_linear", "total", "sigma", [0.0, 0.5, 2.0]),
        ("localized_linear", "total", "eps", [0.01, 0.1, 1.0]),
        ("refinement_mahdavi", "total", "alpha", [1e-1, 1e-5, 1e-30]),
        ("sumtrace", "bound", "d", [1.0, 5.0, 500.0]),
        ("sumtrace_linear", "bound", "lmaxPk1", [1e-3, 1.0, 1e5]),
        ("boundP", "ln_T", "beta", [0.01, 0.2, 0.49]),
        ("C_delta", "C", "Lmin", [1.0, 0.1, 1e-3]),
        ("coro_convergence_tau", "ln_tau", "eps", [0.1, 0.01, 0.001]),
        ("convergence_threshold", "ln_ln_t_min", "nstar", [0.0, 1.0, 1e3]),
        ("result_linear", "total", "tau", [0.0, 1.0, 1e6]),
        ("quadratic_first", "bound", "t", [1.0, 2.0, 1e9]),
        ("tau_delta_linear", "tau", "eps", [1.0, 0.1, 1e-4]),
        ("resultHsu", "bound", "t", [1e9, 1e6, 10.0]),
    ];
    for (function, out, key, [a, b, c]) in growing {
        let at = |x: f64| total(function, key, x, out);
        assert!(at(*a) < at(*b) && at(*b) < at(*c), "{function}: {out} along {key}");
    }
}
