//! Fits: what is printed, which family is chosen, and that the result does not depend on how the
//! rows arrive.

use crate::harness::{Folder, number, table};

#[test]
fn levels_of_a_column_stand_together_in_tables() {
    let folder = Folder::new("grouped");
    let mut csv = String::from("x,town,color,y,k,g\n");
    for i in 0..2400usize {
        // every second level of both columns appears later than those of the other
        let town = ["Ulm", "Bonn", "Kiel", "Jena"][i % (2 + i / 800)];
        let color = ["red", "blue", "pink", "grey"][(i / 3) % (2 + i / 900)];
        let x = (i * 7919 % 1009) as f64 / 500.0;
        let y = x + (i % 7) as f64;
        let class = ["a", "b", "c"][(i * 31 % 17 + i % 5) % 3];
        csv.push_str(&format!("{x},{town},{color},{y},{class},{}\n", 1 + i * 31 % 4));
    }
    folder.write("t.csv", &csv);
    let expected =
        ["x", "town=Bonn", "town=Kiel", "town=Jena", "color=blue", "color=pink", "color=grey"];
    for options in [
        "-t y --exclude k,g",
        "-t y --exclude k,g --method ekf",
        "-t y --exclude k,g --family quantile:0.2,0.8",
        "-t k --exclude y,g",
        "-t g --family ordinal --exclude y,k",
    ] {
        let fit = folder.ok(&format!("fit t.csv {options} -o m.kalmia"));
        for text in [fit, folder.ok("inspect m.kalmia")] {
            let table = text.lines().skip_while(|line| !line.starts_with("coefficient "));
            let names: Vec<&str> = table
                .filter_map(|line| line.split_whitespace().next())
                .filter(|name| expected.contains(name))
                .take(expected.len())
                .collect();
            assert_eq!(names, expected, "{options}\n{text}");
        }
        // files and exports keep the order of the features
        let export = folder.ok("export m.kalmia");
        let place = |name: &str| export.find(&format!("\"{name}\"")).unwrap();
        assert!(place("color=pink") < place("town=Jena"), "{options}: {export}");
    }
}

#[test]
fn json_has_the_promised_shape() {
    let folder = Folder::new("shape");
    folder.write("t.csv", table(3000, ["0", "1"]));
    let fit = folder.json("fit t.csv --target y --json");
    assert_eq!((fit["rows"].as_u64(), fit["skipped"].as_u64()), (Some(3000), Some(0)));
    assert_eq!((fit["family"].as_str(), fit["method"].as_str()), (Some("bernoulli"), Some("auto")));
    assert!(number(&fit, "progressive.loss") < 0.8 * number(&fit, "progressive.baseline_loss"));
    assert!(number(&fit, "seconds") > 0.0 && number(&fit, "rows_per_second") > 0.0);
    let names: Vec<_> = fit["coefficients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["(intercept)", "a", "b", "c"]);
    for key in ["estimate", "std_error", "lower", "upper"] {
        number(&fit["coefficients"][1], key);
    }
    assert!(
        number(&fit, "coefficients.1.lower") > 0.0 && number(&fit, "coefficients.2.upper") < 0.0
    );
    assert!(
        number(&fit, "coefficients.3.lower") < 0.0 && number(&fit, "coefficients.3.upper") > 0.0
    );
}

#[test]
fn every_way_in_gives_the_same_model() {
    let folder = Folder::new("ways");
    let text = table(5000, ["0", "1"]);
    folder.write("t.csv", &text);
    folder.write("t.tsv", text.replace(',', "\t"));
    folder.write("t.txt", text.replace(',', ";"));
    let (head, body) = text.split_once('\n').unwrap();
    let lines: Vec<&str> = body.lines().collect();
    folder.write("part-1.csv", format!("{head}\n{}\n", lines[..1700].join("\n")));
    folder.write("part-2.csv", format!("{head}\n{}\n", lines[1700..].join("\n")));
    folder.write("bare.csv", body);
    let json = |row: &&str| {
        let v: Vec<&str> = row.split(',').collect();
        format!("{{\"a\":{},\"b\":{},\"c\":{},\"y\":{}}}", v[0], v[1], v[2], v[3])
    };
    folder.write("t.jsonl", lines.iter().map(json).collect::<Vec<_>>().join("\n"));
    let coefficients =
        |words: &str| folder.json(&format!("fit {words} --json"))["coefficients"].to_string();
    let expected = coefficients("t.csv --target y");
    for words in [
        "t.tsv --target y",
        "t.txt --delimiter ; --target y",
        "part-?.csv --target y",
        "part-1.csv part-2.csv --target y",
        "t.jsonl --target y",
        "t.csv --target y --features a,b,c",
        "t.csv -t y --family bernoulli",
    ] {
        assert_eq!(coefficients(words), expected, "{words}");
    }
    let bare = coefficients("bare.csv --no-header --target c4");
    assert_eq!(bare.replace("c1", "a").replace("c2", "b").replace("\"c3", "\"c"), expected);
    let piped = folder.pipe("fit - --target y --json", text.as_bytes()).ok();
    let piped: serde_json::Value = serde_json::from_str(&piped).unwrap();
    assert_eq!(piped["coefficients"].to_string(), expected);
}

#[test]
fn text_labels_are_learned_and_positive_turns_them_round() {
    let folder = Folder::new("labels");
    folder.write("t.csv", table(2000, ["no", "yes"]));
    let yes = folder.json("fit t.csv -t y --json");
    let no = folder.json("fit t.csv -t y --positive no --json");
    assert_eq!(yes["family"], "bernoulli");
    let a = number(&yes, "coefficients.1.estimate");
    let b = number(&no, "coefficients.1.estimate");
    assert!(a > 1.0 && (a + b).abs() < 1e-9 * a, "{a} {b}");
    assert_eq!((&yes["positive"], &no["positive"]), (&"yes".into(), &"no".into()));
    assert!(
        folder
            .ok("fit t.csv -t y -o m.kalmia")
            .starts_with("bernoulli of `y` (1 is `yes`) by auto, 2 000 rows")
    );
    assert!(folder.ok("inspect m.kalmia").starts_with("bernoulli of `y` (1 is `yes`) by auto"));
    folder.run("fit t.csv -t y --positive maybe").fails(2, &["maybe", "--positive"]);
}

#[test]
fn counts_are_noticed_and_a_contradiction_names_the_family() {
    let folder = Folder::new("families");
    let counts: String = (0..50).map(|i| format!("{},{}\n", i % 7, i % 4)).collect();
    folder.write("t.csv", format!("x,y\n{counts}"));
    let run = folder.run("fit t.csv -t y");
    assert!(run.stderr().contains("--family poisson"), "{}", run.stderr());
    assert!(run.ok().starts_with("gaussian of `y` by auto, 50 rows"));
    assert!(folder.ok("--quiet fit t.csv -t y --family poisson").contains("deviance"));
    let labels: String = (0..1500).map(|i| format!("{},{}\n", i % 7, i % 2)).collect();
    folder.write("late.csv", format!("x,y\n{labels}3,2\n"));
    folder
        .run("fit late.csv -t y")
        .fails(2, &["late.csv, row 1501", "--family poisson", "target `y` is 2"]);
    folder.write("two.csv", "x,y\n1,1\n2,2\n3,1\n4,2\n");
    folder.run("fit two.csv -t y").fails(2, &["--positive 2", "--family gaussian"]);
    assert!(folder.json("fit two.csv -t y --positive 2 --json")["family"] == "bernoulli");
    folder.run("fit t.csv -t y --family gama").fails(2, &["gama", "gamma"]);
}

#[test]
fn every_method_fits_and_gaussian_intervals_hold() {
    let folder = Folder::new("methods");
    folder.write("t.csv", table(3000, ["0", "1"]));
    for method in ["auto", "ekf", "truncated", "implicit", "moment", "ons", "asgd"] {
        let fit = folder.json(&format!("fit t.csv -t y --method {method} --json"));
        assert_eq!(fit["method"], method);
        let loss = number(&fit, "progressive.loss");
        assert!(loss < number(&fit, "progressive.baseline_loss"), "{method}: {loss}");
        assert_eq!(
            fit["coefficients"][1]["std_error"].is_null(),
            ["ons", "asgd"].contains(&method)
        );
    }
    // y is c with noise of deviation 1/sqrt(3) here: 95 % intervals must hold about 95 % of the
    // rows
    let fit = folder.json("fit t.csv -t c --json");
    assert_eq!(fit["family"], "gaussian");
    let coverage = number(&fit, "progressive.coverage");
    assert!((0.93..=1.0).contains(&coverage), "{coverage}");
    assert!((number(&fit, "dispersion") - 1.0 / 3.0).abs() < 0.03);
    folder
        .run("fit t.csv -t y --method ekf --drift adapt")
        .fails(2, &["--method ekf takes no --drift", "--prior"]);
}

#[test]
fn missing_values_stop_skip_or_are_imputed() {
    let folder = Folder::new("missing");
    let mut text = table(100, ["0", "1"]);
    text.push_str("0.5,,0.1,1\n");
    folder.write("t.csv", text);
    folder
        .run("fit t.csv -t y")
        .fails(2, &["t.csv, row 101 (line 102), column `b`: missing value", "--missing skip"]);
    let skipped = folder.json("fit t.csv -t y --missing skip --json");
    assert_eq!((skipped["rows"].as_u64(), skipped["skipped"].as_u64()), (Some(100), Some(1)));
    let mean = folder.json("fit t.csv -t y --missing mean --json");
    assert_eq!(mean["rows"].as_u64(), Some(101));
    assert_eq!(mean["coefficients"][3]["name"], "b:missing");
    folder.write("none.csv", "a,y\n,1\n,0\n");
    for words in [
        "fit none.csv -t y --family gaussian -o m.kalmia",
        "compare none.csv -t y --family gaussian",
    ] {
        folder
            .run(&format!("{words} --missing skip"))
            .fails(2, &["no row is left: 2 rows left out"]);
    }
    assert!(!folder.exists("m.kalmia"));
}

#[test]
fn levels_that_come_late_enter_and_a_drift_is_reported() {
    let folder = Folder::new("late");
    let mut text = String::from("x,c,y\n");
    for i in 0..3000 {
        let level = if i < 2000 { ["p", "q"][i % 2] } else { ["p", "q", "r"][i % 3] };
        text.push_str(&format!(
            "{},{level},{}\n",
            (i * 7 % 13) as f64 / 13.0,
            f64::from(level == "r") * 3.0 + (i * 5 % 11) as f64 / 11.0
        ));
    }
    folder.write("t.csv", &text);
    folder.write("lines.csv", "c,y\np,1\n\"q\nr\",2\np,3\n");
    assert!(folder.ok("fit lines.csv -t y").contains("\nc=q\\nr "));
    let fit = folder.json("fit t.csv -t y --json");
    let last = &fit["coefficients"].as_array().unwrap()[3];
    assert_eq!(last["name"], "c=r");
    assert!((number(last, "estimate") - 3.0).abs() < 0.05, "{last}");
    folder
        .run("fit t.csv -t y --method ons --radius 5 --exp-concavity 0.1")
        .fails(2, &["c=r", "fixed number of features"]);
    // a level that jumps every 4000 rows, under a noise of known size
    let moved: String = (0..20_000)
        .map(|i: i32| format!("{},{}\n", i % 5, i % 5 + i * 7919 % 3 + 4 * (i / 4000 % 2)))
        .collect();
    folder.write("drift.csv", format!("x,y\n{moved}"));
    let summary = folder.ok("--quiet fit drift.csv -t y --drift off");
    assert!(summary.contains("--drift adapt follows it (about "), "{summary}");
    let summary = folder.ok("--quiet fit drift.csv -t y");
    assert!(summary.contains("drift: detected and followed from row 4"), "{summary}");
    let summary = folder.ok("--quiet fit drift.csv -t y --drift adapt");
    assert!(summary.contains("drift: followed from row 129 on; "), "{summary}");
    let off = folder.json("fit drift.csv -t y --drift off --json");
    let adapt = folder.json("fit drift.csv -t y --drift adapt --json");
    assert!(number(&adapt, "progressive.loss") < 0.5 * number(&off, "progressive.loss"));
    assert_eq!(adapt["drift"]["row"], 129);
    // in the units of the loss: at most all of it
    let saved = number(&off, "drift.gain") / number(&off, "progressive.loss");
    assert!((saved - number(&off, "drift.share")).abs() < 1e-9 && saved > 0.1 && saved < 1.0);
    let detect = folder.json("fit drift.csv -t y --json");
    assert_eq!(
        (&detect["drift"]["seen"], &detect["drift"]["followed"]),
        (&true.into(), &true.into()),
        "{}",
        detect["drift"]
    );
    let still = folder.json("fit t.csv -t y --json");
    assert_eq!(still["drift"]["followed"], false);
}

#[test]
fn a_column_with_a_level_for_nearly_every_row_is_reported_once() {
    let folder = Folder::new("levels");
    let rows = |n: usize, level: fn(usize) -> String| -> String {
        (0..n).fold("my id,x,y\n".into(), |text: String, i| {
            text + &format!("{},{},{}\n", level(i), i % 7, i % 11)
        })
    };
    let notes = |words: &str| folder.run(words).stderr().matches("--exclude 'my id'").count();
    folder.write("id.csv", rows(120, |i| format!("n{i}")));
    let run = folder.run("fit id.csv -t y -o m.kalmia");
    assert!(run.stderr().contains("column `my id` has 120 levels in 120 rows"), "{}", run.stderr());
    assert_eq!(
        (
            notes("fit id.csv -t y"),
            notes("compare id.csv -t y --methods ekf"),
            notes("update m.kalmia id.csv")
        ),
        (1, 1, 0)
    );
    folder.write("few.csv", rows(120, |i| format!("n{}", i % 60)));
    assert_eq!((notes("fit few.csv -t y"), notes("--quiet fit id.csv -t y")), (0, 0));
    // never more than one row in two has a level of its own, but they are many
    folder.write("many.csv", rows(2100, |i| format!("n{}", i / 2)));
    assert_eq!(notes("fit many.csv -t y --method ekf"), 1);
}

#[test]
fn traces_and_pictures_are_written() {
    let folder = Folder::new("pictures");
    folder.write("t.csv", table(2000, ["0", "1"]));
    let fit = folder.json("fit t.csv -t y --trace trace.csv --plot loss.svg --json");
    folder.ok("fit t.csv -t y --plot loss.png");
    let trace = folder.text("trace.csv");
    let last: Vec<&str> = trace.lines().last().unwrap().split(',').collect();
    assert_eq!(trace.lines().next(), Some("rows,loss,baseline_loss"));
    assert_eq!((last[0], last[1].parse().unwrap()), ("2000", number(&fit, "progressive.loss")));
    assert!(folder.text("loss.svg").starts_with("<svg"));
    assert!(folder.read("loss.png").starts_with(b"\x89PNG"));
    folder.run("fit t.csv -t y --plot loss.jpg").fails(2, &[".svg or .png"]);
    folder.run("fit t.csv -t y -o no/such/model.kalmia").fails(2, &["there is no folder"]);
}

/// A value that is out of range is named with its option, as it was typed.
#[test]
fn a_refused_value_is_named_with_its_option() {
    let folder = Folder::new("refused-value");
    folder.write("a.csv", table(20, ["0", "1"]));
    for (words, said) in [
        ("--family gaussian:0", "'--family <FAMILY>': the variance must be above 0"),
        ("--family gamma:-1", "'--family <FAMILY>': the dispersion must lie between 1e-12 and"),
        ("--family binomial:0", "'--family <FAMILY>': the number of trials must be a whole number"),
        ("--family posson", "'posson' for '--family <FAMILY>': did you mean poisson?"),
        ("--method asgd --horizon 0", "--horizon 0: must be at least 1"),
        ("--method asgd --step -1", "--step -1: must be finite and positive"),
        ("--method ekf --prior 0", "--prior 0: must be a finite number above 0"),
        ("--method moment --prior -2", "--prior -2: must be a finite number above 0"),
        ("--method truncated --beta 2", "--beta 2: must lie strictly between 0 and 1/2"),
        ("--method truncated --scale -1", "--scale -1: must be finite and positive"),
        ("--method ons --radius 0", "--radius 0: must be positive, from 1e-100 to 1e100"),
        ("--method ons --exp-concavity 0", "--exp-concavity 0: must be finite and positive"),
        ("--method ons --gradient-bound -1", "--gradient-bound -1: must be finite and positive"),
    ] {
        folder.run(&format!("fit a.csv -t y {words}")).fails(2, &[said]);
    }
    folder.run("compare a.csv -t y --horizon 0").fails(2, &["--horizon 0: must be at least 1"]);
}
