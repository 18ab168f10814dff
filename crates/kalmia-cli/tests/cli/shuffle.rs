//! Shuffled fits of sorted files, whose first rows do not show all labels.

use crate::harness::{Folder, Uniform, number};
use serde_json::{Value, json};

/// Rows whose target rises with `x`, sorted by it: `counts` rows of each label.
fn sorted(labels: &[&str], counts: &[usize]) -> String {
    let mut uniform = Uniform(5);
    let mut csv = String::from("x,z,y\n");
    for (place, (label, &count)) in labels.iter().zip(counts).enumerate() {
        for _ in 0..count {
            let x = place as f64 + 3.0 * uniform.next();
            csv.push_str(&format!("{x},{},{label}\n", uniform.next()));
        }
    }
    csv
}

/// The rows of a table in an order that mixes the labels.
fn mixed(csv: &str) -> String {
    let mut lines = csv.lines();
    let head = lines.next().unwrap();
    let rows: Vec<&str> = lines.collect();
    let step = 1009;
    let picked: Vec<&str> = (0..rows.len()).map(|i| rows[i * step % rows.len()]).collect();
    format!("{head}\n{}\n", picked.join("\n"))
}

fn loss(model: &Value) -> f64 {
    number(model, "progressive.loss")
}

#[test]
fn two_labels_are_found_in_all_rows() {
    let folder = Folder::new("shuffle-two");
    // the label of the first rows is the larger one as text, so its provisional code changes
    for labels in [["no", "yes"], ["yes", "no"]] {
        let csv = sorted(&labels, &[1500, 1400]);
        folder.write("s.csv", &csv);
        folder.write("m.csv", mixed(&csv));
        let found = folder.json("fit s.csv -t y --shuffle -o s.kalmia --json");
        let other = folder.json("fit m.csv -t y --json");
        assert_eq!((&found["family"], &found["positive"]), (&"bernoulli".into(), &"yes".into()));
        assert_eq!((&found["rows"], &found["sorted"]), (&2900.into(), &false.into()));
        assert!((loss(&found) / loss(&other) - 1.0).abs() < 0.05, "{found} {other}");
        let [one, two] = [&found, &other].map(|model| &model["coefficients"][1]);
        let off = (number(one, "estimate") - number(two, "estimate")).abs();
        assert!(off < 0.5 * number(two, "std_error"), "{one} {two}");
        let predicted = folder.ok("predict s.kalmia m.csv --keep y");
        let right = predicted.lines().skip(1).filter(|line| {
            let cells: Vec<_> = line.split(',').collect();
            cells.first() == cells.last()
        });
        assert!(right.count() > 1600, "{predicted}");
        // a family of labels sees them too
        let named = folder.json("fit s.csv -t y --shuffle --family bernoulli --json");
        assert_eq!(named["coefficients"], found["coefficients"]);
    }
}

#[test]
fn several_classes_are_found_in_all_rows() {
    let folder = Folder::new("shuffle-several");
    folder.write("s.csv", sorted(&["fig", "pear", "apple"], &[1300, 1300, 40]));
    let found = folder.json("fit s.csv -t y --shuffle --json");
    assert_eq!(found["family"], "categorical");
    assert_eq!(found["classes"], json!(["apple", "fig", "pear"]));
    let named = folder.json("fit s.csv -t y --shuffle --family categorical --json");
    assert_eq!(found["coefficients"], named["coefficients"]);
    // two labels in the first rows, and a third after them
    folder.write("late.csv", mixed(&sorted(&["a", "b"], &[800, 803])) + "1,1,c\n");
    assert_eq!(
        folder.json("fit late.csv -t y --shuffle --json")["classes"],
        json!(["a", "b", "c"])
    );
    folder.run("fit late.csv -t y --shuffle --family bernoulli").fails(2, &["late.csv", "third"]);
    folder
        .run("fit s.csv -t y --shuffle --family bernoulli")
        .fails(2, &["s.csv", "column `y`", "two values", "--family categorical"]);
}

#[test]
fn ordered_numbers_are_found_in_all_rows() {
    let folder = Folder::new("shuffle-ordinal");
    folder.write("s.csv", sorted(&["10", "9", "8"], &[1100, 700, 400]));
    let found = folder.json("fit s.csv -t y --family ordinal --shuffle --json");
    assert_eq!(found["classes"], json!(["8", "9", "10"]));
    let named = folder.json("fit s.csv -t y --family ordinal --levels 8,9,10 --shuffle --json");
    assert_eq!(found["levels"], named["levels"]);
    assert!(number(&found, "levels.coefficients.0.estimate") < 0.0, "{found}");
    folder.write("text.csv", sorted(&["1", "high"], &[1200, 100]));
    folder
        .run("fit text.csv -t y --family ordinal --shuffle")
        .fails(2, &["text.csv", "order of the levels `1`, `high`", "--levels"]);
}

#[test]
fn a_target_of_one_label_is_refused_without_a_hint_to_shuffle() {
    let folder = Folder::new("shuffle-one");
    folder.write("t.csv", sorted(&["same"], &[1200]));
    let said = folder.run("fit t.csv -t y --shuffle").fails(2, &["t.csv", "`same` in all rows"]);
    assert!(!said.contains("--shuffle"), "{said}");
}
