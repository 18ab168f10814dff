//! Incomplete gamma and beta functions that keep their accuracy and their cost at large parameters.
//!
//! The densities in front of the series are in Loader's saddle-point form, because the usual
//! differences of log-gammas lose $a \ln a$ units in the last place.

use libm::{erfc, lgamma};
use statrs::distribution::{ContinuousCDF, Normal};
use std::f64::consts::{SQRT_2, TAU};

/// Above it $Q(a,x)$ comes from Temme's uniform expansion, accurate there to $10^{-13}$, at a cost
/// that does not grow with $a$.
const TEMME: f64 = 1e4;
const ITERATIONS: u32 = 200_000;
const TINY: f64 = 1e-300;

/// $P(Z \le z)$ for a standard normal $Z$.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// Quantile of the standard normal law: statrs's, good to $10^{-10}$, and one step of Newton in the
/// lower tail.
pub(crate) fn normal_quantile(q: f64) -> f64 {
    let start = Normal::standard().inverse_cdf(q);
    if !start.is_finite() {
        return start;
    }
    let (lower, z) = (q.min(1.0 - q), -start.abs());
    let density = (-0.5 * z * z).exp() / TAU.sqrt();
    if density == 0.0 {
        return start;
    }
    let polished = z - (normal_cdf(z) - lower) / density;
    if start > 0.0 { -polished } else { polished }
}

/// Where a short series gives $e^x - 1$ to rounding, in a third of the time of the standard
/// library's, and where one gives $\ln(1+x)$.
const NEAR_ZERO: [f64; 2] = [1.0 / 32.0, 1.0 / 8.0];

/// $e^x - 1$.
#[inline(always)]
pub(crate) fn exp_m1(x: f64) -> f64 {
    if x.abs() > NEAR_ZERO[0] {
        return x.exp_m1();
    }
    let upper = 1.0 / 120.0 + x * (1.0 / 720.0 + x * (1.0 / 5040.0 + x * (1.0 / 40320.0)));
    x + x * x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0 + x * upper)))
}

/// $\ln(1+x)$.
#[inline(always)]
pub(crate) fn ln_1p(x: f64) -> f64 {
    if x.abs() > NEAR_ZERO[1] {
        return x.ln_1p();
    }
    twice_artanh(x / (2.0 + x))
}

/// $\ln(a/b)$ of two positive numbers.
#[inline(always)]
pub(crate) fn ln_ratio(a: f64, b: f64) -> f64 {
    let (difference, sum) = (a - b, a + b);
    if difference.abs() > 0.5 * NEAR_ZERO[1] * sum {
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

/// $\ln\Gamma(n+1) - (n+\tfrac12)\ln n + n - \tfrac12\ln 2\pi$, the error of Stirling's formula.
fn stirling_error(n: f64) -> f64 {
    if n <= 15.0 {
        return lgamma(n + 1.0) - (n + 0.5) * n.ln() + n - 0.5 * TAU.ln();
    }
    let r = 1.0 / (n * n);
    (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - r / 1188.0)))) / n
}

/// $x\ln(x/m) + m - x$, without cancellation for $x$ near $m$.
fn deviance_half(x: f64, m: f64) -> f64 {
    if (x - m).abs() >= 0.1 * (x + m) {
        return if x == 0.0 { m } else { x * (x / m).ln() + m - x };
    }
    let v = (x - m) / (x + m);
    let (mut sum, mut term) = ((x - m) * v, 2.0 * x * v);
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

/// $(P(a,x), Q(a,x))$, the regularised lower and upper incomplete gamma functions.
pub(crate) fn gamma_pair(a: f64, x: f64) -> (f64, f64) {
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    if a > TEMME {
        return temme(a, x);
    }
    let density = poisson_density(a, x);
    if density == 0.0 {
        return if x < a { (0.0, 1.0) } else { (1.0, 0.0) };
    }
    if x <= a + 1.0 {
        let (mut sum, mut term, mut r) = (1.0, 1.0, a);
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
    let (mut c, mut d) = (1.0 / TINY, 1.0 / b);
    let mut h = d;
    for i in 1..ITERATIONS {
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
    if v.abs() < TINY { TINY } else { v }
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
        let (n, m) = (1.0 / eta, 1.0 / mu);
        (m - n, n * n * n - m * m * m - m * m - m / 12.0)
    };
    let rest = (-a * half_square).exp() / (TAU * a).sqrt() * (c0 + c1 / a);
    let z = eta * (0.5 * a).sqrt();
    ((0.5 * erfc(-z) - rest).clamp(0.0, 1.0), (0.5 * erfc(z) + rest).clamp(0.0, 1.0))
}

/// $I_x(a,b)$, the regularised incomplete beta function, given both $x$ and $y = 1-x$ so that
/// neither loses digits.
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
    for m in 1..ITERATIONS {
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

/// $P(T \le t)$ for Student's $T$ with `dof` degrees of freedom.
pub(crate) fn student_cdf(t: f64, dof: f64) -> f64 {
    // The fraction loses digits like dof; this expansion around the normal law gains them like its
    // square.
    if dof > 3e5 {
        return normal_cdf(t * (1.0 - 0.25 / dof) / 1.0f64.hypot(t / (2.0 * dof).sqrt()));
    }
    let square = t * t;
    let (x, y) = if square.is_finite() {
        (dof / (dof + square), square / (dof + square))
    } else {
        (0.0, 1.0)
    };
    let tail = 0.5 * beta_regularized(0.5 * dof, 0.5, x, y);
    if t > 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn series_near_zero_are_the_standard_librarys() {
        for k in -400..=400 {
            let [x, z] = NEAR_ZERO.map(|near| f64::from(k) / 400.0 * 1.1 * near);
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

    #[test]
    fn normal_quantile_inverts_in_both_tails() {
        for q in [1e-300f64, 1e-20, 1e-5, 0.025, 0.3, 0.5, 0.6, 0.975, 1.0 - 1e-9] {
            let z = normal_quantile(q);
            let back = if q < 0.5 { normal_cdf(z) / q } else { normal_cdf(-z) / (1.0 - q) };
            assert!((back - 1.0).abs() < 1e-11, "{q}: {back}");
        }
    }

    #[test]
    fn student_closed_forms_at_one_two_and_many_degrees() {
        for t in [-1e200f64, -30.0, -2.0, -0.1, 0.0, 0.7, 4.0, 1e6] {
            let cauchy = 0.5 + t.atan() / std::f64::consts::PI;
            assert!((student_cdf(t, 1.0) - cauchy).abs() < 1e-14);
            let two = if t.abs() > 1e100 {
                0.5 + 0.5 * t.signum()
            } else {
                0.5 + 0.5 * t / (2.0 + t * t).sqrt()
            };
            assert!((student_cdf(t, 2.0) - two).abs() < 1e-14, "{t}");
            assert!((student_cdf(t, 1e12) - normal_cdf(t)).abs() < 1e-11, "{t}");
            assert!(
                (student_cdf(t, 2.99e5) - student_cdf(t, 3.01e5)).abs() < 1e-8,
                "the two branches meet at {t}"
            );
        }
    }
}
