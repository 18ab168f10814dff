//! `kalmia bounds`: readable numbers, errata in the help, sweeps with pictures, and constants that
//! come from rows.

use crate::harness::{Folder, Uniform, number};
use serde_json::Value;
use std::fmt::Write;

const TAU: &str = "bounds coro_convergence_tau --d 11 --D_X 3.3166247903554 \
                   --Lmin 0.02340873550642128 --nstar 23.30236039546209 \
                   --eps 0.015075567228888181 --delta 0.05 --beta 0.49 --lmaxP1 1";

#[test]
fn huge_numbers_have_exponents() {
    let folder = Folder::new("bounds-exponents");
    let text = folder.ok(TAU);
    let line = text.lines().find(|line| line.starts_with("ln_tau ")).unwrap();
    assert!(line.contains("e248"), "{line}");
    assert!(text.lines().all(|line| line.len() < 80), "{text}");
    let run = folder.run(&format!("{TAU} --json"));
    assert!(run.ok().contains("e+248"));
    let json = folder.json(&format!("{TAU} --json"));
    assert!(number(&json, "out.ln_tau") > 6e248 && number(&json, "out.ln_tau") < 7e248);
}

#[test]
fn the_help_of_a_bound_names_its_errata() {
    let folder = Folder::new("bounds-errata");
    for (name, said) in [
        ("localized_linear", vec!["E11 (changes a number)", "140"]),
        ("result_linear", vec!["E11", "E12", "E17", "condP1"]),
        ("result_logistic", vec!["E7 (changes a number)", "excess/75", "E23 (harmless)"]),
        ("coro_convergence_tau", vec!["E8", "5/(1-2beta)", "E9", "E30"]),
        ("resultHsu", vec!["E19", "E21"]),
        ("tau_delta_linear", vec!["E18", "eps^2", "E19", "E20", "E21", "E30"]),
        ("certificate", vec!["E3", "both are shown"]),
    ] {
        let help = folder.ok(&format!("bounds {name} --help"));
        assert!(said.iter().all(|words| help.contains(words)), "{help}");
        assert!(help.contains("both are shown"), "{help}");
    }
    let plain = folder.ok("bounds C_delta --help");
    assert!(!plain.contains("errata\n") && plain.contains("there is one value"), "{plain}");
}

const LINEAR: &str = "bounds localized_linear --d 11 --eps 0.1 --delta 0.05 --sigma 1 --Dapp 0 \
                      --D_X 3.3 --lmaxP1 1 --lmaxPinv 1";

#[test]
fn a_sweep_lists_and_draws_one_input() {
    let folder = Folder::new("bounds-sweep");
    let table = folder.ok(&format!("{LINEAR} --sweep n=1:1e6:7 --plot sweep.svg"));
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip_while(|line| !line.starts_with("n "))
        .map(|l| l.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(rows[0], ["n", "total", "total (corrected)", "applies"]);
    let column: Vec<&str> = rows[1..].iter().map(|row| row[0]).collect();
    assert_eq!(column, ["1", "10", "100", "1000", "10000", "100000", "1000000"]);
    let svg = folder.text("sweep.svg");
    assert!(svg.contains("total, as printed") && svg.contains("total, corrected"), "{svg}");

    // every point is the value at that point
    let json = folder.json(&format!("{LINEAR} --sweep n=1:1e6:7 --json"));
    for (i, n) in [(0, "1"), (3, "1000"), (6, "1000000")] {
        let one = folder.json(&format!("{LINEAR} --n {n} --json"));
        assert_eq!(json["sweep"][i]["out"], one["out"]);
        assert_eq!(json["sweep"][i]["out_corrected"], one["out_corrected"]);
    }
    assert_eq!(json["parameter"], "n");
}

#[test]
fn lists_outputs_and_linear_ranges_are_chosen() {
    let folder = Folder::new("bounds-lists");
    let base = LINEAR.replace("--sigma 1 ", "");
    let words = format!("{base} --n 10 --variant paper --sweep sigma=0.5,1,2");
    let list = folder.ok(&format!("{words} --outputs log_term,dev_term --plot list.png"));
    let head = list.lines().find(|line| line.starts_with("sigma")).unwrap();
    assert_eq!(
        head.split_whitespace().collect::<Vec<_>>(),
        ["sigma", "log_term", "dev_term", "applies"]
    );
    assert_eq!(list.lines().skip_while(|l| !l.starts_with("sigma")).count(), 4);
    assert!(folder.read("list.png").starts_with(b"\x89PNG"));
    let linear = folder.json(&format!("{base} --n 10 --sweep sigma=0:2:5 --json"));
    let values: Vec<f64> =
        linear["sweep"].as_array().unwrap().iter().map(|row| number(row, "sigma")).collect();
    assert_eq!(values, [0.0, 0.5, 1.0, 1.5, 2.0]);
    let forced = folder.json(&format!("{base} --n 10 --sweep sigma=1:1001:3:lin --json"));
    assert_eq!(number(&forced["sweep"][1], "sigma"), 501.0);
}

#[test]
fn bad_sweeps_are_refused_with_what_to_do() {
    let folder = Folder::new("bounds-bad-sweeps");
    for (sweep, said) in [
        ("n", "there is no `=`"),
        ("m=1:10:5", "has no parameter `m`, it has d, n, eps"),
        ("n=10:1:5", "FROM must be below TO"),
        ("n=1:10:1", "COUNT is a whole number from 2 to 10000"),
        ("n=1:ten:5", "`ten` is not a number"),
        ("n=1:10:5:cubic", "`cubic` is neither log nor lin"),
        ("n=1:2:3:4:5", "too many colons"),
        ("variant=paper,corrected", "both variants are shown anyway"),
    ] {
        folder
            .run(&format!("{LINEAR} --sweep {sweep}"))
            .fails(2, &[&format!("--sweep `{sweep}`: "), said, "such as n=1:1e6:25"]);
    }
    let base = format!("{LINEAR} --n 5");
    folder
        .run(&format!("{base} --sweep n=1:9:3"))
        .fails(2, &["--n and --sweep n=... contradict each other: give one of the two"]);
    let free = LINEAR.replace("--delta 0.05 ", "");
    folder
        .run(&format!("{free} --n 5 --sweep delta=0.5,1.5"))
        .fails(2, &["--sweep, at delta = 1.5: parameter `delta` is 1.5"]);
    folder
        .run(&format!("{LINEAR} --sweep n=1:9:3 --outputs totl"))
        .fails(2, &["--outputs: `localized_linear` has no number `totl`; it has log_term"]);
    folder.run(&format!("{base} --plot a.svg")).fails(2, &["add --sweep NAME=FROM:TO:COUNT"]);
    folder
        .run(&format!("{LINEAR} --sweep n=1:9:3 --plot a.txt"))
        .fails(2, &["pictures are .svg or .png"]);
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

/// Rows of a linear model with three features, of which one is a category.
fn rows() -> String {
    let mut uniform = Uniform(3);
    let mut text = String::from("a,b,kind,y\n");
    for i in 0..400 {
        let a = 2.0 * uniform.next() - 1.0;
        let b = uniform.next();
        let kind = ["u", "v"][i % 2];
        let noise: f64 = (0..12).map(|_| uniform.next()).sum::<f64>() - 6.0;
        let y = 1.0 + 2.0 * a - b + if kind == "v" { 0.5 } else { 0.0 } + 0.25 * noise;
        writeln!(text, "{a},{b},{kind},{y}").unwrap();
    }
    text
}

#[test]
fn rows_give_the_constants_that_they_show() {
    let folder = Folder::new("bounds-data");
    folder.write("rows.csv", rows());
    let words = "bounds tau_delta_linear --data rows.csv --target y --eps 0.1 --delta 0.01 \
                 --Dapp 0 --p1 1";
    let json = folder.json(&format!("{words} --json"));
    let value = |name: &str| number(&json["estimated"]["values"], name);
    // the intercept, a, b and one level of the category
    assert_eq!((number(&json, "estimated.rows"), value("d")), (400.0, 4.0));
    let (d_x, lambda_min) = design(&rows());
    assert!((value("D_X") - d_x).abs() < 1e-12, "{json}");
    assert!((value("Lmin") / lambda_min - 1.0).abs() < 1e-6, "{json}");
    assert!((value("nstar") - 6.25f64.sqrt()).abs() < 0.1 && value("dist1") == value("nstar"));
    assert!((value("sigma") - 0.25).abs() < 0.03, "{json}");
    // the same as with the values given
    let given: String = ["d", "D_X", "Lmin", "nstar", "dist1", "sigma"]
        .map(|name| format!(" --{name} {}", value(name)))
        .concat();
    let typed = folder.json(&format!(
        "bounds tau_delta_linear --eps 0.1 --delta 0.01 --Dapp 0 --p1 1{given} --json"
    ));
    assert_eq!(typed["out"], json["out"]);

    let text = folder.ok(words);
    assert!(text.contains("estimated from 400 rows of rows.csv (gaussian, 4 features)"), "{text}");
    assert!(text.contains("Lmin  = "), "{text}");
    // what was given is kept, and columns can be left out
    let fewer = folder.json(&format!("{words} --sigma 2 --exclude kind,b --json"));
    assert_eq!(number(&fewer["estimated"]["values"], "d"), 2.0);
    assert!(fewer["estimated"]["values"].get("sigma").is_none());
}

/// The largest norm and the smallest eigenvalue of the mean of xx', by inverse iteration.
fn design(text: &str) -> (f64, f64) {
    let rows: Vec<[f64; 4]> = text
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let level = if cells[2] == "v" { 1.0 } else { 0.0 };
            [1.0, cells[0].parse().unwrap(), cells[1].parse().unwrap(), level]
        })
        .collect();
    let largest = rows.iter().map(|x| x.iter().map(|v| v * v).sum::<f64>()).fold(0.0, f64::max);
    let mut mean = [[0.0; 4]; 4];
    for x in &rows {
        for i in 0..4 {
            for j in 0..4 {
                mean[i][j] += x[i] * x[j] / rows.len() as f64;
            }
        }
    }
    // power iteration on largest I - mean
    let mut v = [1.0, -0.5, 0.3, 0.2];
    let mut ratio = 0.0;
    for _ in 0..20_000 {
        let mut next = [0.0; 4];
        for i in 0..4 {
            next[i] = largest * v[i] - (0..4).map(|j| mean[i][j] * v[j]).sum::<f64>();
        }
        ratio = next.iter().map(|x| x * x).sum::<f64>().sqrt();
        v = next.map(|x| x / ratio);
    }
    (largest.sqrt(), largest - ratio)
}

#[test]
fn data_are_refused_with_what_is_missing() {
    let folder = Folder::new("bounds-bad-data");
    folder.write("rows.csv", rows());
    folder.run("bounds tau_delta_linear --data rows.csv --target y --eps 0.1").fails(
        2,
        &[
            "estimated from 400 rows of rows.csv",
            "`tau_delta_linear` also needs --delta, --Dapp, --p1, which rows do not show",
        ],
    );
    let complete = "--eps 0.1 --delta 0.01 --Dapp 0 --p1 1";
    folder
        .run(&format!("bounds tau_delta_linear --data no.csv --target y {complete}"))
        .fails(2, &["no.csv"]);
    folder
        .run(&format!("bounds tau_delta_linear --data rows.csv --target z {complete}"))
        .fails(2, &["`z`"]);
    folder
        .run(&format!("bounds tau_delta_linear --data rows.csv --targte y {complete}"))
        .fails(2, &["--targte", "takes the options of `kalmia fit` about files and columns"]);
    let twice: String = rows()
        .lines()
        .enumerate()
        .map(|(i, line)| {
            let first = line.split(',').next().unwrap();
            if i == 0 { format!("again,{line}\n") } else { format!("{first},{line}\n") }
        })
        .collect();
    folder.write("twice.csv", twice);
    folder
        .run(&format!("bounds tau_delta_linear --data twice.csv --target y {complete}"))
        .fails(2, &["the features of twice.csv are collinear", "--exclude, or give --Lmin"]);
}

#[test]
fn the_minimum_over_a_sphere_is_a_distribution() {
    let folder = Folder::new("bounds-sphere");
    let words = "bounds sphere_minimum --theta=-0.9,0,0.3 --points 40 --draws 300 --repeats 5";
    let json: Value = folder.json(&format!("{words} --json"));
    let minima: Vec<f64> =
        json["ln_minima"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    assert_eq!(minima.len(), 5);
    assert!(minima.windows(2).all(|pair| pair[0] < pair[1]), "{minima:?}");
    assert_eq!(number(&json, "ln_median"), minima[2]);
    assert!(minima[0] > number(&json, "ln_proved"));
    assert_eq!(json, folder.json(&format!("{words} --seed 1 --json")));
    assert_ne!(json, folder.json(&format!("{words} --seed 2 --json")));
    let text = folder.ok(words);
    assert!(text.contains("median minimum") && text.contains("no proved constant"), "{text}");
    assert!(folder.ok("bounds list").contains("sphere_minimum"));
    assert!(folder.ok("bounds sphere_minimum --help").contains("E26"));
    folder.run("bounds sphere_minimum").fails(2, &["needs the parameter `theta`, such as"]);
    folder
        .run("bounds sphere_minimum --theta 1,x")
        .fails(2, &["parameter `theta` of `sphere_minimum` is x: expected a number"]);
    folder
        .run("bounds sphere_minimum --theta 1,2 --pionts 3")
        .fails(2, &["has no parameter `pionts`; it takes theta, radius"]);
    folder.run("bounds sphere_minimum --theta 0,0").fails(2, &["`radius`"]);
}
