//! Moments of a register of labels at once under narrow beliefs.

use super::narrow::{LabelsOf, MAX_VARIANCES, Narrow, Odds, StepOf};
use crate::math::{Number, Register};
use pulp::Simd;

/// Smallest $e^{-|m|}$ of the series: $|m| \le 16$ for an unexpected label (`MAX_SURPRISE`), 600
/// for an expected one (`MAX_LINEAR`).
const MIN_UNEXPECTED: f64 = 1.2e-7;
const MIN_EXPECTED: f64 = 1e-260;

/// Labels at $u \sim N(m, s)$, given by $e^{-|m|}$, which may be known without $m$.
pub(crate) struct LabelLanes<S: Simd> {
    /// $e^{-|m|}$.
    pub e: Register<S>,
    /// Negative if the label is the less likely one.
    pub expected: Register<S>,
    pub s: Register<S>,
}

/// The moments of labels. The gains are those of labels 1.
pub(crate) struct MomentLanes<S: Simd> {
    pub step: StepOf<Register<S>>,
    pub labels: LabelsOf<Register<S>>,
}

impl<S: Simd> LabelLanes<S> {
    /// The moments that [`moments`](crate::rule::moments) computes one by one; `None` if a belief
    /// is too wide for the series, or a label too unexpected.
    #[inline(always)]
    pub fn moments(&self) -> Option<MomentLanes<S>> {
        let Self { e, expected, s } = *self;
        let least = expected.if_not_negative(e.constant(MIN_EXPECTED), e.constant(MIN_UNEXPECTED));
        let widest = s.largest();
        if (e - least).smallest() < 0.0 || widest > MAX_VARIANCES[3] {
            return None;
        }
        let r = e.constant(1.0) / (e.constant(1.0) + e);
        let odds =
            Odds { p: expected.if_not_negative(r, e * r), q: expected.if_not_negative(e * r, r) };
        Some(if widest <= MAX_VARIANCES[0] {
            Self::of(Narrow::series::<2>(odds, s), s)
        } else if widest <= MAX_VARIANCES[1] {
            Self::of(Narrow::series::<4>(odds, s), s)
        } else if widest <= MAX_VARIANCES[2] {
            Self::of(Narrow::series::<6>(odds, s), s)
        } else {
            Self::of(Narrow::series::<9>(odds, s), s)
        })
    }

    #[inline(always)]
    fn of(narrow: Narrow<Register<S>>, s: Register<S>) -> MomentLanes<S> {
        MomentLanes { step: narrow.step(s), labels: narrow.labels() }
    }
}
