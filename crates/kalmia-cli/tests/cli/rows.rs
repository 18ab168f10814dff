//! What the rows themselves say: their order, weights and spread, and honest summaries of them.

use crate::harness::{Folder, Uniform, number, table};
use serde_json::Value;

/// A standard normal number, nearly.
fn normal(uniform: &mut Uniform) -> f64 {
    (0..12).map(|_| uniform.next()).sum::<f64>() - 6.0
}

/// Rows `x,w,y` with y from x by `draw`.
fn rows(n: usize, mut draw: impl FnMut(f64, f64, &mut Uniform) -> f64) -> String {
    let mut uniform = Uniform(3);
    let mut out = String::from("x,w,y\n");
    for _ in 0..n {
        let x = normal(&mut uniform);
        let w = 0.5 + 4.0 * uniform.next();
        let y = draw(x, w, &mut uniform);
        out.push_str(&format!("{x},{w},{y}\n"));
    }
    out
}

/// A Poisson count by multiplication of uniform numbers.
fn count(mean: f64, uniform: &mut Uniform) -> f64 {
    let limit = (-mean).exp();
    let mut product = uniform.next();
    let mut found = 0.0;
    while product > limit {
        product *= uniform.next();
        found += 1.0;
    }
    found
}

#[test]
fn a_target_far_from_0_costs_both_predictors_alike() {
    let folder = Folder::new("far");
    folder.write("t.csv", rows(1000, |x, _, u| 300.0 + 2.0 * x + 0.5 * normal(u)));
    let fit = folder.json("fit t.csv -t y --exclude w --method ekf --prior 1e6 --json");
    let half = &fit["progressive"]["last_half"];
    assert_eq!((half["first_row"].as_u64(), half["last_row"].as_u64()), (Some(481), Some(1000)));
    assert!(number(half, "loss") < 0.15 && number(half, "baseline_loss") > 1.5, "{half}");
    assert!((number(half, "pearson_dispersion") - 2.0 * number(half, "loss")).abs() < 1e-9);
    // the constant predictor does not get the first row for nothing, nor does the model pay for it
    assert!(number(&fit, "progressive.baseline_loss") < 3.0);
    let text = folder.ok("fit t.csv -t y --exclude w --method ekf --prior 1e6 --trace c.csv");
    assert!(text.contains("last half") && text.contains("rows 481 to 1 000"), "{text}");
    assert!(folder.text("c.csv").lines().nth(1).unwrap().starts_with("2,"));
}

#[test]
fn an_evaluation_leaves_no_row_out_and_knows_the_mean_of_the_fit() {
    let folder = Folder::new("evaluate");
    folder.write("t.csv", rows(500, |x, _, u| 300.0 + 2.0 * x + 0.5 * normal(u)));
    folder.write("one.csv", "x,y\n1,310\n");
    folder.ok("fit t.csv -t y --exclude w -o m.kalmia");
    let found = folder.json("evaluate m.kalmia one.csv --json");
    assert_eq!(found["rows"].as_u64(), Some(1));
    assert!((number(&found, "baseline_loss") / 50.0 - 1.0).abs() < 0.1, "{found}");
    for (family, shift) in [("poisson", 0.0), ("gamma", 0.5), ("binomial:30", 0.0)] {
        folder.write("c.csv", rows(800, |x, _, u| shift + count((0.5 + 0.3 * x).exp(), u)));
        folder.ok(&format!("fit c.csv -t y --exclude w --family {family} -o c.kalmia"));
        let found = folder.json("evaluate c.kalmia c.csv --json");
        let coverage = number(&found, "coverage");
        assert!((0.9..=1.0).contains(&coverage), "{family}: {found}");
        let shown = folder.ok("evaluate c.kalmia c.csv");
        assert!(shown.contains("95 % intervals held") && shown.contains("Pearson"), "{shown}");
    }
}

#[test]
fn counts_that_vary_more_than_poisson_are_reported() {
    let folder = Folder::new("dispersion");
    folder.write("wide.csv", rows(3000, |x, _, u| 5.0 * count((0.5 + 0.3 * x).exp(), u)));
    folder.write("plain.csv", rows(3000, |x, _, u| count((0.5 + 0.3 * x).exp(), u)));
    let words =
        |file: &str| format!("fit {file} -t y --exclude w --family poisson --method moment");
    let run = folder.run(&words("wide.csv"));
    let said = run.stderr();
    assert!(said.contains("times as much as poisson allows"), "{said}");
    assert!(said.contains("--method auto learns the dispersion"), "{said}");
    let json = folder.json(&format!("{} --json", words("wide.csv")));
    let factor = number(&json, "progressive.last_half.pearson_dispersion");
    assert!((factor / 5.0 - 1.0).abs() < 0.15, "{factor}");
    assert_eq!(number(&json, "overdispersion.factor"), factor);
    let root = number(&json, "overdispersion.std_error_factor");
    assert!((root * root - factor).abs() < 1e-9);
    assert!(number(&json, "progressive.coverage") < 0.9);
    let json = folder.json(&format!("{} --json", words("plain.csv")));
    assert_eq!(json["overdispersion"], Value::Null);
    assert!((0.94..=0.995).contains(&number(&json, "progressive.coverage")), "{json}");
    assert!(!folder.run(&words("plain.csv")).stderr().contains("times as much"));
}

#[test]
fn rates_weighted_by_their_exposure_are_counts_with_an_offset() {
    let folder = Folder::new("rates");
    let mut uniform = Uniform(5);
    let mut text = String::from("x,exposure,log_exposure,count,rate\n");
    for _ in 0..3000 {
        let x = normal(&mut uniform);
        let exposure = 0.5 + 6.0 * uniform.next();
        let n = count(exposure * (0.3 + 0.5 * x).exp(), &mut uniform);
        text.push_str(&format!("{x},{exposure},{},{n},{}\n", exposure.ln(), n / exposure));
    }
    folder.write("t.csv", text);
    let rate =
        folder.json("fit t.csv -t rate --features x --weight exposure --family poisson --json");
    let counts = folder
        .json("fit t.csv -t count --features x --offset log_exposure --family poisson --json");
    for j in 0..2 {
        let of = |fit: &Value, key: &str| number(fit, &format!("coefficients.{j}.{key}"));
        let error = of(&counts, "std_error");
        assert!((of(&rate, "estimate") - of(&counts, "estimate")).abs() < 0.3 * error);
        assert!((of(&rate, "std_error") / error - 1.0).abs() < 0.1);
    }
    let pearson = number(&rate, "progressive.last_half.pearson_dispersion");
    assert!((pearson - 1.0).abs() < 0.15, "{pearson}");
    folder.write("bad.csv", "x,y\n1,0.5\n2,-1\n");
    folder.run("fit bad.csv -t y --family poisson").fails(2, &["row 2", "0 to 9e15"]);
}

#[test]
fn what_a_method_does_not_take_is_refused() {
    let folder = Folder::new("taken");
    folder.write("t.csv", rows(200, |x, _, u| 5.0 + x + normal(u)));
    for (family, plain) in [("gaussian:100", "gaussian"), ("gamma:7", "gamma")] {
        let words = format!("fit t.csv -t y --family {family}");
        folder
            .run(&words)
            .fails(2, &[family, "auto and wide learn", "hint: --family", plain, "ekf"]);
        let fit = folder.json(&format!("{words} --method ekf --json"));
        let given: f64 = family.split(':').nth(1).unwrap().parse().unwrap();
        assert_eq!(number(&fit, "dispersion"), given);
        assert_eq!(fit["dispersion_learned"], false);
        let run = folder.run(&format!("compare t.csv -t y --family {family}"));
        assert!(run.stderr().contains("auto is left out"), "{}", run.stderr());
        assert!(run.ok().contains("ekf"));
    }
    assert_eq!(folder.json("fit t.csv -t y --json")["dispersion_learned"], true);
    let given = [
        ("drift", "off", "auto"),
        ("prior", "2", "ekf,truncated,implicit,moment"),
        ("scale", "2", "truncated"),
        ("beta", "0.3", "truncated"),
        ("radius", "5", "ons"),
        ("exp-concavity", "0.1", "ons"),
        ("gradient-bound", "9", "ons"),
        ("horizon", "500", "asgd"),
        ("step", "0.01", "asgd"),
    ];
    for (option, value, takers) in given {
        for method in ["auto", "ekf", "truncated", "implicit", "moment", "ons", "asgd"] {
            let run = folder.run(&format!("fit t.csv -t y --method {method} --{option} {value}"));
            if takers.split(',').any(|taker| taker == method) {
                run.ok();
            } else {
                run.fails(2, &[&format!("--method {method} takes no --{option}")]);
            }
        }
    }
    folder.run("fit t.csv -t y --weight-kind precision").fails(2, &["--weight"]);
    folder.run("fit t.csv -t y --seed 3").fails(2, &["--shuffle"]);
}

/// The rows of [`table`] with the label in blocks.
fn sorted_table(rows: usize) -> String {
    let text = table(rows, ["0", "1"]);
    let (head, body) = text.split_once('\n').unwrap();
    let mut lines: Vec<&str> = body.lines().collect();
    lines.sort_by_key(|line| line.ends_with('1'));
    format!("{head}\n{}\n", lines.join("\n"))
}

#[test]
fn sorted_rows_are_noticed_and_a_shuffle_mends_them() {
    let folder = Folder::new("sorted");
    folder.write("mixed.csv", table(3000, ["0", "1"]));
    folder.write("sorted.csv", sorted_table(3000));
    let run = folder.run("fit sorted.csv -t y --family bernoulli");
    assert!(run.stderr().contains("sorted by the target"), "{}", run.stderr());
    assert!(run.stderr().contains("--shuffle"), "{}", run.stderr());
    assert!(!folder.run("fit mixed.csv -t y").stderr().contains("sorted"));
    assert!(
        folder
            .run("compare sorted.csv -t y --family bernoulli")
            .stderr()
            .contains("sorted by the target")
    );
    let mixed = folder.json("fit mixed.csv -t y --json");
    let run = folder.run("fit sorted.csv -t y --shuffle --json -o s.kalmia");
    assert!(!run.stderr().contains("sorted"), "{}", run.stderr());
    let shuffled: Value = serde_json::from_str(&run.ok()).unwrap();
    let poor = folder.json("fit sorted.csv -t y --family bernoulli --json");
    assert_eq!((&shuffled["sorted"], &poor["sorted"]), (&false.into(), &true.into()));
    assert_eq!(shuffled["rows"].as_u64(), Some(3000));
    // all rows decide the family, not the first ones, which are all 0
    assert_eq!(shuffled["family"], "bernoulli");
    let loss = |fit: &Value| number(fit, "progressive.loss");
    assert!((loss(&shuffled) / loss(&mixed) - 1.0).abs() < 0.03, "{shuffled}");
    for j in 0..4 {
        let of = |fit: &Value, key: &str| number(fit, &format!("coefficients.{j}.{key}"));
        let off = (of(&shuffled, "estimate") - of(&mixed, "estimate")).abs();
        assert!(off < 0.3 * of(&mixed, "std_error"), "coefficient {j}: {shuffled}");
    }
    // the seed decides, and only the seed
    folder.ok("fit sorted.csv -t y --shuffle --seed 0 -o same.kalmia");
    folder.ok("fit sorted.csv -t y --shuffle --seed 1 -o other.kalmia");
    assert_eq!(folder.read("s.kalmia"), folder.read("same.kalmia"));
    assert_ne!(folder.read("s.kalmia"), folder.read("other.kalmia"));
    assert!(folder.ok("predict s.kalmia mixed.csv").lines().count() == 3001);
    let piped = folder.pipe("fit - -t y --shuffle --json", sorted_table(3000).as_bytes()).ok();
    let piped: Value = serde_json::from_str(&piped).unwrap();
    assert_eq!(piped["coefficients"], shuffled["coefficients"]);
}

#[test]
fn a_shuffle_names_the_row_at_fault_and_takes_no_checkpoints() {
    let folder = Folder::new("shuffle");
    let mut text = sorted_table(2000);
    text.push_str("1,1,1,7\n");
    folder.write("late.csv", text);
    folder
        .run("fit late.csv -t y --family bernoulli --shuffle")
        .fails(2, &["late.csv, row 2001 (line 2002)", "target `y` is 7"]);
    folder.write("t.csv", sorted_table(100));
    for other in ["--resume m.kalmia", "--checkpoint-every 10 -o m.kalmia"] {
        folder.run(&format!("fit t.csv -t y --shuffle {other}")).fails(2, &["--shuffle"]);
    }
    folder.run("fit t.csv -t y --shuffle --drift adapt").fails(2, &["--drift adapt", "--shuffle"]);
    // levels that appear late have their coefficient from the first row on, in any method
    let mut text = String::from("g,y\n");
    (0..3000).for_each(|i| text.push_str(&format!("{},{}\n", ["a", "b"][i % 2], i % 3)));
    text.push_str("late,1\n");
    folder.write("levels.csv", text);
    let fit = folder.json("fit levels.csv -t y --method ons --shuffle --json");
    assert_eq!(fit["coefficients"].as_array().unwrap().len(), 3);
}

#[test]
fn precision_weights_are_relative_and_give_the_errors_of_weighted_least_squares() {
    let folder = Folder::new("precision");
    let text = rows(2000, |x, w, u| 1.0 + 2.0 * x + normal(u) / w.sqrt());
    folder.write("t.csv", &text);
    let scaled: String = text
        .lines()
        .map(|line| {
            let v: Vec<&str> = line.split(',').collect();
            let w = v[1].parse::<f64>().map_or("w".into(), |w| (1e-6 * w).to_string());
            format!("{},{w},{}\n", v[0], v[2])
        })
        .collect();
    folder.write("scaled.csv", scaled);
    let words = |file: &str| format!("fit {file} -t y --weight w --weight-kind precision --json");
    let one = folder.json(&words("t.csv"));
    let other = folder.json(&words("scaled.csv"));
    // weighted least squares by the normal equations of two coefficients
    let mut s = [0.0; 6];
    let data: Vec<[f64; 3]> = text
        .lines()
        .skip(1)
        .map(|line| {
            let v: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            [v[0], v[1], v[2]]
        })
        .collect();
    for [x, w, y] in &data {
        for (sum, term) in s.iter_mut().zip([1.0, *x, x * x, *y, x * y]) {
            *sum += w * term;
        }
    }
    let determinant = s[0] * s[2] - s[1] * s[1];
    let slope = (s[0] * s[4] - s[1] * s[3]) / determinant;
    let level = (s[2] * s[3] - s[1] * s[4]) / determinant;
    let squares: f64 = data.iter().map(|[x, w, y]| w * (y - level - slope * x).powi(2)).sum();
    let error = (squares / 1998.0 * s[0] / determinant).sqrt();
    for fit in [&one, &other] {
        assert!((number(fit, "coefficients.1.estimate") - slope).abs() < 0.3 * error);
        assert!((number(fit, "coefficients.1.std_error") / error - 1.0).abs() < 0.03);
    }
    let [a, b] = [&one, &other].map(|fit| number(fit, "coefficients.1.estimate"));
    assert!((a - b).abs() < 1e-9, "{a} {b}");
    // frequencies of this size are probably no frequencies
    let run = folder.run("fit scaled.csv -t y --weight w");
    assert!(run.stderr().contains("--weight-kind precision"), "{}", run.stderr());
    assert!(!folder.run("fit t.csv -t y --weight w").stderr().contains("--weight-kind"));
    // a fit that was stopped continues with the same mean
    let words = "fit t.csv -t y --weight w --weight-kind precision";
    folder.ok(&format!("{words} -o whole.kalmia"));
    folder.write("head.csv", text.lines().take(1025).collect::<Vec<_>>().join("\n"));
    folder.write(
        "tail.csv",
        format!("x,w,y\n{}", text.lines().skip(1025).collect::<Vec<_>>().join("\n")),
    );
    folder.ok("fit head.csv -t y --weight w --weight-kind precision -o part.kalmia");
    let update = folder.json("update part.kalmia tail.csv --json");
    let whole = folder.json("inspect whole.kalmia --json");
    let [a, b] = [&update, &whole].map(|fit| number(fit, "coefficients.1.std_error"));
    assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
    let zero = text.lines().map(|line| {
        let v: Vec<&str> = line.split(',').collect();
        format!("{},{},{}\n", v[0], if v[1] == "w" { "w" } else { "0" }, v[2])
    });
    folder.write("zero.csv", zero.collect::<String>());
    for kind in ["frequency", "precision"] {
        let words = format!("fit zero.csv -t y --weight w --weight-kind {kind}");
        folder.run(&words).fails(2, &["every row has the weight 0"]);
    }
}

/// A weight that would overflow is refused with its row, and the largest legal one gives finite
/// numbers under every method.
#[test]
fn a_weight_is_too_large_or_gives_finite_standard_errors() {
    let folder = Folder::new("large-weight");
    let rows = |first: &str, others: &str| {
        let weight = |i: usize| if i == 0 { first } else { others };
        let line = |i: usize| format!("{i},{},{}\n", 1 + i * 7919 % 13, weight(i));
        (0..40).map(line).fold("x,y,w\n".to_owned(), |text, line| text + &line)
    };
    folder.write("huge.csv", rows("1e300", "1"));
    for method in ["auto", "ekf", "moment", "ons", "asgd"] {
        folder.run(&format!("-q fit huge.csv -t y --weight w --method {method}")).fails(
            2,
            &[
                "huge.csv, row 1 (line 2): weight is 1e300, expected a number from 0 to 1e30",
                "hint: --weight-kind precision divides the weights by their mean",
            ],
        );
    }
    folder.ok("-q fit huge.csv -t y --weight w --weight-kind precision");
    for (first, others) in [("1e30", "1"), ("1", "1e30"), ("1e30", "1e30")] {
        folder.write("large.csv", rows(first, others));
        for method in ["auto", "ekf", "moment", "implicit"] {
            for family in ["gaussian", "gamma", "poisson"] {
                let words = format!(
                    "-q fit large.csv -t y --weight w --method {method} --family {family} --json"
                );
                let fit = folder.json(&words);
                for row in fit["coefficients"].as_array().unwrap() {
                    let finite = |key: &str| row[key].as_f64().is_some_and(f64::is_finite);
                    assert!(finite("estimate") && finite("std_error"), "{words}: {row}");
                }
            }
        }
    }
}

/// A weight counts rows: a million times as many divide each standard error by a thousand and leave
/// the estimate, also for families whose steps are integrals.
#[test]
fn standard_errors_follow_the_root_of_large_weights() {
    let folder = Folder::new("root-weight");
    for weight in ["1e9", "1e15"] {
        let line = |i: usize| format!("{i},{},{weight}\n", 1 + i * 7919 % 13);
        let rows: String = (0..40).map(line).collect();
        folder.write(&format!("{weight}.csv"), format!("x,y,w\n{rows}"));
    }
    for family in ["gaussian", "gamma", "poisson"] {
        for method in ["auto", "moment", "implicit"] {
            let options = format!("-t y --weight w --family {family} --method {method} --json");
            let few = folder.json(&format!("-q fit 1e9.csv {options}"));
            let many = folder.json(&format!("-q fit 1e15.csv {options}"));
            for i in 0..2 {
                let [few, many] = [&few, &many].map(|fit| {
                    ["estimate", "std_error"]
                        .map(|key| number(fit, &format!("coefficients.{i}.{key}")))
                });
                let ratio = 1e3 * many[1] / few[1];
                assert!((ratio - 1.0).abs() < 1e-4, "{family} {method} {i}: {few:?} {many:?}");
                let moved = (many[0] - few[0]).abs();
                assert!(moved < 1e-5, "{family} {method} {i}: {few:?} {many:?}");
            }
        }
    }
}
