//! Inputs and models that cannot be used: one error that names the fault, the promised exit code,
//! nothing half written.

use crate::harness::{Folder, forge, repository, table};
use std::process::Stdio;

#[test]
fn bad_inputs_are_named() {
    let folder = Folder::new("inputs");
    folder.write("t.csv", table(10, ["0", "1"]));
    folder.write("empty.csv", "");
    folder.write("head.csv", "a,y\n");
    folder.write("quote.csv", "a,y\n\"1,0\n2,1\n");
    folder.write("nul.csv", b"a,y\n1\x002,0\n2,1\n");
    folder.write("latin.csv", b"a,y\ncaf\xe9,0\nth\xe9,1\n");
    folder.write("dates.csv", "d,y\n2024-01-01,0\n2024-01-02,1\n");
    folder.write(
        "slip.csv",
        (0..30).fold("x,y\n?,1\n".into(), |text: String, i| text + &format!("{i},{}\n", i % 3)),
    );
    folder.write("binary.parquet", b"PAR1 and nothing else PAR1");
    std::fs::create_dir(folder.path("folder")).unwrap();
    let cases: &[(&str, &[&str])] = &[
        ("fit no.csv -t y", &["no.csv"]),
        ("fit folder -t y", &["is a folder"]),
        ("fit empty.csv -t y", &["empty.csv is empty"]),
        ("fit head.csv -t y", &["no data rows"]),
        ("fit t.csv -t yy", &["did you mean `y`"]),
        ("fit t.csv", &["--target"]),
        ("fit t.csv -t y --weight y", &["both the target and the weights"]),
        ("fit t.csv -t y --delimiter ab", &["--delimiter"]),
        ("fit t.csv -t y --prior 0", &["--prior"]),
        ("fit *.nothing -t y", &["*.nothing"]),
        ("fit quote.csv -t y", &["quote.csv"]),
        ("fit nul.csv -t y --features b", &["nul.csv has no column `b`"]),
        ("fit latin.csv -t y", &["latin.csv"]),
        ("fit dates.csv -t y", &["column `d`"]),
        (
            "fit slip.csv -t y",
            &["slip.csv, row 1", "hint: --categorical", "--exclude", "--na-values"],
        ),
        ("fit binary.parquet -t y", &["binary.parquet"]),
        ("predict t.csv t.csv", &["not a kalmia model"]),
        ("inspect no.kalmia", &["no.kalmia"]),
        ("bounds no_such_bound", &["did you mean"]),
    ];
    for (words, said) in cases {
        let words =
            if words.starts_with("fit") { format!("{words} -o out") } else { (*words).into() };
        folder.run(&words).fails(2, said);
        assert!(!folder.exists("out"), "{words} left a file");
    }
}

/// Every remedy that the data layer knows is put in terms of the command's options.
#[test]
fn every_remedy_has_a_hint() {
    let folder = Folder::new("hints");
    folder.write("t.csv", table(60, ["0", "1"]));
    folder.write("colon.csv", table(10, ["0", "1"]).replace(',', ":"));
    folder.write("gap.csv", "a,y\n1,0\n,1\n2,0\n");
    folder.write("date.csv", "d,y\n2024-01-01,0\n2024-01-02,1\n");
    folder.write("labels.csv", "a,y\n1,red\n2,blue\n3,red\n4,blue\n");
    folder.write("classes.csv", "a,y\n1,red\n2,blue\n3,green\n");
    let ids: String = (0..40).map(|i| format!("id{i},{}\n", i % 2)).collect();
    folder.write("ids.csv", format!("id,y\n{ids}"));
    let numbers: String = (0..40).map(|i| format!("{},{}.5\n", i % 7, i % 5)).collect();
    folder.write("typo.csv", format!("a,y\n{numbers}1,3.x1\n"));
    folder.write("inf.csv", format!("a,y\n{numbers}inf,1.5\n"));
    folder.write("ragged.csv", format!("a,y\n{numbers}1\n"));
    folder.write("huge.csv", format!("a,y\n{numbers}1,1e300\n"));
    folder.write("one.csv", format!("a,y\n{}", "1,red\n".repeat(40)));
    let cases: &[(&str, &[&str])] = &[
        ("fit t.csv", &["hint: --target NAME"]),
        ("fit t.csv -t y --max-features 2", &["hint: --features or --exclude", "--max-features"]),
        (
            "fit ids.csv -t y --max-features 9",
            &["column `id`", "hint: --exclude", "--max-features"],
        ),
        ("fit colon.csv -t y", &["hint: --delimiter", "--no-header", "--format"]),
        ("fit gap.csv -t y", &["row 2", "hint: --missing skip", "--missing mean"]),
        ("compare gap.csv -t y", &["row 2", "hint: --missing skip"]),
        ("fit date.csv -t y", &["column `d`", "hint: --categorical NAME", "--exclude NAME"]),
        ("fit labels.csv -t y --positive green", &["column `y`", "hint: --positive LABEL"]),
        (
            "fit classes.csv -t y --family bernoulli",
            &["column `y`", "hint: --family categorical learns several classes"],
        ),
        (
            "fit typo.csv -t y",
            &["`3.x1` is not a number, unlike other targets", "hint: --bad-rows skip", "--family"],
        ),
        ("fit inf.csv -t y", &["`inf`", "hint: --na-values inf reads it as missing", "--missing"]),
        ("fit ragged.csv -t y", &["1 fields where", "hint: --bad-rows skip"]),
        (
            "fit one.csv -t y",
            &["a single value", "hint: --positive LABEL", "--family categorical", "--shuffle"],
        ),
    ];
    for (words, said) in cases {
        folder.run(words).fails(2, said);
    }
    // nor is an option named that cannot help
    let error = folder.run("fit huge.csv -t y").fails(2, &["target `y` is 1e300"]);
    assert!(!error.contains("--family"), "{error}");
    let error = folder.run("fit typo.csv -t y").fails(2, &[]);
    assert!(!error.contains("--exclude"), "{error}");
    // the hint works
    let sorted: String =
        (0..2600).map(|i| format!("{},{}\n", i % 7, ["red", "blue"][i / 1300])).collect();
    folder.write("sorted.csv", format!("a,y\n{sorted}"));
    folder.ok("fit sorted.csv -t y --shuffle");
    folder.ok("fit sorted.csv -t y --shuffle --positive red");
    folder.ok("fit sorted.csv -t y --shuffle --family categorical");
    folder.ok("fit typo.csv -t y --bad-rows skip");
    folder.ok("fit inf.csv -t y --bad-rows skip");
    // a model fixes the columns: only options of the reading are left
    folder.ok("fit t.csv -t y -o m.kalmia");
    let error = folder.run("predict m.kalmia colon.csv").fails(2, &["hint: --delimiter"]);
    assert!(!error.contains("--target"), "{error}");
}

#[test]
fn a_parameter_that_no_method_takes_is_refused() {
    let folder = Folder::new("parameters");
    folder.write("t.csv", table(60, ["0", "1"]));
    folder
        .run("fit t.csv -t y --prior 5")
        .fails(2, &["--method auto takes no --prior", "it takes --drift"]);
    folder
        .run("fit t.csv -t y --method ons --step 0.1")
        .fails(2, &["takes no --step", "--radius, --exp-concavity, --gradient-bound"]);
    folder
        .run("compare t.csv -t y --methods auto,ekf --radius 3")
        .fails(2, &["none of the methods compared takes --radius", "--methods"]);
    // one method that takes it is enough
    folder.ok("compare t.csv -t y --methods auto,ekf --prior 5");
}

#[test]
fn headers_and_lines_without_end_are_refused() {
    let folder = Folder::new("wide");
    let header: String = (0..1_000_000).map(|i| format!("c{i},")).collect();
    folder.write("wide.csv", format!("{header}y\n"));
    folder.run("fit wide.csv -t y").fails(2, &["wide.csv", "--max-features"]);
    let mut line = b"a,y\n1,".to_vec();
    line.resize(100_000_000, b'1');
    folder.write("long.csv", line);
    folder.run("fit long.csv -t y").fails(2, &["long.csv, row 1"]);
}

#[test]
fn a_text_among_millions_of_numbers_is_named() {
    use std::io::Write;
    let folder = Folder::new("deep");
    let mut out = std::io::BufWriter::new(std::fs::File::create(folder.path("t.csv")).unwrap());
    out.write_all(b"x,y\n").unwrap();
    let lines: String = (0..1000).map(|i| format!("{},{}\n", i % 9, i * 7 % 10)).collect();
    for _ in 0..3000 {
        out.write_all(lines.as_bytes()).unwrap();
    }
    out.write_all(b"oops,1\n").unwrap();
    drop(out);
    folder
        .run("fit t.csv -t y --method ekf --prior 0.01")
        .fails(2, &["t.csv, row 3000001 (line 3000002), column `x`: `oops`"]);
}

#[test]
fn damaged_models_are_refused() {
    let folder = Folder::new("damaged");
    folder.write("t.csv", table(300, ["0", "1"]));
    folder.ok("fit t.csv -t y -o m.kalmia");
    let good = folder.read("m.kalmia");
    for at in [0, 9, 40, 200, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 0x20;
        folder.write("bad.kalmia", bad);
        folder.run("predict bad.kalmia t.csv").fails(2, &["bad.kalmia"]);
    }
    folder.write("bad.kalmia", &good[..good.len() - 9]);
    folder.run("update bad.kalmia t.csv").fails(2, &["cut short"]);
    assert_eq!(folder.read("bad.kalmia").len(), good.len() - 9);
}

#[cfg(target_os = "linux")]
#[test]
fn a_model_of_several_classes_is_left_to_python() {
    let folder = Folder::new("classes");
    folder.write("t.csv", table(10, ["0", "1"]));
    let several: [u64; 0] = [];
    kalmia::file::save(
        folder.path("m.kalmia"),
        kalmia_model::MODEL_SET,
        &several,
        Default::default(),
    )
    .unwrap();
    for words in
        ["inspect m.kalmia", "predict m.kalmia t.csv", "update m.kalmia t.csv", "export m.kalmia"]
    {
        let error =
            folder.run(words).fails(2, &["m.kalmia", "several classes", "Python", "kalmia.load"]);
        assert!(!error.contains("update kalmia"), "{error}");
    }
}

#[test]
fn a_full_disk_is_an_error_of_its_own() {
    let folder = Folder::new("full");
    folder.write("t.csv", table(300, ["0", "1"]));
    folder.ok("fit t.csv -t y -o m.kalmia");
    folder.run("fit t.csv -t y -o /dev/full").fails(1, &["cannot write model file /dev/full"]);
    folder.run("fit t.csv -t y --trace /dev/full").fails(1, &["cannot write /dev/full"]);
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let status = folder
        .command("predict m.kalmia t.csv")
        .stdout(full())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(1));
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new("pipe");
    folder.write("t.csv", table(60_000, ["0", "1"]));
    folder.ok("--quiet fit t.csv -t y -o m.kalmia");
    let mut child = folder
        .command("predict m.kalmia t.csv")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
}

/// Intact on the outside, with a state that no fit writes.
#[test]
fn forged_models_are_refused() {
    let folder = Folder::new("forged");
    let rows: String = (0..60).map(|i| format!("{i},{},{}\n", ["a", "b"][i % 2], i % 3)).collect();
    folder.write("t.csv", format!("x,k,y\n{rows}"));
    folder.ok("-q fit t.csv -t y --family gaussian -o m.kalmia");
    let model = folder.read("m.kalmia");
    // the state stands in the header as a JSON text, with its quotes escaped
    let cases = [
        (r#"\"coding\":\"number\""#, r#"\"coding\":null"#, "the coding of the target `y`"),
        (r#"\"chosen\":true"#, r#"\"chosen\":false"#, "the kinds of the columns are missing"),
        (r#"\"settled\":true"#, r#"\"settled\":false"#, "the kinds of the columns are missing"),
        (r#"\"kind\":\"category\""#, r#"\"kind\":\"number\""#, "column `k` has features of"),
        (r#"\"kind\":\"number\""#, r#"\"kind\":null"#, "the kind of column `x` is missing"),
        (r#"\"name\":\"b\""#, r#"\"name\":\"a\""#, "the feature number"),
        (r#"\"intercept\":true"#, r#"\"intercept\":false"#, "feature"),
    ];
    for (from, to, said) in cases {
        folder.write("f.kalmia", forge(&model, |header| header.replacen(from, to, 1)));
        for words in ["inspect f.kalmia", "predict f.kalmia t.csv", "update f.kalmia t.csv"] {
            folder.run(words).fails(2, &[said]);
        }
    }
    let found = repository("crates/kalmia-cli/tests/data/forged/column-of-another-kind.kalmia");
    folder.write("f.kalmia", std::fs::read(found).unwrap());
    folder.run("evaluate f.kalmia t.csv").fails(2, &["f.kalmia", "does not fit at `encoder`"]);
    let mut short = model;
    short[..8].fill(0);
    folder.write("f.kalmia", short);
    folder.run("inspect f.kalmia").fails(2, &["malformed header: its length is given as 0 bytes"]);
}
