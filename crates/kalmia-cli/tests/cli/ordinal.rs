//! Targets with ordered levels through the whole command.

use crate::harness::{Folder, Uniform, number};
use serde_json::{Value, json};

const LEVELS: [&str; 4] = ["poor", "fair", "good", "best"];
const SLOPES: [f64; 2] = [1.2, -0.7];
const CUTS: [f64; 3] = [-1.0, 0.5, 2.0];
const FIT: &str = "fit t.csv -t rating --family ordinal";

/// Rows of a proportional odds model. The rating is a text, or a number from 1.
fn table(rows: usize, numbers: bool) -> String {
    let mut uniform = Uniform(7);
    let mut csv = String::from("x,z,town,rating\n");
    for i in 0..rows {
        let x = 4.0 * uniform.next() - 2.0;
        let z = 10.0 + 3.0 * uniform.next();
        let chance = uniform.next();
        let noise = (chance / (1.0 - chance)).ln();
        let latent = SLOPES[0] * x + SLOPES[1] * (z - 11.5) + noise;
        let place = CUTS.iter().filter(|cut| latent >= **cut).count();
        let town = ["Bonn", "Ulm"][i % 2];
        let rating = if numbers { (place + 1).to_string() } else { LEVELS[place].to_owned() };
        csv.push_str(&format!("{x},{z},{town},{rating}\n"));
    }
    csv
}

fn part(csv: &str, rows: std::ops::Range<usize>) -> String {
    let head = csv.lines().next().unwrap();
    let body: Vec<_> = csv.lines().skip(1 + rows.start).take(rows.len()).collect();
    format!("{head}\n{}\n", body.join("\n"))
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect()
}

fn estimates(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|c| number(c, "estimate")).collect()
}

#[test]
fn numbers_are_levels_by_size_from_fit_to_evaluate() {
    let folder = Folder::new("ordinal");
    folder.write("t.csv", table(4000, true));
    let fitted = folder.json(&format!("{FIT} -o m.kalmia --json"));
    assert_eq!((&fitted["family"], &fitted["method"]), (&"ordinal".into(), &"auto".into()));
    assert_eq!(fitted["classes"], json!(["1", "2", "3", "4"]));
    assert_eq!(fitted["reference"], Value::Null);
    let levels = &fitted["levels"];
    assert_eq!(names(&levels["coefficients"]), ["x", "z", "town=Ulm"]);
    assert_eq!(names(&levels["cutpoints"]), ["1|2", "2|3", "3|4"]);
    for (slope, truth) in levels["coefficients"].as_array().unwrap().iter().zip(SLOPES) {
        let distance = (number(slope, "estimate") - truth).abs();
        assert!(distance < 4.0 * number(slope, "std_error"), "{slope}");
        assert!(number(slope, "std_error") < 0.1, "{slope}");
    }
    assert!(estimates(&levels["cutpoints"]).is_sorted());
    let scores = &fitted["progressive"];
    assert!(number(scores, "loss") < 0.9 * number(scores, "baseline_loss"), "{scores}");

    let csv = folder.ok("predict m.kalmia t.csv");
    assert_eq!(csv.lines().next(), Some("p_1,p_2,p_3,p_4,predicted"));
    let mut right = 0.0;
    for (line, truth) in csv.lines().skip(1).zip(table(4000, true).lines().skip(1)) {
        let cells: Vec<_> = line.split(',').collect();
        let sum: f64 = cells[..4].iter().map(|cell| cell.parse::<f64>().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{line}");
        right += f64::from(truth.ends_with(&format!(",{}", cells[4])));
    }
    let evaluated = folder.json("evaluate m.kalmia t.csv --json");
    assert_eq!(evaluated["family"], "ordinal");
    assert!((number(&evaluated, "accuracy") - right / 4000.0).abs() < 1e-12);

    let text = folder.ok(FIT);
    assert!(text.starts_with("ordinal of `rating` (4 levels) by auto"), "{text}");
    assert!(text.contains("\na higher level, as log odds\ncoefficient"), "{text}");
    assert!(text.contains("\ncutpoints between the levels\n"), "{text}");
    let text = folder.ok("inspect m.kalmia");
    assert!(text.contains("levels: 1, 2, 3, 4") && text.contains("3|4"), "{text}");
    let inspected = folder.json("inspect m.kalmia --json");
    assert_eq!(inspected["levels"], fitted["levels"]);
    assert_eq!(inspected["settings"]["family"], "ordinal");
    assert!(!inspected["mixture"].as_array().unwrap().is_empty());
}

#[test]
fn texts_need_their_order_and_have_it_everywhere() {
    let folder = Folder::new("ordinal-texts");
    folder.write("t.csv", table(1500, false));
    folder.run(FIT).fails(
        2,
        &["the order of the levels", "give all levels, the lowest first", "--levels low,medium"],
    );
    let fit = format!("{FIT} --levels poor,fair,good,best -o m.kalmia");
    let fitted = folder.json(&format!("{fit} --json"));
    assert_eq!(fitted["classes"], json!(LEVELS));
    assert_eq!(names(&fitted["levels"]["cutpoints"]), ["poor|fair", "fair|good", "good|best"]);
    // the same rows with numbers in place of the texts
    folder.write("t.csv", table(1500, true));
    let by_size = folder.json(&format!("{FIT} --json"));
    let of = |model: &Value| estimates(&model["levels"]["coefficients"]);
    assert_eq!(of(&fitted), of(&by_size));
    assert_eq!(fitted["progressive"]["loss"], by_size["progressive"]["loss"]);

    folder.write("t.csv", table(1500, false));
    let csv = folder.ok("predict m.kalmia t.csv");
    assert_eq!(csv.lines().next(), Some("p_poor,p_fair,p_good,p_best,predicted"));
    let confusion = folder.json("evaluate m.kalmia t.csv --json");
    assert_eq!(confusion["classes"], json!(LEVELS));
    folder.write("new.csv", "x,z,town,rating\n1,11,Ulm,great\n");
    let said = "`great` is not among the levels of the target";
    folder.run("update m.kalmia new.csv").fails(2, &["new.csv", said]);
    folder.run("evaluate m.kalmia new.csv").fails(2, &["new.csv", said]);
    folder.run(&format!("{FIT} --levels poor,fair,good")).fails(2, &["`best` is not among"]);
}

#[test]
fn checkpoints_and_updates_give_the_same_as_one_fit() {
    let folder = Folder::new("ordinal-checkpoints");
    folder.write("t.csv", table(5000, true));
    folder.ok(&format!("{FIT} -o whole.kalmia --trace trace.csv"));
    folder.ok(&format!("{FIT} -o parts.kalmia --checkpoint-every 1000"));
    assert_eq!(folder.read("whole.kalmia"), folder.read("parts.kalmia"));
    let resumed = folder.run(&format!("{FIT} -o parts.kalmia --resume parts.kalmia"));
    assert!(resumed.stderr().contains("nothing left to learn"), "{}", resumed.stderr());
    resumed.ok();
    folder
        .run(&format!("{FIT} --levels 1,2,3,4 --resume parts.kalmia"))
        .fails(2, &["`levels` was absent"]);
    folder.write("a.csv", part(&table(5000, true), 0..2300));
    folder.write("b.csv", part(&table(5000, true), 2300..5000));
    folder.ok("fit a.csv -t rating --family ordinal -o ab.kalmia");
    let updated = folder.json("update ab.kalmia b.csv --json");
    let whole = folder.json("inspect whole.kalmia --json");
    assert_eq!(updated["rows"], 5000);
    // rows do not depend on how they are cut into blocks
    assert_eq!(updated["levels"], whole["levels"]);
    let last = folder.text("trace.csv").lines().last().unwrap().to_owned();
    let cells: Vec<f64> = last.split(',').map(|cell| cell.parse().unwrap()).collect();
    assert_eq!((cells[0], cells[1]), (5000.0, number(&whole, "progressive.loss")));
}

#[test]
fn the_summary_says_that_no_drift_is_looked_for() {
    let folder = Folder::new("ordinal-drift");
    folder.write("t.csv", table(400, true));
    for option in ["", "--drift off"] {
        let text = folder.ok(&format!("{FIT} {option}"));
        assert!(text.contains("drift: not looked for with ordered levels"), "{text}");
    }
}

#[test]
fn what_ordered_levels_do_not_take_is_said() {
    let folder = Folder::new("ordinal-refused");
    folder.write("t.csv", table(400, true));
    folder.write("start.json", "{}");
    folder.ok(&format!("{FIT} -o m.kalmia"));
    for (words, said) in [
        ("--method ekf", "ordered levels are learned by the method auto alone"),
        ("--method wide", "ordered levels are learned by the method auto alone"),
        ("--drift adapt", "ordered levels follow no drift and look for none: leave drift out"),
        ("--drift detect", "ordered levels follow no drift and look for none: leave drift out"),
        ("--offset z", "ordered levels take no offset"),
        ("--text town", "ordered levels take dense rows"),
        ("--averaged", "not averaged"),
        ("--outliers downweight", "no outliers"),
        ("--conformal", "family ordinal has no conformal intervals"),
        ("--passes 2", "--passes: ordered levels are learned in one pass"),
        ("--shards 2", "--shards: ordered levels are learned in one pass"),
        ("--start start.json", "--start"),
    ] {
        folder.run(&format!("{FIT} {words}")).fails(2, &[said]);
    }
    for (words, said) in [
        ("fit t.csv -t rating --levels 1,2,3,4", "--levels gives the order of the levels of"),
        ("predict m.kalmia t.csv --interval y", "--interval"),
        ("polish m.kalmia t.csv", "ordered levels cannot be polished"),
        ("merge m.kalmia m.kalmia -o x.kalmia", "ordered levels cannot be merged"),
        ("prune m.kalmia t.csv --min-z 2 -o x.kalmia", "m.kalmia"),
        ("compare t.csv -t rating --family ordinal", "ordered levels are learned by `kalmia fit`"),
        ("fit t.csv -t rating --family ordinl", "did you mean ordinal?"),
    ] {
        folder.run(words).fails(2, &[said]);
    }
}

#[test]
fn exports_hold_coefficients_and_cutpoints() {
    let folder = Folder::new("ordinal-export");
    folder.write("t.csv", table(3000, true));
    folder.ok(&format!("{FIT} -o m.kalmia"));
    let exported = folder.json("export m.kalmia --format json");
    let inspected = folder.json("inspect m.kalmia --json");
    assert_eq!(exported["family"], "ordinal");
    assert_eq!(exported["coefficients"], inspected["levels"]["coefficients"]);
    assert_eq!(exported["cutpoints"], inspected["levels"]["cutpoints"]);
    let error = number(&exported["cutpoints"][1], "std_error");
    let variance = number(&exported["covariance"], "4.4");
    assert!((variance.sqrt() / error - 1.0).abs() < 1e-9);
    // the formula of the documentation gives the predictions, up to the uncertainty
    let slopes = estimates(&exported["coefficients"]);
    let cuts = estimates(&exported["cutpoints"]);
    let csv = table(3000, true);
    let predicted = folder.ok("predict m.kalmia t.csv");
    for (line, row) in csv.lines().skip(1).zip(predicted.lines().skip(1)).take(200) {
        let cells: Vec<_> = line.split(',').collect();
        let numbers: [f64; 2] = [cells[0].parse().unwrap(), cells[1].parse().unwrap()];
        let ulm = f64::from(cells[2] == "Ulm");
        let linear: f64 = slopes[0] * numbers[0] + slopes[1] * numbers[1] + slopes[2] * ulm;
        let below = |k: usize| match cuts.get(k) {
            Some(cut) => 1.0 / (1.0 + (linear - cut).exp()),
            None => 1.0,
        };
        for (k, cell) in row.split(',').take(4).enumerate() {
            let p = below(k) - if k == 0 { 0.0 } else { below(k - 1) };
            let found: f64 = cell.parse().unwrap();
            assert!((p - found).abs() < 0.01, "{line}: {p} {found}");
        }
    }
    folder.ok("export m.kalmia --format onnx -o m.onnx");
    let onnx = folder.read("m.onnx");
    let holds = |bytes: &[u8]| onnx.windows(bytes.len()).any(|window| window == bytes);
    assert!(holds(b"Sigmoid") && holds(b"differences") && holds(br#"["1","2","3","4"]"#));
    let bias: Vec<u8> = cuts.iter().flat_map(|cut| (-cut).to_le_bytes()).collect();
    assert!(holds(&bias));
}
