//! Parameter-free online learning of generalized linear models by Kalman recursion.
//!
//! With belief $(\theta, P)$ and a row $(x, y)$, every second-order method of the crate is the same
//! three lines:
//!
//! ```text
//! m = theta'x,  s = x'Px                                              (covariance)
//! Step { gain, curvature, contraction } = rule(family, y, m, s, t)    (family, rule)
//! theta += gain Px,  P -= contraction (Px)(Px)'                       (covariance)
//! ```
//!
//! Each question has one folder: [`family`] says what `y` is, [`rule`] how one observation moves
//! the belief, [`covariance`] how `P` is stored. [`learner`] builds the algorithms from these
//! parts, [`predict`] turns a belief into a predictive distribution, [`evaluate`] measures how well
//! it does, [`sums`] adds exactly over the parts of a data set and polishes a fit by Newton steps,
//! and [`file`](mod@file) stores the model. The root exports the names that a program
//! writes; what calls return, states and metrics are in their modules.
//!
//! ```
//! use kalmia::{Auto, Bernoulli, Learner, Predict, Rows};
//!
//! let mut auto = Auto::new(Bernoulli, 2)?;
//! auto.learn(Rows::new(2, &[1.0, 0.3, 1.0, -2.0], &[1.0, 0.0])?)?;
//! let next = auto.predict(&[1.0, 0.1], 0.0)?;
//! assert!(next.mean > 0.0 && next.mean < 1.0);
//! # Ok::<(), kalmia::Error>(())
//! ```

pub mod covariance;
pub mod error;
pub mod evaluate;
pub mod family;
pub mod file;
pub mod learner;
mod linalg;
/// Not part of the public interface: shared with `kalmia-theory`.
#[doc(hidden)]
pub mod math;
pub mod memory;
pub mod observe;
pub mod predict;
pub mod rows;
pub mod rule;
pub mod sparse;
mod step;
pub mod sums;

pub use covariance::{CoreTail, Dense, Factored};
pub use error::{Error, Result};
pub use family::{
    AnyFamily, Bernoulli, Binomial, Family, Gamma, Gaussian, NegativeBinomial, Poisson, Quantile,
    Student,
};
pub use learner::{
    AnyLearner, Auto, Averaged, AveragedSgd, Categorical, DriftMode, Filter, Learner,
    OnlineNewtonSettings, OnlineNewtonStep, Ordinal, Outliers, Predict, Prior, Wide,
    WideCategorical,
};
pub use observe::{Observer, RowView};
pub use predict::Prediction;
pub use rows::{Inputs, Rows};
pub use rule::{Ekf, Implicit, MomentMatch, Rule, Truncated};
pub use sparse::{SparseInputs, SparseMatrix, SparseRow, SparseRows};

/// Internals for the benches and tests of this crate; no part of the public interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::covariance::Kernel;
    pub use crate::linalg::{Buffer, Threads, cholesky_lower, solve_cholesky, square_product};
}
