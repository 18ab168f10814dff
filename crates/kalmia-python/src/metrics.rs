//! Progressive evaluation with its course, in the form in which model files hold it.

use kalmia::evaluate::{Cadence, Progressive, Trace};
use kalmia::{AnyFamily, Observer, Result, Seen};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};

/// Ratio of rows between two points of the course.
const FACTOR: f64 = 1.05;

/// How good the predictions were that were made before each row was learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    progressive: Progressive,
    loss: Trace,
    baseline: Trace,
}

impl Metrics {
    /// Nothing seen.
    pub fn new(family: AnyFamily) -> Result<Self> {
        let trace = || Trace::new(Cadence::Geometric { factor: FACTOR });
        Ok(Self { progressive: Progressive::new(family), loss: trace()?, baseline: trace()? })
    }

    /// The averages by name.
    pub fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.progressive.report();
        let dict = PyDict::new(py);
        dict.set_item("rows", report.rows)?;
        dict.set_item("loss", report.loss)?;
        dict.set_item("constant_loss", report.constant_loss)?;
        dict.set_item("deviance", report.deviance)?;
        dict.set_item("trace", self.course())?;
        if let Some(labels) = report.classification {
            dict.set_item("accuracy", labels.accuracy)?;
            dict.set_item("brier", labels.brier)?;
            dict.set_item("auc", labels.auc)?;
            dict.set_item("calibration_error", labels.calibration_error)?;
            let bins: Vec<_> = labels.reliability.iter().map(|bin| (bin.count, bin.predicted, bin.observed)).collect();
            dict.set_item("reliability", bins)?;
        }
        if let Some(regression) = report.regression {
            dict.set_item("rmse", regression.rmse)?;
            dict.set_item("mae", regression.mae)?;
        }
        Ok(dict)
    }

    /// Rows, mean loss and mean loss of the constant predictor along the way.
    fn course(&self) -> Vec<(u64, f64, f64)> {
        let pairs = self.loss.points().iter().zip(self.baseline.points());
        pairs.map(|(loss, baseline)| (loss.0, loss.1, baseline.1)).collect()
    }
}

impl Observer for Metrics {
    fn row(&mut self, seen: &Seen<'_>) {
        let Self { progressive, loss, baseline } = self;
        Observer::row(progressive, seen);
        let rows = progressive.rows();
        loss.record(rows, || progressive.loss());
        baseline.record(rows, || progressive.report().constant_loss);
    }
}
