//! Several classes: `polish`, `fit --passes`, `merge` and `fit --shards`.

use crate::harness::{Folder, number};
use serde_json::Value;

/// Rows of classes by a number and a town. The class `kiwi` and the town `Hof` come in the second
/// half only.
fn fruit(rows: usize) -> String {
    let mut csv = String::from("x,town,fruit\n");
    let mut state = 7u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for i in 0..rows {
        let late = 2 * i > rows;
        let x = 4.0 * uniform() - 2.0;
        let town = ((if late { 4.0 } else { 3.0 }) * uniform()) as usize;
        let linear = [0.0, 0.8 * x, 0.4 - x + [0.0, 0.5, -0.7, 1.0][town], 0.5 * x - 0.5];
        let known = if late { 4 } else { 3 };
        let total: f64 = linear[..known].iter().map(|u: &f64| u.exp()).sum();
        let mut left = uniform() * total;
        let mut class = 0;
        while class + 1 < known && left >= linear[class].exp() {
            left -= linear[class].exp();
            class += 1;
        }
        let town = ["Ulm", "Bonn", "Kiel", "Hof"][town];
        csv.push_str(&format!("{x},{town},{}\n", ["pear", "fig", "apple", "kiwi"][class]));
    }
    csv
}

/// Estimates and standard errors of all classes against `apple`, by class and name.
fn effects(model: &Value) -> Effects {
    let mut found = Vec::new();
    for class in model["coefficients"].as_array().unwrap() {
        for row in class["coefficients"].as_array().unwrap() {
            let name = format!("{}: {}", class["class"], row["name"]);
            found.push((name, [number(row, "estimate"), number(row, "std_error")]));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn assert_same(one: &Value, other: &Value, tolerance: f64) {
    assert_near(effects(one), effects(other), tolerance);
}

/// Of `x` alone: models may have different baseline towns.
fn assert_same_x(one: &Value, other: &Value, tolerance: f64) {
    let of_x = |model: &Value| {
        let mut found = effects(model);
        found.retain(|(name, _)| name.ends_with(": \"x\""));
        found
    };
    assert_eq!(of_x(one).len(), 3);
    assert_near(of_x(one), of_x(other), tolerance);
}

type Effects = Vec<(String, [f64; 2])>;

fn assert_near(one: Effects, other: Effects, tolerance: f64) {
    assert_eq!(one.len(), other.len());
    for ((name, [a, error]), (other_name, [b, other_error])) in one.iter().zip(&other) {
        assert_eq!(name, other_name);
        assert!((a - b).abs() <= tolerance * error, "{name}: {a} {b}, error {error}");
        let ratio = error / other_error;
        assert!((ratio - 1.0).abs() <= tolerance, "{name}: {error} {other_error}");
    }
}

/// Mean loss on a file after the model is known.
fn loss(folder: &Folder, model: &str) -> f64 {
    number(&folder.json(&format!("evaluate {model} t.csv --json")), "loss")
}

#[test]
fn further_passes_are_a_polish() {
    let folder = Folder::new("class-passes");
    folder.write("t.csv", fruit(3000));
    folder.ok("fit t.csv -t fruit --drift off -o one.kalmia");
    let polished = folder.json("polish one.kalmia t.csv -o p.kalmia --robust --json");
    assert_eq!((&polished["rows"], &polished["dispersion"]), (&3000.into(), &1.0.into()));
    assert!(number(&polished, "moved_most") <= 1e-4);
    let fitted = folder.json("fit t.csv -t fruit --drift off --passes 9 -o f.kalmia --json");
    assert!(number(&fitted, "moved_most") <= 1e-4);
    assert_same(&polished, &fitted, 1e-9);
    assert_same(&polished, &folder.json("inspect p.kalmia --json"), 1e-12);
    // the likelihood is higher than after one pass, and the deviance is that of the rows
    assert!(loss(&folder, "p.kalmia") < loss(&folder, "one.kalmia"));
    assert!(number(&polished, "deviance") / 6000.0 < loss(&folder, "one.kalmia"));
    // a second polish moves nothing
    let again = folder.json("polish p.kalmia t.csv --json");
    assert_eq!(again["passes"], 1);
    assert_same(&polished, &again, 1e-4);
    // robust standard errors stand beside the coefficients, and are near them in a true model
    let errors = polished["robust_std_errors"].as_array().unwrap();
    let classes = polished["coefficients"].as_array().unwrap();
    assert_eq!(errors.len(), 3);
    for (errors, class) in errors.iter().zip(classes) {
        assert_eq!(errors["class"], class["class"]);
        let robust = errors["std_errors"].as_array().unwrap();
        let plain = class["coefficients"].as_array().unwrap();
        for (robust, plain) in robust.iter().zip(plain) {
            let ratio = robust.as_f64().unwrap() / number(plain, "std_error");
            assert!((0.7..1.4).contains(&ratio), "{ratio}");
        }
    }
    let text = folder.ok("polish p.kalmia t.csv --robust --prior flat");
    assert!(text.contains("`fig` against `apple`, as log odds"), "{text}");
    assert!(text.contains("`fig`, robust to a wrong variance"), "{text}");
    // it goes on learning
    folder.ok("update p.kalmia t.csv");
}

#[test]
fn shards_of_classes_give_the_model_of_one_polished_pass() {
    let folder = Folder::new("class-shards");
    folder.write("t.csv", fruit(6000));
    let whole = folder.json("fit t.csv -t fruit --drift off -o w.kalmia --json");
    let whole_polished = folder.json("polish w.kalmia t.csv --prior flat --json");
    for shards in [1, 2, 5] {
        let words = format!("fit t.csv -t fruit --drift off --shards {shards} -o s.kalmia --json");
        let found = folder.json(&words);
        assert_eq!((&found["rows"], &found["shards"]), (&6000.into(), &shards.into()));
        assert_eq!(found["classes"], whole["classes"]);
        assert!(number(&found, "moved") < 0.3 && number(&found, "polish_passes") >= 1.0);
        let loss = number(&found["progressive"], "loss");
        assert!((loss / number(&whole["progressive"], "loss") - 1.0).abs() < 0.05, "{loss}");
        let polished = folder.json("polish s.kalmia t.csv --prior flat --json");
        assert_same_x(&whole_polished, &polished, 1e-3);
    }
    let first = folder.read("s.kalmia");
    folder.ok("fit t.csv -t fruit --drift off --shards 5 -o s.kalmia");
    folder.ok("polish s.kalmia t.csv --prior flat");
    assert_eq!(folder.read("s.kalmia"), first);
    let text = folder.ok("fit t.csv -t fruit --shards 3");
    assert!(text.contains("learned in 3 shards at the same time and merged"), "{text}");
    assert!(text.contains("more pass"), "{text}");
}

#[test]
fn models_of_classes_are_merged_by_name() {
    let folder = Folder::new("class-merge");
    let csv = fruit(4000);
    let lines: Vec<&str> = csv.lines().collect();
    let part = |rows: &[&str]| format!("{}\n{}\n", lines[0], rows.join("\n"));
    folder.write("t.csv", &csv);
    folder.write("a.csv", part(&lines[1..2001]));
    folder.write("b.csv", part(&lines[2001..]));
    folder.ok("fit a.csv -t fruit --drift off -o a.kalmia");
    folder.ok("fit b.csv -t fruit --drift off -o b.kalmia");
    let merged = folder.json("merge a.kalmia b.kalmia -o m.kalmia --json");
    assert_eq!((&merged["rows"], &merged["models"]), (&4000.into(), &2.into()));
    assert_eq!(merged["exact"], false);
    folder.ok("merge b.kalmia a.kalmia -o n.kalmia");
    let inspected = folder.json("inspect m.kalmia --json");
    assert_same(&inspected, &folder.json("inspect n.kalmia --json"), 1e-9);
    assert_eq!(inspected["classes"], serde_json::json!(["apple", "fig", "kiwi", "pear"]));
    folder.ok("fit t.csv -t fruit --drift off -o w.kalmia");
    let whole = folder.json("polish w.kalmia t.csv --prior flat --json");
    assert_same_x(&whole, &folder.json("polish m.kalmia t.csv --prior flat --json"), 1e-3);
}

#[test]
fn a_refused_polish_leaves_the_file() {
    let folder = Folder::new("class-polish-refused");
    folder.write("t.csv", fruit(500));
    folder.write("new.csv", fruit(50).replace("fig", "lime"));
    folder.ok("fit t.csv -t fruit -o m.kalmia");
    let before = folder.read("m.kalmia");
    folder.run("polish m.kalmia new.csv").fails(2, &["new.csv, row", "`lime` is a class"]);
    assert_eq!(folder.read("m.kalmia"), before);
    // nothing keeps a separated class from growing without bound
    folder.write("s.csv", format!("x,y\n{}", "1,a\n2,a\n3,b\n4,b\n5,c\n6,c\n".repeat(20)));
    folder.ok("fit s.csv -t y -o s.kalmia");
    let refused =
        folder.run("polish s.kalmia s.csv --prior flat").fails(2, &["grows without bound"]);
    assert!(refused.contains("leave"), "{refused}");
    folder.ok("polish s.kalmia s.csv");
}
