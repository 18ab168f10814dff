//! The shapes that SVG and PNG have in common: a scene is a list of lines, areas and text.

/// A color by its red, green and blue parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    /// For text and axes.
    pub const INK: Color = Color(40, 40, 48);
    /// For the grid.
    pub const GRID: Color = Color(226, 228, 232);

    /// Colors that color-blind readers can distinguish (after Okabe and Ito), dark enough for
    /// lines.
    pub const PALETTE: [Color; 8] = [
        Color(0, 0, 0),
        Color(0, 114, 178),
        Color(213, 94, 0),
        Color(0, 158, 115),
        Color(204, 85, 153),
        Color(150, 110, 0),
        Color(70, 170, 225),
        Color(120, 120, 128),
    ];
}

/// A point: of a curve in the units of its axes, of a scene in units from its top left corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Horizontal coordinate.
    pub x: f64,
    /// Vertical coordinate; in a scene it grows downwards.
    pub y: f64,
}

impl Point {
    /// The point (x, y).
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }
}

/// Which point of a text its position is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// The left end.
    Start,
    /// The middle.
    Middle,
    /// The right end.
    End,
}

/// Something to draw.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// An open line.
    Line {
        /// Its corners.
        points: Vec<Point>,
        /// Its color.
        color: Color,
        /// Its width.
        width: f64,
        /// Lengths of dashes and gaps in turn; empty for a solid line.
        dash: Vec<f64>,
    },
    /// A filled polygon.
    Area {
        /// Its corners.
        points: Vec<Point>,
        /// Its color.
        color: Color,
        /// From 0, invisible, to 1.
        opacity: f64,
    },
    /// A line of text.
    Text {
        /// Its position on the base line.
        at: Point,
        /// Height of the font.
        size: f64,
        /// Which point of the text is at the position.
        anchor: Anchor,
        /// Whether it runs upwards.
        vertical: bool,
        /// The characters.
        text: String,
    },
}

/// A drawing, to be written by [`Scene::to_svg`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scene {
    /// Width in units.
    pub width: f64,
    /// Height in units.
    pub height: f64,
    /// Shapes; later ones cover earlier ones.
    pub shapes: Vec<Shape>,
    /// What the drawing shows, for readers who cannot see it.
    pub description: String,
}

impl Scene {
    /// Adds a line; an empty `dash` makes it solid.
    pub fn line(&mut self, points: Vec<Point>, color: Color, width: f64, dash: &[f64]) {
        self.shapes.push(Shape::Line { points, color, width, dash: dash.to_vec() });
    }

    /// Adds a filled polygon.
    pub fn area(&mut self, points: Vec<Point>, color: Color, opacity: f64) {
        self.shapes.push(Shape::Area { points, color, opacity });
    }

    /// Adds a horizontal text.
    pub fn text(&mut self, at: Point, size: f64, anchor: Anchor, text: impl Into<String>) {
        self.shapes.push(Shape::Text { at, size, anchor, vertical: false, text: text.into() });
    }
}
