//! The forms of predictions, and the hints that the command gives.

use crate::harness::{Folder, number, table};

/// Whatever the form, kalmia's own reader finds the same numbers.
#[test]
fn every_form_is_read_back_as_the_same_numbers() {
    let folder = Folder::new("forms");
    folder.write("t.csv", table(500, ["no", "yes"]));
    folder.ok("-q fit t.csv -t y -o m.kalmia");
    folder.write("stdout.csv", folder.ok("-q predict m.kalmia t.csv --keep a,y"));
    folder.write("dash.csv", folder.ok("-q predict m.kalmia t.csv --keep a,y -o -"));
    assert_eq!(folder.read("stdout.csv"), folder.read("dash.csv"));
    assert!(!folder.exists("-"));
    let jsonl = folder.ok("-q predict m.kalmia t.csv --keep a,y --output-format jsonl");
    folder.write("stdout.jsonl", &jsonl);
    let fit = |file: &str| {
        let words = "-t linear --features a,mean,linear_sd,predicted --json";
        folder.json(&format!("-q fit {file} {words}"))["coefficients"].clone()
    };
    let expected = fit("stdout.csv");
    assert_eq!(expected.as_array().map(Vec::len), Some(5), "{expected}");
    assert_eq!(fit("stdout.jsonl"), expected);
    let endings = ["csv", "tsv", "jsonl", "ndjson", "parquet", "arrow"];
    let packed = ["csv.gz", "csv.zst", "tsv.gz", "jsonl.zst"];
    for ending in endings.into_iter().chain(packed) {
        let file = format!("p.{ending}");
        folder.ok(&format!("-q predict m.kalmia t.csv --keep a,y -o {file}"));
        assert_eq!(fit(&file), expected, "{file}");
    }
    assert!(folder.read("p.csv.gz").starts_with(&[0x1f, 0x8b]));
    assert!(folder.text("p.tsv").starts_with("a\ty\tmean\t"));
    for refused in ["p.json", "p.txt", "p.parquet.gz"] {
        let said = [".csv, .tsv or .jsonl", "leave .gz"][usize::from(refused.ends_with("gz"))];
        folder.run(&format!("predict m.kalmia t.csv -o {refused}")).fails(2, &[refused, said]);
        assert!(!folder.exists(refused));
    }
}

#[test]
fn predictions_name_the_label_and_count_what_was_left_out() {
    let folder = Folder::new("label");
    folder.write("t.csv", table(400, ["no", "yes"]));
    folder.ok("-q fit t.csv -t y -o m.kalmia");
    folder.write("gap.csv", "a,b,c\n1,-1,0\n,0,0\n-1,1,0\n");
    let run = folder.run("predict m.kalmia gap.csv --missing skip -o p.csv");
    let notes = run.stderr();
    run.ok();
    assert!(notes.contains("note: mean is the probability that `y` is `yes`"), "{notes}");
    assert!(notes.contains("2 rows predicted, 1 row left empty for a missing value"), "{notes}");
    let lines: Vec<String> = folder.text("p.csv").lines().map(String::from).collect();
    assert!(lines[1].ends_with(",yes") && lines[3].ends_with(",no"), "{lines:?}");
    assert_eq!(lines[2], ",,,,,");
}

#[test]
fn hints_come_when_they_help() {
    let folder = Folder::new("family-hints");
    let write = |name: &str, value: &dyn Fn(usize) -> f64| {
        let rows = (0..200).map(|i| format!("{},{}\n", i % 10, value(i)));
        folder.write(name, format!("x,y\n{}", rows.collect::<String>()));
    };
    write("five.csv", &|_| 5.0);
    write("counts.csv", &|i| (i * 7 % 5) as f64);
    write("skewed.csv", &|i| -(((i * 37 % 200) as f64 + 0.5) / 200.0).ln() + 0.01);
    write("even.csv", &|i| 10.25 + (i * 37 % 200) as f64 / 7.0);
    let notes = |words: &str| {
        let run = folder.run(words);
        let notes = run.stderr();
        run.ok();
        notes
    };
    let counts = "holds whole numbers, 0 or more; for counts give --family poisson";
    let skewed = "all values of target `y` are positive and skewed; --family gamma may";
    assert!(!notes("fit five.csv -t y").contains("--family"));
    assert!(notes("fit counts.csv -t y").contains(counts));
    assert!(notes("fit skewed.csv -t y").contains(skewed));
    assert!(!notes("fit skewed.csv -t y --family gaussian").contains("gamma"));
    assert!(!notes("fit even.csv -t y").contains("--family"));
    let kept = "the model was not kept; -o MODEL writes it to a file";
    assert!(notes("fit even.csv -t y").contains(kept));
    assert!(!notes("fit even.csv -t y -o m.kalmia").contains(kept));
}

#[test]
fn numbers_and_names_are_read_alike_everywhere() {
    let folder = Folder::new("alike");
    folder.write("t.csv", table(100, ["0", "1"]));
    folder.write("u.csv", table(90, ["0", "1"]));
    let fit = folder.json("-q fit t.csv -t y --method asgd --horizon 1e2 --json");
    assert_eq!(number(&fit, "rows"), 100.0);
    folder.ok("-q fit t.csv -t y -o m.kalmia");
    let said = "cannot resume from m.kalmia: it was learning t.csv; this command names u.csv";
    folder.run("fit u.csv -t y --resume m.kalmia").fails(2, &[said]);
    folder.write("zero.csv", "x,w,y\n1,0,2\n2,0,3\n3,0,5\n");
    folder.run("fit zero.csv -t y --weight w").fails(2, &["every row has the weight 0"]);
}
