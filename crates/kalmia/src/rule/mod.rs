//! How one scalar observation moves the belief: $(y, m, s, t) \mapsto (g, \alpha)$.

mod any;
mod ekf;
mod implicit;
mod moment_match;
mod online_newton;
mod quadrature;
mod truncated;

pub use any::{AnyRule, UnknownRule};
pub use ekf::Ekf;
pub use implicit::Implicit;
pub use moment_match::{MomentMatch, moments};
pub use online_newton::OnlineNewton;
pub use truncated::Truncated;

use crate::family::Family;
use crate::rows::Observation;
use std::fmt::Debug;

/// What a rule decides: $\theta \mathrel{+}= g\,Px$, and $P^{-1} \mathrel{+}= \alpha\,xx^\top$,
/// which is $P \mathrel{-}= c\,(Px)(Px)^\top$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// $g$, the gain along $Px$.
    pub gain: f64,
    /// $\alpha \ge 0$, the precision that the row adds along $x$.
    pub curvature: f64,
    /// $c = \alpha/(1+\alpha s)$; beside $\alpha$ because some rules have the one and some the
    /// other, and the next row waits for it.
    pub contraction: f64,
}

/// Bound on what a safe rule returns, so that products with $s$ and $Px$ stay finite where the loss
/// itself overflows.
const BOUND: f64 = 1e150;

impl Step {
    /// Nothing moves.
    pub const NONE: Self = Self { gain: 0.0, curvature: 0.0, contraction: 0.0 };

    /// The step with gain $g$ and precision $\alpha$ of a row with variance $s = x^\top Px$.
    #[inline(always)]
    pub fn new(gain: f64, curvature: f64, s: f64) -> Self {
        Self { gain, curvature, contraction: curvature / (1.0 + curvature * s) }
    }

    /// The step against a slope, $g = -\ell'/(1+\alpha s)$.
    #[inline(always)]
    pub fn against(slope: f64, curvature: f64, s: f64) -> Self {
        let spread = 1.0 + curvature * s;
        Self { gain: -slope / spread, curvature, contraction: curvature / spread }
    }

    /// A step cut to the range of finite numbers, $\alpha \ge 0$.
    #[inline(always)]
    fn bounded(gain: f64, curvature: f64, s: f64) -> Self {
        Self::new(gain.clamp(-BOUND, BOUND), curvature.clamp(0.0, BOUND), s)
    }
}

/// The tilted belief about $u \sim N(m, s)$ after seeing `y`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// $Z = E[e^{-w\ell(y,u+o)}]$ (without [`Family::log_base`]).
    pub evidence: Evidence,
    /// $w\ell'(y,m+o)$.
    pub slope: f64,
    /// $g = (\ln Z)'(m)$ and $\alpha = c/(1-cs)$, $c = -(\ln Z)''(m)$.
    pub step: Step,
}

/// How likely an observation was, in the form in which it was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Evidence {
    /// Its logarithm.
    Log(f64),
    /// Of one of two labels: its probability and that of the other.
    Label {
        /// The label that came.
        own: f64,
        /// The other, $1$ less the first but with its own digits.
        other: f64,
    },
}

impl Evidence {
    /// The logarithm.
    #[inline(always)]
    pub fn ln(self) -> f64 {
        match self {
            Self::Log(value) => value,
            // near 1 with the digits that rounding took
            Self::Label { own, other } => {
                own.ln() + if own > 0.5 { (1.0 - own) - other } else { 0.0 }
            }
        }
    }
}

/// A scalar update rule.
pub trait Rule: Clone + Debug + Send + Sync {
    /// Name in messages and files.
    fn name(&self) -> &'static str;

    /// The step for a row with linear predictor $m=\theta^\top x$ and variance $s = x^\top Px$ at
    /// time `t` (from 1).
    fn step<F: Family>(
        &self,
        family: &F,
        observation: &Observation,
        m: f64,
        s: f64,
        t: u64,
    ) -> Step;

    /// Whether the recursion can overflow on legal rows of this family; the learner then guards a
    /// batch by a copy of its state.
    fn can_diverge<F: Family>(&self, family: &F) -> bool {
        !family.bounded_gradient() && family.normal_noise().is_none()
    }

    /// Whether the rule is the Kalman filter when the loss is quadratic, so that the order of the
    /// rows does not matter and merging is exact.
    fn is_kalman(&self) -> bool {
        false
    }
}
