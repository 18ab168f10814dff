//! The steps of a register of classes at once, if all beliefs are narrow: without a logarithm, and
//! with one exponential per class.

use super::{ClassifiedRow, RivalSums, coupled_step};
use crate::family::{LabelLanes, LabelsOf, MomentLanes, StepOf};
use crate::math::{MAX_LANES, Number, Register};
use crate::step::{Evidence, LinearRow, Step};
use pulp::Simd;

/// A number per class.
type PerClass = [f64; MAX_LANES];

/// The steps and the evidence of a few classes.
#[derive(Default)]
pub(super) struct StepLanes {
    gain: PerClass,
    curvature: PerClass,
    contraction: PerClass,
    own: PerClass,
    other: PerClass,
}

impl StepLanes {
    /// The classes from `first` on, as many as a register has lanes or fewer, with their beliefs
    /// and exponentials; `None` if a class must be taken on its own.
    #[inline(always)]
    pub fn new<S: Simd>(
        simd: S,
        row: &ClassifiedRow,
        sums: &RivalSums,
        first: usize,
        rows: &[LinearRow],
        exponentials: &[f64],
    ) -> Option<Self> {
        // missing lanes hold a class that is easy to take
        let mut s = [1e-9; MAX_LANES];
        let mut e = [1.0; MAX_LANES];
        let mut sum = [1.0; MAX_LANES];
        let mut spread = [0.0; MAX_LANES];
        let mut sign = [-1.0; MAX_LANES];
        for (lane, (linear, exponential)) in rows.iter().zip(exponentials).enumerate() {
            s[lane] = row.share * linear.s;
            e[lane] = *exponential;
            let rivals = sums.rivals_of_follower(s[lane], e[lane]);
            sum[lane] = rivals.sum;
            spread[lane] = rivals.spread;
        }
        let here = first..first + rows.len();
        if here.contains(&sums.leader) {
            sum[sums.leader - first] = sums.of_leader.sum;
            spread[sums.leader - first] = sums.of_leader.spread;
        }
        if here.contains(&row.class) {
            sign[row.class - first] = 1.0;
        }
        let s = Register::load(simd, &s);
        if s.smallest() <= 0.0 {
            return None;
        }
        let e = Register::load(simd, &e);
        let sum = Register::load(simd, &sum);
        let sign = Register::load(simd, &sign);
        let rival_variance = Register::load(simd, &spread) / (sum * sum);
        // the odds of a class are e / sum
        let labels = LabelLanes {
            e: e.at_most(sum) / e.at_least(sum),
            expected: sign * (e - sum),
            s: s + rival_variance,
        };
        let MomentLanes { step, labels: LabelsOf { own, other } } = labels.moments()?;
        let step = StepOf { gain: sign * step.gain, ..step };
        let step = coupled_step(step, s, rival_variance, row.classes);
        let mut lanes = Self::default();
        step.gain.store(&mut lanes.gain);
        step.curvature.store(&mut lanes.curvature);
        step.contraction.store(&mut lanes.contraction);
        own.store(&mut lanes.own);
        other.store(&mut lanes.other);
        Some(lanes)
    }

    /// Sets the step and the probability of the class in `lane`.
    #[inline(always)]
    pub fn take(
        &self,
        lane: usize,
        row: &ClassifiedRow,
        own_class: bool,
        linear: &mut LinearRow,
        probability: &mut f64,
    ) -> Evidence {
        let gain = self.gain[lane];
        let curvature = self.curvature[lane];
        linear.step = if row.share < 1.0 {
            Step::new(gain, curvature, linear.s)
        } else {
            Step { gain, curvature, contraction: self.contraction[lane] }
        };
        let own = self.own[lane];
        let other = self.other[lane];
        *probability = if own_class { own } else { other }.clamp(0.0, 1.0);
        Evidence::Label { own, other }
    }
}
