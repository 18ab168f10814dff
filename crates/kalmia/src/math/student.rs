//! Student's law: distribution function, density and quantile; with infinitely many degrees of
//! freedom it is the normal law.

use super::invert::smallest;
use super::normal::{normal_cdf, normal_quantile};
use super::special::beta_regularized;
use libm::lgamma;
use std::f64::consts::{PI, TAU};

/// Most degrees of freedom for which the distribution function is a continued fraction.
const MAX_FRACTION_DOF: f64 = 3e5;
/// Smallest $a$ at which $\ln\Gamma(a+\frac12) - \ln\Gamma(a)$ is a series: the difference of two
/// log-gammas loses $a\ln a$ units in the last place.
const MIN_SERIES_SHAPE: f64 = 30.0;
/// Most steps of Newton's method for a quantile; they are few unless the tail is very heavy.
const MAX_STEPS: usize = 60;

/// $P(T \le t)$ for Student's $T$ with `dof` degrees of freedom.
pub(crate) fn student_cdf(t: f64, dof: f64) -> f64 {
    if dof.is_infinite() {
        return normal_cdf(t);
    }
    // The error of the fraction grows like dof; that of this expansion falls like its square.
    if dof > MAX_FRACTION_DOF {
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

/// $\ln\Gamma(a+\tfrac12) - \ln\Gamma(a)$.
fn ln_gamma_half_step(a: f64) -> f64 {
    if a < MIN_SERIES_SHAPE {
        return lgamma(a + 0.5) - lgamma(a);
    }
    let r = 1.0 / (a * a);
    0.5 * a.ln() - (1.0 / 8.0 - r * (1.0 / 192.0 - r * (1.0 / 640.0 - r * 17.0 / 14336.0))) / a
}

/// $\ln$ of the density.
pub(crate) fn student_log_density(t: f64, dof: f64) -> f64 {
    if dof.is_infinite() {
        return -0.5 * (t * t + TAU.ln());
    }
    ln_gamma_half_step(0.5 * dof)
        - 0.5 * (PI * dof).ln()
        - 0.5 * (dof + 1.0) * (t * t / dof).ln_1p()
}

/// The quantile for $0 < q < 1$.
///
/// Newton's method on $\ln P$ in the lower tail, where the distribution function keeps its
/// precision; far out in $\ln|t|$, because a heavy tail is straight there.
pub(crate) fn student_quantile(q: f64, dof: f64) -> f64 {
    let normal = normal_quantile(q);
    if dof.is_infinite() || q == 0.5 {
        return normal;
    }
    let lower = q.min(1.0 - q);
    let z = -normal.abs();
    // Cornish and Fisher; for few degrees of freedom it would overshoot
    let start = z + (z * z * z + z) / (4.0 * dof.max(4.0));
    let t = newton(start, lower, dof).unwrap_or_else(|| {
        let below = |t: f64| student_cdf(t, dof);
        smallest(below, lower, 2.0 * z, 0.5 * z, f64::NEG_INFINITY, false)
    });
    t.copysign(normal)
}

/// The quantile in the lower tail; `None` if the method does not converge.
fn newton(start: f64, lower: f64, dof: f64) -> Option<f64> {
    let mut t = start;
    for _ in 0..MAX_STEPS {
        let below = student_cdf(t, dof);
        let density = student_log_density(t, dof).exp();
        let step = (below / lower).ln() * below / density;
        let next = if t < -1.0 { t * (-step / t).exp() } else { t - step };
        if !(next < 0.0 && next.is_finite()) {
            return None;
        }
        // the error after a step is about its square
        if (next - t).abs() <= 1e-9 * t.abs() {
            return Some(next);
        }
        t = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms_at_one_two_and_many_degrees() {
        for t in [-1e200f64, -30.0, -2.0, -0.1, 0.0, 0.7, 4.0, 1e6] {
            let cauchy = 0.5 + t.atan() / PI;
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

    #[test]
    fn quantiles_invert_the_distribution_in_both_tails() {
        for dof in [0.3, 0.7, 1.0, 1.5, 2.0, 3.0, 7.5, 40.0, 1e3, 2.9e5, 4e5, 1e9, f64::INFINITY] {
            for q in [1e-12, 1e-6, 0.025, 0.3, 0.499_999, 0.5, 0.8, 0.975, 1.0 - 1e-6] {
                let t = student_quantile(q, dof);
                let back = if q < 0.5 {
                    student_cdf(t, dof) / q
                } else {
                    student_cdf(-t, dof) / (1.0 - q)
                };
                assert!((back - 1.0).abs() < 1e-9, "dof {dof}, q {q}: {t} {back}");
            }
        }
        let cauchy = (PI * (0.975 - 0.5)).tan();
        assert!((student_quantile(0.975, 1.0) / cauchy - 1.0).abs() < 1e-12);
    }

    #[test]
    fn density_is_the_slope_of_the_distribution() {
        for dof in [0.7, 3.0, 59.0, 61.0, 5e3] {
            for t in [-3.0f64, -1.0, 0.2, 2.0] {
                let h = 1e-3;
                let far = student_cdf(t + 2.0 * h, dof) - student_cdf(t - 2.0 * h, dof);
                let near = student_cdf(t + h, dof) - student_cdf(t - h, dof);
                let slope = (8.0 * near - far) / (12.0 * h);
                let density = student_log_density(t, dof).exp();
                assert!((density / slope - 1.0).abs() < 1e-8, "dof {dof}, t {t}");
            }
        }
    }
}
