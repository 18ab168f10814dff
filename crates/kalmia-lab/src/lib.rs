//! The laboratory: every experiment and figure of the paper, reproduced by one call.
//!
//! [`reproduce()`] runs figures by name and writes CSV, SVG, PNG and a report with verdicts on the
//! paper's [`claims`]. [`run_experiment`] does the same for an [`experiment`] file of one's own.
//! [`theta_star()`] is the paper's long run for the misspecified setting, [`misspecified_star`] the
//! same vector by quadrature.
//!
//! All experiments use the library's learners. Only the long simulations of the figure `bounds` use
//! [`kernel`]: the filters for $d = 11$, eight replicates at once, 3 to 10 times as fast. Every
//! replicate has its own random stream, so the same seed gives the same numbers with any number of
//! threads.

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
mod matrix;
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
pub use experiment::Experiment;
pub use quadrature::misspecified_star;
pub use report::Report;
pub use reproduce::{reproduce, run_experiment};
pub use settings::{Figure, Settings};
pub use theta_star::{PathPoint, ThetaStar, theta_star};
pub use workers::{Progress, Workers};
