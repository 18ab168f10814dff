//! Targets of several classes through the whole command.

use crate::harness::{Folder, number};
use serde_json::Value;

const NAMES: [&str; 3] = ["pear", "apple", "fig"];

/// Rows of three classes around their own centers, in turn or sorted.
fn fruit(rows: usize, sorted: bool) -> String {
    let mut csv = String::from("size,weight,town,fruit\n");
    for i in 0..rows {
        let class = if sorted { 3 * i / rows } else { (7 * i + i / 3) % 3 };
        // noise without a random number generator
        let noise = |k: usize| (((i * 7919 + k * 104_729) % 1009) as f64 / 504.5 - 1.0) * 1.4;
        let size = class as f64 + noise(1);
        let weight = [2.0, 0.0, 1.0][class] + noise(2);
        let town = ["Ulm", "Bonn"][i % 2];
        csv.push_str(&format!("{size},{weight},{town},{}\n", NAMES[class]));
    }
    csv
}

/// The part of a table from one row to another, with its head.
fn part(csv: &str, rows: std::ops::Range<usize>) -> String {
    let head = csv.lines().next().unwrap();
    let body: Vec<_> = csv.lines().skip(1 + rows.start).take(rows.len()).collect();
    format!("{head}\n{}\n", body.join("\n"))
}

fn estimates(model: &Value, class: usize) -> Vec<f64> {
    let list = model["coefficients"][class]["coefficients"].as_array().unwrap();
    list.iter().map(|c| number(c, "estimate")).collect()
}

#[test]
fn a_text_target_of_three_values_is_learned_predicted_and_evaluated() {
    let folder = Folder::new("classes");
    folder.write("t.csv", fruit(900, false));
    let fitted = folder.json("fit t.csv -t fruit -o m.kalmia --json");
    assert_eq!(fitted["family"], "categorical");
    assert_eq!(fitted["classes"], serde_json::json!(["apple", "fig", "pear"]));
    assert_eq!((&fitted["reference"], &fitted["rows"]), (&"apple".into(), &900.into()));
    let scores = &fitted["progressive"];
    assert!(number(scores, "loss") < 0.7 * number(scores, "baseline_loss"));
    assert!(number(scores, "accuracy") > 0.7 && number(scores, "calibration_error") < 0.1);

    let csv = folder.ok("predict m.kalmia t.csv");
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("p_apple,p_fig,p_pear,predicted"));
    let mut right = 0.0;
    for (line, truth) in lines.zip(fruit(900, false).lines().skip(1)) {
        let cells: Vec<_> = line.split(',').collect();
        let p: Vec<f64> = cells[..3].iter().map(|cell| cell.parse().unwrap()).collect();
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{line}");
        let top = ["apple", "fig", "pear"].iter().position(|name| *name == cells[3]).unwrap();
        assert!(p.iter().all(|other| *other <= p[top]), "{line}");
        right += f64::from(truth.ends_with(cells[3]));
    }
    let evaluated = folder.json("evaluate m.kalmia t.csv --json");
    assert!((number(&evaluated, "accuracy") - right / 900.0).abs() < 1e-12);
    assert_eq!(number(&evaluated["top"], "2"), 1.0);
    let confusion: Vec<Vec<f64>> = serde_json::from_value(evaluated["confusion"].clone()).unwrap();
    assert_eq!((0..3).map(|k| confusion[k][k]).sum::<f64>(), right);
    assert_eq!(confusion.iter().flatten().sum::<f64>(), 900.0);
    let text = folder.ok("evaluate m.kalmia t.csv");
    assert!(text.contains("true \\ predicted") && text.contains("top 2 1.0000"), "{text}");
}

#[test]
fn coefficients_are_log_odds_against_the_first_class() {
    let folder = Folder::new("classes-coefficients");
    folder.write("t.csv", fruit(900, false));
    let fitted = folder.json("fit t.csv -t fruit -o m.kalmia --json");
    let inspected = folder.json("inspect m.kalmia --json");
    let exported = folder.json("export m.kalmia");
    for class in 0..2 {
        assert_eq!(estimates(&fitted, class), estimates(&inspected, class));
        assert_eq!(estimates(&fitted, class), estimates(&exported, class));
    }
    // sizes grow from pear (0) over apple (1) to fig (2)
    assert!(estimates(&fitted, 0)[1] > 0.0 && estimates(&fitted, 1)[1] < 0.0);
    let pear = &fitted["coefficients"][1]["coefficients"][1];
    assert!(number(pear, "std_error") > 0.0 && number(pear, "upper") < 0.0);
    let text = folder.ok("inspect m.kalmia");
    assert!(text.contains("`fig` against `apple`, as log odds"), "{text}");
    assert!(text.contains("classes: apple, fig, pear"), "{text}");
}

#[test]
fn inspect_says_how_many_rows_a_file_contains() {
    let folder = Folder::new("classes-kept-rows");
    const NOTE: &str = "the file contains the values of its first";
    for (rows, kept) in [(900, 900), (4200, 0)] {
        folder.write("t.csv", fruit(rows, false));
        folder.ok("fit t.csv -t fruit -o m.kalmia");
        assert_eq!(folder.json("inspect m.kalmia --json")["kept_rows"], kept);
        let text = folder.ok("inspect m.kalmia");
        assert_eq!(text.contains(&format!("{NOTE} {kept} rows")), kept > 0, "{text}");
        assert_eq!(text.contains(NOTE), kept > 0, "{text}");
    }
    // two classes and numbers need the first 128 rows only
    folder.write("n.csv", "x,y\n1,2\n2,3\n4,4\n");
    folder.ok("fit n.csv -t y -o n.kalmia");
    assert_eq!(folder.json("inspect n.kalmia --json")["kept_rows"], 3);
    assert!(folder.ok("inspect n.kalmia").contains(&format!("{NOTE} 3 rows")));
}

#[test]
fn numbers_are_classes_if_asked_for_and_new_classes_are_taken_as_they_come() {
    let folder = Folder::new("classes-numbers");
    let coded = NAMES.iter().enumerate().fold(fruit(600, false), |csv, (code, name)| {
        csv.replace(name, &format!("{}", [10, 9, 8][code]))
    });
    folder.write("t.csv", &coded);
    folder.write("more.csv", part(&coded, 0..200).replace(",8\n", ",11\n"));
    assert_eq!(folder.json("fit t.csv -t fruit --json")["family"], "gaussian");
    let fitted = folder.json("fit t.csv -t fruit --family categorical -o m.kalmia --json");
    assert_eq!(fitted["classes"], serde_json::json!(["8", "9", "10"]));
    folder
        .run("evaluate m.kalmia more.csv")
        .fails(2, &["more.csv, row", "column `fruit`", "`11` is a class that the model has not"]);
    let updated = folder.json("update m.kalmia more.csv --json");
    assert_eq!(updated["classes"], serde_json::json!(["8", "9", "10", "11"]));
    assert_eq!(updated["rows"], 800);
    let after = folder.json("evaluate m.kalmia more.csv --json");
    assert!(number(&after, "loss") < number(&after, "baseline_loss"));
}

#[test]
fn checkpoints_and_updates_give_the_same_bytes_as_one_fit() {
    let folder = Folder::new("classes-checkpoints");
    folder.write("t.csv", fruit(5000, false));
    folder.ok("fit t.csv -t fruit -o whole.kalmia");
    folder.ok("fit t.csv -t fruit -o parts.kalmia --checkpoint-every 1000");
    assert_eq!(folder.read("whole.kalmia"), folder.read("parts.kalmia"));
    let resumed = folder.run("fit t.csv -t fruit -o parts.kalmia --resume parts.kalmia");
    assert!(resumed.stderr().contains("nothing left to learn"), "{}", resumed.stderr());
    folder.write("a.csv", part(&fruit(5000, false), 0..2500));
    folder.write("b.csv", part(&fruit(5000, false), 2500..5000));
    folder.ok("fit a.csv -t fruit -o ab.kalmia");
    let updated = folder.json("update ab.kalmia b.csv --json");
    let whole = folder.json("inspect whole.kalmia --json");
    assert_eq!(estimates(&updated, 0), estimates(&whole, 0));
    assert_eq!(updated["progressive"]["loss"], whole["progressive"]["loss"]);
}

#[test]
fn sorted_rows_are_noticed_and_shuffled_on_demand() {
    let folder = Folder::new("classes-sorted");
    folder.write("t.csv", fruit(900, true));
    let sorted = folder.run("fit t.csv -t fruit");
    assert!(sorted.stderr().contains("seem sorted by the target"), "{}", sorted.stderr());
    let shuffled = folder.run("fit t.csv -t fruit --shuffle");
    assert!(!shuffled.stderr().contains("seem sorted"), "{}", shuffled.stderr());
}

/// A slip in a label makes another class; nothing else in the summary shows it.
#[test]
fn a_slip_in_a_label_is_noticed() {
    let folder = Folder::new("classes-slip");
    let label = |i: usize| match i {
        20 => "yess",
        _ if (7 * i + i / 3).is_multiple_of(2) => "yes",
        _ => "no",
    };
    let rows: String = (0..300).map(|i| format!("{},{}\n", i % 11, label(i))).collect();
    folder.write("t.csv", format!("x,y\n{rows}"));
    let fitted = folder.run("fit t.csv -t y");
    assert!(fitted.stderr().contains("`yess` may be a slip for `yes`"), "{}", fitted.stderr());
    fitted.ok();
    folder.write("fruit.csv", fruit(300, false));
    assert!(!folder.run("fit fruit.csv -t fruit").stderr().contains("note:"));
}

#[test]
fn what_several_classes_do_not_take_is_said() {
    let folder = Folder::new("classes-refused");
    folder.write("t.csv", fruit(300, false));
    folder.ok("fit t.csv -t fruit -o m.kalmia");
    folder.ok("fit t.csv -t size -o n.kalmia");
    for (words, said) in [
        ("fit t.csv -t fruit --method ekf", "method ekf learns no target of several classes"),
        ("fit t.csv -t fruit --averaged", "not averaged"),
        ("fit t.csv -t fruit --shards 2 --drift adapt", "no common order"),
        ("fit t.csv -t fruit --offset size", "takes no offset"),
        ("fit t.csv -t fruit --family bernoulli", "--family categorical learns several classes"),
        ("fit t.csv -t fruit --positive fig", "--family categorical learns several classes"),
        ("compare t.csv -t fruit", "has several classes"),
        ("predict m.kalmia t.csv --interval y", "probabilities, which have no interval"),
        ("merge m.kalmia n.kalmia -o x.kalmia", "`class-model`"),
        ("merge n.kalmia m.kalmia -o x.kalmia", "`class-model`"),
        ("fit t.csv -t fruit --family categorial", "did you mean categorical?"),
    ] {
        folder.run(words).fails(2, &[said]);
    }
    let mut names = String::from("x,id\n");
    (0..1500).for_each(|i| names.push_str(&format!("{i},name{i}\n")));
    folder.write("ids.csv", names);
    folder.run("fit ids.csv -t id").fails(2, &["ids.csv, row 1001", "`id`", "1000 already"]);
}

#[test]
fn every_output_format_holds_the_probabilities() {
    let folder = Folder::new("classes-formats");
    folder.write("t.csv", fruit(300, false));
    folder.ok("fit t.csv -t fruit -o m.kalmia");
    folder.ok("predict m.kalmia t.csv --keep fruit -o p.jsonl");
    let first: Value =
        serde_json::from_str(folder.text("p.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!(first["fruit"], "pear");
    assert!(number(&first, "p_pear") > 0.2 && first["predicted"].is_string());
    folder.ok("predict m.kalmia t.csv -o p.parquet");
    // the probabilities as columns of numbers
    let fitted = folder.json("fit p.parquet -t predicted --json");
    assert_eq!(fitted["classes"], serde_json::json!(["apple", "fig", "pear"]));
    folder.run("predict m.kalmia p.jsonl").fails(2, &["`size`"]);
}

#[test]
fn a_single_class_is_said_to_be_one() {
    let folder = Folder::new("one-class");
    folder.write("t.csv", "x,y\n1,a\n2,a\n");
    let run = folder.run("fit t.csv -t y --family categorical");
    assert!(run.stderr().contains("note: all rows have the class `a`"), "{}", run.stderr());
    assert!(run.ok().starts_with("categorical of `y` (1 class) by auto"));
}
