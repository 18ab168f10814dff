//! How the texts of a reading write numbers and missing values, if not in the usual way.

use std::borrow::Cow;

use crate::scalar;

/// Texts for missing values, and the decimal comma.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Notation {
    missing: Vec<Vec<u8>>,
    /// Those of them that are numbers: every way to write the number is missing.
    missing_numbers: Vec<f64>,
    decimal_comma: bool,
}

/// A field with a decimal point among numbers with a decimal comma.
#[derive(Debug, PartialEq)]
pub(crate) struct HasPoint;

impl Notation {
    /// `None` if it is the usual one.
    pub fn new<'a>(missing: impl Iterator<Item = &'a String>, decimal_comma: bool) -> Option<Self> {
        let missing: Vec<Vec<u8>> =
            missing.map(|text| scalar::trim(text.as_bytes()).to_vec()).collect();
        let numbers = missing.iter().filter_map(|text| scalar::number(&dotted(text)));
        let missing_numbers = numbers.filter(|number| !number.is_nan()).collect();
        let notation = Self { missing, missing_numbers, decimal_comma };
        (notation != Self::default()).then_some(notation)
    }

    /// The field in the usual notation, empty if it is missing. A number column, or one whose kind
    /// is still to be inferred (`numeric`), has no numbers with a point among those with a comma.
    pub fn usual<'a>(&self, field: &'a [u8], numeric: bool) -> Result<Cow<'a, [u8]>, HasPoint> {
        let trimmed = scalar::trim(field);
        if self.missing.iter().any(|missing| missing == trimmed) {
            return Ok(Cow::Borrowed(b""));
        }
        let mut usual = Cow::Borrowed(field);
        if self.decimal_comma && numeric {
            if memchr::memchr(b',', trimmed).is_some() {
                let number = dotted(trimmed);
                if memchr::memchr(b'.', trimmed).is_none() && scalar::number(&number).is_some() {
                    usual = Cow::Owned(number);
                }
            } else if memchr::memchr(b'.', trimmed).is_some() && scalar::number(field).is_some() {
                return Err(HasPoint);
            }
        }
        if numeric && !self.missing_numbers.is_empty() {
            let number = scalar::number(&usual);
            if number.is_some_and(|number| self.is_missing_number(number)) {
                return Ok(Cow::Borrowed(b""));
            }
        }
        Ok(usual)
    }

    /// Whether a number of a typed format is missing.
    pub fn is_missing_number(&self, number: f64) -> bool {
        self.missing_numbers.contains(&number)
    }

    /// Whether any number is missing.
    pub fn has_missing_numbers(&self) -> bool {
        !self.missing_numbers.is_empty()
    }
}

/// A number with a decimal point for its comma.
fn dotted(field: &[u8]) -> Vec<u8> {
    field.iter().map(|&byte| if byte == b',' { b'.' } else { byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notation(missing: &[&str], decimal_comma: bool) -> Notation {
        let texts: Vec<String> = missing.iter().map(|text| text.to_string()).collect();
        Notation::new(texts.iter(), decimal_comma).unwrap()
    }

    #[test]
    fn the_usual_notation_needs_nothing() {
        assert_eq!(Notation::new([].into_iter(), false), None);
    }

    #[test]
    fn texts_and_numbers_are_missing() {
        let of = notation(&["?", "-999"], false);
        assert_eq!(of.usual(b" ? ", true).unwrap(), &b""[..]);
        assert_eq!(of.usual(b"-999.0", true).unwrap(), &b""[..]);
        assert_eq!(of.usual(b"-999.0", false).unwrap(), &b"-999.0"[..], "as text it is another");
        assert_eq!(of.usual(b"-998", true).unwrap(), &b"-998"[..]);
    }

    #[test]
    fn a_decimal_comma_becomes_a_point_and_a_point_is_refused() {
        let of = notation(&[], true);
        assert_eq!(of.usual(b"-1,5e3", true).unwrap(), &b"-1.5e3"[..]);
        assert_eq!(of.usual(b"7", true).unwrap(), &b"7"[..]);
        assert_eq!(of.usual(b"1.500", true), Err(HasPoint));
        for text in ["1.234,5", "1,2,3", "a,b", "a.b"] {
            assert_eq!(of.usual(text.as_bytes(), true).unwrap(), text.as_bytes());
        }
        assert_eq!(of.usual(b"1,5", false).unwrap(), &b"1,5"[..], "a category keeps its text");
    }
}
