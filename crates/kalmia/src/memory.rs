//! Sizes of memory in messages.

/// Bytes as people read them: `9.6 GB`.
///
/// ```
/// assert_eq!(kalmia::memory::text(512), "512 bytes");
/// assert_eq!(kalmia::memory::text(9_600_000_000), "9.6 GB");
/// ```
pub fn text(bytes: usize) -> String {
    let bytes = bytes as f64;
    match bytes {
        0.0..1e6 => format!("{bytes} bytes"),
        1e6..1e9 => format!("{:.0} MB", bytes / 1e6),
        1e9..1e12 => format!("{:.1} GB", bytes / 1e9),
        _ => format!("{:.0} TB", bytes / 1e12),
    }
}
