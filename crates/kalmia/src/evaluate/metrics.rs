//! Progressive evaluation with its course, as model files hold it.

use super::{Cadence, Progressive, Trace};
use crate::error::Result;
use crate::family::AnyFamily;
use crate::learner::{Observer, Seen};
use serde::{Deserialize, Serialize};

/// Ratio of rows between two points of the course.
const FACTOR: f64 = 1.05;

/// How good the predictions were that were made before each row was learned, so far and along the
/// way.
///
/// ```
/// use kalmia::evaluate::Metrics;
/// use kalmia::{AnyFamily, Auto, Learner, Rows};
/// let family: AnyFamily = "gaussian".parse()?;
/// let (mut model, mut metrics) = (Auto::new(family, 1)?, Metrics::new(family)?);
/// model.learn_observed(Rows::new(1, &[1.0, 2.0, 3.0], &[1.1, 1.9, 3.2])?, Some(&mut metrics))?;
/// assert_eq!(metrics.course().last().map(|point| (point.0, point.1)), Some((3, metrics.progressive.loss())));
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// All rows so far.
    pub progressive: Progressive,
    loss: Trace,
    baseline: Trace,
}

impl Metrics {
    /// Nothing seen.
    pub fn new(family: AnyFamily) -> Result<Self> {
        let trace = || Trace::new(Cadence::Geometric { factor: FACTOR });
        Ok(Self { progressive: Progressive::new(family), loss: trace()?, baseline: trace()? })
    }

    /// Rows, mean loss and mean loss of the constant predictor, along the way and now.
    pub fn course(&self) -> Vec<(u64, f64, f64)> {
        let pairs = self.loss.points().iter().zip(self.baseline.points());
        let mut course: Vec<_> =
            pairs.map(|(loss, baseline)| (loss.0, loss.1, baseline.1)).collect();
        let rows = self.progressive.rows();
        if rows > 0 && course.last().is_none_or(|last| last.0 < rows) {
            course.push((rows, self.progressive.loss(), self.progressive.constant_loss()));
        }
        course
    }
}

impl Observer for Metrics {
    fn row(&mut self, seen: &Seen<'_>) {
        let Self { progressive, loss, baseline } = self;
        Observer::row(progressive, seen);
        let rows = progressive.rows();
        loss.record(rows, || progressive.loss());
        baseline.record(rows, || progressive.constant_loss());
    }
}
