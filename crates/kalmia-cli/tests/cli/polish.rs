//! `kalmia polish`: what a second pass must reach, by the equations of the maximum itself.

use crate::harness::{Folder, Uniform, number, table};
use serde_json::Value;

/// The rows of [`table`] as numbers: 1, a, b, c, and the label.
fn rows(csv: &str) -> Vec<([f64; 4], f64)> {
    let row = |line: &str| {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        ([1.0, cells[0], cells[1], cells[2]], cells[3])
    };
    csv.lines().skip(1).map(row).collect()
}

fn estimates(model: &Value) -> [f64; 4] {
    [0, 1, 2, 3].map(|j| number(&model["coefficients"][j], "estimate"))
}

/// The largest entry of the gradient per row; 0 at the maximum of the likelihood.
fn gradient(csv: &str, theta: [f64; 4], mean: fn(f64) -> f64) -> f64 {
    let data = rows(csv);
    let mut sums = [0.0; 4];
    for (x, y) in &data {
        let u: f64 = x.iter().zip(theta).map(|(x, t)| x * t).sum();
        sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += (y - mean(u)) * x);
    }
    // NaN must fail
    sums.iter().fold(0.0, |most, s| if s.abs() <= most { most } else { s.abs() })
        / data.len() as f64
}

fn logistic(u: f64) -> f64 {
    1.0 / (1.0 + (-u).exp())
}

#[test]
fn a_second_pass_reaches_the_maximum_likelihood() {
    let folder = Folder::new("polish");
    let csv = table(2000, ["0", "1"]);
    folder.write("t.csv", &csv);
    for (family, mean) in [("bernoulli", logistic as fn(f64) -> f64), ("gaussian", |u| u)] {
        let fitted = folder.json(&format!("fit t.csv -t y --family {family} -o m.kalmia --json"));
        assert!(gradient(&csv, estimates(&fitted), mean) > 1e-6, "one pass is close, not there");
        let polished =
            folder.json("polish m.kalmia t.csv -o p.kalmia --prior flat --robust --json");
        assert!(gradient(&csv, estimates(&polished), mean) < 1e-8, "{family}");
        assert_eq!(polished["rows"], 2000);
        assert!(number(&polished, "moved_most") < 1e-4);
        // the labels follow no logistic law, so the two kinds of standard errors differ somewhat
        for j in 0..4 {
            let robust = number(&polished["robust_std_errors"], &j.to_string());
            let ratio = robust / number(&polished["coefficients"][j], "std_error");
            assert!((0.6..1.4).contains(&ratio), "{family}: {ratio}");
        }
        let kept = folder.json("inspect p.kalmia --json");
        assert_eq!(estimates(&kept), estimates(&polished));
        assert_eq!((&kept["rows"], &kept["method"]), (&2000.into(), &"moment".into()));
        assert_eq!(folder.json("update p.kalmia t.csv --json")["rows"], 4000);
        assert_eq!(folder.json("inspect m.kalmia --json")["rows"], 2000, "-o leaves the model");
    }
}

#[test]
fn merged_models_become_what_one_model_of_all_rows_is() {
    let folder = Folder::new("polish-merged");
    let csv = table(3000, ["0", "1"]);
    let (head, all) = csv.split_once('\n').unwrap();
    let half = all.match_indices('\n').nth(1499).unwrap().0 + 1;
    folder.write("t.csv", &csv);
    folder.write("a.csv", format!("{head}\n{}", &all[..half]));
    folder.write("b.csv", format!("{head}\n{}", &all[half..]));
    for name in ["t", "a", "b"] {
        folder.ok(&format!("fit {name}.csv -t y -o {name}.kalmia"));
    }
    folder.ok("merge a.kalmia b.kalmia -o ab.kalmia");
    let whole = folder.json("polish t.kalmia t.csv --prior flat --json");
    let parts = folder.json("polish ab.kalmia a.csv b.csv --prior flat --json");
    for j in 0..4 {
        let error = number(&whole["coefficients"][j], "std_error");
        let apart = estimates(&whole)[j] - estimates(&parts)[j];
        assert!(apart.abs() < 1e-4 * error, "coefficient {j}: {apart}");
    }
}

#[test]
fn what_cannot_be_polished_is_refused_and_nothing_changes() {
    let folder = Folder::new("polish-refused");
    folder.write("t.csv", table(300, ["0", "1"]));
    folder.ok("fit t.csv -t y -o m.kalmia");
    let before = folder.read("m.kalmia");
    let csv = folder.read("t.csv");
    folder.pipe("polish m.kalmia -", &csv).fails(2, &["several times", "--passes 1"]);
    let mut bad = csv.clone();
    bad.extend_from_slice(b"0.5,0.5,0.5,7\n");
    folder.write("bad.csv", bad);
    folder.run("polish m.kalmia bad.csv").fails(2, &["bad.csv, row 301", "target `y` is 7"]);
    assert_eq!(folder.read("m.kalmia"), before);
    folder.pipe("polish m.kalmia - --passes 1", &csv).ok();
    folder.write("words.csv", "text,y\ngood day,1\nbad day,0\ngood,1\nbad,0\n");
    folder.ok("fit words.csv -t y --text text -o w.kalmia");
    folder.run("polish w.kalmia words.csv").fails(2, &["a wide model cannot be polished"]);
    // labels that a column separates have no maximum
    folder.write("apart.csv", "x,y\n-2,0\n-1,0\n1,1\n2,1\n3,1\n");
    folder.ok("fit apart.csv -t y -o s.kalmia");
    let separated = ["no maximum", "coefficient of `", "separates the targets", "a prior"];
    folder.run("polish s.kalmia apart.csv --prior flat").fails(2, &separated);
    folder.write("twice.csv", "x,z,y\n0,0,1\n1,2,0\n2,4,1\n3,6,1\n4,8,0\n5,10,1\n");
    folder.ok("fit twice.csv -t y --family gaussian -o t.kalmia");
    let flat = folder.run("polish t.kalmia twice.csv --prior flat");
    flat.fails(2, &["do not determine", "`z`"]);
}

/// The prior of the model keeps coefficients finite that have no maximum otherwise, and the model
/// stays what it was.
#[test]
fn the_prior_of_the_model_is_kept() {
    let folder = Folder::new("polish-prior");
    folder.write("apart.csv", "x,y\n-2,0\n-1,0\n1,1\n2,1\n3,1\n");
    folder.ok("fit apart.csv -t y -o s.kalmia");
    let polished = folder.json("polish s.kalmia apart.csv --json");
    assert!(number(&polished["coefficients"][1], "estimate").is_finite());
    assert_eq!(folder.json("inspect s.kalmia --json")["method"], "auto");
    // columns that repeat each other
    folder.write("twice.csv", "x,z,y\n0,0,1\n1,2,0\n2,4,1\n3,6,1\n4,8,0\n5,10,1\n");
    folder.ok("fit twice.csv -t y --family gaussian -o t.kalmia");
    folder.ok("polish t.kalmia twice.csv");
    // a model that was polished flat is polished again, and nothing moves
    folder.write("t.csv", table(1000, ["0", "1"]));
    folder.ok("fit t.csv -t y -o f.kalmia");
    let once = folder.json("polish f.kalmia t.csv --prior flat --json");
    let again = folder.json("polish f.kalmia t.csv --json");
    for j in 0..4 {
        let error = number(&once["coefficients"][j], "std_error");
        let apart = estimates(&once)[j] - estimates(&again)[j];
        assert!(apart.abs() < 1e-3 * error, "coefficient {j}: {apart}");
    }
    // counts that vary more than Poisson allows keep their wide intervals
    let mut csv = String::from("x,y\n");
    for i in 0..2000 {
        csv.push_str(&format!("{},{}\n", i % 7, if i % 5 == 0 { 10 + i % 23 } else { 0 }));
    }
    folder.write("counts.csv", csv);
    folder.ok("fit counts.csv -t y --family poisson -o c.kalmia");
    let before = folder.ok("predict c.kalmia counts.csv --limit 1");
    let dispersion = number(&folder.json("polish c.kalmia counts.csv --json"), "dispersion");
    assert!(dispersion > 5.0, "{dispersion}");
    let after = folder.ok("predict c.kalmia counts.csv --limit 1");
    let upper = |csv: &str| -> f64 {
        csv.lines().nth(1).unwrap().split(',').nth(2).unwrap().parse().unwrap()
    };
    assert!((upper(&after) / upper(&before) - 1.0).abs() < 0.1, "{before}{after}");
}

/// A polish knows its own rows alone, so the wrong file must not cost a model its rows.
#[test]
fn a_model_is_not_replaced_by_one_of_fewer_rows() {
    let folder = Folder::new("polish-fewer");
    let csv = table(400, ["0", "1"]);
    folder.write("t.csv", &csv);
    folder.write("part.csv", csv.lines().take(51).collect::<Vec<_>>().join("\n"));
    folder.ok("fit t.csv -t y -o m.kalmia");
    let before = folder.read("m.kalmia");
    let said = ["learned 400 rows", "these files have 50 rows", "m.kalmia stays", "-o"];
    folder.run("polish m.kalmia part.csv").fails(2, &said);
    assert_eq!(folder.read("m.kalmia"), before);
    let run = folder.run("polish m.kalmia part.csv -o part.kalmia");
    assert!(run.stderr().contains("note: the model learned 400 rows, but"), "{}", run.stderr());
    run.ok();
    assert_eq!(folder.json("inspect part.kalmia --json")["rows"], 50);
    let whole = folder.run("polish m.kalmia t.csv");
    assert_eq!(whole.stderr(), "");
    whole.ok();
}

/// The scale of Student's law and the dispersion of counts are learned before, and a polish keeps
/// them: the standard errors of many rows hardly change.
#[test]
fn standard_errors_of_learned_laws_stay() {
    let folder = Folder::new("polish-laws");
    let mut uniform = Uniform(11);
    let mut csv = String::from("x,y,n\n");
    for _ in 0..3000 {
        let x = 2.0 * uniform.next() - 1.0;
        // noise of deviation 0.05, far from 1
        let noise: f64 = (0..12).map(|_| uniform.next()).sum::<f64>() - 6.0;
        let rate = (1.0 + 0.5 * x).exp() * [0.1, 0.5, 1.0, 2.4][(4.0 * uniform.next()) as usize];
        let count = (rate + uniform.next()).floor();
        csv.push_str(&format!("{x},{},{count}\n", 1.0 + 2.0 * x + 0.05 * noise));
    }
    folder.write("t.csv", csv);
    for (target, family) in [("y --exclude n", "student"), ("n --exclude y", "negative-binomial")] {
        let fitted =
            folder.json(&format!("fit t.csv -t {target} --family {family} -o m.kalmia --json"));
        for prior in ["fitted", "flat"] {
            let polished =
                folder.json(&format!("polish m.kalmia t.csv --prior {prior} -o p.kalmia --json"));
            for j in 0..2 {
                let error = |model: &Value| number(&model["coefficients"][j], "std_error");
                let ratio = error(&polished) / error(&fitted);
                assert!((ratio - 1.0).abs() < 0.1, "{family}, prior {prior}: {ratio}");
            }
            let [before, after] = [&fitted, &polished].map(|model| number(model, "dispersion"));
            assert!((after / before - 1.0).abs() < 0.01, "{family}: {before} and {after}");
        }
    }
}
