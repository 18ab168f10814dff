//! Families by name and by the first rows.

use super::*;

fn resolve(choice: &str, coding: Coding, distinct: &[f64], whole: bool) -> Result<InferredFamily> {
    let target = Target {
        name: "y".into(),
        coding: Some(coding),
        distinct: distinct.to_vec(),
        whole,
        skewed: false,
    };
    choice.parse::<FamilyChoice>()?.resolve(&target)
}

#[test]
fn the_first_rows_decide() {
    let inferred =
        |distinct: &[f64], whole| resolve("auto", Coding::Number, distinct, whole).unwrap();
    let bernoulli: AnyFamily = "bernoulli".parse().unwrap();
    let gaussian: AnyFamily = "gaussian".parse().unwrap();
    assert_eq!(inferred(&[0.0, 1.0], true).family, bernoulli);
    assert_eq!(inferred(&[-1.0, 1.0], false).family, bernoulli);
    assert_eq!(inferred(&[0.5, 1.5, 2.0], false).family, gaussian);
    assert_eq!(inferred(&[0.5, 1.5, 2.0], false).hint, None);
    assert_eq!(inferred(&[0.0, 1.0, 2.0], true).hint, Some(FamilyHint::WholeNumbers));
    assert_eq!(inferred(&[5.0], true).hint, None);
    assert_eq!(inferred(&[0.0], true).hint, Some(FamilyHint::OneValue(0.0)));
    let labels = Coding::Labels { positive: "yes".into(), negative: None };
    assert_eq!(resolve("auto", labels, &[1.0], true).unwrap().family, bernoulli);
    let two = resolve("auto", Coding::Number, &[1.0, 2.0], true).unwrap_err();
    assert!(matches!(two, Error::TwoValues { low: 1.0, high: 2.0, .. }), "{two}");
}

#[test]
fn a_wrong_family_is_explained() {
    const ALL: &str = "the families are gaussian, bernoulli (or logistic), binomial, poisson, \
                       gamma, negative-binomial, quantile, student, categorical and ordinal";
    for (text, said) in [
        ("gaussian:0", "the variance must be above 0 and finite"),
        ("Gaussian:-1", "the variance must be above 0 and finite"),
        ("gaussian:nan", "the variance must be above 0 and finite"),
        ("gamma:-1", "the dispersion must lie between 1e-12 and 1e12"),
        ("binomial:0", "the number of trials must be a whole number from 1 to 1e9"),
        ("binomial:-1", "the number of trials must be a whole number from 1 to 1e9"),
        ("binomial:2.5", "the number of trials must be a whole number from 1 to 1e9"),
        ("gamma:x", "`x` is not a number; a number is expected after the colon"),
        ("poisson:2", "poisson takes no number: leave it out"),
        ("posson", "did you mean poisson?"),
        ("posson:2", "did you mean poisson?"),
        ("Gauss", "did you mean gaussian?"),
        ("negative-binomial:0", "the dispersion must lie between 1e-8 and 1e8"),
        ("quantile:1", "the level must lie between 0 and 1, at least 1e-6 from both"),
        ("student:1", "the degrees of freedom must lie between 2.1 and 100"),
        ("weibull", ALL),
        ("", ALL),
    ] {
        let given = text.to_ascii_lowercase();
        let error = text.parse::<FamilyChoice>().unwrap_err();
        assert_eq!(error.to_string(), format!("family `{given}`: {said}"));
    }
    for name in FAMILY_NAMES {
        assert!(name.parse::<FamilyChoice>().is_ok(), "{name}");
    }
}

#[test]
fn a_named_family_stays_as_it_was_written() {
    let poisson = resolve("Poisson", Coding::Number, &[0.0, 1.0], true).unwrap();
    assert_eq!(poisson.family, "poisson".parse().unwrap());
    for text in ["auto", "gaussian:2.5", "binomial:10"] {
        let choice: FamilyChoice = text.parse().unwrap();
        assert_eq!(String::from(choice.clone()), text);
        let json = serde_json::to_string(&choice).unwrap();
        assert_eq!(serde_json::from_str::<FamilyChoice>(&json).unwrap(), choice);
    }
    assert!("gauss".parse::<FamilyChoice>().is_err());
    let fixed = |text: &str| text.parse::<FamilyChoice>().unwrap().fixed_dispersion().is_some();
    assert!(fixed("gaussian:2.5") && fixed("Gamma:1") && !fixed("gaussian") && !fixed("auto"));
    assert!(!fixed("binomial:10") && !fixed("poisson") && !fixed("quantile:0.9"));
    assert!(fixed("negative-binomial:0.5") && !fixed("student:3"));
}
