//! Several quantiles of one target through the whole command.

use crate::harness::{Folder, Uniform, number, wait_until};
use serde_json::Value;

const LEVELS: [f64; 3] = [0.1, 0.5, 0.9];
const FAMILY: &str = "--family quantile:0.1,0.5,0.9";

/// Rows whose spread grows with `x` from 0 to 1; the quantile of level `q` is
/// `1 + 2 x + town + (1 + 3 x) (q - 0.5)`, where `town` is 1 for Ulm.
fn table(rows: usize) -> String {
    let mut uniform = Uniform(11);
    let mut csv = String::from("x,town,y\n");
    for i in 0..rows {
        let x = uniform.next();
        let town = i % 3;
        let level = 1.0 + 2.0 * x + f64::from(town == 0);
        let y = level + (1.0 + 3.0 * x) * (uniform.next() - 0.5);
        csv.push_str(&format!("{x},{},{y}\n", ["Ulm", "Bonn", "Bonn"][town]));
    }
    csv
}

/// The part of a table from one row to another, with its head.
fn part(csv: &str, rows: std::ops::Range<usize>) -> String {
    let head = csv.lines().next().unwrap();
    let body: Vec<_> = csv.lines().skip(1 + rows.start).take(rows.len()).collect();
    format!("{head}\n{}\n", body.join("\n"))
}

fn predictions(csv: &str) -> Vec<Vec<f64>> {
    let row = |line: &str| line.split(',').map(|cell| cell.parse().unwrap()).collect();
    csv.lines().skip(1).map(row).collect()
}

fn estimates(model: &Value, level: usize) -> Vec<f64> {
    let list = model["levels"][level]["coefficients"].as_array().unwrap();
    list.iter().map(|c| number(c, "estimate")).collect()
}

#[test]
fn levels_are_learned_predicted_and_evaluated_together() {
    let folder = Folder::new("quantiles");
    folder.write("t.csv", table(4000));
    // in any order
    let fit = "fit t.csv -t y --family quantile:0.9,0.1,0.5 -o m.kalmia --json";
    let fitted = folder.json(fit);
    assert_eq!((&fitted["family"], &fitted["rows"]), (&"quantile".into(), &4000.into()));
    for (k, tau) in LEVELS.into_iter().enumerate() {
        assert_eq!(number(&fitted["levels"][k], "level"), tau);
        let scores = &fitted["progressive"]["levels"][k];
        assert_eq!(number(scores, "level"), tau);
        assert!(number(scores, "loss") < 0.95 * number(scores, "baseline_loss"), "{scores}");
        assert!((number(scores, "share_below") - tau).abs() < 0.03, "{scores}");
        let slope = &fitted["levels"][k]["coefficients"][1];
        let distance = (number(slope, "estimate") - (2.0 + 3.0 * (tau - 0.5))).abs();
        assert!(distance < 4.0 * number(slope, "std_error"), "{slope}");
    }
    // sorting changes predictions alone: the coefficients are those of a model of the level
    let alone = folder.json("fit t.csv -t y --family quantile:0.9 --json");
    let one = |c: &Value| number(c, "estimate");
    let alone: Vec<f64> = alone["coefficients"].as_array().unwrap().iter().map(one).collect();
    assert_eq!(estimates(&fitted, 2), alone);

    let csv = folder.ok("predict m.kalmia t.csv");
    assert_eq!(csv.lines().next(), Some("q0.1,q0.5,q0.9"));
    let predicted = predictions(&csv);
    let targets: Vec<f64> = table(4000)
        .lines()
        .skip(1)
        .map(|l| l.rsplit(',').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(predicted.len(), targets.len());
    let evaluated = folder.json("evaluate m.kalmia t.csv --json");
    let mut sum = 0.0;
    for (k, tau) in LEVELS.into_iter().enumerate() {
        let errors = || targets.iter().zip(&predicted).map(|(y, row)| y - row[k]);
        let loss = errors().map(|e| f64::max(tau * e, (tau - 1.0) * e)).sum::<f64>() / 4000.0;
        let below = errors().filter(|e| *e <= 0.0).count() as f64 / 4000.0;
        let scores = &evaluated["levels"][k];
        assert!((number(scores, "loss") / loss - 1.0).abs() < 1e-9, "{scores}");
        assert!((number(scores, "share_below") - below).abs() < 1e-3, "{scores}");
        sum += loss / 3.0;
    }
    assert!((number(&evaluated, "loss") / sum - 1.0).abs() < 1e-9);
    let text = folder.ok("evaluate m.kalmia t.csv");
    assert!(text.starts_with("4 000 rows") || text.starts_with("4000 rows"), "{text}");
    assert!(text.contains("mean of the levels") && text.contains("share below"), "{text}");
    let text = folder.ok(&fit.replace("--json", ""));
    assert!(text.starts_with("quantiles 0.1, 0.5, 0.9 of `y` by auto"), "{text}");
    assert!(text.contains("\nlevel 0.9\ncoefficient"), "{text}");
    let text = folder.ok("inspect m.kalmia");
    assert!(text.contains("3 features per level") && text.contains("fit: t.csv"), "{text}");
    let inspected = folder.json("inspect m.kalmia --json");
    assert_eq!(inspected["progressive"], fitted["progressive"]);
    assert_eq!(inspected["settings"]["family"], "quantile:0.1,0.5,0.9");
    assert_eq!(inspected["mixtures"].as_array().unwrap().len(), 3);
}

#[test]
fn predictions_never_cross_even_far_outside() {
    let folder = Folder::new("quantiles-far");
    folder.write("t.csv", table(2000));
    folder.ok(&format!("fit t.csv -t y {FAMILY} -o m.kalmia"));
    let inspected = folder.json("inspect m.kalmia --json");
    let slopes: Vec<f64> = (0..3).map(|k| estimates(&inspected, k)[1]).collect();
    assert!(slopes.is_sorted(), "the lines cross to the left: {slopes:?}");
    folder.write("far.csv", "x,town\n-1e6,Ulm\n1e6,Bonn\n-50,Rome\n,Ulm\n0.5,Ulm\n");
    let csv = folder.ok("predict m.kalmia far.csv --missing skip --keep town");
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!((lines[0], lines[4]), ("town,q0.1,q0.5,q0.9", "Ulm,,,"));
    for line in [1, 2, 3, 5].map(|i| lines[i]) {
        let row: Vec<f64> = line.split(',').skip(1).map(|cell| cell.parse().unwrap()).collect();
        assert!(row.len() == 3 && row[0] < row[1] && row[1] < row[2], "{line}");
    }
    folder.ok("predict m.kalmia far.csv --missing skip -o p.jsonl");
    let first: Value =
        serde_json::from_str(folder.text("p.jsonl").lines().next().unwrap()).unwrap();
    assert!(first["q0.1"].as_f64().unwrap() < first["q0.9"].as_f64().unwrap(), "{first}");
}

#[test]
fn checkpoints_and_updates_give_the_same_as_one_fit() {
    let folder = Folder::new("quantiles-checkpoints");
    let fit = format!("fit t.csv -t y {FAMILY}");
    folder.write("t.csv", table(5000));
    folder.ok(&format!("{fit} -o whole.kalmia --trace trace.csv"));
    folder.ok(&format!("{fit} -o parts.kalmia --checkpoint-every 1000"));
    assert_eq!(folder.read("whole.kalmia"), folder.read("parts.kalmia"));
    let resumed = folder.run(&format!("{fit} -o parts.kalmia --resume parts.kalmia"));
    assert!(resumed.stderr().contains("nothing left to learn"), "{}", resumed.stderr());
    resumed.ok();
    folder
        .run("fit t.csv -t y --family quantile:0.1,0.9 --resume parts.kalmia")
        .fails(2, &["`family` was \"quantile:0.1,0.5,0.9\""]);
    folder.write("a.csv", part(&table(5000), 0..2300));
    folder.write("b.csv", part(&table(5000), 2300..5000));
    folder.ok(&format!("fit a.csv -t y {FAMILY} -o ab.kalmia"));
    let updated = folder.json("update ab.kalmia b.csv --json");
    let whole = folder.json("inspect whole.kalmia --json");
    assert_eq!(updated["rows"], 5000);
    // rows come in other blocks, so sums are rounded in another way
    for k in 0..3 {
        for (one, other) in estimates(&updated, k).into_iter().zip(estimates(&whole, k)) {
            assert!((one - other).abs() < 1e-9 * (1.0 + other.abs()), "{one}, not {other}");
        }
        for name in ["loss", "baseline_loss", "share_below", "last_half.loss"] {
            let of = |model: &Value| number(model, &format!("progressive.levels.{k}.{name}"));
            assert!((of(&updated) / of(&whole) - 1.0).abs() < 1e-9, "{name}");
        }
    }
    let last = folder.text("trace.csv").lines().last().unwrap().to_owned();
    let cells: Vec<f64> = last.split(',').map(|cell| cell.parse().unwrap()).collect();
    assert_eq!((cells[0], cells[1]), (5000.0, number(&whole, "progressive.loss")));
}

#[test]
fn killed_after_a_checkpoint_and_resumed_it_is_the_same_model() {
    let folder = Folder::new("quantiles-kill");
    folder.write("t.csv", table(40_000));
    let fit = format!("fit t.csv -t y {FAMILY}");
    folder.ok(&format!("{fit} -o whole.kalmia"));
    // the fit may end before it is killed, if this process has to wait for the machine
    let killed = (0..10).any(|_| {
        let _ = std::fs::remove_file(folder.path("m.kalmia"));
        let mut child = folder.spawn(&format!("{fit} -o m.kalmia --checkpoint-every 1000"));
        wait_until("the first checkpoint", || folder.exists("m.kalmia"));
        let _ = child.kill();
        !child.wait().unwrap().success()
    });
    assert!(killed, "every fit ended before it was killed");
    let resumed = folder.run(&format!("{fit} -o m.kalmia --resume m.kalmia"));
    assert!(resumed.stderr().contains("continuing after row"), "{}", resumed.stderr());
    resumed.ok();
    assert!(folder.read("m.kalmia") == folder.read("whole.kalmia"));
}

#[test]
fn sorted_rows_are_noticed_and_shuffled_on_demand() {
    let folder = Folder::new("quantiles-sorted");
    let csv = table(900);
    let mut rows: Vec<&str> = csv.lines().skip(1).collect();
    let target = |row: &str| row.rsplit(',').next().unwrap().parse::<f64>().unwrap();
    rows.sort_by(|a, b| target(a).total_cmp(&target(b)));
    folder.write("t.csv", format!("x,town,y\n{}\n", rows.join("\n")));
    let fit = format!("fit t.csv -t y {FAMILY}");
    let sorted = folder.run(&fit);
    assert!(sorted.stderr().contains("seem sorted by the target"), "{}", sorted.stderr());
    let shuffled = folder.run(&format!("{fit} --shuffle"));
    assert!(!shuffled.stderr().contains("seem sorted"), "{}", shuffled.stderr());
    shuffled.ok();
}

#[test]
fn what_several_quantiles_do_not_take_is_said() {
    let folder = Folder::new("quantiles-refused");
    folder.write("t.csv", table(300));
    folder.write("start.json", "{}");
    folder.ok(&format!("fit t.csv -t y {FAMILY} -o m.kalmia"));
    let fit = format!("fit t.csv -t y {FAMILY}");
    for (words, said) in [
        ("--method ekf", "several quantiles are learned by auto, not by ekf"),
        ("--method wide", "several quantiles are learned by auto, not by wide"),
        ("--averaged", "not averaged"),
        ("--passes 2", "--passes: several quantiles are learned in one pass"),
        ("--shards 2", "--shards: several quantiles are learned in one pass"),
        ("--start start.json", "--start: several quantiles"),
        ("--outliers downweight", "hardly moved by outliers"),
        ("--text town", "not from text"),
        ("--certificate", "--certificate"),
        ("--conformal", "no conformal intervals"),
    ] {
        folder.run(&format!("{fit} {words}")).fails(2, &[said]);
    }
    for (words, said) in [
        ("compare t.csv -t y --family quantile:0.1,0.9", "elsewhere give one level"),
        ("predict m.kalmia t.csv --interval y", "--interval: a model of several quantiles"),
        ("predict m.kalmia t.csv --interval mean", "--interval: a model of several quantiles"),
        ("predict m.kalmia t.csv --interval conformal", "--interval: a model of several quantiles"),
        ("polish m.kalmia t.csv", "holds several quantiles"),
        ("merge m.kalmia m.kalmia -o x.kalmia", "holds several quantiles"),
    ] {
        folder.run(words).fails(2, &[said]);
    }
    for (levels, said) in [
        ("0.1,1.5", "the level 1.5 must lie between 0 and 1"),
        ("0.1,x", "`x` is not a level"),
        ("0.1,0.1", "the level 0.1 is given twice"),
    ] {
        let run = folder.run(&format!("fit t.csv -t y --family quantile:{levels}"));
        assert_eq!(run.output.status.code(), Some(2));
        assert!(run.stderr().contains(said), "{}", run.stderr());
    }
}

#[test]
fn a_file_with_parts_of_other_levels_is_refused() {
    let folder = Folder::new("quantiles-forged");
    folder.write("t.csv", table(300));
    folder.ok(&format!("fit t.csv -t y {FAMILY} -o m.kalmia"));
    let forged = crate::harness::forge(&folder.read("m.kalmia"), |header| {
        let at = header.find("metrics").unwrap();
        format!("{}{}", &header[..at], header[at..].replacen(r#"tau\":0.9"#, r#"tau\":0.8"#, 1))
    });
    folder.write("f.kalmia", forged);
    folder.run("predict f.kalmia t.csv").fails(2, &["f.kalmia", "other levels"]);
}

#[test]
fn exports_hold_every_level() {
    let folder = Folder::new("quantiles-export");
    folder.write("t.csv", table(600));
    folder.ok(&format!("fit t.csv -t y {FAMILY} -o m.kalmia"));
    let exported = folder.json("export m.kalmia --format json");
    let inspected = folder.json("inspect m.kalmia --json");
    let predicted = predictions(&folder.ok("predict m.kalmia t.csv"));
    let csv = table(600);
    for (line, row) in csv.lines().skip(1).zip(&predicted) {
        let cells: Vec<_> = line.split(',').collect();
        let features = [1.0, cells[0].parse().unwrap(), f64::from(cells[1] == "Ulm")];
        let mut products: Vec<f64> = (0..3)
            .map(|k| {
                let list = exported["levels"][k]["coefficients"].as_array().unwrap();
                let term = |c: &Value| {
                    let feature = match c["name"].as_str().unwrap() {
                        "x" => features[1],
                        "town=Ulm" => features[2],
                        "town=Bonn" => 1.0 - features[2],
                        _ => features[0],
                    };
                    feature * number(c, "estimate")
                };
                list.iter().map(term).sum()
            })
            .collect();
        products.sort_by(f64::total_cmp);
        for (one, other) in products.iter().zip(row) {
            assert!((one - other).abs() < 1e-9 * (1.0 + other.abs()), "{line}: {one}, {other}");
        }
    }
    for k in 0..3 {
        assert_eq!(exported["levels"][k]["coefficients"], inspected["levels"][k]["coefficients"]);
        let error = number(&exported["levels"][k]["coefficients"][1], "std_error");
        let variance = number(&exported["levels"][k]["covariance"], "1.1");
        assert!((variance.sqrt() / error - 1.0).abs() < 1e-9);
    }
    folder.ok("export m.kalmia --format onnx -o m.onnx");
    let onnx = folder.read("m.onnx");
    let holds = |bytes: &[u8]| onnx.windows(bytes.len()).any(|window| window == bytes);
    assert!(holds(b"TopK") && holds(b"largest") && holds(b"[0.1,0.5,0.9]"));
    // the columns of a level stand side by side: features x levels
    for j in 1..3 {
        let numbers: Vec<u8> =
            (0..3).flat_map(|k| estimates(&inspected, k)[j].to_le_bytes()).collect();
        assert!(holds(&numbers), "feature {j}");
    }
}
