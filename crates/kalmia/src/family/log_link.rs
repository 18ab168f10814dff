//! The saturating exponential that the families with log link share.

/// Largest exponent before $e^v$ saturates: losses, derivatives and their squares are then finite
/// for any finite `u`.
///
/// No data has a mean near $e^{300} \approx 10^{130}$: the cap only catches a diverging linear
/// predictor, and a step taken there still points back.
pub const EXPONENT_CAP: f64 = 300.0;

/// Largest count that an `f64` separates from its neighbors.
pub(super) const MAX_COUNT: f64 = 9_007_199_254_740_992.0;

/// $e^{\min(v, 300)}$.
#[inline(always)]
pub(super) fn capped_exp(v: f64) -> f64 {
    v.min(EXPONENT_CAP).exp()
}

/// $e^v$ with the cap on both sides, for when its inverse is used too.
#[inline(always)]
pub(super) fn clamped_exp(v: f64) -> f64 {
    v.clamp(-EXPONENT_CAP, EXPONENT_CAP).exp()
}

/// $e^v$, continued beyond the cap by its tangent, so that [`capped_exp`] is its derivative
/// everywhere.
#[inline(always)]
pub(super) fn tangent_exp(v: f64) -> f64 {
    capped_exp(v) * (1.0 + (v - EXPONENT_CAP).max(0.0))
}

/// $y$ if it is a whole number that counts can reach.
#[inline(always)]
pub(super) fn count(y: f64, largest: f64) -> Option<f64> {
    // `+ 0.0` turns -0 into 0, so that equal counts have equal bits.
    (y >= 0.0 && y <= largest && y.fract() == 0.0).then_some(y + 0.0)
}
