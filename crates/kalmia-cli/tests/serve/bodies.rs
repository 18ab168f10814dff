//! Bodies: every format gives the same model, and what cannot be read is refused with its place.

use crate::formats;
use crate::harness::Folder;
use crate::server::{Server, flights, late, unlabelled, with_model};
use serde_json::{Value, json};

const LEARN: &str = "/v1/models/late/learn";

#[test]
fn the_same_rows_in_every_format_give_the_same_bytes() {
    let folder = Folder::new("serve-formats");
    let server = Server::start(&folder, "");
    let first = flights(1, 150);
    let second = flights(2, 40);
    let pretty = |rows: &Value| serde_json::to_vec_pretty(rows).unwrap();
    let mut files = Vec::new();
    for i in 0..6 {
        let name = format!("m{i}");
        server.put(&format!("/v1/models/{name}"), &late()).ok();
        for rows in [&first, &second] {
            let (kind, bytes) = match i {
                4 => ("application/json; charset=utf-8", pretty(rows)),
                5 => ("application/x-www-form-urlencoded", pretty(rows)),
                _ => formats::all(rows)[i].clone(),
            };
            let answer = server.post_as(&format!("/v1/models/{name}/learn"), kind, &bytes).ok();
            let rows = rows.as_array().unwrap().len();
            assert_eq!((&answer["rows"], answer.get("ignored")), (&json!(rows), None), "{kind}");
        }
        files.push(server.snapshot(&name));
    }
    for (i, file) in files.iter().enumerate() {
        assert_eq!(*file, files[0], "format {i}");
    }
    // predictions too
    let rows = unlabelled(&flights(3, 10));
    let expected = server.predict("m0", &rows);
    for (kind, bytes) in formats::all(&rows) {
        let answer = server.post_as("/v1/models/m0/predict", kind, &bytes).ok();
        assert_eq!(answer["predictions"], expected, "{kind}");
    }
}

#[test]
fn one_object_is_one_row() {
    let folder = Folder::new("serve-object");
    let server = with_model(&folder, "");
    server.put("/v1/models/other", &late()).ok();
    let rows = flights(1, 3);
    for row in rows.as_array().unwrap() {
        assert_eq!(server.learn("late", row)["rows"], 1);
        server.learn("other", &json!([row]));
    }
    assert_eq!(server.snapshot("late"), server.snapshot("other"));
    let pretty = serde_json::to_vec_pretty(&rows[0]).unwrap();
    // without a content type, as HTTP libraries may send it
    assert_eq!(server.send("POST", LEARN, &[], &pretty).ok()["rows"], 1);
}

#[test]
fn other_content_types_are_refused() {
    let folder = Folder::new("serve-types");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 3));
    for kind in
        ["text/html", "application/xml", "multipart/form-data; boundary=x", "json", "\u{ff}"]
    {
        for path in ["learn", "predict", "label"] {
            let path = format!("/v1/models/late/{path}");
            let error = server.post_as(&path, kind, b"[]").refused(415, "unsupported_type");
            assert!(error["hint"].as_str().unwrap().contains("text/csv"), "{error}");
        }
    }
}

#[test]
fn members_that_are_no_columns_are_listed() {
    let folder = Folder::new("serve-ignored");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 3));
    let mut rows = flights(2, 3);
    rows[0]["colour"] = json!("red");
    rows[2]["aha"] = json!(1);
    let answer = server.learn("late", &rows);
    let mut ignored: Vec<_> =
        answer["ignored"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    ignored.sort_unstable();
    assert_eq!(ignored, ["aha", "colour"]);
}

#[test]
fn an_error_names_the_row_and_the_column_in_every_format() {
    let folder = Folder::new("serve-places");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 30));
    let bytes = server.snapshot("late");
    let mut text = flights(2, 5);
    text[3]["hour"] = json!("late");
    // Arrow has one type per column, so all of them are texts there
    let mut gap = flights(2, 5);
    gap[3]["hour"] = Value::Null;
    let mut target = flights(2, 5);
    target[3]["late"] = json!(9);
    for (rows, code, column) in
        [(&text, "bad_row", "hour"), (&gap, "missing_value", "hour"), (&target, "refused", "late")]
    {
        for (kind, body) in formats::all(rows) {
            let error = server.post_as(LEARN, kind, &body).refused(422, code);
            let row = if kind.contains("arrow") && code == "bad_row" { 1 } else { 4 };
            assert_eq!(error["column"], column, "{kind}: {error}");
            assert!(error["row"] == 4 || error["row"] == row, "{kind}: {error}");
        }
    }
    for (kind, body) in formats::all(&json!([{"hour": 1, "dist": 2, "late": 1}])) {
        let answer = server.post_as(LEARN, kind, &body);
        let error = answer.json()["error"].clone();
        assert_eq!((answer.status, &error["column"]), (422, &json!("carrier")), "{kind}: {error}");
    }
    let file = server.snapshot("late");
    assert_eq!(formats::learned(&file), formats::learned(&bytes));
}

/// An Arrow stream whose length fields claim far more than there is.
fn bloated_arrow() -> Vec<u8> {
    let mut bytes = formats::arrow(&flights(1, 3));
    bytes[4..8].copy_from_slice(&i32::MAX.to_le_bytes());
    bytes
}

#[test]
fn malformed_bodies_are_refused_within_bounded_memory() {
    let folder = Folder::new("serve-malformed");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 30));
    let before = server.snapshot("late");
    let deep = |open: &str, n: usize| open.repeat(n).into_bytes();
    let many: String = (0..1_000_000).map(|i| format!("\"c{i}\":1,")).collect();
    let header: String = (0..1_000_000).map(|i| format!("c{i},")).collect();
    let stream = formats::arrow(&flights(1, 3));
    let json = "application/json";
    let lines = "application/x-ndjson";
    let arrow = "application/vnd.apache.arrow.stream";
    let cases: Vec<(&str, Vec<u8>)> = vec![
        (json, b"".into()),
        (json, b"[".into()),
        (json, b"[{\"hour\": 1".into()),
        (json, b"[{\"hour\": 1}".into()),
        (json, b"[1, 2]".into()),
        (json, b"[[]]".into()),
        (json, b"null".into()),
        (json, b"[{}]".into()),
        (json, b"[{\"hour\": {\"a\": 1}, \"dist\": 1, \"carrier\": \"AA\", \"late\": 1}]".into()),
        (json, b"[{\"hour\": 1e999, \"dist\": 1, \"carrier\": \"AA\", \"late\": 1}]".into()),
        (json, b"[{\"hour\": NaN, \"dist\": 1, \"carrier\": \"AA\", \"late\": 1}]".into()),
        (json, format!("[{{\"hour\": {}}}]", "9".repeat(100_000)).into()),
        (json, b"[{\"hour\": \"\xff\xfe\", \"dist\": 1, \"carrier\": \"AA\", \"late\": 1}]".into()),
        (json, b"[{\"hour\": 1, \"dist\": 1, \"carrier\": \"\xff\", \"late\": 1}]".into()),
        (json, vec![0; 10_000]),
        (json, deep("[", 1_000_000)),
        (json, deep("[{\"a\":", 1_000_000)),
        (json, format!("[{{{many}\"late\": 1}}]").into()),
        (lines, deep("{\"a\":", 1_000_000)),
        (lines, vec![0; 10_000]),
        (lines, b"{\"hour\": 1}\n{".into()),
        ("text/csv", vec![0; 10_000]),
        ("text/csv", b"hour,dist,carrier,late\n1,2,\xff\xff,1\n".into()),
        ("text/csv", b"hour,dist,carrier,late\n1,2,\"AA,1\n".into()),
        ("text/csv", b"hour,hour,carrier,late\n1,2,AA,1\n".into()),
        ("text/csv", format!("{header}late\n1\n").into()),
        ("text/csv", b"\"".into()),
        ("text/csv", b"hour,dist,carrier,late\n".into()),
        (arrow, b"".into()),
        (arrow, b"ARROW1".into()),
        (arrow, vec![0xff; 10_000]),
        (arrow, stream[..stream.len() / 2].into()),
        (arrow, stream[8..].into()),
        (arrow, bloated_arrow()),
    ];
    for (i, (kind, body)) in cases.iter().enumerate() {
        for path in ["learn", "predict", "label"] {
            let answer = server.post_as(&format!("/v1/models/late/{path}"), kind, body);
            if path == "predict" && body.ends_with(b"\xff\xff,1\n") {
                // an unknown level of a category, whatever its bytes are
                assert_eq!(answer.status, 200, "{answer}");
                continue;
            }
            assert!((400..500).contains(&answer.status), "case {i} as {kind} to {path}: {answer}");
            let error = &answer.json()["error"];
            assert!(error["code"].is_string() && error["message"].is_string(), "{answer}");
        }
    }
    let after = server.snapshot("late");
    assert_eq!(formats::learned(&after), formats::learned(&before));
    server.get("/healthz").ok();
    let log = server.log();
    assert!(!log.contains("panicked") && !log.contains("internal"), "{log}");
    // the largest body has 13 MB
    assert!(server.peak_memory() < 400 << 20, "{} MB", server.peak_memory() >> 20);
}
