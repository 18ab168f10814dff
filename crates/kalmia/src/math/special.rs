//! Log-gamma, incomplete gamma and beta functions, accurate at large parameters.
//!
//! The densities in front of the series are in Loader's saddle-point form, because the usual
//! differences of log-gammas lose $a \ln a$ units in the last place.

use libm::{erfc, lgamma};
use std::f64::consts::TAU;

/// Largest $a$ for which $Q(a,x)$ is a series or a continued fraction. Above it Temme's uniform
/// expansion is accurate to $10^{-13}$, at a cost that does not grow with $a$.
const MAX_SERIES_SHAPE: f64 = 1e4;
/// Most terms of a continued fraction.
const MAX_FRACTION_TERMS: u32 = 200_000;
/// Replaces a smaller denominator in a continued fraction.
const MIN_DENOMINATOR: f64 = 1e-300;

/// Constants of Lanczos' approximation of $\ln\Gamma$ (Pugh's choice for 11 terms).
const LANCZOS_SHIFT: f64 = 10.900511;
const LANCZOS: [f64; 11] = [
    2.485_740_891_387_535_5e-5,
    1.051_423_785_817_219_7,
    -3.456_870_972_220_162_5,
    4.512_277_094_668_948,
    -2.982_852_253_235_766_4,
    1.056_397_115_771_267,
    -1.954_287_731_916_458_7e-1,
    1.709_705_434_044_412e-2,
    -5.719_261_174_043_057e-4,
    4.633_994_733_599_057e-6,
    -2.719_949_084_886_077_2e-9,
];
/// $\ln(2\sqrt{e/\pi})$.
const LN_2_ROOT_E_OVER_PI: f64 = 0.620_782_237_635_245_2;

/// $\ln\Gamma(x)$ for $x \ge \frac12$, by Lanczos' approximation.
///
/// Stored evidence of the default learner was computed with it, so it stays beside libm's `lgamma`,
/// which differs in the last bits.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    debug_assert!(x >= 0.5);
    let mut sum = LANCZOS[0];
    for (k, coefficient) in LANCZOS.iter().enumerate().skip(1) {
        sum += coefficient / (x + k as f64 - 1.0);
    }
    let power = ((x - 0.5 + LANCZOS_SHIFT) / std::f64::consts::E).ln();
    sum.ln() + LN_2_ROOT_E_OVER_PI + (x - 0.5) * power
}

/// $\ln\Gamma(n+1) - (n+\tfrac12)\ln n + n - \tfrac12\ln 2\pi$, the error of Stirling's formula.
fn stirling_error(n: f64) -> f64 {
    if n <= 15.0 {
        return lgamma(n + 1.0) - (n + 0.5) * n.ln() + n - 0.5 * TAU.ln();
    }
    let r = 1.0 / (n * n);
    (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - r / 1188.0)))) / n
}

/// $\ln\Gamma(k+y) - \ln\Gamma(k) - y\ln k = \sum_{j<y}\ln(1+j/k)$, without cancellation for a
/// large `k`.
pub(crate) fn ln_gamma_ratio(k: f64, y: f64) -> f64 {
    (k + y - 0.5) * (y / k).ln_1p() - y + stirling_error(k + y) - stirling_error(k)
}

/// $\psi(k+y) - \psi(k) = \sum_{j<y} 1/(k+j)$, without cancellation for a large `k`.
pub(crate) fn digamma_ratio(k: f64, y: f64) -> f64 {
    (y / k).ln_1p() + digamma_error(k + y) - digamma_error(k)
}

/// $\psi(x) - \ln x$ for $x > 0$, by its asymptotic series above 10 and the recurrence below.
fn digamma_error(x: f64) -> f64 {
    let mut sum = 0.0;
    let mut shifted = x;
    while shifted < 10.0 {
        sum += 1.0 / shifted;
        shifted += 1.0;
    }
    let r = 1.0 / (shifted * shifted);
    let series = r * (1.0 / 12.0 - r * (1.0 / 120.0 - r * (1.0 / 252.0 - r / 240.0)));
    let far = -0.5 / shifted - series;
    if shifted == x { far } else { far - sum + (shifted / x).ln() }
}

/// $x\ln(x/m) + m - x$, without cancellation for $x$ near $m$.
fn deviance_half(x: f64, m: f64) -> f64 {
    if (x - m).abs() >= 0.1 * (x + m) {
        return if x == 0.0 { m } else { x * (x / m).ln() + m - x };
    }
    let v = (x - m) / (x + m);
    let mut sum = (x - m) * v;
    let mut term = 2.0 * x * v;
    for j in 1..60 {
        term *= v * v;
        let next = sum + term / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// $x^a e^{-x}/\Gamma(a+1)$.
fn poisson_density(a: f64, x: f64) -> f64 {
    if a < 15.0 {
        return (a * x.ln() - x - lgamma(a + 1.0)).exp();
    }
    (-stirling_error(a) - deviance_half(a, x)).exp() / (TAU * a).sqrt()
}

/// $x^a e^{-x}/\Gamma(a)$: the density of $\ln x$ for a gamma variable of shape `a`.
pub(crate) fn gamma_density(a: f64, x: f64) -> f64 {
    if x > 0.0 { a * poisson_density(a, x) } else { 0.0 }
}

/// $(P(a,x), Q(a,x))$, the regularized lower and upper incomplete gamma functions.
pub(crate) fn gamma_pair(a: f64, x: f64) -> (f64, f64) {
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    if a > MAX_SERIES_SHAPE {
        return temme(a, x);
    }
    let density = poisson_density(a, x);
    if density == 0.0 {
        return if x < a { (0.0, 1.0) } else { (1.0, 0.0) };
    }
    if x <= a + 1.0 {
        let mut sum = 1.0;
        let mut term = 1.0;
        let mut r = a;
        while term > 1e-17 * sum {
            r += 1.0;
            term *= x / r;
            sum += term;
        }
        let p = (density * sum).min(1.0);
        return (p, 1.0 - p);
    }
    let q = (density * a * gamma_fraction(a, x)).min(1.0);
    (1.0 - q, q)
}

/// Lentz's evaluation of the continued fraction of $\Gamma(a,x)\,e^x x^{-a}$.
fn gamma_fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / MIN_DENOMINATOR;
    let mut d = 1.0 / b;
    let mut h = d;
    for i in 1..MAX_FRACTION_TERMS {
        let i = f64::from(i);
        let an = -i * (i - a);
        b += 2.0;
        d = 1.0 / away_from_zero(an * d + b);
        c = away_from_zero(b + an / c);
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    h
}

fn away_from_zero(v: f64) -> f64 {
    if v.abs() < MIN_DENOMINATOR { MIN_DENOMINATOR } else { v }
}

/// Temme's expansion (DLMF 8.12) with its first two coefficients.
fn temme(a: f64, x: f64) -> (f64, f64) {
    let mu = (x - a) / a;
    let half_square = deviance_half(a, x) / a;
    let eta = (2.0 * half_square).sqrt().copysign(mu);
    let (c0, c1) = if eta.abs() < 0.1 {
        let e = eta;
        (
            -1.0 / 3.0
                + e * (1.0 / 12.0
                    + e * (-2.0 / 135.0
                        + e * (1.0 / 864.0 + e * (1.0 / 2835.0 - e * 139.0 / 777_600.0)))),
            -1.0 / 540.0 + e * (-1.0 / 288.0 + e * (1.0 / 378.0 - e * 77.0 / 77_760.0)),
        )
    } else {
        let n = 1.0 / eta;
        let m = 1.0 / mu;
        (m - n, n * n * n - m * m * m - m * m - m / 12.0)
    };
    let rest = (-a * half_square).exp() / (TAU * a).sqrt() * (c0 + c1 / a);
    let z = eta * (0.5 * a).sqrt();
    ((0.5 * erfc(-z) - rest).clamp(0.0, 1.0), (0.5 * erfc(z) + rest).clamp(0.0, 1.0))
}

/// $I_x(a,b)$, the regularized incomplete beta function, given both $x$ and $y = 1-x$ so that
/// neither loses precision.
pub(crate) fn beta_regularized(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 || y <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_fraction(b, a, y, x);
    }
    beta_fraction(a, b, x, y)
}

/// Lentz's evaluation of the continued fraction of $I_x(a,b)$, for $x$ below the mean.
fn beta_fraction(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    let exponent = stirling_error(n)
        - stirling_error(a)
        - stirling_error(b)
        - deviance_half(a, n * x)
        - deviance_half(b, n * y);
    // x^a y^b / (a B(a,b)) = C(n,a) x^a y^b b/n.
    let front = exponent.exp() * (b / (TAU * a * n)).sqrt();
    if front == 0.0 {
        return 0.0;
    }
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - n * x / (a + 1.0));
    let mut h = d;
    for m in 1..MAX_FRACTION_TERMS {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (n + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    (front * h).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_gamma_is_libms_to_the_error_of_eleven_terms() {
        for k in 1..4000 {
            let x = 0.5 * f64::from(k);
            let size = lgamma(x).abs().max(1.0);
            assert!((ln_gamma(x) - lgamma(x)).abs() <= 1e-14 * size, "{x}");
        }
    }

    #[test]
    fn ratios_of_gamma_functions_are_their_sums() {
        for k in [1e-6, 0.03, 0.5, 1.0, 7.3, 40.0, 1e5, 1e8] {
            for y in [0u32, 1, 2, 5, 30, 700] {
                let terms = || (0..y).map(f64::from);
                let logs: f64 = terms().map(|j| (j / k).ln_1p()).sum();
                let inverses: f64 = terms().map(|j| 1.0 / (k + j)).sum();
                let y = f64::from(y);
                assert!((ln_gamma_ratio(k, y) - logs).abs() <= 1e-13 * (y + logs), "{k} {y}");
                // the sum itself is off by some roundings
                let apart = (digamma_ratio(k, y) - inverses).abs();
                assert!(apart <= 1e-12 * inverses, "{k} {y}: {apart}");
            }
        }
    }

    /// $Q(a,x)$ for whole $a$ is a Poisson sum, taken in logarithms.
    fn poisson_sum(a: u32, x: f64) -> f64 {
        let mut log_term = -x;
        let mut sum = log_term.exp();
        for k in 1..a {
            log_term += (x / f64::from(k)).ln();
            sum += log_term.exp();
        }
        sum
    }

    #[test]
    fn incomplete_gamma_is_a_poisson_sum_on_both_sides_of_the_expansion() {
        for a in [1u32, 2, 7, 40, 700, 9_999, 10_001, 40_000] {
            for z in [-5.0, -1.0, 0.0, 0.3, 2.0, 6.0] {
                let x = (f64::from(a) + z * f64::from(a).sqrt()).max(0.01);
                let (p, q) = gamma_pair(f64::from(a), x);
                let tolerance = 1e-12 * f64::from(a).max(10.0).sqrt();
                assert!(
                    (q - poisson_sum(a, x)).abs() < tolerance,
                    "a={a} x={x}: {q} {}",
                    poisson_sum(a, x)
                );
                assert!((p + q - 1.0).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn incomplete_gamma_at_half_is_the_error_function() {
        for x in [1e-8f64, 0.1, 0.5, 1.0, 3.0, 30.0, 600.0] {
            let (p, q) = gamma_pair(0.5, x);
            assert!((q - erfc(x.sqrt())).abs() < 1e-14, "{x}: {q}");
            assert!((p - (1.0 - erfc(x.sqrt()))).abs() < 1e-14);
        }
    }

    #[test]
    fn incomplete_beta_is_a_binomial_sum() {
        for (n, p) in [(1u32, 0.3f64), (5, 0.9), (40, 0.01), (300, 0.5), (20_000, 0.7)] {
            let mut log_term = f64::from(n) * (1.0 - p).ln();
            let mut sum = log_term.exp();
            for k in 0..n {
                let got = beta_regularized(f64::from(n - k), f64::from(k) + 1.0, 1.0 - p, p);
                assert!((got - sum).abs() < 1e-9, "n={n} k={k}: {got} {sum}");
                log_term += (f64::from(n - k) / f64::from(k + 1) * p / (1.0 - p)).ln();
                sum += log_term.exp();
            }
        }
    }
}
