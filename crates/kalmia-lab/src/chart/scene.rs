//! The shapes that both backends draw.

/// Red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    /// For text and axes.
    pub const INK: Color = Color(40, 40, 48);
    /// For the grid.
    pub const GRID: Color = Color(226, 228, 232);

    /// Colours that stay apart for colour-blind readers (after Okabe and Ito), dark enough for
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

/// Something to draw, in units from the top left corner.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// An open line.
    Line {
        /// Its corners.
        points: Vec<(f64, f64)>,
        /// Its colour.
        color: Color,
        /// Its width.
        width: f64,
        /// Lengths of dashes and gaps in turn; empty for a solid line.
        dash: Vec<f64>,
    },
    /// A filled polygon.
    Area {
        /// Its corners.
        points: Vec<(f64, f64)>,
        /// Its colour.
        color: Color,
        /// From 0, invisible, to 1.
        opacity: f64,
    },
    /// A line of text.
    Text {
        /// Its position on the base line.
        at: (f64, f64),
        /// Height of the font.
        size: f64,
        /// Which point of the text is at the position.
        anchor: Anchor,
        /// Whether it runs upwards.
        vertical: bool,
        /// What it says.
        text: String,
    },
}

/// A drawing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scene {
    /// Width in units.
    pub width: f64,
    /// Height in units.
    pub height: f64,
    /// Shapes, the later ones above the earlier.
    pub shapes: Vec<Shape>,
    /// What the drawing shows, for readers who cannot see it.
    pub description: String,
}

impl Scene {
    /// Adds a line.
    pub fn line(&mut self, points: Vec<(f64, f64)>, color: Color, width: f64, dash: &[f64]) {
        self.shapes.push(Shape::Line { points, color, width, dash: dash.to_vec() });
    }

    /// Adds a text.
    pub fn text(&mut self, at: (f64, f64), size: f64, anchor: Anchor, text: impl Into<String>) {
        self.shapes.push(Shape::Text { at, size, anchor, vertical: false, text: text.into() });
    }
}
