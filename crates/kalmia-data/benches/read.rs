//! Reading speed on a CSV of ten float columns, beside the `csv` crate with the same float parser,
//! in two parts at the same time, and on Parquet.
//!
//! `cargo bench -p kalmia-data` reads about 100 MB (or `KALMIA_BENCH_MB`); run as a test it reads a
//! few KB, to show that it works.

use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use kalmia_data::{
    Block, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions, split_inputs,
};

const COLUMNS: usize = 10;

/// Uniform numbers by a 64-bit linear congruential generator: the bench needs no other
/// crate.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 * 20.0 - 10.0
    }
}

/// A CSV of about `bytes` bytes; `digits` after the point, or all that there are.
fn table(bytes: usize, digits: Option<usize>) -> Vec<u8> {
    let mut uniform = Uniform(1);
    let mut out = (0..COLUMNS).map(|i| format!("c{i}")).collect::<Vec<_>>().join(",").into_bytes();
    out.push(b'\n');
    while out.len() < bytes {
        for i in 0..COLUMNS {
            let end = if i + 1 == COLUMNS { '\n' } else { ',' };
            match digits {
                Some(digits) => write!(out, "{:.digits$}{end}", uniform.next()),
                None => write!(out, "{}{end}", uniform.next()),
            }
            .expect("writing to memory");
        }
    }
    out
}

/// Rows and checksum of a reading by this crate.
fn ours(inputs: Vec<Input>, threaded: bool) -> (u64, f64) {
    let source = SourceOptions { threaded, ..SourceOptions::default() };
    let options = EncoderOptions { intercept: false, ..EncoderOptions::target("c0") };
    let mut encoder = Encoder::new(options);
    let mut reader = Reader::open(inputs, source, &mut encoder, Mode::Learn).expect("a good table");
    let mut block = Block::new();
    let mut rows = 0;
    let mut sum = 0.0;
    while reader.next_block(&mut encoder, &mut block).expect("a good table") {
        rows += block.rows() as u64;
        sum += block.y.iter().sum::<f64>() + block.x.iter().sum::<f64>();
    }
    (rows, sum)
}

/// Rows and checksum of two parts that two threads read; the time to cut them counts.
fn in_two_parts(input: Input) -> (u64, f64) {
    let parts = split_inputs(&[input], &SourceOptions::default(), 2).expect("a good table");
    std::thread::scope(|scope| {
        let readers: Vec<_> =
            parts.into_iter().map(|part| scope.spawn(|| ours(part, false))).collect();
        let read = readers.into_iter().map(|reader| reader.join().expect("a good table"));
        read.fold((0, 0.0), |all, part| (all.0 + part.0, all.1 + part.1))
    })
}

/// Rows and checksum of a reading by the `csv` crate, into blocks of the same size.
fn theirs(bytes: &[u8]) -> (u64, f64) {
    let mut reader = csv::ReaderBuilder::new().buffer_capacity(1 << 20).from_reader(bytes);
    let mut record = csv::ByteRecord::new();
    let mut x = Vec::with_capacity(1024 * COLUMNS);
    let mut rows = 0;
    let mut sum = 0.0;
    while reader.read_byte_record(&mut record).expect("a good table") {
        x.extend(record.iter().map(|field| fast_float2::parse::<f64, _>(field).expect("a number")));
        rows += 1;
        if rows % 1024 == 0 {
            sum += black_box(&x).iter().sum::<f64>();
            x.clear();
        }
    }
    (rows, sum + x.iter().sum::<f64>())
}

#[cfg(feature = "columnar")]
fn parquet_of(csv: &[u8]) -> Vec<u8> {
    use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    let mut columns = vec![Vec::new(); COLUMNS];
    for line in csv.split(|&b| b == b'\n').skip(1).filter(|line| !line.is_empty()) {
        for (column, field) in columns.iter_mut().zip(line.split(|&b| b == b',')) {
            column.push(fast_float2::parse::<f64, _>(field).expect("a number"));
        }
    }
    let arrays = columns
        .into_iter()
        .enumerate()
        .map(|(i, v)| (format!("c{i}"), Arc::new(Float64Array::from(v)) as ArrayRef));
    let batch = RecordBatch::try_from_iter(arrays).expect("equal lengths");
    let mut out = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut out, batch.schema(), None)
        .expect("a plain schema");
    writer.write(&batch).expect("writing to memory");
    writer.close().expect("writing to memory");
    out
}

/// A reading to be timed: rows and checksum.
type Way<'a> = (&'static str, Box<dyn Fn() -> (u64, f64) + 'a>);

fn run(title: &str, bytes: Vec<u8>, rounds: usize) {
    let shared: Arc<[u8]> = bytes.clone().into();
    let csv = || Input::memory("t.csv", shared.clone());
    #[cfg_attr(not(feature = "columnar"), allow(unused_mut))]
    let mut ways: Vec<Way> = vec![
        ("csv crate", Box::new(|| theirs(&bytes))),
        ("kalmia, one thread", Box::new(|| ours(vec![csv()], false))),
        ("kalmia, reading ahead", Box::new(|| ours(vec![csv()], true))),
        ("kalmia, two parts", Box::new(|| in_two_parts(csv()))),
    ];
    #[cfg(feature = "columnar")]
    {
        let parquet: Arc<[u8]> = parquet_of(&bytes).into();
        let read = move || ours(vec![Input::memory("t.parquet", parquet.clone())], false);
        ways.push(("kalmia, Parquet, one thread", Box::new(read)));
    }
    // Rounds take turns: a slow moment of the machine then affects all alike. The best round
    // counts.
    let mut best = vec![f64::INFINITY; ways.len()];
    let mut seen = vec![(0, 0.0); ways.len()];
    for _ in 0..rounds {
        for (i, (_, way)) in ways.iter().enumerate() {
            let start = Instant::now();
            seen[i] = black_box(way());
            best[i] = best[i].min(start.elapsed().as_secs_f64());
        }
    }
    println!("{title}: {:.1} MB, {} rows", bytes.len() as f64 / 1e6, seen[0].0);
    for (i, (name, _)) in ways.iter().enumerate() {
        assert_eq!(seen[i].0, seen[0].0, "{name} must see every row");
        assert!(
            (seen[i].1 - seen[0].1).abs() <= 1e-9 * seen[0].0 as f64 * COLUMNS as f64,
            "{name} must see the same numbers"
        );
        let mb = bytes.len() as f64 / 1e6 / best[i];
        let rows = seen[i].0 as f64 / best[i];
        println!(
            "  {name:<28} {mb:8.1} MB of CSV/s {rows:12.0} rows/s  {:5.2} x",
            best[0] / best[i]
        );
    }
}

fn main() {
    let full = std::env::args().any(|arg| arg == "--bench");
    let megabytes =
        std::env::var("KALMIA_BENCH_MB").ok().and_then(|v| v.parse().ok()).unwrap_or(100);
    let (bytes, rounds) = if full { (megabytes * 1_000_000, 5) } else { (20_000, 1) };
    run("six decimals", table(bytes, Some(6)), rounds);
    run("all digits", table(bytes, None), rounds);
}
