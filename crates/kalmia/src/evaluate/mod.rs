//! How good the predictions were, judged before each row was learned: observers that stay outside
//! the algorithms.

mod calibration;
mod certificate;
mod deviance;
mod judge;
mod metrics;
mod progressive;
mod ranking;
mod trace;

pub use calibration::{Calibration, ReliabilityBin};
pub use certificate::Certificate;
pub use deviance::deviance;
pub use judge::Judge;
pub use metrics::Metrics;
pub use progressive::{Classification, Coverage, Progressive, Regression, Report};
pub use ranking::Ranking;
pub use trace::{Cadence, Trace};
