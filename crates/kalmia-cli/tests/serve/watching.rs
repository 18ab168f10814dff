//! What can be watched: events, metrics, rates, drift and calibration.

use crate::harness::{Folder, Uniform, number, wait_until};
use crate::server::{Server, flights, late, unlabelled, with_model};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};

/// Models as a stream of events sends them.
struct Events(BufReader<Box<dyn Read + Send>>);

impl Events {
    fn of(server: &Server, model: &str) -> Self {
        Self(BufReader::new(server.events(model)))
    }

    /// The next model; `None` at the end of the stream.
    fn next(&mut self) -> Option<Value> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(event) = line.strip_prefix("event: ") {
                name = event.trim().into();
            } else if let Some(data) = line.strip_prefix("data: ") {
                assert_eq!(name, "model");
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }
}

#[test]
fn events_come_at_once_and_after_learning() {
    let folder = Folder::new("serve-events");
    let server = with_model(&folder, "");
    let mut events = Events::of(&server, "late");
    assert_eq!(events.next().unwrap()["state"], "empty");
    server.learn("late", &flights(1, 20));
    let taught = std::iter::from_fn(|| events.next()).find(|model| model["rows"] == 20).unwrap();
    let shown = server.model("late");
    for member in ["coefficients", "progressive", "sequence", "course", "calibration"] {
        assert_eq!(taught[member], shown[member], "{member}");
    }
    // a refusal is seen as well
    server.post("/v1/models/late/learn", &json!([])).refused(400, "bad_request");
    let last = std::iter::from_fn(|| events.next()).find(|model| model["errors"][0].is_object());
    assert_eq!(last.unwrap()["errors"][0]["code"], "bad_request");
    let answer = server.send("GET", "/v1/models/none/events", &[], b"");
    answer.refused(404, "unknown_model");
}

#[test]
fn events_end_when_the_model_is_deleted() {
    let folder = Folder::new("serve-events-delete");
    let server = with_model(&folder, "");
    let mut events = Events::of(&server, "late");
    events.next().unwrap();
    assert_eq!(server.send("DELETE", "/v1/models/late", &[], b"").status, 204);
    assert!(std::iter::from_fn(|| events.next()).count() <= 2);
}

#[test]
fn a_stop_does_not_wait_for_open_pages() {
    let folder = Folder::new("serve-events-stop");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 20));
    let mut events: Vec<_> = (0..5).map(|_| Events::of(&server, "late")).collect();
    for events in &mut events {
        events.next().unwrap();
    }
    let status = server.stop();
    assert_eq!(status.code(), Some(0));
    for events in &mut events {
        assert!(std::iter::from_fn(|| events.next()).count() <= 1, "the stream has ended");
    }
}

/// The value of a series.
#[track_caller]
pub fn series(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{text}"));
    line.trim().parse().unwrap()
}

#[test]
fn metrics_say_what_an_operator_watches() {
    let folder = Folder::new("serve-metrics");
    let server = with_model(&folder, "");
    server.learn("late", &flights(1, 30));
    server.learn("late", &flights(2, 12));
    let mut asked = unlabelled(&flights(3, 2));
    asked[0]["id"] = json!("a");
    server.predict("late", &asked);
    server.post("/v1/models/late/learn", &json!([])).refused(400, "bad_request");
    let answer = server.get("/metrics");
    let kind = answer.header("content-type").unwrap();
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    let text = String::from_utf8(answer.bytes).unwrap();
    assert!(text.ends_with("# EOF\n"));
    let model = server.model("late");
    let of = |name: &str| series(&text, &format!("kalmia_model_{name}{{model=\"late\"}}"));
    assert_eq!((of("rows"), of("sequence"), of("pending")), (42.0, 2.0, 1.0));
    assert_eq!(of("loss"), number(&model, "progressive.loss"));
    assert_eq!(of("baseline_loss"), number(&model, "progressive.baseline_loss"));
    assert!(of("log_bytes") > 0.0);
    assert!(of("rows_per_second") >= 0.0 && of("snapshot_age_seconds") >= 0.0);
    assert_eq!(series(&text, "kalmia_rows_learned_total"), 42.0);
    assert_eq!(series(&text, "kalmia_models"), 1.0);
    assert_eq!(series(&text, "kalmia_queue"), 0.0);
    assert!(series(&text, "kalmia_commit_seconds_count") >= 3.0);
    assert!(series(&text, "kalmia_commit_seconds_sum") > 0.0);
    assert!(series(&text, "kalmia_predict_seconds_count") >= 1.0);
    let refused = "kalmia_requests_total{route=\"/v1/models/{model}/learn\",status=\"400\"}";
    assert_eq!(series(&text, refused), 1.0);
}

#[test]
fn the_metrics_of_many_models_are_bounded() {
    let folder = Folder::new("serve-metrics-many");
    let server = Server::start(&folder, "");
    for i in 0..105 {
        server.put(&format!("/v1/models/m{i}"), &late()).ok();
    }
    let text = String::from_utf8(server.get("/metrics").bytes).unwrap();
    let count = text.lines().filter(|line| line.starts_with("kalmia_model_rows{")).count();
    assert_eq!((count, series(&text, "kalmia_models")), (100, 105.0));
}

#[test]
fn the_rate_is_seen_and_fades() {
    let folder = Folder::new("serve-rate");
    let server = with_model(&folder, "");
    let rate = || number(&server.model("late"), "rows_per_second");
    assert_eq!(rate(), 0.0);
    wait_until("the rate to be seen", || {
        server.learn("late", &flights(1, 100));
        rate() > 0.0
    });
    wait_until("the rate to fade", || rate() == 0.0);
}

/// Rows whose relation swings.
fn drifting(rows: usize) -> Value {
    let mut uniform = Uniform(9);
    let mut row = |i: usize| {
        let x = 2.0 * uniform.next() - 1.0;
        let slope = 6.0 * (i as f64 / 500.0).cos();
        let label = u8::from(slope * x + 2.0 * uniform.next() - 1.0 > 0.0);
        json!({"x": x, "late": label})
    };
    Value::Array((0..rows).map(&mut row).collect())
}

#[test]
fn a_drift_is_reported_in_words() {
    let folder = Folder::new("serve-drift");
    let server = Server::start(&folder, "");
    for mode in ["off", "detect", "adapt"] {
        let declared = json!({"family": "bernoulli", "target": "late", "drift": mode});
        server.put(&format!("/v1/models/{mode}"), &declared).ok();
        server.learn(mode, &drifting(8000));
        let model = server.model(mode);
        let note = model["drift_note"].as_str().unwrap_or_else(|| panic!("{mode}: {model}"));
        let followed = model["drift"]["followed"].as_bool().unwrap();
        assert_eq!(followed, note.contains("followed"), "{note}");
        match mode {
            "off" => assert!(!followed && note.contains("\"drift\": \"adapt\""), "{note}"),
            _ => assert!(followed && note.contains("from row"), "{mode}: {note}"),
        }
    }
    server.put("/v1/models/still", &late()).ok();
    server.learn("still", &flights(1, 2000));
    assert!(server.model("still")["drift_note"].is_null());
}

#[test]
fn calibration_and_course_cover_all_rows() {
    let folder = Folder::new("serve-calibration");
    let server = with_model(&folder, "");
    for (seed, rows) in [(1, 700), (2, 800)] {
        server.learn("late", &flights(seed, rows));
    }
    let model = server.model("late");
    let bins = model["calibration"].as_array().unwrap();
    assert!(bins.len() > 3, "{bins:?}");
    assert_eq!(bins.iter().map(|bin| number(bin, "rows")).sum::<f64>(), 1500.0);
    for bin in bins {
        let [predicted, observed] = ["predicted", "observed"].map(|name| number(bin, name));
        assert!((0.0..=1.0).contains(&predicted) && (0.0..=1.0).contains(&observed));
    }
    let course = model["course"].as_array().unwrap();
    let rows: Vec<_> = course.iter().map(|point| number(point, "rows")).collect();
    assert!(rows.is_sorted() && rows[0] == 1.0 && *rows.last().unwrap() <= 1500.0);
    let last = course.last().unwrap();
    assert!(number(last, "loss") < number(last, "baseline_loss"));
    // other families have none
    server.put("/v1/models/g", &json!({"family": "gaussian", "target": "y"})).ok();
    server.learn("g", &json!([{"x": 1, "y": 2.5}, {"x": 2, "y": 3.5}, {"x": 3, "y": 5.0}]));
    assert_eq!(server.model("g")["calibration"], json!([]));
}
