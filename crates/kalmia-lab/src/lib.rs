//! The laboratory: every experiment and figure of the paper, reproduced.

pub mod bounds;
pub mod chain;
pub mod chart;
pub mod density;
pub mod error;
pub mod experiment;
pub mod kernel;
pub mod lanes;
pub mod pool;
pub mod quadrature;
pub mod random;
pub mod settings;
pub mod statistics;
pub mod world;

pub use chain::{ThetaStar, theta_star};
pub use error::{Error, Result};
pub use pool::{Progress, Run};
pub use quadrature::misspecified_star;
pub use settings::{Figure, Settings};
