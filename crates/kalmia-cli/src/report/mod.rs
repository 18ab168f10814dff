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
    let text = serde_json::to_string(value).map_err(|error| crate::error::Failure::Other(error.to_string()))?;
    Ok(text + "\n")
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
    use super::number;

    #[test]
    fn numbers_have_six_digits() {
        let shown = [0.0, 1.0, -12.3456789, 123456.7, 0.000123456, 1.5e-9, 2.5e12].map(number);
        assert_eq!(shown, ["0", "1.00000", "-12.3457", "123457", "0.000123456", "1.5000e-9", "2.5000e12"]);
    }
}
