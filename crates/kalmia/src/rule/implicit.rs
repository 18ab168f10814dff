//! The exact scalar MAP step: the linear predictor moves to where prior and row balance, so it cannot overshoot.

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
    fn step<F: Family>(&self, family: &F, observation: &Observation, m: f64, s: f64, _t: u64) -> Step {
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
/// Stands for an infinite bracket.
const FAR: f64 = 1e300;

/// Solves $m^+ = m - s\,\ell'(m^+)$ by Newton steps kept inside a shrinking bracket.
///
/// The unknown is the distance $d = |m^+ - m| \in [0, s|\ell'(m)|]$; its residual $d \pm s\,\ell'(m \pm d)$ increases in $d$ and may be infinite.
#[inline]
pub(super) fn solve<F: Family>(family: &F, observation: &Observation, m: f64, s: f64, at_m: (f64, f64)) -> Root {
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
        let newton = d - residual / (1.0 + s * second);
        let move_by = (newton - d).abs();
        if move_by <= 4.0 * f64::EPSILON * (d + m.abs()) && newton >= low && newton <= high {
            d = newton;
            break;
        }
        // A Newton step that does not halve the last one crawls along an exponential: cut the bracket instead.
        let next = if newton > low && newton < high && move_by <= 0.5 * last { newton } else { split(low, high) };
        if next <= low || next >= high {
            break;
        }
        last = (next - d).abs();
        d = next;
    }
    Root { shift: sign * d, gain: sign * d / s, first, second }
}

/// A point inside the bracket: the middle, or the geometric middle when the ends differ in order of magnitude.
fn split(low: f64, high: f64) -> f64 {
    if high > 4.0 * low + 4.0 { (low + 1.0).sqrt() * (high + 1.0).sqrt() - 1.0 } else { low + 0.5 * (high - low) }
}
