//! Reads files into blocks and prints what they hold: `cargo run --release --example rows -- TARGET
//! FILE...`; without arguments, a set of the repository.

use std::process::ExitCode;
use std::time::Instant;

use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, Result, SourceOptions};

fn run(target: &str, files: &[String]) -> Result<()> {
    let mut encoder = Encoder::new(EncoderOptions::target(target));
    let options = SourceOptions::default();
    let mut reader = Reader::open(Input::resolve(files)?, options, &mut encoder, Mode::Learn)?;
    let start = Instant::now();
    let mut block = Block::new();
    while reader.next_block(&mut encoder, &mut block)? {}
    let seconds = start.elapsed().as_secs_f64();
    let done = reader.progress().done as f64 / 1e6;
    let rows = encoder.counts().rows;
    let dim = encoder.dim();
    println!(
        "{rows} rows of {dim} features in {seconds:.3} s, {:.0} MB/s, {:.0} rows/s",
        done / seconds,
        rows as f64 / seconds
    );
    let names: Vec<_> = encoder.features().iter().take(20).map(|feature| &*feature.name).collect();
    println!("features: {}{}", names.join(", "), if dim > names.len() { ", ..." } else { "" });
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/breast_cancer.csv");
    let result = match arguments.split_first() {
        Some((target, files)) => run(target, files),
        None => run("benign", &[own.to_string()]),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
