//! A cheap watch for drift beside a static learner: would a correction that follows the last rows
//! have predicted better?
//!
//! Two walkers (memories of about 100 and 1000 rows) correct the linear predictor to $m + \beta_0 +
//! \beta_1 m$ with a two-dimensional Kalman recursion whose state walks; their losses against the
//! static learner's are what drift costs at least.

use crate::family::{Family, FastPaths};
use crate::math::{Likelihood, ln_ratio};
use crate::rows::Observation;
use serde::{Deserialize, Serialize};

/// Squared steady-state gains of the walkers.
const WALKS: [f64; 2] = [1e-4, 1e-6];

/// Below it a likelihood is compared by its logarithm.
const SMALLEST_LIKELIHOOD: f64 = 1e-200;

/// Most that one row counts for, so that a single surprise does not decide.
const LARGEST_GAIN: f64 = 20.0;

/// What the sentinel saw.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DriftReport {
    /// Rows watched.
    pub rows: u64,
    /// Loss a row that following the drift would have saved (at least); negative where it would
    /// have cost.
    pub gain: f64,
    /// Its standard error.
    pub standard_error: f64,
}

impl DriftReport {
    /// Whether the gain is beyond doubt: at least 0.001 a row and four standard errors.
    pub fn drift(&self) -> bool {
        self.gain >= 1e-3 && self.gain > 4.0 * self.standard_error
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
struct Walker {
    beta: [f64; 2],
    /// $P_{00}, P_{01}, P_{11}$.
    p: [f64; 3],
    gain: f64,
    square: f64,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Sentinel {
    walkers: [Walker; WALKS.len()],
    /// Mean curvature and mean square of the linear predictor, which set the walkers' scale.
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
        let still = At::new(family, observation.y, u);
        self.curvature += (still.second - self.curvature) * rate;
        self.size += (m * m - self.size) * rate;
        let size = self.size.max(1e-12);
        let slope_unit = 1.0 / (self.curvature.max(1e-12) * size);
        let unit = slope_unit * size;
        for (walker, q) in self.walkers.iter_mut().zip(WALKS) {
            walker.p[0] += q * unit;
            walker.p[2] += q * slope_unit;
            let moved = At::new(family, observation.y, u + walker.beta[0] + walker.beta[1] * m);
            let gain = moved.gain(&still).clamp(-LARGEST_GAIN, LARGEST_GAIN);
            walker.gain += gain;
            walker.square += gain * gain;
            // a curvature of at least l'^2 keeps the step from overshooting
            let curvature = moved.second.max(moved.first * moved.first);
            let v = [walker.p[0] + walker.p[1] * m, walker.p[1] + walker.p[2] * m];
            let s = v[0] + v[1] * m;
            let inverse = 1.0 / (1.0 + curvature * s);
            let (g, c) = (-moved.first * inverse, curvature * inverse);
            if g.is_finite() && c.is_finite() {
                walker.beta = [walker.beta[0] + g * v[0], walker.beta[1] + g * v[1]];
                walker.p = [
                    walker.p[0] - c * v[0] * v[0],
                    walker.p[1] - c * v[0] * v[1],
                    walker.p[2] - c * v[1] * v[1],
                ];
            }
        }
    }

    /// The better walker's gain.
    pub fn report(&self) -> DriftReport {
        let n = self.rows.max(1) as f64;
        let best =
            self.walkers.iter().max_by(|a, b| a.gain.total_cmp(&b.gain)).expect("two walkers");
        let gain = best.gain / n;
        DriftReport {
            rows: self.rows,
            gain,
            standard_error: ((best.square / n - gain * gain).max(0.0) / n).sqrt(),
        }
    }
}

/// A row at one linear predictor.
struct At {
    /// The likelihood where it is cheap and large enough to divide by, else the loss.
    fit: Fit,
    first: f64,
    second: f64,
}

enum Fit {
    Likelihood(f64),
    Loss(f64),
}

impl At {
    #[inline(always)]
    fn new<F: Family>(family: &F, y: f64, u: f64) -> Self {
        match family.fast().likelihood(y, u) {
            Some(Likelihood { value, first, second }) if value > SMALLEST_LIKELIHOOD => {
                Self { fit: Fit::Likelihood(value), first, second }
            }
            _ => Self::by_loss(family, y, u),
        }
    }

    // not inlined: the compiler would take divisions by a number that only another family has out
    // of the loop, and divide by whatever is there
    #[inline(never)]
    fn by_loss<F: Family>(family: &F, y: f64, u: f64) -> Self {
        let (first, second) = family.derivatives(y, u);
        Self { fit: Fit::Loss(family.loss(y, u)), first, second }
    }

    /// By how much the loss is smaller than at the other.
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
