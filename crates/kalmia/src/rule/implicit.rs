//! The exact scalar MAP step: the linear predictor moves to where prior and row balance, so it
//! cannot overshoot.

use super::{Rule, Step};
use crate::family::Family;
use crate::rows::Observation;

/// $g = -\ell'(m^+)$, $\alpha = \ell''(m^+)$, where $m^+ = m - s\,\ell'(m^+)$.
///
/// $\ell$ is convex, so $m^+$ exists, is unique, and lies between $m$ and the minimiser of $\ell$.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Implicit;

impl Rule for Implicit {
    fn name(&self) -> &'static str {
        "implicit"
    }

    fn is_kalman(&self) -> bool {
        true
    }

    #[inline]
    fn step<F: Family>(
        &self,
        family: &F,
        observation: &Observation,
        m: f64,
        s: f64,
        _t: u64,
    ) -> Step {
        if observation.weight == 0.0 {
            return Step::NONE;
        }
        let at_m = observation.derivatives(family, m);
        let root = solve(family, observation, m, s, at_m);
        Step::bounded(root.gain, root.second, s)
    }

    fn can_diverge<F: Family>(&self, _family: &F) -> bool {
        false
    }
}

/// $m^+$ and what is known there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Root {
    /// $m^+ - m$, to full relative precision even where it is far below $|m|$.
    pub shift: f64,
    /// $(m^+ - m)/s = -\ell'(m^+)$.
    pub gain: f64,
    /// $\ell'(m^+)$ as the family returns it.
    pub first: f64,
    /// $\ell''(m^+)$.
    pub second: f64,
}

/// Bisections halve at worst the logarithm of the distance, so this is never reached.
const MOST_STEPS: usize = 400;
/// Largest move that ends the search: losses bend on the scale 1, so that a move of that size says
/// nothing, however small it is beside $d$. A saturated loss moves by 1 wherever it is looked at.
const LARGEST_LAST_MOVE: f64 = 1e-3;
/// Stands for an infinite bracket.
const FAR: f64 = 1e300;

/// Solves $m^+ = m - s\,\ell'(m^+)$ by Newton steps kept inside a shrinking bracket.
///
/// The unknown is the distance $d = |m^+ - m| \in [0, s|\ell'(m)|]$; its residual $d \pm s\,\ell'(m
/// \pm d)$ increases in $d$ and may be infinite.
#[inline]
pub(super) fn solve<F: Family>(
    family: &F,
    observation: &Observation,
    m: f64,
    s: f64,
    at_m: (f64, f64),
) -> Root {
    let (mut first, mut second) = at_m;
    let pull = s * first.abs();
    if first == 0.0 || pull == 0.0 {
        return Root { shift: 0.0, gain: -first, first, second };
    }
    let sign = if first > 0.0 { -1.0 } else { 1.0 };
    let (mut low, mut high) = (0.0, pull.min(FAR));
    let mut d = pull / (1.0 + s * second);
    if d.is_nan() || d >= high {
        d = if second == 0.0 { high } else { split(low, high) };
    }
    let mut last = d;
    for _ in 0..MOST_STEPS {
        (first, second) = observation.derivatives(family, m + sign * d);
        let residual = d + sign * s * first;
        if residual < 0.0 {
            low = d;
        } else {
            high = d;
        }
        // not |newton - d|, which is 0 where `d` is too large to be moved by 1
        let correction = residual / (1.0 + s * second);
        let (newton, move_by) = (d - correction, correction.abs());
        let tolerance = (4.0 * f64::EPSILON * (d + m.abs())).min(LARGEST_LAST_MOVE);
        if move_by <= tolerance && newton >= low && newton <= high {
            d = newton;
            break;
        }
        // A Newton step that does not halve the last one crawls along an exponential: cut the
        // bracket instead.
        let next = if newton > low && newton < high && move_by <= 0.5 * last {
            newton
        } else {
            split(low, high)
        };
        if next <= low || next >= high {
            break;
        }
        last = (next - d).abs();
        d = next;
    }
    Root { shift: sign * d, gain: sign * d / s, first, second }
}

/// A point inside the bracket: the middle, or the geometric middle when the ends differ in order of
/// magnitude.
fn split(low: f64, high: f64) -> f64 {
    if high > 4.0 * low + 4.0 {
        (low + 1.0).sqrt() * (high + 1.0).sqrt() - 1.0
    } else {
        low + 0.5 * (high - low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{AnyFamily, Bernoulli, Binomial, Gamma, Gaussian, Poisson};
    use crate::rule::moments;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Far beyond the cap of the log link too: the residual changes its sign at the root, and no
    /// integral about it is lost.
    #[test]
    fn no_belief_is_too_wide_and_no_predictor_too_far() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        let families: [AnyFamily; 6] = [
            Gaussian::default().into(),
            Bernoulli.into(),
            Binomial::new(50).unwrap().into(),
            Poisson.into(),
            Gamma::default().into(),
            Gamma::new(0.01).unwrap().into(),
        ];
        for i in 0..30_000 {
            let reach = [1e3, 1e3, 1e6, 1e12][i % 4];
            let (m, s) =
                (rng.random_range(-reach..reach), 10f64.powf(rng.random_range(-12.0..20.0)));
            let weight = if i % 3 == 0 { 1.0 } else { 10f64.powf(rng.random_range(-3.0..6.0)) };
            for family in families {
                let y = match family {
                    AnyFamily::Bernoulli(_) => f64::from(rng.random::<bool>()),
                    AnyFamily::Binomial(_) => f64::from(rng.random_range(0..=50)),
                    AnyFamily::Poisson(_) => {
                        f64::from(rng.random_range(0..3)) * f64::from(rng.random_range(1..100_000))
                    }
                    _ => 10f64.powf(rng.random_range(-8.0..8.0)),
                };
                let row = Observation { y, weight, offset: 0.0 };
                let (step, tilted) =
                    (Implicit.step(&family, &row, m, s, 1), moments(&family, &row, m, s));
                let context = || format!("{family:?} {row:?} m {m:e} s {s:e}: {step:?} {tilted:?}");
                for step in [step, tilted.step] {
                    assert!(step.gain.is_finite() && step.contraction.is_finite(), "{}", context());
                    assert!(step.curvature >= 0.0 && step.curvature.is_finite(), "{}", context());
                }
                let evidence = tilted.evidence.ln();
                assert!(!evidence.is_nan() && evidence < f64::INFINITY, "{}", context());

                let (d, sign) = ((s * step.gain).abs(), step.gain.signum());
                let residual = |d: f64| d + sign * s * row.derivatives(&family, m + sign * d).0;
                let near = 1e-9 * d + 1e-14 * m.abs();
                let slope = row.derivatives(&family, m + sign * d).0;
                let solved = (slope + step.gain).abs() <= 1e-9 * slope.abs();
                assert!(
                    solved || (residual((d - near).max(0.0)) <= 0.0 && residual(d + near) >= 0.0),
                    "{}",
                    context()
                );
            }
        }
    }
}
