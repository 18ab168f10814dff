//! The laboratory: every experiment and figure of the paper, reproduced by one call.
//!
//! [`reproduce()`] runs figures by name and writes CSV, SVG, PNG and a report; [`theta_star`] is
//! the paper's long run for the misspecified setting, [`misspecified_star`] the same vector by
//! quadrature. Below them, [`kernel`] holds the algorithms for $d = 11$ with eight replicates in
//! the lanes of a vector register, fed by the generators of [`world`]; every replicate has its own
//! random stream, so that the same seed gives the same numbers whatever the number of threads.

pub mod bounds;
pub mod chain;
pub mod claims;
pub mod density;
pub mod error;
pub mod experiment;
pub mod figures;
pub mod kernel;
pub mod lanes;
pub mod likelihood;
mod number;
pub mod output;
pub mod pool;
pub mod quadrature;
pub mod random;
pub mod report;
pub mod reproduce;
pub mod settings;
pub mod statistics;
pub mod world;

pub use chain::{ThetaStar, theta_star};
pub use claims::{Claim, Verdict};
pub use error::{Error, Result};
pub use pool::{Progress, Run};
pub use quadrature::misspecified_star;
pub use report::Report;
pub use reproduce::reproduce;
pub use settings::{Figure, Settings};
