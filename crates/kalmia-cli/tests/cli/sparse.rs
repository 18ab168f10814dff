//! Text, hashed features and libsvm rows with thousands of indices: models that keep no matrix.

use crate::harness::{Folder, Uniform, number, repository};
use serde_json::Value;
use std::fmt::Write as _;

/// The words of a mail, with one number and a label that follows some of the words.
fn mails(rows: usize) -> String {
    let mut uniform = Uniform(3);
    let mut out = String::from("body,hour,kind\n");
    for _ in 0..rows {
        let spam = uniform.next() < 0.5;
        let mut words = String::new();
        for _ in 0..6 {
            let word = (3000.0 * uniform.next().powi(3)) as usize;
            let _ = write!(words, "w{word} ");
        }
        let told = uniform.next() < 0.8;
        words.push_str(match (spam, told) {
            (true, true) => "winner",
            (false, true) => "meeting",
            _ => "hello",
        });
        let hour = (24.0 * uniform.next()) as u32;
        let _ = writeln!(out, "{words},{hour},{}", if spam { "spam" } else { "ham" });
    }
    out
}

/// libsvm rows with indices below `width`.
fn libsvm(rows: usize, width: usize) -> String {
    let mut uniform = Uniform(5);
    let mut out = String::new();
    for _ in 0..rows {
        let mut indices: Vec<usize> =
            (0..8).map(|_| 1 + (width as f64 * uniform.next()) as usize).collect();
        indices.sort_unstable();
        indices.dedup();
        let label = usize::from(indices[0].is_multiple_of(2));
        let _ = write!(out, "{label}");
        indices.iter().for_each(|index| {
            let _ = write!(out, " {index}:1");
        });
        out.push('\n');
    }
    out
}

fn names(summary: &Value) -> Vec<String> {
    let list = summary["coefficients"].as_array().unwrap();
    list.iter().map(|c| c["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn text_and_numbers_are_one_model_and_words_have_names() {
    let folder = Folder::new("text");
    folder.write("mails.csv", mails(3000));
    let words = "fit mails.csv -t kind --positive spam --text body -o m.kalmia --json";
    let summary = folder.json(words);
    assert_eq!(summary["method"], "wide");
    // eight of ten rows have a telling word
    let constant = number(&summary, "progressive.baseline_loss");
    assert!(number(&summary, "progressive.loss") < 0.5 * constant, "{summary}");
    assert!(number(&summary, "features") > 2000.0);
    let names = names(&summary);
    assert_eq!(names[..2], ["(intercept)", "hour"]);
    let mut strongest = names[2..4].to_vec();
    strongest.sort();
    assert_eq!(strongest, ["body=meeting", "body=winner"]);
    // the same as a table, cut short
    let text = folder.ok("inspect m.kalmia");
    assert!(text.contains("body      text") && text.contains("of the variance"), "{text}");
    assert!(text.contains("the strongest of"), "{text}");
    let scores = folder.json("evaluate m.kalmia mails.csv --json");
    assert!(number(&scores, "loss") < number(&summary, "progressive.loss"));
    let csv = folder.ok("predict m.kalmia mails.csv --limit 2");
    assert!(csv.starts_with("mean,lower,upper,linear,linear_sd,predicted\n"), "{csv}");
}

#[test]
fn a_fit_in_parts_is_the_fit_in_one_go() {
    let folder = Folder::new("parts");
    let all = mails(2500);
    let lines: Vec<&str> = all.lines().collect();
    folder.write("all.csv", &all);
    folder.write("a.csv", lines[..1001].join("\n"));
    folder.write("b.csv", format!("{}\n{}", lines[0], lines[1001..].join("\n")));
    let options = "-t kind --positive spam --text body --analyzer words:2 --hash 20";
    folder.ok(&format!("fit all.csv {options} -o all.kalmia"));
    folder.ok(&format!("fit a.csv {options} -o part.kalmia"));
    folder.ok("update part.kalmia b.csv");
    let predict = |model: &str| folder.ok(&format!("predict {model} all.csv"));
    assert_eq!(predict("all.kalmia"), predict("part.kalmia"));
    // checkpoints do not matter either, nor a model that is read and written again
    folder.ok(&format!("fit all.csv {options} -o c.kalmia --checkpoint-every 100"));
    assert_eq!(folder.read("c.kalmia"), folder.read("all.kalmia"));
    // a shuffled fit learns the same rows
    let shuffled = folder.json(&format!("fit all.csv {options} --shuffle --json"));
    assert_eq!(number(&shuffled, "rows"), 2500.0);
}

#[test]
fn libsvm_with_many_indices_is_not_written_out() {
    let folder = Folder::new("indices");
    // the largest index would make dense rows of 16 GB each
    folder.write("wide.libsvm", libsvm(3000, 2_000_000_000));
    let summary = folder.json("fit wide.libsvm -o m.kalmia --json");
    assert_eq!(summary["method"], "wide");
    assert!(folder.read("m.kalmia").len() < 4_000_000);
    let scores = folder.json("evaluate m.kalmia wide.libsvm --json");
    assert_eq!(number(&scores, "rows"), 3000.0);
    // few indices have a full covariance, unless the method is named
    folder.write("few.libsvm", libsvm(300, 20));
    assert_eq!(folder.json("fit few.libsvm --json")["method"], "auto");
    assert_eq!(folder.json("fit few.libsvm --method wide --json")["method"], "wide");
    // hashing bounds the features
    let hashed = folder.json("fit wide.libsvm --hash 10 --json");
    assert!(number(&hashed, "features") <= 1025.0, "{}", hashed["features"]);
}

#[test]
fn auto_takes_a_column_of_identifiers_as_sparse() {
    let folder = Folder::new("identifiers");
    let mut text = String::from("user,x,y\n");
    let mut uniform = Uniform(11);
    for i in 0..2000 {
        let user = (1500.0 * uniform.next()) as usize;
        let _ = writeln!(text, "u{user},{},{}", uniform.next(), (i + user) % 2);
    }
    folder.write("t.csv", text);
    let summary = folder.json("fit t.csv -t y --json");
    assert_eq!(summary["method"], "wide");
    assert_eq!(names(&summary)[..2], ["(intercept)", "x"]);
    assert!(names(&summary)[2].starts_with("user=u"));
}

#[test]
fn compare_runs_what_takes_sparse_rows_and_says_what_does_not() {
    let folder = Folder::new("compare");
    std::fs::copy(repository("examples/characters.csv.gz"), folder.path("c.csv.gz")).unwrap();
    let run = folder.run("compare c.csv.gz -t letter --text name --limit 3000");
    let notes = run.stderr();
    let table = run.ok();
    assert!(table.contains("\nauto ") && !table.contains("ekf"), "{table}");
    assert!(notes.contains("left out, because they keep a matrix of all features"), "{notes}");
}

#[test]
fn a_smaller_model_says_what_it_costs() {
    let folder = Folder::new("prune");
    folder.write("mails.csv", mails(3000));
    folder.ok("fit mails.csv -t kind --positive spam --text body -o m.kalmia");
    let pruned = folder.json("prune m.kalmia mails.csv --min-z 2 -o s.kalmia --json");
    assert!(number(&pruned, "features") < 0.3 * number(&pruned, "features_before"));
    assert!(number(&pruned, "bytes") < number(&pruned, "bytes_before"));
    let loss =
        |model: &str| number(&folder.json(&format!("evaluate {model} mails.csv --json")), "loss");
    assert_eq!(loss("m.kalmia"), number(&pruned, "loss_before"));
    assert_eq!(loss("s.kalmia"), number(&pruned, "loss"));
    // it goes on learning
    folder.ok("update s.kalmia mails.csv");
    folder
        .run("prune m.kalmia mails.csv --min-z -1 -o t.kalmia")
        .fails(2, &["--min-z", "0 or more"]);
    folder.write("d.csv", "x,y\n1,0\n2,1\n3,0\n");
    folder.ok("fit d.csv -t y -o d.kalmia");
    folder.run("prune d.kalmia d.csv -o t.kalmia").fails(2, &["method auto", "only wide models"]);
    assert!(!folder.exists("t.kalmia"));
}

#[test]
fn what_wide_models_cannot_do_is_refused_with_a_reason() {
    let folder = Folder::new("refused");
    folder.write("mails.csv", mails(400));
    let fit = "fit mails.csv -t kind --positive spam --text body";
    folder.run(&format!("{fit} --method ekf")).fails(2, &["text columns", "auto or wide"]);
    folder.run(&format!("{fit} --averaged")).fails(2, &["text columns", "auto or wide"]);
    folder.run("fit mails.csv -t kind --text boody").fails(2, &["boody", "body"]);
    folder.run("fit mails.csv -t kind --text kind").fails(2, &["kind"]);
    for bits in ["0", "31", "64"] {
        folder.run(&format!("{fit} --hash {bits}")).fails(2, &[bits, "1 to 30"]);
    }
    for analyzer in ["word", "words:0", "characters:4-2"] {
        let run = folder.run(&format!("{fit} --analyzer {analyzer}"));
        assert_eq!(run.output.status.code(), Some(2), "{}", run.stderr());
        assert!(run.stderr().contains(analyzer), "{}", run.stderr());
    }
    folder.ok(&format!("{fit} -o a.kalmia"));
    folder.ok(&format!("{fit} -o b.kalmia"));
    let merge = folder.run("merge a.kalmia b.kalmia -o c.kalmia");
    merge.fails(2, &["wide learners of more than 128 rows cannot be merged"]);
    folder.run("export a.kalmia --format onnx -o a.onnx").fails(2, &["ONNX", "JSON"]);
    let json: Value = serde_json::from_str(&folder.ok("export a.kalmia")).unwrap();
    assert!(json["coefficients"].as_array().unwrap().len() > 500);
    assert!(json["covariance"].is_null());
    assert!(!folder.exists("c.kalmia") && !folder.exists("a.onnx"));
}

#[test]
fn bad_sparse_rows_name_their_place() {
    let folder = Folder::new("bad");
    let start = libsvm(3, 100);
    let refused = |line: &str, said: &[&str]| {
        folder.write("bad.libsvm", format!("{start}{line}\n"));
        folder
            .run("fit bad.libsvm --method wide")
            .fails(2, &[&["bad.libsvm", "line 4"], said].concat());
    };
    refused("1 7:1 3:1", &["3:1"]);
    refused("1 7:1 7:1", &["7:1"]);
    refused("1 2147483648:1", &["2147483648"]);
    refused("1 99999999999:1", &["99999999999"]);
    refused("1 4:nan", &["4:nan"]);
    refused("1 4:1e130", &["feature `4`", "1e120"]);
}
