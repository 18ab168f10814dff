//! Plots in rows of two: frames, grids, curves with bands, and legends.

use super::axis::Axis;
use super::scene::{Anchor, Color, Scene, Shape};

/// A curve, or a filled histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend; empty for none.
    pub label: String,
    /// Its colour.
    pub color: Color,
    /// Lengths of dashes and gaps; empty for a solid line.
    pub dash: Vec<f64>,
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper edge of the confidence band at each point; empty for none.
    pub band: Vec<(f64, f64)>,
    /// Whether the space below the curve is filled.
    pub filled: bool,
}

/// A labelled vertical line.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Where it stands.
    pub x: f64,
    /// What it says.
    pub label: String,
}

/// One frame with its axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Title above the frame.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, the first one on top.
    pub series: Vec<Series>,
    /// Vertical lines.
    pub marks: Vec<Mark>,
}

const FRAME: (f64, f64) = (470.0, 330.0);
const LEFT: f64 = 72.0;
const TOP: f64 = 38.0;
const RIGHT: f64 = 18.0;
const LEGEND_ROW: f64 = 19.0;
const COLUMNS: usize = 2;

/// Draws the plots in rows of two, legends below; a last one alone stands in the middle.
pub fn compose(description: &str, plots: &[Plot]) -> Scene {
    let entries = plots.iter().map(|p| legend_rows(p).len()).max().unwrap_or(0);
    let (width, height) =
        (LEFT + FRAME.0 + RIGHT, TOP + FRAME.1 + 52.0 + entries as f64 * LEGEND_ROW + 8.0);
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
            let (left, top) = (margin + column as f64 * width + LEFT, row as f64 * height + TOP);
            Canvas { scene: &mut scene, plot, left, top }.draw();
        }
    }
    scene
}

/// Legend entries in rows of two.
fn legend_rows(plot: &Plot) -> Vec<Vec<&Series>> {
    let named: Vec<&Series> = plot.series.iter().filter(|s| !s.label.is_empty()).collect();
    let long = named.iter().any(|s| s.label.chars().count() > 31);
    named.chunks(if long { 1 } else { 2 }).map(|c| c.to_vec()).collect()
}

/// One plot being drawn.
struct Canvas<'a> {
    scene: &'a mut Scene,
    plot: &'a Plot,
    left: f64,
    top: f64,
}

impl Canvas<'_> {
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (
            self.left + self.plot.x.place(x) * FRAME.0,
            self.top + (1.0 - self.plot.y.place(y)) * FRAME.1,
        )
    }

    fn draw(&mut self) {
        self.grid();
        for series in self.plot.series.iter().rev() {
            self.band(series);
        }
        // Dashes above solid lines, so that curves which coincide are both seen.
        for dashed in [false, true] {
            for series in self.plot.series.iter().rev().filter(|s| s.dash.is_empty() != dashed) {
                self.curve(series);
            }
        }
        self.frame_and_labels();
        self.legend();
    }

    fn grid(&mut self) {
        let (bottom, right) = (self.top + FRAME.1, self.left + FRAME.0);
        for (value, label) in self.plot.x.ticks() {
            let x = self.left + self.plot.x.place(value) * FRAME.0;
            let Some(label) = label else {
                self.scene.line(vec![(x, bottom), (x, bottom + 3.0)], Color::INK, 0.6, &[]);
                continue;
            };
            self.scene.line(vec![(x, self.top), (x, bottom)], Color::GRID, 1.0, &[]);
            self.scene.line(vec![(x, bottom), (x, bottom + 6.0)], Color::INK, 1.0, &[]);
            self.scene.text((x, bottom + 19.0), 12.0, Anchor::Middle, label);
        }
        for (value, label) in self.plot.y.ticks() {
            let y = self.top + (1.0 - self.plot.y.place(value)) * FRAME.1;
            let Some(label) = label else {
                self.scene.line(vec![(self.left - 3.0, y), (self.left, y)], Color::INK, 0.6, &[]);
                continue;
            };
            self.scene.line(vec![(self.left, y), (right, y)], Color::GRID, 1.0, &[]);
            self.scene.line(vec![(self.left - 6.0, y), (self.left, y)], Color::INK, 1.0, &[]);
            self.scene.text((self.left - 9.0, y + 4.0), 12.0, Anchor::End, label);
        }
    }

    fn band(&mut self, series: &Series) {
        let xs = series.points.iter().map(|p| p.0);
        let lower: Vec<_> = xs.clone().zip(&series.band).map(|(x, b)| self.at((x, b.0))).collect();
        let upper = xs.zip(&series.band).map(|(x, b)| self.at((x, b.1)));
        let points: Vec<_> = upper.chain(lower.into_iter().rev()).collect();
        if points.len() > 3 {
            self.scene.shapes.push(Shape::Area { points, color: series.color, opacity: 0.16 });
        }
    }

    fn curve(&mut self, series: &Series) {
        let points: Vec<_> = series.points.iter().map(|&p| self.at(p)).collect();
        if let (true, Some(first), Some(last)) = (series.filled, points.first(), points.last()) {
            let floor = self.top + FRAME.1;
            let around = [(first.0, floor)]
                .into_iter()
                .chain(points.iter().copied())
                .chain([(last.0, floor)]);
            self.scene.shapes.push(Shape::Area {
                points: around.collect(),
                color: series.color,
                opacity: 0.35,
            });
        }
        let width = match (series.filled, series.dash.is_empty()) {
            (true, _) => 1.2,
            (_, true) => 2.6,
            _ => 1.9,
        };
        self.scene.line(points, series.color, width, &series.dash);
    }

    fn frame_and_labels(&mut self) {
        let (bottom, right) = (self.top + FRAME.1, self.left + FRAME.0);
        for mark in &self.plot.marks {
            let (x, _) = self.at((mark.x, self.plot.y.low));
            self.scene.line(vec![(x, self.top), (x, bottom)], Color::INK, 1.0, &[4.0, 3.0]);
            let near_the_edge = x > right - 90.0;
            let (x, anchor) =
                if near_the_edge { (x - 5.0, Anchor::End) } else { (x + 5.0, Anchor::Start) };
            self.scene.text((x, self.top + 15.0), 11.5, anchor, mark.label.clone());
        }
        let corners = vec![
            (self.left, self.top),
            (right, self.top),
            (right, bottom),
            (self.left, bottom),
            (self.left, self.top),
        ];
        self.scene.line(corners, Color::INK, 1.0, &[]);
        self.scene.text(
            (self.left + FRAME.0 / 2.0, self.top - 14.0),
            14.0,
            Anchor::Middle,
            self.plot.title.clone(),
        );
        self.scene.text(
            (self.left + FRAME.0 / 2.0, bottom + 39.0),
            13.0,
            Anchor::Middle,
            self.plot.x.label.clone(),
        );
        self.scene.shapes.push(Shape::Text {
            at: (self.left - 52.0, self.top + FRAME.1 / 2.0),
            size: 13.0,
            anchor: Anchor::Middle,
            vertical: true,
            text: self.plot.y.label.clone(),
        });
    }

    fn legend(&mut self) {
        let top = self.top + FRAME.1 + 60.0;
        for (row, entries) in legend_rows(self.plot).into_iter().enumerate() {
            let y = top + row as f64 * LEGEND_ROW;
            for (column, series) in entries.into_iter().enumerate() {
                let x = self.left + column as f64 * (FRAME.0 / 2.0 + 8.0) - 8.0;
                if series.filled || !series.band.is_empty() {
                    let box_ =
                        vec![(x, y - 5.0), (x + 30.0, y - 5.0), (x + 30.0, y + 5.0), (x, y + 5.0)];
                    self.scene.shapes.push(Shape::Area {
                        points: box_,
                        color: series.color,
                        opacity: 0.16,
                    });
                }
                self.scene.line(vec![(x, y), (x + 30.0, y)], series.color, 2.0, &series.dash);
                self.scene.text((x + 37.0, y + 4.0), 12.0, Anchor::Start, series.label.clone());
            }
        }
    }
}
