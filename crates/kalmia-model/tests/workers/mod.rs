//! What tests of several workers share, for numbers and for classes: the files that workers read,
//! what they ship, and the comparison of two tables of coefficients.

use kalmia_data::{Block, Input, Mode, Reader, SourceOptions};
use kalmia_model::{
    Error, MergeLearner, ModelOf, PartOf, PolishPrior, Polishing, ShardOf, SumsPass, TemplateOf,
    sums_from_bytes, sums_to_bytes,
};
use std::collections::BTreeMap;

/// Estimate and standard error of each coefficient, by name.
pub type Coefficients = BTreeMap<String, [f64; 2]>;

/// Lines of `x`, `town` and `y` as a file.
pub fn input(name: &str, lines: &[String]) -> Vec<Input> {
    let csv = "x,town,y\n".to_owned() + &lines.concat();
    vec![Input::memory(format!("{name}.csv"), csv.into_bytes())]
}

/// Small blocks, so that a file has several.
pub fn source() -> SourceOptions {
    SourceOptions { threaded: false, block_rows: 50, ..SourceOptions::default() }
}

/// What a worker ships.
pub fn learned<L: MergeLearner>(
    template: &[u8],
    name: &str,
    lines: &[String],
) -> Result<Vec<u8>, Error> {
    let mut shard = ShardOf::<L>::new(&TemplateOf::from_bytes(template)?)?;
    if !lines.is_empty() {
        let inputs = input(name, lines);
        let mut reader = Reader::open(inputs, source(), shard.encoder_mut(), Mode::Learn)?;
        let mut block = Block::new();
        while reader.next_block(shard.encoder_mut(), &mut block)? {
            shard.learn(&block)?;
        }
    }
    shard.part()?.to_bytes()
}

/// The parts merged one after the other, each shipped in between.
pub fn merged<L: MergeLearner>(parts: &[Vec<u8>], order: &[usize]) -> PartOf<L> {
    let mut whole = PartOf::from_bytes(&parts[order[0]]).unwrap();
    for &k in &order[1..] {
        whole.merge(&PartOf::from_bytes(&parts[k]).unwrap()).unwrap();
        whole = PartOf::from_bytes(&whole.to_bytes().unwrap()).unwrap();
    }
    whole
}

/// The model after passes over all parts, whose sums are merged in this order. Each pass is shipped
/// both ways.
pub fn polished<L: MergeLearner>(
    model: ModelOf<L>,
    parts: &[&[String]],
    prior: PolishPrior,
    robust: bool,
) -> ModelOf<L> {
    let mut polishing = Polishing::new(&model, prior, robust).unwrap();
    loop {
        let request = polishing.pass().to_bytes().unwrap();
        let mut sums = parts.iter().map(|part| {
            let pass = SumsPass::from_bytes(&request).unwrap();
            let mut encoder = pass.encoder().clone();
            let inputs = input("part", part);
            let mut reader = Reader::open(inputs, source(), &mut encoder, Mode::Evaluate).unwrap();
            let mut sums = pass.sums().unwrap();
            let mut block = Block::new();
            while reader.next_block(&mut encoder, &mut block).unwrap() {
                pass.add(&block, &mut sums).unwrap();
            }
            sums_from_bytes(&sums_to_bytes(&sums).unwrap()).unwrap()
        });
        let mut whole = sums.next().unwrap();
        sums.for_each(|part| whole.merge(&part).unwrap());
        if let Some(found) = polishing.step(&whole).unwrap() {
            return polishing.apply(model, &found).unwrap();
        }
    }
}

/// Estimates must agree within `tolerance` standard errors, and standard errors by the same share.
pub fn assert_near(a: &Coefficients, b: &Coefficients, tolerance: f64) {
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (name, [estimate, error]) in a {
        let [other, other_error] = b[name];
        assert!((estimate - other).abs() <= tolerance * error, "{name}: {estimate} {other}");
        assert!((error / other_error - 1.0).abs() <= tolerance, "{name}: {error} {other_error}");
    }
}
