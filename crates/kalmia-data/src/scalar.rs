//! What one field means: a number, a truth value, a missing value, a date.

/// Fields that stand for a missing value, in every format, after trimming.
pub const MISSING: [&str; 11] =
    ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None"];

/// Without surrounding blanks.
#[inline]
pub(crate) fn trim(field: &[u8]) -> &[u8] {
    field.trim_ascii()
}

/// Whether a trimmed field stands for a missing value.
#[inline]
pub(crate) fn is_missing(field: &[u8]) -> bool {
    field.len() <= 4 && MISSING.iter().any(|m| m.as_bytes() == field)
}

/// Whether a trimmed field is a text that often stands for a missing value, but not always.
pub(crate) fn is_placeholder(field: &[u8]) -> bool {
    matches!(field, b"?" | b"-" | b"--" | b"." | b"missing" | b"unknown" | b"none")
}

/// A number in the usual decimal notation; `NaN` if the field is missing, `None` if it is something
/// else.
pub(crate) fn number(field: &[u8]) -> Option<f64> {
    let field = trim(field);
    if is_missing(field) {
        return Some(f64::NAN);
    }
    fast_float2::parse::<f64, _>(field).ok()
}

/// 1 for `true`, 0 for `false`, `NaN` if the field is missing. `t`, `f`, `yes` and `no` stay
/// categories: they often mean other things, and a category with two levels gives the same model.
pub(crate) fn truth(field: &[u8]) -> Option<f64> {
    match trim(field) {
        b"true" | b"True" | b"TRUE" => Some(1.0),
        b"false" | b"False" | b"FALSE" => Some(0.0),
        field if is_missing(field) => Some(f64::NAN),
        _ => None,
    }
}

/// As [`truth`], 0 and 1 allowed.
pub(crate) fn truth_or_bit(field: &[u8]) -> Option<f64> {
    truth(field).or_else(|| number(field).filter(|&v| v == 0.0 || v == 1.0))
}

/// Whether a field is an ISO date, a time of day, or both.
pub(crate) fn is_temporal(field: &[u8]) -> bool {
    let field = trim(field);
    let digits = |range: std::ops::Range<usize>| {
        field.get(range).is_some_and(|s| s.iter().all(u8::is_ascii_digit))
    };
    let at = |i: usize| field.get(i).copied().unwrap_or(0);
    let time_from = |i: usize| {
        digits(i..i + 2) && at(i + 2) == b':' && digits(i + 3..i + 5) && field.len() <= i + 40
    };
    let date = digits(0..4)
        && matches!(at(4), b'-' | b'/')
        && digits(5..7)
        && at(7) == at(4)
        && digits(8..10);
    let date_time =
        date && (field.len() == 10 || (matches!(at(10), b'T' | b' ' | b't') && time_from(11)));
    date_time || (time_from(0) && (field.len() == 5 || at(5) == b':'))
}

/// Writes a number that is used as a category: the shortest text that reads back the same.
pub(crate) fn write_number(value: f64, out: &mut Vec<u8>) {
    use std::io::Write;
    if !value.is_nan() {
        write!(out, "{value}").expect("writing to memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standard_parser() {
        for text in
            ["0", "-1.5", "1e-7", "123456789.123456789", "5e-324", "1.7976931348623157e308", "+3"]
        {
            assert_eq!(number(text.as_bytes()).unwrap(), text.parse::<f64>().unwrap(), "{text}");
        }
        assert_eq!(number(b" 2 "), Some(2.0));
        assert!(MISSING.iter().all(|m| number(m.as_bytes()).unwrap().is_nan()));
        for text in ["1,5", "abc", "1 2", "1e", "0x10", "--1", "1\0"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn dates_and_times_are_distinguished_from_codes() {
        for text in [
            "2024-01-31",
            "2024/01/31",
            "2024-01-31T10:00:00Z",
            "2024-01-31 10:00:00.123+02:00",
            "10:30",
            "10:30:15",
        ] {
            assert!(is_temporal(text.as_bytes()), "{text}");
        }
        for text in ["2024-1-3", "2024-01/31", "AB-12", "20240131", "10:3", "2024-01-31x", "1:30"] {
            assert!(!is_temporal(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn truth_values() {
        assert_eq!(truth(b"TRUE"), Some(1.0));
        assert_eq!(truth(b"yes"), None);
        assert_eq!(truth_or_bit(b"0"), Some(0.0));
        assert_eq!(truth_or_bit(b"2"), None);
    }
}
