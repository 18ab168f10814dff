//! What the texts of a column look like: numbers in another notation, dates, identifiers.

use crate::batch::Values;
use crate::error::excerpt;
use crate::scalar;

/// What most texts of a column look like, though they are read as categories or plain numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Look {
    /// Thousands: `1,234`.
    Thousands,
    /// Decimal commas: `1,5`.
    DecimalComma,
    /// Percentages: `5%`.
    Percent,
    /// Amounts of money: `$3.50`.
    Currency,
    /// Dates: `31.12.2024`, `12/31/2024`.
    Date,
    /// Numbers, and a text that may stand for a missing value: `?`.
    Placeholder,
    /// Numbers with leading zeros, such as postal codes: `01234`.
    LeadingZeros,
    /// Whole numbers that grow from row to row, such as an identifier or an index.
    Increasing,
    /// No value at all.
    Empty,
}

/// A column that looks like something else than it is read as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The column.
    pub column: String,
    /// What it looks like.
    pub look: Look,
    /// A value of it.
    pub example: String,
}

/// The share of the values that must look alike.
const MIN_SHARE: f64 = 0.9;
/// Rows from which on growing numbers are an index.
const MIN_ROWS: usize = 50;

/// What a category looks like.
pub(crate) fn of_category(column: &Values) -> Option<(Look, String)> {
    let looks = [
        Look::Thousands,
        Look::DecimalComma,
        Look::Percent,
        Look::Currency,
        Look::Date,
        Look::Placeholder,
    ];
    looks.into_iter().find_map(|look| Some((look, mostly(column, look)?)))
}

/// A value, if most values look like this.
pub(crate) fn mostly(column: &Values, look: Look) -> Option<String> {
    let mut values = 0;
    let mut alike = 0;
    let mut example = None;
    for i in 0..column.texts.len() {
        let field = scalar::trim(column.texts.get(i));
        if scalar::is_missing(field) {
            continue;
        }
        values += 1;
        let placeholder = look == Look::Placeholder && scalar::is_placeholder(field);
        if placeholder || is(field, look) {
            alike += 1;
        }
        let shown = if look == Look::Placeholder { placeholder } else { is(field, look) };
        if shown
            && (example.is_none() || telling(field, look))
            && example.as_deref().is_none_or(|e: &[u8]| !telling(e, look))
        {
            example = Some(field.to_vec());
        }
    }
    let enough = values > 0 && alike as f64 >= MIN_SHARE * values as f64;
    example.filter(|_| enough).map(|example| excerpt(&example))
}

/// Whether an example leaves no doubt: a whole number may have any notation.
fn telling(field: &[u8], look: Look) -> bool {
    !matches!(look, Look::DecimalComma | Look::Thousands) || field.contains(&b',')
}

fn is(field: &[u8], look: Look) -> bool {
    let field = field.strip_prefix(b"-").unwrap_or(field);
    match look {
        Look::Thousands => is_grouped(field) || (is_digits(field) && field.len() <= 3),
        Look::DecimalComma => {
            let mut parts = field.splitn(2, |&byte| byte == b',');
            is_digits(parts.next().unwrap_or_default()) && parts.next().is_none_or(is_digits)
        }
        Look::Percent => field.strip_suffix(b"%").is_some_and(is_any_number),
        Look::Currency => {
            let text = String::from_utf8_lossy(field);
            let bare = text.trim_matches(['$', '\u{20ac}', '\u{a3}', '\u{a5}', ' ']);
            let size = bare.strip_prefix('-').unwrap_or(bare);
            bare.len() < text.len() && is_any_number(size.as_bytes())
        }
        Look::Date => is_date(field),
        Look::Placeholder => scalar::number(field).is_some_and(f64::is_finite),
        Look::LeadingZeros => is_digits(field) && field.len() > 1 && field[0] == b'0',
        Look::Increasing | Look::Empty => false,
    }
}

fn is_digits(field: &[u8]) -> bool {
    !field.is_empty() && field.iter().all(u8::is_ascii_digit)
}

/// A number with a point, a comma or groups of thousands.
fn is_any_number(field: &[u8]) -> bool {
    let field = field.trim_ascii();
    is_digits(field) || is_grouped(field) || {
        let mut parts = field.splitn(2, |byte| b".,".contains(byte));
        is_digits(parts.next().unwrap_or_default()) && parts.next().is_some_and(is_digits)
    }
}

/// `1,234` or `1,234,567.8`.
fn is_grouped(field: &[u8]) -> bool {
    let mut halves = field.splitn(2, |&byte| byte == b'.');
    let mut groups = halves.next().unwrap_or_default().split(|&byte| byte == b',');
    let first = groups.next().unwrap_or_default();
    let mut count = 0;
    let all = groups.all(|group| {
        count += 1;
        group.len() == 3 && is_digits(group)
    });
    // `0,125` is a decimal comma
    let leads = is_digits(first) && first.len() <= 3 && first[0] != b'0';
    count > 0 && all && leads && halves.next().is_none_or(is_digits)
}

/// Day, month and year in any order, with points, slashes or dashes.
fn is_date(field: &[u8]) -> bool {
    let Some(&separator) = field.iter().find(|byte| b"./-".contains(byte)) else { return false };
    let parts: Vec<&[u8]> = field.split(|&byte| byte == separator).collect();
    let short = |part: &[u8]| is_digits(part) && part.len() <= 2;
    let year = |part: &[u8]| is_digits(part) && matches!(part.len(), 2 | 4);
    matches!(&parts[..], [day, month, last] if short(day) && short(month) && year(last))
}

/// What a column of numbers looks like, from its texts and from its numbers.
pub(crate) fn of_numbers(texts: Option<&Values>, numbers: &[f64]) -> Option<(Look, String)> {
    if !numbers.is_empty() && numbers.iter().all(|value| value.is_nan()) {
        return Some((Look::Empty, String::new()));
    }
    let zeros = texts.and_then(|column| {
        let fields = (0..column.texts.len()).map(|i| scalar::trim(column.texts.get(i)));
        fields.into_iter().find(|field| is(field, Look::LeadingZeros))
    });
    if let Some(field) = zeros {
        return Some((Look::LeadingZeros, excerpt(field)));
    }
    let grows = |pair: &[f64]| pair[1] > pair[0] && pair[1].fract() == 0.0;
    let steps = numbers.windows(2).filter(|pair| grows(pair)).count();
    let growing = numbers.len() >= MIN_ROWS && 100 * steps >= 99 * (numbers.len() - 1);
    growing.then(|| (Look::Increasing, numbers[numbers.len() - 1].to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(fields: &[&str]) -> Option<(Look, String)> {
        let mut column = Values { is_text: true, ..Values::default() };
        fields.iter().for_each(|field| column.texts.push(field.as_bytes()));
        of_category(&column)
    }

    #[test]
    fn notations_are_recognized_with_an_example() {
        for (fields, expected, example) in [
            (&["1,5", "2,25", "3"][..], Look::DecimalComma, "1,5"),
            (&["3", "2,25", "-1,5"], Look::DecimalComma, "2,25"),
            (&["1,234", "56", "7,890,123.5"], Look::Thousands, "1,234"),
            (&["0,134", "0,250"], Look::DecimalComma, "0,134"),
            (&["5%", "-7.5%", ""], Look::Percent, "5%"),
            (&["$3.50", "$1,200"], Look::Currency, "$3.50"),
            (&["$-3.50", "-$2"], Look::Currency, "$-3.50"),
            (&["3,50 \u{20ac}"], Look::Currency, "3,50 \u{20ac}"),
            (&["31.12.2024", "1.2.24"], Look::Date, "31.12.2024"),
            (&["12/31/2024"], Look::Date, "12/31/2024"),
            (&["1", "?", "2.5"], Look::Placeholder, "?"),
        ] {
            assert_eq!(look(fields), Some((expected, example.to_owned())), "{fields:?}");
        }
    }

    #[test]
    fn words_codes_and_versions_are_categories() {
        for fields in [&["a", "b"][..], &["1", "a"], &["A-1"], &["1.2.3.4"], &["a,b"], &[]] {
            assert_eq!(look(fields), None, "{fields:?}");
        }
    }

    #[test]
    fn an_index_and_postal_codes_are_recognized() {
        let index: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(of_numbers(None, &index), Some((Look::Increasing, "99".into())));
        let waves: Vec<f64> = (0..100).map(|i| f64::from(i % 10)).collect();
        assert_eq!(of_numbers(None, &waves), None);
        assert_eq!(of_numbers(None, &index[..20]), None, "a few sorted values prove nothing");
        let mut zips = Values { is_text: true, ..Values::default() };
        ["10115", "01067"].iter().for_each(|zip| zips.texts.push(zip.as_bytes()));
        assert_eq!(of_numbers(Some(&zips), &[]), Some((Look::LeadingZeros, "01067".into())));
        assert_eq!(of_numbers(None, &[f64::NAN; 3]), Some((Look::Empty, String::new())));
        assert_eq!(of_numbers(None, &[f64::NAN, 1.0]), None);
    }
}
