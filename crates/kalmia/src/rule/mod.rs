//! How one scalar observation moves the belief: a rule maps the row's $m = \theta^\top x$ and
//! $s = x^\top Px$ to a [`Step`] with gain $g$, curvature $\alpha$ and contraction $c$.

mod any;
mod ekf;
mod gap;
mod implicit;
mod moment_match;
mod online_newton;
mod softmax;
mod truncated;

pub use any::AnyRule;
pub use ekf::Ekf;
#[doc(hidden)]
pub use gap::{gap_step, order_step};
pub use implicit::Implicit;
pub use moment_match::{MomentMatch, moments};
pub use online_newton::OnlineNewton;
#[doc(hidden)]
pub use softmax::{softmax_odds, softmax_probabilities, softmax_steps};
pub use truncated::Truncated;

#[doc(hidden)]
pub use crate::step::LinearRow;
pub use crate::step::{Evidence, Moments, Step};

use crate::family::Family;
use crate::rows::Observation;
use std::fmt::Debug;

/// A scalar update rule.
pub trait Rule: Clone + Debug + Send + Sync {
    /// Name in messages and files.
    fn name(&self) -> &'static str;

    /// The step for a row with linear predictor $m=\theta^\top x$ and variance $s = x^\top Px$ at
    /// time `t` (from 1).
    fn step<F: Family>(
        &self,
        family: &F,
        observation: &Observation,
        m: f64,
        s: f64,
        t: u64,
    ) -> Step;

    /// Whether the recursion can overflow on legal rows of this family. The learner then keeps a
    /// copy of its state during a batch, so that a refused batch changes nothing.
    fn can_diverge<F: Family>(&self, family: &F) -> bool {
        !family.bounded_gradient() && family.normal_noise().is_none()
    }

    /// Whether the rule is the Kalman filter when the loss is quadratic. The order of the rows then
    /// does not matter, and merging is exact.
    fn is_kalman(&self) -> bool {
        false
    }
}
