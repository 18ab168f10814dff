//! A cheap watch for drift beside a static learner: would a correction that follows recent rows
//! have predicted better?
//!
//! Two correctors (memories of about 100 and 1000 rows) change the linear predictor to
//! $m + \beta_0 + \beta_1 m$ by a two-dimensional Kalman recursion with process noise. By how much
//! their loss is below the static learner's is a lower bound on the cost of the drift.

use crate::family::{Family, FastPaths};
use crate::math::{Likelihood, ln_ratio};
use crate::rows::Observation;
use serde::{Deserialize, Serialize};

/// Squared steady-state gains of the correctors.
const SQUARED_GAINS: [f64; 2] = [1e-4, 1e-6];

/// Below it a likelihood is compared by its logarithm.
const MIN_LIKELIHOOD: f64 = 1e-200;

/// Largest gain of one row in nats, so that a single outlier does not decide.
const MAX_ROW_GAIN: f64 = 20.0;

/// How much following a drift would have gained.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DriftReport {
    /// Rows watched.
    pub rows: u64,
    /// Loss per row that following the drift would have saved at least; negative if it would have
    /// cost more.
    pub gain: f64,
    /// Its standard error.
    pub standard_error: f64,
}

impl DriftReport {
    /// Whether the gain is beyond doubt: at least 0.001 per row and four standard errors.
    pub fn drift(&self) -> bool {
        self.gain >= 1e-3 && self.gain > 4.0 * self.standard_error
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
struct Corrector {
    beta: [f64; 2],
    /// $P_{00}, P_{01}, P_{11}$.
    p: [f64; 3],
    gain: f64,
    square: f64,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Sentinel {
    #[serde(rename = "walkers")]
    correctors: [Corrector; SQUARED_GAINS.len()],
    /// Mean curvature and mean square of the linear predictor, which set the correctors' scale.
    curvature: f64,
    size: f64,
    rows: u64,
}

impl Sentinel {
    /// Watches a row that the static learner predicted with linear predictor `m` and loss per unit
    /// dispersion.
    pub fn row<F: Family>(&mut self, family: &F, observation: &Observation, m: f64) {
        if observation.weight == 0.0 {
            return;
        }
        self.rows += 1;
        let rate = 1.0 / self.rows as f64;
        let u = m + observation.offset;
        let still = LossAt::new(family, observation.y, u);
        self.curvature += (still.second - self.curvature) * rate;
        self.size += (m * m - self.size) * rate;
        let size = self.size.max(1e-12);
        let slope_unit = 1.0 / (self.curvature.max(1e-12) * size);
        let unit = slope_unit * size;
        for (corrector, q) in self.correctors.iter_mut().zip(SQUARED_GAINS) {
            corrector.p[0] += q * unit;
            corrector.p[2] += q * slope_unit;
            let moved =
                LossAt::new(family, observation.y, u + corrector.beta[0] + corrector.beta[1] * m);
            let gain = moved.gain(&still).clamp(-MAX_ROW_GAIN, MAX_ROW_GAIN);
            corrector.gain += gain;
            corrector.square += gain * gain;
            // a curvature of at least l'^2 keeps the step from overshooting
            let curvature = moved.second.max(moved.first * moved.first);
            let v = [corrector.p[0] + corrector.p[1] * m, corrector.p[1] + corrector.p[2] * m];
            let s = v[0] + v[1] * m;
            let inverse = 1.0 / (1.0 + curvature * s);
            let g = -moved.first * inverse;
            let c = curvature * inverse;
            if g.is_finite() && c.is_finite() {
                corrector.beta = [corrector.beta[0] + g * v[0], corrector.beta[1] + g * v[1]];
                corrector.p = [
                    corrector.p[0] - c * v[0] * v[0],
                    corrector.p[1] - c * v[0] * v[1],
                    corrector.p[2] - c * v[1] * v[1],
                ];
            }
        }
    }

    /// The better corrector's gain.
    pub fn report(&self) -> DriftReport {
        let n = self.rows.max(1) as f64;
        let best = self
            .correctors
            .iter()
            .max_by(|a, b| a.gain.total_cmp(&b.gain))
            .expect("two correctors");
        let gain = best.gain / n;
        DriftReport {
            rows: self.rows,
            gain,
            standard_error: ((best.square / n - gain * gain).max(0.0) / n).sqrt(),
        }
    }
}

/// A row's loss and its derivatives at one linear predictor.
struct LossAt {
    /// The likelihood if it is cheap and large enough to divide by, else the loss.
    fit: Fit,
    first: f64,
    second: f64,
}

enum Fit {
    Likelihood(f64),
    Loss(f64),
}

impl LossAt {
    #[inline(always)]
    fn new<F: Family>(family: &F, y: f64, u: f64) -> Self {
        match family.fast().likelihood(y, u) {
            Some(Likelihood { value, first, second }) if value > MIN_LIKELIHOOD => {
                Self { fit: Fit::Likelihood(value), first, second }
            }
            _ => Self::by_loss(family, y, u),
        }
    }

    // Not inlined: LLVM would hoist this family's division out of the loop and run it for families
    // where the divisor is undefined.
    #[inline(never)]
    fn by_loss<F: Family>(family: &F, y: f64, u: f64) -> Self {
        let (first, second) = family.derivatives(y, u);
        Self { fit: Fit::Loss(family.loss(y, u)), first, second }
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
