//! The Open Inference Protocol gives the numbers of `/v1`.

use crate::harness::Folder;
use crate::server::{Server, flights, late, unlabelled, with_model};
use serde_json::{Value, json};

const INFER: &str = "/v2/models/late/infer";

/// A tensor of a column, its values taken from rows.
pub fn tensor(rows: &Value, name: &str, datatype: &str) -> Value {
    let data: Vec<_> = rows.as_array().unwrap().iter().map(|row| row[name].clone()).collect();
    json!({"name": name, "shape": [data.len()], "datatype": datatype, "data": data})
}

/// The outputs are the predictions of `/v1` for the same rows.
#[track_caller]
fn agree(answer: &Value, predictions: &Value) {
    let outputs = answer["outputs"].as_array().unwrap();
    let names: Vec<_> = outputs.iter().map(|output| output["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["mean", "lower", "upper", "linear", "linear_sd"]);
    let rows = predictions.as_array().unwrap();
    for (output, name) in outputs.iter().zip(&names) {
        assert_eq!((&output["datatype"], &output["shape"]), (&json!("FP64"), &json!([rows.len()])));
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(
                output["data"][i],
                row.get(*name).cloned().unwrap_or_default(),
                "{name} {i}"
            );
        }
    }
}

#[test]
fn health_and_metadata() {
    let folder = Folder::new("serve-v2");
    let server = with_model(&folder, "");
    assert_eq!(server.get("/v2/health/live").ok()["live"], true);
    assert_eq!(server.get("/v2/health/ready").ok()["ready"], true);
    let about = server.get("/v2").ok();
    assert_eq!((&about["name"], about["version"].is_string()), (&json!("kalmia"), true));
    server.get("/v2/models/late").refused(409, "model_empty");
    server.get("/v2/models/late/ready").refused(409, "model_empty");
    server.post(INFER, &json!({"inputs": []})).refused(409, "model_empty");
    server.get("/v2/models/none").refused(404, "unknown_model");
    server.get("/v2/models/none/ready").refused(404, "unknown_model");
    server.learn("late", &flights(1, 20));
    assert_eq!(server.get("/v2/models/late/ready").ok(), json!({"name": "late", "ready": true}));
    let model = server.get("/v2/models/late").ok();
    let inputs = model["inputs"].as_array().unwrap().iter();
    let inputs: Vec<_> = inputs.map(|input| (&input["name"], &input["datatype"])).collect();
    let [carrier, dist, hour] = ["carrier", "dist", "hour"].map(|name| json!(name));
    let [bytes, number] = ["BYTES", "FP64"].map(|name| json!(name));
    assert_eq!(inputs, [(&carrier, &bytes), (&dist, &number), (&hour, &number)]);
    assert_eq!(model["versions"], json!(["1"]));
}

#[test]
fn a_tensor_per_column_gives_the_numbers_of_v1() {
    let folder = Folder::new("serve-v2-columns");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 200));
    let rows = unlabelled(&flights(2, 7));
    let tensors = [("hour", "INT32"), ("carrier", "BYTES"), ("dist", "FP32")];
    let inputs = tensors.map(|(name, datatype)| tensor(&rows, name, datatype));
    let answer = server.post(INFER, &json!({"id": "my-7", "inputs": inputs})).ok();
    assert_eq!((&answer["id"], &answer["model_name"]), (&json!("my-7"), &json!("late")));
    assert_eq!(answer["model_version"], "1");
    agree(&answer, &server.predict("late", &rows));
    // the data may be nested by row
    let mut nested = inputs.clone();
    nested[0]["shape"] = json!([7, 1]);
    let data: Vec<_> = inputs[0]["data"].as_array().unwrap().iter().map(|x| json!([x])).collect();
    nested[0]["data"] = json!(data);
    agree(&server.post(INFER, &json!({"inputs": nested})).ok(), &server.predict("late", &rows));
}

#[test]
fn one_tensor_holds_all_columns_in_the_models_order() {
    let folder = Folder::new("serve-v2-matrix");
    let server = Server::start(&folder, "");
    // as text: the order of the columns counts
    let declared = br#"{"family": "gaussian", "target": "y",
        "columns": {"b": "number", "a": "number", "flag": "boolean"}}"#;
    server.send("PUT", "/v1/models/late", &[], declared).ok();
    let row = |i: i32| json!({"a": i, "b": i * i % 7, "flag": i % 2 == 0, "y": 2 * i + 1});
    server.learn("late", &Value::Array((0..30).map(row).collect()));
    let rows = json!([{"b": 1.5, "a": -2, "flag": true}, {"b": 0, "a": 4, "flag": false}]);
    let expected = server.predict("late", &rows);
    let matrix = |data: Value| {
        let tensor = json!({"name": "x", "shape": [2, 3], "datatype": "FP64", "data": data});
        server.post(INFER, &json!({"inputs": [tensor]})).ok()
    };
    agree(&matrix(json!([1.5, -2, 1, 0, 4, 0])), &expected);
    agree(&matrix(json!([[1.5, -2, 1], [0, 4, 0]])), &expected);
    let kinds = [("a", "INT64"), ("b", "FP64"), ("flag", "BOOL")];
    let inputs = kinds.map(|(name, datatype)| tensor(&rows, name, datatype));
    agree(&server.post(INFER, &json!({"inputs": inputs})).ok(), &expected);
    let wrong = json!({"name": "x", "shape": [1, 2], "datatype": "FP64", "data": [1, 2]});
    let error = server.post(INFER, &json!({"inputs": [wrong]})).refused(400, "bad_request");
    assert!(error["message"].as_str().unwrap().contains("has 2 columns"), "{error}");
}

#[test]
fn null_is_a_missing_value() {
    let folder = Folder::new("serve-v2-null");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 50));
    let skip = json!({"family": "bernoulli", "target": "late", "missing": "skip"});
    server.put("/v1/models/skip", &skip).ok();
    server.learn("skip", &flights(1, 50));
    let mut rows = unlabelled(&flights(2, 3));
    rows[1]["hour"] = Value::Null;
    let tensors = [("hour", "FP64"), ("carrier", "BYTES"), ("dist", "FP64")];
    let inputs = tensors.map(|(name, datatype)| tensor(&rows, name, datatype));
    let error = server.post(INFER, &json!({"inputs": inputs})).refused(422, "missing_value");
    assert_eq!((&error["row"], &error["column"]), (&json!(2), &json!("hour")));
    let answer = server.post("/v2/models/skip/infer", &json!({"inputs": inputs})).ok();
    assert!(answer["outputs"][0]["data"][1].is_null(), "{answer}");
    agree(&answer, &server.predict("skip", &rows));
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let folder = Folder::new("serve-v2-wrong");
    let server = with_model(&folder, "--max-rows 100");
    server.learn("late", &flights(1, 50));
    let rows = unlabelled(&flights(2, 3));
    let tensors = [("hour", "FP64"), ("carrier", "BYTES"), ("dist", "FP64")];
    let inputs = tensors.map(|(name, datatype)| tensor(&rows, name, datatype));
    let changed = |place: usize, member: &str, value: Value| {
        let mut inputs = inputs.clone();
        inputs[place][member] = value;
        server.post(INFER, &json!({"inputs": inputs}))
    };
    changed(0, "shape", json!([4])).refused(400, "bad_request");
    changed(0, "shape", json!([usize::MAX, 9])).refused(400, "bad_request");
    changed(0, "shape", json!([-1])).refused(400, "bad_request");
    changed(0, "datatype", json!("FP128")).refused(400, "bad_request");
    changed(0, "data", json!("text")).refused(400, "bad_request");
    let error = changed(0, "data", json!([1, "x", 2])).refused(422, "bad_row");
    assert_eq!((&error["row"], &error["column"]), (&json!(2), &json!("hour")));
    changed(1, "datatype", json!("FP64")).refused(422, "bad_row");
    changed(1, "name", json!("other")).refused(422, "missing_column");
    let mut short = inputs.clone();
    short[2] = tensor(&json!([{"dist": 1}]), "dist", "FP64");
    server.post(INFER, &json!({"inputs": short})).refused(400, "bad_request");
    server.post(INFER, &json!({"inputs": []})).refused(400, "bad_request");
    server.post(INFER, &json!([1])).refused(400, "bad_request");
    let many = unlabelled(&flights(3, 101));
    let many = tensors.map(|(name, datatype)| tensor(&many, name, datatype));
    server.post(INFER, &json!({"inputs": many})).refused(413, "too_large");
    server.put("/v1/models/other", &late()).ok();
    agree(&server.post(INFER, &json!({"inputs": inputs})).ok(), &server.predict("late", &rows));
}
