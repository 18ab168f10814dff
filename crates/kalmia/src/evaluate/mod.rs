//! How good the predictions were, each made before its row was learned. Everything here is an
//! observer, outside the algorithms.

mod calibration;
mod certificate;
mod deviance;
mod metrics;
mod metrics_thread;
mod progressive;
mod ranking;
mod report;
mod trace;

pub use calibration::{Calibration, ReliabilityBin};
pub use certificate::Certificate;
pub use deviance::deviance;
pub use metrics::{CoursePoint, Metrics};
pub use metrics_thread::MetricsThread;
pub use progressive::Progressive;
pub use ranking::Ranking;
pub use report::{Classification, Coverage, Regression, Report};
pub use trace::{Cadence, Trace, TracePoint};
