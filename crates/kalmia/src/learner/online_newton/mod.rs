//! Algorithm 3, left: the online Newton step on a ball.

mod projection;
mod settings;
mod state;

pub use projection::{Projection, project};
pub use settings::{OnlineNewtonSettings, ln_ball_constant};
pub use state::OnlineNewtonState;

use super::checkpoint::{Checkpoint, Transactional};
use super::{Learner, Predict, Prior, fixed_features};
use crate::covariance::{Covariance, Factored};
use crate::error::{Error, Result, require};
use crate::family::Family;
use crate::linalg::{Buffer, Threads, inverse, require_memory};
use crate::observe::{Observer, PlugInRow, observation, reborrow};
use crate::predict::Prediction;
use crate::rows::Rows;
use crate::rule::{OnlineNewton, Rule, Step};
use projection::{Outside, Projector, multiply_lower, norm};
use settings::{MAX_STEP, MIN_VARIANCE};
use std::borrow::Cow;

/// $A_{t+1} = A_t + \nabla_t\nabla_t^\top$, $w_{t+1} = \Pi_{A_{t+1}}\big(w_t - \frac k\gamma
/// A_{t+1}^{-1}\nabla_t\big)$ with $\nabla_t = \ell'(y_t, w_t^\top x_t)\,x_t$ and $\Pi_A$ the exact
/// [projection](project) onto the ball of radius $R$ in the norm of $A$.
///
/// Both $P_t = A_t^{-1}$ (for the step) and $A_t$ (for the projection, which then inverts nothing:
/// $A_{t+1}v = A_{t+1}w_t - \frac k\gamma\nabla_t$) are kept. A row costs $O(d^2)$ while the step
/// stays inside the ball. A projection adds a few Cholesky factors of $d^3/3$ operations each
/// ([`projections`](Self::projections) and [`factors`](Self::factors) count them): on average 1 to
/// 3 in the paper's logistic experiment and in others up to $d = 300$, up to 6 with features over
/// eight decades.
///
/// ```
/// use kalmia::{Bernoulli, Learner, OnlineNewtonStep, OnlineNewtonSettings, Rows};
///
/// let settings = OnlineNewtonSettings::new(2.0, 0.05)?.with_gradient_bound(2f64.sqrt())?;
/// let mut learner = OnlineNewtonStep::new(Bernoulli, 2, settings)?;
/// let x = [1.0, 0.3, 1.0, -0.8, 1.0, 1.0];
/// learner.learn(Rows::new(2, &x, &[1.0, 0.0, 1.0])?)?;
/// assert!(learner.coefficients().iter().map(|w| w * w).sum::<f64>() <= 4.0 + 1e-12);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineNewtonStep<F, C = Factored> {
    family: F,
    settings: OnlineNewtonSettings,
    rule: OnlineNewton,
    belief: Belief<C>,
    /// $\operatorname{tr}P_1 \ge \lambda_{\max}(P_t)$: bounds $\|P_tx\|$ before it is computed.
    reach: f64,
    projector: Projector,
    threads: Threads,
    checkpoint: Checkpoint<Belief<C>>,
}

/// All that a row moves.
#[derive(Debug)]
pub(in crate::learner) struct Belief<C> {
    count: u64,
    projections: u64,
    factors: u64,
    w: Buffer,
    covariance: C,
    /// $A$: its lower triangle, column-major.
    precision: Vec<f64>,
}

impl<F: Family> OnlineNewtonStep<F> {
    /// An untrained learner of `dim` coefficients with the factored covariance.
    pub fn new(family: F, dim: usize, settings: OnlineNewtonSettings) -> Result<Self> {
        Self::with_covariance(family, dim, settings)
    }

    /// An untrained learner with another form of the covariance:
    /// `OnlineNewtonStep::with_covariance::<Dense>(family, dim, settings)`.
    pub fn with_covariance<C: Covariance>(
        family: F,
        dim: usize,
        settings: OnlineNewtonSettings,
    ) -> Result<OnlineNewtonStep<F, C>> {
        settings.check()?;
        // the covariance, the precision matrix and the factor of a projection
        require_memory(C::bytes(dim).saturating_mul(3))?;
        let rule = settings.rule(dim)?;
        let start = settings.start(dim)?;
        let belief = Belief {
            count: 0,
            projections: 0,
            factors: 0,
            w: Buffer::from_slice(start.mean()),
            covariance: start.covariance()?,
            precision: precision(&start)?,
        };
        let reach = (0..dim).map(|j| start.variance(j)).sum();
        let trace: f64 = (0..dim).map(|j| belief.precision[j * dim + j]).sum();
        for value in [reach, trace] {
            require(
                value <= 1.0 / MIN_VARIANCE,
                "start",
                value,
                "must have the traces of P_1 and its inverse below 1e150",
            )?;
        }
        Ok(OnlineNewtonStep {
            family,
            settings,
            rule,
            belief,
            reach,
            projector: Projector::new(dim),
            threads: Threads::ONE,
            checkpoint: Checkpoint::default(),
        })
    }
}

impl<F: Family, C: Covariance> OnlineNewtonStep<F, C> {
    /// The ball and the constants.
    pub fn settings(&self) -> &OnlineNewtonSettings {
        &self.settings
    }

    /// $P_t$.
    pub fn covariance(&self) -> &C {
        &self.belief.covariance
    }

    /// $A_t = P_t^{-1}$, dense and symmetric.
    pub fn precision(&self) -> Vec<f64> {
        let dim = self.dim();
        (0..dim * dim)
            .map(|k| self.belief.precision[(k / dim).min(k % dim) * dim + (k / dim).max(k % dim)])
            .collect()
    }

    /// Rows whose step left the ball.
    pub fn projections(&self) -> u64 {
        self.belief.projections
    }

    /// Cholesky factors that all projections took.
    pub fn factors(&self) -> u64 {
        self.belief.factors
    }

    /// Learns row `i`; an error leaves the belief as it was before the row.
    fn row(
        &mut self,
        rows: &Rows<'_>,
        i: usize,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        let Self { family, rule, belief, reach, projector, threads, settings, .. } = self;
        let x = rows.x(i);
        let radius = settings.radius();
        let t = belief.count + 1;
        let observation = observation(family, rows, i);
        let size = norm(x);
        let mut pull = 0.0;
        let mut alpha = 0.0;
        projector.point.copy_from_slice(&belief.w[..x.len()]);
        let mut decide = |_, linear: f64, variance: f64| -> Result<Step> {
            let step = rule.step(family, &observation, linear, variance, t);
            let gradient = observation.derivatives(family, linear).0;
            pull = rule.step_size() * gradient;
            alpha = step.curvature;
            // within these bounds neither the step nor the projection can overflow
            let reached = step.gain.abs() * (*reach * variance).sqrt();
            for (quantity, value) in [
                ("the step", reached),
                ("the gradient", pull.abs() * size),
                ("the curvature", alpha * size * size),
            ] {
                if value.is_nan() || value > MAX_STEP {
                    return Err(Error::Diverged { row: i, quantity, value });
                }
            }
            if let Some(observer) = &mut observer {
                let row = PlugInRow { observation, linear, variance, gradient, step };
                row.notify(family, rows, i, &mut **observer);
            }
            Ok(step)
        };
        belief
            .covariance
            .learn(&mut belief.w, x, &mut decide, *threads)
            .map_err(|error| error.at_row(i))?;
        belief.count = t;
        add_outer(&mut belief.precision, alpha, x);
        let length = norm(&belief.w);
        if length > radius {
            // the scratch holds w_t: b = A w_t - (k / gamma) l' x
            let Projector { target, point, .. } = projector;
            multiply_lower(&belief.precision, point, target);
            target.iter_mut().zip(x).for_each(|(b, x)| *b -= pull * x);
            point.iter_mut().zip(&belief.w[..]).for_each(|(unit, v)| *unit = v / length);
            let spread = belief.covariance.variance(point);
            projector.solve(&belief.precision, Outside { length, spread }, radius)?;
            belief.w[..x.len()].copy_from_slice(&projector.point);
            belief.projections += 1;
            belief.factors += projector.factors as u64;
        }
        Ok(())
    }

    fn run(&mut self, rows: Rows<'_>, mut observer: Option<&mut dyn Observer>) -> Result<()> {
        (0..rows.len()).try_for_each(|i| self.row(&rows, i, reborrow(&mut observer)))
    }
}

impl<F: Family, C: Covariance> Learner for OnlineNewtonStep<F, C> {
    fn dim(&self) -> usize {
        self.projector.target.len()
    }

    fn count(&self) -> u64 {
        self.belief.count
    }

    fn coefficients(&self) -> Cow<'_, [f64]> {
        Cow::Borrowed(&self.belief.w[..self.dim()])
    }

    fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        rows.validate(&self.family, self.dim())?;
        // a single row is refused before it changes anything: `row` bounds what its projection gets
        self.transaction(rows.len() > 1, |learner| learner.run(rows, observer))
    }
}

/// Predicts as a plug-in: $P_t$ is no variance of $w$, so there are no standard errors.
impl<F: Family, C: Covariance> Predict for OnlineNewtonStep<F, C> {
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
        Err(fixed_features("method ons"))
    }
}

impl<F: Family, C: Covariance> Transactional for OnlineNewtonStep<F, C> {
    type Belief = Belief<C>;

    fn belief(&mut self) -> (&mut Belief<C>, &mut Checkpoint<Belief<C>>) {
        (&mut self.belief, &mut self.checkpoint)
    }
}

impl<C: Clone> Clone for Belief<C> {
    fn clone(&self) -> Self {
        Self {
            w: self.w.clone(),
            covariance: self.covariance.clone(),
            precision: self.precision.clone(),
            ..*self
        }
    }

    fn clone_from(&mut self, source: &Self) {
        self.count = source.count;
        self.projections = source.projections;
        self.factors = source.factors;
        self.w.clone_from(&source.w);
        self.covariance.clone_from(&source.covariance);
        self.precision.clone_from(&source.precision);
    }
}

/// $A_1 = P_1^{-1}$, without rounding if $P_1$ is diagonal.
fn precision(start: &Prior) -> Result<Vec<f64>> {
    let dim = start.dim();
    let matrix = start.matrix();
    let diagonal = matrix.iter().enumerate().all(|(k, &p)| k / dim == k % dim || p == 0.0);
    if !diagonal {
        return inverse(&matrix, dim, "covariance");
    }
    Ok(matrix.iter().map(|&p| if p == 0.0 { 0.0 } else { 1.0 / p }).collect())
}

/// $A \mathrel{+}= \alpha xx^\top$ on the lower triangle.
fn add_outer(a: &mut [f64], alpha: f64, x: &[f64]) {
    let dim = x.len();
    for (j, column) in a.chunks_exact_mut(dim.max(1)).enumerate() {
        let scaled = alpha * x[j];
        column[j..].iter_mut().zip(&x[j..]).for_each(|(a, x)| *a += scaled * x);
    }
}
