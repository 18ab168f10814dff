//! What a client may ask for, and what an operator cannot start.

use crate::formats;
use crate::harness::Folder;
use crate::server::{Server, flights, late, unlabelled, with_model};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

const LEARN: &str = "/v1/models/late/learn";

/// A request with a body in chunks, of which the service learns no length beforehand.
fn chunked(path: &str, parts: &[&[u8]]) -> Vec<u8> {
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    for part in parts {
        request.extend(format!("{:x}\r\n", part.len()).into_bytes());
        request.extend_from_slice(part);
        request.extend(b"\r\n");
    }
    request.extend(b"0\r\n\r\n");
    request
}

#[test]
fn large_bodies_are_refused_with_and_without_their_length() {
    let folder = Folder::new("serve-max-body");
    let server = with_model(&folder, "--max-body 1");
    server.learn("late", &flights(1, 10));
    // refused by its length, before any of it is sent
    let head =
        format!("POST {LEARN} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1048577\r\n\r\n");
    let answer = server.raw(head.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("--max-body"), "{answer}");
    let answer = server.raw(&chunked(LEARN, &[&[b' '; 700_000][..], &[b' '; 700_000][..]]));
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("too_large"), "{answer}");
    let rows = flights(2, 3).to_string();
    let (a, b) = rows.as_bytes().split_at(30);
    let answer = server.raw(&chunked(LEARN, &[a, b]));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"rows\":3"), "{answer}");
    // a body that ends too early
    let head =
        format!("POST {LEARN} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n[{{");
    let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    drop(stream);
    assert_eq!(server.learn("late", &flights(3, 1))["sequence"], 3);
}

#[test]
fn an_answer_says_if_it_ends_the_connection() {
    let folder = Folder::new("serve-close");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 10));
    let closed = |path: &str, body: &str| {
        let answer = server.post_as(path, "application/json", body.as_bytes());
        answer.header("connection") == Some("close")
    };
    let row = unlabelled(&flights(2, 1)).to_string();
    // refused before the body was read
    assert!(closed("/v1/models/none/predict", &row));
    assert!(closed("/v1/models/late/predict?level=x", &row));
    assert!(closed("/v1/models/late", &row), "a method that is not allowed");
    // read to its end
    assert!(!closed("/v1/models/late/predict", &row));
    assert!(!closed("/v1/models/late/learn", "[{"));
    assert!(!closed("/v1/models/none/predict", ""));
}

#[test]
fn rows_and_columns_are_limited_in_every_format() {
    let folder = Folder::new("serve-max-rows");
    let server = with_model(&folder, "--max-rows 10 --max-columns 5");
    server.put("/v1/models/first", &late()).ok();
    let too_many = flights(1, 11);
    let mut wide = flights(1, 2);
    for row in wide.as_array_mut().unwrap() {
        for name in ["e1", "e2"] {
            row[name] = json!(1);
        }
    }
    let limits = |model: &str| {
        for (kind, body) in formats::all(&too_many) {
            let answer = server.post_as(&format!("/v1/models/{model}/learn"), kind, &body);
            answer.refused(413, "too_large");
        }
        for (kind, body) in formats::all(&wide) {
            let answer = server.post_as(&format!("/v1/models/{model}/learn"), kind, &body);
            if model == "late" && kind.contains("json") {
                // objects of a model that knows its columns: others are not read
                assert_eq!(answer.ok()["ignored"], json!(["e1", "e2"]));
            } else {
                answer.refused(400, "bad_request");
            }
        }
    };
    limits("first");
    assert_eq!(server.model("first")["state"], "empty");
    server.learn("late", &flights(1, 10));
    limits("late");
    for (kind, body) in formats::all(&unlabelled(&too_many)) {
        server.post_as("/v1/models/late/predict", kind, &body).refused(413, "too_large");
    }
    assert_eq!(server.model("late")["rows"], 14);
}

#[test]
fn models_are_limited_in_number_and_memory() {
    let folder = Folder::new("serve-max-models");
    let server = Server::start(&folder, "--max-models 3 --max-memory 1");
    for name in ["a", "b", "c"] {
        assert_eq!(server.put(&format!("/v1/models/{name}"), &late()).status, 201);
    }
    assert_eq!(server.put("/v1/models/a", &late()).status, 200, "it is there already");
    let error = server.put("/v1/models/d", &late()).refused(422, "limit");
    assert!(error["hint"].as_str().unwrap().contains("--max-models"), "{error}");
    assert_eq!(server.send("DELETE", "/v1/models/a", &[], b"").status, 204);
    // 12 matrices of 301^2 numbers are 9 MB
    let columns: serde_json::Map<_, _> =
        (0..300).map(|j| (format!("c{j}"), json!("number"))).collect();
    let large = json!({"family": "bernoulli", "target": "late", "columns": columns});
    let error = server.put("/v1/models/d", &large).refused(422, "limit");
    assert!(error["hint"].as_str().unwrap().contains("--max-memory"), "{error}");
    server.get("/v1/models/d").refused(404, "unknown_model");
    // also if the first rows bring the columns
    let mut row: serde_json::Map<_, _> = (0..300).map(|j| (format!("c{j}"), json!(j))).collect();
    row.insert("late".into(), json!(1));
    let error = server.post("/v1/models/b/learn", &Value::Object(row)).refused(422, "limit");
    assert!(error["hint"].as_str().unwrap().contains("--max-memory"), "{error}");
    assert_eq!(server.model("b")["state"], "empty");
    server.learn("b", &flights(1, 10));
}

#[test]
fn a_full_queue_refuses_and_nothing_is_lost_on_retry() {
    let folder = Folder::new("serve-max-queue");
    let server = with_model(&folder, "--max-queue 1");
    server.learn("late", &flights(1, 10));
    let refused = AtomicUsize::new(0);
    let until_learned = |path: &str, key: &str, rows: &Value| loop {
        let answer = server.post_key(path, key, rows);
        if answer.status == 200 {
            return answer.json();
        }
        answer.refused(429, "queue_full");
        assert_eq!(answer.header("retry-after"), Some("1"));
        refused.fetch_add(1, Ordering::Relaxed);
    };
    let slow = flights(2, 5000);
    std::thread::scope(|scope| {
        scope.spawn(|| until_learned(&format!("{LEARN}?predict=1"), "slow", &slow));
        for thread in 0..16 {
            let until_learned = &until_learned;
            scope.spawn(move || {
                for i in 0..10 {
                    let rows = flights(thread * 100 + i, 1);
                    until_learned(LEARN, &format!("{thread}-{i}"), &rows);
                }
            });
        }
    });
    let model = server.model("late");
    assert_eq!((&model["rows"], &model["sequence"]), (&json!(5170), &json!(162)));
    assert!(refused.load(Ordering::Relaxed) > 0);
    // a refusal for lack of room is no error of the model
    assert_eq!(model["errors"], json!([]));
    let bytes = server.snapshot("late");
    server.kill();
    assert_eq!(Server::start(&folder, "").snapshot("late"), bytes);
}

#[test]
fn a_folder_and_a_port_belong_to_one_service() {
    let folder = Folder::new("serve-twice");
    let server = with_model(&folder, "");
    let run = folder.run("serve --data data --listen 127.0.0.1:0");
    run.fails(1, &["another kalmia serves data", "--data"]);
    let run = folder.run(&format!("serve --data other --listen {}", server.address));
    run.fails(1, &["cannot listen on", &server.address, "--listen"]);
    server.learn("late", &flights(1, 10));
    folder.write("file", "");
    folder.run("serve --data file --listen 127.0.0.1:0").fails(1, &["cannot use file"]);
    folder.run("serve --data data --max-rows 0").fails(2, &["--max-rows"]);
    folder.run("serve").fails(2, &["--data"]);
    // the folder is free after a kill
    server.kill();
    assert_eq!(Server::start(&folder, "").model("late")["rows"], 10);
}

#[test]
fn addresses_that_are_none_are_errors_like_all() {
    let folder = Folder::new("serve-addresses");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 10));
    let row = unlabelled(&flights(2, 1));
    for query in ["level=x", "level=0", "level=1", "level=-1", "interval=all", "colour=red"] {
        let path = format!("/v1/models/late/predict?{query}");
        server.post(&path, &row).refused(400, "bad_request");
    }
    let error = server.post("/v1/models/late/predict?colour=red", &row).refused(400, "bad_request");
    assert!(error["message"].as_str().unwrap().contains("`colour`"), "{error}");
    server.post(&format!("{LEARN}?predict=yes"), &row).refused(400, "bad_request");
    server.get("/v1/models/%ff").refused(400, "bad_request");
    server.get("/v1/nothing").refused(404, "unknown_route");
    server.post("/v1/models", &json!({})).refused(405, "method_not_allowed");
    let level = |query: &str| {
        let path = format!("/v1/models/late/predict?{query}");
        server.post(&path, &row).ok()["predictions"][0].clone()
    };
    let [narrow, usual] = ["level=0.5&interval=mean", ""].map(level);
    assert!(narrow["lower"].as_f64() > usual["lower"].as_f64());
    assert!(level("interval=none")["lower"].is_null());
}
