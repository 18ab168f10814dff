//! Averaged stochastic gradient with a fixed horizon: the first-order method of the paper's
//! comparison.

use super::checkpoint::{Checkpoint, Transactional};
use super::{Learner, Predict, fixed_features};
use crate::error::{Error, Result, require, require_count, require_len};
use crate::family::Family;
use crate::observe::{Observer, PlugInRow, observation};
use crate::predict::Prediction;
use crate::rows::Rows;
use crate::rule::Step;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// $\theta_{t+1} = \theta_t - \gamma\,\ell'(y_t, \theta_t^\top x_t)\,x_t$ from $\theta_1 = 0$ with
/// a constant step; the coefficients are the mean of $\theta_1, \dots, \theta_t$ after $t$ rows
/// (erratum E29), $\theta_1$ before any.
///
/// The step depends on a horizon $N$, the number of rows: [`plain`](Self::plain) $\gamma =
/// 1/(2d\sqrt N)$, [`oracle`](Self::oracle) $\gamma = \|\theta^*\|/\sqrt{dN}$. Rows after the
/// horizon are learned with the same step and enter the mean, but the step was not chosen for them.
/// Observers see the iterate $\theta_t$, not the mean.
///
/// ```
/// use kalmia::{AveragedSgd, Bernoulli, Learner, Rows};
///
/// let mut sgd = AveragedSgd::plain(Bernoulli, 2, 4)?; // gamma = 1/8
/// sgd.learn(Rows::new(2, &[1.0, 0.5, 1.0, -1.0], &[1.0, 0.0])?)?;
/// assert_eq!(*sgd.coefficients(), [1.0 / 32.0, 1.0 / 64.0]); // the mean of 0 and (1/16, 1/32)
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct AveragedSgd<F> {
    family: F,
    horizon: u64,
    step: f64,
    count: u64,
    iterates: Iterates,
    checkpoint: Checkpoint<Iterates>,
}

/// All that a row moves.
#[derive(Debug)]
pub(super) struct Iterates {
    theta: Vec<f64>,
    mean: Vec<f64>,
}

impl Clone for Iterates {
    fn clone(&self) -> Self {
        Self { theta: self.theta.clone(), mean: self.mean.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        self.theta.clone_from(&source.theta);
        self.mean.clone_from(&source.mean);
    }
}

/// Everything that an [`AveragedSgd`] needs to continue, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AveragedSgdState<F> {
    /// The family.
    pub family: F,
    /// $N$.
    pub horizon: u64,
    /// $\gamma$.
    pub step: f64,
    /// Rows learned.
    pub count: u64,
    /// The iterate $\theta_{t+1}$.
    pub theta: Vec<f64>,
    /// The mean of $\theta_1, \dots, \theta_t$.
    pub mean: Vec<f64>,
}

impl<F: Family> AveragedSgd<F> {
    /// With a given step $\gamma$.
    pub fn new(family: F, dim: usize, horizon: u64, step: f64) -> Result<Self> {
        require(horizon > 0, "horizon", 0.0, "must be at least 1")?;
        require(step > 0.0 && step.is_finite(), "step", step, "must be finite and positive")?;
        let iterates = Iterates { theta: vec![0.0; dim], mean: vec![0.0; dim] };
        Ok(Self { family, horizon, step, count: 0, iterates, checkpoint: Checkpoint::default() })
    }

    /// With $\gamma = 1/(2d\sqrt N)$.
    pub fn plain(family: F, dim: usize, horizon: u64) -> Result<Self> {
        Self::new(family, dim, horizon, default_step(dim as u64, horizon)?)
    }

    /// With $\gamma = \|\theta^*\|/\sqrt{dN}$, given the norm of the coefficients to be found.
    pub fn oracle(family: F, dim: usize, horizon: u64, norm: f64) -> Result<Self> {
        require(norm > 0.0 && norm.is_finite(), "norm", norm, "must be finite and positive")?;
        Self::new(family, dim, horizon, oracle_step(dim as u64, horizon, norm)?)
    }

    /// $N$.
    pub fn horizon(&self) -> u64 {
        self.horizon
    }

    /// $\gamma$.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// The iterate $\theta_{t+1}$ after $t$ rows.
    pub fn iterate(&self) -> &[f64] {
        &self.iterates.theta
    }

    /// The state, to be stored.
    pub fn state(&self) -> AveragedSgdState<F> {
        let Self { family, horizon, step, count, iterates, .. } = self.clone();
        let Iterates { theta, mean } = iterates;
        AveragedSgdState { family, horizon, step, count, theta, mean }
    }

    /// A learner that continues from a state.
    pub fn restore(state: AveragedSgdState<F>) -> Result<Self> {
        require_len("mean", state.mean.len(), state.theta.len())?;
        require_count("rows", state.count)?;
        if let Some(value) = state.theta.iter().chain(&state.mean).find(|v| !v.is_finite()) {
            return Err(Error::State(format!("the state holds a coefficient of {value}")));
        }
        let learner = Self::new(state.family, state.theta.len(), state.horizon, state.step)?;
        let iterates = Iterates { theta: state.theta, mean: state.mean };
        Ok(Self { count: state.count, iterates, ..learner })
    }

    fn run(&mut self, rows: &Rows<'_>, mut observer: Option<&mut dyn Observer>) -> Result<()> {
        let Self { family, step, count, iterates: Iterates { theta, mean }, .. } = self;
        for i in 0..rows.len() {
            let x = rows.x(i);
            let observation = observation(family, rows, i);
            let linear = dot(theta, x);
            let gradient = observation.derivatives(family, linear).0;
            let gain = -*step * gradient;
            if !(linear.is_finite() && gain.is_finite()) {
                let (quantity, value) = if linear.is_finite() {
                    ("the step", gain)
                } else {
                    ("the linear predictor", linear)
                };
                return Err(Error::Diverged { row: i, quantity, value });
            }
            if let Some(observer) = &mut observer {
                let step = Step { gain, ..Step::NONE };
                let row = PlugInRow { observation, linear, variance: 0.0, gradient, step };
                row.notify(family, rows, i, &mut **observer);
            }
            let share = 1.0 / (*count + i as u64 + 1) as f64;
            for ((theta, mean), x) in theta.iter_mut().zip(mean.iter_mut()).zip(x) {
                *mean += (*theta - *mean) * share;
                *theta += gain * x;
            }
        }
        match theta.iter().position(|v| !v.is_finite()) {
            Some(j) => Err(Error::Diverged {
                row: rows.len() - 1,
                quantity: "a coefficient",
                value: theta[j],
            }),
            None => Ok(()),
        }
    }
}

impl<F: Family> Learner for AveragedSgd<F> {
    fn dim(&self) -> usize {
        self.iterates.theta.len()
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn coefficients(&self) -> Cow<'_, [f64]> {
        Cow::Borrowed(&self.iterates.mean)
    }

    fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        rows.validate(&self.family, self.dim())?;
        self.transaction(true, |sgd| sgd.run(&rows, observer))?;
        self.count += rows.len() as u64;
        Ok(())
    }
}

/// Predicts from the mean, as a plug-in: the algorithm gives no variance.
impl<F: Family> Predict for AveragedSgd<F> {
    type Family = F;
    type Prediction = Prediction<F>;

    fn family(&self) -> F {
        self.family.clone()
    }

    fn predict(&self, x: &[f64], offset: f64) -> Result<Prediction<F>> {
        Prediction::new(self.family.clone(), self.linear(x)? + offset, 0.0)
    }

    fn covariance_entry(&self, _: usize, _: usize) -> Option<f64> {
        None
    }

    fn grow(&mut self) -> Result<()> {
        Err(fixed_features("method asgd"))
    }
}

impl<F: Family> Transactional for AveragedSgd<F> {
    type Belief = Iterates;

    fn belief(&mut self) -> (&mut Iterates, &mut Checkpoint<Iterates>) {
        (&mut self.iterates, &mut self.checkpoint)
    }
}

/// The default step size $1/(2d\sqrt N)$ in dimension $d$ with horizon $N$.
pub fn default_step(dim: u64, horizon: u64) -> Result<f64> {
    check_size(dim, horizon)?;
    Ok(0.5 / (dim as f64 * (horizon as f64).sqrt()))
}

/// The step size $\|\theta^*\|/\sqrt{dN}$, for when the norm of the answer is known.
pub fn oracle_step(dim: u64, horizon: u64, norm: f64) -> Result<f64> {
    check_size(dim, horizon)?;
    Ok(norm / (dim as f64 * horizon as f64).sqrt())
}

fn check_size(dim: u64, horizon: u64) -> Result<()> {
    require(dim >= 1, "d", dim as f64, "must be finite and at least 1")?;
    require(horizon >= 1, "N", horizon as f64, "must be finite and at least 1")
}

/// $\sum a_jb_j$ over eight partial sums, which the compiler vectorizes.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let a_lines = a.chunks_exact(8);
    let b_lines = b.chunks_exact(8);
    let rest: f64 = a_lines.remainder().iter().zip(b_lines.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_lines.zip(b_lines) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    rest + sums.iter().sum::<f64>()
}
