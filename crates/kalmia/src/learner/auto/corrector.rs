//! What following a drift would gain: a small correction of the static learner's linear predictor,
//! judged row by row before it learns from the row.
//!
//! The predictor becomes $u + \beta_0x_0 + \beta_1q$, where $q$ is the row's product with the
//! direction in which the coefficients seem to move. Both $\beta$ follow recent rows by a
//! two-dimensional Kalman recursion with process noise.

use crate::family::{Family, FastPaths};
use crate::math::{Likelihood, ln_ratio};
use serde::{Deserialize, Serialize};

/// Below it a likelihood is compared by its logarithm.
const MIN_LIKELIHOOD: f64 = 1e-200;
/// Largest gain of one row in nats, so that a single outlier does not decide.
const MAX_ROW_GAIN: f64 = 5.0;
/// Memory of the recent gain: 1024 rows.
const RECENT_RATE: f64 = 1.0 / 1024.0;

/// One correction and what it gained.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Corrector {
    beta: [f64; 2],
    /// $P_{00}, P_{01}, P_{11}$.
    p: [f64; 3],
    /// Sum of the gains and of their squares, in nats.
    pub gain: f64,
    pub square: f64,
    /// Gain per row over about the last 1024 rows.
    pub recent: f64,
}

impl Corrector {
    /// Compares with the static loss `still` at `u`, then learns the row. `noise` is the process
    /// noise of both coefficients.
    #[inline(always)]
    pub fn row<F: Family>(
        &mut self,
        family: &F,
        y: f64,
        u: f64,
        still: &LossAt,
        features: [f64; 2],
        noise: [f64; 2],
    ) {
        let [a, b] = features;
        self.p[0] += noise[0];
        self.p[2] += noise[1];
        let moved = still.moved(family, y, u + self.beta[0] * a + self.beta[1] * b);
        let gain = moved.gain(still).clamp(-MAX_ROW_GAIN, MAX_ROW_GAIN);
        if gain.is_finite() {
            self.gain += gain;
            self.square += gain * gain;
            self.recent += (gain - self.recent) * RECENT_RATE;
        }
        // a curvature of at least l'^2 keeps the step from overshooting
        let curvature = moved.second.max(moved.first * moved.first);
        let v = [self.p[0] * a + self.p[1] * b, self.p[1] * a + self.p[2] * b];
        let s = v[0] * a + v[1] * b;
        let inverse = 1.0 / (1.0 + curvature * s);
        let g = -moved.first * inverse;
        let c = curvature * inverse;
        if g.is_finite() && c.is_finite() {
            self.beta = [self.beta[0] + g * v[0], self.beta[1] + g * v[1]];
            self.p = [
                self.p[0] - c * v[0] * v[0],
                self.p[1] - c * v[0] * v[1],
                self.p[2] - c * v[1] * v[1],
            ];
        }
    }
}

/// A row's loss and its derivatives at one linear predictor.
pub(super) struct LossAt {
    /// The likelihood if it is cheap and large enough to divide by, else the loss.
    fit: Fit,
    pub first: f64,
    pub second: f64,
    /// Factor of the loss and its derivatives.
    precision: f64,
}

enum Fit {
    Likelihood(f64),
    Loss(f64),
}

impl LossAt {
    /// `precision` divides by a dispersion that is no parameter of the family, as that of counts.
    #[inline(always)]
    pub fn new<F: Family>(family: &F, y: f64, u: f64, precision: f64) -> Self {
        match family.fast().likelihood(y, u) {
            Some(Likelihood { value, first, second })
                if value > MIN_LIKELIHOOD && precision == 1.0 =>
            {
                Self { fit: Fit::Likelihood(value), first, second, precision }
            }
            _ => Self::by_loss(family, y, u, precision),
        }
    }

    /// The same row at another linear predictor.
    #[inline(always)]
    fn moved<F: Family>(&self, family: &F, y: f64, u: f64) -> Self {
        Self::new(family, y, u, self.precision)
    }

    // Not inlined: LLVM would hoist this family's division out of the loop and run it for families
    // where the divisor is undefined.
    #[inline(never)]
    fn by_loss<F: Family>(family: &F, y: f64, u: f64, precision: f64) -> Self {
        let (first, second) = family.derivatives(y, u);
        Self {
            fit: Fit::Loss(precision * family.loss(y, u)),
            first: precision * first,
            second: precision * second,
            precision,
        }
    }

    /// By how much the loss is smaller than `other`'s.
    #[inline(always)]
    fn gain(&self, other: &Self) -> f64 {
        match (&self.fit, &other.fit) {
            (Fit::Likelihood(own), Fit::Likelihood(others)) => ln_ratio(*own, *others),
            (own, others) => others.loss() - own.loss(),
        }
    }
}

impl Fit {
    fn loss(&self) -> f64 {
        match self {
            Self::Likelihood(likelihood) => -likelihood.ln(),
            Self::Loss(loss) => *loss,
        }
    }
}
