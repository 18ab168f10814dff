//! Plots in rows of two: frames, grids, curves with bands, and legends.

use crate::axis::Axis;
use crate::clip;
use crate::measure::{shortened, width};
use crate::scene::{Anchor, Color, Point, Scene, Shape};

/// A confidence band at one point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// Lower edge.
    pub lower: f64,
    /// Upper edge.
    pub upper: f64,
}

/// A curve, or a filled histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend; empty for none.
    pub label: String,
    /// Its color.
    pub color: Color,
    /// Lengths of dashes and gaps; empty for a solid line.
    pub dash: Vec<f64>,
    /// Its points.
    pub points: Vec<Point>,
    /// The confidence band at each point; empty for none.
    pub band: Vec<Band>,
    /// Whether the area below the curve is filled.
    pub filled: bool,
}

impl Series {
    /// A solid line without a band.
    pub fn line(label: impl Into<String>, color: Color, points: Vec<Point>) -> Self {
        let label = label.into();
        Self { label, color, dash: Vec::new(), points, band: Vec::new(), filled: false }
    }
}

/// A labeled vertical line.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Its horizontal position.
    pub x: f64,
    /// Its label.
    pub label: String,
}

/// One frame with its axes. Curves are cut at its edges; an arrow shows where a curve has left
/// that ends outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Title above the frame.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves; the first one is drawn on top.
    pub series: Vec<Series>,
    /// Vertical lines.
    pub marks: Vec<Mark>,
}

/// Size of the frame and of the margins around it, in units of the scene.
const FRAME_WIDTH: f64 = 470.0;
const FRAME_HEIGHT: f64 = 330.0;
const MIN_LEFT: f64 = 72.0;
const TOP: f64 = 38.0;
const RIGHT: f64 = 18.0;
/// Height of a legend line.
const LEGEND_LINE: f64 = 19.0;
/// Width of the sample of a line and the gap after it.
const LEGEND_SAMPLE: f64 = 37.0;
/// Longest label, in characters, that fits in one of two legend columns.
const MAX_COLUMN_LABEL: usize = 31;
const COLUMNS: usize = 2;
/// Size of tick labels, and what stands left of them: the axis label and the gaps around it.
const TICK_SIZE: f64 = 12.0;
const TICK_GAP: f64 = 9.0;
const AXIS_LABEL: f64 = 30.0;
/// Size of the labels of marks, and the distance of two lines of them.
const MARK_SIZE: f64 = 11.5;
const MARK_LINE: f64 = 15.0;
/// Half the width of an arrow, and its height.
const ARROW: f64 = 6.0;
/// Opacity of bands and of the area below a filled curve.
const BAND_OPACITY: f64 = 0.16;
const FILL_OPACITY: f64 = 0.35;

/// Draws the plots in rows of two with the legends below; a single last plot is centered.
///
/// `description` becomes the accessible title of the scene.
pub fn compose(description: &str, plots: &[Plot]) -> Scene {
    let legend_lines = plots.iter().map(|p| legend_rows(p).len()).max().unwrap_or(0);
    let left = plots.iter().map(left_margin).fold(MIN_LEFT, f64::max);
    let width = left + FRAME_WIDTH + RIGHT;
    let height = TOP + FRAME_HEIGHT + 52.0 + legend_lines as f64 * LEGEND_LINE + 8.0;
    let columns = plots.len().min(COLUMNS);
    let mut scene = Scene {
        width: width * columns as f64,
        height: height * plots.len().div_ceil(COLUMNS) as f64,
        description: description.into(),
        ..Scene::default()
    };
    for (row, plots) in plots.chunks(COLUMNS).enumerate() {
        let margin = (columns - plots.len()) as f64 * width / 2.0;
        for (column, plot) in plots.iter().enumerate() {
            let start = margin + column as f64 * width;
            let top = row as f64 * height + TOP;
            Canvas { scene: &mut scene, plot, start, left: start + left, top }.draw();
        }
    }
    scene
}

/// Room for the longest label of the vertical axis and what stands beside it.
fn left_margin(plot: &Plot) -> f64 {
    let labels = plot.y.ticks().into_iter().filter_map(|tick| tick.label);
    let widest = labels.map(|label| width(&label, TICK_SIZE)).fold(0.0, f64::max);
    widest + TICK_GAP + AXIS_LABEL
}

/// Legend entries in rows of two, or of one if a label is long.
fn legend_rows(plot: &Plot) -> Vec<Vec<&Series>> {
    let named: Vec<&Series> = plot.series.iter().filter(|s| !s.label.is_empty()).collect();
    let long = named.iter().any(|s| s.label.chars().count() > MAX_COLUMN_LABEL);
    named.chunks(if long { 1 } else { 2 }).map(|c| c.to_vec()).collect()
}

/// One plot being drawn, with the top left corner of its frame.
struct Canvas<'a> {
    scene: &'a mut Scene,
    plot: &'a Plot,
    /// Left end of its part of the scene.
    start: f64,
    left: f64,
    top: f64,
}

impl Canvas<'_> {
    fn right(&self) -> f64 {
        self.left + FRAME_WIDTH
    }

    fn bottom(&self) -> f64 {
        self.top + FRAME_HEIGHT
    }

    /// A point of the axes within the frame: (0, 0) is the lower left corner, (1, 1) the upper
    /// right one.
    fn place(&self, point: Point) -> Point {
        Point::new(self.plot.x.place(point.x), self.plot.y.place(point.y))
    }

    /// A point of the frame in units of the scene.
    fn at(&self, place: Point) -> Point {
        Point { x: self.left + place.x * FRAME_WIDTH, y: self.top + (1.0 - place.y) * FRAME_HEIGHT }
    }

    fn draw(&mut self) {
        self.grid();
        for series in self.plot.series.iter().rev() {
            self.band(series);
        }
        // Dashed lines are drawn above solid ones: if two curves coincide, both are visible.
        for dashed in [false, true] {
            for series in self.plot.series.iter().rev().filter(|s| s.dash.is_empty() != dashed) {
                self.curve(series);
            }
        }
        self.marks();
        self.frame_and_labels();
        self.legend();
    }

    /// A straight solid line.
    fn segment(&mut self, from: Point, to: Point, color: Color, width: f64) {
        self.scene.line(vec![from, to], color, width, &[]);
    }

    fn grid(&mut self) {
        let left = self.left;
        let top = self.top;
        let right = self.right();
        let bottom = self.bottom();
        for tick in self.plot.x.ticks() {
            let x = left + self.plot.x.place(tick.value) * FRAME_WIDTH;
            let foot = Point::new(x, bottom);
            let Some(label) = tick.label else {
                self.segment(foot, Point::new(x, bottom + 3.0), Color::INK, 0.6);
                continue;
            };
            self.segment(Point::new(x, top), foot, Color::GRID, 1.0);
            self.segment(foot, Point::new(x, bottom + 6.0), Color::INK, 1.0);
            self.scene.text(Point::new(x, bottom + 19.0), TICK_SIZE, Anchor::Middle, label);
        }
        for tick in self.plot.y.ticks() {
            let y = top + (1.0 - self.plot.y.place(tick.value)) * FRAME_HEIGHT;
            let foot = Point::new(left, y);
            let Some(label) = tick.label else {
                self.segment(Point::new(left - 3.0, y), foot, Color::INK, 0.6);
                continue;
            };
            self.segment(foot, Point::new(right, y), Color::GRID, 1.0);
            self.segment(Point::new(left - 6.0, y), foot, Color::INK, 1.0);
            let at = Point::new(left - TICK_GAP, y + 4.0);
            self.scene.text(at, TICK_SIZE, Anchor::End, label);
        }
    }

    fn band(&mut self, series: &Series) {
        let edge = |value: fn(&Band) -> f64| {
            let points = series.points.iter().zip(&series.band);
            let places: Vec<Point> =
                points.map(|(point, band)| self.place(Point::new(point.x, value(band)))).collect();
            clip::edge(&places)
        };
        let upper = edge(|band| band.upper);
        let lower = edge(|band| band.lower);
        let points: Vec<Point> =
            upper.into_iter().chain(lower.into_iter().rev()).map(|p| self.at(p)).collect();
        if points.len() > 3 {
            self.scene.area(points, series.color, BAND_OPACITY);
        }
    }

    fn curve(&mut self, series: &Series) {
        let places: Vec<Point> = series.points.iter().map(|&p| self.place(p)).collect();
        if series.filled && places.len() > 1 {
            let edge = clip::edge(&places);
            let foot = |place: &Point| Point::new(place.x, 0.0);
            let corners = edge.first().map(foot).into_iter().chain(edge.iter().copied());
            let outline = corners.chain(edge.last().map(foot)).map(|p| self.at(p)).collect();
            self.scene.area(outline, series.color, FILL_OPACITY);
        }
        let width = match (series.filled, series.dash.is_empty()) {
            (true, _) => 1.2,
            (_, true) => 2.6,
            _ => 1.9,
        };
        let parts = clip::curve(&places);
        if let Some(last) = places.last().filter(|place| !(0.0..=1.0).contains(&place.y)) {
            // where it left for good, or its end if it never was inside
            let left = parts.last().and_then(|part| part.last()).unwrap_or(last);
            self.arrow(left.x.clamp(0.0, 1.0), last.y > 0.5, series.color);
        }
        for part in parts {
            let points = part.into_iter().map(|p| self.at(p)).collect();
            self.scene.line(points, series.color, width, &series.dash);
        }
    }

    /// A triangle at the upper or lower edge: the curve goes on beyond it.
    fn arrow(&mut self, x: f64, upwards: bool, color: Color) {
        let tip = self.at(Point::new(x, f64::from(upwards)));
        // inside the frame, also in its corners
        let x = tip.x.clamp(self.left + ARROW, self.right() - ARROW);
        let foot = if upwards { tip.y + ARROW } else { tip.y - ARROW };
        let corners = [(x, tip.y), (x + ARROW, foot), (x - ARROW, foot)];
        self.scene.area(corners.map(|(x, y)| Point::new(x, y)).to_vec(), color, 1.0);
    }

    fn marks(&mut self) {
        let mut taken: Vec<[f64; 3]> = Vec::new();
        for mark in &self.plot.marks {
            let place = self.plot.x.place(mark.x);
            if !(0.0..=1.0).contains(&place) {
                continue;
            }
            let x = self.at(Point::new(place, 0.0)).x;
            let ends = vec![Point::new(x, self.top), Point::new(x, self.bottom())];
            self.scene.line(ends, Color::INK, 1.0, &[4.0, 3.0]);
            // Near the right edge the label stands to the left of its line.
            let near_edge = x > self.right() - 90.0;
            let shift = if near_edge { -5.0 } else { 5.0 };
            let anchor = if near_edge { Anchor::End } else { Anchor::Start };
            let length = width(&mark.label, MARK_SIZE);
            let from = if near_edge { x + shift - length } else { x + shift };
            // A label that would lie on an earlier one goes a line below it.
            let mut y = self.top + 15.0;
            while taken.iter().any(|t| t[2] == y && from < t[1] && t[0] < from + length) {
                y += MARK_LINE;
            }
            taken.push([from, from + length, y]);
            self.scene.text(Point::new(x + shift, y), MARK_SIZE, anchor, mark.label.clone());
        }
    }

    fn frame_and_labels(&mut self) {
        let bottom = self.bottom();
        let right = self.right();
        let corners = vec![
            Point::new(self.left, self.top),
            Point::new(right, self.top),
            Point::new(right, bottom),
            Point::new(self.left, bottom),
            Point::new(self.left, self.top),
        ];
        self.scene.line(corners, Color::INK, 1.0, &[]);
        let middle = self.left + FRAME_WIDTH / 2.0;
        // centered above the frame, so that half of it may reach to the left end
        let room = FRAME_WIDTH + 2.0 * RIGHT;
        let title = shortened(&self.plot.title, 14.0, room);
        self.scene.text(Point::new(middle, self.top - 14.0), 14.0, Anchor::Middle, title);
        let label = shortened(&self.plot.x.label, 13.0, FRAME_WIDTH);
        self.scene.text(Point::new(middle, bottom + 39.0), 13.0, Anchor::Middle, label);
        self.scene.shapes.push(Shape::Text {
            at: Point::new(self.start + 20.0, self.top + FRAME_HEIGHT / 2.0),
            size: 13.0,
            anchor: Anchor::Middle,
            vertical: true,
            text: shortened(&self.plot.y.label, 13.0, FRAME_HEIGHT),
        });
    }

    fn legend(&mut self) {
        let top = self.bottom() + 60.0;
        let rows = legend_rows(self.plot);
        let columns = rows.first().map_or(1, Vec::len) as f64;
        for (row, entries) in rows.into_iter().enumerate() {
            let y = top + row as f64 * LEGEND_LINE;
            for (column, series) in entries.into_iter().enumerate() {
                let x = self.left + column as f64 * (FRAME_WIDTH / 2.0 + 8.0) - 8.0;
                let room = FRAME_WIDTH / columns - LEGEND_SAMPLE;
                self.legend_entry(Point::new(x, y), series, room);
            }
        }
    }

    /// A sample of the line, 30 units long, and the label.
    fn legend_entry(&mut self, Point { x, y }: Point, series: &Series, room: f64) {
        if series.filled || !series.band.is_empty() {
            let corners = vec![
                Point::new(x, y - 5.0),
                Point::new(x + 30.0, y - 5.0),
                Point::new(x + 30.0, y + 5.0),
                Point::new(x, y + 5.0),
            ];
            self.scene.area(corners, series.color, BAND_OPACITY);
        }
        let sample = vec![Point::new(x, y), Point::new(x + 30.0, y)];
        self.scene.line(sample, series.color, 2.0, &series.dash);
        let label = shortened(&series.label, 12.0, room);
        self.scene.text(Point::new(x + LEGEND_SAMPLE, y + 4.0), 12.0, Anchor::Start, label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_near_marks_stand_on_lines_of_their_own() {
        let mark = |x: f64| Mark { x, label: format!("mean {x}") };
        let plot = Plot {
            title: String::new(),
            x: Axis::linear("x", 0.0, 1.0),
            y: Axis::linear("y", 0.0, 1.0),
            series: Vec::new(),
            marks: vec![mark(0.2), mark(0.25), mark(0.7)],
        };
        let scene = compose("marks", &[plot]);
        let height = |label: &str| {
            let at = scene.shapes.iter().find_map(|shape| match shape {
                Shape::Text { at, text, .. } if text == label => Some(at.y),
                _ => None,
            });
            at.expect("every mark has its label")
        };
        assert_eq!(height("mean 0.25") - height("mean 0.2"), MARK_LINE);
        assert_eq!(height("mean 0.7"), height("mean 0.2"));
    }
}
