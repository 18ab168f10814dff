//! The small commands: bounds, reproduce, completions, the manual page and the help.

use crate::harness::{Folder, number, repository};
use serde_json::Value;

#[test]
fn bounds_are_listed_described_and_evaluated() {
    let folder = Folder::new("bounds");
    assert_eq!(folder.ok("bounds list").lines().count(), 33);
    assert!(folder.ok("bounds uniform_design --help").contains("--m "));
    let one = folder.json("bounds uniform_design --m 10 --json");
    assert!((number(&one, "out.bulk") - 1.0 / 12.0).abs() < 1e-15);
    assert!(folder.ok("bounds uniform_design --m=10").contains("0.0833"));
    folder.run("bounds uniform_design --n 10").fails(2, &["did you mean `m`"]);
    folder.run("bounds uniform_design").fails(2, &["needs the parameter `m`"]);
    folder.run("bounds evaluate no.json").fails(2, &["no.json"]);
}

/// The example of the help is a file of cases, and one run names all that is wrong with a file.
#[test]
fn a_file_of_cases_is_explained_and_its_problems_come_together() {
    let folder = Folder::new("wrong-cases");
    let help = folder.ok("bounds --help");
    let example = help.lines().find(|line| line.contains(r#"{"functions""#)).unwrap();
    folder.write("cases.json", example);
    let filled = folder.json("bounds evaluate cases.json");
    let bulk = number(&filled, "functions.uniform_design.cases.0.out.bulk");
    assert!((bulk - 1.0 / 12.0).abs() < 1e-15, "{bulk}");

    let page = std::fs::read_to_string(repository("docs/command.md")).unwrap();
    let (_, section) = page.split_once("## Bounds").unwrap();
    let (_, example) = section.split_once("```json").unwrap();
    folder.write("page.json", example.split_once("```").unwrap().0);
    let filled = folder.json("bounds evaluate page.json");
    assert!(number(&filled, "functions.uniform_design.cases.1.out.bulk").is_finite());
    assert!(filled["functions"]["asgd_steps"]["cases"][0]["out"].is_object(), "{filled}");

    folder
        .run("bounds asgd_steps")
        .fails(2, &["`asgd_steps` needs the parameters `d`, `N` and `nstar`"]);
    folder.write(
        "wrong.json",
        r#"{"functions": {
            "asgd_steps": {"cases": [
                {"in": {}}, {"name": "b", "in": {"d": 0, "N": 5, "nstar": 1}}, 7, {}]},
            "uniform_desing": {"cases": []},
            "uniform_design": {}}}"#,
    );
    folder.run("bounds evaluate wrong.json").fails(
        2,
        &[
            "wrong.json: `asgd_steps`, case number 1: ",
            "case number 1: `asgd_steps` needs the parameters `d`, `N` and `nstar`",
            "case `b`: parameter `d` is 0",
            "case number 3: it is not a JSON object",
            "case number 4: there is no `in`, the object of its parameters",
            "no bound is called `uniform_desing`; did you mean `uniform_design`?",
            "`uniform_design` has no array `cases`",
        ],
    );
    folder.write("list.json", "[]");
    folder.run("bounds evaluate list.json").fails(2, &["`kalmia bounds --help` shows the format"]);
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
    for (words, said) in [
        ("density --horizon 0", "--horizon 0: must be at least 1"),
        ("density --replicates 1", "--replicates 1: must be at least 2"),
        ("density --threads 2000", "--threads 2000: must be at most 1024"),
        ("density --ons-lambda -3", "--ons-lambda -3e0: must be positive"),
        ("theta-star --iterations 0", "--iterations 0: must be at least 1"),
    ] {
        folder.run(&format!("reproduce {words}")).fails(2, &[said]);
    }
}

/// A printed experiment runs as a file and gives the numbers of the figure; the page of the
/// documentation has one that runs, too.
#[test]
fn experiments_of_the_report_and_of_ones_own_are_files() {
    let folder = Folder::new("experiment");
    folder.write("mine.toml", folder.ok("reproduce --print-config comparison1"));
    let length = "--horizon 200 --replicates 3 --json --out";
    let own = folder.json(&format!("--quiet reproduce --config mine.toml {length} own"));
    let figure = folder.json(&format!("--quiet reproduce comparison1 {length} figure"));
    assert_eq!(
        own["figures"]["mine"]["algorithms"],
        figure["figures"]["comparison1"]["algorithms"]
    );
    let with = format!("--quiet reproduce comparison1 --ons-lambda 1 {length} lambda");
    let changed = folder.json(&with);
    let ons = |report: &Value| {
        report["figures"]["comparison1"]["algorithms"]["ons"]["mse"][3].as_f64().unwrap()
    };
    assert!((ons(&changed) / ons(&figure) - 1.0).abs() > 0.1);
    assert!(changed["commands"]["comparison1"].as_str().unwrap().contains("--ons-lambda 1e0"));
    let page = include_str!("../../../../docs/laboratory.md");
    let (_, rest) = page.split_once("```toml").unwrap();
    folder.write("page.toml", rest.split_once("```").unwrap().0);
    folder.ok("--quiet reproduce --config page.toml --horizon 200 --replicates 2 --out page");
    assert!(folder.path("page/page_coverage.csv").is_file());
    folder.run("reproduce --config absent.toml").fails(2, &["absent.toml"]);
    folder.write("bad.toml", "titel = 1");
    folder.run("reproduce --config bad.toml --out bad").fails(2, &["bad.toml", "titel"]);
    assert!(!folder.path("bad").exists());
}

#[test]
fn completions_manual_and_help_come_from_one_place() {
    let folder = Folder::new("shell");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(folder.ok(&format!("completions {shell}")).contains("checkpoint-every"), "{shell}");
    }
    let figures = ["comparison1", "misspecified", "theta-star"];
    let bounds = ["uniform_design", "result_logistic", "asgd_steps"];
    // the other shells' scripts complete options and commands only
    for shell in ["bash", "zsh"] {
        let script = folder.ok(&format!("completions {shell}"));
        let mut names = figures.iter().chain(&bounds);
        assert!(names.all(|name| script.contains(name)), "{shell}");
    }
    let help = folder.ok("fit --help");
    assert!(
        help.contains("Examples:")
            && help.contains("Exit codes")
            && help.contains("[default: 32768]"),
        "{help}"
    );
    let help = folder.ok("reproduce --help");
    assert!(figures.iter().all(|name| help.contains(name)), "{help}");
    let help = folder.ok("bounds --help");
    assert!(bounds.iter().all(|name| help.contains(name)), "{help}");
    assert_eq!(folder.run("fit").output.status.code(), Some(2));
    assert_eq!(folder.run("fitt").output.status.code(), Some(2));
    assert_eq!(folder.run("--version").ok(), format!("kalmia {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new("man");
    let overview = folder.ok("man");
    assert!(overview.contains(".TH kalmia 1"), "{overview}");
    folder.ok("man --output-dir pages/man1");
    assert_eq!(folder.text("pages/man1/kalmia.1"), overview);
    let names = folder.names_in("pages/man1");
    assert_eq!(names.len(), 16, "{names:?}");
    for name in names.iter().filter(|name| *name != "kalmia.1") {
        let command = name.strip_prefix("kalmia-").unwrap().strip_suffix(".1").unwrap();
        let page = folder.ok(&format!("man {command}"));
        assert_eq!(folder.text(&format!("pages/man1/{name}")), page);
        assert!(page.contains(&format!(".TH kalmia-{command} 1")), "{page}");
        assert!(page.contains(&format!("kalmia {command}")), "{page}");
        // the overview points to it
        assert!(overview.contains(&format!("kalmia\\-{command}(1)")), "{overview}");
    }
    assert!(folder.ok("man fit").contains("checkpoint\\-every"));
    folder.run("man fitt").fails(2, &["fitt", "similar value exists: 'fit'"]);
    folder.run("man fit --output-dir pages").fails(2, &["cannot be used with"]);
    folder.write("file", "");
    folder.run("man --output-dir file").fails(1, &["cannot write file"]);
}
