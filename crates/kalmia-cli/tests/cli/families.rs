//! Negative binomial counts, quantiles and Student's noise through every command.

use crate::harness::{Folder, Uniform, number, wait_until};
use serde_json::Value;
use std::fmt::Write as _;

/// What the features add to the linear predictor, the intercept first.
const THETA: [f64; 3] = [0.5, 0.4, -0.3];

struct Case {
    family: &'static str,
    name: &'static str,
    /// A target with this linear predictor.
    draw: fn(f64, &mut Uniform) -> f64,
    /// What the intercept of the fit is above that of the linear predictor.
    shift: f64,
}

/// Counts of mean e^u and variance mu + mu^2: the geometric law, whose alpha is 1.
fn geometric(u: f64, uniform: &mut Uniform) -> f64 {
    let mean = u.exp();
    ((1.0 - uniform.next()).ln() / (mean / (1.0 + mean)).ln()).floor()
}

/// Student's noise of 2 degrees of freedom, whose quantile has a closed form.
fn heavy(u: f64, uniform: &mut Uniform) -> f64 {
    let p = uniform.next().max(1e-12);
    u + (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt()
}

/// Exponential noise, whose quantile of level 0.8 is ln 5.
fn skewed(u: f64, uniform: &mut Uniform) -> f64 {
    u - (1.0 - uniform.next()).ln()
}

const CASES: [Case; 3] = [
    Case { family: "negative-binomial", name: "negative-binomial", draw: geometric, shift: 0.0 },
    Case { family: "quantile:0.8", name: "quantile", draw: skewed, shift: 1.6094379124341003 },
    Case { family: "student:3", name: "student", draw: heavy, shift: 0.0 },
];

/// Columns a, b and y.
fn rows(case: &Case, count: usize) -> String {
    let mut uniform = Uniform(23);
    let mut out = String::from("a,b,y\n");
    for _ in 0..count {
        let [a, b] = [(); 2].map(|()| 4.0 * uniform.next() - 2.0);
        let u = THETA[0] + THETA[1] * a + THETA[2] * b;
        writeln!(out, "{a},{b},{}", (case.draw)(u, &mut uniform)).unwrap();
    }
    out
}

/// The rows of a CSV as numbers, the head left out.
fn numbers(text: &str) -> Vec<Vec<f64>> {
    let row = |line: &str| line.split(',').map(|cell| cell.parse().unwrap()).collect();
    text.lines().skip(1).map(row).collect()
}

fn estimates(model: &Value) -> [f64; 3] {
    [0, 1, 2].map(|j| number(&model["coefficients"][j], "estimate"))
}

#[test]
fn every_command_takes_the_families() {
    for case in &CASES {
        let folder = Folder::new(&format!("families-{}", case.name));
        // two blocks: where rows are cut into blocks changes the rounding
        let csv = rows(case, 4096);
        let half = csv.match_indices('\n').nth(2048).unwrap().0 + 1;
        folder.write("t.csv", &csv);
        folder.write("1.csv", &csv[..half]);
        folder.write("2.csv", format!("a,b,y\n{}", &csv[half..]));
        let family = case.family;

        let fitted = folder.json(&format!("fit t.csv -t y --family {family} -o m.kalmia --json"));
        assert_eq!((&fitted["family"], &fitted["rows"]), (&case.name.into(), &4096.into()));
        for (j, found) in estimates(&fitted).into_iter().enumerate() {
            let truth = THETA[j] + if j == 0 { case.shift } else { 0.0 };
            let error = number(&fitted["coefficients"][j], "std_error");
            assert!(
                (found - truth).abs() < 5.0 * error && error < 0.1,
                "{family}: {found} {truth}"
            );
        }

        folder.ok(&format!("fit 1.csv -t y --family {family} -o u.kalmia"));
        let updated = folder.json("update u.kalmia 2.csv --json");
        assert_eq!(
            (&updated["coefficients"], &updated["progressive"]),
            (&fitted["coefficients"], &fitted["progressive"]),
            "{family}"
        );

        let inspected = folder.json("inspect m.kalmia --json");
        assert_eq!(inspected["coefficients"], fitted["coefficients"]);
        assert!(folder.ok("inspect m.kalmia").contains(case.name));

        let predicted = numbers(&folder.ok("predict m.kalmia t.csv"));
        let data = numbers(&csv);
        let theta = estimates(&fitted);
        for (row, x) in predicted.iter().zip(&data) {
            let [mean, lower, upper, linear, sd] = row[..] else { panic!("{row:?}") };
            let u = theta[0] + theta[1] * x[0] + theta[2] * x[1];
            assert!((linear - u).abs() < 1e-9 && sd > 0.0 && lower <= mean && mean <= upper);
            let expected = if case.name == "negative-binomial" { u.exp() } else { u };
            // the mean of counts is averaged over the uncertainty of the linear predictor
            assert!(
                (mean - expected).abs() <= 1e-9 + sd * sd * expected.abs(),
                "{family}: {row:?}"
            );
        }

        let exported = folder.json("export m.kalmia --format json");
        assert_eq!(exported["family"]["kind"], case.name);
        let link = if case.name == "negative-binomial" { "log" } else { "identity" };
        assert_eq!(exported["link"], link);
        assert_eq!(estimates(&exported), theta);
        // python/tests/test_export.py evaluates the graph
        folder.ok("export m.kalmia --format onnx -o m.onnx");
    }
}

#[test]
fn killed_and_resumed_it_is_the_same_model() {
    use std::io::Write;
    for case in &CASES {
        let folder = Folder::new(&format!("families-resume-{}", case.name));
        let csv = rows(case, 60_000);
        let fit = format!("--quiet fit - -t y --family {}", case.family);
        folder.pipe(&format!("{fit} -o whole.kalmia"), csv.as_bytes()).ok();
        let mut child = folder.spawn(&format!("{fit} -o m.kalmia --checkpoint-every 1000"));
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(&csv.as_bytes()[..csv.len() / 2]).unwrap();
        wait_until("the first checkpoint", || folder.exists("m.kalmia"));
        child.kill().unwrap();
        drop(pipe);
        assert_eq!(child.wait().unwrap().code(), None, "it ended instead of being killed");
        let stopped = folder.json("inspect m.kalmia --json");
        assert!(number(&stopped, "rows") < 60_000.0, "{}", case.name);
        folder.pipe(&format!("{fit} --resume m.kalmia"), csv.as_bytes()).ok();
        let resumed = folder.json("inspect m.kalmia --json");
        let whole = folder.json("inspect whole.kalmia --json");
        for part in ["coefficients", "progressive", "family", "mixture"] {
            assert_eq!(resumed[part], whole[part], "{}: {part}", case.name);
        }
    }
}

/// The rows whose predicted interval holds the target, and those whose target is at most the mean.
fn shares(folder: &Folder, words: &str, csv: &str) -> (f64, f64) {
    let predicted = numbers(&folder.ok(words));
    let data = numbers(csv);
    let share = |inside: &dyn Fn(&[f64], f64) -> bool| {
        let rows = predicted.iter().zip(&data);
        rows.filter(|(row, x)| inside(row, x[2])).count() as f64 / data.len() as f64
    };
    (share(&|row, y| row[1] <= y && y <= row[2]), share(&|row, y| y <= row[0]))
}

#[test]
fn evaluate_judges_intervals_of_targets_and_the_share_below_a_quantile() {
    for case in &CASES {
        let folder = Folder::new(&format!("families-evaluate-{}", case.name));
        let csv = rows(case, 6000);
        folder.write("t.csv", &csv);
        folder.ok(&format!("fit t.csv -t y --family {} -o m.kalmia", case.family));
        let text = folder.ok("evaluate m.kalmia t.csv");
        let scores = folder.json("evaluate m.kalmia t.csv --json");
        assert_eq!((&scores["family"], &scores["rows"]), (&case.name.into(), &6000.into()));
        let (inside, below) = shares(&folder, "predict m.kalmia t.csv", &csv);
        if case.name == "quantile" {
            assert!((number(&scores, "share_below") - below).abs() < 1e-12, "{below}");
            assert!((below - 0.8).abs() < 0.01, "{below}");
            assert_eq!((&scores["level"], &scores["coverage"]), (&0.8.into(), &Value::Null));
            let said = format!("share below {:.1} %  (level 80 %)", 100.0 * below);
            assert!(text.contains(&said) && !text.contains("intervals"), "{text}");
            continue;
        }
        assert!((number(&scores, "coverage") - inside).abs() < 1e-12, "{inside}");
        assert_eq!((&scores["level"], &scores["share_below"]), (&Value::Null, &Value::Null));
        assert!(text.contains(&format!("95 % intervals held {:.1} %", 100.0 * inside)), "{text}");
        // counts have whole ends, so their intervals hold more; the noise of Student's case has 2
        // degrees of freedom and the family 3
        let least = if case.name == "student" { 0.92 } else { 0.945 };
        assert!((least..0.99).contains(&inside), "{}: {inside}", case.name);
    }
}

#[test]
fn the_progressive_scores_of_a_quantile_show_the_share_below() {
    let folder = Folder::new("families-share");
    folder.write("t.csv", rows(&CASES[1], 6000));
    let text = folder.ok("fit t.csv -t y --family quantile:0.8 -o m.kalmia");
    assert!(text.contains("share below ") && text.contains("(level 80 %)"), "{text}");
    // the pinball loss is no half of a deviance
    assert!(!text.contains("intervals held") && !text.contains("deviance"), "{text}");
    let summary = folder.json("inspect m.kalmia --json");
    for path in ["progressive.share_below", "progressive.last_half.share_below"] {
        let share = number(&summary, path);
        // five standard errors of a share of 0.8 in 3000 rows
        assert!((share - 0.8).abs() < 0.037, "{path}: {share}");
    }
    let table = folder.ok("compare t.csv -t y --family quantile:0.8 --methods auto,moment");
    assert!(table.contains("share below") && !table.contains("coverage"), "{table}");
}

#[test]
fn bad_parameters_are_explained() {
    let folder = Folder::new("families-parameters");
    folder.write("t.csv", rows(&CASES[0], 50));
    for (family, said) in [
        ("quantile:1.5", "the level must lie between 0 and 1"),
        ("quantile:0", "the level must lie between 0 and 1"),
        ("quantile:high", "`high` is not a number"),
        ("student:1", "the degrees of freedom must lie between 2.1 and 100"),
        ("negative-binomial:-1", "the dispersion must lie between 1e-8 and 1e8"),
        ("negativ-binomial", "did you mean negative-binomial?"),
    ] {
        let run = folder.run(&format!("fit t.csv -t y --family {family} -o m.kalmia"));
        run.fails(2, &[family, said]);
        assert!(!folder.exists("m.kalmia"));
    }
    let fixed = "fit t.csv -t y --family negative-binomial:0.5";
    folder.run(fixed).fails(2, &["negative-binomial:0.5", "auto and wide learn"]);
    let filter = folder.json(&format!("{fixed} --method moment --json"));
    assert_eq!(
        (number(&filter, "dispersion"), &filter["dispersion_learned"]),
        (0.5, &false.into())
    );
}

#[test]
fn wrong_counts_name_their_place_and_change_nothing() {
    let folder = Folder::new("families-counts");
    let csv = rows(&CASES[0], 300);
    for bad in ["-1", "2.5"] {
        folder.write("bad.csv", format!("{csv}0.5,0.5,{bad}\n"));
        let said = ["bad.csv, row 301 (line 302)", &format!("target `y` is {bad}"), "whole"];
        folder.run("fit bad.csv -t y --family negative-binomial -o m.kalmia").fails(2, &said);
        assert!(!folder.exists("m.kalmia"));
    }
    folder.write("t.csv", &csv);
    folder.ok("fit t.csv -t y --family negative-binomial -o m.kalmia");
    let before = folder.read("m.kalmia");
    folder.run("update m.kalmia bad.csv").fails(2, &["row 301", "target `y` is 2.5"]);
    folder.run("evaluate m.kalmia bad.csv").fails(2, &["row 301", "target `y` is 2.5"]);
    assert_eq!(folder.read("m.kalmia"), before);
}

/// The largest mean over rows of a score times a feature; 0 where the score equation holds.
fn gradient(csv: &str, theta: [f64; 3], score: impl Fn(f64, f64) -> f64) -> f64 {
    let data = numbers(csv);
    let mut sums = [0.0; 3];
    for row in &data {
        let x = [1.0, row[0], row[1]];
        let u: f64 = x.iter().zip(theta).map(|(x, t)| x * t).sum();
        sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += score(row[2], u) * x);
    }
    sums.iter().fold(0.0, |most, s| if s.abs() <= most { most } else { s.abs() })
        / data.len() as f64
}

#[test]
fn polished_counts_and_robust_lines_solve_their_score_equations() {
    for case in [&CASES[0], &CASES[2]] {
        let folder = Folder::new(&format!("families-polish-{}", case.name));
        let csv = rows(case, 2000);
        folder.write("t.csv", &csv);
        let words = format!("fit t.csv -t y --family {} -o m.kalmia --json", case.family);
        let shape = number(&folder.json(&words), "dispersion");
        let polished = folder.json("polish m.kalmia t.csv --prior flat --json");
        let score = |y: f64, u: f64| match case.name {
            "student" => (y - u) / (3.0 * shape * shape + (y - u).powi(2)),
            _ => (y - u.exp()) / (1.0 + shape * u.exp()),
        };
        let left = gradient(&csv, estimates(&polished), score);
        assert!(left < 1e-6, "{}: {left}", case.name);
    }
}

#[test]
fn a_quantile_is_merged_but_not_polished() {
    let folder = Folder::new("families-quantile-polish");
    folder.write("t.csv", rows(&CASES[1], 4000));
    folder.ok("fit t.csv -t y --family quantile:0.8 -o m.kalmia");
    let before = folder.read("m.kalmia");
    let said = ["a quantile cannot be polished", "no curvature"];
    folder.run("polish m.kalmia t.csv").fails(2, &said);
    assert_eq!(folder.read("m.kalmia"), before);
    folder.run("fit t.csv -t y --family quantile:0.8 --passes 2").fails(2, &said);
    let shards = folder.json("fit t.csv -t y --family quantile:0.8 --shards 3 --json");
    assert_eq!((&shards["shards"], &shards["polish_passes"]), (&3.into(), &Value::Null));
    let alone = folder.json("inspect m.kalmia --json");
    for j in 0..3 {
        let error = number(&alone["coefficients"][j], "std_error");
        let apart = (estimates(&shards)[j] - estimates(&alone)[j]).abs();
        assert!(apart < 2.0 * error, "{j}: {apart} {error}");
    }
}
