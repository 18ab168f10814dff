//! The reference file, and every entry of the registry against it.

use kalmia_theory::*;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
pub struct File {
    pub functions: BTreeMap<String, Function>,
}

#[derive(Deserialize)]
pub struct Function {
    pub holds_with_probability: String,
    pub cases: Vec<Case>,
}

#[derive(Deserialize)]
pub struct Case {
    pub name: String,
    #[serde(rename = "in")]
    pub inputs: Inputs,
    pub out: Outputs,
    #[serde(default)]
    pub out_corrected: Option<Outputs>,
    pub rtol: BTreeMap<String, f64>,
}

pub fn reference() -> File {
    serde_json::from_str(include_str!("../data/bounds_cases.json"))
        .expect("the reference file is well formed")
}

/// The inputs of a function's first case.
pub fn sample(file: &File, name: &str) -> Inputs {
    file.functions[name].cases[0].inputs.clone()
}

pub fn close(a: f64, b: f64, rtol: f64) -> bool {
    (a - b).abs() <= rtol * a.abs().max(b.abs())
}

pub fn compare(place: &str, found: &Outputs, expected: &Outputs, rtol: &BTreeMap<String, f64>) {
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
