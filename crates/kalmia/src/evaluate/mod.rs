//! How good the predictions were, each made before its row was learned. Everything here is an
//! observer, outside the algorithms.

mod calibration;
mod certificate;
mod classes;
mod conformal;
mod confusion;
mod coverage;
mod deviance;
mod difference;
mod metrics;
mod metrics_thread;
mod order;
mod progressive;
mod quantiles;
mod ranking;
mod report;
mod row_buffer;
mod running_quantile;
mod trace;
mod window;

pub use calibration::{Calibration, ReliabilityBin};
pub use certificate::Certificate;
pub use classes::{ClassMetrics, ClassReport};
pub use conformal::{Conformal, ConformalReport};
pub use confusion::Confusion;
pub use coverage::{Predicted, covers};
pub use deviance::deviance;
pub use difference::LossDifference;
pub use metrics::{CoursePoint, Metrics};
pub use metrics_thread::MetricsThread;
pub use order::Order;
pub use progressive::Progressive;
pub use quantiles::QuantileMetrics;
pub use ranking::{CalibrationGroup, Ranking};
pub use report::{Below, Classification, Coverage, LastHalf, Regression, Report};
pub use row_buffer::RowBuffer;
pub use trace::{Cadence, Trace, TracePoint};
