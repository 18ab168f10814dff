//! What `y` is: the loss of one observation as a function of the linear predictor.

mod any;
mod bernoulli;
mod binomial;
mod gamma;
mod gaussian;
pub(crate) mod invert;
mod log_link;
mod poisson;
pub(crate) mod special;

pub use any::AnyFamily;
pub use bernoulli::Bernoulli;
pub use binomial::Binomial;
pub use gamma::Gamma;
pub use gaussian::Gaussian;
pub use log_link::EXPONENT_CAP;
pub use poisson::Poisson;

use crate::predict::gaussian_expectation;
use crate::rows::Observation;
use crate::rule::{Evidence, Moments, Step};
use rand::Rng;
use std::fmt::Debug;

/// A generalized linear family: $\ell(y, u) = -\ln p(y \mid u)$ up to a term in `y` alone, convex
/// in the linear predictor $u$.
///
/// All methods take `y` in the canonical coding that [`Family::canonical`] returns, and must be
/// finite for any finite `u` in the values a learner can reach (no overflow at $|u| = 10^4$ where
/// the mathematics allows it).
///
/// # A family of one's own
///
/// Waiting times with rate $e^u$, $\ell(y,u) = y e^u - u$; `examples/own_family.rs` has a robust
/// one (Huber). The rules, the learners and [`Prediction`](crate::predict::Prediction) take it as
/// they take the families of the crate.
///
/// ```
/// use kalmia::{Family, predict::Prediction};
/// use rand::{Rng, RngExt};
///
/// #[derive(Clone, Debug)]
/// struct Waiting;
///
/// // Saturates, so that a runaway u gives a large step back and not infinity.
/// fn rate(u: f64) -> f64 {
///     u.clamp(-300.0, 300.0).exp()
/// }
///
/// impl Family for Waiting {
///     fn name(&self) -> &'static str { "waiting" }
///     fn domain(&self) -> &'static str { "a number above 0" }
///     fn canonical(&self, y: f64) -> Option<f64> { (y > 0.0 && y < 1e120).then_some(y) }
///     fn loss(&self, y: f64, u: f64) -> f64 { y * rate(u) - u }
///     fn derivatives(&self, y: f64, u: f64) -> (f64, f64) { (y * rate(u) - 1.0, y * rate(u)) }
///     fn log_base(&self, _y: f64) -> f64 { 0.0 }
///     fn mean(&self, u: f64) -> f64 { 1.0 / rate(u) }
///     fn variance(&self, u: f64) -> f64 { 1.0 / rate(u).powi(2) }
///     fn quantile(&self, u: f64, q: f64) -> f64 { -(-q).ln_1p() / rate(u) }
///     fn cdf(&self, u: f64, y: f64) -> f64 { -(-y.max(0.0) * rate(u)).exp_m1() }
///     fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 { self.quantile(u, rng.random()) }
/// }
///
/// // The rate is known to be near 1, within a factor of about 1.6: what is the next waiting time?
/// let next = Prediction::new(Waiting, 0.0, 0.25)?;
/// assert!((next.mean - 0.125f64.exp()).abs() < 1e-9); // E[e^{-u}] = e^{s/2}
/// let (low, high) = next.interval(0.9)?;
/// assert!((next.cdf(high) - next.cdf(low) - 0.9).abs() < 1e-9);
/// # Ok::<(), kalmia::Error>(())
/// ```
pub trait Family: Clone + Debug + Send + Sync {
    /// Name in messages and files.
    fn name(&self) -> &'static str;
    /// What `y` is legal, as a phrase for error messages.
    fn domain(&self) -> &'static str;
    /// The canonical coding of a legal `y`, or `None`.
    fn canonical(&self, y: f64) -> Option<f64>;
    /// The canonical coding of a `y` known to be legal; to override where it can do without a
    /// branch.
    #[inline(always)]
    fn code(&self, y: f64) -> f64 {
        self.canonical(y).unwrap_or(y)
    }
    /// $\ell(y, u)$.
    fn loss(&self, y: f64, u: f64) -> f64;
    /// $(\ell'(y,u),\; \ell''(y,u))$, derivatives in $u$.
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64);
    /// The step of the extended Kalman filter, $\alpha = w\ell''$ and $g = -w\ell'/(1+\alpha s)$;
    /// to override where one division serves for all.
    #[inline(always)]
    fn kalman_step(&self, observation: &Observation, m: f64, s: f64) -> Step {
        let (first, curvature) = observation.derivatives(self, m);
        Step::against(first, curvature, s)
    }
    /// $(E[y\mid u],\; \ell(y,u),\; \ell'(y,u))$, what an observer is shown; to override where the
    /// three share work.
    #[inline]
    fn look(&self, y: f64, u: f64) -> (f64, f64, f64) {
        (self.mean(u), self.loss(y, u), self.derivatives(y, u).0)
    }

    /// The term in `y` alone: $\ln p(y\mid u) = \text{log\_base}(y) - \ell(y,u)$.
    fn log_base(&self, y: f64) -> f64;
    /// $E[y \mid u]$.
    fn mean(&self, u: f64) -> f64;
    /// $\mathrm{Var}[y \mid u]$.
    fn variance(&self, u: f64) -> f64;
    /// Smallest `y` with $P(Y \le y \mid u) \ge q$.
    fn quantile(&self, u: f64, q: f64) -> f64;
    /// $P(Y \le y \mid u)$.
    fn cdf(&self, u: f64, y: f64) -> f64;
    /// A draw of `y` given `u`.
    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64;

    /// $e^{-\ell(y,u)}$ with $\ell'$ and $\ell''$, where it comes at no cost beside those;
    /// integrals of the likelihood then need no logarithm.
    fn likelihood(&self, _y: f64, _u: f64) -> Option<(f64, f64, f64)> {
        None
    }

    /// Closed form of the moment-matching step, where the family has one (the same to $10^{-9}$, if
    /// not to the last bit).
    fn exact_moments(&self, _observation: &Observation, _m: f64, _s: f64) -> Option<Moments> {
        None
    }

    /// Whether $\ell'$ is bounded in $u$, so that no rule can overflow.
    fn bounded_gradient(&self) -> bool {
        false
    }

    /// Largest $|u|$ at which the loss is still its own formula; beyond it a family whose mean
    /// overflows continues it in a safe way, and a recursion that gets there has diverged.
    fn largest_linear(&self) -> f64 {
        f64::INFINITY
    }

    /// $\sigma^2$ where $y \mid u \sim N(u, \sigma^2)$: predictions then have closed forms.
    fn normal_noise(&self) -> Option<f64> {
        None
    }

    /// The dispersion (noise variance, or Gamma's $\phi$) that divides the loss, where the family
    /// has one to learn.
    fn dispersion(&self) -> Option<f64> {
        None
    }

    /// The family with another dispersion; families without one return themselves.
    fn with_dispersion(&self, _dispersion: f64) -> Self {
        self.clone()
    }

    /// $E[\text{mean}(u)]$ for $u \sim N(m, s)$; to override where there is a closed form, and
    /// where the mean grows so fast that the integral is not settled within nine deviations of `m`.
    fn moderated_mean(&self, m: f64, s: f64) -> f64 {
        gaussian_expectation(m, s, |u| self.mean(u))
    }

    /// The mean of `y` from $P(y)$ of one `y`, where there are two values only, 0 and 1.
    fn mean_from_evidence(&self, _y: f64, _evidence: Evidence) -> Option<f64> {
        None
    }

    /// Whether `y` takes whole values only, so that a quantile is searched among them.
    fn discrete(&self) -> bool {
        false
    }

    /// Where $P(Y \le y\mid u)$ falls from 1 to 0 as `u` grows, and about how wide that is, for
    /// families that are 0 or more and analytic in `u` on the smaller of that scale and 1;
    /// predictions then take short sums in place of adaptive integrals.
    fn fall(&self, _y: f64) -> Option<(f64, f64)> {
        None
    }

    /// $\ln p(y\mid u)$.
    fn log_density(&self, y: f64, u: f64) -> f64 {
        self.log_base(y) - self.loss(y, u)
    }
}
