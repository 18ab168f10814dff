//! Charts: a plot becomes a scene of simple shapes, and a scene becomes SVG text or a PNG picture.

mod axis;
mod plot;
mod png;
mod scene;
mod svg;

pub use axis::Axis;
pub(crate) use axis::power_of_ten;
pub use plot::{Mark, Plot, Series, compose};
pub use scene::{Anchor, Color, Scene, Shape};
pub(crate) use svg::escape;

impl Scene {
    /// The scene as a self-contained SVG document.
    pub fn to_svg(&self) -> String {
        svg::render(self)
    }

    /// The scene as a PNG file, `scale` pixels to a unit; text is drawn with a font inside the
    /// library.
    pub fn to_png(&self, scale: f32) -> crate::Result<Vec<u8>> {
        png::render(self, scale)
    }
}
