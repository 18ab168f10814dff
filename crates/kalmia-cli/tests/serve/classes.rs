//! Models of several classes: names, new classes in the stream, tables of which class was taken for
//! which, and tensors.

use crate::harness::{Folder, number};
use crate::inference::tensor;
use crate::server::{Server, flowers, species, without};
use serde_json::{Value, json};

fn with_species(folder: &Folder) -> Server {
    let server = Server::start(folder, "");
    assert_eq!(server.put("/v1/models/m", &species()).status, 201);
    server
}

/// The declaration with columns, and these classes.
fn declared(classes: &[&str]) -> Value {
    let mut declaration = species();
    declaration["columns"] = json!({"petal": "number", "sepal": "number", "place": "category"});
    declaration["classes"] = json!(classes);
    declaration
}

fn names(prediction: &Value) -> Vec<&str> {
    prediction["probabilities"].as_object().unwrap().keys().map(String::as_str).collect()
}

fn sum(prediction: &Value) -> f64 {
    let probabilities = prediction["probabilities"].as_object().unwrap();
    probabilities.values().map(|p| p.as_f64().unwrap()).sum()
}

#[test]
fn a_prediction_has_a_probability_per_class_and_the_likeliest() {
    let folder = Folder::new("serve-classes");
    let server = with_species(&folder);
    server.learn("m", &flowers(1, 400));
    let rows = without(&flowers(2, 50), "species");
    let mut right = 0;
    let truth = flowers(2, 50);
    for (i, prediction) in server.predict("m", &rows).as_array().unwrap().iter().enumerate() {
        assert_eq!(names(prediction), ["setosa", "versicolor", "virginica"]);
        assert!((sum(prediction) - 1.0).abs() < 1e-12, "{prediction}");
        let largest = prediction["probabilities"].as_object().unwrap().iter();
        let largest =
            largest.max_by(|a, b| a.1.as_f64().unwrap().total_cmp(&b.1.as_f64().unwrap()));
        assert_eq!(prediction["predicted"].as_str(), Some(largest.unwrap().0.as_str()));
        right += usize::from(prediction["predicted"] == truth[i]["species"]);
    }
    assert!(right > 35, "{right} of 50");
    // a row that is left out for a missing value has no prediction
    let mut skip = declared(&["setosa", "virginica"]);
    skip["missing"] = json!("skip");
    server.put("/v1/models/skip", &skip).ok();
    let mut some = rows.as_array().unwrap()[..2].to_vec();
    some[0]["petal"] = Value::Null;
    let predictions = server.predict("skip", &json!(some));
    assert!(predictions[0].is_null() && predictions[1].is_object(), "{predictions}");
}

#[test]
fn declared_classes_are_known_before_any_row() {
    let folder = Folder::new("serve-classes-declared");
    let server = Server::start(&folder, "");
    server.put("/v1/models/known", &declared(&["b", "a", "10", "9"])).ok();
    let row = json!({"petal": 1.5, "sepal": 5, "place": "east"});
    let prediction = server.predict("known", &row)[0].clone();
    assert_eq!(prediction["probabilities"], json!({"9": 0.25, "10": 0.25, "a": 0.25, "b": 0.25}));
    // without classes there is nothing to give a probability to
    server.put("/v1/models/unknown", &declared(&[])).ok();
    let path = "/v1/models/unknown/predict";
    let error = server.post(path, &row).refused(409, "model_empty");
    assert!(error["hint"].as_str().unwrap().contains("\"classes\""), "{error}");
    let path = "/v1/models/unknown/learn?predict=1";
    let answer = server.post(path, &flowers(1, 1)).ok();
    assert_eq!((&answer["rows"], &answer["predictions"]), (&json!(1), &json!([null])));
    assert_eq!(sum(&server.predict("unknown", &row)[0]), 1.0);
    server.learn("unknown", &flowers(1, 100));
    assert_eq!(names(&server.predict("unknown", &row)[0]).len(), 3);
    for wrong in [
        json!({"family": "categorical", "target": "y", "classes": ["a"]}),
        json!({"family": "categorical", "target": "y", "positive": "a"}),
        json!({"family": "categorical", "target": "y", "offset": "o"}),
        json!({"family": "gaussian", "target": "y", "columns": {"x": "number"}, "classes": ["a"]}),
        declared(&["a", "a"]),
        declared(&["1", "1.0"]),
        declared(&["a", ""]),
    ] {
        server.put("/v1/models/wrong", &wrong).refused(400, "bad_request");
    }
    let bytes = server.snapshot("unknown");
    server.kill();
    assert_eq!(Server::start(&folder, "").snapshot("unknown"), bytes);
}

#[test]
fn a_new_class_is_added_at_its_first_row_and_a_refused_one_leaves_no_trace() {
    let folder = Folder::new("serve-classes-new");
    let server = with_species(&folder);
    server.learn("m", &flowers(1, 200));
    let before = server.snapshot("m");
    let rare = json!({"petal": 9.5, "sepal": 9.9, "place": "north", "species": "lutea"});
    let wrong = json!({"petal": 1e300, "sepal": 1, "place": "east", "species": "setosa"});
    let refused = server.post("/v1/models/m/learn", &json!([rare, wrong]));
    assert_eq!(refused.refused(422, "refused")["row"], 2);
    let row = without(&json!([rare]), "species");
    assert_eq!(names(&server.predict("m", &row)[0]).len(), 3);
    let model = server.model("m");
    assert_eq!(model["classes"], json!(["setosa", "versicolor", "virginica"]));
    // but for the number of entries the file is as it was
    assert_eq!(crate::formats::learned(&server.snapshot("m")), crate::formats::learned(&before));
    // asked before the class is known, labelled after: learned, but not scored as served
    let mut asked = row[0].clone();
    asked["id"] = json!("early");
    server.predict("m", &asked);
    server.learn("m", &json!([rare, rare, rare]));
    assert_eq!(server.model("m")["classes"][0], "lutea");
    let answer = server.post("/v1/models/m/label", &json!({"id": "early", "y": "lutea"})).ok();
    assert_eq!((&answer["rows"], answer.get("served")), (&json!(1), None));
    let prediction = server.predict("m", &row)[0].clone();
    assert_eq!(names(&prediction), ["lutea", "setosa", "versicolor", "virginica"]);
    assert_eq!(prediction["predicted"], "lutea", "{prediction}");
    let bytes = server.snapshot("m");
    server.kill();
    let server = Server::start(&folder, "");
    assert_eq!(server.snapshot("m"), bytes);
    assert_eq!(server.predict("m", &row)[0], prediction);
}

#[test]
fn numbers_are_classes_if_they_are_declared_and_family_auto_finds_texts() {
    let folder = Folder::new("serve-classes-codes");
    let server = Server::start(&folder, "");
    server.put("/v1/models/codes", &json!({"family": "categorical", "target": "code"})).ok();
    let codes = [10, 9, 200];
    let row = |i: usize| json!({"x": i % 3, "code": codes[i % 3]});
    server.learn("codes", &Value::Array((0..90).map(row).collect()));
    let prediction = server.predict("codes", &json!({"x": 1}))[0].clone();
    assert_eq!((names(&prediction).len(), &prediction["predicted"]), (3, &json!("9")));
    // people expect numbers by size
    let answer = server.post("/v1/models/codes/predict", &json!({"x": 1}));
    let text = String::from_utf8(answer.bytes).unwrap();
    let places = ["\"9\":", "\"10\":", "\"200\":"].map(|name| text.find(name).unwrap());
    assert!(places.is_sorted(), "{text}");
    server.put("/v1/models/auto", &json!({"family": "auto", "target": "species"})).ok();
    server.learn("auto", &flowers(1, 60));
    let model = server.model("auto");
    assert_eq!((&model["family"], &model["rows"]), (&json!("categorical"), &json!(60)));
    // a target of two labels that gets a third one says which family takes it
    server.put("/v1/models/two", &json!({"family": "bernoulli", "target": "species"})).ok();
    let error = server.post("/v1/models/two/learn", &flowers(1, 60));
    let error = error.json()["error"].clone();
    assert!(error["hint"].as_str().unwrap().contains("categorical"), "{error}");
}

#[test]
fn the_model_is_shown_with_its_classes() {
    let folder = Folder::new("serve-classes-shown");
    let server = with_species(&folder);
    server.learn("m", &flowers(1, 500));
    let model = server.model("m");
    assert_eq!(model["reference"], "setosa");
    let coefficients = model["coefficients"].as_array().unwrap();
    let classes: Vec<_> = coefficients.iter().map(|one| one["class"].as_str().unwrap()).collect();
    assert_eq!(classes, ["versicolor", "virginica"]);
    assert_eq!(coefficients[0]["coefficients"].as_array().unwrap().len(), 4);
    let rows = |name: &str| {
        flowers(1, 500).as_array().unwrap().iter().filter(|row| row["species"] == name).count()
            as f64
    };
    let confusion = model["confusion"].as_array().unwrap();
    let cell = |i: usize, j: usize| confusion[i][j].as_f64().unwrap();
    for (i, name) in ["setosa", "versicolor", "virginica"].iter().enumerate() {
        assert_eq!((0..3).map(|j| cell(i, j)).sum::<f64>(), rows(name), "{name}");
    }
    let right = (0..3).map(|i| cell(i, i)).sum::<f64>() / 500.0;
    assert!((number(&model, "progressive.accuracy") - right).abs() < 1e-12);
    let calibration = model["calibration"].as_array().unwrap();
    let counted: u64 = calibration.iter().map(|bin| bin["rows"].as_u64().unwrap()).sum();
    assert_eq!(counted, 500);
    // many classes: no table of all pairs, and not every coefficient in every event
    server.put("/v1/models/many", &json!({"family": "categorical", "target": "y"})).ok();
    let row = |i: u64| json!({"x": i % 7, "y": format!("c{:02}", i % 30)});
    server.learn("many", &Value::Array((0..60).map(row).collect()));
    let many = server.model("many");
    assert_eq!(many["classes"].as_array().unwrap().len(), 30);
    assert_eq!(many["coefficients"].as_array().unwrap().len(), 20);
    assert!(many.get("confusion").is_none());
}

#[test]
fn more_than_a_thousand_classes_are_refused_with_the_row() {
    let folder = Folder::new("serve-classes-many");
    let server = Server::start(&folder, "");
    let declaration = json!({"family": "categorical", "target": "y", "columns": {}});
    server.put("/v1/models/m", &declaration).ok();
    let rows = |classes: u64| -> Value { (0..classes).map(|i| json!({"y": i})).collect() };
    let error = server.post("/v1/models/m/learn", &rows(1001)).refused(422, "bad_row");
    assert_eq!((&error["row"], &error["column"]), (&json!(1001), &json!("y")));
    assert_eq!(server.model("m")["rows"], 0);
    assert_eq!(server.learn("m", &rows(40))["rows"], 40);
}

#[test]
fn the_tensors_are_the_probabilities_of_v1() {
    let folder = Folder::new("serve-classes-v2");
    let server = with_species(&folder);
    server.learn("m", &flowers(1, 200));
    let about = server.get("/v2/models/m").ok();
    let outputs = about["outputs"].as_array().unwrap().iter();
    let outputs: Vec<_> = outputs.map(|output| json!([output["name"], output["shape"]])).collect();
    let expected =
        [json!(["probabilities", [-1, 3]]), json!(["predicted", [-1]]), json!(["classes", [3]])];
    assert_eq!(outputs, expected);
    let rows = without(&flowers(2, 6), "species");
    let kinds = [("petal", "FP64"), ("sepal", "FP64"), ("place", "BYTES")];
    let inputs = kinds.map(|(name, datatype)| tensor(&rows, name, datatype));
    let answer = server.post("/v2/models/m/infer", &json!({"inputs": inputs})).ok();
    let [probabilities, predicted, classes] = [0, 1, 2].map(|i| answer["outputs"][i].clone());
    assert_eq!(probabilities["shape"], json!([6, 3]));
    assert_eq!(classes["data"], json!(["setosa", "versicolor", "virginica"]));
    for (i, row) in server.predict("m", &rows).as_array().unwrap().iter().enumerate() {
        assert_eq!(predicted["data"][i], row["predicted"]);
        for (j, name) in ["setosa", "versicolor", "virginica"].iter().enumerate() {
            assert_eq!(probabilities["data"][3 * i + j], row["probabilities"][name]);
        }
    }
}
