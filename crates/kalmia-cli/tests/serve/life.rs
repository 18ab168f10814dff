//! The life of a model: created, taught, restarted, uploaded, deleted.

use crate::formats::{csv, learned};
use crate::harness::{Folder, number};
use crate::server::{Server, flights, late, unlabelled, with_model};
use serde_json::{Value, json};

#[test]
fn the_five_commands() {
    let folder = Folder::new("serve-five");
    let server = Server::start(&folder, "");
    // as curl sends what `-d` gives
    let form = ("content-type", "application/x-www-form-urlencoded");
    let body = br#"{"family":"bernoulli","target":"late"}"#;
    let model = server.send("PUT", "/v1/models/late", &[form], body);
    assert_eq!(model.status, 201);
    let model = model.json();
    assert_eq!((&model["state"], &model["sequence"]), (&json!("empty"), &json!(0)));
    let empty = server.post("/v1/models/late/predict", &json!([{"hour": 18, "dist": 300}]));
    empty.refused(409, "model_empty");
    let path = "/v1/models/late/learn";
    let headers = [form, ("idempotency-key", "7")];
    let answer = server.send("POST", path, &headers, br#"[{"hour":9,"dist":1400,"late":1}]"#);
    assert_eq!(answer.ok(), json!({"sequence": 1, "rows": 1, "duplicate": false}));
    let body = br#"[{"hour":18,"dist":300}]"#;
    let answer = server.send("POST", "/v1/models/late/predict", &[form], body).ok();
    assert_eq!(answer["sequence"], 1);
    let [low, mean, high] =
        ["lower", "mean", "upper"].map(|name| number(&answer["predictions"][0], name));
    assert!(0.0 < low && low < mean && mean < high && high < 1.0, "{answer}");
    let page = server.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
}

#[test]
fn a_model_with_declared_columns_predicts_before_any_row() {
    let folder = Folder::new("serve-declared");
    let server = Server::start(&folder, "");
    let columns = json!({"hour": "number", "vip": "boolean", "carrier": "category"});
    let declared = json!({"family": "bernoulli", "target": "late", "columns": columns});
    assert_eq!(server.put("/v1/models/m", &declared).status, 201);
    let model = server.model("m");
    assert_eq!((&model["state"], &model["rows"]), (&json!("ready"), &json!(0)));
    let row = json!({"hour": 3, "vip": true, "carrier": "AA"});
    let before = server.predict("m", &row);
    assert!((number(&before[0], "mean") - 0.5).abs() < 1e-9, "{before}");
    // the same declaration changes nothing, another one is refused
    assert_eq!(server.put("/v1/models/m", &declared).status, 200);
    server.put("/v1/models/m", &late()).refused(409, "model_exists");
    let mut labelled = row.clone();
    labelled["late"] = json!(1);
    server.learn("m", &labelled);
    assert_eq!(server.put("/v1/models/m", &declared).json()["rows"], 1);
    server.kill();
    let server = Server::start(&folder, "");
    assert_eq!(server.put("/v1/models/m", &declared).status, 200);
    assert!(number(&server.predict("m", &row)[0], "mean") > 0.5);
}

#[test]
fn one_request_learns_what_fit_learns() {
    let folder = Folder::new("serve-fit");
    let server = with_model(&folder, "");
    let rows = flights(1, 3000);
    folder.write("t.csv", csv(&rows));
    folder.ok("fit t.csv -t late --family bernoulli -o fit.kalmia -q");
    let answer = server.post_as("/v1/models/late/learn", "text/csv", &csv(&rows)).ok();
    assert_eq!(answer, json!({"sequence": 1, "rows": 3000, "duplicate": false}));
    let snapshot = server.snapshot("late");
    assert_eq!(learned(&snapshot), learned(&folder.read("fit.kalmia")));
    // the command reads the snapshot
    folder.write("snapshot.kalmia", &snapshot);
    let inspected = folder.json("inspect snapshot.kalmia --json");
    assert_eq!(inspected["rows"], 3000);
    let predict = |model: &str| folder.ok(&format!("predict {model}.kalmia t.csv -q"));
    assert_eq!(predict("snapshot"), predict("fit"));
    // and what is shown is what `fit --json` prints
    let fit = folder.json("fit t.csv -t late --family bernoulli --json -q");
    let shown = server.model("late");
    for member in ["coefficients", "progressive", "rows", "family", "drift", "features"] {
        assert_eq!(shown[member], fit[member], "{member}");
    }
}

/// The columns of `kalmia predict` as the service answers.
fn printed(folder: &Folder, words: &str) -> Vec<Value> {
    let text = folder.ok(words);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_uploaded_file_predicts_as_the_command_does_and_continues() {
    let folder = Folder::new("serve-upload");
    let server = Server::start(&folder, "");
    let octets = [("content-type", "application/octet-stream")];
    let methods = ["auto", "ekf", "truncated", "implicit", "moment", "ons", "wide", "asgd"];
    folder.write("t.csv", csv(&flights(2, 400)));
    folder.write("new.csv", csv(&flights(3, 50)));
    for method in methods {
        let file = format!("{method}.kalmia");
        folder.ok(&format!("fit t.csv -t late --method {method} -o {file} -q"));
        let path = format!("/v1/models/{method}");
        let created = server.send("PUT", &path, &octets, &folder.read(&file));
        assert_eq!(created.status, 201, "{created}");
        assert_eq!(created.json()["rows"], 400);
        let words = format!("predict {file} new.csv --output-format jsonl -q");
        let expected = printed(&folder, &words);
        let path = format!("{path}/predict");
        let answer = server.post_as(&path, "text/csv", &folder.read("new.csv")).ok();
        let answers = answer["predictions"].as_array().unwrap();
        assert_eq!(answers.len(), expected.len());
        for (a, b) in answers.iter().zip(&expected) {
            for name in ["mean", "lower", "upper", "linear", "linear_sd"] {
                // the file leaves out what a method has not
                assert_eq!(a[name], *b.get(name).unwrap_or(&Value::Null), "{method} {name}");
            }
        }
    }
    // after a restart it goes on as the file does
    server.kill();
    let server = Server::start(&folder, "");
    let put = |file: &str| server.send("PUT", "/v1/models/ekf", &octets, &folder.read(file));
    assert_eq!(put("ekf.kalmia").status, 200, "it is there already");
    put("moment.kalmia").refused(409, "model_exists");
    folder.ok("fit new.csv -t late --method ekf -o new.kalmia -q");
    put("new.kalmia").refused(409, "model_exists");
    let more = flights(4, 50);
    folder.write("more.csv", csv(&more));
    for method in methods {
        let path = format!("/v1/models/{method}/learn");
        let learn = server.post_as(&path, "text/csv", &csv(&more));
        assert_eq!(learn.ok()["rows"], 50, "{method}");
        folder.ok(&format!("update {method}.kalmia more.csv -q"));
        let file = folder.read(&format!("{method}.kalmia"));
        assert_eq!(learned(&server.snapshot(method)), learned(&file), "{method}");
    }
}

#[test]
fn files_that_are_no_models_are_refused() {
    let folder = Folder::new("serve-no-model");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 60));
    let file = server.snapshot("late");
    let mut flipped = file.clone();
    flipped[file.len() / 2] ^= 1;
    for bytes in [&b""[..], b"kalmia", &file[..file.len() - 1], &flipped] {
        let octets = [("content-type", "application/octet-stream")];
        let answer = server.send("PUT", "/v1/models/x", &octets, bytes);
        answer.refused(400, "bad_request");
    }
    server.get("/v1/models/x").refused(404, "unknown_model");
    for declaration in [
        json!({}),
        json!({"family": "bernoulli"}),
        json!({"family": "gumbel", "target": "y"}),
        json!({"family": "bernoulli", "target": "y", "colour": 1}),
        json!({"family": "bernoulli", "target": "y", "columns": {"a": "float"}}),
        json!({"family": "auto", "target": "y", "columns": {"a": "number"}}),
        json!({"family": "bernoulli", "target": "y", "method": "asgd"}),
        json!({"family": "bernoulli", "target": "y", "drift": "maybe"}),
        json!([1]),
    ] {
        server.put("/v1/models/x", &declaration).refused(400, "bad_request");
    }
}

#[test]
fn a_restart_changes_no_byte() {
    let folder = Folder::new("serve-restart");
    let mut server = with_model(&folder, "");
    let rows = flights(5, 200);
    for (i, part) in rows.as_array().unwrap().chunks(20).enumerate() {
        let path = if i % 2 == 0 { "learn" } else { "learn?predict=1" };
        server.post(&format!("/v1/models/late/{path}"), &json!(part)).ok();
        // a refused entry of the log, too
        let wrong = json!([{"hour": 1, "dist": 2, "carrier": "AA", "late": 5}]);
        server.post("/v1/models/late/learn", &wrong).refused(422, "refused");
        let bytes = server.snapshot("late");
        let shown = server.model("late");
        if i % 3 == 0 {
            assert!(server.stop().success());
        } else {
            server.kill();
        }
        server = Server::start(&folder, "");
        assert_eq!(server.snapshot("late"), bytes, "after {i} requests");
        let again = server.model("late");
        for member in ["sequence", "rows", "coefficients", "progressive", "course"] {
            assert_eq!(again[member], shown[member], "{member}");
        }
    }
    let answer = server.get("/v1/models/late/snapshot");
    assert_eq!(answer.header("etag"), Some("\"20\""));
    let known = [("if-none-match", "\"20\"")];
    let answer = server.send("GET", "/v1/models/late/snapshot", &known, b"");
    assert_eq!((answer.status, answer.bytes.len()), (304, 0));
}

#[test]
fn a_deleted_model_is_gone_with_all_that_was_its() {
    let folder = Folder::new("serve-delete");
    let server = with_model(&folder, "");
    server.put("/v1/models/other", &late()).ok();
    let rows = flights(6, 100);
    for model in ["late", "other"] {
        server.post_key(&format!("/v1/models/{model}/learn"), "key", &rows).ok();
    }
    let mut row = unlabelled(&flights(7, 1));
    row[0]["id"] = json!("a1");
    server.predict("late", &row);
    let delete = |model: &str| server.send("DELETE", &format!("/v1/models/{model}"), &[], b"");
    assert_eq!(delete("late").status, 204);
    delete("late").refused(404, "unknown_model");
    server.get("/v1/models/late").refused(404, "unknown_model");
    assert_eq!(folder.names_in("data/snapshots").len(), 1, "those of the other model");
    // the name is free: nothing of the first model is left, not even its keys and rows
    let other = json!({"family": "bernoulli", "target": "late", "method": "ekf"});
    assert_eq!(server.put("/v1/models/late", &other).status, 201);
    let answer = server.post_key("/v1/models/late/learn", "key", &flights(8, 10)).ok();
    assert_eq!(answer, json!({"sequence": 1, "rows": 10, "duplicate": false}));
    let label = server.post("/v1/models/late/label", &json!([{"id": "a1", "y": 1}]));
    label.refused(404, "unknown_id");
    let kept = server.snapshot("other");
    server.kill();
    let server = Server::start(&folder, "");
    assert_eq!(server.model("late")["rows"], 10);
    assert_eq!(server.snapshot("other"), kept);
}

#[test]
fn names_that_cannot_be_addressed_are_refused() {
    let folder = Folder::new("serve-names");
    let server = Server::start(&folder, "");
    let long = "a".repeat(65);
    let bad = [".hidden", "-x", "a%20b", "a%2Fb", "%2e%2e", "%C3%BC", "a%00b", "a%0Ab", &long];
    for name in bad {
        server.put(&format!("/v1/models/{name}"), &late()).refused(400, "bad_request");
    }
    let unreadable = server.put("/v1/models/%FF", &late());
    unreadable.refused(400, "bad_request");
    server.put("/v1/models/", &late()).refused(404, "unknown_route");
    for name in ["a", "A.b-c_d", "9", &long[1..]] {
        assert_eq!(server.put(&format!("/v1/models/{name}"), &late()).status, 201, "{name}");
    }
}

#[test]
fn two_hundred_models_are_listed_by_name() {
    let folder = Folder::new("serve-many");
    let server = Server::start(&folder, "");
    let mut expected: Vec<_> = (0..200).map(|i| format!("m{i}")).collect();
    for name in &expected {
        server.put(&format!("/v1/models/{name}"), &late()).ok();
    }
    server.learn("m17", &flights(1, 5));
    expected.sort();
    server.kill();
    let server = Server::start(&folder, "");
    let list = server.get("/v1/models").ok();
    let models = list["models"].as_array().unwrap();
    let names: Vec<_> = models.iter().map(|line| line["name"].as_str().unwrap()).collect();
    assert_eq!(names, expected);
    let taught = models.iter().find(|line| line["name"] == "m17").unwrap();
    assert_eq!((&taught["rows"], &taught["state"]), (&json!(5), &json!("ready")));
    let empty = models.iter().filter(|line| line["state"] == "empty" && line["loss"].is_null());
    assert_eq!(empty.count(), 199);
    // what was declared is known before any row
    assert!(models.iter().all(|line| line["family"] == "bernoulli"), "{list}");
}
