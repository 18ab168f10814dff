//! What one row does to a belief, as numbers: the step of a rule, and the evidence of the row.

/// What a rule returns for one row: $\theta \mathrel{+}= g\,Px$ and $P \mathrel{-}=
/// c\,(Px)(Px)^\top$, the latter being $P^{-1} \mathrel{+}= \alpha\,xx^\top$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// $g$, the gain along $Px$.
    pub gain: f64,
    /// $\alpha \ge 0$, the precision that the row adds along $x$.
    pub curvature: f64,
    /// $c = \alpha/(1+\alpha s)$. Kept beside $\alpha$ because some rules compute one first and
    /// some the other, and the next row waits for it.
    pub contraction: f64,
}

/// Largest gain and curvature of a safe rule: products with $s$ and $Px$ then stay finite even if
/// the loss overflows.
const MAX_STEP: f64 = 1e150;

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

    /// A step clamped to finite numbers and $\alpha \ge 0$.
    #[inline(always)]
    pub(crate) fn bounded(gain: f64, curvature: f64, s: f64) -> Self {
        Self::new(gain.clamp(-MAX_STEP, MAX_STEP), curvature.clamp(0.0, MAX_STEP), s)
    }
}

/// What one of several beliefs knows of a row before it, and the step that it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearRow {
    /// $m = \theta^\top x$.
    pub m: f64,
    /// $s = x^\top Px$.
    pub s: f64,
    /// The decision.
    pub step: Step,
}

impl LinearRow {
    /// A row with linear predictor `m` of variance `s`, not decided yet.
    pub const fn new(m: f64, s: f64) -> Self {
        Self { m, s, step: Step::NONE }
    }
}

/// What moment matching computes from one row: the belief $u \sim N(m, s)$ after seeing `y`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// $Z = E[e^{-w\ell(y,u+o)}]$, without the term of the density in `y` alone.
    pub evidence: Evidence,
    /// $w\ell'(y,m+o)$.
    pub slope: f64,
    /// $g = (\ln Z)'(m)$ and $\alpha = c/(1-cs)$, $c = -(\ln Z)''(m)$.
    pub step: Step,
}

/// The predictive probability of an observation, in the form in which it was computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Evidence {
    /// Its logarithm.
    Log(f64),
    /// The probabilities of two labels.
    Label {
        /// That of the label observed.
        own: f64,
        /// That of the other: $1 - \text{own}$, to full relative precision.
        other: f64,
    },
}

impl Evidence {
    /// The logarithm.
    #[inline(always)]
    pub fn ln(self) -> f64 {
        match self {
            Self::Log(value) => value,
            // near 1 the other probability restores what rounding lost
            Self::Label { own, other } => {
                own.ln() + if own > 0.5 { (1.0 - own) - other } else { 0.0 }
            }
        }
    }
}
