//! A service that is killed again and again while clients learn labels, classes and quantiles:
//! nothing acknowledged is lost, and nothing is learned twice.
//!
//! In the suite it is killed a few times. `cargo xtask crash` runs it as long as docs/service.md
//! says: 200 kills, 64 clients, a million rows.

use crate::harness::{Folder, PATIENCE, Uniform};
use crate::server::{Server, flights, flowers, late, minutes, species, times};
use kalmia::Learner;
use kalmia_data::{Format, Input, Mode, SourceOptions, Table};
use kalmia_model::{AnyModel, LearnScratch, Model};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use ureq::Agent;

/// With few features the service learns an entry in parts of so many rows, which decides the last
/// bits.
const PART_ROWS: usize = 1024;

/// How much is done.
struct Size {
    kills: usize,
    clients: usize,
    rows: u64,
}

impl Size {
    fn from_environment() -> Self {
        match std::env::var("KALMIA_CRASH_KILLS").ok() {
            None => Self { kills: 6, clients: 8, rows: 2000 },
            Some(kills) => {
                let kills = kills.parse().expect("KALMIA_CRASH_KILLS is a number");
                Self { kills, clients: 64, rows: 1_000_000 }
            }
        }
    }
}

/// A model that clients learn.
struct Learned {
    name: &'static str,
    declaration: fn() -> Value,
    columns: Value,
    rows: fn(u64, usize) -> Value,
    /// The rows of each acknowledged request under its sequence number.
    acknowledged: Mutex<BTreeMap<u64, Vec<u8>>>,
}

/// One of each kind.
fn models() -> [Learned; 3] {
    let flight = json!({"hour": "number", "dist": "number", "carrier": "category"});
    let flower = json!({"petal": "number", "sepal": "number", "place": "category"});
    let time = json!({"size": "number", "queue": "number"});
    let learned = |name, declaration, columns, rows| Learned {
        name,
        declaration,
        columns,
        rows,
        acknowledged: Mutex::default(),
    };
    [
        learned("late", late as fn() -> Value, flight, flights as fn(u64, usize) -> Value),
        learned("species", species, flower, flowers),
        learned("minutes", minutes, time, times),
    ]
}

/// What the clients share.
struct Work {
    address: String,
    rows_left: AtomicU64,
    /// Whether the service will not be killed any more.
    calm: AtomicBool,
    retries: AtomicU64,
    models: [Learned; 3],
}

#[test]
fn kills_lose_nothing_and_double_nothing() {
    let size = Size::from_environment();
    let folder = Folder::new("serve-crash");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let start = || {
        // 0: a snapshot at each start and each second, so that kills meet snapshots too
        let words = format!("serve --data data --listen 127.0.0.1:{port} --snapshot-every 0");
        Server::run(folder.command(&words))
    };
    let server = start();
    let models = models();
    let first = models.each_ref().map(|model| {
        let mut declared = (model.declaration)();
        declared["columns"] = model.columns.clone();
        let path = format!("/v1/models/{}", model.name);
        assert_eq!(server.put(&path, &declared).status, 201);
        server.snapshot(model.name)
    });
    let work = Work {
        address: server.address.clone(),
        rows_left: AtomicU64::new(size.rows),
        calm: AtomicBool::new(false),
        retries: AtomicU64::new(0),
        models,
    };
    let began = Instant::now();
    let server = std::thread::scope(|scope| {
        let work = &work;
        let clients: Vec<_> =
            (0..size.clients).map(|c| scope.spawn(move || client(c as u64, work))).collect();
        let mut random = Uniform(1);
        let mut server = server;
        for _ in 0..size.kills {
            // most kills come soon, some after more than one snapshot
            let share = random.next().powi(4);
            std::thread::sleep(Duration::from_millis(20 + (share * 3000.0) as u64));
            server.kill();
            server = start();
        }
        work.calm.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|client| client.join().unwrap());
        server
    });
    // a last kill, so that the models compared are recovered ones
    server.kill();
    let server = start();
    let mut requests = 0;
    let mut rows = 0;
    for (Learned { name, acknowledged, .. }, first) in work.models.into_iter().zip(first) {
        let acknowledged = acknowledged.into_inner().unwrap();
        requests += acknowledged.len();
        let last = acknowledged.last_key_value().map(|(sequence, _)| *sequence as usize);
        assert_eq!(last, Some(acknowledged.len()), "{name}: every entry was acknowledged once");
        let served = without_mark(&server.snapshot(name));
        let mut expected = AnyModel::from_bytes(&first).unwrap();
        expected.metadata_mut().remove("service");
        let of_model = learn_in_order(&mut expected, acknowledged.into_values());
        assert_eq!(expected.rows(), of_model);
        assert!(served == expected.to_bytes().unwrap(), "{name} is that of the log in order");
        assert_eq!(server.model(name)["rows"], of_model);
        rows += of_model;
    }
    println!(
        "{} kills, {} clients, {requests} requests, {rows} rows, {} retries, {:.0} s: 0 lost, 0 \
         doubled, models byte for byte equal",
        size.kills,
        size.clients,
        work.retries.into_inner(),
        began.elapsed().as_secs_f64()
    );
    assert!(server.stop().success());
}

/// Learns batches of rows, each under its own key, until none is left; repeats a request until it
/// is acknowledged.
fn client(number: u64, work: &Work) {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(20)))
        .build();
    let agent = Agent::from(config);
    let model = &work.models[number as usize % work.models.len()];
    let url = format!("http://{}/v1/models/{}/learn", work.address, model.name);
    let mut random = Uniform(number + 100);
    for i in 0.. {
        // most entries are small; some are learned in several parts, between which a kill may come
        let rows = if i % 100 == 99 { 2500 } else { 1 + (random.next() * 49.0) as u64 };
        let take = |left: u64| {
            // go on until the last kill, so that each kill meets requests
            (left > 0 || !work.calm.load(Ordering::Relaxed)).then(|| left.saturating_sub(rows))
        };
        if work.rows_left.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_err() {
            return;
        }
        let body = (model.rows)(number * 1_000_003 + i, rows as usize);
        let body = serde_json::to_vec(&body).unwrap();
        let start = Instant::now();
        let sequence = loop {
            let sent = agent
                .post(&url)
                .header("content-type", "application/json")
                .header("idempotency-key", format!("{number}-{i}"))
                .send(&body[..]);
            if let Ok(mut answer) = sent
                && let Ok(text) = answer.body_mut().read_to_string()
            {
                match answer.status().as_u16() {
                    200 => break acknowledged_sequence(&text, rows),
                    // under way, too many, stopping
                    409 | 429 | 503 => {}
                    status => panic!("{status} {text}"),
                }
            }
            work.retries.fetch_add(1, Ordering::Relaxed);
            assert!(start.elapsed() < PATIENCE, "a request is never acknowledged");
            std::thread::sleep(Duration::from_millis(5));
        };
        let before = model.acknowledged.lock().unwrap().insert(sequence, body);
        assert!(before.is_none(), "two requests have the sequence number {sequence}");
    }
}

fn acknowledged_sequence(text: &str, rows: u64) -> u64 {
    let answer: Value = serde_json::from_str(text).unwrap();
    assert_eq!(answer["rows"], rows, "{text}");
    answer["sequence"].as_u64().unwrap()
}

/// Learns the bodies as the service does, without the service; the rows.
fn learn_in_order(model: &mut AnyModel, bodies: impl Iterator<Item = Vec<u8>>) -> u64 {
    let schema = model.encoder().table_schema();
    let options = SourceOptions { format: Some(Format::Jsonl), ..SourceOptions::default() };
    let mut scratch = LearnScratch::default();
    let mut rows = 0;
    for mut body in bodies {
        kalmia_data::json_lines("body", &mut body).unwrap();
        let input = Input::memory("body", body);
        let table = Table::read(input, &options, &schema, Mode::Learn, 10_000).unwrap();
        for first in (0..table.rows()).step_by(PART_ROWS) {
            let part = table.slice(first..table.rows().min(first + PART_ROWS));
            rows += model.learn_table(&part, &mut scratch).unwrap().rows as u64;
        }
    }
    rows
}

/// A model file without what the service wrote beside the model.
fn without_mark(bytes: &[u8]) -> Vec<u8> {
    let mut model = AnyModel::from_bytes(bytes).unwrap();
    assert!(model.metadata_mut().remove("service").is_some());
    model.to_bytes().unwrap()
}

#[test]
fn a_snapshot_holds_whole_entries_only() {
    const ROWS: usize = 4000;
    let folder = Folder::new("serve-whole");
    let server = Server::start(&folder, "--snapshot-every 0");
    let names: Vec<_> = (0..40).map(|j| format!("x{j}")).collect();
    let declared = json!({"family": "gaussian", "target": "y"});
    assert_eq!(server.put("/v1/models/m", &declared).status, 201);
    let mut random = Uniform(5);
    let mut csv = format!("{},y\n", names.join(","));
    for _ in 0..ROWS {
        (0..41).for_each(|j| {
            csv.push_str(&format!("{}{:.3}", [",", ""][usize::from(j == 0)], random.next()))
        });
        csv.push('\n');
    }
    let learn = || {
        server.send("POST", "/v1/models/m/learn", &[("content-type", "text/csv")], csv.as_bytes())
    };
    learn().ok();
    // how often the service was seen in the middle of an entry: fast machines need more entries
    let between = AtomicUsize::new(0);
    let entries = std::thread::scope(|scope| {
        let learner = scope.spawn(|| {
            let mut entries = 1;
            while entries < 7 || (between.load(Ordering::Relaxed) == 0 && entries < 200) {
                learn().ok();
                entries += 1;
            }
            entries
        });
        while !learner.is_finished() {
            let model = Model::from_bytes(&server.snapshot("m")).unwrap();
            let entry = model.metadata["service"]["sequence"].as_u64().unwrap();
            assert_eq!(model.learner.count(), entry * ROWS as u64, "part of an entry was kept");
            let seen = server.get("/v1/models/m").ok()["rows"].as_u64().unwrap();
            between.fetch_add(usize::from(!seen.is_multiple_of(ROWS as u64)), Ordering::Relaxed);
        }
        learner.join().unwrap()
    });
    assert!(between.into_inner() > 0, "the service was never seen in the middle of an entry");
    // the files are those of whole entries too
    server.kill();
    let server = Server::start(&folder, "");
    assert_eq!(server.get("/v1/models/m").ok()["rows"], entries * ROWS);
}
