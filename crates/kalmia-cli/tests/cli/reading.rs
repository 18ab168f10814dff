//! The options of reading, in every command that reads, and the notes on columns.

use crate::harness::{Folder, repository, table};

/// The model's coefficients and scores, without names of files and times.
fn learned(folder: &Folder, words: &str) -> serde_json::Value {
    let mut summary = folder.json(words);
    let fields = summary.as_object_mut().unwrap();
    for name in ["seconds", "rows_per_second", "files"] {
        fields.remove(name);
    }
    summary
}

#[test]
fn a_semicolon_file_with_decimal_commas_gives_the_model_of_points() {
    let folder = Folder::new("decimal");
    let points = table(300, ["0", "1"]);
    folder.write("points.csv", &points);
    folder.write("commas.csv", points.replace(',', ";").replace('.', ","));
    let expected = learned(&folder, "fit points.csv -t y -o p.kalmia --json");
    let found = learned(&folder, "fit commas.csv -t y --decimal , -o c.kalmia --json");
    assert_eq!(found, expected);
    let predicted = folder.ok("predict p.kalmia points.csv");
    assert_eq!(folder.ok("predict c.kalmia commas.csv --decimal ,"), predicted);
    // The decimal comma is a matter of the file: a model takes points too, and refuses commas.
    assert_eq!(folder.ok("predict c.kalmia points.csv"), predicted);
    folder.run("predict c.kalmia commas.csv").fails(2, &["column `a`", "is not a number"]);
    folder.ok("evaluate c.kalmia commas.csv --decimal ,");
    folder.ok("compare commas.csv -t y --decimal , --methods auto,ekf");
    folder.ok("update c.kalmia commas.csv --decimal ,");
}

#[test]
fn missing_values_of_the_fit_travel_with_the_model() {
    let folder = Folder::new("na");
    let rows = table(300, ["0", "1"]);
    folder.write("t.csv", format!("{rows}?,0,0,1\n-999.0,0,0,1\n"));
    folder.write("new.csv", "a,b,c\n?,0,0\n-999,0,0\n0.5,0,0\n");
    let fit = "fit t.csv -t y --na-values ?,-999 --missing skip -o m.kalmia";
    let summary = folder.json(&format!("{fit} --json"));
    assert_eq!(summary["skipped"], 2);
    let predicted = folder.ok("predict m.kalmia new.csv");
    let lines: Vec<_> = predicted.lines().collect();
    assert_eq!(lines[1], ",,,,,", "{predicted}");
    assert_eq!(lines[2], ",,,,,", "{predicted}");
    assert!(lines[3].starts_with("0."), "{predicted}");
    // Others can be added for one run.
    folder.write("other.csv", "a,b,c\nnone,0,0\n");
    folder.run("predict m.kalmia other.csv").fails(2, &["`none` is not a number"]);
    assert!(folder.ok("predict m.kalmia other.csv --na-values none").contains("\n,,,,"));
    // A fit is resumed only with the same ones.
    folder
        .run("fit t.csv -t y --missing skip --na-values ? --resume m.kalmia")
        .fails(2, &["`na-values` was [\"?\",\"-999\"] and is now [\"?\"]"]);
}

#[test]
fn bad_rows_are_left_out_counted_and_shown() {
    let folder = Folder::new("bad");
    let rows = table(3000, ["0", "1"]);
    folder.write("good.csv", &rows);
    let mut lines: Vec<&str> = rows.lines().collect();
    lines.insert(2001, "1,2");
    lines.insert(2003, "x,0,0,1");
    folder.write("bad.csv", lines.join("\n"));
    folder.run("fit bad.csv -t y").fails(2, &["bad.csv, row 2001 (line 2002)"]);
    let expected = folder.json("fit good.csv -t y --json");
    let run = folder.run("fit bad.csv -t y --bad-rows skip --json");
    let notes = run.stderr();
    assert!(
        notes.contains(
            "note: 2 rows left out that could not be read:\n  bad.csv, row 2001 (line 2002): 2 \
             fields where the header has 4\n  bad.csv, row 2003 (line 2004), column `a`: `x` is \
             not a number"
        ),
        "{notes}"
    );
    let found: serde_json::Value = serde_json::from_str(&run.ok()).unwrap();
    assert_eq!(found["coefficients"], expected["coefficients"]);
    folder.ok("fit good.csv -t y -o m.kalmia");
    let predicted = folder.ok("predict m.kalmia bad.csv --bad-rows skip --keep b");
    assert_eq!(predicted.lines().count(), 3003, "a line per row of the file");
    for words in ["evaluate m.kalmia bad.csv", "update m.kalmia bad.csv"] {
        let run = folder.run(&format!("{words} --bad-rows skip"));
        assert!(run.stderr().contains("note: 2 rows left out"), "{}", run.stderr());
        run.ok();
    }
}

#[test]
fn limits_comments_and_lines_before_the_header() {
    let folder = Folder::new("limit");
    let rows = table(300, ["0", "1"]);
    folder.write("t.csv", &rows);
    let first: Vec<&str> = rows.lines().take(101).collect();
    folder.write("first.csv", first.join("\n"));
    folder.write("report.csv", format!("Report\n\n# by hand\n{}", first.join("\n# more\n")));
    let expected = folder.json("fit first.csv -t y --json")["coefficients"].clone();
    assert_eq!(folder.json("fit t.csv -t y --limit 100 --json")["coefficients"], expected);
    let report = folder.json("fit report.csv -t y --skip-lines 1 --comment # --json");
    assert_eq!(report["coefficients"], expected);
    folder.run("fit t.csv -t y --comment ab").fails(2, &["--comment `ab`: give one character"]);
    folder.run("fit t.csv -t y --limit 0").fails(2, &["--limit"]);
    // Without a horizon the rows are counted, up to the limit.
    folder.ok("fit t.csv -t y --limit 100 --method asgd");
}

#[test]
fn json_is_recognized_on_standard_input() {
    let folder = Folder::new("stdin");
    let rows: String = (0..60).map(|i| format!("{{\"x\":{},\"y\":{}}}\n", i % 7, i % 2)).collect();
    let summary = folder.pipe("fit - -t y --json", rows.as_bytes()).ok();
    assert!(summary.contains("\"rows\":60"), "{summary}");
    folder.pipe("fit - -t y", b"[{\"x\":1,\"y\":2}]").fails(2, &["jq -c '.[]' -"]);
}

#[test]
fn columns_in_another_notation_are_noted() {
    let folder = Folder::new("notes");
    let row = |i: usize| format!("{i},{}%,{:02}.12.2024,0{},{}\n", i % 5, i % 28 + 1, i, i % 2);
    let rows: String = (0..60).map(row).collect();
    folder.write("t.csv", format!("id,share,day,zip,y\n{rows}"));
    let run = folder.run("fit t.csv -t y");
    let notes = run.stderr();
    for expected in [
        "note: column `id` grows from row to row; --exclude id if it is an identifier or an index",
        "note: column `share` holds percentages, such as `0%`, and is read as categories; write \
         them without the sign, or --exclude share",
        "note: column `day` holds dates, such as `01.12.2024`, and is read as categories",
        "note: column `zip` holds numbers with leading zeros, such as `00`, and is read as a \
         number; --categorical zip if they are codes",
    ] {
        assert!(notes.contains(expected), "{expected}\n{notes}");
    }
    run.ok();
    let rows: String = (0..60).map(|i| format!("{},,{}\n", i % 7, i % 2)).collect();
    folder.write("gap.csv", format!("a,b,y\n{rows}"));
    let empty = "note: column `b` has no value in the first rows; --exclude b leaves it out";
    let run = folder.run("fit gap.csv -t y --missing mean");
    assert!(run.stderr().contains(empty), "{}", run.stderr());
    run.ok();
    let said = ["no row is left: 60 rows left out", "leave the column out", empty];
    folder.run("fit gap.csv -t y --missing skip").fails(2, &said);
    folder.write("target.csv", "y;x\n1,5;2\n2,5;3\n3,5;4\n");
    folder.run("fit target.csv -t y").fails(
        2,
        &["most values look like numbers with a comma (`1,5`)", "hint: --decimal , reads"],
    );
}

#[test]
fn a_damaged_arrow_file_prints_one_message() {
    let folder = Folder::new("arrow");
    for name in ["decoder_panics.arrow", "huge_length.arrow", "huge_schema.parquet"] {
        let file = repository("crates/kalmia-data/tests/files").join(name);
        folder.write(name, std::fs::read(file).unwrap());
        let error = folder.run(&format!("fit {name} -t y --missing mean")).fails(2, &[name]);
        assert!(!error.contains("panicked"), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn columns_of_a_pipe_cannot_be_kept() {
    let folder = Folder::new("fifo");
    folder.write("t.csv", table(60, ["0", "1"]));
    folder.ok("fit t.csv -t y -o m.kalmia");
    let made = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    assert!(made.success());
    folder
        .run("predict m.kalmia pipe --keep y")
        .fails(2, &["--keep reads the input twice, which standard input and pipes do not allow"]);
}

#[test]
fn a_column_whose_name_holds_a_comma_can_be_chosen() {
    let folder = Folder::new("comma");
    let rows: String = (0..40).map(|i| format!("{},{},{}\n", i % 7, i % 5, i % 3)).collect();
    folder.write("t.csv", format!("\"last, first\",b,y\n{rows}"));
    let names = |fit: serde_json::Value| -> Vec<String> {
        let table = fit["coefficients"].as_array().unwrap();
        table.iter().map(|line| line["name"].as_str().unwrap().to_owned()).collect()
    };
    let run = |option: &str, value: &str| {
        let mut command = folder.command("fit t.csv -t y --family gaussian --json");
        let output = command.args([option, value]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        names(serde_json::from_slice(&output.stdout).unwrap())
    };
    assert_eq!(run("--features", "\"last, first\""), ["(intercept)", "last, first"]);
    assert_eq!(run("--exclude", "\"last, first\""), ["(intercept)", "b"]);
    assert_eq!(run("--features", "b,\"last, first\"").len(), 3);
}
