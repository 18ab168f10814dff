//! The hash of features: texts become numbers below a power of two, without a list of the texts.

use crate::error::{Result, SettingProblem};

/// Fewest and most bits of a [`FeatureHash`].
const MIN_BITS: u8 = 1;
const MAX_BITS: u8 = 30;

/// Gives a text a number below $2^{bits}$, the same for ever: models store weights by these
/// numbers.
///
/// The hash is MurmurHash3 (x86, 32 bits, seed 0) and the numbers are those of scikit-learn's
/// `FeatureHasher(n_features=2**bits)`. Two texts may get the same number and then share a weight;
/// with $n$ texts a text shares its number with about $n / 2^{bits}$ others. Each bit more doubles
/// the memory of a model that has seen enough texts.
///
/// ```
/// use kalmia_data::FeatureHash;
///
/// let hash = FeatureHash::new(18)?;
/// assert_eq!(hash.index(b"town=Rome"), 260_553);
/// let town = hash.after(b"town=");
/// assert_eq!(town.index(b"Rome"), 260_553);
/// # Ok::<(), kalmia_data::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureHash {
    bits: u8,
}

impl FeatureHash {
    /// A hash of 1 to 30 bits; other numbers are refused.
    pub fn new(bits: u8) -> Result<Self> {
        match bits {
            MIN_BITS..=MAX_BITS => Ok(Self { bits }),
            _ => Err(SettingProblem::HashBits { bits }.into()),
        }
    }

    /// The bits given.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// The number of a text: the absolute value of its signed hash, modulo $2^{bits}$.
    #[inline]
    pub fn index(&self, bytes: &[u8]) -> u32 {
        self.after(b"").index(bytes)
    }

    /// 1, or -1 if the signed hash is negative: the sign of scikit-learn's `alternate_sign`. With
    /// it, texts that share a number cancel on average instead of adding up.
    #[inline]
    pub fn sign(&self, bytes: &[u8]) -> f64 {
        self.after(b"").sign(bytes)
    }

    /// The hash of texts that all begin with `prefix`, which is then hashed once. Nothing is
    /// allocated.
    pub fn after(&self, prefix: &[u8]) -> PrefixHash {
        let mut murmur = Murmur3::default();
        murmur.write(prefix);
        PrefixHash { mask: (1 << self.bits) - 1, murmur }
    }
}

/// A [`FeatureHash`] of texts with a common prefix; see [`FeatureHash::after`].
#[derive(Debug, Clone, Copy)]
pub struct PrefixHash {
    mask: u32,
    murmur: Murmur3,
}

impl PrefixHash {
    /// The number of the prefix followed by `bytes`, as [`FeatureHash::index`] gives it.
    #[inline]
    pub fn index(&self, bytes: &[u8]) -> u32 {
        // The absolute value of i32::MIN is 2^31, which is 0 modulo any power of two here, as in
        // scikit-learn.
        self.signed(bytes).unsigned_abs() & self.mask
    }

    /// The sign of the prefix followed by `bytes`, as [`FeatureHash::sign`] gives it.
    #[inline]
    pub fn sign(&self, bytes: &[u8]) -> f64 {
        if self.signed(bytes) < 0 { -1.0 } else { 1.0 }
    }

    /// Continues the prefix.
    pub(crate) fn then(mut self, bytes: &[u8]) -> Self {
        self.murmur.write(bytes);
        self
    }

    #[inline]
    fn signed(&self, bytes: &[u8]) -> i32 {
        let mut murmur = self.murmur;
        murmur.write(bytes);
        murmur.finish()
    }
}

/// MurmurHash3_x86_32 of Austin Appleby (public domain) with seed 0, fed part by part.
#[derive(Debug, Clone, Copy, Default)]
struct Murmur3 {
    h: u32,
    /// Bytes not yet mixed in, `held` of them, the first lowest.
    tail: u32,
    held: u8,
    len: u32,
}

impl Murmur3 {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.len = self.len.wrapping_add(bytes.len() as u32);
        let (words, rest) = bytes.as_chunks::<4>();
        for word in words {
            self.push(u32::from_le_bytes(*word), 4);
        }
        for &byte in rest {
            self.push(u32::from(byte), 1);
        }
    }

    /// Adds `count` bytes, 1 to 4.
    #[inline]
    fn push(&mut self, bytes: u32, count: u8) {
        let all = u64::from(self.tail) | u64::from(bytes) << (8 * self.held);
        self.held += count;
        if self.held < 4 {
            self.tail = all as u32;
            return;
        }
        self.h = (self.h ^ scrambled(all as u32)).rotate_left(13);
        self.h = self.h.wrapping_mul(5).wrapping_add(0xe654_6b64);
        self.tail = (all >> 32) as u32;
        self.held -= 4;
    }

    #[inline]
    fn finish(self) -> i32 {
        // no bytes left: the scrambled 0 is 0
        let mut h = self.h ^ scrambled(self.tail) ^ self.len;
        h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
        (h ^ (h >> 16)) as i32
    }
}

#[inline]
fn scrambled(word: u32) -> u32 {
    word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    /// `sklearn.utils.murmurhash3_32(text.encode(), seed=0)` of scikit-learn 1.9.1.
    const HASHES: [(&str, i32); 13] = [
        ("", 0),
        ("a", 1_009_084_850),
        ("ab", -1_681_926_305),
        ("abc", -1_277_324_294),
        ("abcd", 1_139_631_978),
        ("abcde", -392_455_434),
        ("town=Rome", 2_063_858_121),
        ("review=good", -352_750_388),
        ("größe=日本語", -311_554_531),
        ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", -1_005_983_109),
        ("foo", -156_908_512),
        ("1", -1_810_453_357),
        ("4294967295", -958_289_129),
    ];

    #[test]
    fn hashes_are_those_of_scikit_learn_however_the_text_is_cut() {
        for (text, expected) in HASHES {
            let bytes = text.as_bytes();
            for first in 0..=bytes.len() {
                for second in first..=bytes.len() {
                    let mut murmur = Murmur3::default();
                    murmur.write(&bytes[..first]);
                    murmur.write(&bytes[first..second]);
                    murmur.write(&bytes[second..]);
                    assert_eq!(murmur.finish(), expected, "{text} at {first} and {second}");
                }
            }
        }
    }

    #[test]
    fn indices_and_signs_are_those_of_scikit_learn() {
        // FeatureHasher(2**bits, input_type="string").transform([[text]]) of scikit-learn 1.9.1:
        // its index and its value. These bytes, found by inverting the hash, hash to -2^31.
        const MIN: &[u8] = &[85, 7, 111, 131];
        let rows: [(u8, &[u8], u32, f64); 11] = [
            (1, b"a", 0, 1.0),
            (1, b"town=Rome", 1, 1.0),
            (10, b"abcd", 874, 1.0),
            (10, b"review=good", 820, -1.0),
            (18, b"a", 92_594, 1.0),
            (18, "größe=日本語".as_bytes(), 127_459, -1.0),
            (30, b"a", 1_009_084_850, 1.0),
            (30, b"abcd", 65_890_154, 1.0),
            (1, MIN, 0, -1.0),
            (18, MIN, 0, -1.0),
            (30, MIN, 0, -1.0),
        ];
        for (bits, text, index, sign) in rows {
            let hash = FeatureHash::new(bits).unwrap();
            assert_eq!((hash.index(text), hash.sign(text)), (index, sign), "{bits} {text:?}");
        }
        assert_eq!(FeatureHash::new(30).unwrap().after(b"").signed(MIN), i32::MIN);
    }

    #[test]
    fn bits_out_of_range_are_refused_with_the_range() {
        for bits in [0, 31, 64, 255] {
            let error = FeatureHash::new(bits).unwrap_err();
            assert!(matches!(error, Error::Setting(SettingProblem::HashBits { .. })), "{error}");
            assert!(error.to_string().contains("1 to 30"), "{error}");
        }
    }
}
