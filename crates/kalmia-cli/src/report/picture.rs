//! Pictures of progressive loss against rows.

use crate::error::Result;
use crate::output;
use kalmia::evaluate::CoursePoint;
use kalmia_chart::{Axis, Color, Plot, Point, Scene, Series, compose};
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

/// Dashes and gaps, so that curves that coincide are both seen; the first is solid.
const DASHES: [&[f64]; 4] = [&[], &[9.0, 4.0], &[3.0, 3.0], &[9.0, 3.0, 2.0, 3.0]];
const REFERENCE_DASH: &[f64] = &[5.0, 4.0];

/// Draws the curves as PNG or SVG, by the extension of the file.
pub fn losses(path: &Path, title: &str, curves: &[Curve]) -> Result<()> {
    let legal = |curve: &Curve| -> Vec<Point> {
        let points = curve.points.iter().filter(|p| p.0 >= 1.0 && !p.1.is_nan());
        points.map(|&(x, y)| Point { x, y }).collect()
    };
    let drawn: Vec<(&Curve, Vec<Point>)> =
        curves.iter().map(|curve| (curve, legal(curve))).collect();
    let points: Vec<&[Point]> = drawn.iter().map(|(_, points)| &points[..]).collect();
    let y = loss_axis(&points);
    let series = drawn.iter().enumerate().map(|(i, (curve, points))| {
        let color = if curve.reference { Color::PALETTE[7] } else { Color::PALETTE[i % 6 + 1] };
        let dash = if curve.reference { REFERENCE_DASH } else { DASHES[i % DASHES.len()] };
        let label = label(curve, points, &y);
        Series { dash: dash.to_vec(), ..Series::line(label, color, points.clone()) }
    });
    let plot = Plot {
        title: title.into(),
        x: Axis::log("rows", points.iter().copied().flatten().map(|p| p.x)),
        series: series.collect(),
        y,
        marks: Vec::new(),
    };
    write_picture(path, &compose("progressive loss against rows", &[plot]))
}

/// Writes a scene as PNG or SVG, by the extension of the file.
pub fn write_picture(path: &Path, scene: &Scene) -> Result<()> {
    #[cfg(feature = "png")]
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
        let bytes =
            scene.to_png(2.0).map_err(|error| crate::error::Failure::Other(error.to_string()))?;
        return output::write_file(path, &bytes);
    }
    output::write_file(path, scene.to_svg().as_bytes())
}

/// The name of a curve, and its end if the picture does not show it.
fn label(curve: &Curve, points: &[Point], axis: &Axis) -> String {
    match points.last() {
        None => format!("{} (no losses)", curve.name),
        Some(last) if !(axis.low..=axis.high).contains(&last.y) => {
            format!("{} (ends at {})", curve.name, short(last.y))
        }
        Some(_) => curve.name.clone(),
    }
}

/// Three significant digits.
fn short(value: f64) -> String {
    if (1e-3..1e5).contains(&value.abs()) { format!("{value:.3}") } else { format!("{value:.2e}") }
}

/// A curve that ends above so many times the best end leaves the picture.
const MAX_TIMES_BEST: f64 = 20.0;
/// From this ratio of the highest to the lowest loss on, the axis is logarithmic.
const MIN_LOG_RATIO: f64 = 20.0;

/// The axis of the losses after the first hundredth of the rows, which vary widely. Methods far
/// worse than the others do not stretch it.
fn loss_axis(curves: &[&[Point]]) -> Axis {
    const LABEL: &str = "mean loss so far";
    let end = |points: &&[Point]| points.last().map(|p| p.y).filter(|y| y.is_finite());
    let best = curves.iter().filter_map(end).fold(f64::INFINITY, f64::min);
    let rows = curves.iter().filter_map(|points| points.last()).map(|p| p.x).fold(1.0, f64::max);
    let shown = curves
        .iter()
        .filter(|points| end(points).is_some_and(|y| y <= MAX_TIMES_BEST * best.max(0.0)));
    let late: Vec<f64> = shown
        .flat_map(|points| points.iter())
        .filter(|p| p.x >= 0.01 * rows && p.y.is_finite())
        .map(|p| p.y)
        .collect();
    let low = late.iter().copied().fold(f64::INFINITY, f64::min);
    let high = late.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return Axis::linear(LABEL, 0.0, 1.0);
    }
    if low > 0.0 && high > MIN_LOG_RATIO * low {
        return Axis::log(LABEL, late);
    }
    let margin = 0.08 * (high - low).max(1e-6 * high.abs()).max(1e-12);
    Axis::linear(LABEL, low - margin, high + margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[f64]) -> Vec<Point> {
        values.iter().enumerate().map(|(i, &y)| Point { x: (i + 1) as f64, y }).collect()
    }

    #[test]
    fn a_method_that_diverges_does_not_stretch_the_axis() {
        let good = curve(&[0.9, 0.6, 0.5]);
        let bad = curve(&[0.9, 1e100, 1e289]);
        let constant = curve(&[0.7, 0.7, 0.7]);
        let axis = loss_axis(&[&good, &bad, &constant]);
        assert!(!axis.log && axis.low > 0.0 && axis.high < 1.0, "{axis:?}");
        let lost = Curve { name: "ekf".into(), points: Vec::new(), reference: false };
        assert_eq!(label(&lost, &bad, &axis), "ekf (ends at 1.00e289)");
        assert_eq!(label(&lost, &good, &axis), "ekf");
        assert_eq!(label(&lost, &[], &axis), "ekf (no losses)");
        let infinite = curve(&[0.9, f64::INFINITY, f64::INFINITY]);
        assert_eq!(loss_axis(&[&good, &infinite, &constant]), axis);
    }

    #[test]
    fn losses_of_unlike_size_get_a_logarithmic_axis() {
        let falling = curve(&[5000.0, 300.0, 20.0, 3.0]);
        let axis = loss_axis(&[&falling]);
        assert!(axis.log && axis.low <= 3.0 && axis.high >= 5000.0, "{axis:?}");
        assert_eq!(loss_axis(&[]), Axis::linear("mean loss so far", 0.0, 1.0));
    }
}
