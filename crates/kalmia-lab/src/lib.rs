//! The laboratory: every experiment and figure of the paper, reproduced by one call.
//!
//! [`reproduce()`] runs figures by name and writes CSV, SVG, PNG and a report. [`theta_star()`] is
//! the paper's long run for the misspecified setting, [`misspecified_star`] the same vector by
//! quadrature. Both, and the figure `beyond`, use the library's learners. The Monte Carlo
//! comparisons use [`kernel`]: the same algorithms for $d = 11$, eight replicates at once, 3 to 10
//! times as fast. Every replicate has its own random stream, so the same seed gives the same
//! numbers with any number of threads.

pub mod bounds;
pub mod claims;
pub mod density;
pub mod error;
pub mod experiment;
mod feed;
pub mod figures;
pub mod kernel;
pub mod lanes;
pub mod likelihood;
mod number;
pub mod output;
pub mod quadrature;
pub mod random;
pub mod report;
pub mod reproduce;
pub mod settings;
pub mod statistics;
pub mod theta_star;
pub mod workers;
pub mod world;

pub use claims::{Claim, Verdict};
pub use error::{Error, Result};
pub use quadrature::misspecified_star;
pub use report::Report;
pub use reproduce::reproduce;
pub use settings::{Figure, Settings};
pub use theta_star::{PathPoint, ThetaStar, theta_star};
pub use workers::{Progress, Workers};
