//! Models of several quantiles: a value per level, which never cross.

use crate::harness::{Folder, number};
use crate::server::{Server, minutes, times, without};
use serde_json::{Value, json};

fn with_minutes(folder: &Folder) -> Server {
    let server = Server::start(folder, "");
    assert_eq!(server.put("/v1/models/m", &minutes()).status, 201);
    server
}

#[test]
fn a_prediction_has_a_value_per_level_in_order() {
    let folder = Folder::new("serve-quantiles");
    let server = with_minutes(&folder);
    server.learn("m", &times(1, 3000));
    let truth = times(2, 1000);
    let rows = without(&truth, "minutes");
    let mut below = [0; 3];
    for (i, row) in server.predict("m", &rows).as_array().unwrap().iter().enumerate() {
        let quantiles = row["quantiles"].as_object().unwrap();
        let levels: Vec<_> = quantiles.keys().map(String::as_str).collect();
        assert_eq!(levels, ["0.1", "0.5", "0.9"]);
        let values: Vec<f64> = quantiles.values().map(|value| value.as_f64().unwrap()).collect();
        assert!(values.windows(2).all(|pair| pair[0] <= pair[1]), "{row}");
        let y = number(&truth[i], "minutes");
        values.iter().zip(&mut below).for_each(|(value, below)| *below += u64::from(y <= *value));
    }
    // of 1000 new rows, 5 standard errors
    for (below, level) in below.into_iter().zip([0.1, 0.5, 0.9_f64]) {
        let error = (level * (1.0 - level) * 1000.0).sqrt();
        assert!((below as f64 - 1000.0 * level).abs() < 5.0 * error, "{below} below {level}");
    }
    let model = server.model("m");
    let levels = model["progressive"]["levels"].as_array().unwrap();
    for (scores, level) in levels.iter().zip([0.1, 0.5, 0.9]) {
        assert_eq!(scores["level"], level);
        assert!(number(scores, "loss") < number(scores, "baseline_loss"), "{scores}");
        assert!((number(scores, "share_below") - level).abs() < 0.03, "{scores}");
    }
    assert_eq!(model["levels"][2]["coefficients"].as_array().unwrap().len(), 3);
    assert!(model["calibration"].as_array().unwrap().is_empty());
}

#[test]
fn declared_columns_predict_before_any_row_and_levels_are_checked() {
    let folder = Folder::new("serve-quantiles-declared");
    let server = Server::start(&folder, "");
    let mut declaration = minutes();
    declaration["columns"] = json!({"size": "number", "queue": "number"});
    server.put("/v1/models/m", &declaration).ok();
    let row = json!({"size": 1, "queue": 2});
    assert_eq!(server.predict("m", &row)[0]["quantiles"].as_object().unwrap().len(), 3);
    server.learn("m", &times(1, 50));
    // another way to write the same levels is the same declaration
    declaration["family"] = json!("quantile: 0.9, 0.5, .1");
    assert_eq!(server.put("/v1/models/m", &declaration).status, 200);
    for family in ["quantile:0.1,0.1", "quantile:0.1,1.5", "quantile:0.1,x", "quantile:0,0.5"] {
        declaration["family"] = json!(family);
        let error = server.put("/v1/models/wrong", &declaration).refused(400, "bad_request");
        assert!(error["message"].as_str().unwrap().contains("level"), "{error}");
    }
}

#[test]
fn the_tensors_are_the_quantiles_of_v1() {
    let folder = Folder::new("serve-quantiles-v2");
    let server = with_minutes(&folder);
    let mut rows = times(1, 200);
    server.learn("m", &rows);
    let about = server.get("/v2/models/m").ok();
    let outputs = about["outputs"].as_array().unwrap().iter();
    let outputs: Vec<_> = outputs.map(|output| json!([output["name"], output["shape"]])).collect();
    assert_eq!(outputs, [json!(["quantiles", [-1, 3]]), json!(["levels", [3]])]);
    rows = without(&times(2, 5), "minutes");
    let values: Vec<Value> = rows
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|row| [row["queue"].clone(), row["size"].clone()])
        .collect();
    let input = json!({"name": "x", "shape": [5, 2], "datatype": "FP64", "data": values});
    let answer = server.post("/v2/models/m/infer", &json!({"inputs": [input]})).ok();
    let quantiles = &answer["outputs"][0];
    assert_eq!(quantiles["shape"], json!([5, 3]));
    assert_eq!(answer["outputs"][1]["data"], json!([0.1, 0.5, 0.9]));
    for (i, row) in server.predict("m", &rows).as_array().unwrap().iter().enumerate() {
        for (j, level) in ["0.1", "0.5", "0.9"].iter().enumerate() {
            assert_eq!(quantiles["data"][3 * i + j], row["quantiles"][level]);
        }
    }
}
