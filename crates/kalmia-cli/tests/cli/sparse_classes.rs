//! Several classes from text, hashed features and libsvm rows through the whole command.

use crate::harness::{Folder, Uniform, number};
use serde_json::Value;
use std::fmt::Write as _;

const TOPICS: [(&str, &str); 4] =
    [("sport", "match"), ("food", "recipe"), ("music", "concert"), ("trade", "market")];

/// Lines of words with a number and a topic that follows some of the words; the last topic appears
/// only from row `late` on.
fn news(rows: usize, late: usize) -> String {
    let mut uniform = Uniform(3);
    let mut out = String::from("body,hour,topic\n");
    for i in 0..rows {
        let topics = if i < late { 3 } else { 4 };
        let (topic, typical) = TOPICS[(topics as f64 * uniform.next()) as usize];
        let mut words = String::new();
        for _ in 0..6 {
            let _ = write!(words, "w{} ", (3000.0 * uniform.next().powi(3)) as usize);
        }
        words.push_str(if uniform.next() < 0.8 { typical } else { "hello" });
        let _ = writeln!(out, "{words},{},{topic}", (24.0 * uniform.next()) as u32);
    }
    out
}

/// The part of a table from one row to another, with its head.
fn part(csv: &str, rows: std::ops::Range<usize>) -> String {
    let head = csv.lines().next().unwrap();
    let body: Vec<_> = csv.lines().skip(1 + rows.start).take(rows.len()).collect();
    format!("{head}\n{}\n", body.join("\n"))
}

/// The estimate of a feature in the table of a class.
fn estimate(model: &Value, class: &str, name: &str) -> f64 {
    let tables = model["coefficients"].as_array().unwrap();
    let table = tables.iter().find(|table| table["class"] == class).unwrap();
    let lines = table["coefficients"].as_array().unwrap();
    let line = lines.iter().find(|line| line["name"] == name);
    number(line.unwrap_or_else(|| panic!("{class} has no {name}")), "estimate")
}

#[test]
fn text_of_several_classes_is_learned_predicted_and_evaluated() {
    let folder = Folder::new("text-classes");
    folder.write("t.csv", news(3000, 0));
    let fitted = folder.json("fit t.csv -t topic --text body -o m.kalmia --json");
    assert_eq!((&fitted["family"], &fitted["method"]), (&"categorical".into(), &"wide".into()));
    assert_eq!(fitted["classes"], serde_json::json!(["food", "music", "sport", "trade"]));
    let scores = &fitted["progressive"];
    assert!(number(scores, "loss") < 0.6 * number(scores, "baseline_loss"), "{scores}");
    // against food
    assert!(estimate(&fitted, "sport", "body=match") > 1.0);
    assert!(estimate(&fitted, "sport", "body=recipe") < -1.0);
    assert!(fitted["features"].as_u64().unwrap() > 1500);

    let csv = folder.ok("predict m.kalmia t.csv");
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("p_food,p_music,p_sport,p_trade,predicted"));
    let text = folder.text("t.csv");
    let right = lines.zip(text.lines().skip(1)).filter(|(line, truth)| {
        let cells: Vec<_> = line.split(',').collect();
        let total: f64 = cells[..4].iter().map(|cell| cell.parse::<f64>().unwrap()).sum();
        assert!((total - 1.0).abs() < 1e-12, "{line}");
        truth.ends_with(cells[4])
    });
    let right = right.count() as f64;
    let evaluated = folder.json("evaluate m.kalmia t.csv --json");
    assert!((number(&evaluated, "accuracy") - right / 3000.0).abs() < 1e-12);
    assert!(right > 2400.0, "{right}");

    let inspected = folder.json("inspect m.kalmia --json");
    assert_eq!(inspected["coefficients"], fitted["coefficients"]);
    assert!(inspected["mixture"][0]["variance_share"].is_number());
    let text = folder.ok("inspect m.kalmia");
    assert!(text.contains("`sport` against `food`, as log odds"), "{text}");
    assert!(text.contains("the strongest of"), "{text}");
    // the export has every feature, the summary the strongest
    let exported = folder.json("export m.kalmia");
    let all = exported["coefficients"][0]["coefficients"].as_array().unwrap();
    assert_eq!(all.len() as u64, fitted["features"].as_u64().unwrap());
    assert_eq!(
        estimate(&exported, "sport", "body=match"),
        estimate(&fitted, "sport", "body=match")
    );
}

#[test]
fn checkpoints_and_updates_give_the_same_model_as_one_fit() {
    let folder = Folder::new("text-classes-checkpoints");
    let rows = news(3000, 1700);
    folder.write("t.csv", &rows);
    let fit = "fit t.csv -t topic --text body";
    folder.ok(&format!("{fit} -o whole.kalmia"));
    folder.ok(&format!("{fit} -o parts.kalmia --checkpoint-every 700"));
    assert_eq!(folder.read("whole.kalmia"), folder.read("parts.kalmia"));
    folder.write("a.csv", part(&rows, 0..1500));
    folder.write("b.csv", part(&rows, 1500..3000));
    let first = folder.json("fit a.csv -t topic --text body -o ab.kalmia --json");
    assert_eq!(first["classes"], serde_json::json!(["food", "music", "sport"]));
    let updated = folder.json("update ab.kalmia b.csv --json");
    let whole = folder.json("inspect whole.kalmia --json");
    assert_eq!(updated["classes"], whole["classes"]);
    assert_eq!(updated["coefficients"], whole["coefficients"]);
    assert_eq!(updated["progressive"]["loss"], whole["progressive"]["loss"]);
}

#[test]
fn a_model_of_text_can_be_made_smaller() {
    let folder = Folder::new("text-classes-pruned");
    folder.write("t.csv", news(3000, 0));
    folder.ok("fit t.csv -t topic --text body -o m.kalmia");
    let pruned = folder.json("prune m.kalmia t.csv -o small.kalmia --min-z 2.5 --json");
    assert!(number(&pruned, "features") < 0.5 * number(&pruned, "features_before"), "{pruned}");
    assert!(number(&pruned, "bytes") < 0.7 * number(&pruned, "bytes_before"), "{pruned}");
    let before = folder.json("evaluate m.kalmia t.csv --json");
    let after = folder.json("evaluate small.kalmia t.csv --json");
    assert_eq!(pruned["loss_before"], before["loss"]);
    assert_eq!(pruned["loss"], after["loss"]);
    assert!(number(&after, "accuracy") > 0.7, "{after}");
    folder.write("d.csv", "x,y\n1,a\n2,b\n3,c\n1,a\n2,b\n3,c\n");
    folder.ok("fit d.csv -t y -o d.kalmia");
    folder
        .run("prune d.kalmia d.csv -o x.kalmia")
        .fails(2, &["method auto with 3 classes", "only wide models can be made smaller"]);
}

#[test]
fn libsvm_and_hashed_columns_have_several_classes() {
    let folder = Folder::new("libsvm-classes");
    let mut uniform = Uniform(5);
    let mut rows = String::new();
    for _ in 0..3000 {
        let mut indices: Vec<usize> =
            (0..6).map(|_| 1 + (4000.0 * uniform.next()) as usize).collect();
        let class = (5.0 * uniform.next()) as usize;
        indices.push(10_000 + class);
        indices.sort_unstable();
        indices.dedup();
        let _ = write!(rows, "{class}");
        indices.iter().for_each(|index| {
            let _ = write!(rows, " {index}:1");
        });
        rows.push('\n');
    }
    folder.write("t.svm", rows);
    let fitted = folder.json("fit t.svm --family categorical -o m.kalmia --json");
    assert_eq!((&fitted["method"], &fitted["rows"]), (&"wide".into(), &3000.into()));
    assert_eq!(fitted["classes"], serde_json::json!(["0", "1", "2", "3", "4"]));
    assert!(number(&fitted["progressive"], "accuracy") > 0.9);
    assert!(estimate(&fitted, "3", "10003") > 1.0);
    assert!(number(&folder.json("evaluate m.kalmia t.svm --json"), "accuracy") > 0.95);

    folder.write("t.csv", news(2000, 0));
    let hashed = folder.json("fit t.csv -t topic --text body --hash 12 --json");
    assert_eq!(hashed["method"], "wide");
    let scores = &hashed["progressive"];
    assert!(number(scores, "loss") < 0.7 * number(scores, "baseline_loss"), "{scores}");
    // numbers alone, because they were asked for
    folder.write("n.csv", part(&news(600, 0), 0..600));
    let wide = folder.json("fit n.csv -t topic --exclude body --method wide --json");
    assert_eq!((&wide["method"], &wide["features"]), (&"wide".into(), &2.into()));
}
