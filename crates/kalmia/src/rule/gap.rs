//! How an ordered level moves the belief about the gap between the two cutpoints beside it.
//!
//! A row of a middle level has the likelihood $1 - e^{-\delta}$ of the gap $\delta$ between its
//! cutpoints, and 0 for $\delta \le 0$ (`learner/ordinal` has the derivation). With $\delta \sim
//! N(m, s)$, $r = \sqrt s$, $t = m/r$ and $M = \Phi/\varphi$,
//!
//! $$Z = \Phi(t) - e^{-m+s/2}\,\Phi(t-r) = \varphi(t)\,D, \qquad D = M(t) - M(t-r),$$
//! $$g = (\ln Z)' = \frac{M(t-r)}{D}, \qquad
//!   c = -(\ln Z)'' = \frac{r\,M(t)\,M(t-r) - D}{r\,D^2}.$$
//!
//! For small $r$, $D$ is the integral of $M' = 1 + tM$, which `math/half_normal.rs` has without
//! cancellation. Where $M$ would overflow, and in the lower tail, other forms are used.

use super::Step;
use crate::math::{HalfNormal, exp_m1, normal_cdf};
use std::f64::consts::TAU;

/// Smallest $t$ from which $Z$ is computed as a probability: $M$ grows as $e^{t^2/2}$.
const MIN_UPPER: f64 = 6.0;
/// Largest $t$ at which the moments are integrals: $c$ in closed form would cancel.
const MAX_LOWER: f64 = -1.0;
/// Largest $r$ up to which $D$ is an integral.
const MAX_NARROW: f64 = 1.0;

/// Smallest $t$; below it the density of the gap would underflow.
const MIN_MEAN: f64 = -1e9;
/// Largest $\alpha s$.
const MAX_PRECISION: f64 = 1e300;

/// Nodes of the Gauss-Legendre rule on $[-1, 1]$, the positive half, with their weights.
const LEGENDRE_10: [(f64, f64); 5] = [
    (0.148_874_338_981_631_22, 0.295_524_224_714_752_8),
    (0.433_395_394_129_247_2, 0.269_266_719_309_996_5),
    (0.679_409_568_299_024_4, 0.219_086_362_515_982),
    (0.865_063_366_688_984_5, 0.149_451_349_150_580_4),
    (0.973_906_528_517_171_7, 0.066_671_344_308_688_14),
];

/// Mean and variance of the gap after the row, relative to the belief before.
struct Posterior {
    /// $g$.
    gain: f64,
    /// $c\,s$, the share of the variance that goes.
    lost: f64,
    /// $1 - cs$, the share that stays.
    left: f64,
}

/// The moment-matching step of a row of a middle level for the gap $\delta \sim N(m, s)$ between
/// its cutpoints, with $s > 0$.
///
/// A weight $w$ counts the likelihood as normal, as the step at weight 1 does, $w$ times.
#[doc(hidden)]
pub fn gap_step(m: f64, s: f64, weight: f64) -> Step {
    if weight == 0.0 {
        return Step::NONE;
    }
    let r = s.sqrt();
    let t = (m / r).max(MIN_MEAN);
    let Posterior { gain, lost, left } = if t >= MIN_UPPER {
        upper(t, r)
    } else if t > MAX_LOWER {
        middle(t, r)
    } else {
        lower(t, r)
    };
    // alpha s
    let precision = (lost / left).clamp(0.0, MAX_PRECISION);
    let gain = weight * gain * (1.0 + precision) / (1.0 + weight * precision);
    Step::bounded(gain, weight * precision / s, s)
}

/// The step that a gap $\delta \sim N(m, s)$ takes when it is known to be positive: that of the
/// likelihood 1 for $\delta > 0$ and 0 otherwise.
#[doc(hidden)]
pub fn order_step(m: f64, s: f64) -> Step {
    let r = s.sqrt();
    let HalfNormal { mills, variance, .. } = HalfNormal::above(-m / r);
    Step::bounded(1.0 / (mills * r), (1.0 - variance) / (variance * s), s)
}

/// $M(t)$, for $t$ up to 37.
fn ratio(t: f64) -> f64 {
    HalfNormal::above(-t).mills
}

fn density(t: f64) -> f64 {
    (-0.5 * t * t).exp() / TAU.sqrt()
}

/// For large $t$: nearly all of the belief is positive.
fn upper(t: f64, r: f64) -> Posterior {
    let u = t - r;
    // of e^{-delta} over the positive gaps
    let (discounted, z) = if u > 0.0 {
        let exponent = -0.5 * r * (t + u);
        let below = normal_cdf(u);
        (exponent.exp() * below, -exp_m1(exponent) * below + (normal_cdf(t) - below).max(0.0))
    } else {
        let discounted = density(t) * ratio(u);
        (discounted, normal_cdf(t) - discounted)
    };
    let gain = discounted / z;
    // c s, whose last term vanishes long before r does
    let edge = density(t);
    let cut = if edge > 0.0 { r * edge / z } else { 0.0 };
    let lost = r * r * gain * (1.0 + gain) - cut;
    Posterior { gain, lost, left: 1.0 - lost }
}

/// For $t$ around 0.
fn middle(t: f64, r: f64) -> Posterior {
    let above = ratio(t);
    let below = ratio(t - r);
    let difference = if r <= MAX_NARROW { narrow_difference(t, r) } else { above - below };
    let lost = r * (r * above * below - difference) / (difference * difference);
    Posterior { gain: below / difference, lost, left: 1.0 - lost }
}

/// $\int_{t-r}^t M'(v)\,dv$.
fn narrow_difference(t: f64, r: f64) -> f64 {
    let slope = |v: f64| {
        let HalfNormal { mills, excess, .. } = HalfNormal::above(-v);
        mills * excess
    };
    let middle = t - 0.5 * r;
    let half = 0.5 * r;
    let pair = |(node, weight): &(f64, f64)| {
        weight * (slope(middle - half * node) + slope(middle + half * node))
    };
    half * LEGENDRE_10.iter().map(pair).sum::<f64>()
}

/// Logarithms of the nodes of [`lower`], relative to the scale of the gap.
const LOWER_FROM: f64 = -19.0;
const LOWER_STEP: f64 = 0.15;
const LOWER_NODES: u32 = 152;

/// For small $t$: the gap $rv$ has the density $e^{tv - v^2/2}(1 - e^{-rv})$, integrated by the
/// trapezoid rule in $\ln v$.
fn lower(t: f64, r: f64) -> Posterior {
    let scale = 1.0 / (-t).max(1.0);
    let nodes = || {
        (0..LOWER_NODES).map(|i| {
            let v = scale * (LOWER_FROM + LOWER_STEP * f64::from(i)).exp();
            (v, v * (t * v - 0.5 * v * v).exp() * -exp_m1(-r * v))
        })
    };
    let mass: f64 = nodes().map(|(_, weight)| weight).sum();
    let mean = nodes().map(|(v, weight)| weight * v).sum::<f64>() / mass;
    let left = nodes().map(|(v, weight)| weight * (v - mean).powi(2)).sum::<f64>() / mass;
    Posterior { gain: ratio(t - r) / (LOWER_STEP * mass), lost: 1.0 - left, left }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of $\delta \sim N(m, s)$: $\ln Z - \ln Z_0$, and mean and variance given the row, by a fine
    /// trapezoid rule in the logarithm; $Z_0$ depends on `origin` alone.
    fn integrals(m: f64, s: f64, origin: f64, likelihood: impl Fn(f64) -> f64) -> (f64, f64, f64) {
        let scale = if m < 0.0 { s / (s.sqrt() - m) } else { s.sqrt() };
        let nodes = || {
            (-80_000..=14_000).map(|i| {
                let x = scale * (f64::from(i) * 5e-4).exp();
                // relative to the density at the origin or at m, whichever is larger
                let top = (origin - m).powi(2);
                (x, x * (0.5 * (top - (x - m).powi(2)) / s).exp() * likelihood(x))
            })
        };
        let mass: f64 = nodes().map(|(_, w)| w).sum();
        let mean = nodes().map(|(x, w)| w * x).sum::<f64>() / mass;
        let variance = nodes().map(|(x, w)| w * (x - mean).powi(2)).sum::<f64>() / mass;
        (mass.ln() - 0.5 * (origin - m).powi(2) / s, mean, variance)
    }

    fn gap(delta: f64) -> f64 {
        -(-delta).exp_m1()
    }

    fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
        let close = (found - expected).abs() <= tolerance * expected.abs();
        assert!(close, "{what}: {found} is not {expected}");
    }

    /// Belief and step agree with the integrals: the mean moves by $gs$, the variance becomes $s -
    /// cs^2$.
    #[test]
    fn the_step_has_the_moments_of_the_integral() {
        for t in [-300.0, -20.0, -3.0, -1.01, -0.99, -0.3, 0.0, 0.8, 2.0, 4.0, 5.99, 6.01, 9.0] {
            for s in [1e-6, 1e-2, 0.5, 0.99, 1.01, 4.0, 30.0, 1e3] {
                let m = t * f64::sqrt(s);
                let (_, mean, variance) = integrals(m, s, m.max(0.0), gap);
                let step = gap_step(m, s, 1.0);
                let what = format!("t {t}, s {s}");
                close(m + s * step.gain, mean, 1e-7, &what);
                close(1.0 / (1.0 / s + step.curvature), variance, 1e-6, &what);
                close(step.contraction, step.curvature / (1.0 + step.curvature * s), 1e-12, &what);
            }
        }
    }

    /// $g$ and $c$ are the derivatives of $\ln Z$, by central differences.
    #[test]
    fn gain_and_contraction_are_derivatives() {
        for (m, s) in [(0.5, 0.3), (1.0, 4.0), (2.0, 0.05), (-1.0, 0.8), (3.0, 9.0)] {
            let h = 1e-3 * f64::sqrt(s);
            let log = |m: f64| integrals(m, s, 0.0, gap).0;
            let step = gap_step(m, s, 1.0);
            let what = format!("m {m}, s {s}");
            close(step.gain, (log(m + h) - log(m - h)) / (2.0 * h), 1e-5, &what);
            let second = (log(m + h) - 2.0 * log(m) + log(m - h)) / (h * h);
            close(step.contraction, -second, 1e-3, &what);
        }
    }

    /// A narrow belief takes the derivatives at its mean.
    #[test]
    fn a_narrow_belief_takes_the_derivatives_at_its_mean() {
        for m in [0.01f64, 0.3, 1.0, 7.0, 40.0] {
            let step = gap_step(m, 1e-14 * m * m, 1.0);
            let gain = 1.0 / m.exp_m1();
            close(step.gain, gain, 1e-9, "gain");
            close(step.curvature, gain * (1.0 + gain), 1e-9, "curvature");
        }
    }

    #[test]
    fn a_known_order_truncates() {
        for t in [-200.0, -8.0, -2.0, 0.0, 0.9, 3.0] {
            for s in [1e-4, 1.0, 50.0] {
                let m = t * f64::sqrt(s);
                let (_, mean, variance) = integrals(m, s, m.max(0.0), |_| 1.0);
                let step = order_step(m, s);
                let what = format!("t {t}, s {s}");
                close(m + s * step.gain, mean, 1e-7, &what);
                close(1.0 / (1.0 / s + step.curvature), variance, 1e-6, &what);
            }
        }
    }

    /// $w$ counts the normal likelihood of weight 1 so many times.
    #[test]
    fn weights_scale_what_the_row_says() {
        for (m, s) in [(0.5, 0.3), (2.0, 4.0), (8.0, 0.5)] {
            let one = gap_step(m, s, 1.0);
            // the normal likelihood by its precision and its pull
            let after = 1.0 / s + one.curvature;
            let pull = (m + s * one.gain) * after - m / s;
            for weight in [0.25, 1.0, 3.0] {
                let step = gap_step(m, s, weight);
                close(step.curvature, weight * one.curvature, 1e-12, "curvature");
                let mean = (m / s + weight * pull) / (1.0 / s + weight * one.curvature);
                close(m + s * step.gain, mean, 1e-9, "mean");
            }
            assert_eq!(gap_step(m, s, 0.0), Step::NONE);
        }
    }

    #[test]
    fn any_belief_gives_a_finite_step() {
        for m in [-1e100, -1e9, -1.0, 0.0, 1e-300, 1.0, 1e9, 1e100] {
            for s in [1e-280, 1e-9, 1.0, 1e9, 1e200] {
                for step in [gap_step(m, s, 1.0), order_step(m, s)] {
                    let finite = step.gain.is_finite() && step.curvature.is_finite();
                    assert!(finite && step.curvature >= 0.0, "m {m}, s {s}: {step:?}");
                }
            }
        }
    }
}
