//! Reading speed of sparse rows: libsvm, and texts cut into tokens.
//!
//! `cargo bench -p kalmia-data --bench sparse` reads about 50 MB per way (or `KALMIA_BENCH_MB`);
//! run as a test it reads a few KB, to show that it works.

use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use kalmia_data::{
    Analyzer, Block, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions, WideRows,
};

/// Entries or words per row.
const PER_ROW: usize = 40;

/// Numbers that look random, by a 64-bit linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn libsvm(bytes: usize) -> Vec<u8> {
    let mut random = Random(1);
    let mut out = Vec::new();
    while out.len() < bytes {
        write!(out, "{}", random.below(2)).expect("writing to memory");
        let mut key = 0;
        for _ in 0..PER_ROW {
            key += 1 + random.below(50_000);
            write!(out, " {key}:0.{}", random.below(10_000)).expect("writing to memory");
        }
        out.push(b'\n');
    }
    out
}

fn texts(bytes: usize) -> Vec<u8> {
    let mut random = Random(2);
    let mut out = b"y,review\n".to_vec();
    while out.len() < bytes {
        write!(out, "{},", random.below(2)).expect("writing to memory");
        for _ in 0..PER_ROW {
            // small numbers are frequent, as short words are
            let range = 1 + random.below(1 << 16);
            let word = random.below(range);
            write!(out, "W{word:x} ").expect("writing to memory");
        }
        out.push(b'\n');
    }
    out
}

/// Rows and entries of a reading.
fn entries(input: Input, options: &EncoderOptions) -> (usize, usize) {
    let source = SourceOptions { threaded: false, ..SourceOptions::default() };
    let mut encoder = Encoder::new(options.clone());
    let mut reader =
        Reader::open(vec![input], source, &mut encoder, Mode::Learn).expect("a good file");
    let mut block = Block::new();
    let mut rows = 0;
    let mut entries = 0;
    while reader.next_block(&mut encoder, &mut block).expect("a good file") {
        rows += block.rows();
        entries += black_box(&block).sparse.as_ref().map_or(0, |rows| rows.indices.len());
    }
    (rows, entries)
}

fn run(title: &str, name: &str, bytes: Vec<u8>, options: &EncoderOptions, rounds: usize) {
    let bytes: Arc<[u8]> = bytes.into();
    let mut best = f64::INFINITY;
    let mut seen = (0, 0);
    for _ in 0..rounds {
        let start = Instant::now();
        seen = entries(Input::memory(name, bytes.clone()), options);
        best = best.min(start.elapsed().as_secs_f64());
    }
    assert!(seen.1 > seen.0, "{title} must have entries");
    println!(
        "{title:<24} {:8.1} MB/s {:12.0} rows/s {:8.1} ns per entry",
        bytes.len() as f64 / 1e6 / best,
        seen.0 as f64 / best,
        1e9 * best / seen.1 as f64
    );
}

fn main() {
    let full = std::env::args().any(|arg| arg == "--bench");
    let megabytes =
        std::env::var("KALMIA_BENCH_MB").ok().and_then(|v| v.parse().ok()).unwrap_or(50);
    let (bytes, rounds) = if full { (megabytes * 1_000_000, 3) } else { (20_000, 1) };
    let wide = EncoderOptions { wide: WideRows::Always, ..EncoderOptions::default() };
    run("libsvm", "t.svm", libsvm(bytes), &wide, rounds);
    let hashed = EncoderOptions { hash_bits: Some(20), ..wide.clone() };
    run("libsvm, hashed", "t.svm", libsvm(bytes), &hashed, rounds);
    for analyzer in ["words", "words:2", "characters:3-5"] {
        let analyzer: Analyzer = analyzer.parse().expect("a legal analyzer");
        let target = Some("y".into());
        let text = vec!["review".into()];
        let options = EncoderOptions { target, text, analyzer, ..wide.clone() };
        run(&format!("text, {analyzer}"), "t.csv", texts(bytes), &options, rounds);
    }
}
