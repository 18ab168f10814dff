//! `fit --outliers downweight`: what it does, that a model keeps it, and what it is refused with.

use crate::harness::Folder;

/// A line with one wrong target.
fn rows() -> String {
    let row = |i: u32| {
        let x = f64::from(i % 20);
        let y = if i == 700 { 1e8 } else { 3.0 + 2.0 * x + f64::from(i % 7) - 3.0 };
        format!("{x},{y}\n")
    };
    format!("x,y\n{}", (0..2000).map(row).collect::<String>())
}

fn slope(folder: &Folder, model: &str) -> f64 {
    let shown = folder.json(&format!("inspect {model} --json"));
    let table = shown["coefficients"].as_array().unwrap();
    let x = table.iter().find(|one| one["name"] == "x").unwrap();
    x["estimate"].as_f64().unwrap()
}

#[test]
fn a_wrong_target_is_ignored_and_the_choice_is_kept() {
    let folder = Folder::new("outliers");
    folder.write("rows.csv", rows());
    folder.ok("--quiet fit rows.csv -t y --family gaussian -o plain.kalmia");
    let fit = "--quiet fit rows.csv -t y --family gaussian --outliers downweight";
    folder.ok(&format!("{fit} -o down.kalmia"));
    assert!((slope(&folder, "plain.kalmia") - 2.0).abs() > 10.0);
    assert!((slope(&folder, "down.kalmia") - 2.0).abs() < 0.02);

    for method in ["ekf --family gaussian:4", "moment --family gaussian:4"] {
        folder.ok(&format!(
            "--quiet fit rows.csv -t y --outliers downweight --method {method} -o other.kalmia"
        ));
        let found = slope(&folder, "other.kalmia");
        assert!((found - 2.0).abs() < 0.02, "{method}: {found}");
    }

    folder.ok("--quiet update down.kalmia rows.csv -o twice.kalmia");
    assert!((slope(&folder, "twice.kalmia") - 2.0).abs() < 0.02);
    // a fit is resumed with the choice it was started with
    folder.run(&format!("{fit} --resume plain.kalmia")).fails(2, &["outliers", "downweight"]);
}

#[test]
fn it_is_refused_with_what_counts_every_row_in_full() {
    let folder = Folder::new("outliers-refused");
    folder.write("rows.csv", rows());
    for (words, named) in [
        ("--passes 2", "--passes"),
        ("--shards 2", "--shards"),
        ("--method asgd", "outliers"),
        ("--family quantile:0.5", "outliers hardly move family quantile"),
        ("--family student", "outliers hardly move family student"),
    ] {
        let fit = format!("fit rows.csv -t y --outliers downweight -o m.kalmia {words}");
        folder.run(&fit).fails(2, &[named]);
        assert!(!folder.exists("m.kalmia"));
    }
    folder.ok("--quiet fit rows.csv -t y --family gaussian --outliers downweight -o m.kalmia");
    let message = folder.run("polish m.kalmia rows.csv -o p.kalmia").stderr();
    assert!(message.contains("outliers") && !folder.exists("p.kalmia"), "{message}");
}
