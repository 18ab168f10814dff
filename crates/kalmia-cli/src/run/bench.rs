//! `kalmia bench`: what reading, fitting and memory cost on this machine, as ratios within one run.

mod data;

use crate::args::BenchArgs;
use crate::error::{Failure, Result};
use crate::plan::FitPlan;
use crate::report::{self, Table};
use crate::run::fit;
use crate::ui::{self, Ui, grouped};
use clap::Parser;
use data::{Folder, Generator};
use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions};
use serde::Serialize;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// One line of the table.
#[derive(Debug, Serialize)]
struct Measure {
    what: &'static str,
    seconds: f64,
    rows_per_second: f64,
    megabytes_per_second: f64,
    /// The line that the ratio is against, and the ratio of speeds.
    against: Option<(&'static str, f64)>,
    /// The least ratio that is promised.
    promised: Option<f64>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Results {
    rows: u64,
    bytes: u64,
    speed: Vec<Measure>,
    memory: Vec<Memory>,
}

#[derive(Serialize)]
struct Memory {
    rows: u64,
    peak_bytes: Option<u64>,
}

/// Runs the command.
pub fn run(args: &BenchArgs, ui: Ui) -> Result<()> {
    if let Some(path) = &args.memory_of {
        return memory_of(path);
    }
    let megabytes = args.megabytes.unwrap_or(if args.quick { 20 } else { 300 });
    // so that the folder goes
    ui::catch_interrupts();
    let folder = Folder::new()?;
    let (csv, parquet) = (folder.path().join("rows.csv"), folder.path().join("rows.parquet"));
    ui.note(&format!(
        "writing {megabytes} MB of CSV, and the same rows as Parquet, to {}",
        folder.path().display()
    ));
    let rows = data::write_both(&csv, &parquet, megabytes * 1_000_000)?;
    let bytes = std::fs::metadata(&csv).map_err(Failure::output(&csv))?.len();
    let speed = speed(&csv, &parquet, rows, bytes, if args.quick { 1 } else { 5 }, ui)?;
    let sizes = if args.quick { [10_000, 200_000] } else { [100_000, 10_000_000] };
    let memory = sizes.map(|rows| {
        ui.note(&format!("peak memory of fit --method auto on {} rows", grouped(rows)));
        Ok(Memory { rows, peak_bytes: peak(rows)? })
    });
    let memory = memory.into_iter().collect::<Result<Vec<_>>>()?;
    let results = Results { rows, bytes, speed, memory };
    ui::print(&if args.json { report::json(&results)? } else { text(&results) })
}

/// The ways are run in turns, so that a slow moment of the machine hits all alike; the best turn
/// counts.
fn speed(
    csv: &Path,
    parquet: &Path,
    rows: u64,
    bytes: u64,
    turns: usize,
    ui: Ui,
) -> Result<Vec<Measure>> {
    type Way<'a> = (&'static str, Option<(&'static str, f64)>, Box<dyn Fn() -> Result<u64> + 'a>);
    let ways: Vec<Way> = vec![
        ("csv crate + fast float, CSV", None, Box::new(|| theirs(csv))),
        ("reader alone, CSV", Some(("csv crate + fast float, CSV", 1.0)), Box::new(|| ours(csv))),
        (
            "fit --method ekf, CSV",
            Some(("reader alone, CSV", 0.8)),
            Box::new(|| fit_rows(csv, "ekf")),
        ),
        (
            "fit --method auto, CSV",
            Some(("reader alone, CSV", 0.4)),
            Box::new(|| fit_rows(csv, "auto")),
        ),
        ("reader alone, Parquet", Some(("reader alone, CSV", 1.0)), Box::new(|| ours(parquet))),
        (
            "fit --method ekf, Parquet",
            Some(("fit --method ekf, CSV", 1.0)),
            Box::new(|| fit_rows(parquet, "ekf")),
        ),
    ];
    let mut best = vec![f64::INFINITY; ways.len()];
    for turn in 0..turns {
        for (i, (name, _, way)) in ways.iter().enumerate() {
            if ui::stop_requested() {
                return Err(Failure::Interrupted("interrupted".into()));
            }
            ui.note(&format!("turn {} of {turns}: {name}", turn + 1));
            let start = Instant::now();
            let seen = way()?;
            best[i] = best[i].min(start.elapsed().as_secs_f64());
            if seen != rows {
                return Err(Failure::Other(format!("{name} saw {seen} rows of {rows}")));
            }
        }
    }
    let names: Vec<&str> = ways.iter().map(|way| way.0).collect();
    let measure = |(i, way): (usize, &Way)| Measure {
        what: way.0,
        seconds: best[i],
        rows_per_second: rows as f64 / best[i],
        megabytes_per_second: bytes as f64 / 1e6 / best[i],
        against: way.1.and_then(|(other, _)| {
            names.iter().position(|n| *n == other).map(|j| (other, best[j] / best[i]))
        }),
        promised: way.1.map(|(_, promised)| promised),
    };
    Ok(ways.iter().enumerate().map(measure).collect())
}

/// Reading, parsing and encoding without learning.
fn ours(path: &Path) -> Result<u64> {
    let mut encoder = Encoder::new(EncoderOptions::target("y"));
    let mut reader = Reader::open(
        vec![Input::file(&path.to_string_lossy())?],
        SourceOptions::default(),
        &mut encoder,
        Mode::Learn,
    )?;
    let (mut block, mut rows) = (Block::new(), 0);
    while reader.next_block(&mut encoder, &mut block)? {
        rows += black_box(&block).rows() as u64;
    }
    Ok(rows)
}

/// The same numbers by the `csv` crate with the same float parser, into blocks of the same size.
fn theirs(path: &Path) -> Result<u64> {
    let broken = |error: csv::Error| Failure::Other(error.to_string());
    let mut reader =
        csv::ReaderBuilder::new().buffer_capacity(1 << 20).from_path(path).map_err(broken)?;
    let (mut record, mut block, mut rows) = (csv::ByteRecord::new(), Vec::new(), 0);
    while reader.read_byte_record(&mut record).map_err(broken)? {
        for field in &record {
            block.push(
                fast_float2::parse::<f64, _>(field)
                    .map_err(|error| Failure::Other(error.to_string()))?,
            );
        }
        rows += 1;
        if rows % 1024 == 0 {
            black_box(&block);
            block.clear();
        }
    }
    Ok(rows)
}

/// The fit of the command, from file to model in memory.
fn fit_rows(path: &Path, method: &str) -> Result<u64> {
    let path = path.to_string_lossy();
    let words = ["kalmia", "fit", &path, "--target", "y", "--method", method];
    let cli = crate::args::Cli::try_parse_from(words)
        .map_err(|error| Failure::Other(error.to_string()))?;
    let crate::args::Command::Fit(args) = cli.command else {
        return Err(Failure::Other("another command".into()));
    };
    let (model, rows, _) = fit::fresh(&FitPlan::new(&args)?, Ui::new(true))?;
    black_box(model);
    Ok(rows)
}

/// Peak memory of a process of its own that fits rows made on the fly, so that no disk is needed.
fn peak(rows: u64) -> Result<Option<u64>> {
    let failed = |error: std::io::Error| Failure::Other(format!("cannot measure memory: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let mut child = Command::new(program)
        .args(["--quiet", "bench", "--memory-of", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(stdin) = child.stdin.take() {
        let mut out = BufWriter::with_capacity(1 << 16, stdin);
        let mut generator = Generator::new();
        out.write_all(Generator::HEADER.as_bytes()).map_err(failed)?;
        for _ in 0..rows {
            generator.line(&mut out).map_err(failed)?;
        }
        out.flush().map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok())
}

/// The child's part: fits, then prints its own peak in bytes, where the system tells it.
fn memory_of(path: &Path) -> Result<()> {
    fit_rows(path, "auto")?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes =
        line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    ui::print(&kilobytes.map_or("unknown\n".into(), |kb| format!("{}\n", kb * 1024)))
}

fn text(results: &Results) -> String {
    let mut table = Table::new(["", "seconds", "MB of CSV/s", "rows/s", "ratio", "against"]);
    for m in &results.speed {
        let ratio = m.against.map_or(String::new(), |(_, ratio)| format!("{ratio:.2}"));
        let against = match (m.against, m.promised) {
            (Some((other, _)), Some(promised)) => format!("{other} (at least {promised:.2})"),
            _ => String::new(),
        };
        let cells = [
            format!("{:.2}", m.seconds),
            format!("{:.0}", m.megabytes_per_second),
            grouped(m.rows_per_second as u64),
        ];
        table.row([m.what.to_owned()].into_iter().chain(cells).chain([ratio, against]));
    }
    let mut memory = Table::new(["rows", "peak memory, MB"]);
    for m in &results.memory {
        memory.row([
            grouped(m.rows),
            m.peak_bytes.map_or("unknown".into(), |bytes| format!("{:.1}", bytes as f64 / 1e6)),
        ]);
    }
    let head = format!(
        "{:.1} MB of CSV, {} rows of 9 numbers and a label",
        results.bytes as f64 / 1e6,
        grouped(results.rows)
    );
    format!("{head}\n\n{}\nfit --method auto from a pipe\n{}", table.render(), memory.render())
}
