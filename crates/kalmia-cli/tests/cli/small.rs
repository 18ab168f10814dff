//! The small commands: bounds, reproduce, completions, the manual page and the help.

use crate::harness::{Folder, number, repository};
use serde_json::Value;

#[test]
fn bounds_are_listed_described_and_evaluated() {
    let folder = Folder::new("bounds");
    assert_eq!(folder.ok("bounds list").lines().count(), 24);
    assert!(folder.ok("bounds uniform_design --help").contains("--m "));
    let one = folder.json("bounds uniform_design --m 10 --json");
    assert!((number(&one, "out.bulk") - 1.0 / 12.0).abs() < 1e-15);
    assert!(folder.ok("bounds uniform_design --m=10").contains("0.0833"));
    folder.run("bounds uniform_design --n 10").fails(2, &["did you mean `m`"]);
    folder.run("bounds uniform_design").fails(2, &["needs the parameter `m`"]);
    folder.run("bounds evaluate no.json").fails(2, &["no.json"]);
}

/// The reference values, to their tolerances.
#[test]
fn a_file_of_cases_is_filled_in() {
    let folder = Folder::new("cases");
    let text =
        std::fs::read_to_string(repository("crates/kalmia-theory/tests/data/bounds_cases.json"))
            .unwrap();
    let reference: Value = serde_json::from_str(&text).unwrap();
    let mut bare = reference.clone();
    for function in bare["functions"].as_object_mut().unwrap().values_mut() {
        for case in function["cases"].as_array_mut().unwrap() {
            case.as_object_mut().unwrap().retain(|key, _| key == "name" || key == "in");
        }
    }
    folder.write("cases.json", bare.to_string());
    let filled = folder.json("bounds evaluate cases.json");
    let mut compared = 0;
    for (name, function) in reference["functions"].as_object().unwrap() {
        for (i, case) in function["cases"].as_array().unwrap().iter().enumerate() {
            for kind in ["out", "out_corrected"] {
                let Some(expected) = case.get(kind).and_then(Value::as_object) else { continue };
                for (key, expected) in expected {
                    let found = &filled["functions"][name]["cases"][i][kind][key];
                    let close = match (expected.as_f64(), found.as_f64()) {
                        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs() + 1e-13,
                        _ => expected == found,
                    };
                    assert!(
                        close,
                        "{name}, case {i}, {kind}.{key}: expected {expected}, got {found}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn reproduce_draws_what_is_asked_and_refuses_the_rest() {
    let folder = Folder::new("reproduce");
    let report = folder
        .json("--quiet reproduce comparison1 --horizon 200 --replicates 2 --out drawn --json");
    assert!(report.is_object() && folder.path("drawn/report.html").is_file());
    let star = folder.json("--quiet reproduce theta-star --iterations 1e4 --json");
    assert_eq!(star["estimate"].as_array().map(Vec::len), Some(11));
    folder.run("reproduce theta-star --horizon 1e4").fails(2, &["--iterations"]);
    folder.run("reproduce theta-star density").fails(2, &["theta-star"]);
    folder.run("reproduce comparison2").fails(2, &["comparison2"]);
    if cfg!(target_os = "linux") {
        // a disk's refusal, as of any other output
        folder
            .run("reproduce density --horizon 10 --out /proc/drawn")
            .fails(1, &["cannot write /proc/drawn"]);
    }
    folder.run("reproduce density --horizon 0").fails(2, &["horizon"]);
}

#[test]
fn completions_manual_and_help_come_from_one_place() {
    let folder = Folder::new("shell");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(folder.ok(&format!("completions {shell}")).contains("checkpoint-every"), "{shell}");
    }
    let man = folder.ok("man");
    assert!(man.starts_with(".ie") && man.contains("checkpoint\\-every"));
    let help = folder.ok("fit --help");
    assert!(
        help.contains("Examples:")
            && help.contains("Exit codes")
            && help.contains("[default: 32768]"),
        "{help}"
    );
    assert_eq!(folder.run("fit").output.status.code(), Some(2));
    assert_eq!(folder.run("fitt").output.status.code(), Some(2));
    assert_eq!(folder.run("--version").ok(), format!("kalmia {}\n", env!("CARGO_PKG_VERSION")));
}
