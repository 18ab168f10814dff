//! Means, standard errors and extremes over replicates.

/// Mean of the values; NaN without any.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard error of the mean of independent values; NaN for fewer than two.
pub fn standard_error(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let center = mean(values);
    (values.iter().map(|v| (v - center).powi(2)).sum::<f64>() / ((n - 1.0) * n)).sqrt()
}

/// Mean of `a - b` over paired replicates, in standard errors; 0 if the mean is 0.
pub fn paired_score(a: &[f64], b: &[f64]) -> f64 {
    let gaps: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let gap = mean(&gaps);
    if gap == 0.0 { 0.0 } else { gap / standard_error(&gaps) }
}

/// The largest value: NaN if one is NaN (`f64::max` would ignore it), and $-\infty$ without any.
pub fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    let larger = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
    values.into_iter().fold(f64::NEG_INFINITY, larger)
}

/// The smallest value: NaN if one is NaN, and $\infty$ without any.
pub fn smallest(values: impl IntoIterator<Item = f64>) -> f64 {
    -largest(values.into_iter().map(|value| -value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_error_by_hand() {
        // Values 1, 2, 3, 6: mean 3, sum of squares 14, variance 14/3, over 4.
        assert!((standard_error(&[1.0, 2.0, 3.0, 6.0]) - (14f64 / 12.0).sqrt()).abs() < 1e-15);
        assert_eq!(paired_score(&[1.0, 5.0], &[1.0, 5.0]), 0.0);
        assert_eq!(paired_score(&[2.0, 6.0], &[1.0, 5.0]), f64::INFINITY);
        assert!(paired_score(&[1.0, 2.0, 2.5], &[2.0, 4.0, 4.0]) < -2.0);
    }

    #[test]
    fn extremes_keep_nan_in_any_place() {
        assert_eq!(largest([1.0, 3.0, 2.0]), 3.0);
        assert_eq!(smallest([1.0, 3.0, -2.0]), -2.0);
        for values in [[f64::NAN, 1.0, 2.0], [1.0, f64::NAN, 2.0], [1.0, 2.0, f64::NAN]] {
            assert!(largest(values).is_nan() && smallest(values).is_nan());
        }
    }
}
