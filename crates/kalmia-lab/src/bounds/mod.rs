//! The paper's bounds beside what they bound: cumulative excess risk and $\lambda_{\max}(P_t)$ in
//! simulation.

mod eigenvalue;
mod study;
mod theory;

pub use study::SpreadPoint;
pub use theory::Theory;

use crate::error::Result;
use crate::lanes::LANES;
use crate::workers::Workers;
use crate::world::World;
use study::Study;

/// $\varepsilon$ of Theorems 2 and 14; the quadratic loss allows any.
pub const EPSILON_QUADRATIC: f64 = 0.1;
/// $\beta$ of the truncated filter.
pub const BETA: f64 = 0.49;
/// $\delta$ of the measured convergence time; the terms that are drawn do not depend on it.
pub const DELTA: f64 = 0.05;
/// Rows of the simulations in multiples of the horizon: the small $\varepsilon$ of Theorem 1 needs
/// many.
const LONGER_QUADRATIC: u64 = 10;
const LONGER_LOGISTIC: u64 = 300;

/// Mean and worst of the replicates along $n$, with a bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Name in the CSV file.
    pub name: &'static str,
    /// The measured values.
    pub points: Vec<SpreadPoint>,
    /// The bound at each point.
    pub bound: Vec<f64>,
}

impl Spread {
    fn new(
        name: &'static str,
        points: Vec<SpreadPoint>,
        bound: impl Fn(u64) -> Result<f64>,
    ) -> Result<Self> {
        let bound = points.iter().map(|p| bound(p.n)).collect::<Result<_>>()?;
        Ok(Self { name, points, bound })
    }
}

/// What the figure shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// Cumulative excess risk of the Kalman filter, all steps.
    pub quadratic: Spread,
    /// The same after the convergence time, from $n=1$.
    pub quadratic_after: Spread,
    /// Measured convergence time of the quadratic setting: from there on a share $1-\delta$
    /// of the replicates stays in the ball. `None` if that is not within the rows.
    pub quadratic_tau: Option<u64>,
    /// Cumulative excess risk of the EKF, all steps.
    pub logistic: Spread,
    /// The same after the convergence time.
    pub logistic_after: Spread,
    /// Measured convergence time of the logistic setting.
    pub logistic_tau: Option<u64>,
    /// $\lambda_{\max}(P_t)$ of the truncated EKF.
    pub eigenvalue: Spread,
    /// The constants of the bounds.
    pub theory: Theory,
}

impl Bounds {
    /// Every series, in the order of the CSV file.
    pub fn spreads(&self) -> [&Spread; 5] {
        [
            &self.quadratic,
            &self.quadratic_after,
            &self.logistic,
            &self.logistic_after,
            &self.eigenvalue,
        ]
    }
}

/// Units of work of [`simulate`].
pub fn units(horizon: u64, replicates: usize) -> u64 {
    horizon * (LONGER_QUADRATIC + LONGER_LOGISTIC + 1) * (replicates.div_ceil(LANES) * LANES) as u64
}

/// Runs the three simulations.
pub fn simulate(horizon: u64, replicates: usize, seed: u64, workers: &Workers) -> Result<Bounds> {
    let theory = Theory::new()?;
    let quadratic = Study { world: World::Quadratic, epsilon: EPSILON_QUADRATIC, replicates, seed };
    let logistic = Study { world: World::Weak, epsilon: theory.epsilon_logistic, replicates, seed };
    let squares = quadratic.risk(horizon * LONGER_QUADRATIC, workers)?;
    let labels = logistic.risk(horizon * LONGER_LOGISTIC, workers)?;
    let eigenvalue = logistic.eigenvalue(horizon, BETA, workers)?;
    let by_theorem_2 = |n| theory.leading_quadratic(n);
    let by_theorem_1 = |n| theory.leading_logistic(n);
    Ok(Bounds {
        quadratic: Spread::new("quadratic", squares.all, by_theorem_2)?,
        quadratic_after: Spread::new("quadratic_after_tau", squares.after, by_theorem_2)?,
        quadratic_tau: squares.tau,
        logistic: Spread::new("logistic", labels.all, by_theorem_1)?,
        logistic_after: Spread::new("logistic_after_tau", labels.after, by_theorem_1)?,
        logistic_tau: labels.tau,
        eigenvalue: Spread::new("lambda_max", eigenvalue, |t| theory.eigenvalue(t))?,
        theory,
    })
}
