//! Memory that a learner is about to take: asked for first, so that a lack of it is an error and
//! not the end of the process.

use crate::error::{Error, Result};

/// Less than this is taken without asking.
const MIN_BYTES: usize = 1 << 20;

/// Refuses if the allocator cannot give `bytes` more. The memory is returned at once: pages that
/// nobody writes to cost nothing.
pub(crate) fn require_memory(bytes: usize) -> Result<()> {
    if bytes < MIN_BYTES || Vec::<u8>::new().try_reserve_exact(bytes).is_ok() {
        Ok(())
    } else {
        Err(Error::OutOfMemory { bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_refused() {
        assert_eq!(require_memory(1 << 10), Ok(()));
        assert_eq!(require_memory(1 << 22), Ok(()));
        for bytes in [1 << 56, usize::MAX] {
            assert_eq!(require_memory(bytes), Err(Error::OutOfMemory { bytes }));
        }
    }
}
