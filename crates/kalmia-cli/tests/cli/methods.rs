//! The constants of the paper's methods: averaging, starts, certificates.

use crate::harness::{Folder, number, table};
use serde_json::Value;

/// A folder with 2000 rows of two classes, whole and in two parts; four coefficients.
fn rows(name: &str) -> Folder {
    let folder = Folder::new(name);
    let text = table(2000, ["0", "1"]);
    let head = text.split_inclusive('\n').next().unwrap();
    let half = text.match_indices('\n').nth(900).unwrap().0 + 1;
    folder.write("t.csv", &text);
    folder.write("1.csv", &text[..half]);
    folder.write("2.csv", format!("{head}{}", &text[half..]));
    folder
}

fn estimates(fit: &Value) -> Vec<f64> {
    fit["coefficients"].as_array().unwrap().iter().map(|c| number(c, "estimate")).collect()
}

fn fit(folder: &Folder, words: &str) -> Vec<f64> {
    estimates(&folder.json(&format!("--quiet fit t.csv -t y --json {words}")))
}

#[test]
fn gamma_is_that_of_the_paper_by_default() {
    let folder = rows("gamma");
    let ons = |words: &str| fit(&folder, &format!("--method ons {words}"));
    // G is the root of the number of coefficients, and gamma = min(1 / (4 G R), alpha) / 2
    assert_eq!(ons(""), ons("--gradient-bound 2"));
    assert_eq!(ons("--exp-concavity 3"), ons("--gradient-bound 2 --exp-concavity 5"));
    assert_eq!(ons("--radius 4"), ons("--radius 4 --gradient-bound 2 --exp-concavity 9"));
    assert_ne!(ons("--gradient-bound 4"), ons(""));
    // R = 10, so gamma = 1/160 and P_1^-1 = 256 I, with the diameter 1/320 and 1024 I
    assert_eq!(ons("--lambda 256"), ons(""));
    assert_eq!(ons("--lambda 1024 --diameter"), ons("--diameter"));
    assert_ne!(ons("--diameter"), ons(""));
    // twice the step and half of gamma are the same
    assert_eq!(ons("--lambda 9 --multiplier 2"), ons("--lambda 9 --diameter"));
    folder
        .run("fit t.csv -t y --method ons --lambda 0")
        .fails(2, &["--lambda 0: must be finite and positive"]);
    folder
        .run("fit t.csv -t y --method ekf --lambda 1")
        .fails(2, &["--method ekf takes no --lambda; it takes --prior, --outliers, --averaged"]);
}

#[test]
fn thresholds_and_steps_have_names() {
    let folder = rows("names");
    let bercu = fit(&folder, "--method truncated --scale bercu");
    assert_eq!(bercu, fit(&folder, "--method truncated --scale 1e-10 --beta 0.49"));
    assert_ne!(bercu, fit(&folder, "--method truncated --scale paper"));
    folder.run("fit t.csv -t y --method truncated --scale berku").fails(
        2,
        &["the scale of truncated is a number, `paper` (1) or `bercu` (1e-10), not `berku`"],
    );
    // 3 / sqrt(4 * 2000)
    let step = (3.0 / 8000f64.sqrt()).to_string();
    let oracle = fit(&folder, "--method asgd --oracle 3");
    assert_eq!(oracle, fit(&folder, &format!("--method asgd --step {step}")));
    folder.run("fit t.csv -t y --method asgd --oracle 3 --step 0.1").fails(
        2,
        &["--method asgd got both --step and --oracle: each decides the step, so give one"],
    );
}

#[test]
fn an_averaged_model_is_kept_continued_and_predicts() {
    let folder = rows("averaged");
    for method in ["auto", "ekf", "truncated", "implicit", "moment", "ons"] {
        let options = format!("-t y --method {method} --averaged --json --quiet");
        let whole = folder.json(&format!("fit t.csv {options} -o whole.kalmia"));
        assert_eq!((&whole["method"], &whole["averaged"]), (&method.into(), &true.into()));
        assert!(whole["coefficients"][1]["std_error"].is_null());
        folder.json(&format!("fit 1.csv {options} -o m.kalmia"));
        let more = folder.json("update m.kalmia 2.csv --json --quiet");
        assert_eq!(more["coefficients"], whole["coefficients"], "{method}");
        let predicted = |model: &str| folder.ok(&format!("--quiet predict {model} t.csv"));
        assert_eq!(predicted("m.kalmia"), predicted("whole.kalmia"));
        let shown = folder.ok("inspect whole.kalmia");
        assert!(shown.contains(&format!("by averaged {method}, 2 000 rows")), "{shown}");
        let plain = fit(&folder, &format!("--method {method}"));
        assert_ne!(plain, estimates(&whole), "{method}");
    }
    let text = folder.ok("--quiet fit t.csv -t y --method ekf --averaged");
    assert!(text.contains("by averaged ekf, 2 000 rows"), "{text}");
    assert!(text.contains("by the iterates, of which the coefficients below are the mean"));
    folder
        .run("fit t.csv -t y --method asgd --averaged")
        .fails(2, &["--method asgd takes no --averaged; it takes --horizon, --step, --oracle"]);
    folder
        .run("compare t.csv -t y --averaged")
        .fails(2, &["compare takes no --averaged: it judges the predictions made before each row"]);
    folder.run("merge m.kalmia whole.kalmia -o both.kalmia").fails(2, &["averaged ons"]);
}

#[test]
fn a_mean_grows_with_new_levels() {
    let folder = Folder::new("mean-levels");
    let mut text = String::from("k,x,y\n");
    for i in 0..60_000 {
        text.push_str(&format!("k{},{},{}\n", i / 30_000, i % 7, (i % 5 + i / 30_000) % 2));
    }
    folder.write("t.csv", &text);
    let found = folder.json("--quiet fit t.csv -t y --method ekf --averaged --json");
    assert_eq!(found["coefficients"].as_array().unwrap().len(), 3);
    assert!(number(&found, "coefficients.2.estimate").is_finite());
}

/// Coefficients by the normal equations about a start of mean `m` and precision `a`, for two
/// features.
fn ridge(x: &[[f64; 2]], y: &[f64], m: [f64; 2], mut a: [f64; 3]) -> [f64; 2] {
    let mut b = [a[0] * m[0] + a[1] * m[1], a[1] * m[0] + a[2] * m[1]];
    for (x, y) in x.iter().zip(y) {
        a = [a[0] + x[0] * x[0], a[1] + x[0] * x[1], a[2] + x[1] * x[1]];
        b = [b[0] + x[0] * y, b[1] + x[1] * y];
    }
    let det = a[0] * a[2] - a[1] * a[1];
    [(a[2] * b[0] - a[1] * b[1]) / det, (a[0] * b[1] - a[1] * b[0]) / det]
}

#[test]
fn a_filter_starts_where_it_is_told() {
    let folder = Folder::new("start");
    let x = [[1.0, 0.5], [1.0, -1.0], [1.0, 2.0]];
    let y = [1.25, 0.5, 3.0];
    folder.write("t.csv", "x,y\n0.5,1.25\n-1,0.5\n2,3\n");
    // in another order than the model's; the covariance [[2, 1], [1, 2]] in the model's order has
    // the precision [[2, -1], [-1, 2]] / 3
    let full = concat!(
        r#"{"coefficients": ["x", "(intercept)"], "mean": [0.5, -1], "#,
        r#""covariance": [[2, 1], [1, 2]]}"#
    );
    folder.write("full.json", full);
    folder.write("mean.json", r#"{"coefficients": ["(intercept)", "x"], "mean": [-1, 0.5]}"#);
    let words = "--quiet fit t.csv -t y --family gaussian:1 --method ekf --json --start";
    let near = |found: Vec<f64>, expected: [f64; 2]| {
        let gap = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(gap < 1e-12, "{found:?}, not {expected:?}");
    };
    let third = 1.0 / 3.0;
    let found = estimates(&folder.json(&format!("{words} full.json -o m.kalmia")));
    near(found, ridge(&x, &y, [-1.0, 0.5], [2.0 * third, -third, 2.0 * third]));
    let found = estimates(&folder.json(&format!("{words} mean.json --prior 4")));
    near(found, ridge(&x, &y, [-1.0, 0.5], [0.25, 0.0, 0.25]));
    // a fit that is resumed must have the same start
    folder.ok(&format!("{words} full.json --resume m.kalmia"));
    let other = folder.run(&format!("{words} mean.json --resume m.kalmia"));
    other.fails(2, &["cannot resume from m.kalmia: `start` was "]);
    for (file, said) in [
        ("{}", "--start bad.json: the start names no coefficients"),
        (r#"{"coefficients": ["x"], "mean": [1]}"#, "the start does not name `(intercept)`"),
        (
            r#"{"coefficients": ["(intercept)", "z"], "mean": [1, 2]}"#,
            "the start names `z`, but the first rows have the coefficients `(intercept)`, `x`",
        ),
        (
            r#"{"coefficients": ["(intercept)", "x"], "covariance": [[1, 2], [2, 1]]}"#,
            "`covariance` is not positive definite: pivot 0 is -3; give variances above 0, or a",
        ),
    ] {
        folder.write("bad.json", file);
        folder.run(&format!("{words} bad.json")).fails(2, &[said]);
    }
    folder
        .run(&format!("{words} full.json --prior 4"))
        .fails(2, &["the start holds a covariance, and prior is given too: give one of them"]);
    folder.run(&format!("{words} none.json")).fails(2, &["--start none.json: "]);
    folder
        .run("fit t.csv -t y --start mean.json")
        .fails(2, &["--method auto takes no --start; ekf, truncated, implicit, moment and ons"]);
}

#[test]
fn the_certificate_is_that_of_the_lemma_and_survives_updates() {
    let folder = rows("certificate");
    folder.write("two.csv", "x,y\n1,2\n1,1\n");
    let words = "--quiet fit two.csv -t y --no-intercept --family gaussian:1 --method ekf";
    let found = folder.json(&format!("{words} --certificate --json"));
    // losses 2 and 0; the ridge fit 1 has the loss 1/2 + 0 + 1/2
    for (key, expected) in [
        ("loss", 2.0),
        ("movement", 1.0),
        ("bound", 1.5),
        ("printed_bound", 2.0),
        ("log_det_growth", 3f64.ln()),
        ("hindsight", 1.0),
        ("regret", 1.0),
    ] {
        let value = number(&found, &format!("certificate.{key}"));
        assert!((value - expected).abs() < 1e-14, "{key} {value}");
    }
    assert!(folder.json(&format!("{words} --json")).get("certificate").is_none());
    let text = folder.ok(&format!("{words} --certificate"));
    assert!(text.contains("certificate  linearized regret at most 1.5000 against these"), "{text}");
    let options = "-t y --method truncated --certificate --json --quiet";
    let whole = folder.json(&format!("fit t.csv {options}"));
    assert_eq!(number(&whole, "certificate.rows"), 2000.0);
    folder.json(&format!("fit 1.csv {options} -o m.kalmia"));
    let resumed = folder.run("fit 1.csv -t y --method truncated --resume m.kalmia");
    resumed.fails(2, &["cannot resume from m.kalmia: `certificate` was true and is now absent"]);
    let more = folder.json("update m.kalmia 2.csv --json --quiet");
    assert_eq!(more["certificate"], whole["certificate"]);
    folder
        .run("fit t.csv -t y --certificate")
        .fails(2, &["--method auto has no --certificate; ekf, truncated, implicit and moment"]);
}
