//! Pictures of progressive loss against rows.

use crate::error::{Failure, Result};
use crate::output;
use kalmia::evaluate::CoursePoint;
use kalmia_chart::{Axis, Color, Plot, Point, Series, compose};
use std::path::Path;

/// A curve of a picture.
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Rows and mean loss.
    pub points: Vec<(f64, f64)>,
    /// Whether it is only a reference.
    pub reference: bool,
}

impl Curve {
    /// A loss as it evolved.
    pub fn new(name: &str, course: &[CoursePoint], loss: fn(&CoursePoint) -> f64) -> Self {
        let points = course.iter().map(|point| (point.rows as f64, loss(point)));
        Self { name: name.into(), points: points.collect(), reference: false }
    }

    /// The loss of the constant predictor, as a reference.
    pub fn constant_predictor(course: &[CoursePoint]) -> Self {
        Self { reference: true, ..Self::new("constant predictor", course, |p| p.constant_loss) }
    }
}

/// Draws the curves as PNG or SVG, by the extension of the file.
pub fn losses(path: &Path, title: &str, curves: &[Curve]) -> Result<()> {
    let finite = |curve: &Curve| {
        curve.points.iter().copied().filter(|p| p.0 >= 1.0 && p.1.is_finite()).collect::<Vec<_>>()
    };
    let drawn: Vec<(&Curve, Vec<(f64, f64)>)> =
        curves.iter().map(|curve| (curve, finite(curve))).collect();
    let (low, high) =
        window(&drawn.iter().flat_map(|(_, points)| points.iter().copied()).collect::<Vec<_>>());
    let series = drawn.iter().enumerate().map(|(i, (curve, points))| {
        let color = if curve.reference { Color::PALETTE[7] } else { Color::PALETTE[(i + 1) % 7] };
        let dash = if curve.reference { vec![5.0, 4.0] } else { Vec::new() };
        let points = points.iter().map(|&(x, y)| Point { x, y }).collect();
        Series { dash, ..Series::line(curve.name.clone(), color, points) }
    });
    let plot = Plot {
        title: title.into(),
        x: Axis::log("rows", drawn.iter().flat_map(|(_, points)| points.iter().map(|p| p.0))),
        y: Axis::linear("mean loss so far", low, high),
        series: series.collect(),
        marks: Vec::new(),
    };
    let scene = compose("progressive loss against rows", &[plot]);
    let png = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png"));
    let bytes = match png {
        true => scene.to_png(2.0).map_err(|error| Failure::Other(error.to_string()))?,
        false => scene.to_svg().into_bytes(),
    };
    output::write_file(path, &bytes)
}

/// The range of the loss axis: all losses after the first hundredth of the rows, which vary widely,
/// with a margin.
fn window(points: &[(f64, f64)]) -> (f64, f64) {
    let last = points.iter().map(|p| p.0).fold(1.0, f64::max);
    let late = points.iter().filter(|p| p.0 >= 0.01 * last).map(|p| p.1);
    let (low, high) =
        late.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return (0.0, 1.0);
    }
    let margin = 0.08 * (high - low).max(1e-6 * high.abs()).max(1e-12);
    (low - margin, high + margin)
}
