//! What is told of a model: the summary as text and as JSON, tables and pictures.

mod coefficients;
mod picture;
mod summary;
mod table;

pub use coefficients::{Coefficient, coefficients, table as coefficients_text};
pub use picture::{Curve, losses};
pub use summary::{Scores, Summary};
pub use table::Table;

/// One JSON object on a line; numbers that JSON cannot hold are null.
pub fn json<T: serde::Serialize>(value: &T) -> crate::error::Result<String> {
    let text = serde_json::to_string(value)
        .map_err(|error| crate::error::Failure::Other(error.to_string()))?;
    Ok(text + "\n")
}

/// The target, with the label that counts as 1.
pub fn target(name: &str, positive: Option<&str>) -> String {
    positive.map_or(format!("`{name}`"), |label| format!("`{name}` (1 is `{label}`)"))
}

/// A number to the last digit, for programs: powers of ten in place of rows of zeros.
pub fn exact(value: f64) -> String {
    let size = value.abs();
    if (size >= 1e16 && size.is_finite()) || (size < 1e-5 && size > 0.0) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// A number for people: six significant digits, powers of ten where they help.
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

#[cfg(test)]
mod tests {
    use super::{exact, number};

    #[test]
    fn exact_numbers_are_short_and_read_back() {
        assert_eq!(
            [0.0, 1.0, 0.1, -1e300, 1e-300].map(exact),
            ["0", "1", "0.1", "-1e300", "1e-300"]
        );
        for value in [f64::MAX, f64::MIN_POSITIVE, std::f64::consts::PI * 1e16] {
            assert_eq!(exact(value).parse(), Ok(value));
        }
        assert_eq!([f64::INFINITY, f64::NAN].map(exact), ["inf", "NaN"]);
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
