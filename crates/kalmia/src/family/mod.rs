//! What `y` is: the loss of one observation as a function of the linear predictor.

mod any;
mod bernoulli;
mod binomial;
mod fast;
mod gamma;
mod gaussian;
mod location;
mod log_link;
mod negative_binomial;
mod poisson;
mod quantile;
mod row;
mod student;

pub use any::AnyFamily;
pub use bernoulli::Bernoulli;
pub(crate) use bernoulli::{LabelLanes, LabelsOf, MomentLanes, StepOf};
pub use binomial::Binomial;
#[doc(hidden)]
pub use fast::{CdfTransition, Counts, FastPaths, Point, ShapeTerms};
pub use gamma::Gamma;
pub use gaussian::Gaussian;
pub use log_link::EXPONENT_CAP;
pub use negative_binomial::NegativeBinomial;
pub use poisson::Poisson;
pub use quantile::Quantile;
pub(crate) use row::RowLoss;
pub use student::Student;

use crate::error::Result;
use crate::math::quadrature::gaussian_expectation;
use fast::Defaults;
use rand::Rng;
use std::fmt::Debug;

/// A generalized linear family: $\ell(y, u) = -\ln p(y \mid u)$ up to a term in `y` alone, convex
/// in the linear predictor $u$.
///
/// Eleven methods are required. All take `y` in the coding that [`Family::canonical`] returns, and
/// all must return finite numbers for finite `u`; a learner can reach $|u| = 10^4$.
///
/// # Your own family
///
/// Waiting times with rate $e^u$, $\ell(y,u) = y e^u - u$. `examples/own_family.rs` has a robust
/// one (Huber). Rules, learners and [`Prediction`](crate::predict::Prediction) accept it like the
/// families of the crate.
///
/// ```
/// use kalmia::{Family, predict::Prediction};
/// use rand::{Rng, RngExt};
///
/// #[derive(Clone, Debug)]
/// struct Waiting;
///
/// // Saturates, so that an extreme u gives a large step back and not infinity.
/// fn rate(u: f64) -> f64 {
///     u.clamp(-300.0, 300.0).exp()
/// }
///
/// impl Family for Waiting {
///     fn name(&self) -> &str { "waiting" }
///     fn domain(&self) -> &str { "a number above 0" }
///     fn canonical(&self, y: f64) -> Option<f64> { (y > 0.0 && y < 1e120).then_some(y) }
///     fn loss(&self, y: f64, u: f64) -> f64 { y * rate(u) - u }
///     fn derivatives(&self, y: f64, u: f64) -> (f64, f64) { (y * rate(u) - 1.0, y * rate(u)) }
///     fn log_base(&self, _y: f64) -> f64 { 0.0 }
///     fn mean(&self, u: f64) -> f64 { 1.0 / rate(u) }
///     fn variance(&self, u: f64) -> f64 { 1.0 / rate(u).powi(2) }
///     fn quantile(&self, u: f64, q: f64) -> f64 { -(-q).ln_1p() / rate(u) }
///     fn cdf(&self, u: f64, y: f64) -> f64 { -(-y.max(0.0) * rate(u)).exp_m1() }
///     fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
///         self.quantile(u, rng.random())
///     }
/// }
///
/// // The rate is known to be near 1, within a factor of about 1.6: what is the next waiting time?
/// let next = Prediction::new(Waiting, 0.0, 0.25)?;
/// assert!((next.mean - 0.125f64.exp()).abs() < 1e-9); // E[e^{-u}] = e^{s/2}
/// let interval = next.interval(0.9)?;
/// assert!((next.cdf(interval.upper) - next.cdf(interval.lower) - 0.9).abs() < 1e-9);
/// # Ok::<(), kalmia::Error>(())
/// ```
pub trait Family: Clone + Debug + Send + Sync {
    /// Name in messages and files.
    fn name(&self) -> &str;
    /// The legal values of `y`, as a phrase for error messages.
    fn domain(&self) -> &str;
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

    /// Whether `y` takes whole values only; a quantile is then searched among them.
    fn discrete(&self) -> bool {
        false
    }

    /// Whether $\ell'$ is bounded in $u$; no rule can then overflow.
    fn bounded_gradient(&self) -> bool {
        false
    }

    /// Largest $|u|$ at which the loss is its own formula. A family whose mean overflows saturates
    /// beyond it, and a recursion that gets there has diverged.
    fn largest_linear(&self) -> f64 {
        f64::INFINITY
    }

    /// $\sigma^2$ if $y \mid u \sim N(u, \sigma^2)$: predictions then have closed forms.
    fn normal_noise(&self) -> Option<f64> {
        None
    }

    /// The dispersion (noise variance, or Gamma's $\varphi$) that divides the loss, if the family
    /// has one to learn.
    fn dispersion(&self) -> Option<f64> {
        None
    }

    /// The family with another dispersion, or an error if it is out of range. Families without one
    /// return themselves.
    fn with_dispersion(&self, _dispersion: f64) -> Result<Self> {
        Ok(self.clone())
    }

    /// $E[\text{mean}(u)]$ for $u \sim N(m, s)$. Override it if there is a closed form, or if the
    /// mean grows so fast that more than nine deviations around `m` matter.
    fn moderated_mean(&self, m: f64, s: f64) -> f64 {
        gaussian_expectation(m, s, |u| self.mean(u))
    }

    /// $\ln p(y\mid u)$.
    fn log_density(&self, y: f64, u: f64) -> f64 {
        self.log_base(y) - self.loss(y, u)
    }

    /// Faster forms of what the methods above define; only the families of the crate have any.
    #[doc(hidden)]
    #[inline(always)]
    fn fast(&self) -> impl FastPaths<Family = Self> {
        Defaults(self)
    }
}
