//! An allocator with a ceiling: an input that makes a reader ask for more memory aborts the
//! process, and so is found.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that the process may have in use. Readers may hold a batch of 1 GiB.
pub const CEILING_BYTES: usize = 3 << 29;

/// The system's allocator, which refuses what exceeds [`CEILING_BYTES`].
pub struct Ceiling {
    used: AtomicUsize,
}

impl Ceiling {
    /// Nothing is in use.
    pub const fn new() -> Self {
        Self { used: AtomicUsize::new(0) }
    }

    /// Enters `size` bytes; false if that is too much.
    fn enter(&self, size: usize) -> bool {
        let used = self.used.fetch_add(size, Relaxed).saturating_add(size);
        if used <= CEILING_BYTES {
            return true;
        }
        self.used.fetch_sub(size, Relaxed);
        false
    }
}

// SAFETY: every call that is not refused is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Ceiling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !self.enter(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !self.enter(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.enter(size) {
            return std::ptr::null_mut();
        }
        self.used.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.used.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_the_ceiling_is_refused() {
        let allocator = Ceiling::new();
        let layout = |bytes| Layout::from_size_align(bytes, 8).unwrap();
        // SAFETY: layouts are not empty, and what was allocated is freed with its layout.
        unsafe {
            assert!(allocator.alloc(layout(CEILING_BYTES + 1)).is_null());
            let small = allocator.alloc(layout(64));
            assert!(!small.is_null());
            assert!(allocator.realloc(small, layout(64), CEILING_BYTES).is_null());
            allocator.dealloc(small, layout(64));
        }
        assert_eq!(allocator.used.load(Relaxed), 0);
    }
}
