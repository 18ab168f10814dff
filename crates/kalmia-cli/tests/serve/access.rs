//! Who may do what, and what nobody gets to see.

use crate::formats;
use crate::harness::{Folder, repository};
use crate::server::{Answer, Server, flights, late, to_bytes, unlabelled};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// Every route with the weakest role that may use it.
const ROUTES: [(&str, &str, Option<usize>); 23] = [
    ("GET", "/", None),
    ("GET", "/healthz", None),
    ("GET", "/readyz", None),
    ("GET", "/version", None),
    ("GET", "/openapi.json", None),
    ("GET", "/v2/health/live", None),
    ("GET", "/v2/health/ready", None),
    ("GET", "/metrics", Some(READ)),
    ("GET", "/v1/models", Some(READ)),
    ("GET", "/v1/models/{model}", Some(READ)),
    ("PUT", "/v1/models/{model}", Some(ADMIN)),
    ("DELETE", "/v1/models/{model}", Some(ADMIN)),
    ("POST", "/v1/models/{model}/learn", Some(LEARN)),
    ("POST", "/v1/models/{model}/predict", Some(READ)),
    ("POST", "/v1/models/{model}/label", Some(LEARN)),
    ("POST", "/v1/models/{model}/choose", Some(LEARN)),
    ("GET", "/v1/models/{model}/snapshot", Some(READ)),
    ("GET", "/v1/models/{model}/events", Some(READ)),
    ("POST", "/v1/admin/tokens/reload", Some(ADMIN)),
    ("GET", "/v2", Some(READ)),
    ("GET", "/v2/models/{model}", Some(READ)),
    ("GET", "/v2/models/{model}/ready", Some(READ)),
    ("POST", "/v2/models/{model}/infer", Some(READ)),
];

const READ: usize = 0;
const LEARN: usize = 1;
const ADMIN: usize = 2;

/// Tokens of the three roles, and the lines of their file.
fn tokens(folder: &Folder) -> ([String; 3], [String; 3]) {
    let made = ["read", "learn", "admin"].map(|role| {
        let text = folder.ok(&format!("serve --print-token {role}"));
        let word = |prefix: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(prefix)).unwrap();
            line.trim().to_owned()
        };
        let [token, line] = ["token:", "line of a token file:"].map(word);
        assert!(line.starts_with(role) && !line.contains(&token), "{text}");
        (token, line)
    });
    (made.each_ref().map(|made| made.0.clone()), made.map(|made| made.1))
}

/// A service with three tokens and the model `late`.
fn guarded(folder: &Folder) -> (Server, [String; 3]) {
    let (tokens, lines) = tokens(folder);
    folder.write("tokens", lines.join("\n"));
    let server = Server::start(folder, "--token-file tokens");
    call(&server, &tokens[ADMIN], "PUT", "/v1/models/late", &late()).ok();
    call(&server, &tokens[LEARN], "POST", "/v1/models/late/learn", &flights(1, 30)).ok();
    (server, tokens)
}

/// Sends JSON with a token.
fn call(server: &Server, token: &str, method: &str, path: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    server.send(method, path, &headers, &to_bytes(body))
}

/// The status alone, also of answers that never end.
fn status(server: &Server, method: &str, path: &str, header: &str) -> u16 {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let request =
        format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n{header}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.split(' ').nth(1).unwrap_or_else(|| panic!("{path}: {line}")).parse().unwrap()
}

#[test]
fn every_role_on_every_route() {
    let folder = Folder::new("serve-roles");
    let (server, tokens) = guarded(&folder);
    let wrong = tokens[ADMIN].replace("kalmia_", "kalmia_0");
    for (method, path, least) in ROUTES {
        // a model that is not there: what is allowed is tried without effect
        let path = path.replace("{model}", "none");
        let ask = |header: &str| status(&server, method, &path, header);
        for header in
            ["", &format!("authorization: Bearer {wrong}\r\n"), "authorization: Bearer\r\n"]
        {
            let refused = ask(header) == 401;
            assert_eq!(refused, least.is_some(), "{method} {path} with `{header}`");
        }
        for (role, token) in tokens.iter().enumerate() {
            let status = ask(&format!("authorization: Bearer {token}\r\n"));
            assert_ne!(status, 401, "{method} {path} with role {role}");
            let refused = least.is_some_and(|least| role < least);
            assert_eq!(status == 403, refused, "{method} {path} with role {role}: {status}");
        }
    }
    // HEAD is GET without a body
    assert_eq!(status(&server, "HEAD", "/v1/models", ""), 401);
    assert_eq!(status(&server, "HEAD", "/healthz", ""), 200);
    let answer = server.get("/v1/models");
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    answer.refused(401, "unauthorized");
}

#[test]
fn rows_are_remembered_for_those_who_may_learn() {
    let folder = Folder::new("serve-remember");
    let (server, tokens) = guarded(&folder);
    let mut rows = unlabelled(&flights(2, 2));
    let predict = |role: usize, rows: &Value| {
        call(&server, &tokens[role], "POST", "/v1/models/late/predict", rows)
    };
    predict(READ, &rows).ok();
    rows[1]["id"] = json!("a");
    predict(READ, &rows).refused(403, "forbidden");
    let model = |role: usize| call(&server, &tokens[role], "GET", "/v1/models/late", &Value::Null);
    assert_eq!(model(READ).ok()["pending"], 0);
    predict(LEARN, &rows).ok();
    assert_eq!(model(READ).ok()["pending"], 1);
}

#[test]
fn tokens_are_read_again_and_broken_files_change_nothing() {
    let folder = Folder::new("serve-reload");
    let (server, tokens) = guarded(&folder);
    let text = folder.text("tokens");
    let (others, lines) = self::tokens(&folder);
    let list = |token: &str| call(&server, token, "GET", "/v1/models", &Value::Null).status;
    let reload =
        |token: &str| call(&server, token, "POST", "/v1/admin/tokens/reload", &Value::Null);
    folder.write("tokens", format!("{text}\n{}", lines[READ]));
    assert_eq!(reload(&tokens[ADMIN]).ok(), json!({"tokens": 4}));
    assert_eq!(list(&others[READ]), 200);
    let secret = &others[LEARN];
    for broken in ["", "read", &format!("admin {secret}")] {
        folder.write("tokens", broken);
        let error = reload(&tokens[ADMIN]).refused(400, "bad_request");
        assert!(!error.to_string().contains(secret.as_str()), "{error}");
        assert_eq!((list(&tokens[READ]), list(&others[READ])), (200, 200));
    }
    server.signal("HUP");
    server.wait_for_log("the tokens stay as they are");
    assert_eq!(list(&tokens[READ]), 200);
    folder.write("tokens", lines.join("\n"));
    server.signal("HUP");
    server.wait_for_log("3 tokens read");
    assert_eq!((list(&tokens[ADMIN]), list(&others[LEARN])), (401, 200));
    assert!(!server.log().contains("kalmia_"), "{}", server.log());
    assert!(server.stop().success());
}

#[test]
fn without_tokens_only_this_machine_is_served() {
    let folder = Folder::new("serve-loopback");
    let run = folder.run("serve --data data --listen 0.0.0.0:0");
    run.fails(1, &["loopback", "--token-file"]);
    folder.write("tokens", "");
    folder.run("serve --data data --token-file tokens").fails(1, &["holds no token"]);
    folder.run("serve --data data --token-file none").fails(1, &["cannot read the token file"]);
    let server = Server::start(&folder, "");
    server.wait_for_log("no tokens");
    server.post("/v1/admin/tokens/reload", &json!({})).refused(400, "bad_request");
}

#[test]
fn no_token_and_no_value_of_a_row_is_kept() {
    let folder = Folder::new("serve-secrets");
    let (server, tokens) = guarded(&folder);
    let marks = ["987654321.25", "markertext"];
    let row = |hour: Value, late: Value| {
        let marked = 987654321.25;
        json!([{"hour": hour, "dist": marked, "carrier": "markertext", "late": late}])
    };
    let post = |path: &str, kind: &str, body: &[u8]| {
        let bearer = format!("Bearer {}", tokens[ADMIN]);
        let headers = [("authorization", bearer.as_str()), ("content-type", kind)];
        let answer = server.send("POST", path, &headers, body);
        assert!((400..500).contains(&answer.status), "{path} {kind}: {answer}");
    };
    let wrong = [
        row(json!("markertext"), json!(1)),
        row(json!(1), json!(987654321.25)),
        row(json!(1), json!("markertext")),
        row(json!(null), json!(1)),
        json!([{"markertext": 987654321.25}]),
    ];
    for (kind, body) in wrong.iter().flat_map(formats::all) {
        for path in ["learn", "learn?predict=1", "predict?level=2", "label"] {
            post(&format!("/v1/models/late/{path}"), kind, &body);
        }
        post("/v1/models/late/learn", kind, &body[..body.len() - 9]);
    }
    // a table without its header, a broken text, values in places of other things
    let learn = "/v1/models/late/learn";
    post(learn, "text/csv", b"1,987654321.25,markertext,0\n2,987654321.25,markertext,1\n");
    post(learn, "text/csv", b"hour,dist,carrier,late\n1,987654321.25,\"markertext\n");
    post(learn, "application/json", b"987654321.25");
    post(learn, "application/json", b"[987654321.25, \"markertext\"]");
    let json = "application/json";
    post("/v1/models/late/choose", json, b"{\"candidates\": [], \"id\": 987654321.25}");
    post("/v1/models/late/choose", json, b"{\"candidates\": [], \"markertext\": 1}");
    post("/v2/models/late/infer", json, b"{\"inputs\": 987654321.25}");
    let tensor = json!({"name": "hour", "shape": [1], "datatype": "FP64", "data": ["markertext"]});
    post("/v2/models/late/infer", json, &to_bytes(&json!({"inputs": [tensor]})));
    let tensor = json!({"name": "hour", "shape": [1], "datatype": "FP64", "data": 987654321.25});
    post("/v2/models/late/infer", json, &to_bytes(&json!({"inputs": [tensor]})));
    // the first rows of a model
    call(&server, &tokens[ADMIN], "PUT", "/v1/models/new", &late()).ok();
    for (kind, body) in wrong[2..].iter().flat_map(formats::all) {
        post("/v1/models/new/learn", kind, &body);
    }
    let show = |path: &str| {
        let answer = call(&server, &tokens[READ], "GET", path, &Value::Null);
        assert_eq!(answer.status, 200);
        String::from_utf8(answer.bytes).unwrap()
    };
    let shown = ["/v1/models/late", "/v1/models/new", "/metrics"].map(show);
    assert!(shown[0].contains("\"errors\":[{") && shown[1].contains("\"errors\":[{"));
    for text in shown.iter().chain([&server.log()]) {
        for secret in marks.iter().copied().chain(tokens.iter().map(String::as_str)) {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

#[test]
fn answers_are_not_to_be_framed_sniffed_or_cached() {
    let folder = Folder::new("serve-headers");
    let (server, _) = guarded(&folder);
    let page = server.get("/");
    let policy = page.header("content-security-policy").unwrap();
    for part in ["default-src 'none'", "script-src 'sha256-", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    for path in ["/", "/healthz", "/openapi.json", "/v1/models"] {
        let answer = server.get(path);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert!(answer.header("content-security-policy").is_some(), "{path}");
        assert!(answer.header("x-request-id").is_some(), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
    assert_eq!(server.get("/v1/models").header("cache-control"), Some("no-store"));
}

#[test]
fn pages_of_other_sites_are_refused() {
    let folder = Folder::new("serve-origin");
    let server = Server::start(&folder, "");
    let here = format!("http://{}", server.address);
    let put = |headers: &[(&str, &str)]| {
        server.send("PUT", "/v1/models/late", headers, &to_bytes(&late()))
    };
    put(&[("origin", "http://elsewhere.example")]).refused(403, "forbidden");
    put(&[("origin", "null")]).refused(403, "forbidden");
    // a name of another site that resolves to this machine
    put(&[("host", "elsewhere.example")]).refused(403, "forbidden");
    server.get("/v1/models/late").refused(404, "unknown_model");
    put(&[("origin", &here)]).ok();
}

/// The committed document is written anew with `KALMIA_BLESS=1`.
#[test]
fn the_openapi_document_is_that_of_the_routes() {
    let folder = Folder::new("serve-openapi");
    let (server, tokens) = guarded(&folder);
    let path = repository("docs/openapi.json");
    let made = kalmia_server::openapi_json();
    if std::env::var_os("KALMIA_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(committed == made, "docs/openapi.json is old; run this test with KALMIA_BLESS=1");
    let served = server.get("/openapi.json").ok();
    assert_eq!(serde_json::from_str::<Value>(&committed).unwrap(), served);
    let mut listed = Vec::new();
    for (path, methods) in served["paths"].as_object().unwrap() {
        let names = methods.as_object().unwrap().keys();
        listed.extend(names.map(|method| (method.to_uppercase(), path.clone())));
    }
    let mut known: Vec<_> = ROUTES.map(|(method, path, _)| (method.into(), path.into())).into();
    listed.sort();
    known.sort();
    assert_eq!(listed, known);
    let bearer = format!("authorization: Bearer {}\r\n", tokens[ADMIN]);
    for (method, path, _) in ROUTES.iter().filter(|(method, ..)| *method != "DELETE") {
        let status = status(&server, method, &path.replace("{model}", "late"), &bearer);
        assert!(status != 404 && status != 405 && status < 500, "{method} {path}: {status}");
    }
    assert_eq!(status(&server, "DELETE", "/v1/models/late", &bearer), 204);
}
