//! Memory that a learner is about to take: asked for first, so that a lack of it is an error and not
//! the end of the process.

use crate::error::{Error, Result};

/// Less than this is taken without asking.
const MIN_BYTES: usize = 1 << 20;

/// Refuses if the allocator cannot give `bytes` more. The memory is returned at once: pages that
/// nobody writes to cost nothing.
pub(crate) fn require(bytes: usize) -> Result<()> {
    if bytes < MIN_BYTES || Vec::<u8>::new().try_reserve_exact(bytes).is_ok() {
        Ok(())
    } else {
        Err(Error::OutOfMemory { bytes })
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_refused() {
        assert_eq!(require(1 << 10), Ok(()));
        assert_eq!(require(1 << 22), Ok(()));
        for bytes in [1 << 56, usize::MAX] {
            assert_eq!(require(bytes), Err(Error::OutOfMemory { bytes }));
        }
    }
}
