//! Conformal intervals and outliers that count less, as a declaration asks for them.

use crate::formats::{csv, learned};
use crate::harness::{Folder, number};
use crate::server::{Server, times, without};
use serde_json::{Value, json};

const PREDICT: &str = "/v1/models/m/predict";

fn declaration() -> Value {
    json!({"family": "gaussian", "target": "minutes", "conformal": true})
}

#[test]
fn conformal_intervals_hold_and_are_those_of_the_command() {
    let folder = Folder::new("serve-conformal");
    let server = Server::start(&folder, "");
    server.put("/v1/models/m", &declaration()).ok();
    let rows = times(1, 1000);
    server.learn("m", &rows);
    folder.write("t.csv", csv(&rows));
    folder.ok("fit t.csv -t minutes --family gaussian --conformal -o fit.kalmia -q");
    assert_eq!(learned(&server.snapshot("m")), learned(&folder.read("fit.kalmia")));
    let truth = times(2, 400);
    let new = without(&truth, "minutes");
    folder.write("new.csv", csv(&new));
    let words =
        "predict fit.kalmia new.csv --interval conformal --level 0.9 --output-format jsonl -q";
    let printed = folder.ok(words);
    let path = format!("{PREDICT}?interval=conformal&level=0.9");
    let answers = server.post(&path, &new).ok()["predictions"].clone();
    let mut inside = 0;
    for (i, line) in printed.lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        for name in ["mean", "lower", "upper"] {
            assert_eq!(answers[i][name], line[name], "{name} {i}");
        }
        let y = number(&truth[i], "minutes");
        let [lower, upper] = ["lower", "upper"].map(|name| number(&answers[i], name));
        inside += usize::from(lower <= y && y <= upper);
    }
    // 90 % of 400 rows, 5 standard errors
    assert!((330..=390).contains(&inside), "{inside} of 400");
    // coverage and width are shown beside those of the model's own intervals
    let conformal = server.model("m")["conformal"].clone();
    assert_eq!(conformal["rows"], 1000 - 32);
    let coverage = number(&conformal, "coverage");
    assert!((coverage - 0.95).abs() < 0.02, "{conformal}");
    assert!(number(&conformal, "width") > 0.0 && number(&conformal, "model_width") > 0.0);
    let bytes = server.snapshot("m");
    server.kill();
    let server = Server::start(&folder, "");
    assert_eq!(server.snapshot("m"), bytes);
    assert_eq!(server.model("m")["conformal"], conformal);
    assert_eq!(server.post(&path, &new).ok()["predictions"], answers);
}

#[test]
fn conformal_intervals_that_cannot_be_made_are_refused() {
    let folder = Folder::new("serve-conformal-refused");
    let server = Server::start(&folder, "");
    let labels = json!({"family": "bernoulli", "target": "late", "conformal": true});
    let error = server.put("/v1/models/labels", &labels).refused(400, "bad_request");
    assert!(error["message"].as_str().unwrap().contains("no conformal intervals"), "{error}");
    server.put("/v1/models/m", &json!({"family": "gaussian", "target": "minutes"})).ok();
    server.learn("m", &times(1, 100));
    let row = without(&times(2, 1), "minutes");
    let path = format!("{PREDICT}?interval=conformal");
    let error = server.post(&path, &row).refused(400, "bad_request");
    assert!(error["message"].as_str().unwrap().contains("without conformal"), "{error}");
    assert!(server.model("m").get("conformal").is_none());
    assert_eq!(server.send("DELETE", "/v1/models/m", &[], b"").status, 204);
    server.put("/v1/models/m", &declaration()).ok();
    server.learn("m", &times(1, 100));
    let error = server.post(&format!("{path}&level=0.999"), &row).refused(400, "bad_request");
    assert!(error["message"].as_str().unwrap().contains("0.99"), "{error}");
    let error = server.post(&format!("{PREDICT}?interval=both"), &row).refused(400, "bad_request");
    assert!(error["hint"].as_str().unwrap().contains("conformal"), "{error}");
}

#[test]
fn outliers_count_less_if_that_is_declared() {
    let folder = Folder::new("serve-outliers");
    let server = Server::start(&folder, "");
    let mut rows = times(1, 500);
    rows[300]["minutes"] = json!(1e6);
    // refused at once, not by each request that learns
    let student = json!({"family": "student", "target": "minutes", "outliers": "downweight"});
    let error = server.put("/v1/models/s", &student).refused(400, "bad_request");
    assert!(error["message"].as_str().unwrap().contains("hardly move family student"), "{error}");
    let declare = |name: &str, outliers: &str| {
        let declaration = json!({"family": "gaussian", "target": "minutes", "outliers": outliers});
        server.put(&format!("/v1/models/{name}"), &declaration)
    };
    declare("keep", "keep").ok();
    declare("down", "downweight").ok();
    declare("wrong", "forget").refused(400, "bad_request");
    for name in ["keep", "down"] {
        server.learn(name, &rows);
    }
    folder.write("t.csv", csv(&rows));
    let fit = "fit t.csv -t minutes --family gaussian --outliers downweight -o fit.kalmia -q";
    folder.ok(fit);
    assert_eq!(learned(&server.snapshot("down")), learned(&folder.read("fit.kalmia")));
    let row = json!({"size": 5, "queue": 4});
    let mean = |name: &str| number(&server.predict(name, &row)[0], "mean");
    assert!(mean("down") < 30.0 && mean("keep") > 300.0, "{} {}", mean("down"), mean("keep"));
}
