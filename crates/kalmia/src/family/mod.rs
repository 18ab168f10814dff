//! What `y` is: the loss of one observation as a function of the linear predictor.

mod bernoulli;
mod gaussian;

pub use bernoulli::Bernoulli;
pub use gaussian::Gaussian;

use crate::rows::Observation;
use crate::rule::Moments;
use rand::Rng;
use std::fmt::Debug;

/// A generalized linear family: $\ell(y, u) = -\ln p(y \mid u)$ up to a term in `y` alone, convex in the linear predictor $u$.
///
/// All methods take `y` in the canonical coding that [`Family::canonical`] returns, and must be finite for any finite `u` in
/// the values a learner can reach (no overflow at $|u| = 10^4$ where the mathematics allows it).
pub trait Family: Clone + Debug + Send + Sync {
    /// Name in messages and files.
    fn name(&self) -> &'static str;
    /// What `y` is legal, as a phrase for error messages.
    fn domain(&self) -> &'static str;
    /// The canonical coding of a legal `y`, or `None`.
    fn canonical(&self, y: f64) -> Option<f64>;
    /// $\ell(y, u)$.
    fn loss(&self, y: f64, u: f64) -> f64;
    /// $(\ell'(y,u),\; \ell''(y,u))$, derivatives in $u$.
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64);
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

    /// Closed form of the moment-matching step, where the family has one.
    fn exact_moments(&self, _observation: &Observation, _m: f64, _s: f64) -> Option<Moments> {
        None
    }

    /// Whether rows add their information exactly (quadratic loss), so that beliefs merge without loss.
    fn is_conjugate(&self) -> bool {
        false
    }

    /// Whether $\ell'$ is bounded in $u$, so that no rule can overflow.
    fn bounded_gradient(&self) -> bool {
        false
    }

    /// $\ln p(y\mid u)$.
    fn log_density(&self, y: f64, u: f64) -> f64 {
        self.log_base(y) - self.loss(y, u)
    }
}
