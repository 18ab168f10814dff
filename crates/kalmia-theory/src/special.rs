//! Scalar functions that keep the closed forms accurate over the whole range of binary64.

/// $\ln(1+e^x)$.
pub(crate) fn softplus(x: f64) -> f64 {
    ln_add(0.0, x)
}

/// $\ln(e^a+e^b)$, with $-\infty$ for a zero summand.
pub(crate) fn ln_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// Terms summed one by one before the expansion of [`power_sum`] takes over.
const DIRECT: f64 = 64.0;

/// $\sum_{t=a}^{b} t^{-s}$ for whole $1\le a$, $s\ge0$: the first terms one by one, the others by
/// the Euler-Maclaurin formula, whose remainder beyond $t=64$ is below $10^{-18}$ of the first of
/// them for $s\le2$. Empty when $a>b$.
pub(crate) fn power_sum(a: f64, b: f64, s: f64) -> f64 {
    let switch = a.max(DIRECT);
    let mut sum = 0.0;
    let last = b.min(switch - 1.0);
    let mut t = last;
    // Backwards, so that small terms are added first.
    while t >= a {
        sum += t.powf(-s);
        t -= 1.0;
    }
    if b >= switch { sum + tail(switch, b, s) } else { sum }
}

/// $\sum_{t=m}^{b} t^{-s}$ by Euler-Maclaurin.
fn tail(m: f64, b: f64, s: f64) -> f64 {
    let integral = integral(m, b, s);
    let ends = 0.5 * (m.powf(-s) + b.powf(-s));
    // -f^(2j-1)(x) B_2j/(2j)! for f = x^-s: the rising factorial of s over x^(s+2j-1).
    let correction = |x: f64| {
        let u = 1.0 / x;
        let f = x.powf(-s);
        let first = s * u;
        let third = first * (s + 1.0) * (s + 2.0) * u * u;
        let fifth = third * (s + 3.0) * (s + 4.0) * u * u;
        let seventh = fifth * (s + 5.0) * (s + 6.0) * u * u;
        f * (first / 12.0 - third / 720.0 + fifth / 30240.0 - seventh / 1_209_600.0)
    };
    integral + ends + correction(m) - correction(b)
}

/// $\int_m^b x^{-s}\,dx$, continuous through $s=1$.
fn integral(m: f64, b: f64, s: f64) -> f64 {
    let log = (b / m).ln();
    let exponent = (1.0 - s) * log;
    let shape = if exponent == 0.0 { 1.0 } else { exponent.exp_m1() / exponent };
    m.powf(1.0 - s) * log * shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_sums_agree_with_the_plain_formula_and_survive_overflow() {
        for x in [-30.0, -1.0, 0.0, 1e-3, 2.5, 30.0f64] {
            assert!((softplus(x) - (1.0 + x.exp()).ln()).abs() <= 1e-14 * (1.0 + x.abs()));
            assert!((ln_add(x, 1.0) - (x.exp() + 1f64.exp()).ln()).abs() < 1e-13 * (1.0 + x.abs()));
        }
        // Where the plain formula has lost every digit.
        assert_eq!(softplus(-50.0), (-50f64).exp());
        assert_eq!(softplus(1e5), 1e5);
        assert_eq!(ln_add(f64::NEG_INFINITY, 3.0), 3.0);
        assert_eq!(ln_add(f64::NEG_INFINITY, f64::NEG_INFINITY), f64::NEG_INFINITY);
        assert_eq!(ln_add(1e250, 2e250), 2e250);
    }

    #[test]
    fn power_sums_agree_with_a_loop() {
        for s in [0.0, 0.01, 0.3, 0.49, 0.5, 1.0, 1.02, 1.5, 2.0] {
            for (a, b) in [
                (1, 1),
                (1, 63),
                (1, 64),
                (1, 65),
                (5, 3),
                (7, 1000),
                (100, 100),
                (99, 20_000),
                (1, 200_000),
            ] {
                let naive: f64 = (a..=b).rev().map(|t| f64::from(t).powf(-s)).sum();
                let fast = power_sum(f64::from(a), f64::from(b), s);
                assert!(
                    (fast - naive).abs() <= 2e-13 * naive,
                    "s={s} {a}..={b}: {fast} against {naive}"
                );
            }
        }
    }
}
