//! Commands that take a model file: predict, evaluate, update, merge, compare, export.

use crate::harness::{Folder, number, table};

/// The rows of a CSV as numbers, the head left out; empty fields are NaN.
fn numbers(text: &str) -> Vec<Vec<f64>> {
    text.lines()
        .skip(1)
        .map(|line| line.split(',').map(|v| v.parse().unwrap_or(f64::NAN)).collect())
        .collect()
}

#[test]
fn predictions_follow_the_rows_and_keep_columns() {
    let folder = Folder::new("predict");
    folder.write("t.csv", table(3000, ["0", "1"]));
    folder.ok("fit t.csv -t y -o m.kalmia");
    folder.write("new.csv", "id,a,b,c\nn1,1,-1,0\nn2,-1,1,0\n\"n,3\",0,0,0.5\n");
    let out = folder.ok("predict m.kalmia new.csv --keep id");
    assert_eq!(out.lines().next(), Some("id,mean,lower,upper,linear,linear_sd,predicted"));
    assert!(out.lines().nth(3).unwrap().starts_with("\"n,3\","));
    let plain = numbers(&folder.ok("predict m.kalmia new.csv"));
    for row in &plain {
        let [mean, lower, upper, linear, sd, predicted] = row[..] else { panic!("{row:?}") };
        assert_eq!(predicted, f64::from(mean > 0.5));
        assert!(lower < mean && mean < upper && sd > 0.0);
        // averaged over the uncertainty, the mean lies between 1/2 and that of the estimates
        let plug_in = 1.0 / (1.0 + (-linear).exp());
        assert!((mean - 0.5).abs() <= (plug_in - 0.5).abs() + 1e-12, "{row:?}");
    }
    assert!(plain[0][0] > 0.9 && plain[1][0] < 0.1);
    assert_eq!(
        numbers(&folder.ok("predict m.kalmia new.csv --interval y --level 0.5"))[0][1..3],
        [1.0, 1.0]
    );
    folder.ok("predict m.kalmia new.csv --keep all -o p.csv");
    assert!(folder.text("p.csv").starts_with("id,a,b,c,mean,"));
    folder.run("predict m.kalmia new.csv --keep idd").fails(2, &["did you mean `id`"]);
    folder.run("predict m.kalmia new.csv --level 1").fails(2, &["--level"]);
    folder.write("less.csv", "a,b\n1,2\n");
    folder.run("predict m.kalmia less.csv -o p.csv").fails(2, &["less.csv has no column `c`"]);
    assert!(folder.text("p.csv").starts_with("id,a,b,c,mean,"), "the old file stays");
}

#[test]
fn without_an_interval_the_other_columns_stay() {
    let folder = Folder::new("no_interval");
    folder.write("t.csv", table(500, ["0", "1"]));
    folder.ok("fit t.csv -t y -o m.kalmia");
    let with = folder.ok("predict m.kalmia t.csv");
    let without = folder.ok("predict m.kalmia t.csv --interval none");
    assert_eq!(without.lines().next(), Some("mean,linear,linear_sd,predicted"));
    for (with, without) in with.lines().zip(without.lines()) {
        let with: Vec<&str> = with.split(',').collect();
        assert_eq!([with[0], with[3], with[4], with[5]].join(","), without);
    }
    folder.write("named.csv", "a,b,c,lower,mean\n1,2,0,7,8\n");
    let kept = folder.ok("predict m.kalmia named.csv --interval none --keep lower");
    assert_eq!(kept.lines().next(), Some("lower,mean,linear,linear_sd,predicted"));
    folder.run("predict m.kalmia named.csv --interval none --keep mean").fails(2, &["`mean`"]);
    folder.run("predict m.kalmia named.csv --keep lower").fails(2, &["`lower`"]);
    folder.ok("predict m.kalmia t.csv --interval none -o p.parquet");
    folder.ok("fit p.parquet -t mean --features linear,linear_sd");
}

/// The prior variance of a level is added for each that no row had.
#[test]
fn an_unseen_level_is_uncertain() {
    let folder = Folder::new("unseen");
    let row = |i: usize| {
        let y = (i % 7) as f64 * 0.3 + if i.is_multiple_of(3) { 1.0 } else { 0.0 };
        format!("{},{},{y}\n", ["a", "b", "c"][i % 3], ["u", "v"][i % 2])
    };
    folder.write("t.csv", format!("g,h,y\n{}", (0..300).map(row).collect::<String>()));
    folder.write("new.csv", "g,h\na,u\nzzz,u\nzzz,www\n");
    for method in ["auto", "ekf --prior 9"] {
        folder.ok(&format!("fit t.csv -t y --method {method} -o m.kalmia"));
        let run = folder.run("predict m.kalmia new.csv");
        assert!(run.stderr().contains("3 values of unknown levels"), "{}", run.stderr());
        let rows = numbers(&run.ok());
        let [known, one, two] = [0, 1, 2].map(|i| rows[i][4].powi(2));
        assert!(one > 2.0 * known && two > one, "{method}: {rows:?}");
        if method != "auto" {
            // the other level of `h` is the one that was seen first, without a coefficient
            assert!((one - known - 9.0).abs() < 1e-9, "{known} {one}");
            assert!((two - known - 18.0).abs() < 1e-9, "{known} {two}");
        }
        let width = |i: usize| rows[i][2] - rows[i][1];
        assert!(width(1) > width(0) && width(2) > width(1), "{method}: {rows:?}");
    }
}

#[test]
fn one_row_gives_finite_predictions() {
    let folder = Folder::new("one_row");
    folder.write("t.csv", "x,y\n1,2\n");
    let fitted = folder.ok("fit t.csv -t y --family gaussian -o m.kalmia");
    assert!(fitted.contains("too few rows for a loss") && !fitted.contains("NaN"), "{fitted}");
    for interval in ["y", "mean", "none"] {
        let out = folder.ok(&format!("predict m.kalmia t.csv --interval {interval}"));
        assert!(numbers(&out)[0].iter().all(|value| value.is_finite()), "{interval}: {out}");
    }
}

#[test]
fn parquet_predictions_can_be_read_back() {
    let folder = Folder::new("parquet");
    folder.write("t.csv", table(2000, ["0", "1"]));
    folder.ok("fit t.csv -t y -o m.kalmia");
    folder.ok("predict m.kalmia t.csv --keep a -o p.parquet");
    let csv = numbers(&folder.ok("predict m.kalmia t.csv"));
    // the reader of the command itself: the mean of `linear` learned as a target
    let total: f64 = csv.iter().map(|row| row[3]).sum();
    let fit = folder.json("fit p.parquet -t linear --features linear_sd --json");
    assert_eq!(fit["rows"].as_u64(), Some(2000));
    folder.write("p.csv", folder.ok("predict m.kalmia t.csv"));
    let other = folder.json("fit p.csv -t linear --features linear_sd --json");
    assert_eq!(fit["coefficients"], other["coefficients"]);
    assert!(total.is_finite());
}

#[test]
fn kept_columns_keep_their_type_and_appear_once() {
    use arrow_array::{Array, Int64Array, RecordBatch, StringArray};
    use std::sync::Arc;
    let folder = Folder::new("kept");
    folder.write("t.csv", table(300, ["0", "1"]));
    folder.ok("fit t.csv -t y -o m.kalmia");
    folder.write("twice.csv", "a,b,c,mean\n0,0,0,1\n");
    for keep in ["mean", "all"] {
        let words = format!("predict m.kalmia twice.csv --keep {keep} -o p.csv");
        folder.run(&words).fails(2, &["column `mean` cannot be kept"]);
        assert!(!folder.exists("p.csv"));
    }
    folder.run("predict m.kalmia t.csv --keep a,a").fails(2, &["`a` twice"]);
    let read = |name: &str| -> RecordBatch {
        let file = std::fs::File::open(folder.path(name)).unwrap();
        let reader =
            parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        reader.build().unwrap().next().unwrap().unwrap()
    };
    let types = |batch: &RecordBatch| -> Vec<String> {
        batch
            .schema()
            .fields()
            .iter()
            .map(|field| format!("{} {}", field.name(), field.data_type()))
            .collect()
    };
    // the model knows `a` as a number, and `id` not at all
    folder.write("new.csv", "id,a,b,c\n007,0.5,0,0\n8,NA,0,0\n");
    folder.ok("predict m.kalmia new.csv --missing skip --keep id,a -o p.parquet");
    let batch = read("p.parquet");
    assert_eq!(types(&batch)[..3], ["id Utf8", "a Float64", "mean Float64"]);
    assert!(batch.column(1).is_null(1) && !batch.column(1).is_null(0));
    // Parquet says what its columns are, to the last digit
    let ids = Int64Array::from(vec![Some(9_007_199_254_740_993), None]);
    let zeros = || Arc::new(Int64Array::from(vec![0, 1])) as arrow_array::ArrayRef;
    let names = Arc::new(StringArray::from(vec!["1", "2"])) as arrow_array::ArrayRef;
    let columns = [
        ("id", Arc::new(ids.clone()) as arrow_array::ArrayRef),
        ("s", names),
        ("a", zeros()),
        ("b", zeros()),
        ("c", zeros()),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
            .unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(
        std::fs::File::create(folder.path("new.parquet")).unwrap(),
        batch.schema(),
        None,
    )
    .unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    folder.ok("predict m.kalmia new.parquet --keep id,s -o q.parquet");
    let batch = read("q.parquet");
    assert_eq!(types(&batch)[..2], ["id Int64", "s Utf8"]);
    assert_eq!(batch.column(0).as_any().downcast_ref::<Int64Array>(), Some(&ids));
    assert!(folder.ok("predict m.kalmia new.parquet --keep id").contains("\n9007199254740993,"));
}

#[test]
fn rows_left_out_keep_their_place() {
    let folder = Folder::new("skipped");
    folder.write("t.csv", table(500, ["0", "1"]));
    folder.ok("fit t.csv -t y --missing skip -o m.kalmia");
    folder.write("new.csv", "a,b,c\n1,0,0\n,0,0\n0,1,0\n");
    let out = folder.ok("predict m.kalmia new.csv");
    assert_eq!(out.lines().count(), 4);
    assert_eq!(out.lines().nth(2), Some(",,,,,"));
}

#[test]
fn a_model_of_clean_rows_takes_rows_with_missing_values_if_asked() {
    let folder = Folder::new("reported");
    let clean = table(500, ["0", "1"]);
    folder.write("t.csv", &clean);
    folder.write("miss.csv", format!("{clean}0.5,,0.1,1\n"));
    folder.ok("fit t.csv -t y -o m.kalmia");
    for (command, hint) in [
        ("predict", "--missing skip leaves the predictions"),
        ("evaluate", "--missing skip"),
        ("update", "--missing skip"),
    ] {
        let error = folder
            .run(&format!("{command} m.kalmia miss.csv"))
            .fails(2, &["row 501", "column `b`: missing value", hint]);
        assert!(!error.contains("--missing mean"), "{error}");
        folder
            .run(&format!("{command} m.kalmia miss.csv --missing mean"))
            .fails(2, &["--missing mean", "fitted without it"]);
    }
    let out = folder.ok("predict m.kalmia miss.csv --missing skip");
    assert_eq!((out.lines().count(), out.lines().last()), (502, Some(",,,,,")));
    let judged = folder.json("evaluate m.kalmia miss.csv --missing skip --json");
    assert_eq!((judged["rows"].as_u64(), judged["skipped"].as_u64()), (Some(500), Some(1)));
    let updated = folder.json("update m.kalmia miss.csv --missing skip --json");
    assert_eq!((updated["rows"].as_u64(), updated["skipped"].as_u64()), (Some(1000), Some(1)));
    // for that run only
    folder.run("update m.kalmia miss.csv").fails(2, &["missing value"]);
}

#[test]
fn evaluating_learns_nothing_and_counts_what_is_new() {
    let folder = Folder::new("evaluate");
    folder.write("t.csv", table(3000, ["no", "yes"]));
    folder.ok("fit t.csv -t y -o m.kalmia");
    let before = folder.read("m.kalmia");
    let result = folder.json("evaluate m.kalmia t.csv --json");
    assert_eq!(result["rows"].as_u64(), Some(3000));
    assert!(
        number(&result, "loss") < number(&result, "baseline_loss") && number(&result, "auc") > 0.8
    );
    assert!(folder.ok("evaluate m.kalmia t.csv").starts_with("3 000 rows\nloss "));
    assert!(folder.read("m.kalmia") == before);
    folder.write("new.csv", "a,b,c\n0,0,0\n");
    folder.write("third.csv", "a,b,c,y\n0,0,0,perhaps\n");
    folder
        .run("evaluate m.kalmia third.csv")
        .fails(2, &["third.csv, row 1", "column `y`", "third value"]);
    folder.run("evaluate m.kalmia new.csv").fails(2, &["new.csv has no column `y`"]);
    folder.write("gap.csv", "a,b,c,y\n0,0,0,yes\n0,0,0,\n1,0,0,no\n");
    folder
        .run("evaluate m.kalmia gap.csv")
        .fails(2, &["gap.csv, row 2", "column `y`: missing value", "--missing skip"]);
    let gap = folder.json("evaluate m.kalmia gap.csv --missing skip --json");
    assert_eq!((gap["rows"].as_u64(), gap["skipped"].as_u64()), (Some(2), Some(1)));
    folder.write("head.csv", "a,b,c,y\n");
    folder.run("evaluate m.kalmia head.csv").fails(2, &["no data rows"]);
    for missing in ["skip", "mean"] {
        folder.ok(&format!("fit t.csv -t y --missing {missing} -o s.kalmia"));
        assert!(
            folder.ok("evaluate s.kalmia gap.csv").starts_with("2 rows, 1 skipped\n"),
            "{missing}"
        );
    }
    folder.write(
        "cat.csv",
        (0..300)
            .map(|i| format!("{},{}\n", ["p", "q"][i % 2], i % 5))
            .fold("k,y\n".into(), |a: String, b| a + &b),
    );
    folder.ok("fit cat.csv -t y -o c.kalmia");
    folder.write("unseen.csv", "k,y\nq,1\nz,2\n");
    assert_eq!(
        folder.json("evaluate c.kalmia unseen.csv --json")["unseen_levels"].as_u64(),
        Some(1)
    );
    let run = folder.run("predict c.kalmia unseen.csv");
    assert!(run.stderr().contains("1 value of unknown levels"), "{}", run.stderr());
}

#[test]
fn updating_is_fitting_the_files_one_after_the_other() {
    let folder = Folder::new("update");
    let text = table(4096, ["0", "1"]);
    let cut = text.match_indices('\n').nth(2048).unwrap().0 + 1;
    folder.write("1.csv", &text[..cut]);
    folder.write("2.csv", format!("a,b,c,y\n{}", &text[cut..]));
    let whole = folder.json("fit 1.csv 2.csv -t y --json");
    folder.ok("fit 1.csv -t y -o m.kalmia");
    let updated = folder.json("update m.kalmia 2.csv --json");
    assert_eq!(updated["rows"].as_u64(), Some(4096));
    // blocks end at the end of the first file, so the results are equal bit for bit
    assert_eq!(
        (&updated["coefficients"], &updated["progressive"]),
        (&whole["coefficients"], &whole["progressive"])
    );
    let text = folder.ok("inspect m.kalmia");
    assert!(
        text.contains("fit: 1.csv (2 048 rows read)")
            && text.contains("update: 2.csv (2 048 rows read)"),
        "{text}"
    );
    folder.run("fit 1.csv -t y --resume m.kalmia").fails(2, &["updated"]);
}

#[test]
fn what_others_wrote_into_a_model_file_is_carried_along() {
    use kalmia_model::Model;
    let folder = Folder::new("metadata");
    folder.write("t.csv", table(100, ["1", "2"]));
    folder.ok("fit t.csv -t y --positive 2 -o m.kalmia");
    let load = |name: &str| Model::load(&folder.path(name)).unwrap().content;
    let mut model = load("m.kalmia");
    let python = serde_json::json!({ "classes": [1, 2] });
    model.metadata.insert("python".into(), python.clone());
    model.save(&folder.path("m.kalmia")).unwrap();
    folder.ok("update m.kalmia t.csv -o u.kalmia");
    folder.ok("merge m.kalmia u.kalmia -o both.kalmia");
    for (name, rows) in [("u.kalmia", 200), ("both.kalmia", 300)] {
        let metadata = load(name).metadata;
        assert_eq!(
            (&metadata["python"], metadata["rows"].as_u64()),
            (&python, Some(rows)),
            "{name}"
        );
    }
}

#[test]
fn merging_says_whether_it_is_exact() {
    let folder = Folder::new("merge");
    let text = table(4000, ["0", "1"]);
    let cut = text.match_indices('\n').nth(2000).unwrap().0 + 1;
    folder.write("1.csv", &text[..cut]);
    folder.write("2.csv", format!("a,b,c,y\n{}", &text[cut..]));
    folder.write("all.csv", &text);
    for (arguments, exact) in
        [("-t c --method moment", true), ("-t y --method moment", false), ("-t y", false)]
    {
        for name in ["1", "2", "all"] {
            folder.ok(&format!("fit {name}.csv {arguments} -o {name}.kalmia"));
        }
        let merged = folder.json("merge 1.kalmia 2.kalmia -o m.kalmia --json");
        assert_eq!(
            (merged["exact"].as_bool(), merged["rows"].as_u64()),
            (Some(exact), Some(4000)),
            "{arguments}"
        );
        let one = folder.json("inspect m.kalmia --json");
        let other = folder.json("inspect all.kalmia --json");
        let tolerance = if exact { 1e-9 } else { 5.0 };
        for j in 0..4 {
            let a = &one["coefficients"][j];
            let b = &other["coefficients"][j];
            let gap = (number(a, "estimate") - number(b, "estimate")).abs();
            assert!(gap < tolerance * number(b, "std_error"), "{arguments}: {a} {b}");
        }
        assert!(folder.ok("merge 1.kalmia 2.kalmia -o m.kalmia").starts_with(if exact {
            "exact"
        } else {
            "approximate"
        }));
    }
    assert!(!folder.run("merge 1.kalmia 2.kalmia -o m.kalmia").stderr().contains("twice"));
    let twice = folder.run("merge 1.kalmia 1.kalmia -o m.kalmia");
    assert!(
        twice.stderr().contains("two models learned from 1.csv; its rows count twice"),
        "{}",
        twice.stderr()
    );
    folder.ok("fit 2.csv -t y --exclude a -o less.kalmia");
    let other = folder.run("merge 1.kalmia less.kalmia -o m.kalmia");
    other.fails(2, &["cannot be merged", "`exclude`", "\"a\""]);
}

#[test]
fn comparing_runs_every_method_on_the_same_rows() {
    let folder = Folder::new("compare");
    folder.write("t.csv", table(3000, ["0", "1"]));
    let all = folder.json("compare t.csv -t y --json --plot losses.svg");
    let methods = all["methods"].as_array().unwrap();
    assert_eq!(methods.len(), 8);
    let mut before = f64::NEG_INFINITY;
    for (i, line) in methods.iter().enumerate() {
        let name = line["name"].as_str().unwrap();
        let alone = folder.json(&format!("fit t.csv -t y --json --method {name}"));
        assert_eq!(line["loss"], alone["progressive"]["loss"], "{name}");
        // sorted, with the distance to the best
        let loss = line["loss"].as_f64().unwrap();
        assert!(loss >= before, "{name}");
        before = loss;
        assert_eq!(line["rank"], i + 1);
        let best = methods[0]["loss"].as_f64().unwrap();
        match line["above_best"].as_object() {
            None => assert_eq!(i, 0),
            Some(above) => {
                let mean = above["mean"].as_f64().unwrap();
                assert!((mean - (loss - best)).abs() < 1e-12, "{name}: {mean}");
                assert!(above["std_error"].as_f64().unwrap() > 0.0, "{name}");
            }
        }
    }
    assert!(methods.iter().any(|line| line["name"] == "auto --drift adapt"));
    assert_eq!(all["best"], methods[0]["name"]);
    for name in all["tied_with_best"].as_array().unwrap() {
        let line = methods.iter().find(|line| &line["name"] == name).unwrap();
        let of = |key: &str| line["above_best"][key].as_f64().unwrap();
        assert!(of("mean") <= 2.0 * of("std_error"));
    }
    let picture = folder.text("losses.svg");
    assert!(picture.contains(">auto<") && picture.contains("constant predictor"));
    let table = folder.ok("compare t.csv -t y --methods moment,ekf");
    assert!(table.contains("\nmoment ") && !table.contains("\nauto "), "{table}");
    assert!(table.contains("above best") && table.contains("\nlowest loss: "), "{table}");
    // the filters are one for numbers: what they differ by is rounding, and shown as 0
    let numbers: String =
        (0..300).map(|i| format!("{},{}.5\n", i * 37 % 101, i * 53 % 97)).collect();
    folder.write("numbers.csv", format!("x,y\n{numbers}"));
    let filters = folder.json("compare numbers.csv -t y --methods ekf,implicit,moment --json");
    for line in &filters["methods"].as_array().unwrap()[1..] {
        assert_eq!(line["above_best"]["mean"], 0.0, "{line}");
    }
    // large counts make the plain filter diverge at its first step; the others continue
    let wild: String =
        (0..400).map(|i| format!("{},{}\n", i * 37 % 101, 1000 + i * i % 23)).collect();
    folder.write("wild.csv", format!("x,y\n{wild}"));
    let wild = folder.ok("compare wild.csv -t y --family poisson --methods ekf,auto");
    let place = |name: &str| wild.find(name).unwrap_or_else(|| panic!("{name} in\n{wild}"));
    assert!(place("\nauto ") < place("\nekf ") && place("\nekf ") < place("diverged"), "{wild}");
    assert!(wild.contains("lowest loss: auto, the only method that came to the end"), "{wild}");
}

#[test]
fn exports_hold_the_model() {
    let folder = Folder::new("export");
    folder.write("t.csv", table(2000, ["no", "yes"]));
    let fit = folder.json("fit t.csv -t y -o m.kalmia --json");
    let json = folder.json("export m.kalmia");
    assert_eq!(json["coefficients"], fit["coefficients"]);
    assert_eq!(
        (json["link"].as_str(), json["features"].as_array().map(Vec::len)),
        (Some("logit"), Some(4))
    );
    let variance = number(&json, "covariance.1.1");
    assert!((variance.sqrt() - number(&fit, "coefficients.1.std_error")).abs() < 1e-12);
    folder.ok("export m.kalmia --format onnx -o m.onnx");
    let onnx = folder.read("m.onnx");
    let holds = |bytes: &[u8]| onnx.windows(bytes.len()).any(|window| window == bytes);
    assert!(holds(b"Sigmoid") && holds(br#"["a","b","c"]"#));
    let weights: Vec<u8> =
        (1..4).flat_map(|j| number(&fit["coefficients"][j], "estimate").to_le_bytes()).collect();
    assert!(holds(&weights) && holds(&number(&fit, "coefficients.0.estimate").to_le_bytes()));
}
