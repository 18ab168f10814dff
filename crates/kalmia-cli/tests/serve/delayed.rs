//! Labels that come later, and choices whose reward comes later.

use crate::formats::learned;
use crate::harness::{Folder, number, wait_until};
use crate::server::{Server, flights, late, unlabelled, with_model};
use serde_json::{Value, json};

const LABEL: &str = "/v1/models/late/label";

/// Rows without labels, with identifiers, and their labels.
fn asked(seed: u64, rows: usize) -> (Value, Value) {
    let labelled = flights(seed, rows);
    let mut questions = unlabelled(&labelled);
    let mut labels = Vec::new();
    for (i, row) in labelled.as_array().unwrap().iter().enumerate() {
        questions[i]["id"] = json!(format!("r{i}"));
        labels.push(json!({"id": format!("r{i}"), "y": row["late"]}));
    }
    (questions, Value::Array(labels))
}

#[test]
fn a_label_teaches_exactly_the_row_that_was_asked_also_after_a_crash() {
    let folder = Folder::new("serve-delayed");
    let server = with_model(&folder, "");
    server.put("/v1/models/direct", &late()).ok();
    for model in ["late", "direct"] {
        server.learn(model, &flights(1, 100));
    }
    let (questions, labels) = asked(2, 20);
    let served = server.predict("late", &questions);
    assert_eq!(server.model("late")["pending"], 20);
    // more is learned before the labels come: what was served must not change
    for model in ["late", "direct"] {
        server.learn(model, &flights(3, 100));
    }
    server.kill();
    let server = Server::start(&folder, "");
    assert_eq!(server.model("late")["pending"], 20);
    let answer = server.post(LABEL, &labels).ok();
    assert_eq!((&answer["sequence"], &answer["rows"]), (&json!(3), &json!(20)));
    server.learn("direct", &flights(2, 20));
    assert_eq!(learned(&server.snapshot("late")), learned(&server.snapshot("direct")));
    let loss = |(i, label): (usize, &Value)| {
        let mean = number(&served[i], "mean");
        -(if label["y"] == 1 { mean } else { 1.0 - mean }).ln()
    };
    let losses = labels.as_array().unwrap().iter().enumerate().map(loss).sum::<f64>();
    let reported = number(&answer, "served.loss");
    assert!((reported - losses / 20.0).abs() < 1e-12, "{reported} for {}", losses / 20.0);
    let model = server.model("late");
    assert_eq!((&model["served"], &model["pending"]), (&answer["served"], &json!(0)));
    assert!(server.model("direct")["served"].is_null());
    let bytes = server.snapshot("late");
    server.kill();
    let server = Server::start(&folder, "");
    assert_eq!(server.snapshot("late"), bytes);
    assert_eq!(server.model("late")["served"], answer["served"]);
}

#[test]
fn labels_are_learned_all_or_none() {
    let folder = Folder::new("serve-labels");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 50));
    let (questions, labels) = asked(2, 3);
    server.predict("late", &questions);
    let bytes = server.snapshot("late");
    let refused = |change: &dyn Fn(&mut Value), status, code: &str, row| {
        let mut labels = labels.clone();
        change(&mut labels);
        let error = server.post(LABEL, &labels).refused(status, code);
        assert_eq!(error["row"], row, "{error}");
        error
    };
    let error = refused(&|labels| labels[1]["id"] = json!("unknown"), 404, "unknown_id", 2);
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("--label-hours")), "{error}");
    refused(&|labels| labels[2]["id"] = json!("r0"), 422, "bad_row", 3);
    refused(&|labels| labels[2]["y"] = json!("x"), 422, "bad_row", 3);
    refused(&|labels| labels[1]["y"] = Value::Null, 422, "missing_value", 2);
    refused(
        &|labels| drop(labels[1].as_object_mut().unwrap().remove("id")),
        422,
        "missing_value",
        2,
    );
    server.post(LABEL, &json!([])).refused(400, "bad_request");
    assert_eq!(server.snapshot("late"), bytes);
    assert_eq!(server.model("late")["pending"], 3, "the rows still wait");
    assert_eq!(server.post(LABEL, &labels).ok()["rows"], 3);
    server.post(LABEL, &labels).refused(404, "unknown_id");
    assert_eq!(server.model("late")["pending"], 0);
}

#[test]
fn a_label_that_the_learner_refuses_teaches_nothing() {
    let folder = Folder::new("serve-labels-refused");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 50));
    let (questions, mut labels) = asked(2, 3);
    server.predict("late", &questions);
    let before = server.model("late");
    labels[1]["y"] = json!(3);
    let error = server.post(LABEL, &labels).refused(422, "refused");
    assert_eq!((&error["row"], &error["column"]), (&json!(2), &json!("late")));
    let after = server.model("late");
    for member in ["coefficients", "rows", "served", "pending"] {
        assert_eq!(after[member], before[member], "{member}");
    }
    // the rows wait again, also after a restart
    server.kill();
    let server = Server::start(&folder, "");
    assert_eq!(server.model("late")["pending"], 3);
    labels[1]["y"] = json!(1);
    assert_eq!(server.post(LABEL, &labels).ok()["rows"], 3);
    server.post(LABEL, &labels).refused(404, "unknown_id");
    assert!(server.stop().success());
    let server = Server::start(&folder, "");
    assert_eq!(server.model("late")["pending"], 0);
    server.post(LABEL, &labels).refused(404, "unknown_id");
}

#[test]
fn a_later_prediction_replaces_the_row_of_an_id() {
    let folder = Folder::new("serve-replaced");
    let server = with_model(&folder, "");
    server.put("/v1/models/direct", &late()).ok();
    for model in ["late", "direct"] {
        server.learn(model, &flights(1, 50));
    }
    let row = |hour: u32| json!({"hour": hour, "dist": 9, "carrier": "AA"});
    for hour in [3, 20] {
        let mut row = row(hour);
        row["id"] = json!("same");
        server.predict("late", &row);
    }
    assert_eq!(server.model("late")["pending"], 1);
    // under the target's own name
    server.post(LABEL, &json!({"id": "same", "late": 1})).ok();
    let mut last = row(20);
    last["late"] = json!(1);
    server.learn("direct", &last);
    assert_eq!(learned(&server.snapshot("late")), learned(&server.snapshot("direct")));
    // identifiers may be numbers, and are texts
    let mut numbered = row(4);
    numbered["id"] = json!(17);
    server.predict("late", &numbered);
    assert_eq!(server.post(LABEL, &json!({"id": "17", "y": 0})).ok()["rows"], 1);
    let mut long = row(4);
    long["id"] = json!("x".repeat(201));
    server.post("/v1/models/late/predict", &long).refused(422, "bad_row");
    assert_eq!(server.model("late")["pending"], 0);
}

#[test]
fn rows_that_wait_too_long_are_forgotten() {
    let folder = Folder::new("serve-expired");
    let server = with_model(&folder, "--label-hours 0");
    server.learn("late", &flights(1, 50));
    let (questions, labels) = asked(2, 3);
    server.predict("late", &questions);
    server.kill();
    // the time is over after the second in which they were predicted, and looked at at each start
    wait_until("the rows to be forgotten", || {
        let server = Server::start(&folder, "--label-hours 0");
        let path = "/v1/models/late";
        let gone = (0..20).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            server.get(path).ok()["pending"] == 0
        });
        server.kill();
        gone
    });
    let server = Server::start(&folder, "");
    server.post(LABEL, &labels).refused(404, "unknown_id");
}

/// A choice between the same three candidates.
fn choose(server: &Server, id: Option<&str>) -> Value {
    let candidate = |hour: u32| json!({"hour": hour, "dist": 700, "carrier": "UA"});
    let mut body = json!({"candidates": [candidate(10), candidate(11), candidate(12)]});
    if let Some(id) = id {
        body["id"] = json!(id);
    }
    server.post("/v1/models/late/choose", &body).ok()
}

#[test]
fn choices_are_remembered_and_as_frequent_as_their_probabilities() {
    let folder = Folder::new("serve-choose");
    let server = with_model(&folder, "");
    server.post("/v1/models/late/choose", &json!({"candidates": []})).refused(409, "model_empty");
    server.learn("late", &flights(1, 12));
    let mut counts = [0.0; 3];
    let mut sums = [0.0; 3];
    for _ in 0..400 {
        let chosen = choose(&server, None);
        let place = chosen["choice"].as_u64().unwrap() as usize;
        let probability = number(&chosen, "probability");
        assert!(probability > 0.0 && probability <= 1.0);
        counts[place] += 1.0;
        sums[place] += probability;
    }
    for (count, sum) in counts.iter().zip(sums).filter(|(count, _)| **count > 0.0) {
        let [frequency, reported] = [count / 400.0, sum / count];
        // of 400 choices, and of the mean of estimates from 1000 draws each
        let error = (reported * (1.0 - reported) / 400.0).sqrt() + 0.002;
        assert!((frequency - reported).abs() < 4.0 * error, "{frequency} for {reported}");
    }
    assert_eq!(server.model("late")["pending"], 400);
    let chosen = choose(&server, Some("mine"));
    assert_eq!(chosen["id"], "mine");
    server.kill();
    let server = Server::start(&folder, "");
    assert_eq!(server.model("late")["pending"], 401);
    let reward = server.post(LABEL, &json!([{"id": "mine", "y": 1}])).ok();
    let loss = -number(&chosen["prediction"], "mean").ln();
    assert!((number(&reward, "served.loss") - loss).abs() < 1e-12, "{reward}");
}

#[test]
fn choices_that_cannot_be_made_are_refused() {
    let folder = Folder::new("serve-choose-bad");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 12));
    let choose = |body: Value| server.post("/v1/models/late/choose", &body);
    choose(json!({})).refused(400, "bad_request");
    choose(json!({"candidates": []})).refused(400, "bad_request");
    choose(json!({"candidates": 7})).refused(400, "bad_request");
    choose(json!({"candidates": [], "more": 1})).refused(400, "bad_request");
    let error =
        choose(json!({"candidates": [{"hour": 1, "dist": 2, "carrier": "AA"}, {"hour": 1}]}));
    assert_eq!(error.refused(422, "missing_value")["row"], 2);
    let row = json!({"hour": 1, "dist": 2, "carrier": "AA"});
    choose(json!({"candidates": vec![row.clone(); 1001]})).refused(413, "too_large");
    choose(json!({"candidates": [row], "id": "x".repeat(201)})).refused(422, "bad_row");
    assert_eq!(server.model("late")["pending"], 0);
    let wide = json!({"family": "bernoulli", "target": "spam", "text": ["body"]});
    server.put("/v1/models/wide", &wide).ok();
    server.learn("wide", &json!([{"body": "a b", "spam": 1}, {"body": "c", "spam": 0}]));
    let answer = server.post("/v1/models/wide/choose", &json!({"candidates": [{"body": "a"}]}));
    let error = answer.refused(422, "refused");
    assert!(error["message"].as_str().unwrap().contains("wide model"), "{error}");
}
