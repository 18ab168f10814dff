//! Means and standard errors over replicates.

/// Mean of the values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard error of the mean of independent values.
pub fn standard_error(values: &[f64]) -> f64 {
    let (n, centre) = (values.len() as f64, mean(values));
    (values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / ((n - 1.0) * n)).sqrt()
}

/// Mean of `a - b` over paired replicates, in standard errors (0 when both are the same
/// throughout).
pub fn paired_score(a: &[f64], b: &[f64]) -> f64 {
    let gaps: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let (gap, error) = (mean(&gaps), standard_error(&gaps));
    if gap == 0.0 { 0.0 } else { gap / error }
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
}
