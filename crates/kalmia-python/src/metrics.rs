//! Progressive evaluation as Python sees it.

use kalmia::evaluate::{
    ClassMetrics, CoursePoint, LastHalf, Metrics, Progressive, QuantileMetrics,
};
use kalmia_model::{CertificateReport, ConformalScores};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Groups of equal weight in which calibration is shown.
const GROUPS: usize = 10;

/// A certificate by the names of its terms.
pub fn certificate<'py>(
    report: &CertificateReport,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("rows", report.rows)?;
    dict.set_item("loss", report.loss)?;
    dict.set_item("movement", report.movement)?;
    dict.set_item("log_det_growth", report.log_det_growth)?;
    dict.set_item("bound", report.bound)?;
    dict.set_item("printed_bound", report.printed_bound)?;
    dict.set_item("hindsight", report.hindsight)?;
    dict.set_item("regret", report.regret)?;
    dict.set_item("text", report.text())?;
    Ok(dict)
}

/// The averages by name.
pub fn report<'py>(metrics: &Metrics, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
    let report = metrics.progressive.report();
    let dict = PyDict::new(py);
    dict.set_item("rows", report.rows)?;
    dict.set_item("loss", report.loss)?;
    dict.set_item("constant_loss", report.constant_loss)?;
    dict.set_item("deviance", report.deviance)?;
    dict.set_item("coverage", report.coverage.map(|coverage| coverage.covered))?;
    if let Some(below) = report.below {
        dict.set_item("level", below.level)?;
        dict.set_item("share_below", below.share)?;
    }
    dict.set_item("last_half", report.last_half.map(|half| last_half(half, py)).transpose()?)?;
    dict.set_item("trace", trace(&metrics.course()))?;
    let conformal = ConformalScores::of(metrics).map(|scores| -> PyResult<_> {
        let dict = PyDict::new(py);
        dict.set_item("rows", scores.rows)?;
        dict.set_item("coverage", scores.coverage)?;
        dict.set_item("width", scores.width)?;
        dict.set_item("model_coverage", scores.model_coverage)?;
        dict.set_item("model_width", scores.model_width)?;
        Ok(dict)
    });
    if let Some(conformal) = conformal {
        dict.set_item("conformal", conformal?)?;
    }
    if let Some(labels) = report.classification {
        dict.set_item("accuracy", labels.accuracy)?;
        dict.set_item("brier", labels.brier)?;
        dict.set_item("auc", labels.auc)?;
        dict.set_item("calibration_error", labels.calibration_error)?;
        let bins: Vec<_> =
            labels.reliability.iter().map(|bin| (bin.count, bin.predicted, bin.observed)).collect();
        dict.set_item("reliability", bins)?;
        let groups = metrics.progressive.calibration_groups(GROUPS);
        let groups: Vec<_> = groups.iter().map(|g| (g.weight, g.predicted, g.observed)).collect();
        dict.set_item("reliability_groups", groups)?;
    }
    if let Some(regression) = report.regression {
        dict.set_item("rmse", regression.rmse)?;
        dict.set_item("mae", regression.mae)?;
    }
    Ok(dict)
}

/// The averages of several classes by name.
pub fn class_report<'py>(metrics: &ClassMetrics, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
    let report = metrics.report();
    let dict = PyDict::new(py);
    dict.set_item("rows", report.rows)?;
    dict.set_item("loss", report.loss)?;
    dict.set_item("constant_loss", report.constant_loss)?;
    dict.set_item("accuracy", report.top.first())?;
    dict.set_item("top", &report.top)?;
    dict.set_item("brier", report.brier)?;
    dict.set_item("calibration_error", report.calibration_error)?;
    let bins: Vec<_> =
        report.reliability.iter().map(|bin| (bin.count, bin.predicted, bin.observed)).collect();
    dict.set_item("reliability", bins)?;
    let groups: Vec<_> =
        report.reliability.iter().map(|bin| (bin.weight, bin.predicted, bin.observed)).collect();
    dict.set_item("reliability_groups", groups)?;
    dict.set_item("coverage", py.None())?;
    dict.set_item("last_half", report.last_half.map(|half| last_half(half, py)).transpose()?)?;
    dict.set_item("trace", trace(&metrics.course()))?;
    Ok(dict)
}

/// The averages of several quantiles by name: the means over the levels, and those of each level.
pub fn quantile_report<'py>(
    metrics: &QuantileMetrics,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let level = |progressive: &Progressive| -> PyResult<_> {
        let report = progressive.report();
        let dict = PyDict::new(py);
        dict.set_item("level", report.below.map(|below| below.level))?;
        dict.set_item("loss", report.loss)?;
        dict.set_item("constant_loss", report.constant_loss)?;
        dict.set_item("share_below", report.below.map(|below| below.share))?;
        dict.set_item("last_half", report.last_half.map(|half| last_half(half, py)).transpose()?)?;
        Ok(dict)
    };
    let dict = PyDict::new(py);
    dict.set_item("rows", metrics.rows())?;
    dict.set_item("loss", metrics.loss())?;
    dict.set_item("constant_loss", metrics.constant_loss())?;
    let levels = metrics.levels().iter().map(level).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("levels", levels)?;
    dict.set_item("coverage", py.None())?;
    dict.set_item("last_half", py.None())?;
    dict.set_item("trace", trace(&metrics.course()))?;
    Ok(dict)
}

fn last_half(half: LastHalf, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("first_row", half.first_row)?;
    dict.set_item("last_row", half.last_row)?;
    dict.set_item("loss", half.loss)?;
    dict.set_item("constant_loss", half.constant_loss)?;
    dict.set_item("coverage", half.covered)?;
    if let Some(share) = half.share_below {
        dict.set_item("share_below", share)?;
    }
    dict.set_item("pearson_dispersion", half.dispersion)?;
    Ok(dict)
}

fn trace(course: &[CoursePoint]) -> Vec<(u64, f64, f64)> {
    course.iter().map(|point| (point.rows, point.loss, point.constant_loss)).collect()
}
