//! Charts for the command and the laboratory.
//!
//! A [`Plot`] describes one frame: axes, curves, bands and marks. [`compose`] arranges plots into a
//! [`Scene`] of lines, areas and text. A scene becomes SVG text, or a PNG picture with the feature
//! `png`.
//!
//! ```
//! use kalmia_chart::{Axis, Color, Plot, Point, Series, compose};
//!
//! let points = vec![Point::new(1.0, 0.69), Point::new(10.0, 0.52), Point::new(100.0, 0.41)];
//! let plot = Plot {
//!     title: "loss".into(),
//!     x: Axis::log("rows", points.iter().map(|p| p.x)),
//!     y: Axis::linear("mean loss", 0.0, 1.0),
//!     series: vec![Series::line("auto", Color::PALETTE[1], points)],
//!     marks: Vec::new(),
//! };
//! assert!(compose("loss against rows", &[plot]).to_svg().starts_with("<svg"));
//! ```

mod axis;
mod clip;
mod error;
mod measure;
mod plot;
#[cfg(feature = "png")]
mod png;
mod scene;
mod svg;

pub use axis::{Axis, power_of_ten};
pub use error::Error;
pub use plot::{Band, Mark, Plot, Series, compose};
pub use scene::{Anchor, Color, Point, Scene, Shape};
pub use svg::escape;

impl Scene {
    /// The scene as a self-contained SVG document. Its text needs a sans-serif font of the reader.
    pub fn to_svg(&self) -> String {
        svg::render(self)
    }

    /// The scene as a PNG file with `scale` pixels per unit. Text is drawn with the embedded font.
    ///
    /// Fails if the scaled picture has no pixels or more than memory can address.
    #[cfg(feature = "png")]
    pub fn to_png(&self, scale: f32) -> Result<Vec<u8>, Error> {
        png::render(self, scale)
    }
}
