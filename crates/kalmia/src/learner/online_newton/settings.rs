//! The parameters of the online Newton step: its ball, its exp-concavity constant and its start.

use crate::error::{self, require, require_len};
use crate::learner::Prior;
use crate::rule::OnlineNewton;
use serde::{Deserialize, Deserializer, Serialize};

/// Largest radius, and largest step, gradient and curvature of a row; the smallest radius is its
/// inverse. Within it nothing overflows.
pub(super) const MAX_STEP: f64 = 1e100;

/// Smallest eigenvalue of $P_1$; the largest is its inverse. Within them neither $P$ nor $A$
/// overflows.
pub(super) const MIN_VARIANCE: f64 = 1e-150;

/// The ball and the constants of an [`OnlineNewtonStep`](super::OnlineNewtonStep).
///
/// The step is $k/\gamma$ with $\gamma = \frac12\min\big(\frac1{4GD}, \alpha\big)$: $\alpha$ the
/// exp-concavity constant of the losses over the ball, $G$ a bound on the norm of the gradients,
/// $D$ the ball's radius (Section Experiments). By default $G = \sqrt d$, as in the experiments:
/// right for features within $[-1, 1]$ and losses with $|\ell'| \le 1$, such as the logistic one.
/// The experiments take for $\alpha$ either $e^{-D\sqrt d}$ or a minimum over random points of the
/// sphere ([`ln_ball_constant`], and `LogisticRisk::sphere_minimum` of the crate `kalmia-theory`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct OnlineNewtonSettings {
    radius: f64,
    exp_concavity: f64,
    gradient_bound: Option<f64>,
    gamma: Option<f64>,
    multiplier: f64,
    diameter: bool,
    start: Option<Prior>,
}

/// Settings in a file.
#[derive(Deserialize)]
struct Stored {
    radius: f64,
    exp_concavity: f64,
    gradient_bound: Option<f64>,
    /// `None` if the file has no such key.
    #[serde(default, deserialize_with = "present")]
    gamma: Option<Option<f64>>,
    multiplier: f64,
    diameter: bool,
    start: Option<Prior>,
}

/// A key that is there, even if it holds null.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Option<f64>>, D::Error> {
    Option::deserialize(value).map(Some)
}

impl From<Stored> for OnlineNewtonSettings {
    /// Files of earlier versions have no `gamma`: there a missing bound meant $\gamma = \alpha/2$,
    /// and their learners must continue with it.
    fn from(stored: Stored) -> Self {
        let Stored { radius, exp_concavity, gradient_bound, gamma, multiplier, diameter, start } =
            stored;
        let unbounded = gradient_bound.is_none().then_some(0.5 * exp_concavity);
        let gamma = gamma.unwrap_or(unbounded);
        Self { radius, exp_concavity, gradient_bound, gamma, multiplier, diameter, start }
    }
}

/// $\ln e^{-DD_X}=-DD_X$: the exp-concavity constant of the logistic loss over $\|\theta\|\le D$,
/// $\|x\|\le D_X$ (with $D_X=\sqrt d$ in the experiments). It is attained, at $\theta=-yDx/\|x\|$
/// with $\|x\|=D_X$, because $\ell''/\ell'^2=e^{y\theta^Tx}$.
pub fn ln_ball_constant(radius: f64, d_x: f64) -> error::Result<f64> {
    require(radius > 0.0 && radius.is_finite(), "D", radius, "must be finite and positive")?;
    require(d_x > 0.0 && d_x.is_finite(), "D_X", d_x, "must be finite and positive")?;
    Ok(-radius * d_x)
}

impl OnlineNewtonSettings {
    /// The ball of radius $R$ about 0 and the exp-concavity constant $\alpha$.
    pub fn new(radius: f64, exp_concavity: f64) -> error::Result<Self> {
        let settings = Self {
            radius,
            exp_concavity,
            gradient_bound: None,
            gamma: None,
            multiplier: 1.0,
            diameter: false,
            start: None,
        };
        settings.check().map(|()| settings)
    }

    /// The constants of the paper's first experiment: $\alpha = e^{-R\sqrt d}$ and $G = \sqrt d$,
    /// for features within $[-1, 1]$ and the logistic loss.
    pub fn logistic(dim: usize, radius: f64) -> error::Result<Self> {
        let d_x = (dim as f64).sqrt();
        Self::new(radius, ln_ball_constant(radius, d_x)?.exp())?.with_gradient_bound(d_x)
    }

    /// With a bound $G$ on the norm of the gradients; $\sqrt d$ by default.
    pub fn with_gradient_bound(mut self, bound: f64) -> error::Result<Self> {
        self.gradient_bound = Some(bound);
        self.check().map(|()| self)
    }

    /// With $\gamma$ itself, whatever $\alpha$, $G$ and $D$ are.
    pub fn with_gamma(mut self, gamma: f64) -> error::Result<Self> {
        self.gamma = Some(gamma);
        self.check().map(|()| self)
    }

    /// With $D$ in $\gamma$ the ball's diameter $2R$, as in Theorem 3, instead of its radius, as in
    /// the experiments (erratum E16).
    pub fn with_diameter(mut self) -> Self {
        self.diameter = true;
        self
    }

    /// With step $k/\gamma$; $k = 1$ by default.
    pub fn with_multiplier(mut self, multiplier: f64) -> error::Result<Self> {
        self.multiplier = multiplier;
        self.check().map(|()| self)
    }

    /// As Theorem 3 needs it: step $3/\gamma$ (erratum E15), and $D$ in $\gamma$ the diameter $2R$
    /// (erratum E16).
    pub fn for_theorem_3(mut self) -> Self {
        self.multiplier = 3.0;
        self.with_diameter()
    }

    /// With $w_1$ (inside the ball) and $P_1$ given; by default $w_1 = 0$ and $P_1^{-1} = I/(\gamma
    /// R)^2$ (Hazan et al.; erratum E28). Theorem 3 has $P_1^{-1} = \lambda I$, that is
    /// `Prior::isotropic(dim, 1.0 / lambda)`.
    pub fn with_start(mut self, start: Prior) -> error::Result<Self> {
        self.start = Some(start);
        self.check().map(|()| self)
    }

    /// $R$.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// $\gamma$ of a learner of `dim` coefficients.
    pub fn gamma(&self, dim: usize) -> f64 {
        self.gamma.unwrap_or_else(|| {
            let extent = if self.diameter { 2.0 * self.radius } else { self.radius };
            // without coefficients there are no gradients; 1 keeps gamma finite
            let bound = self.gradient_bound.unwrap_or((dim.max(1) as f64).sqrt());
            0.5 * self.exp_concavity.min(1.0 / (4.0 * bound * extent))
        })
    }

    /// The scalar rule of a learner of `dim` coefficients.
    pub fn rule(&self, dim: usize) -> error::Result<OnlineNewton> {
        OnlineNewton::new(self.gamma(dim))?.with_multiplier(self.multiplier)
    }

    /// $w_1$ and $P_1$ of a learner of `dim` coefficients.
    pub fn start(&self, dim: usize) -> error::Result<Prior> {
        match &self.start {
            Some(start) => {
                require_len("start", start.dim(), dim)?;
                Ok(start.clone())
            }
            None => {
                let variance = (self.gamma(dim) * self.radius).powi(2);
                let representable = (MIN_VARIANCE..=1.0 / MIN_VARIANCE).contains(&variance);
                require(
                    representable,
                    "exp_concavity",
                    self.exp_concavity,
                    "gives (gamma R)^2 beyond 1e-150 or 1e150: give a start",
                )?;
                Prior::isotropic(dim, variance)
            }
        }
    }

    pub(super) fn check(&self) -> error::Result<()> {
        let in_range = |v: f64| (1.0 / MAX_STEP..=MAX_STEP).contains(&v);
        require(
            in_range(self.radius),
            "radius",
            self.radius,
            "must be positive, from 1e-100 to 1e100",
        )?;
        let positive = |name, v: f64| {
            require(v > 0.0 && v.is_finite(), name, v, "must be finite and positive")
        };
        positive("exp_concavity", self.exp_concavity)?;
        positive("multiplier", self.multiplier)?;
        self.gamma.map_or(Ok(()), |gamma| positive("gamma", gamma))?;
        self.gradient_bound.map_or(Ok(()), |g| positive("gradient_bound", g))?;
        if let Some(start) = &self.start {
            let length = super::projection::norm(start.mean());
            require(length <= self.radius, "start", length, "must have its mean inside the ball")?;
        }
        Ok(())
    }
}
