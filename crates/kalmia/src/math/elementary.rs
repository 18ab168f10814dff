//! Logistic function, logarithms, exponentials and dot product, as fast as their accuracy allows.

/// $\sum_j a_j b_j$, added from the first to the last.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// $1/(1+e^{-u})$ without overflow.
#[inline(always)]
pub fn logistic(u: f64) -> f64 {
    let e = (-u.abs()).exp();
    if u >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

/// $\ln(1+e^{u})$ without overflow.
#[inline(always)]
pub fn softplus(u: f64) -> f64 {
    u.max(0.0) + ln_1p_unit((-u.abs()).exp())
}

/// $\ln(1+e)$ for $-\frac12 \le e \le 1$, to two units in the last place: the logarithm of the
/// rounded sum, corrected for its rounding. Twice as fast as the standard library, which covers all
/// `e`.
#[inline(always)]
pub(crate) fn ln_1p_unit(e: f64) -> f64 {
    let sum = 1.0 + e;
    sum.ln() + (e - (sum - 1.0)) / sum
}

/// $e^x$ for $|x| \le 700$ to rounding: $e^x = 2^n e^r$, $|r| \le \frac12\ln 2$, and twelve
/// terms; for the compiler to turn into SIMD.
#[inline(always)]
pub(crate) const fn exp(x: f64) -> f64 {
    /// Adding it rounds to a whole number, which then stands in the last bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * 0.693_147_180_369_123_8) - n * 1.908_214_929_270_587_7e-10;
    let high = 1.0 / 362_880.0
        + r * (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0 + r * (1.0 / 479_001_600.0)));
    let middle =
        1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5_040.0 + r * (1.0 / 40_320.0 + r * high)));
    let value = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * middle))));
    value * f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0f64.to_bits()))
}

/// Largest $|x|$ for which a short series gives $e^x - 1$ to rounding, in a third of the time of
/// the standard library.
const MAX_EXP_M1_SERIES: f64 = 1.0 / 32.0;
/// Largest $|x|$ for which a short series gives $\ln(1+x)$ to rounding.
const MAX_LN_1P_SERIES: f64 = 1.0 / 8.0;

/// $e^x - 1$.
#[inline(always)]
pub(crate) fn exp_m1(x: f64) -> f64 {
    if x.abs() > MAX_EXP_M1_SERIES {
        return x.exp_m1();
    }
    let upper = 1.0 / 120.0 + x * (1.0 / 720.0 + x * (1.0 / 5040.0 + x * (1.0 / 40320.0)));
    x + x * x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0 + x * upper)))
}

/// $\ln(1+x)$.
#[inline(always)]
pub(crate) fn ln_1p(x: f64) -> f64 {
    if x.abs() > MAX_LN_1P_SERIES {
        return x.ln_1p();
    }
    twice_artanh(x / (2.0 + x))
}

/// $\ln(a/b)$ of two positive numbers.
#[inline(always)]
pub(crate) fn ln_ratio(a: f64, b: f64) -> f64 {
    let difference = a - b;
    let sum = a + b;
    if difference.abs() > 0.5 * MAX_LN_1P_SERIES * sum {
        (a / b).ln()
    } else {
        twice_artanh(difference / sum)
    }
}

/// $\ln\frac{1+z}{1-z}$ near 0.
#[inline(always)]
pub(crate) fn twice_artanh(z: f64) -> f64 {
    let w = z * z;
    let upper = 1.0 / 9.0 + w * (1.0 / 11.0 + w * (1.0 / 13.0));
    2.0 * (z + z * w * (1.0 / 3.0 + w * (0.2 + w * (1.0 / 7.0 + w * upper))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_the_standard_librarys() {
        for k in -6540..=6540 {
            let x = f64::from(k) * 0.107;
            assert!((exp(x) / x.exp() - 1.0).abs() < 4.0 * f64::EPSILON, "{x}");
        }
    }

    #[test]
    fn logarithms_on_the_unit_are_the_standard_librarys() {
        for k in 0..=4000 {
            let e = (-f64::from(k) * 0.0101).exp();
            for e in [e, -0.5 * e] {
                assert!((ln_1p_unit(e) / e.ln_1p() - 1.0).abs() <= 2.0 * f64::EPSILON, "{e:e}");
            }
        }
        assert_eq!(ln_1p_unit(0.0), 0.0);
    }

    #[test]
    fn series_near_zero_are_the_standard_librarys() {
        for k in -400..=400 {
            let part = f64::from(k) / 400.0 * 1.1;
            let x = part * MAX_EXP_M1_SERIES;
            let z = part * MAX_LN_1P_SERIES;
            for (own, standard) in [
                (exp_m1(x), x.exp_m1()),
                (ln_1p(z), z.ln_1p()),
                (ln_ratio(3.0 + z, 3.0), (((3.0 + z) - 3.0) / 3.0).ln_1p()),
            ] {
                assert!(
                    (own - standard).abs() <= 4.0 * f64::EPSILON * standard.abs(),
                    "{x}: {own:e} {standard:e}"
                );
            }
        }
    }
}
