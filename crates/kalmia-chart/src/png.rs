//! A scene as PNG pixels, with the outlines of an embedded font for text.
//!
//! `resvg` would draw the SVG text itself, but with text support (fontdb, harfrust, skrifa) it
//! builds in 119 seconds of CPU, against 19 for tiny-skia and ttf-parser (release, cold, one job).

use crate::error::Error;
use crate::scene::{Anchor, Color, Point, Scene, Shape};
use tiny_skia::{
    FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};
use ttf_parser::{Face, OutlineBuilder};

/// DejaVu Sans, reduced to Latin, Greek and Cyrillic letters and the signs that charts use; its
/// license is beside it.
static FONT: &[u8] = include_bytes!("../assets/DejaVuSans-subset.ttf");

/// The encoded picture.
pub(crate) fn render(scene: &Scene, scale: f32) -> Result<Vec<u8>, Error> {
    let size = |units: f64| (units as f32 * scale).ceil() as u32;
    let width = size(scene.width);
    let height = size(scene.height);
    let mut pixels = Pixmap::new(width, height).ok_or(Error::Size { width, height })?;
    pixels.fill(tiny_skia::Color::WHITE);
    let face = Face::parse(FONT, 0).map_err(|_| Error::Font)?;
    let mut canvas = Canvas { pixels, face, scale: Transform::from_scale(scale, scale) };
    for shape in &scene.shapes {
        canvas.draw(shape);
    }
    canvas.pixels.encode_png().map_err(|_| Error::Encode { width, height })
}

/// The picture being drawn.
struct Canvas {
    pixels: Pixmap,
    face: Face<'static>,
    /// From units to pixels.
    scale: Transform,
}

impl Canvas {
    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Line { points, color, width, dash } => {
                let dash: Vec<f32> = dash.iter().map(|&d| d as f32).collect();
                let stroke = Stroke {
                    width: *width as f32,
                    line_join: LineJoin::Round,
                    dash: if dash.is_empty() { None } else { StrokeDash::new(dash, 0.0) },
                    ..Stroke::default()
                };
                if let Some(path) = polygon(points, false) {
                    let paint = paint(*color, 1.0);
                    self.pixels.stroke_path(&path, &paint, &stroke, self.scale, None);
                }
            }
            Shape::Area { points, color, opacity } => {
                if let Some(path) = polygon(points, true) {
                    self.fill(&path, paint(*color, *opacity), self.scale);
                }
            }
            Shape::Text { at, size, anchor, vertical, text } => {
                let outline = Outline::new(&self.face, text, *size as f32);
                let shift = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => -outline.width / 2.0,
                    Anchor::End => -outline.width,
                };
                let rotation =
                    if *vertical { Transform::from_rotate(-90.0) } else { Transform::identity() };
                let place = rotation
                    .pre_translate(shift, 0.0)
                    .post_translate(at.x as f32, at.y as f32)
                    .post_concat(self.scale);
                if let Some(path) = outline.path {
                    self.fill(&path, paint(Color::INK, 1.0), place);
                }
            }
        }
    }

    fn fill(&mut self, path: &Path, paint: Paint<'static>, transform: Transform) {
        self.pixels.fill_path(path, &paint, FillRule::Winding, transform, None);
    }
}

fn paint(Color(r, g, b): Color, opacity: f64) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, (255.0 * opacity).round() as u8);
    paint
}

fn polygon(points: &[Point], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (i, point) in points.iter().enumerate() {
        let x = point.x as f32;
        let y = point.y as f32;
        if i == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    if closed {
        path.close();
    }
    path.finish()
}

/// The outline of a text that starts at the origin.
struct Outline {
    /// None if no character leaves ink.
    path: Option<Path>,
    width: f32,
}

impl Outline {
    /// A character that the font lacks becomes the font's box.
    fn new(face: &Face, text: &str, size: f32) -> Self {
        let scale = size / f32::from(face.units_per_em());
        let mut pen = Pen { path: PathBuilder::new(), x: 0.0, scale };
        for character in text.chars() {
            let glyph = face.glyph_index(character).unwrap_or_default();
            face.outline_glyph(glyph, &mut pen);
            pen.x += f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
        }
        Self { path: pen.path.finish(), width: pen.x }
    }
}

/// Places glyph outlines one after the other, with y downwards.
struct Pen {
    path: PathBuilder,
    x: f32,
    scale: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (x1, y1) = self.at(x1, y1);
        let (x, y) = self.at(x, y);
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (x1, y1) = self.at(x1, y1);
        let (x2, y2) = self.at(x2, y2);
        let (x, y) = self.at(x, y);
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn font_holds_every_character_that_charts_use() {
        let face = Face::parse(FONT, 0).unwrap();
        for character in "AZaz09 .,:()%=/^|‖²·×θλΛτεβκσ√≤±–−⁰¹²³⁴⁵⁶⁷⁸⁹⁻₁₂…ößéñÅłőşçЖя€".chars()
        {
            assert!(face.glyph_index(character).is_some(), "no glyph for {character}");
        }
    }

    #[test]
    fn a_letter_that_the_font_lacks_is_a_box() {
        let ink = |text: &str| {
            let face = Face::parse(FONT, 0).unwrap();
            let outline = Outline::new(&face, text, 12.0);
            (outline.path.is_some(), outline.width > 0.0)
        };
        assert_eq!(ink("温"), (true, true));
        assert_eq!(ink("ö"), (true, true));
        assert_eq!(ink(" "), (false, true));
    }

    #[test]
    fn text_and_areas_leave_ink_where_they_should() {
        let mut scene = Scene { width: 60.0, height: 20.0, ..Scene::default() };
        scene.text(Point::new(55.0, 15.0), 12.0, Anchor::End, "MMM");
        let picture = Pixmap::decode_png(&render(&scene, 2.0).unwrap()).unwrap();
        assert_eq!((picture.width(), picture.height()), (120, 40));
        let dark = |range: std::ops::Range<u32>| {
            range
                .flat_map(|x| (0..40).map(move |y| (x, y)))
                .filter(|&(x, y)| picture.pixel(x, y).unwrap().red() < 128)
                .count()
        };
        assert_eq!(dark(0..40), 0);
        assert!(dark(40..112) > 100);
        assert_eq!(dark(112..120), 0);
    }
}
