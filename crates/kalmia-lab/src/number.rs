//! Numbers in text: two significant digits of a standard error, raised powers of ten.

use kalmia_chart::power_of_ten;

/// `3.1·10⁻⁵` with the given decimals of the mantissa.
pub(crate) fn scientific(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$e}").replacen('-', "−", usize::from(value < 0.0));
    match text.split_once('e').map(|(mantissa, exponent)| (mantissa, exponent.parse())) {
        Some((mantissa, Ok(0))) => mantissa.to_owned(),
        Some(("1", Ok(exponent))) => power_of_ten(exponent),
        Some((mantissa, Ok(exponent))) => format!("{mantissa}·{}", power_of_ten(exponent)),
        _ => text,
    }
}

/// `56.12 ± 0.51`: both to the second significant digit of the error, but to no more than four
/// digits of the value if the error is tiny.
pub(crate) fn uncertain(value: f64, error: f64) -> String {
    let place = |v: f64| v.abs().log10().floor();
    let mut last = if error > 0.0 { place(error) - 1.0 } else { f64::NEG_INFINITY };
    if error < 1e-4 * value.abs() {
        last = last.max(place(value) - 3.0);
    }
    if !last.is_finite() {
        return format!("{} ± {error}", signed(value, 0));
    }
    if (-6.0..6.0).contains(&last) && value.abs() < 1e6 {
        let decimals = (-last).max(0.0) as usize;
        return format!("{} ± {error:.decimals$}", signed(value, decimals));
    }
    let power = place(value).max(place(error));
    let unit = 10f64.powf(power);
    let decimals = (power - last).clamp(0.0, 15.0) as usize;
    let mantissa = signed(value / unit, decimals);
    format!("({mantissa} ± {:.decimals$})·{}", error / unit, power_of_ten(power as i32))
}

/// A number with a typographic minus.
pub(crate) fn signed(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}").replace('-', "−")
}

/// A count: a power of ten from 1000 on as `10⁵`, else in full.
pub(crate) fn count(n: u64) -> String {
    match n.checked_ilog10() {
        Some(exponent) if exponent >= 3 && 10u64.pow(exponent) == n => {
            power_of_ten(exponent as i32)
        }
        _ => n.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_decide_the_digits() {
        assert_eq!(uncertain(56.1234, 0.512), "56.12 ± 0.51");
        assert_eq!(uncertain(0.0079041, 0.00039), "0.00790 ± 0.00039");
        assert_eq!(uncertain(-1234.6, 31.0), "−1235 ± 31");
        assert_eq!(uncertain(542.9999, 1.24e-7), "543.0 ± 0.0");
        assert_eq!(uncertain(543.0, 0.0), "543.0 ± 0.0");
        assert_eq!(uncertain(538.18, 0.31), "538.18 ± 0.31");
        assert_eq!(uncertain(1.234e-8, 5.6e-10), "(1.234 ± 0.056)·10⁻⁸");
        assert_eq!(uncertain(-3.4567e9, 2.2e7), "(−3.457 ± 0.022)·10⁹");
        assert_eq!(uncertain(0.0, 0.0), "0 ± 0");
        assert_eq!(scientific(-6.67e-16, 1), "−6.7·10⁻¹⁶");
        assert_eq!(scientific(2.5, 1), "2.5");
        assert_eq!(scientific(1e-10, 0), "10⁻¹⁰");
        assert_eq!([1, 100, 100_000, 250_000].map(count), ["1", "100", "10⁵", "250000"]);
    }
}
