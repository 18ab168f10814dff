//! Methods: defaults, refusals, files.

use super::*;

fn refused(name: &str, given: Parameters) -> String {
    Method::new(name.parse().unwrap(), &given).unwrap_err().to_string()
}

#[test]
fn every_method_has_defaults_builds_and_comes_back_from_json() {
    for name in MethodName::ALL {
        let method: Method = name.name().parse().unwrap();
        assert_eq!(method.name(), name);
        let json = serde_json::to_value(method).unwrap();
        assert_eq!(json["method"], name.name());
        assert_eq!(serde_json::from_value::<Method>(json).unwrap(), method);
        let family: AnyFamily = "poisson".parse().unwrap();
        let learner = method.with_horizon(100).build(family, 3, true).unwrap();
        assert_eq!(learner.method(), name.name());
        // each parameter that is present is one that the method takes
        let has = |p: &Parameter| method.parameters().has(*p);
        assert!(Parameter::ALL.iter().filter(|p| has(p)).all(|p| name.takes().contains(p)));
    }
}

#[test]
fn the_documented_defaults_are_the_defaults() {
    let of = |name: &str| name.parse::<Method>().unwrap().parameters();
    assert_eq!(of("auto").drift, Some(DriftMode::Detect));
    assert_eq!(Method::default(), "auto".parse().unwrap());
    assert_eq!(of("ekf").prior, Some(1.0));
    assert_eq!((of("truncated").scale, of("truncated").beta), (Some(1.0), Some(0.49)));
    assert_eq!((of("ons").radius, of("ons").exp_concavity), (Some(10.0), Some(0.025)));
    assert_eq!((of("ons").gradient_bound, of("ons").lambda), (None, None));
    assert_eq!((of("ons").multiplier, of("ons").diameter), (Some(1.0), false));
    assert!(MethodName::ALL.iter().all(|name| !of(name.name()).averaged));
    assert!("asgd".parse::<Method>().unwrap().needs_horizon());
}

/// The rows of the table in [`Method`]'s documentation.
fn table() -> Vec<Vec<String>> {
    let source = include_str!("../method.rs");
    let rows = source.lines().filter(|line| line.starts_with("/// | `"));
    let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_owned()).collect();
    rows.map(cells).collect()
}

#[test]
fn the_table_of_defaults_lists_every_parameter_with_its_default_and_its_methods() {
    let rows = table();
    assert_eq!(rows.len(), Parameter::ALL.len());
    for (parameter, row) in Parameter::ALL.into_iter().zip(rows) {
        assert_eq!(row[1], format!("`{}`", parameter.name()));
        assert_eq!(row[2], parameter.default_text(), "{}", parameter.name());
        let takes = |name: &MethodName| name.takes().contains(&parameter);
        let names: Vec<_> = MethodName::ALL.into_iter().filter(takes).map(|m| m.name()).collect();
        let methods = if parameter == Parameter::Averaged {
            assert_eq!(names.len(), MethodName::ALL.len() - 2);
            "all but wide and asgd".into()
        } else {
            names.join(", ")
        };
        assert_eq!(row[3], methods, "{}", parameter.name());
    }
}

#[test]
fn texts_of_defaults_are_the_values() {
    let of = |name: &str| name.parse::<Method>().unwrap().parameters();
    let same = |parameter: Parameter, value: Option<f64>| {
        assert_eq!(parameter.default_text().parse(), Ok(value.unwrap()), "{}", parameter.name());
    };
    assert_eq!(Parameter::Drift.default_text(), of("auto").drift.unwrap().name());
    same(Parameter::Prior, of("implicit").prior);
    same(Parameter::Scale, of("truncated").scale);
    same(Parameter::Beta, of("truncated").beta);
    same(Parameter::Radius, of("ons").radius);
    same(Parameter::Multiplier, of("ons").multiplier);
    assert_eq!(of("ons").exp_concavity, of("ons").radius.map(|r| 1.0 / (4.0 * r)));
}

fn newton(given: Parameters, dim: usize) -> kalmia::OnlineNewtonStep<AnyFamily> {
    let method = Method::new(MethodName::Ons, &given).unwrap();
    match method.build("bernoulli".parse().unwrap(), dim, true).unwrap() {
        AnyLearner::Newton(newton) => newton,
        other => panic!("{}", other.title()),
    }
}

#[test]
fn gamma_is_the_papers_whatever_is_given() {
    use kalmia::covariance::Covariance;
    let none = Parameters::default();
    let gamma = |given: Parameters, dim: usize| newton(given, dim).settings().gamma(dim);
    let near = |found: f64, expected: f64| {
        assert!((found / expected - 1.0).abs() < 1e-14, "{found}, not {expected}");
    };
    let root = 11f64.sqrt();
    near(gamma(none, 11), 0.5 / (4.0 * root * 10.0));
    near(gamma(Parameters { radius: Some(2.0), ..none }, 11), 0.5 / (4.0 * root * 2.0));
    // the smaller of the two terms
    near(gamma(Parameters { exp_concavity: Some(1e-3), ..none }, 11), 0.5e-3);
    near(gamma(Parameters { exp_concavity: Some(3.0), ..none }, 11), 0.5 / (40.0 * root));
    near(gamma(Parameters { gradient_bound: Some(7.0), ..none }, 11), 0.5 / 280.0);
    near(gamma(Parameters { diameter: true, ..none }, 11), 0.5 / (80.0 * root));
    // P_1^-1 = lambda I, by default 1 / (gamma R)^2
    let given = Parameters { lambda: Some(5.0), multiplier: Some(3.0), ..none };
    let learner = newton(given, 4);
    near(learner.precision()[0], 5.0);
    near(learner.settings().rule(4).unwrap().step_size(), 3.0 / (0.5 / 80.0));
    near(newton(none, 4).covariance().entry(1, 1), (0.5f64 / 80.0 * 10.0).powi(2));
}

#[test]
fn the_oracle_gives_the_step() {
    let given = Parameters { oracle: Some(3.0), ..Parameters::default() };
    let method = Method::new(MethodName::Asgd, &given).unwrap().with_horizon(100);
    let learner = method.build("bernoulli".parse().unwrap(), 4, false).unwrap();
    assert!(matches!(learner, AnyLearner::Sgd(sgd) if sgd.step() == 3.0 / 20.0));
    let both = refused("asgd", Parameters { step: Some(0.1), ..given });
    let expected = "method asgd got both step and oracle: each decides the step, so give one";
    assert_eq!(both, expected);
}

#[test]
fn an_averaged_method_builds_the_mean_and_comes_back_from_json() {
    let averaged = |name: &MethodName| name.takes().contains(&Parameter::Averaged);
    for name in MethodName::ALL.into_iter().filter(averaged) {
        let given = Parameters { averaged: true, ..Parameters::default() };
        let method = Method::new(name, &given).unwrap();
        assert_eq!(method.to_string(), format!("averaged {name}"));
        let json = serde_json::to_value(method).unwrap();
        assert_eq!(json["averaged"], true);
        assert_eq!(serde_json::from_value::<Method>(json).unwrap(), method);
        let learner = method.build("bernoulli".parse().unwrap(), 3, true).unwrap();
        assert_eq!(learner.title(), method.title());
        assert!(!learner.has_covariance());
    }
    let twice = refused("asgd", Parameters { averaged: true, ..Parameters::default() });
    let expected = "method asgd takes no averaged; it takes horizon, step, oracle";
    assert_eq!(twice, expected);
}

#[test]
fn a_file_may_name_the_scale() {
    let named: Method = serde_json::from_str(r#"{"method":"truncated","scale":"bercu"}"#).unwrap();
    assert_eq!(named.parameters().scale, Some(1e-10));
    assert_eq!(named.parameters().beta, Some(0.49));
    let unknown = r#"{"method":"truncated","scale":"berku"}"#;
    let error = serde_json::from_str::<Method>(unknown).unwrap_err().to_string();
    assert!(error.contains("`bercu` (1e-10), not `berku`"), "{error}");
}

#[test]
fn a_foreign_parameter_and_a_bad_value_are_refused() {
    let none = Parameters::default;
    assert!(refused("auto", Parameters { prior: Some(2.0), ..none() }).contains("prior"));
    assert!(refused("ekf", Parameters { radius: Some(2.0), ..none() }).contains("radius"));
    assert!(refused("asgd", Parameters { beta: Some(0.3), ..none() }).contains("beta"));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused("moment", Parameters { prior: Some(bad), ..none() });
        refused("truncated", Parameters { scale: Some(bad), ..none() });
        refused("ons", Parameters { radius: Some(bad), ..none() });
        refused("ons", Parameters { gradient_bound: Some(bad), ..none() });
        assert!(refused("ons", Parameters { lambda: Some(bad), ..none() }).contains("lambda"));
        refused("ons", Parameters { multiplier: Some(bad), ..none() });
        assert!(refused("asgd", Parameters { oracle: Some(bad), ..none() }).contains("oracle"));
        refused("asgd", Parameters { step: Some(bad), ..none() });
    }
    refused("asgd", Parameters { horizon: Some(0), ..none() });
    assert!("nonsense".parse::<Method>().unwrap_err().to_string().contains("moment"));
    let method: Method = "asgd".parse().unwrap();
    let unknown = method.build("gaussian".parse().unwrap(), 2, false).unwrap_err();
    assert!(matches!(unknown, Error::NeedsHorizon), "{unknown}");
}

#[test]
fn files_of_earlier_versions_held_every_parameter() {
    let old = r#"{"method":"ekf","drift":"off","prior":2.5,"radius":10.0,
                  "exp_concavity":0.025,"horizon":null}"#;
    let method: Method = serde_json::from_str(old).unwrap();
    let outliers = Outliers::Keep;
    assert_eq!(method, Algorithm::Filter { rule: AnyRule::Ekf, prior: 2.5, outliers }.into());
    let unknown = r#"{"method":"auto","drift":"sometimes"}"#;
    assert!(serde_json::from_str::<Method>(unknown).is_err());
}

#[test]
fn sparse_rows_are_for_auto_and_wide() {
    let family = || "bernoulli".parse().unwrap();
    for name in MethodName::ALL {
        let method: Method = name.to_string().parse().unwrap();
        let expected = match name {
            MethodName::Auto => WideRows::Auto,
            MethodName::Wide => WideRows::Always,
            _ => WideRows::Never,
        };
        assert_eq!(method.rows(), expected, "{name}");
        match method.build_wide(family(), 3, true) {
            Ok(learner) => {
                assert_ne!(expected, WideRows::Never, "{name}");
                assert!(matches!(learner, AnyLearner::Wide(wide) if wide.numbers() == 3));
            }
            Err(error) => {
                assert_eq!(expected, WideRows::Never, "{name}");
                assert!(error.to_string().contains("use auto or wide"), "{error}");
            }
        }
    }
    let averaged = Method { averaged: true, ..Method::default() };
    assert_eq!(averaged.rows(), WideRows::Never);
    assert!(averaged.build_wide(family(), 3, true).is_err());
    // of very many numbers the others are sparse features
    let many = Method::default().build_wide(family(), 1001, true).unwrap();
    assert!(matches!(many, AnyLearner::Wide(wide) if wide.numbers() == 257));
}

#[test]
fn outliers_are_a_choice_that_files_hold_if_it_was_made() {
    let given = Parameters { outliers: Some(Outliers::Downweight), ..Parameters::default() };
    let method = Method::new(MethodName::Auto, &given).unwrap();
    let json = serde_json::to_value(method).unwrap();
    assert_eq!(json["outliers"], "downweight");
    assert_eq!(serde_json::from_value::<Method>(json).unwrap(), method);
    let plain = serde_json::to_value(Method::default()).unwrap();
    assert!(plain.get("outliers").is_none());
    let keep = Parameters { outliers: Some(Outliers::Keep), ..Parameters::default() };
    assert_eq!(Method::new(MethodName::Auto, &keep).unwrap(), Method::default());

    let poisson: AnyFamily = "poisson".parse().unwrap();
    let AnyLearner::Auto(auto) = method.build(poisson, 3, true).unwrap() else { panic!() };
    assert_eq!(auto.outliers(), Outliers::Downweight);
    assert_eq!(Outliers::default().name(), Parameter::Outliers.default_text());
    // it needs dense rows; single filters take it too
    assert_eq!(method.rows(), WideRows::Never);
    assert!(method.build_wide(poisson, 3, true).is_err());
    assert!(refused("wide", given).contains("outliers"));
    for name in [MethodName::Ekf, MethodName::Truncated, MethodName::Implicit, MethodName::Moment] {
        let method = Method::new(name, &given).unwrap();
        assert_eq!(serde_json::to_value(method).unwrap()["outliers"], "downweight");
        let AnyLearner::Filter(one) = method.build(poisson, 3, true).unwrap() else { panic!() };
        assert_eq!(one.outliers(), Outliers::Downweight);
        // a wrong label does little harm
        assert!(method.build("bernoulli".parse().unwrap(), 3, true).is_err());
    }
    // it needs a family that outliers move
    assert!(method.build("quantile:0.5".parse().unwrap(), 3, true).is_err());
    assert!(refused("asgd", given).contains("outliers"));
}
