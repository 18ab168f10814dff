//! Moments of the logistic function under a belief wider than the function: few fixed nodes,
//! however wide the belief.
//!
//! With $o(m) = E[\sigma(-u)]$ and $f = 1 - o$, the Gaussian tilted by $e^{-u}$ gives $o(m) =
//! e^{s/2-m} f(m-s)$. So a label that is far more certain than the belief is wide follows from one
//! that is not.

use crate::math::{Normal, SmoothStep, StepExpectations, StepValue, logistic};
use crate::step::{Evidence, Moments, Step};
use std::sync::LazyLock;

/// Largest $-m$ in deviations, for an unexpected label: beyond it the terms of $c$ cancel too much.
pub(super) const MAX_SURPRISE: f64 = 3.0;
/// Largest $e^{s/2-m}$ that is negligible beside 1.
const NEGLIGIBLE: f64 = 1e-12;

/// $\sigma(-u)$. The density's transform at the frequency $\omega = 2\pi/h$ of the nodes is the
/// rule's error: $2\pi\omega/\sinh\pi\omega = 7 \cdot 10^{-13}$.
static STEP: LazyLock<SmoothStep<19>> = LazyLock::new(|| {
    let distance = 0.6;
    SmoothStep::new(-46.0 * distance, distance, Normal { center: 0.0, width: 1.0 }, |u| {
        let q = logistic(-u);
        StepValue { value: q, density: logistic(u) * q }
    })
});

/// The moment-matching step of a label 1, for $s$ above [`wide`](super::wide)'s and $-m \le$
/// [`MAX_SURPRISE`] deviations.
#[inline]
pub(super) fn moments(m: f64, s: f64) -> Option<Moments> {
    let StepExpectations { value, density, second } = expectation(m.abs(), s)?;
    let (own, other, second) =
        if m >= 0.0 { (1.0 - value, value, second) } else { (value, 1.0 - value, -second) };
    let inverse = 1.0 / own;
    let gain = density * inverse;
    let contraction = gain * gain + second * inverse;
    let step = Step { gain, curvature: contraction / (1.0 - contraction * s), contraction };
    Some(Moments { evidence: Evidence::Label { own, other }, slope: -logistic(-m), step })
}

/// $o$, $-o'$ and $o''$ at $m \ge 0$.
#[inline]
fn expectation(m: f64, s: f64) -> Option<StepExpectations> {
    if let Some(found) = STEP.expectation(m, s) {
        return Some(found);
    }
    let factor = (0.5 * s - m).exp();
    let [f, f1, f2] = complement(m - s, s)?;
    Some(StepExpectations {
        value: factor * f,
        density: factor * (f - f1),
        second: factor * (f - 2.0 * f1 + f2),
    })
}

/// $f$, $f'$ and $f''$.
#[inline]
fn complement(m: f64, s: f64) -> Option<[f64; 3]> {
    // Chernoff's bound on o
    let bound = if m < s { -0.5 * m * (m / s) } else { 0.5 * s - m };
    if m > 0.0 && bound <= NEGLIGIBLE.ln() {
        return Some([1.0, 0.0, 0.0]);
    }
    let StepExpectations { value, density, second } = STEP.expectation(m.abs(), s)?;
    Some(if m >= 0.0 { [1.0 - value, density, -second] } else { [value, density, second] })
}
