//! The service under load, on this machine alone, client and service on the same cores.
//!
//! `cargo bench -p kalmia-cli --bench service` prints a table of what docs/service.md quotes:
//! durable learns per second, rows per second in Arrow batches, the latency of predictions while it
//! learns, the time of a restart, and memory. Each speed stands beside what the same run measures
//! without the service: `fsync` alone, and the learner alone. Run as a test it does each once and
//! checks that nothing is lost. `KALMIA_SOAK_SECONDS` adds a soak of that length.

mod client;
mod rows;

use client::{Folder, Server};
use rows::{ARROW, FEATURES, arrow_batch, json_row};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How much is measured.
struct Size {
    time: Duration,
    connections: &'static [usize],
    batch_rows: usize,
    replay_rows: u64,
    models: usize,
    soak: Option<Duration>,
}

impl Size {
    /// Cargo passes `--bench` to a benchmark, and not when it runs as a test.
    fn from_arguments() -> Self {
        if !std::env::args().any(|arg| arg == "--bench") {
            return Self {
                time: Duration::from_millis(200),
                connections: &[4],
                batch_rows: 500,
                replay_rows: 2000,
                models: 3,
                soak: None,
            };
        }
        let soak = std::env::var("KALMIA_SOAK_SECONDS").ok();
        Self {
            time: Duration::from_secs(8),
            connections: &[1, 16, 64],
            batch_rows: 10_000,
            replay_rows: 1_000_000,
            models: 100,
            soak: soak.map(|text| {
                Duration::from_secs(text.parse().expect("KALMIA_SOAK_SECONDS is a number"))
            }),
        }
    }
}

fn main() {
    let size = Size::from_arguments();
    println!("{:<58} {:>12}  beside", "measured", "value");
    let folder = Folder::new("bench");
    let syncs = syncs_per_second(&folder.0, size.time);
    line("fsync of 4 KB, one after the other, per second", syncs, "");
    let mut learned = 0;
    for &connections in size.connections {
        let server = Server::start(&folder.0.join(format!("single-{connections}")));
        server.create("m", FEATURES);
        let (done, rate) = single_rows(&server, connections, size.time);
        assert_eq!(rows_of(&server, "m"), done, "every acknowledged row is learned, once");
        learned += done;
        let beside = format!("{:.1} x fsync", rate / syncs);
        line(&format!("durable single-row learns/s, {connections} connections"), rate, &beside);
    }
    assert!(learned > 0);
    let server = Server::start(&folder.0.join("arrow"));
    server.create("m", FEATURES);
    let batch = arrow_batch(size.batch_rows, 1);
    let (rows, rate) = batches(&server, &batch, size.batch_rows, size.time);
    assert_eq!(rows_of(&server, "m"), rows);
    let alone = learner_alone(size.batch_rows, size.time);
    let beside = format!("{:.2} of the learner alone ({alone:.0} rows/s)", rate / alone);
    line(&format!("rows/s in Arrow batches of {}", size.batch_rows), rate, &beside);
    drop(server);
    latencies(&folder.0, &size);
    replays(&folder.0, &size);
    memory(&folder.0, size.models);
    if let Some(time) = size.soak {
        soak(&folder.0, time);
    }
}

fn line(what: &str, value: f64, beside: &str) {
    println!("{what:<58} {value:>12.2}  {beside}");
}

/// Appends and syncs a page until the time is over.
fn syncs_per_second(folder: &Path, time: Duration) -> f64 {
    let mut file = File::create(folder.join("sync")).expect("a file");
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < time / 4 {
        file.write_all(&[0; 4096]).expect("room");
        file.sync_data().expect("fsync");
        count += 1;
    }
    f64::from(count) / start.elapsed().as_secs_f64()
}

/// Learns single rows from several connections; how many rows, and per second.
fn single_rows(server: &Server, connections: usize, time: Duration) -> (u64, f64) {
    let done = AtomicU64::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for c in 0..connections {
            let done = &done;
            scope.spawn(move || {
                let mut connection = server.connect();
                let mut i = 0;
                while start.elapsed() < time {
                    let row = json_row((c * 1_000_003 + i) as u64);
                    let key = format!("idempotency-key: {c}-{i}\r\n");
                    let path = "/v1/models/m/learn";
                    let status = connection.send("POST", path, "application/json", &key, &row);
                    assert_eq!(status, 200);
                    done.fetch_add(1, Ordering::Relaxed);
                    i += 1;
                }
            });
        }
    });
    let done = done.into_inner();
    (done, done as f64 / start.elapsed().as_secs_f64())
}

/// Learns batches from two connections.
fn batches(server: &Server, batch: &[u8], rows: usize, time: Duration) -> (u64, f64) {
    let done = AtomicU64::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut connection = server.connect();
                while start.elapsed() < time {
                    let path = "/v1/models/m/learn";
                    assert_eq!(connection.send("POST", path, ARROW, "", batch), 200);
                    done.fetch_add(rows as u64, Ordering::Relaxed);
                }
            });
        }
    });
    let done = done.into_inner();
    (done, done as f64 / start.elapsed().as_secs_f64())
}

/// What a model learns per second without a service, from the same bytes.
fn learner_alone(rows: usize, time: Duration) -> f64 {
    let batch = arrow_batch(rows, 1);
    let mut model = rows::model();
    let start = Instant::now();
    let mut done = 0;
    while start.elapsed() < time / 4 {
        model.learn(&batch);
        done += rows;
    }
    done as f64 / start.elapsed().as_secs_f64()
}

/// The latency of single predictions while the service learns.
fn latencies(folder: &Path, size: &Size) {
    for (name, learner) in [("nothing", 0), ("single rows", 1), ("Arrow batches", 2)] {
        let server = Server::start(&folder.join(format!("latency-{learner}")));
        server.create("m", FEATURES);
        let batch = arrow_batch(size.batch_rows, 2);
        batches(&server, &batch, size.batch_rows, Duration::ZERO);
        let stop = AtomicBool::new(false);
        let mut times = Vec::new();
        std::thread::scope(|scope| {
            for c in 0..[0, 16, 1][learner] {
                let (server, stop, batch) = (&server, &stop, &batch);
                scope.spawn(move || {
                    let mut connection = server.connect();
                    let mut i = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let row = json_row((c * 1_000_003 + i) as u64);
                        let (kind, body) = match learner {
                            1 => ("application/json", &row),
                            _ => (ARROW, batch),
                        };
                        let path = "/v1/models/m/learn";
                        assert_eq!(connection.send("POST", path, kind, "", body), 200);
                        i += 1;
                    }
                });
            }
            let mut connection = server.connect();
            let start = Instant::now();
            let mut i = 0;
            while start.elapsed() < size.time {
                let row = json_row(i);
                let before = Instant::now();
                let path = "/v1/models/m/predict";
                assert_eq!(connection.send("POST", path, "application/json", "", &row), 200);
                times.push(before.elapsed());
                i += 1;
                std::thread::sleep(Duration::from_micros(500));
            }
            stop.store(true, Ordering::Relaxed);
        });
        times.sort();
        let at =
            |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        let beside = format!("p50 {:.2} ms, p99.9 {:.2} ms", at(0.5), at(0.999));
        line(&format!("predict p99 in ms, while it learns {name}"), at(0.99), &beside);
    }
}

/// The time from a power cut to the next answer, for batches and for single rows.
fn replays(folder: &Path, size: &Size) {
    let rows = size.replay_rows;
    for (name, per_entry) in [("entries of 1000 rows", 1000_usize), ("entries of one row", 1)] {
        let data = folder.join(format!("replay-{per_entry}"));
        let mut server = Server::start(&data);
        server.create("m", FEATURES);
        fill(&server, rows, per_entry);
        server.kill();
        let start = Instant::now();
        let server = Server::start(&data);
        let time = start.elapsed();
        assert_eq!(rows_of(&server, "m"), rows, "nothing is lost");
        let beside = format!("{:.0} rows/s", rows as f64 / time.as_secs_f64());
        line(&format!("seconds of a restart, {rows} rows in {name}"), time.as_secs_f64(), &beside);
    }
}

/// Learns so many rows, so many per request.
fn fill(server: &Server, rows: u64, per_entry: usize) {
    let connections = if per_entry == 1 { 64 } else { 2 };
    let share = rows / connections;
    std::thread::scope(|scope| {
        for c in 0..connections {
            scope.spawn(move || {
                let mut connection = server.connect();
                let batch = arrow_batch(per_entry, c);
                let mine = if c == 0 { rows - share * (connections - 1) } else { share };
                for i in 0..mine / per_entry as u64 {
                    let path = "/v1/models/m/learn";
                    let row;
                    let (kind, body) = match per_entry {
                        1 => {
                            row = json_row(c * 1_000_003 + i);
                            ("application/json", &row)
                        }
                        _ => (ARROW, &batch),
                    };
                    assert_eq!(connection.send("POST", path, kind, "", body), 200);
                }
            });
        }
    });
}

/// Memory of many models.
fn memory(folder: &Path, models: usize) {
    let server = Server::start(&folder.join("memory"));
    let before = server.memory();
    let batch = arrow_batch(300, 3);
    let mut connection = server.connect();
    for i in 0..models {
        server.create(&format!("m{i}"), FEATURES);
        let path = format!("/v1/models/m{i}/learn");
        assert_eq!(connection.send("POST", &path, ARROW, "", &batch), 200);
    }
    let (Some(before), Some(after)) = (before, server.memory()) else { return };
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let beside = format!("{:.1} MB without models", megabytes(before));
    line(&format!("memory in MB, {models} models"), megabytes(after), &beside);
}

/// Memory over a long time of learning, predicting and restarting clients.
fn soak(folder: &Path, time: Duration) {
    let server = Server::start(&folder.join("soak"));
    server.create("m", FEATURES);
    let batch = arrow_batch(1000, 4);
    let rounds = 10;
    let mut seen = Vec::new();
    for round in 0..rounds {
        single_rows_unkeyed(&server, time / (2 * rounds));
        batches(&server, &batch, 1000, time / (2 * rounds));
        if let Some(bytes) = server.memory() {
            seen.push(bytes as f64 / 1e6);
            println!("  soak, part {} of {rounds}: {:.1} MB", round + 1, bytes as f64 / 1e6);
        }
    }
    if let (Some(first), Some(last)) = (seen.get(1), seen.last()) {
        let beside = format!("{:.2} of that after a fifth of the time", last / first);
        line(&format!("memory in MB after a soak of {} s", time.as_secs()), *last, &beside);
    }
}

/// Learns and predicts single rows from connections that come and go.
fn single_rows_unkeyed(server: &Server, time: Duration) {
    let start = Instant::now();
    let mut i = 0;
    while start.elapsed() < time {
        let mut connection = server.connect();
        for _ in 0..100 {
            let row = json_row(i);
            for path in ["/v1/models/m/learn", "/v1/models/m/predict"] {
                assert_eq!(connection.send("POST", path, "application/json", "", &row), 200);
            }
            i += 1;
        }
    }
}

/// The rows that a model has learned.
fn rows_of(server: &Server, model: &str) -> u64 {
    let mut connection = server.connect();
    let path = format!("/v1/models/{model}");
    assert_eq!(connection.send("GET", &path, "application/json", "", b""), 200);
    let answer: serde_json::Value = serde_json::from_slice(&connection.answer).expect("JSON");
    answer["rows"].as_u64().expect("a number of rows")
}
