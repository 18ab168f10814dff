//! Parses a decimal number at the start of a text: a short path for common numbers, the full parser
//! for others.
//!
//! The short path takes eight digits at a time from one 64-bit word. If the digits' value $m$ is at
//! most 2^53 and $k \le 22$ of them follow the point, $m$ and $10^k$ are exact, so the division
//! $m / 10^k$ rounds correctly (Clinger 1990) and agrees with the full parser bit for bit.

/// Powers of ten that are exact as `f64`.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

const WHOLE_POWERS: [u64; 9] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// After a number of more characters than this, the next one is expected to be long too.
const MAX_SHORT_CHARS: usize = 12;

/// The number at the start of `text`, and its length; `None` if there is none. `long` says that the
/// number before was too long for the short path, which is then not tried; it is kept up to date.
#[inline(always)]
pub(crate) fn prefix(text: &[u8], long: &mut bool) -> Option<(f64, usize)> {
    if !*long && let Some(found) = short(text) {
        return Some(found);
    }
    let found = fast_float2::parse_partial::<f64, _>(text).ok()?;
    *long = found.1 > MAX_SHORT_CHARS;
    Some(found)
}

/// A number of at most 8 digits before the point and 8 after it, without an exponent; 8 bytes must
/// be readable from the start of each part.
#[inline(always)]
fn short(text: &[u8]) -> Option<(f64, usize)> {
    let negative = *text.first()? == b'-';
    let mut at = usize::from(negative);
    let (whole, len) = digits(word(text, at)?);
    at += len;
    let mut m = whole;
    let mut k = 0;
    let mut end = *text.get(at)?;
    if end == b'.' {
        let (fraction, places) = digits(word(text, at + 1)?);
        at += 1 + places;
        m = m * WHOLE_POWERS[places] + fraction;
        k = places;
        end = *text.get(at)?;
    }
    // No digits, too many digits, or an exponent: left to the full parser.
    if len + k == 0 || end.is_ascii_digit() || end | 0x20 == b'e' || m > 1 << 53 {
        return None;
    }
    let value = m as f64 / POWERS[k];
    Some((if negative { -value } else { value }, at))
}

#[inline(always)]
fn word(text: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(text.get(at..at + 8)?.try_into().ok()?))
}

/// The value and count of the digits that a word of eight characters starts with.
#[inline(always)]
fn digits(word: u64) -> (u64, usize) {
    let values = word ^ 0x3030_3030_3030_3030;
    // A byte above 9 sets its top bit; a carry only reaches bytes after the first of them.
    let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    let len = (others.trailing_zeros() / 8) as usize;
    if len == 0 {
        return (0, 0);
    }
    // Shifted to the end of the word, with zeros before.
    let v = values << (64 - 8 * len);
    let pairs = (v.wrapping_mul(10) + (v >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    ((fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff, len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    /// The bits of a number, and the bytes that it took.
    fn bits(parsed: Option<(f64, usize)>) -> Option<(u64, usize)> {
        parsed.map(|(value, bytes)| (value.to_bits(), bytes))
    }

    fn full_parser(text: &[u8]) -> Option<(u64, usize)> {
        bits(fast_float2::parse_partial(text).ok())
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(1),
            ..ProptestConfig::with_cases(4096)
        })]

        #[test]
        fn the_short_path_agrees_with_the_full_parser(
            text in "-?[0-9]{0,9}(\\.[0-9]{0,9})?(e[0-9])?[,\n:/x]",
            rest in "[0-9,.]{20}",
        ) {
            let text = text + &rest;
            let ours = prefix(text.as_bytes(), &mut false);
            prop_assert_eq!(bits(ours), full_parser(text.as_bytes()));
        }

        #[test]
        fn any_bytes_agree_too(text in prop::collection::vec(any::<u8>(), 0..30)) {
            prop_assert_eq!(bits(prefix(&text, &mut true)), full_parser(&text));
        }
    }

    #[test]
    fn plain_numbers_take_the_short_path() {
        let taken = |text: &str| short(format!("{text},0000000000000000").as_bytes());
        assert_eq!(taken("-2.718203"), Some((-2.718203, 9)));
        assert_eq!(taken("12345678"), Some((12_345_678.0, 8)));
        assert_eq!(taken("0.12345678"), Some((0.123_456_78, 10)));
        assert_eq!(taken("123456789"), None);
        assert_eq!(taken("1e5"), None);
    }
}
