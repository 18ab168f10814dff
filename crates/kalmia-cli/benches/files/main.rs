//! Speed and memory of the command on generated files, as ratios within one run.
//!
//! `cargo bench -p kalmia-cli` writes 300 MB of CSV (or `KALMIA_BENCH_MB`) below `target/tmp`, and
//! the same rows as Parquet. Run as a test, it uses 2 MB, once, and checks what can be checked
//! without a clock: every reader sees every row, and memory does not grow with the rows.

mod data;

use data::{Folder, Generator};
use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions};
use serde_json::Value;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const CSV_CRATE: &str = "csv crate + fast float, CSV";
const READ_CSV: &str = "reader alone, CSV";
const READ_PARQUET: &str = "reader alone, Parquet";
const EKF_CSV: &str = "fit --method ekf, CSV";
const AUTO_CSV: &str = "fit --method auto, CSV";
const EKF_PARQUET: &str = "fit --method ekf, Parquet";
const TWO_PROCESSES: &str = "two fits, a half each, CSV";
const TWO_SHARDS: &str = "fit --shards 2 --passes 1, CSV";
const TWO_POLISHED: &str = "fit --shards 2, CSV";

/// How much is measured.
struct Size {
    csv_bytes: u64,
    rounds: usize,
    /// Rows of the two fits whose peak memory is compared.
    memory_rows: [u64; 2],
}

impl Size {
    /// Cargo passes `--bench` to a benchmark, and not when it runs as a test.
    fn from_arguments() -> Self {
        if !std::env::args().any(|arg| arg == "--bench") {
            return Self { csv_bytes: 2_000_000, rounds: 1, memory_rows: [10_000, 200_000] };
        }
        let megabytes = std::env::var("KALMIA_BENCH_MB").ok();
        let megabytes: u64 = megabytes.map_or(300, |text| text.parse().expect("KALMIA_BENCH_MB"));
        Self { csv_bytes: megabytes * 1_000_000, rounds: 5, memory_rows: [100_000, 10_000_000] }
    }
}

/// One line of the speed table.
struct Way<'a> {
    name: &'static str,
    /// The way that the ratio is against, and the least ratio that is promised.
    against: Option<(&'static str, f64)>,
    /// Reads or fits everything and returns the number of rows.
    run: Box<dyn Fn() -> u64 + 'a>,
}

impl<'a> Way<'a> {
    fn new(
        name: &'static str,
        against: Option<(&'static str, f64)>,
        run: impl Fn() -> u64 + 'a,
    ) -> Self {
        Self { name, against, run: Box::new(run) }
    }
}

fn main() {
    let size = Size::from_arguments();
    let folder = Folder::new();
    let csv = folder.path().join("rows.csv");
    let parquet = folder.path().join("rows.parquet");
    let rows = data::write_both(&csv, &parquet, size.csv_bytes);
    let bytes = std::fs::metadata(&csv).expect("the CSV was written").len();
    let megabytes = bytes as f64 / 1e6;
    println!("{megabytes:.1} MB of CSV, {rows} rows of 9 numbers and a label\n");

    let halves = split_in_two(&csv, folder.path());
    let ways = [
        Way::new(CSV_CRATE, None, || read_by_csv_crate(&csv)),
        Way::new(READ_CSV, Some((CSV_CRATE, 1.0)), || read(&csv)),
        Way::new(EKF_CSV, Some((READ_CSV, 0.8)), || fit(&csv, "ekf")),
        Way::new(AUTO_CSV, Some((READ_CSV, 0.4)), || fit(&csv, "auto")),
        Way::new(READ_PARQUET, Some((READ_CSV, 1.0)), || read(&parquet)),
        Way::new(EKF_PARQUET, Some((EKF_CSV, 1.0)), || fit(&parquet, "ekf")),
        // what the machine's cores can do at once: they may share execution units
        Way::new(TWO_PROCESSES, Some((AUTO_CSV, 1.0)), || {
            let fits = halves.each_ref().map(|half| start(half, &["--method", "auto"]));
            fits.map(rows_of).into_iter().sum()
        }),
        Way::new(TWO_SHARDS, Some((TWO_PROCESSES, 0.9)), || {
            rows_of(start(&csv, &["--shards", "2", "--passes", "1"]))
        }),
        Way::new(TWO_POLISHED, Some((AUTO_CSV, 0.9)), || rows_of(start(&csv, &["--shards", "2"]))),
    ];
    let seconds = best_seconds(&ways, rows, size.rounds);
    print_speed(&ways, &seconds, rows, megabytes);

    let peaks = size.memory_rows.map(peak_bytes);
    println!("\nfit --method auto from a pipe\n{:>10}  peak memory, MB", "rows");
    for (rows, peak) in size.memory_rows.iter().zip(peaks) {
        let peak = peak.map_or("unknown".into(), |bytes| format!("{:.1}", bytes / 1e6));
        println!("{rows:>10}  {peak:>15}");
    }
    if let [Some(few), Some(many)] = peaks {
        assert!(many < 1.2 * few + 4e6, "memory grew with the rows: {few} to {many} bytes");
    }
}

/// Best time of each way. Rounds take turns, so a slow moment of the machine affects all alike.
fn best_seconds(ways: &[Way], rows: u64, rounds: usize) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; ways.len()];
    for _ in 0..rounds {
        for (way, best) in ways.iter().zip(&mut best) {
            let start = Instant::now();
            let seen = (way.run)();
            *best = best.min(start.elapsed().as_secs_f64());
            assert_eq!(seen, rows, "{} must see every row", way.name);
        }
    }
    best
}

fn print_speed(ways: &[Way], seconds: &[f64], rows: u64, megabytes: f64) {
    let head = ["seconds", "MB of CSV/s", "rows/s", "ratio"];
    println!("{:<30} {:>8} {:>12} {:>11} {:>6}  against", "", head[0], head[1], head[2], head[3]);
    for (way, time) in ways.iter().zip(seconds) {
        let comparison = way.against.map_or(String::new(), |(other, promised)| {
            let place = ways.iter().position(|way| way.name == other).expect("a way's name");
            format!("{:>6.2}  {other} (at least {promised:.2})", seconds[place] / time)
        });
        let line = format!(
            "{:<30} {time:>8.2} {:>12.0} {:>11.0} {comparison}",
            way.name,
            megabytes / time,
            rows as f64 / time,
        );
        println!("{}", line.trim_end());
    }
}

/// Reading, parsing and encoding without learning.
fn read(path: &Path) -> u64 {
    let input = Input::file(&path.to_string_lossy()).expect("the file was written");
    let mut encoder = Encoder::new(EncoderOptions::target("y"));
    let mut reader = Reader::open(vec![input], SourceOptions::default(), &mut encoder, Mode::Learn)
        .expect("a good table");
    let mut block = Block::new();
    let mut rows = 0;
    while reader.next_block(&mut encoder, &mut block).expect("a good table") {
        rows += black_box(&block).rows() as u64;
    }
    rows
}

/// The same numbers by the `csv` crate with the same float parser, into blocks of the same size.
fn read_by_csv_crate(path: &Path) -> u64 {
    let mut builder = csv::ReaderBuilder::new();
    let mut reader = builder.buffer_capacity(1 << 20).from_path(path).expect("a good table");
    let mut record = csv::ByteRecord::new();
    let mut block: Vec<f64> = Vec::new();
    let mut rows = 0;
    while reader.read_byte_record(&mut record).expect("a good table") {
        block.extend(
            record.iter().map(|text| fast_float2::parse::<f64, _>(text).expect("a number")),
        );
        rows += 1;
        if rows % 1024 == 0 {
            black_box(&block);
            block.clear();
        }
    }
    rows
}

/// The command as a user runs it, from its start to its summary.
fn fit(path: &Path, method: &str) -> u64 {
    let child = start_fit(&path.to_string_lossy(), method, Stdio::null());
    rows_of(child)
}

fn start_fit(input: &str, method: &str, stdin: Stdio) -> Child {
    spawn(input, &["--method", method], stdin)
}

/// A fit of a file that goes on while this process does.
fn start(path: &Path, options: &[&str]) -> Child {
    spawn(&path.to_string_lossy(), options, Stdio::null())
}

fn spawn(input: &str, options: &[&str], stdin: Stdio) -> Child {
    Command::new(env!("CARGO_BIN_EXE_kalmia"))
        .args(["--quiet", "fit", input, "--target", "y", "--json"])
        .args(options)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

/// The rows of a CSV as two files, each with the header.
fn split_in_two(csv: &Path, folder: &Path) -> [PathBuf; 2] {
    let text = std::fs::read(csv).expect("the CSV was written");
    let line_end = |from: usize| {
        let rest = text[from..].iter().position(|byte| *byte == b'\n');
        from + rest.expect("every line has an end") + 1
    };
    let header = line_end(0);
    let middle = line_end(text.len() / 2);
    let half = |name: &str, rows: &[u8]| {
        let path = folder.join(name);
        let bytes = [&text[..header], rows].concat();
        std::fs::write(&path, bytes).expect("there is room for the halves");
        path
    };
    [half("first.csv", &text[header..middle]), half("second.csv", &text[middle..])]
}

/// Waits for a fit and returns the rows that it learned.
fn rows_of(child: Child) -> u64 {
    let output = child.wait_with_output().expect("the command ends");
    assert!(output.status.success(), "kalmia fit: {}", output.status);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("fit --json prints JSON");
    summary["rows"].as_u64().expect("the summary counts the rows")
}

/// Peak memory of a fit whose rows arrive through a pipe, so no disk is involved; `None` where the
/// system has no `/proc`. It is read before the pipe is closed, when all rows but those in the pipe
/// are learned.
fn peak_bytes(rows: u64) -> Option<f64> {
    let mut child = start_fit("-", "auto", Stdio::piped());
    let pipe = child.stdin.take().expect("standard input is a pipe");
    let mut out = BufWriter::with_capacity(1 << 16, pipe);
    let mut generator = Generator::new();
    out.write_all(Generator::HEADER.as_bytes()).expect("the command reads");
    for _ in 0..rows {
        generator.line(&mut out).expect("the command reads");
    }
    out.flush().expect("the command reads");
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
    drop(out);
    assert_eq!(rows_of(child), rows, "the fit must see every row");
    let status = status.ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = peak.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(1024.0 * kilobytes)
}
