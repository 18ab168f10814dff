//! Bad, missing and mistyped parameters.

use super::reference::{reference, sample};
use kalmia::Error;
use kalmia_theory::*;

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
