//! Parameter-free online learning of generalized linear models by Kalman recursion.
//!
//! With belief $(\theta, P)$ and a row $(x, y)$, every second-order method of the crate is the same
//! three lines:
//!
//! ```text
//! m = theta'x,  s = x'Px                  the linear algebra looks at the row once   (covariance)
//! (g, c) = rule(family, y, m, s, t)       a scalar function decides                  (family, rule)
//! theta += g Px,  P -= c (Px)(Px)'        the linear algebra moves the belief        (covariance)
//! ```
//!
//! One folder per axis: [`family`] says what `y` is, [`rule`] how one scalar observation moves the
//! belief,
//! [`covariance`] how `P` is kept; [`learner`] builds the algorithms from these parts.

pub mod covariance;
pub mod error;
pub mod evaluate;
pub mod family;
pub mod file;
pub mod learner;
pub mod linalg;
pub mod observe;
pub mod predict;
pub mod rows;
pub mod rule;
pub mod theory;

pub use covariance::{Covariance, Dense, Factored};
pub use error::{Error, Result};
pub use evaluate::{Certificate, Progressive};
pub use family::{AnyFamily, Bernoulli, Binomial, Family, Gamma, Gaussian, Poisson};
pub use learner::{
    AnyLearner, AnyState, Auto, AutoState, Averaged, AveragedSgd, AveragedSgdState, AveragedState,
    Drift, DriftMode, DriftReport, Filter, FilterState, Learner, Merged, OnlineNewtonSettings,
    OnlineNewtonState, OnlineNewtonStep, Predict, Prior,
};
pub use observe::{Observer, RowView};
pub use predict::{Mixture, Prediction, Predictive};
pub use rows::{Observation, Rows};
pub use rule::{AnyRule, Ekf, Implicit, MomentMatch, Rule, Step, Truncated};
