//! What a declaration can say: families, labels, kinds of columns, missing values, weights.

use crate::formats::{csv, learned};
use crate::harness::{Folder, Uniform, number};
use crate::server::{Server, flights, late};
use serde_json::{Value, json};

fn create(server: &Server, declaration: &Value) {
    let answer = server.put("/v1/models/m", declaration);
    assert_eq!(answer.status, 201, "{answer}");
}

#[test]
fn family_auto_needs_rows_to_be_inferred_from() {
    let folder = Folder::new("serve-auto");
    let server = Server::start(&folder, "");
    create(&server, &json!({"family": "auto", "target": "late"}));
    let few = server.post("/v1/models/m/learn", &flights(1, 49));
    let error = few.refused(400, "bad_request");
    assert!(error["hint"].as_str().unwrap().contains("50 rows"), "{error}");
    let model = server.model("m");
    assert_eq!((&model["state"], &model["family"]), (&json!("empty"), &Value::Null));
    server.learn("m", &flights(1, 60));
    let model = server.model("m");
    assert_eq!((&model["family"], &model["rows"]), (&json!("bernoulli"), &json!(60)));
}

#[test]
fn first_rows_that_are_refused_decide_nothing() {
    let folder = Folder::new("serve-first");
    let server = Server::start(&folder, "");
    create(&server, &late());
    let learn = |rows: &Value| server.post("/v1/models/m/learn", rows);
    // columns that later rows do not have, each refused for another reason
    let mut rows = flights(1, 5);
    rows[4]["late"] = json!(7);
    rows.as_array_mut().unwrap().iter_mut().for_each(|row| row["wrong"] = json!(1));
    learn(&rows).refused(422, "refused");
    let error = learn(&json!([{"other": 1, "late": 1}, {"other": null, "late": 0}]));
    error.refused(422, "missing_value");
    learn(&json!([{"other": 1}])).refused(422, "missing_column");
    let answer = learn(&json!([{"other": 1, "late": 1}, {"other": [2], "late": 0}]));
    assert!((400..500).contains(&answer.status), "{answer}");
    let model = server.model("m");
    assert_eq!((&model["state"], &model["sequence"]), (&json!("empty"), &json!(0)));
    let good = flights(1, 5);
    assert_eq!(learn(&good).ok()["sequence"], 1);
    create_and_learn_elsewhere(&server, &good);
    assert_eq!(server.snapshot("m"), server.snapshot("fresh"));
}

fn create_and_learn_elsewhere(server: &Server, rows: &Value) {
    server.put("/v1/models/fresh", &late()).ok();
    server.learn("fresh", rows);
}

/// Rows whose text decides the label.
fn messages(rows: usize) -> Value {
    let mut uniform = Uniform(3);
    let mut row = || {
        let spam = uniform.next() < 0.5;
        let word = (uniform.next() * 5000.0) as u32;
        let body = format!("{} word{word} hello", if spam { "prize" } else { "meeting" });
        json!({"body": body, "spam": u8::from(spam)})
    };
    Value::Array((0..rows).map(|_| row()).collect())
}

#[test]
fn text_makes_a_wide_model_that_learns_as_fit_does() {
    let folder = Folder::new("serve-text");
    let server = Server::start(&folder, "");
    let text = json!({"family": "bernoulli", "target": "spam", "text": ["body"]});
    create(&server, &text);
    let rows = messages(1000);
    server.learn("m", &rows);
    folder.write("t.csv", csv(&rows));
    folder.ok("fit t.csv -t spam --family bernoulli --text body -o fit.kalmia -q");
    let file = server.snapshot("m");
    assert_eq!(learned(&file), learned(&folder.read("fit.kalmia")));
    let answer = server.predict("m", &json!([{"body": "a prize"}, {"body": "our meeting"}]));
    assert!(number(&answer[0], "mean") > 0.9 && number(&answer[1], "mean") < 0.1, "{answer}");
    server.kill();
    let server = Server::start(&folder, "");
    assert_eq!(server.snapshot("m"), file);
    // declared columns of text are wide before the first row
    let columns = json!({"family": "bernoulli", "target": "spam", "columns": {"body": "text"}});
    server.put("/v1/models/columns", &columns).ok();
    server.predict("columns", &json!({"body": "a prize"}));
    server.learn("columns", &rows);
    let again = server.predict("columns", &json!([{"body": "a prize"}]));
    assert!(number(&again[0], "mean") > 0.9, "{again}");
}

#[test]
fn thousands_of_hashed_columns_make_a_wide_model() {
    let folder = Folder::new("serve-hash");
    let server = Server::start(&folder, "");
    create(&server, &json!({"family": "bernoulli", "target": "late", "hash": 12}));
    server.learn("m", &flights(1, 300));
    let file = server.snapshot("m");
    let model = server.model("m");
    assert!(number(&model, "progressive.loss") < number(&model, "progressive.baseline_loss"));
    server.kill();
    assert_eq!(Server::start(&folder, "").snapshot("m"), file);
}

#[test]
fn missing_values_are_refused_skipped_or_filled_as_declared() {
    let folder = Folder::new("serve-missing");
    let server = Server::start(&folder, "");
    let mut rows = flights(2, 100);
    for i in [10, 20, 30] {
        rows[i]["hour"] = Value::Null;
    }
    create(&server, &late());
    let error = server.post("/v1/models/m/learn", &rows).refused(422, "missing_value");
    assert_eq!((&error["row"], &error["column"]), (&json!(11), &json!("hour")));
    for (missing, rows_learned) in [("skip", 97), ("mean", 100)] {
        let path = format!("/v1/models/{missing}");
        let declared = json!({"family": "bernoulli", "target": "late", "missing": missing});
        server.put(&path, &declared).ok();
        let answer = server.learn(missing, &rows);
        assert_eq!(answer["rows"], rows_learned, "{answer}");
        folder.write("t.csv", csv(&rows));
        let file = format!("{missing}.kalmia");
        let words =
            format!("fit t.csv -t late --family bernoulli --missing {missing} -o {file} -q");
        folder.ok(&words);
        assert_eq!(learned(&server.snapshot(missing)), learned(&folder.read(&file)));
    }
    let answer = server.post_key("/v1/models/skip/learn", "k", &rows).ok();
    assert_eq!(answer["skipped"], 3, "{answer}");
    let again = server.post_key("/v1/models/skip/learn", "k", &rows).ok();
    assert_eq!((&again["skipped"], &again["duplicate"]), (&json!(3), &json!(true)));
    assert_eq!(server.model("skip")["skipped"], 6);
    assert_eq!(server.model("mean")["imputed"], 3);
    let gap = json!([
        {"hour": null, "dist": 1, "carrier": "AA"},
        {"hour": 1, "dist": 1, "carrier": "AA"},
    ]);
    let skipped = server.predict("skip", &gap);
    assert!(skipped[0].is_null() && skipped[1].is_object(), "{skipped}");
    assert!(server.predict("mean", &gap)[0].is_object());
}

#[test]
fn offsets_and_weights_count_as_in_fit() {
    let folder = Folder::new("serve-offset");
    let server = Server::start(&folder, "");
    let declared = json!({"family": "poisson", "target": "claims", "offset": "log_years",
                          "weight": "policies", "method": "auto"});
    create(&server, &declared);
    let mut uniform = Uniform(5);
    let mut row = || {
        let age = (uniform.next() * 50.0).round();
        let years = 1.0 + (uniform.next() * 9.0).round();
        let claims = (years * (age / 40.0 - 1.0).exp() * 2.0 * uniform.next()).round();
        let policies = 1.0 + (uniform.next() * 3.0).floor();
        json!({"age": age, "log_years": years.ln(), "policies": policies, "claims": claims})
    };
    let rows = Value::Array((0..500).map(|_| row()).collect());
    server.learn("m", &rows);
    folder.write("t.csv", csv(&rows));
    folder.ok("fit t.csv -t claims --family poisson --offset log_years --weight policies \
               -o fit.kalmia -q");
    assert_eq!(learned(&server.snapshot("m")), learned(&folder.read("fit.kalmia")));
    let rows = json!([{"age": 30, "log_years": 0.0}, {"age": 30, "log_years": 2.0}]);
    let answer = server.predict("m", &rows);
    let difference = number(&answer[1], "linear") - number(&answer[0], "linear");
    assert!((difference - 2.0).abs() < 1e-9, "the offset is part of `linear`: {answer}");
    let error = server.post("/v1/models/m/predict", &json!({"age": 30}));
    error.refused(422, "missing_value");
}

#[test]
fn columns_can_be_chosen_excluded_and_read_as_categories() {
    let folder = Folder::new("serve-chosen");
    let server = Server::start(&folder, "");
    let rows = flights(4, 200);
    folder.write("t.csv", csv(&rows));
    for (name, words, declared) in [
        ("exclude", "--exclude dist,carrier", json!({"exclude": ["dist", "carrier"]})),
        ("features", "--features hour,dist", json!({"features": ["hour", "dist"]})),
        ("categorical", "--categorical hour", json!({"categorical": ["hour"]})),
        ("intercept", "--no-intercept", json!({"intercept": false})),
        ("method", "--method moment", json!({"method": "moment"})),
        ("drift", "--drift adapt", json!({"drift": "adapt"})),
    ] {
        let mut declaration = late();
        declaration.as_object_mut().unwrap().extend(declared.as_object().unwrap().clone());
        server.put(&format!("/v1/models/{name}"), &declaration).ok();
        let path = format!("/v1/models/{name}/learn");
        server.post_as(&path, "text/csv", &csv(&rows)).ok();
        folder.ok(&format!("fit t.csv -t late --family bernoulli {words} -o {name}.kalmia -q"));
        let file = folder.read(&format!("{name}.kalmia"));
        assert_eq!(learned(&server.snapshot(name)), learned(&file), "{name}");
    }
}

#[test]
fn labels_can_be_texts_with_a_positive_one() {
    let folder = Folder::new("serve-positive");
    let server = Server::start(&folder, "");
    let declared = json!({"family": "bernoulli", "target": "late", "positive": "yes"});
    create(&server, &declared);
    let mut rows = flights(3, 300);
    for row in rows.as_array_mut().unwrap() {
        row["late"] = json!(if row["late"] == 1 { "yes" } else { "no" });
    }
    let parts: Vec<_> = rows.as_array().unwrap().chunks(100).map(|part| json!(part)).collect();
    parts.iter().for_each(|part| drop(server.learn("m", part)));
    let model = server.model("m");
    assert_eq!((&model["positive"], &model["rows"]), (&json!("yes"), &json!(300)));
    let row =
        |hour: u32| json!({"hour": hour, "dist": 300, "carrier": "UA", "id": hour.to_string()});
    let answer = server.predict("m", &json!([row(23), row(0)]));
    assert_eq!((&answer[0]["predicted"], &answer[1]["predicted"]), (&json!("yes"), &json!("no")));
    assert!(number(&answer[0], "mean") > 0.9 && number(&answer[1], "mean") < 0.1);
    let labels = json!([{"id": "23", "y": "yes"}, {"id": "0", "late": "no"}]);
    let answer = server.post("/v1/models/m/label", &labels).ok();
    assert!(number(&answer, "served.loss") < 0.2, "{answer}");
    let error = server.post(
        "/v1/models/m/learn",
        &json!({"hour": 1, "dist": 1, "carrier": "AA",
                                                          "late": "maybe"}),
    );
    assert_eq!(error.status, 422, "{error}");
    assert_eq!(error.json()["error"]["column"], "late", "{error}");
}
