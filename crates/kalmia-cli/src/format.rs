//! Numbers and words as people and shells read them.

/// A number of things: `1 row`, `1 200 rows`.
pub fn counted(n: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// A whole number with its digits in groups of three.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// Six significant digits, with an exponent for very large and very small numbers.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e7).contains(&size) {
        return format!("{value:.4e}");
    }
    let digits = (5 - size.log10().floor() as i32).clamp(0, 9) as usize;
    format!("{value:.digits$}")
}

/// Up to seven significant digits without zeros at the end; whole numbers below 1e10 in full, and
/// an exponent for very large and very small numbers.
pub fn brief(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() || (size < 1e10 && value.fract() == 0.0) {
        return format!("{value}");
    }
    let rounded = format!("{value:.6e}").parse().unwrap_or(value);
    if (1e-4..1e7).contains(&size) { format!("{rounded}") } else { format!("{rounded:e}") }
}

/// This command as it can be typed again.
pub fn command_line() -> String {
    std::env::args().map(|word| shell_word(&word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A column as options of column names take it in a shell.
pub fn column_word(name: &str) -> String {
    if name.contains(',') || name.starts_with('"') {
        shell_word(&format!("\"{}\"", name.replace('"', "\"\"")))
    } else {
        shell_word(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(shell_word("--target=y"), "--target=y");
        assert_eq!(shell_word("day *.csv"), "'day *.csv'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn columns_with_commas_are_quoted() {
        assert_eq!(column_word("age"), "age");
        assert_eq!(column_word("last, first"), r#"'"last, first"'"#);
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 1200].map(|n| counted(n, "row")), ["0 rows", "1 row", "1 200 rows"]);
    }

    #[test]
    fn digits_are_grouped_from_the_right() {
        let shown = [0, 12, 123, 1234, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "12", "123", "1 234", "1 234 567"]);
    }

    #[test]
    fn brief_numbers_stay_short() {
        let shown =
            [6.370_123_456e248, 1.0 / 12.0, 2_531_769_872.0, 0.75, 3e-9, 0.0, 123.456_789_1]
                .map(brief);
        let expected =
            ["6.370123e248", "0.08333333", "2531769872", "0.75", "3e-9", "0", "123.4568"];
        assert_eq!(shown, expected);
        assert_eq!(brief(f64::NEG_INFINITY), "-inf");
    }

    #[test]
    fn numbers_have_six_digits() {
        let shown = [0.0, 1.0, -12.3456789, 123456.7, 0.000123456, 1.5e-9, 2.5e12].map(number);
        assert_eq!(
            shown,
            ["0", "1.00000", "-12.3457", "123457", "0.000123456", "1.5000e-9", "2.5000e12"]
        );
    }
}
