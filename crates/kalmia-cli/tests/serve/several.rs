//! Several classes and several quantiles live as all models do: learned once, also after crashes,
//! labelled later, inferred, uploaded, deleted.

use crate::formats::{self, csv, learned};
use crate::harness::{Folder, number};
use crate::server::{Server, flowers, minutes, species, times, without};
use crate::watching::series;
use serde_json::{Value, json};

/// A kind of model: its declaration, target, rows, and the options of `kalmia fit`.
struct Case {
    declaration: Value,
    target: &'static str,
    rows: fn(u64, usize) -> Value,
    fit: &'static str,
}

fn cases() -> [Case; 2] {
    [
        Case {
            declaration: species(),
            target: "species",
            rows: flowers,
            fit: "-t species --family categorical",
        },
        Case {
            declaration: minutes(),
            target: "minutes",
            rows: times,
            fit: "-t minutes --family quantile:0.1,0.5,0.9",
        },
    ]
}

fn start(folder: &Folder, case: &Case) -> Server {
    let server = Server::start(folder, "");
    let created = server.put("/v1/models/m", &case.declaration);
    assert_eq!(created.status, 201, "{created}");
    server
}

/// Rows without targets, with identifiers, and their labels.
fn asked(case: &Case, seed: u64, rows: usize) -> (Value, Value) {
    let labelled = (case.rows)(seed, rows);
    let mut questions = without(&labelled, case.target);
    let mut labels = Vec::new();
    for (i, row) in labelled.as_array().unwrap().iter().enumerate() {
        questions[i]["id"] = json!(format!("r{i}"));
        labels.push(json!({"id": format!("r{i}"), "y": row[case.target]}));
    }
    (questions, Value::Array(labels))
}

/// The loss of a prediction as answers hold it.
fn loss(prediction: &Value, y: &Value) -> f64 {
    if let Some(class) = y.as_str() {
        return -prediction["probabilities"][class].as_f64().unwrap().ln();
    }
    let y = y.as_f64().unwrap();
    let quantiles = prediction["quantiles"].as_object().unwrap();
    let pinball = |(level, quantile): (&String, &Value)| {
        let level: f64 = level.parse().unwrap();
        let above = y - quantile.as_f64().unwrap();
        if above > 0.0 { level * above } else { (level - 1.0) * above }
    };
    quantiles.iter().map(pinball).sum::<f64>() / quantiles.len() as f64
}

#[test]
fn one_request_learns_what_fit_learns_and_the_file_predicts_alike() {
    for case in cases() {
        let folder = Folder::new("serve-several-fit");
        let server = start(&folder, &case);
        let rows = (case.rows)(1, 600);
        assert_eq!(server.learn("m", &rows)["rows"], 600);
        folder.write("t.csv", csv(&rows));
        let printed = folder.ok(&format!("fit t.csv {} -o fit.kalmia --json -q", case.fit));
        let fitted: Value = serde_json::from_str(&printed).unwrap();
        let file = server.snapshot("m");
        assert_eq!(learned(&file), learned(&folder.read("fit.kalmia")));
        let shown = server.model("m");
        for member in ["family", "method", "target", "progressive", "features", "sorted"] {
            assert!(!shown[member].is_null(), "{member}");
            assert_eq!(shown[member], fitted[member], "{member}");
        }
        // the snapshot is a file that the command reads, with the same predictions
        folder.write("served.kalmia", &file);
        let new = without(&(case.rows)(2, 40), case.target);
        folder.write("new.csv", csv(&new));
        let words = "predict served.kalmia new.csv --output-format jsonl -q";
        let printed = folder.ok(words);
        let answers = server.predict("m", &new);
        assert_eq!(printed.lines().count(), 40);
        for (line, answer) in printed.lines().zip(answers.as_array().unwrap()) {
            let line: Value = serde_json::from_str(line).unwrap();
            let columns = line.as_object().unwrap();
            let (numbers, prefix) = match answer.get("quantiles") {
                Some(quantiles) => (quantiles.as_object().unwrap(), "q"),
                None => (answer["probabilities"].as_object().unwrap(), "p_"),
            };
            for (name, value) in numbers {
                assert_eq!(columns[&format!("{prefix}{name}")], *value, "{name}");
            }
            let labels = usize::from(answer.get("predicted").is_some());
            assert_eq!(columns.len(), numbers.len() + labels);
            assert_eq!(columns.get("predicted"), answer.get("predicted"));
        }
    }
}

#[test]
fn every_format_gives_the_same_model() {
    for case in cases() {
        let folder = Folder::new("serve-several-formats");
        let server = start(&folder, &case);
        let rows = (case.rows)(3, 80);
        let mut files = Vec::new();
        for (i, (kind, body)) in formats::all(&rows).iter().enumerate() {
            let path = format!("/v1/models/m{i}");
            assert_eq!(server.put(&path, &case.declaration).status, 201);
            assert_eq!(server.post_as(&format!("{path}/learn"), kind, body).ok()["rows"], 80);
            files.push(learned(&server.snapshot(&format!("m{i}"))));
        }
        assert!(files.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

#[test]
fn a_kill_changes_no_byte_and_keys_are_answered_as_at_first() {
    for case in cases() {
        let folder = Folder::new("serve-several-crash");
        let mut server = start(&folder, &case);
        let learn = "/v1/models/m/learn";
        let predicted = format!("{learn}?predict=1");
        let requests = [
            (learn, "a", (case.rows)(1, 1500)),
            (&*predicted, "b", (case.rows)(2, 12)),
            (learn, "c", (case.rows)(3, 40)),
        ];
        let first = requests.each_ref().map(|(path, key, rows)| {
            let answer = server.post_key(path, key, rows).ok();
            assert_eq!(answer["duplicate"], false);
            answer
        });
        let predictions = first[1]["predictions"].as_array().unwrap();
        assert_eq!(predictions.len(), 12);
        assert!(predictions.iter().all(|one| one.get("mean").is_none()));
        let mut wrong = (case.rows)(4, 3);
        wrong[2][if case.target == "species" { "petal" } else { "size" }] = json!(1e300);
        let refused = server.post_key(learn, "w", &wrong);
        assert_eq!(refused.refused(422, "refused")["row"], 3);
        let bytes = server.snapshot("m");
        for round in 0..3 {
            if round == 1 {
                assert!(server.stop().success());
            } else {
                server.kill();
            }
            server = Server::start(&folder, "");
            assert_eq!(server.snapshot("m"), bytes, "round {round}");
            for ((path, key, rows), first) in requests.iter().zip(&first) {
                let mut expected = first.clone();
                expected["duplicate"] = json!(true);
                assert_eq!(server.post_key(path, key, rows).ok(), expected);
            }
            assert_eq!(server.post_key(learn, "w", &wrong).bytes, refused.bytes);
            server.post_key(learn, "a", &requests[2].2).refused(422, "key_reused");
            assert_eq!(server.snapshot("m"), bytes);
        }
    }
}

#[test]
fn a_label_teaches_the_row_that_was_asked_also_after_a_crash() {
    for case in cases() {
        let folder = Folder::new("serve-several-delayed");
        let server = start(&folder, &case);
        server.put("/v1/models/direct", &case.declaration).ok();
        for model in ["m", "direct"] {
            server.learn(model, &(case.rows)(1, 200));
        }
        let (questions, mut labels) = asked(&case, 2, 20);
        let served = server.predict("m", &questions);
        for model in ["m", "direct"] {
            server.learn(model, &(case.rows)(3, 100));
        }
        server.kill();
        let server = Server::start(&folder, "");
        assert_eq!(server.model("m")["pending"], 20);
        // a label that is refused leaves its rows waiting
        let right = labels[7]["y"].clone();
        labels[7]["y"] = Value::Null;
        let refused = server.post("/v1/models/m/label", &labels);
        assert_eq!(refused.refused(422, "missing_value")["row"], 8);
        labels[7]["y"] = right;
        let answer = server.post("/v1/models/m/label", &labels).ok();
        assert_eq!((&answer["sequence"], &answer["rows"]), (&json!(3), &json!(20)));
        server.learn("direct", &(case.rows)(2, 20));
        assert_eq!(learned(&server.snapshot("m")), learned(&server.snapshot("direct")));
        let labelled = labels.as_array().unwrap().iter().enumerate();
        let expected = labelled.map(|(i, label)| loss(&served[i], &label["y"])).sum::<f64>() / 20.0;
        let reported = number(&answer, "served.loss");
        assert!((reported - expected).abs() < 1e-9 * expected, "{reported} for {expected}");
        let bytes = server.snapshot("m");
        server.kill();
        let server = Server::start(&folder, "");
        assert_eq!(server.snapshot("m"), bytes);
        let model = server.model("m");
        assert_eq!((&model["served"], &model["pending"]), (&answer["served"], &json!(0)));
        server.post("/v1/models/m/label", &labels).refused(404, "unknown_id");
    }
}

#[test]
fn an_uploaded_file_continues_as_the_command_does() {
    let octets = [("content-type", "application/octet-stream")];
    for case in cases() {
        let folder = Folder::new("serve-several-upload");
        folder.write("t.csv", csv(&(case.rows)(1, 300)));
        folder.write("more.csv", csv(&(case.rows)(2, 50)));
        folder.ok(&format!("fit t.csv {} -o m.kalmia -q", case.fit));
        let server = Server::start(&folder, "");
        let put = || server.send("PUT", "/v1/models/m", &octets, &folder.read("m.kalmia"));
        let created = put();
        assert_eq!((created.status, &created.json()["rows"]), (201, &json!(300)));
        assert_eq!(put().status, 200, "it is there already");
        server.post_as("/v1/models/m/learn", "text/csv", &folder.read("more.csv")).ok();
        folder.ok("update m.kalmia more.csv -q");
        assert_eq!(learned(&server.snapshot("m")), learned(&folder.read("m.kalmia")));
        put().refused(409, "model_exists");
        assert_eq!(server.send("DELETE", "/v1/models/m", &[], b"").status, 204);
        server.get("/v1/models/m").refused(404, "unknown_model");
        server.kill();
        let server = Server::start(&folder, "");
        server.get("/v1/models/m").refused(404, "unknown_model");
    }
}

#[test]
fn lists_metrics_and_events_show_them() {
    for case in cases() {
        let folder = Folder::new("serve-several-watch");
        let server = start(&folder, &case);
        let empty = server.model("m");
        assert_eq!((&empty["state"], &empty["rows"]), (&json!("empty"), &json!(0)));
        server.learn("m", &(case.rows)(1, 300));
        let model = server.model("m");
        let line = server.get("/v1/models").ok()["models"][0].clone();
        assert_eq!((&line["rows"], &line["family"]), (&json!(300), &case.declaration["family"]));
        let text = String::from_utf8(server.get("/metrics").bytes).unwrap();
        for (name, member) in [("loss", "loss"), ("baseline_loss", "baseline_loss")] {
            let value = number(&model["progressive"], member);
            assert_eq!(number(&line, member), value);
            let shown = series(&text, &format!("kalmia_model_{name}{{model=\"m\"}}"));
            assert!((shown - value).abs() < 1e-12 * value, "{shown} for {value}");
        }
        assert!(number(&line, "loss") < 0.9 * number(&line, "baseline_loss"), "{line}");
        let course = model["course"].as_array().unwrap();
        assert_eq!(course.last().unwrap()["rows"], 300);
        let mut events = std::io::BufReader::new(server.events("m"));
        let mut first = String::new();
        while !first.contains("data: ") {
            std::io::BufRead::read_line(&mut events, &mut first).unwrap();
        }
        let shown: Value =
            serde_json::from_str(first.split_once("data: ").unwrap().1.trim()).unwrap();
        assert_eq!(shown["progressive"], model["progressive"]);
    }
}

#[test]
fn what_they_cannot_do_is_refused_with_what_to_do() {
    for case in cases() {
        let folder = Folder::new("serve-several-refused");
        let server = start(&folder, &case);
        server.learn("m", &(case.rows)(1, 100));
        let row = without(&(case.rows)(2, 1), case.target)[0].clone();
        let choose = json!({"candidates": [row, row]});
        let error = server.post("/v1/models/m/choose", &choose).refused(400, "bad_request");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("cannot choose") && message.contains("two labels"), "{error}");
        for interval in ["mean", "y", "conformal"] {
            let path = format!("/v1/models/m/predict?interval={interval}");
            let error = server.post(&path, &row).refused(400, "bad_request");
            assert!(error["message"].as_str().unwrap().contains("leave the interval"), "{error}");
        }
        let plain = server.predict("m", &row);
        let path = "/v1/models/m/predict?interval=none&level=0.5";
        assert_eq!(server.post(path, &row).ok()["predictions"], plain);
        // declarations that their families do not take, before any row
        for (member, value) in [
            ("method", json!("ekf")),
            ("conformal", json!(true)),
            ("outliers", json!("downweight")),
            ("parameters", json!({"averaged": true})),
        ] {
            let mut declaration = case.declaration.clone();
            declaration[member] = value;
            let answer = server.put("/v1/models/other", &declaration);
            answer.refused(400, "bad_request");
        }
        server.get("/v1/models/other").refused(404, "unknown_model");
    }
}
