//! `kalmia fit --shards` and `--passes`, and merges of many models whose levels differ.

use crate::harness::{Folder, number};
use serde_json::Value;

/// Labels by two numbers and a town; the last town appears in the second half only, and each part
/// of the file begins with another town.
fn towns(rows: usize) -> String {
    let mut csv = String::from("x,z,town,y\n");
    let mut state = 7u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for i in 0..rows {
        let x = 4.0 * uniform() + 10.0;
        let z = uniform() - 0.5;
        let last = if 2 * i > rows { 4.0 } else { 3.0 };
        let town = (last * uniform()) as usize;
        let u = 0.5 * (x - 12.0) - z + [0.0, 0.5, -0.7, 1.0][town];
        let y = u8::from(uniform() < 1.0 / (1.0 + (-u).exp()));
        csv.push_str(&format!("{x},{z},{},{y}\n", ["Ulm", "Bonn", "Kiel", "Hof"][town]));
    }
    csv
}

/// Estimate and standard error by name; a level is compared with the baseline `Ulm`.
fn effect(model: &Value, name: &str) -> [f64; 2] {
    let rows = model["coefficients"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}"));
    [number(row, "estimate"), number(row, "std_error")]
}

fn assert_same(one: &Value, other: &Value, names: &[&str], tolerance: f64) {
    for name in names {
        let [a, error] = effect(one, name);
        let [b, other_error] = effect(other, name);
        assert!((a - b).abs() <= tolerance * error, "{name}: {a} {b}, error {error}");
        assert!((error / other_error - 1.0).abs() < 0.02, "{name}: {error} {other_error}");
    }
}

const NUMBERS: [&str; 2] = ["x", "z"];

#[test]
fn shards_give_the_model_of_one_polished_pass() {
    let folder = Folder::new("shards");
    folder.write("t.csv", towns(6000));
    let whole = folder.json("fit t.csv -t y --drift off --passes 9 -o whole.kalmia --json");
    assert!(number(&whole, "moved_most") < 1e-4);
    for shards in [1, 2, 3, 7] {
        let found = folder.json(&format!(
            "fit t.csv -t y --drift off --shards {shards} --passes 9 -o s.kalmia --json"
        ));
        assert_eq!((&found["rows"], &found["shards"]), (&6000.into(), &shards.into()));
        assert_eq!(found["method"], "auto");
        // the prior of each fit is that of its own first rows
        assert_same(&whole, &found, &NUMBERS, 0.05);
        let loss = number(&found["progressive"], "loss");
        assert!((loss / number(&whole["progressive"], "loss") - 1.0).abs() < 0.05, "{loss}");
        assert!(number(&found["heterogeneity"], "p_value") > 1e-3);
        let kept = folder.json("inspect s.kalmia --json");
        assert_eq!(kept["coefficients"], found["coefficients"]);
        folder.ok("update s.kalmia t.csv -o u.kalmia");
        assert_eq!(folder.json("inspect u.kalmia --json")["rows"], 12_000);
    }
    // the default polishes until the step is small, and says so
    let text = folder.ok("fit t.csv -t y --shards 2");
    for words in ["learned in 2 shards", "degrees of freedom", "polished by", "of each part"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // one pass alone is the merged belief
    let merged = folder.json("fit t.csv -t y --shards 3 --passes 1 --json");
    assert!(merged.get("polish_passes").is_none());
    assert_same(&whole, &merged, &NUMBERS, 0.5);
}

#[test]
fn normal_noise_is_exact_however_the_file_is_cut() {
    let folder = Folder::new("shards-normal");
    folder.write("t.csv", towns(3000));
    let fit = "fit t.csv -t z --features x,town --method moment --prior 100";
    let whole = folder.json(&format!("{fit} --json"));
    for shards in [2, 5] {
        let found = folder.json(&format!("{fit} --shards {shards} --passes 1 --json"));
        let [a, error] = effect(&whole, "x");
        let [b, _] = effect(&found, "x");
        assert!((a - b).abs() < 1e-9 * error, "{a} {b}");
    }
}

#[test]
fn models_of_other_levels_merge_by_name_in_any_order() {
    let folder = Folder::new("merge-levels");
    let csv = towns(3000);
    let (head, rows) = csv.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    for (k, part) in rows.chunks(1000).enumerate() {
        folder.write(&format!("{k}.csv"), format!("{head}\n{}\n", part.join("\n")));
        folder.ok(&format!("fit {k}.csv -t y -o {k}.kalmia"));
    }
    folder.write("t.csv", &csv);
    let merged = folder.json("merge 0.kalmia 1.kalmia 2.kalmia -o m.kalmia --json");
    assert_eq!((&merged["models"], &merged["rows"]), (&3.into(), &3000.into()));
    assert_eq!(merged["exact"], false);
    assert!(number(&merged["heterogeneity"], "p_value") > 1e-3, "{merged}");
    let one = folder.json("inspect m.kalmia --json");
    // the sum over the models' own rows
    let parts = [0, 1, 2].map(|k| folder.json(&format!("inspect {k}.kalmia --json")));
    let loss: f64 = parts.iter().map(|part| number(&part["progressive"], "loss")).sum();
    assert!((number(&one["progressive"], "loss") - loss / 3.0).abs() < 1e-12);
    let other = folder.json("merge 2.kalmia 0.kalmia 1.kalmia -o n.kalmia --json");
    let q = |merged: &Value| number(&merged["heterogeneity"], "q");
    assert!((q(&merged) - q(&other)).abs() < 1e-6 * q(&merged));
    let two = folder.json("inspect n.kalmia --json");
    let names: Vec<String> = one["coefficients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap().into())
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(names.contains(&"town=Hof"), "{names:?}");
    assert_same(&one, &two, &names, 1e-9);
    // and a polish ends where that of one fit ends
    let polish = |model: &str, files: &str| {
        folder.json(&format!("polish {model} {files} --prior flat --json"))
    };
    folder.ok("fit t.csv -t y -o w.kalmia");
    let whole = polish("w.kalmia", "t.csv");
    assert_same(&whole, &polish("m.kalmia", "0.csv 1.csv 2.csv"), &NUMBERS, 1e-3);
}

#[test]
fn shards_that_disagree_are_reported() {
    let folder = Folder::new("shards-disagree");
    let mut csv = String::from("x,y\n");
    for i in 0..4000 {
        let x = f64::from(i * 7919 % 1000) / 500.0 - 1.0;
        let sign = if i < 2000 { 1.0 } else { -1.0 };
        let noise = f64::from(i * 104_729 % 997) / 997.0 - 0.5;
        csv.push_str(&format!("{x},{}\n", sign * x + noise));
    }
    folder.write("t.csv", csv);
    let run = folder.run("fit t.csv -t y --shards 2");
    assert!(run.stderr().contains("the shards disagree"), "{}", run.stderr());
}

#[test]
fn what_shards_and_passes_cannot_do_is_refused_before_a_row_is_read() {
    let folder = Folder::new("shards-refused");
    let csv = towns(300);
    folder.write("t.csv", &csv);
    let refused = |arguments: &str, words: &[&str]| {
        folder.run(&format!("fit t.csv -t y {arguments}")).fails(2, words);
    };
    refused("--shards 2 --method ons", &["--method ons", "cannot be merged"]);
    refused("--shards 2 --method ekf --averaged", &["--averaged", "cannot be merged"]);
    refused("--shards 2 --drift adapt", &["--drift adapt", "order"]);
    refused("--shards 2 --limit 10", &["--shards takes no --limit"]);
    refused("--shards 0", &["--shards"]);
    refused("--passes 0", &["--passes"]);
    folder.pipe("fit - -t y --shards 2", csv.as_bytes()).fails(2, &["several times"]);
    folder.pipe("fit - -t y --passes 2", csv.as_bytes()).fails(2, &["several times"]);
    // a wide model is not polished, and not lost
    folder.write("words.csv", "text,y\ngood day,1\nbad day,0\ngood,1\nbad,0\n");
    let run = folder.run("fit words.csv -t y --text text --passes 2 -o w.kalmia");
    assert!(run.stderr().contains("first pass was written"), "{}", run.stderr());
    run.fails(2, &["wide model cannot be polished"]);
    assert_eq!(folder.json("inspect w.kalmia --json")["rows"], 4);
    // an error in the second part names its line
    let mut lines: Vec<String> = csv.lines().map(str::to_owned).collect();
    lines[250] = "1,x,Ulm,1".into();
    folder.write("bad.csv", lines.join("\n"));
    let words = ["bad.csv", "row 250", "`z`", "`x`"];
    folder.run("fit bad.csv -t y --shards 2").fails(2, &words);
    folder.run("merge t.csv -o m.kalmia").fails(2, &["2"]);
}
