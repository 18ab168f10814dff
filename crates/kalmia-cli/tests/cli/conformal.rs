//! `fit --conformal` and `predict --interval conformal`.

use crate::harness::{Folder, Uniform, number};

/// Numbers around a line, with noise that grows tenfold in the middle of the file.
fn drifting(rows: usize, seed: u64) -> String {
    let mut uniform = Uniform(seed);
    let mut out = String::from("x,y\n");
    for i in 0..rows {
        let x = uniform.next();
        let noise = (0..12).map(|_| uniform.next()).sum::<f64>() - 6.0;
        let scale = if i < rows / 2 { 1.0 } else { 10.0 };
        out.push_str(&format!("{x},{}\n", 2.0 * x + scale * noise));
    }
    out
}

/// The columns of a table without quotes.
fn columns(text: &str) -> Vec<Vec<f64>> {
    let rows = text.lines().skip(1);
    rows.map(|row| row.split(',').map(|field| field.parse().unwrap()).collect()).collect()
}

#[test]
fn a_fit_learns_intervals_that_hold() {
    let folder = Folder::new("conformal");
    folder.write("t.csv", drifting(12_000, 3));
    let text = folder.ok("-q fit t.csv -t y --conformal -o m.kalmia");
    assert!(text.contains("conformal  95 % intervals held 9"), "{text}");
    let summary = folder.json("-q fit t.csv -t y --conformal --json");
    let coverage = number(&summary, "conformal.coverage");
    assert!((coverage - 0.95).abs() < 0.01, "{coverage}");
    let own = number(&summary, "conformal.model_coverage");
    assert!(own < 0.9, "the model's own intervals are too narrow here: {own}");
    assert!(number(&summary, "conformal.width") > number(&summary, "conformal.model_width"));
    assert!(folder.json("-q fit t.csv -t y --json").get("conformal").is_none());

    // rows like those of the second half
    let late: Vec<String> = drifting(12_000, 4).lines().map(String::from).collect();
    folder.write("late.csv", format!("x,y\n{}\n", late[6001..].join("\n")));
    let judged = folder.json("-q evaluate m.kalmia late.csv --json");
    assert!((number(&judged, "conformal.coverage") - 0.95).abs() < 0.02, "{judged}");
    assert!(number(&judged, "conformal.model_coverage") < 0.9, "{judged}");
    let text = folder.ok("-q evaluate m.kalmia late.csv");
    assert!(text.contains("conformal  95 % intervals held"), "{text}");

    // predict gives the intervals that evaluate judged
    let keep = "--keep y --interval conformal";
    let rows = columns(&folder.ok(&format!("-q predict m.kalmia late.csv {keep}")));
    let inside = rows.iter().filter(|row| row[2] <= row[0] && row[0] <= row[3]).count();
    let share = inside as f64 / rows.len() as f64;
    assert!((share - number(&judged, "conformal.coverage")).abs() < 1e-12, "{share}");
    let narrow = columns(&folder.ok(&format!("-q predict m.kalmia late.csv {keep} --level 0.6")));
    for (wide, narrow) in rows.iter().zip(&narrow) {
        assert!(wide[2] < narrow[2] && narrow[3] < wide[3], "{wide:?} {narrow:?}");
    }
}

#[test]
fn an_update_goes_on_learning_them() {
    let folder = Folder::new("conformal-update");
    let text = drifting(4000, 5);
    let half = text.match_indices('\n').nth(2000).unwrap().0 + 1;
    folder.write("whole.csv", &text);
    folder.write("1.csv", &text[..half]);
    folder.write("2.csv", format!("x,y\n{}", &text[half..]));
    folder.ok("-q fit whole.csv -t y --conformal -o whole.kalmia");
    folder.ok("-q fit 1.csv -t y --conformal -o m.kalmia");
    let before = folder.ok("-q predict m.kalmia 2.csv --interval conformal");
    folder.ok("-q update m.kalmia 2.csv");
    let after = folder.ok("-q predict m.kalmia 2.csv --interval conformal");
    assert_ne!(before, after);
    assert_eq!(after, folder.ok("-q predict whole.kalmia 2.csv --interval conformal"));

    // a checkpoint has them, and resuming gives the same bytes
    let fit = "-q fit whole.csv -t y --conformal -o r.kalmia";
    folder.ok(&format!("{fit} --checkpoint-every 500"));
    assert_eq!(folder.read("r.kalmia"), folder.read("whole.kalmia"));
    folder
        .run("fit whole.csv -t y -o r.kalmia --resume r.kalmia")
        .fails(2, &["conformal", "true", "absent"]);
}

#[test]
fn shards_and_merges_average_the_thresholds() {
    let folder = Folder::new("conformal-merge");
    folder.write("1.csv", drifting(3000, 6));
    folder.write("2.csv", drifting(3000, 7));
    folder.ok("-q fit 1.csv -t y --conformal -o 1.kalmia");
    folder.ok("-q fit 2.csv -t y --conformal -o 2.kalmia");
    folder.ok("-q merge 1.kalmia 2.kalmia -o both.kalmia");
    folder.ok("-q predict both.kalmia 1.csv --interval conformal");
    folder.ok("-q fit 2.csv -t y -o plain.kalmia");
    folder
        .run("merge 1.kalmia plain.kalmia -o bad.kalmia")
        .fails(2, &["conformal intervals", "with them", "without"]);
    let shards = folder.json("-q fit 1.csv 2.csv -t y --conformal --shards 2 -o s.kalmia --json");
    assert!(number(&shards, "conformal.rows") > 5900.0, "{shards}");
    folder.ok("-q predict s.kalmia 1.csv --interval conformal");
}

#[test]
fn what_has_no_conformal_interval_says_so() {
    let folder = Folder::new("conformal-refused");
    folder.write("t.csv", drifting(300, 8));
    folder.ok("-q fit t.csv -t y -o m.kalmia");
    folder
        .run("predict m.kalmia t.csv --interval conformal")
        .fails(2, &["--interval conformal", "kalmia fit --conformal"]);
    folder.ok("-q fit t.csv -t y --conformal -o m.kalmia");
    folder
        .run("predict m.kalmia t.csv --interval conformal --level 0.999")
        .fails(2, &["--level", "0.999", "at most 0.99"]);
    folder.write("l.csv", "x,y\n1,0\n2,1\n3,0\n4,1\n5,0\n");
    folder
        .run("fit l.csv -t y --family bernoulli --conformal")
        .fails(2, &["--conformal", "bernoulli", "labels and proportions do not"]);
    folder
        .run("fit l.csv -t y --family binomial --conformal")
        .fails(2, &["--conformal", "binomial:TRIALS"]);
    // counts are counts
    folder.write(
        "c.csv",
        (0..400).fold("x,y\n".to_owned(), |text, i| text + &format!("{},{}\n", i % 10, i * 7 % 5)),
    );
    folder.ok("-q fit c.csv -t y --family poisson --conformal -o c.kalmia");
    let rows = columns(&folder.ok("-q predict c.kalmia c.csv --interval conformal"));
    assert!(rows.iter().all(|row| row[1].fract() == 0.0 && row[1] >= 0.0 && row[2].fract() == 0.0));
}
