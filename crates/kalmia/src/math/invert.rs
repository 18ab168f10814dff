//! Quantiles by inversion of a distribution function.

/// Smallest `y` with `cdf(y) >= q`. The search starts from the bracket `(low, high)`, which need
/// not hold the answer.
///
/// With `whole` only whole numbers are searched and the answer is exact; otherwise its relative
/// error is $10^{-13}$. `floor` is the lower end of the support.
pub(crate) fn smallest(
    cdf: impl Fn(f64) -> f64,
    q: f64,
    low: f64,
    high: f64,
    floor: f64,
    whole: bool,
) -> f64 {
    let (mut low, mut high) = if whole { (low.floor(), high.ceil()) } else { (low, high) };
    low = low.max(floor);
    high = high.max(low);
    let mut step = (high - low).max(if whole { 1.0 } else { 1e-12 * high.abs().max(1e-300) });
    while cdf(high) < q && high.is_finite() {
        low = high;
        high += step;
        step *= 2.0;
    }
    while cdf(low) >= q {
        if low <= floor {
            return floor;
        }
        high = low;
        low = (low - step).max(floor);
        step *= 2.0;
        if low == f64::NEG_INFINITY {
            return low;
        }
    }
    bisect(cdf, q, low, high, whole)
}

/// Halves a bracket with `cdf(low) < q <= cdf(high)` until it is narrow; by ratio if it spans
/// orders of magnitude.
fn bisect(cdf: impl Fn(f64) -> f64, q: f64, mut low: f64, mut high: f64, whole: bool) -> f64 {
    loop {
        let least = if whole { 1.0 } else { f64::MIN_POSITIVE };
        let wide = low >= 0.0 && high > 4.0 * low.max(least);
        let middle =
            if wide { low.max(least).sqrt() * high.sqrt() } else { low + 0.5 * (high - low) };
        let middle = if whole { middle.floor() } else { middle };
        let narrow = !whole && high - low <= 1e-13 * high.abs().max(f64::MIN_POSITIVE);
        // false for NaN, which then ends the search
        let inside = middle > low && middle < high;
        if narrow || !inside {
            return high;
        }
        if cdf(middle) >= q {
            high = middle;
        } else {
            low = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_ends_the_search() {
        assert!(
            !smallest(|_| f64::NAN, 0.5, f64::NAN, f64::NAN, f64::NEG_INFINITY, false).is_finite()
        );
        assert!((0.0..=1.0).contains(&smallest(
            |_| f64::NAN,
            0.5,
            0.0,
            1.0,
            f64::NEG_INFINITY,
            false
        )));
    }

    #[test]
    fn the_bracket_need_not_hold_the_answer() {
        let uniform = |y: f64| y.clamp(0.0, 10.0) / 10.0;
        for (low, high) in [(0.0, 1.0), (8.0, 9.0), (3.0, 3.0), (0.0, 10.0)] {
            assert!((smallest(uniform, 0.37, low, high, 0.0, false) - 3.7).abs() < 1e-11);
            let steps = |y: f64| uniform(y.floor());
            assert_eq!(smallest(steps, 0.37, low, high, 0.0, true), 4.0);
            assert_eq!(smallest(steps, 0.4, low, high, 0.0, true), 4.0);
            assert_eq!(smallest(steps, 0.0, low, high, 0.0, true), 0.0);
        }
    }

    #[test]
    fn a_floorless_support_reaches_negative_answers() {
        let logistic = |y: f64| 1.0 / (1.0 + (-y).exp());
        let y = smallest(logistic, 1e-6, 0.0, 1.0, f64::NEG_INFINITY, false);
        assert!((logistic(y) / 1e-6 - 1.0).abs() < 1e-9);
    }
}
