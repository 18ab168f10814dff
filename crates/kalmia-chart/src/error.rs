//! Why a scene cannot become a picture.

/// A picture that cannot be drawn or encoded.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scaled scene is empty or too large.
    #[error("cannot draw a picture of {width} by {height} pixels: choose another scale")]
    Size {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// The embedded font cannot be read, so text cannot be drawn.
    #[error("cannot draw text: the embedded font is damaged")]
    Font,
    /// The pixels cannot be encoded.
    #[error("cannot encode a PNG file of {width} by {height} pixels")]
    Encode {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
}
