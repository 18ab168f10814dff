//! Moments of a register of labels at once under beliefs that are not vague.

use super::narrow::{LabelsOf, MAX_VARIANCES, Narrow, Odds, StepOf};
use super::wide;
use crate::math::{Number, Register};
use pulp::Simd;

/// Smallest $e^{-|m|}$ of an expected label: $|m| \le 600$ (`MAX_LINEAR`).
const MIN_EXPECTED: f64 = 1e-260;
/// The same of an unexpected label for the series, $|m| \le 16$, and for the integral, $|m| \le 6$
/// (`MAX_SURPRISE`).
const MIN_UNEXPECTED_NARROW: f64 = 1.2e-7;
const MIN_UNEXPECTED_WIDE: f64 = 2.5e-3;

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
    /// is too wide, or a label too unexpected.
    #[inline(always)]
    pub fn moments(&self) -> Option<MomentLanes<S>> {
        let s = self.s;
        let widest = s.largest();
        if widest <= MAX_VARIANCES[3] {
            if !self.all_likely(MIN_UNEXPECTED_NARROW) {
                return None;
            }
            let odds = self.odds();
            return Some(if widest <= MAX_VARIANCES[0] {
                Self::of(Narrow::series::<2>(odds, s), s)
            } else if widest <= MAX_VARIANCES[1] {
                Self::of(Narrow::series::<4>(odds, s), s)
            } else if widest <= MAX_VARIANCES[2] {
                Self::of(Narrow::series::<6>(odds, s), s)
            } else {
                Self::of(Narrow::series::<9>(odds, s), s)
            });
        }
        if widest <= wide::MAX_VARIANCE && self.all_likely(MIN_UNEXPECTED_WIDE) {
            let odds = self.expected.if_not_negative(s.constant(1.0) / self.e, self.e);
            let expectations = wide::expectations(odds, s);
            let step = expectations.step(s);
            return Some(MomentLanes { step, labels: expectations.labels() });
        }
        None
    }

    /// Whether no label is so unlikely that its moments would cancel.
    #[inline(always)]
    fn all_likely(&self, min_unexpected: f64) -> bool {
        let Self { e, expected, .. } = *self;
        let least = expected.if_not_negative(e.constant(MIN_EXPECTED), e.constant(min_unexpected));
        (e - least).smallest() >= 0.0
    }

    #[inline(always)]
    fn odds(&self) -> Odds<Register<S>> {
        let Self { e, expected, .. } = *self;
        let r = e.constant(1.0) / (e.constant(1.0) + e);
        Odds { p: expected.if_not_negative(r, e * r), q: expected.if_not_negative(e * r, r) }
    }

    #[inline(always)]
    fn of(narrow: Narrow<Register<S>>, s: Register<S>) -> MomentLanes<S> {
        MomentLanes { step: narrow.step(s), labels: narrow.labels() }
    }
}
