//! What workers of a fit ship to each other: templates, parts, passes and sums.

use std::sync::OnceLock;

use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions};
use kalmia_model::{
    Error, Model, Part, PolishPrior, Polishing, Settings, Shard, SumsPass, Template,
    sums_from_bytes, sums_to_bytes,
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
            seeds.extend(shipped(method).expect("the rows are good"));
        }
        seeds
    })
}

fn shipped(method: &str) -> Result<Vec<Vec<u8>>, Error> {
    let options =
        EncoderOptions { missing: kalmia_data::Missing::Mean, ..EncoderOptions::target("y") };
    let mut encoder = Encoder::new(options);
    let mut reader = open(&mut encoder, Mode::Learn)?;
    let mut block = Block::new();
    reader.next_block(&mut encoder, &mut block)?;
    let settings = Settings { method: method.parse()?, ..Settings::default() };
    let mut sample = Model::new(settings, "gaussian".parse()?, encoder)?;
    sample.learn(&block, None)?;
    let template = Template::new(sample)?;
    let part = part(&template)?;
    let model = template.model(&part)?.model;
    let polishing = Polishing::new(&model, PolishPrior::Fitted, true)?;
    let sums = sums(polishing.pass())?;
    Ok(vec![template.to_bytes()?, part.to_bytes()?, polishing.pass().to_bytes()?, sums])
}

fn open(encoder: &mut Encoder, mode: Mode) -> Result<Reader, kalmia_data::Error> {
    let source = SourceOptions { threaded: false, block_rows: 64, ..SourceOptions::default() };
    let input = Input::memory("t.csv", separated(200, ',', "\n"));
    Reader::open(vec![input], source, encoder, mode)
}

fn part(template: &Template) -> Result<Part, Error> {
    let mut shard = Shard::new(template)?;
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
    if let Ok(part) = Part::from_bytes(bytes) {
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
    let template = Template::from_bytes(bytes)?;
    if let Ok(part) = part(&template) {
        let _ = template.model(&part);
    }
    Ok(())
}
