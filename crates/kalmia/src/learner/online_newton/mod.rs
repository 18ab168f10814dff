//! Algorithm 3, left: the online Newton step on a ball.

mod projection;
mod settings;

pub use projection::{Projection, project};
pub use settings::{NewtonSettings, ln_ball_constant};

use super::merge::inverse;
use super::seen::{Look, observation};
use super::{Learner, Observer, Prior};
use crate::covariance::{Covariance, Factored};
use crate::error::{Error, Result, require, require_len};
use crate::family::Family;
use crate::linalg::{Buffer, Threads};
use crate::predict::Prediction;
use crate::rows::Rows;
use crate::rule::{OnlineNewton, Rule, Step};
use projection::{Outside, Projector, multiply_lower, norm};
use serde::{Deserialize, Serialize};
use settings::{LARGEST, SMALLEST_VARIANCE};

/// $A_{t+1} = A_t + \nabla_t\nabla_t^\top$, $w_{t+1} = \Pi_{A_{t+1}}\big(w_t - \frac k\gamma
/// A_{t+1}^{-1}\nabla_t\big)$ with $\nabla_t = \ell'(y_t, w_t^\top x_t)\,x_t$ and $\Pi_A$ the exact
/// [projection](project) onto the ball of radius $R$ in the norm of $A$.
///
/// Both $P_t = A_t^{-1}$ (for the step) and $A_t$ (for the projection, which then inverts nothing:
/// $A_{t+1}v = A_{t+1}w_t - \frac k\gamma\nabla_t$) are kept. A row costs $O(d^2)$ while the step
/// stays inside the ball; a projection adds some Cholesky factors of $d^3/3$ operations each
/// ([`projections`](Self::projections) and [`factors`](Self::factors) count them): 1 to 3 on the
/// average in streams of the paper's logistic experiment and in others up to $d = 300$, up to 6
/// with features over eight decades.
///
/// ```
/// use kalmia::{Bernoulli, Learner, OnlineNewtonStep, NewtonSettings, Rows};
///
/// let settings = NewtonSettings::new(2.0, 0.05)?.with_gradient_bound(2f64.sqrt())?;
/// let mut learner: OnlineNewtonStep<_> = OnlineNewtonStep::new(Bernoulli, 2, settings)?;
/// let (x, y) = ([1.0, 0.3, 1.0, -0.8, 1.0, 1.0], [1.0, 0.0, 1.0]);
/// learner.learn(Rows::new(2, &x, &y)?)?;
/// assert!(learner.coefficients().iter().map(|w| w * w).sum::<f64>() <= 4.0 + 1e-12);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineNewtonStep<F, C = Factored> {
    family: F,
    settings: NewtonSettings,
    rule: OnlineNewton,
    belief: Belief<C>,
    /// $\operatorname{tr}P_1 \ge \lambda_{\max}(P_t)$: bounds $\|P_tx\|$ before it is computed.
    reach: f64,
    projector: Projector,
    threads: Threads,
    /// Where a batch that fails on the way finds its start again.
    spare: Option<Box<Belief<C>>>,
}

/// All that a row moves.
#[derive(Debug, Clone)]
struct Belief<C> {
    count: u64,
    projections: u64,
    factors: u64,
    w: Buffer,
    covariance: C,
    /// $A$: its lower triangle, column-major.
    precision: Vec<f64>,
}

/// Everything that an [`OnlineNewtonStep`] needs to go on, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnlineNewtonState<F> {
    /// The family.
    pub family: F,
    /// The ball and the constants.
    pub settings: NewtonSettings,
    /// Name of the covariance form.
    pub form: String,
    /// Rows learned.
    pub count: u64,
    /// Rows whose step left the ball.
    pub projections: u64,
    /// Cholesky factors of all projections.
    pub factors: u64,
    /// $w$.
    pub w: Vec<f64>,
    /// The numbers of the form ([`Covariance::parts`]) for $P$.
    #[serde(with = "crate::covariance::packed")]
    pub covariance: Vec<f64>,
    /// The lower triangle of $A$, column after column.
    #[serde(with = "crate::covariance::packed")]
    pub precision: Vec<f64>,
}

impl<F: Family, C: Covariance> OnlineNewtonStep<F, C> {
    /// A learner of `dim` coefficients that has seen nothing.
    pub fn new(family: F, dim: usize, settings: NewtonSettings) -> Result<Self> {
        settings.check()?;
        let (rule, start) = (settings.rule()?, settings.start(dim)?);
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
                value <= 1.0 / SMALLEST_VARIANCE,
                "start",
                value,
                "must have the traces of P_1 and its inverse below 1e150",
            )?;
        }
        let projector = Projector::new(dim);
        Ok(Self {
            family,
            settings,
            rule,
            belief,
            reach,
            projector,
            threads: Threads::ONE,
            spare: None,
        })
    }

    /// The family.
    pub fn family(&self) -> &F {
        &self.family
    }

    /// The ball and the constants.
    pub fn settings(&self) -> &NewtonSettings {
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

    /// What is known of `y` at `x` before it is seen; the algorithm gives no variance for $w$, so
    /// the prediction is the plug-in one.
    pub fn predict(&self, x: &[f64], offset: f64) -> Result<Prediction<F>> {
        Prediction::new(self.family.clone(), self.linear(x)? + offset, 0.0)
    }

    /// Takes the state.
    pub fn state(&self) -> OnlineNewtonState<F> {
        let (dim, belief) = (self.dim(), &self.belief);
        OnlineNewtonState {
            family: self.family.clone(),
            settings: self.settings.clone(),
            form: C::NAME.into(),
            count: belief.count,
            projections: belief.projections,
            factors: belief.factors,
            w: self.coefficients().to_vec(),
            covariance: belief.covariance.parts(),
            precision: (0..dim)
                .flat_map(|j| &belief.precision[j * dim + j..(j + 1) * dim])
                .copied()
                .collect(),
        }
    }

    /// A learner that goes on where the state was taken.
    pub fn restore(state: OnlineNewtonState<F>) -> Result<Self> {
        if state.form != C::NAME {
            return Err(Error::State(format!(
                "the state has a {} covariance, the learner a {} one",
                state.form,
                C::NAME
            )));
        }
        let dim = state.w.len();
        require_len("precision", state.precision.len(), dim * (dim + 1) / 2)?;
        let mut learner = Self::new(state.family, dim, state.settings)?;
        let length = norm(&state.w);
        let legal = length <= learner.settings.radius() * (1.0 + 1e-12)
            && state.precision.iter().all(|a| a.is_finite());
        if !legal {
            return Err(Error::State(format!(
                "the state's w has norm {length}, outside the ball, or its precision is not finite"
            )));
        }
        let belief = &mut learner.belief;
        belief.covariance = C::from_parts(&state.covariance, dim)?;
        let mut rest = &state.precision[..];
        for j in 0..dim {
            let (column, after) = rest.split_at(dim - j);
            belief.precision[j * dim + j..(j + 1) * dim].copy_from_slice(column);
            rest = after;
        }
        belief.w = Buffer::from_slice(&state.w);
        (belief.count, belief.projections, belief.factors) =
            (state.count, state.projections, state.factors);
        Ok(learner)
    }

    /// Learns row `i`; an error leaves the belief as it was before the row.
    fn row(
        &mut self,
        rows: &Rows<'_>,
        i: usize,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        let Self { family, rule, belief, reach, projector, threads, settings, .. } = self;
        let (x, radius, t) = (rows.x(i), settings.radius(), belief.count + 1);
        let seen = observation(family, rows, i);
        let size = norm(x);
        let (mut pull, mut alpha) = (0.0, 0.0);
        projector.point.copy_from_slice(&belief.w[..x.len()]);
        let mut decide = |_, linear: f64, variance: f64| -> Result<Step> {
            let step = rule.step(family, &seen, linear, variance, t);
            let gradient = seen.derivatives(family, linear).0;
            (pull, alpha) = (rule.step_size() * gradient, step.curvature);
            // within these bounds neither the step nor the projection can overflow
            let reached = step.gain.abs() * (*reach * variance).sqrt();
            for (quantity, value) in [
                ("the step", reached),
                ("the gradient", pull.abs() * size),
                ("the curvature", alpha * size * size),
            ] {
                if value.is_nan() || value > LARGEST {
                    return Err(Error::Diverged { row: i, quantity, value });
                }
            }
            if let Some(observer) = &mut observer {
                Look { observation: seen, linear, variance, gradient, step }.show(
                    family,
                    rows,
                    i,
                    &mut **observer,
                );
            }
            Ok(step)
        };
        belief
            .covariance
            .learn(&mut belief.w, x, &mut decide, *threads)
            .map_err(|error| at_row(error, i))?;
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
        for i in 0..rows.len() {
            match &mut observer {
                Some(observer) => self.row(&rows, i, Some(&mut **observer))?,
                None => self.row(&rows, i, None)?,
            }
        }
        Ok(())
    }
}

impl<F: Family, C: Covariance> Learner for OnlineNewtonStep<F, C> {
    fn dim(&self) -> usize {
        self.projector.target.len()
    }

    fn count(&self) -> u64 {
        self.belief.count
    }

    fn coefficients(&self) -> &[f64] {
        &self.belief.w[..self.dim()]
    }

    fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        rows.validate(&self.family, self.dim())?;
        // one row by itself is refused before it changes anything (`row` bounds what its projection
        // can meet)
        if rows.len() <= 1 {
            return self.run(rows, observer);
        }
        match &mut self.spare {
            Some(spare) => spare.copy_from(&self.belief),
            None => self.spare = Some(Box::new(self.belief.clone())),
        }
        let result = self.run(rows, observer);
        if let (Err(_), Some(spare)) = (&result, &mut self.spare) {
            std::mem::swap(&mut self.belief, spare);
        }
        result
    }
}

impl<C: Covariance> Belief<C> {
    /// Copies into what is already allocated.
    fn copy_from(&mut self, other: &Self) {
        (self.count, self.projections, self.factors) =
            (other.count, other.projections, other.factors);
        self.w.clone_from(&other.w);
        self.covariance.clone_from(&other.covariance);
        self.precision.clone_from(&other.precision);
    }
}

/// $A_1 = P_1^{-1}$, without rounding where $P_1$ is diagonal.
fn precision(start: &Prior) -> Result<Vec<f64>> {
    let (dim, matrix) = (start.dim(), start.matrix());
    let diagonal = matrix.iter().enumerate().all(|(k, &p)| k / dim == k % dim || p == 0.0);
    if !diagonal {
        return inverse(&matrix, dim);
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

/// An error of a single row, with its place in the batch.
pub(super) fn at_row(mut error: Error, i: usize) -> Error {
    match &mut error {
        Error::Feature { row, .. }
        | Error::Target { row, .. }
        | Error::RowExtra { row, .. }
        | Error::Diverged { row, .. }
        | Error::PrecisionLost { row, .. } => *row = i,
        _ => {}
    }
    error
}
