//! Mutations of bytes: flips, splices, cuts, repetitions, and the numbers at which code breaks.

use crate::random::Random;

/// Longest input made by mutation.
const MAX_INPUT_BYTES: usize = 1 << 16;
/// Longest piece that one mutation moves.
const MAX_PIECE_BYTES: usize = 256;

/// Changes `bytes` by one to eight mutations. `others` are spliced in, `words` are texts that
/// mean something in the format. Half of the inputs keep their length, because a binary file that
/// is cut or moved is refused at once.
pub fn mutate(random: &mut Random, bytes: &mut Vec<u8>, others: &[Vec<u8>], words: &[&[u8]]) {
    let count = 1 << random.below(4);
    let in_place = random.once_in(2);
    for _ in 0..count {
        if in_place {
            replace(random, bytes, words);
        } else {
            once(random, bytes, others, words);
        }
        bytes.truncate(MAX_INPUT_BYTES);
    }
}

/// A mutation that keeps the length.
fn replace(random: &mut Random, bytes: &mut [u8], words: &[&[u8]]) {
    match random.below(5) {
        0 => flip(random, bytes),
        1 => set(random, bytes),
        2 | 3 => number(random, bytes),
        _ => {
            if let Some(word) = random.pick(words) {
                overwrite(random, bytes, word, 1);
            }
        }
    }
}

/// Any mutation.
fn once(random: &mut Random, bytes: &mut Vec<u8>, others: &[Vec<u8>], words: &[&[u8]]) {
    match random.below(10) {
        0..4 => replace(random, bytes, words),
        4 => {
            let piece = piece(random, bytes);
            bytes.drain(piece);
        }
        5 => {
            let piece = bytes[piece(random, bytes)].to_vec();
            insert(random, bytes, &piece);
        }
        6 => repeat(random, bytes),
        7 => {
            let at = random.below(bytes.len() + 1);
            bytes.truncate(at);
        }
        8 => splice(random, bytes, others),
        _ => {
            if let Some(word) = random.pick(words) {
                insert(random, bytes, word);
            }
        }
    }
}

fn flip(random: &mut Random, bytes: &mut [u8]) {
    let at = random.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

fn set(random: &mut Random, bytes: &mut [u8]) {
    let at = random.below(bytes.len());
    let common = *b"\0\x01\x7f\x80\xff\n\r\t \",:;{}[].-+e09";
    if let Some(byte) = bytes.get_mut(at) {
        let any = random.bits() as u8;
        *byte = if random.once_in(2) { any } else { common[random.below(common.len())] };
    }
}

/// Writes a number of one to eight bytes, at a place that lengths in files have: aligned mostly.
fn number(random: &mut Random, bytes: &mut [u8]) {
    let width = 1 << random.below(4);
    let value = interesting(random, bytes.len()).to_le_bytes();
    let align = if random.once_in(4) { 1 } else { width };
    overwrite(random, bytes, &value[..width], align);
}

/// Numbers at which code breaks: ends of ranges, powers of two, and near the length itself.
fn interesting(random: &mut Random, len: usize) -> u64 {
    let near = (random.below(5) as u64).wrapping_sub(2);
    match random.below(4) {
        0 => near,
        1 => (1_u64 << random.below(64)).wrapping_add(near),
        2 => (len as u64).wrapping_add(near),
        _ => random.bits() >> random.below(64),
    }
}

fn overwrite(random: &mut Random, bytes: &mut [u8], with: &[u8], align: usize) {
    if let Some(places) = bytes.len().checked_sub(with.len()) {
        let at = random.below(places + 1) / align * align;
        bytes[at..at + with.len()].copy_from_slice(with);
    }
}

fn insert(random: &mut Random, bytes: &mut Vec<u8>, piece: &[u8]) {
    let at = random.below(bytes.len() + 1);
    bytes.splice(at..at, piece.iter().copied());
}

/// A place in the bytes.
fn piece(random: &mut Random, bytes: &[u8]) -> std::ops::Range<usize> {
    let start = random.below(bytes.len());
    let len = random.below(MAX_PIECE_BYTES.min(bytes.len() - start) + 1);
    start..start + len
}

/// Repeats a piece up to a thousand times.
fn repeat(random: &mut Random, bytes: &mut Vec<u8>) {
    let place = piece(random, bytes);
    let times = 1 << random.below(11);
    let times = times.min(MAX_INPUT_BYTES / place.len().max(1));
    let many = bytes[place.clone()].repeat(times);
    bytes.splice(place.end..place.end, many);
}

/// Puts a piece of another input at some place.
fn splice(random: &mut Random, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
    let Some(other) = random.pick(others) else { return };
    if random.once_in(4) {
        // The start of one and the end of the other.
        let end = random.below(other.len() + 1);
        let start = random.below(bytes.len() + 1);
        bytes.truncate(start);
        bytes.extend_from_slice(&other[end..]);
    } else {
        let place = piece(random, other);
        insert(random, bytes, &other[place]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(seed: u64) -> Vec<Vec<u8>> {
        let mut random = Random::new(seed);
        let others = [b"other text".to_vec(), Vec::new()];
        let mutated = |_| {
            let mut bytes = b"a,b\n1,2\n".to_vec();
            mutate(&mut random, &mut bytes, &others, &[b"NaN", b""]);
            bytes
        };
        (0..2000).map(mutated).collect()
    }

    #[test]
    fn a_seed_gives_the_same_inputs_and_another_one_others() {
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
    }

    #[test]
    fn inputs_differ_and_stay_bounded() {
        let made = inputs(3);
        let distinct: std::collections::HashSet<_> = made.iter().collect();
        assert!(distinct.len() > 1500, "{} distinct inputs", distinct.len());
        assert!(made.iter().all(|bytes| bytes.len() <= MAX_INPUT_BYTES));
    }

    #[test]
    fn nothing_can_be_mutated_too() {
        let mut random = Random::new(1);
        for _ in 0..1000 {
            let mut bytes = Vec::new();
            mutate(&mut random, &mut bytes, &[], &[]);
        }
    }
}
