//! Model files of every method and family: load, predict, evaluate, learn, merge, report.

use std::sync::OnceLock;

use kalmia::Family;
use kalmia::evaluate::Progressive;
use kalmia_data::{
    Block, Encoder, EncoderOptions, Input, Missing, Mode, Reader, SourceOptions, WideRows,
};
use kalmia_model::{Algorithm, Error, History, Method, Model, Settings, Summary};

use super::forge::mended_or_forged;
use super::reading::GOOD;
use super::{Target, outcome};
use crate::random::Random;

/// Model files, mutated as bytes and as states, their checksum mended.
pub const MODEL: Target = Target {
    name: "model",
    seeds: || seeds().to_vec(),
    words: &[b"null", b"[]", b"{}", b"-1", b"1e308", b"\\\"", b"true", b"false", b"0", b"dense"],
    finish,
    run: |bytes| match run(bytes) {
        Ok(()) => outcome(GOOD),
        Err(error) => outcome(&error.to_string()),
    },
};

fn finish(random: &mut Random, bytes: Vec<u8>) -> Vec<u8> {
    if Model::from_bytes(&bytes).is_ok() {
        return bytes;
    }
    mended_or_forged(random, bytes, seeds())
}

/// Rows whose target fits the family.
fn table(rows: usize, family: &str) -> String {
    let mut text = String::from("x,town,flag,w,y\n");
    for i in 0..rows {
        let x = (i * 7919 % 101) as f64 / 50.0 - 1.0;
        let town = ["Ulm", "Bonn", "Jena"][i * 31 % 3];
        let y = match family {
            "bernoulli" => (i % 3 % 2) as f64,
            "poisson" | "binomial:4" => (i * 17 % 4) as f64,
            "gamma" => 0.5 + (i * 13 % 7) as f64,
            _ => 3.0 * x + (i % 5) as f64,
        };
        let gap = if i % 11 == 5 { String::new() } else { x.to_string() };
        text += &format!("{gap},{town},{},{},{y}\n", i % 4 == 0, 1 + i % 2);
    }
    text
}

fn seeds() -> &'static [Vec<u8>] {
    static SEEDS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    SEEDS.get_or_init(|| {
        let methods = [
            "auto",
            "auto:adapt",
            "wide",
            "ekf",
            "truncated",
            "implicit",
            "moment",
            "ons",
            "averaged",
        ];
        let families = ["gaussian", "bernoulli", "poisson", "gamma", "binomial:4"];
        let mut seeds = Vec::new();
        for method in methods {
            for family in families {
                for rows in [20, 300] {
                    // a method may not apply to a family, or diverge
                    seeds.extend(fitted(method, family, rows).and_then(|m| m.to_bytes()).ok());
                }
            }
        }
        seeds
    })
}

fn fitted(method: &str, family: &str, rows: usize) -> Result<Model, Error> {
    let method = match method {
        "auto:adapt" => Algorithm::Auto {
            drift: kalmia::DriftMode::Adapt,
            outliers: kalmia::Outliers::Downweight,
        }
        .into(),
        "averaged" => Method { averaged: true, ..Method::default() },
        name => name.parse()?,
    };
    let options = EncoderOptions {
        missing: Missing::Mean,
        weight: Some("w".into()),
        wide: if method.rows() == WideRows::Always { WideRows::Always } else { WideRows::Never },
        ..EncoderOptions::target("y")
    };
    let mut encoder = Encoder::new(options);
    let mut reader = open(&mut encoder, Mode::Learn, rows, family)?;
    let mut block = Block::new();
    reader.next_block(&mut encoder, &mut block)?;
    let settings = Settings { method, family: family.parse()?, ..Settings::default() };
    let mut model = Model::new(settings, family.parse()?, encoder)?;
    model.history = History::starting(reader.fingerprints()?);
    learn(&mut model, reader, block)?;
    Ok(model)
}

fn open(
    encoder: &mut Encoder,
    mode: Mode,
    rows: usize,
    family: &str,
) -> Result<Reader, kalmia_data::Error> {
    let source = SourceOptions { threaded: false, block_rows: 64, ..SourceOptions::default() };
    let input = Input::memory("t.csv", table(rows, family).into_bytes());
    Reader::open(vec![input], source, encoder, mode)
}

fn learn(model: &mut Model, mut reader: Reader, mut block: Block) -> Result<(), Error> {
    let mut metrics = model.metrics.clone();
    loop {
        if block.rows() > 0 {
            model.learn(&block, Some(&mut metrics))?;
        }
        if !reader.next_block(&mut model.encoder, &mut block)? {
            break;
        }
    }
    model.metrics = metrics;
    Ok(())
}

fn run(bytes: &[u8]) -> Result<(), Error> {
    let model = Model::from_bytes(bytes)?;
    let family = match model.family() {
        kalmia::AnyFamily::Binomial(_) => "binomial:4".into(),
        family => family.name().to_owned(),
    };
    // each of these may be refused, but none may panic
    let _ = Summary::new(&model);
    let _ = model.coefficients(0.95);
    let _ = model.metrics.course();
    let _ = model.history.repeats();
    let _ = predict(&model, Mode::Predict, &family);
    let _ = predict(&model, Mode::Evaluate, &family);
    let _ = model.learner.merge(&model.learner);
    let mut learned = model.clone();
    if let Ok(reader) = open(&mut learned.encoder, Mode::Learn, 40, &family) {
        let _ = learn(&mut learned, reader, Block::new());
        let _ = Summary::new(&learned);
    }
    // what was read is written as it was read
    let written = model.to_bytes()?;
    let again = Model::from_bytes(&written)?.to_bytes()?;
    assert!(again == written, "the model changed on its way");
    Ok(())
}

fn predict(model: &Model, mode: Mode, family: &str) -> Result<(), Error> {
    let mut encoder = model.encoder.clone();
    let mut reader = open(&mut encoder, mode, 12, family)?;
    let mut sums = Progressive::after(&model.metrics.progressive);
    let mut block = Block::new();
    while reader.next_block(&mut encoder, &mut block)? {
        model.predict(&block, &mut |i, prediction| {
            let interval = prediction.interval(0.95);
            let _ = prediction.mean_interval(0.95);
            if mode == Mode::Evaluate {
                let _ = sums.row(block.y[i], prediction.mean, interval.ok(), 1.0);
            }
            Ok(())
        })?;
    }
    let _ = sums.report();
    Ok(())
}
