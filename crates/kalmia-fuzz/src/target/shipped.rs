//! What workers of a fit ship to each other: templates, parts, passes and sums.

use std::sync::OnceLock;

use kalmia_data::{Block, Classes, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions};
use kalmia_model::{
    AnyMerged, AnyModel, AnyPart, AnyTemplate, ClassModel, Error, Model, PolishPrior, Settings,
    SumsPass, sums_from_bytes, sums_to_bytes,
};

use super::forge::mended_or_forged;
use super::reading::GOOD;
use super::table::separated;
use super::{Target, outcome};
use crate::random::Random;

/// Bytes of every kind that is shipped, mutated as bytes and as states, their checksum mended.
pub const SHIPPED: Target = Target {
    name: "shipped",
    seeds: || seeds().to_vec(),
    words: &[b"null", b"[]", b"{}", b"-1", b"1e308", b"true", b"0", b"part", b"template", b"sums"],
    finish,
    run: |bytes| match run(bytes) {
        Ok(()) => outcome(GOOD),
        Err(error) => outcome(&error.to_string()),
    },
};

fn finish(random: &mut Random, bytes: Vec<u8>) -> Vec<u8> {
    if run(&bytes).is_ok() {
        return bytes;
    }
    mended_or_forged(random, bytes, seeds())
}

fn seeds() -> &'static [Vec<u8>] {
    static SEEDS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    SEEDS.get_or_init(|| {
        let mut seeds = Vec::new();
        for method in ["auto", "moment"] {
            // a seed that cannot be made would be missed by the test of seeds
            let sample = numbers(method).expect("the rows are good");
            seeds.extend(shipped(sample).expect("the rows are good"));
        }
        let sample = classes().expect("the rows are good");
        seeds.extend(shipped(sample).expect("the rows are good"));
        seeds
    })
}

/// A model of numbers after some rows.
fn numbers(method: &str) -> Result<AnyModel, Error> {
    let (encoder, block) = first(EncoderOptions::target("y"))?;
    let settings = Settings { method: method.parse()?, ..Settings::default() };
    let mut sample = Model::new(settings, "gaussian".parse()?, encoder)?;
    sample.learn(&block, None)?;
    Ok(AnyModel::Numbers(Box::new(sample)))
}

/// A model of several classes after some rows.
fn classes() -> Result<AnyModel, Error> {
    let options = EncoderOptions { classes: Classes::Always, ..EncoderOptions::target("flag") };
    let (encoder, block) = first(options)?;
    let mut sample = ClassModel::new(Settings::default(), encoder)?;
    sample.learn(&block, None)?;
    Ok(AnyModel::Classes(Box::new(sample)))
}

/// The first block of rows, and what it shows about the columns.
fn first(options: EncoderOptions) -> Result<(Encoder, Block), Error> {
    let options = EncoderOptions { missing: kalmia_data::Missing::Mean, ..options };
    let mut encoder = Encoder::new(options);
    let mut reader = open(&mut encoder, Mode::Learn)?;
    let mut block = Block::new();
    reader.next_block(&mut encoder, &mut block)?;
    Ok((encoder, block))
}

fn shipped(sample: AnyModel) -> Result<Vec<Vec<u8>>, Error> {
    let template = AnyTemplate::new(sample)?;
    let part = part(&template)?;
    let polishing = AnyMerged::new(&template, &part)?.polishing(PolishPrior::Fitted, true)?;
    let sums = sums(polishing.pass())?;
    Ok(vec![template.to_bytes()?, part.to_bytes()?, polishing.pass().to_bytes()?, sums])
}

fn open(encoder: &mut Encoder, mode: Mode) -> Result<Reader, kalmia_data::Error> {
    let source = SourceOptions { threaded: false, block_rows: 64, ..SourceOptions::default() };
    let input = Input::memory("t.csv", separated(200, ',', "\n"));
    Reader::open(vec![input], source, encoder, mode)
}

fn part(template: &AnyTemplate) -> Result<AnyPart, Error> {
    let mut shard = template.shard()?;
    let mut reader = open(shard.encoder_mut(), Mode::Learn)?;
    let mut block = Block::new();
    while reader.next_block(shard.encoder_mut(), &mut block)? {
        shard.learn(&block)?;
    }
    shard.part()
}

fn sums(pass: &SumsPass) -> Result<Vec<u8>, Error> {
    let mut encoder = pass.encoder().clone();
    let mut reader = open(&mut encoder, Mode::Evaluate)?;
    let mut sums = pass.sums()?;
    let mut block = Block::new();
    while reader.next_block(&mut encoder, &mut block)? {
        pass.add(&block, &mut sums)?;
    }
    sums_to_bytes(&sums)
}

/// Reads the bytes as whatever they are. What follows may be refused, but must not panic.
fn run(bytes: &[u8]) -> Result<(), Error> {
    if let Ok(part) = AnyPart::from_bytes(bytes) {
        let mut twice = part.clone();
        let _ = twice.merge(&part);
        return Ok(());
    }
    if let Ok(pass) = SumsPass::from_bytes(bytes) {
        let _ = sums(&pass);
        return Ok(());
    }
    if let Ok(mut sums) = sums_from_bytes(bytes) {
        let other = sums.clone();
        let _ = sums.merge(&other);
        return Ok(());
    }
    let template = AnyTemplate::from_bytes(bytes)?;
    if let Ok(part) = part(&template) {
        let _ = AnyMerged::new(&template, &part);
    }
    Ok(())
}
