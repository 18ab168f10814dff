//! Model files of several classes and of several quantiles: load, predict, learn, report.

use std::sync::OnceLock;

use kalmia::DriftMode;
use kalmia::learner::AnyCategorical;
use kalmia_data::{
    Block, Classes, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions, WideRows,
};
use kalmia_model::{
    Algorithm, ClassModel, ClassSummary, Error, ModelLearner, ModelOf, QuantileModel,
    QuantileSummary, Settings,
};

use super::forge::mended_or_forged;
use super::reading::GOOD;
use super::{Target, outcome};
use crate::random::Random;

/// Model files, mutated as bytes and as states, their checksum mended.
pub const SEVERAL: Target = Target {
    name: "several",
    seeds: || seeds().to_vec(),
    words: &[b"null", b"[]", b"{}", b"-1", b"1e308", b"\\\"", b"true", b"0", b"classes"],
    finish,
    run: |bytes| match run(bytes) {
        Ok(()) => outcome(GOOD),
        Err(error) => outcome(&error.to_string()),
    },
};

fn finish(random: &mut Random, bytes: Vec<u8>) -> Vec<u8> {
    if ClassModel::from_bytes(&bytes).is_ok() || QuantileModel::from_bytes(&bytes).is_ok() {
        return bytes;
    }
    mended_or_forged(random, bytes, seeds())
}

fn seeds() -> &'static [Vec<u8>] {
    static SEEDS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    SEEDS.get_or_init(|| {
        let mut seeds = Vec::new();
        for drift in [DriftMode::Off, DriftMode::Detect, DriftMode::Adapt] {
            for rows in [20, 300] {
                for text in [false, true] {
                    let model = classes(drift, rows, text);
                    seeds.extend(model.and_then(|model| model.to_bytes()).ok());
                }
                seeds.extend(quantiles(drift, rows).and_then(|model| model.to_bytes()).ok());
            }
        }
        seeds
    })
}

/// Rows of three names and numbers.
fn open(encoder: &mut Encoder, mode: Mode, rows: usize) -> Result<Reader, kalmia_data::Error> {
    let mut text = String::from("x,town,name,y\n");
    for i in 0..rows {
        let x = (i * 7919 % 101) as f64 / 50.0 - 1.0;
        let town = ["Ulm", "Bonn", "Jena"][i * 31 % 3];
        let name = ["fig", "pear", "plum"][i * 17 % 3];
        text += &format!("{x},{town},{name},{}\n", 3.0 * x + (i % 5) as f64);
    }
    let source = SourceOptions { threaded: false, block_rows: 64, ..SourceOptions::default() };
    Reader::open(vec![Input::memory("t.csv", text.into_bytes())], source, encoder, mode)
}

fn settings(family: &str, drift: DriftMode) -> Result<Settings, Error> {
    let method = Algorithm::Auto { drift, outliers: kalmia::Outliers::Keep }.into();
    Ok(Settings { method, family: family.parse()?, ..Settings::default() })
}

/// With `text` a column is text, so rows are sparse.
fn classes(drift: DriftMode, rows: usize, text: bool) -> Result<ClassModel, Error> {
    let options = EncoderOptions {
        classes: Classes::Always,
        exclude: vec!["y".into()],
        text: if text { vec!["town".into()] } else { vec![] },
        wide: if text { WideRows::Auto } else { WideRows::Never },
        ..EncoderOptions::target("name")
    };
    fitted(options, rows, |encoder| ClassModel::new(settings("categorical", drift)?, encoder))
}

fn quantiles(drift: DriftMode, rows: usize) -> Result<QuantileModel, Error> {
    let options = EncoderOptions { exclude: vec!["name".into()], ..EncoderOptions::target("y") };
    fitted(options, rows, |encoder| {
        QuantileModel::new(settings("quantile:0.1,0.5,0.9", drift)?, encoder)
    })
}

fn fitted<L: ModelLearner>(
    options: EncoderOptions,
    rows: usize,
    make: impl FnOnce(Encoder) -> Result<ModelOf<L>, Error>,
) -> Result<ModelOf<L>, Error> {
    let mut encoder = Encoder::new(options);
    let mut reader = open(&mut encoder, Mode::Learn, rows)?;
    let mut block = Block::new();
    reader.next_block(&mut encoder, &mut block)?;
    let mut model = make(encoder)?;
    learn(&mut model, reader, block)?;
    Ok(model)
}

fn learn<L: ModelLearner>(
    model: &mut ModelOf<L>,
    mut reader: Reader,
    mut block: Block,
) -> Result<(), Error> {
    loop {
        if block.rows() > 0 {
            model.learn(&block, None)?;
        }
        if !reader.next_block(&mut model.encoder, &mut block)? {
            return Ok(());
        }
    }
}

fn run(bytes: &[u8]) -> Result<(), Error> {
    let Ok(model) = ClassModel::from_bytes(bytes) else {
        let model = QuantileModel::from_bytes(bytes)?;
        let _ = QuantileSummary::new(&model);
        let _ = each_block(&model, |block| model.predict_quantiles(block, &mut |_, _| Ok(())));
        return use_model(&model);
    };
    // each of these may be refused, but none may panic
    let _ = ClassSummary::new(&model);
    let _ = model.metrics.course();
    let _ = each_block(&model, |block| model.predict_classes(block, &mut |_, _| Ok(())));
    if let AnyCategorical::Wide(wide) = &model.learner {
        let _ = wide.clone().prune(1.0);
    }
    use_model(&model)
}

/// Calls `take` with some blocks to predict.
fn each_block<L: ModelLearner>(
    model: &ModelOf<L>,
    mut take: impl FnMut(&Block) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut encoder = model.encoder.clone();
    let mut reader = open(&mut encoder, Mode::Predict, 12)?;
    let mut block = Block::new();
    while reader.next_block(&mut encoder, &mut block)? {
        take(&block)?;
    }
    Ok(())
}

/// Learns more rows with a copy; what was read is written as it was read.
fn use_model<L: ModelLearner>(model: &ModelOf<L>) -> Result<(), Error> {
    let mut learned = model.clone();
    if let Ok(reader) = open(&mut learned.encoder, Mode::Learn, 40) {
        let _ = learn(&mut learned, reader, Block::new());
    }
    let written = model.to_bytes()?;
    let again = ModelOf::<L>::from_bytes(&written)?.to_bytes()?;
    assert!(again == written, "the model changed on its way");
    Ok(())
}
