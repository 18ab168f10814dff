//! Mutated bodies, always the same ones: none may end a handler or change a model.

use crate::formats::{self, learned};
use crate::harness::{Folder, Uniform};
use crate::server::{
    Server, flights, flowers, minutes, species, times, to_bytes, unlabelled, with_model, without,
};
use serde_json::json;

/// Pieces that readers trip over.
const PIECES: [&[u8]; 20] = [
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\0",
    b"\xff",
    b"-",
    b"1e400",
    b"null",
    b"NaN",
    b"\\u0000",
    b"\"id\":",
    b"999999999999999999999",
    b"\xef\xbb\xbf",
    b"\"late\":",
    b"true",
];

/// A body with some bytes changed, moved, repeated or cut off.
fn mutate(body: &[u8], uniform: &mut Uniform) -> Vec<u8> {
    let mut bytes = body.to_vec();
    let mut below = |n: usize| (uniform.next() * n.max(1) as f64) as usize;
    for _ in 0..1 + below(4) {
        let at = below(bytes.len());
        match below(7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << below(8),
            1 if !bytes.is_empty() => bytes[at] = below(256) as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.splice(at..at, PIECES[below(PIECES.len())].iter().copied())),
            4 => {
                let end = bytes.len().min(at + below(40));
                let piece = bytes[at.min(end)..end].to_vec();
                let to = below(bytes.len());
                bytes.splice(to..to, piece);
            }
            5 => {
                let end = bytes.len().min(at + below(20));
                bytes.drain(at.min(end)..end);
            }
            _ if bytes.len() > 4 => {
                let at = at.min(bytes.len() - 4);
                bytes[at..at + 4].copy_from_slice(&(below(1 << 31) as u32).to_le_bytes());
            }
            _ => {}
        }
    }
    bytes
}

/// Requests that are taken, per route.
fn seeds() -> Vec<(&'static str, &'static str, &'static str, Vec<u8>)> {
    let rows = flights(2, 4);
    let mut asked = unlabelled(&rows);
    asked[0]["id"] = json!("a");
    asked[1]["id"] = json!("b");
    let mut seeds = Vec::new();
    for (kind, body) in formats::all(&rows) {
        seeds.push(("POST", "/v1/models/late/learn", kind, body));
    }
    for (kind, body) in formats::all(&rows) {
        seeds.push(("POST", "/v1/models/late/learn?predict=1", kind, body));
    }
    for (kind, body) in formats::all(&asked) {
        seeds.push(("POST", "/v1/models/late/predict", kind, body));
    }
    for (kind, body) in formats::all(&json!([{"id": "a", "y": 1}, {"id": "b", "y": 0}])) {
        // some of the bodies are taken, so there must be rows that wait
        seeds.push(("POST", "/v1/models/late/predict", "application/json", to_bytes(&asked)));
        seeds.push(("POST", "/v1/models/late/label", kind, body));
    }
    let json = "application/json";
    let choice = json!({"candidates": unlabelled(&rows), "id": "c"});
    seeds.push(("POST", "/v1/models/late/choose", json, to_bytes(&choice)));
    let column = |name: &str, datatype: &str| {
        let values: Vec<_> = rows.as_array().unwrap().iter().map(|row| row[name].clone()).collect();
        json!({"name": name, "shape": [4], "datatype": datatype, "data": values})
    };
    let tensors = [column("hour", "FP64"), column("carrier", "BYTES"), column("dist", "INT32")];
    seeds.push(("POST", "/v2/models/late/infer", json, to_bytes(&json!({"inputs": tensors}))));
    let declaration = json!({"family": "poisson", "target": "n", "columns": {"a": "number",
        "b": "category"}, "offset": "o", "weight": "w", "missing": "mean", "max_features": 9,
        "exclude": [], "parameters": {"prior": 2.0}, "method": "ekf"});
    seeds.push(("PUT", "/v1/models/new", json, to_bytes(&declaration)));
    seeds
}

#[test]
fn mutated_bodies_break_nothing() {
    let folder = Folder::new("serve-fuzz");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 60));
    let mut seeds = seeds();
    let octets = "application/octet-stream";
    seeds.push(("PUT", "/v1/models/new", octets, server.snapshot("late")));
    let mut uniform = Uniform(11);
    let mut refused = 0;
    let mut labelled = 0;
    let mut rows = 60;
    let mut before = learned(&server.snapshot("late"));
    for i in 0..4000 {
        let (method, path, kind, body) = &seeds[i % seeds.len()];
        // some as they are, so that there is something to break
        let body = if i % 10 == 0 { body.clone() } else { mutate(body, &mut uniform) };
        let answer = server.send(method, path, &[("content-type", kind)], &body);
        assert!(answer.status < 500, "{path} as {kind}: {answer}\n{body:?}");
        match answer.status {
            400.. => {
                refused += 1;
                let error = &answer.json()["error"];
                assert!(error["code"].is_string(), "{path} as {kind}: {answer}");
                // looking at every refusal would take the time of the whole test
                if i % 7 == 0 {
                    let now = learned(&server.snapshot("late"));
                    assert_eq!(now, before, "{path} as {kind}: {answer}\n{body:?}");
                }
            }
            _ if path.contains("learn") || path.contains("label") => {
                rows += answer.json()["rows"].as_u64().unwrap();
                labelled += usize::from(path.contains("label"));
                before = learned(&server.snapshot("late"));
            }
            201 => {
                let gone = server.send("DELETE", path, &[], b"");
                assert_eq!(gone.status, 204, "{gone}");
            }
            _ => {}
        }
    }
    assert!((1000..4000).contains(&refused), "{refused} of 4000 were refused");
    assert!(labelled > 0);
    assert_eq!(learned(&server.snapshot("late")), before);
    assert_eq!(server.model("late")["rows"], rows, "rows are learned once and never by a refusal");
    let log = server.log();
    assert!(!log.contains("panicked") && !log.contains("internal error"), "{log}");
    assert!(server.peak_memory() < 400 << 20, "{} MB", server.peak_memory() >> 20);
    // what is in the log can be learned again
    let bytes = server.snapshot("late");
    server.kill();
    let server = Server::start(&folder, "");
    assert_eq!(server.snapshot("late"), bytes);
}

/// Requests that a model of several classes or quantiles takes.
fn several_seeds(
    model: &'static str,
    target: &'static str,
    rows: &serde_json::Value,
) -> Vec<(String, &'static str, Vec<u8>)> {
    let mut asked = without(rows, target);
    asked[0]["id"] = json!("a");
    asked[1]["id"] = json!("b");
    let labels = json!([{"id": "a", "y": rows[0][target]}, {"id": "b", "y": rows[1][target]}]);
    let path = |route: &str| format!("/v1/models/{model}/{route}");
    let mut seeds = Vec::new();
    for (route, body) in [("learn", rows), ("learn?predict=1", rows), ("predict", &asked)] {
        seeds.extend(formats::all(body).map(|(kind, body)| (path(route), kind, body)));
    }
    for (kind, body) in formats::all(&labels) {
        seeds.push((path("predict"), "application/json", to_bytes(&asked)));
        seeds.push((path("label"), kind, body));
    }
    let choice = json!({"candidates": without(rows, target)});
    seeds.push((path("choose"), "application/json", to_bytes(&choice)));
    seeds
}

#[test]
fn mutated_bodies_break_no_model_of_several_classes_or_quantiles() {
    let folder = Folder::new("serve-fuzz-several");
    let server = Server::start(&folder, "");
    server.put("/v1/models/species", &species()).ok();
    server.put("/v1/models/minutes", &minutes()).ok();
    server.learn("species", &flowers(1, 60));
    server.learn("minutes", &times(1, 60));
    let mut seeds = several_seeds("species", "species", &flowers(2, 4));
    seeds.extend(several_seeds("minutes", "minutes", &times(2, 4)));
    let declaration = json!({"family": "categorical", "target": "n", "columns": {"a": "number"},
        "classes": ["x", "y"], "missing": "mean", "weight": "w"});
    let files = ["species", "minutes"].map(|model| server.snapshot(model));
    let mut uniform = Uniform(17);
    let mut refused = 0;
    let mut rows = 120;
    for i in 0..2500 {
        let new = "/v1/models/new";
        let (method, path, kind, body) = match i % 25 {
            0 => ("PUT", new, "application/json", to_bytes(&declaration)),
            1 | 2 => ("PUT", new, "application/octet-stream", files[i % 25 - 1].clone()),
            _ => {
                let (path, kind, body) = &seeds[i % seeds.len()];
                ("POST", path.as_str(), *kind, body.clone())
            }
        };
        let body = if i % 10 == 0 { body } else { mutate(&body, &mut uniform) };
        let answer = server.send(method, path, &[("content-type", kind)], &body);
        assert!(answer.status < 500, "{path} as {kind}: {answer}\n{body:?}");
        match answer.status {
            400.. => {
                refused += 1;
                assert!(answer.json()["error"]["code"].is_string(), "{path} as {kind}: {answer}");
            }
            201 => assert_eq!(server.send("DELETE", path, &[], b"").status, 204),
            _ if path.contains("learn") || path.contains("label") => {
                rows += answer.json()["rows"].as_u64().unwrap();
            }
            _ => {}
        }
    }
    assert!((600..2500).contains(&refused), "{refused} of 2500 were refused");
    let learned_rows = |model: &str| server.model(model)["rows"].as_u64().unwrap();
    assert_eq!(learned_rows("species") + learned_rows("minutes"), rows);
    let log = server.log();
    assert!(!log.contains("panicked") && !log.contains("internal error"), "{log}");
    // what is in the log can be learned again
    let bytes = ["species", "minutes"].map(|model| server.snapshot(model));
    server.kill();
    let server = Server::start(&folder, "");
    assert_eq!(["species", "minutes"].map(|model| server.snapshot(model)), bytes);
}
