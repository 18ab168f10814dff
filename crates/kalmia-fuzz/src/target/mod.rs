//! What is fuzzed: one target per reader of foreign bytes.

mod columnar;
mod forge;
mod model;
mod planted;
mod reading;
mod rows;
mod several;
mod shipped;
mod table;
mod text;

use crate::random::Random;

/// One reader, with inputs that it accepts.
pub struct Target {
    /// The name on the command line and of the folder under `target/fuzz`.
    pub name: &'static str,
    /// Inputs to begin with, all of them good.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Texts that mean something in the format.
    pub words: &'static [&'static [u8]],
    /// Makes the final input of mutated bytes: compresses them, or mends a checksum.
    pub finish: fn(&mut Random, Vec<u8>) -> Vec<u8>,
    /// Reads an input. It must neither panic nor abort. Returns a number that stands for what
    /// happened: an input with a new number is kept and mutated further.
    pub run: fn(&[u8]) -> u64,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    text::CSV,
    text::STREAM,
    text::JSONL,
    text::LIBSVM,
    columnar::PARQUET,
    columnar::ARROW,
    model::MODEL,
    several::SEVERAL,
    shipped::SHIPPED,
    rows::JSON,
    rows::TABLE,
];

/// The target of this name. One more than [`TARGETS`] has a fault on purpose.
pub fn named(name: &str) -> Option<&'static Target> {
    TARGETS.iter().chain([&planted::PLANTED]).find(|target| target.name == name)
}

/// The input as it is.
fn unchanged(_: &mut Random, bytes: Vec<u8>) -> Vec<u8> {
    bytes
}

/// A number that stands for an outcome in words; digits and quoted values do not count.
pub fn outcome(words: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut quoted = false;
    for byte in words.bytes() {
        quoted ^= byte == b'`';
        if !quoted && !byte.is_ascii_digit() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_seed_is_read() {
        let mut names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TARGETS.len());
        for target in TARGETS {
            let seeds = (target.seeds)();
            assert!(!seeds.is_empty(), "{}", target.name);
            let good = outcome(reading::GOOD);
            for seed in seeds {
                let input = (target.finish)(&mut Random::new(1), seed);
                assert_eq!((target.run)(&input), good, "a seed of {} is refused", target.name);
            }
        }
    }

    #[test]
    fn outcomes_differ_by_their_words_alone() {
        assert_eq!(outcome("row 1: `a` is bad"), outcome("row 22: `bc` is bad"));
        assert_ne!(outcome("row 1: `a` is bad"), outcome("row 1: `a` is good"));
    }
}
