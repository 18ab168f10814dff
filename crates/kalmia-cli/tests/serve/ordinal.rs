//! Models of ordered levels, which are declared in their order.

use crate::harness::{Folder, Uniform, number};
use crate::server::Server;
use serde_json::{Value, json};

/// Rows whose rating rises with `x`.
fn ratings(rows: usize) -> Value {
    let mut uniform = Uniform(3);
    let row = |_| {
        let x = 4.0 * uniform.next() - 2.0;
        let chance = uniform.next();
        let latent = 1.5 * x + (chance / (1.0 - chance)).ln();
        let place = usize::from(latent > -1.0) + usize::from(latent > 1.0);
        let rating = ["poor", "fair", "good"][place];
        json!({"x": x, "rating": rating})
    };
    (0..rows).map(row).collect()
}

#[test]
fn declared_levels_are_learned_in_their_order() {
    let folder = Folder::new("serve-ordinal");
    let server = Server::start(&folder, "");
    let mut declaration = json!({"family": "ordinal", "target": "rating"});
    let error = server.put("/v1/models/m", &declaration).refused(400, "bad_request");
    assert!(error["message"].as_str().unwrap().contains("needs its levels"), "{error}");
    declaration["classes"] = json!(["poor", "fair", "good"]);
    declaration["drift"] = json!("detect");
    let error = server.put("/v1/models/m", &declaration).refused(400, "bad_request");
    assert!(error["message"].as_str().unwrap().contains("look for none"), "{error}");
    declaration["drift"] = json!("off");
    assert_eq!(server.put("/v1/models/m", &declaration).status, 201);
    server.learn("m", &ratings(2000));
    let predicted = server.predict("m", &json!([{"x": 2.0}, {"x": -2.0}]));
    let p = &predicted[0]["probabilities"];
    assert!(number(p, "good") > number(p, "fair") && number(p, "fair") > number(p, "poor"), "{p}");
    assert!(number(&predicted[1]["probabilities"], "poor") > 0.7, "{predicted}");
    let model = server.model("m");
    assert_eq!((&model["family"], &model["rows"]), (&"ordinal".into(), &2000.into()));
    let slope = &model["levels"]["coefficients"][0];
    let distance = (number(slope, "estimate") - 1.5).abs();
    assert!(distance < 4.0 * number(slope, "std_error"), "{slope}");
    let names: Vec<_> = model["levels"]["cutpoints"].as_array().unwrap().iter().collect();
    assert_eq!((&names[0]["name"], &names[1]["name"]), (&"poor|fair".into(), &"fair|good".into()));
    let wrong = json!([{"x": 1.0, "rating": "great"}]);
    let refused = server.post("/v1/models/m/learn", &wrong);
    assert_eq!(refused.status, 422, "{refused:?}");
    assert_eq!(server.model("m")["rows"], 2000);

    // columns may be declared too
    declaration["columns"] = json!({"x": "number"});
    assert_eq!(server.put("/v1/models/d", &declaration).status, 201);
    let before = server.predict("d", &json!([{"x": 0.0}]));
    let p = &before[0]["probabilities"];
    assert!((number(p, "poor") - number(p, "good")).abs() < 1e-9, "{before}");
}
