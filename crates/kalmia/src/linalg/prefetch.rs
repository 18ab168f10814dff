//! A hint to the processor to load memory that will be used soon.

/// Begins to load `slice[at]`; nothing happens if there is no such element, or on processors
/// without the instruction.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = slice.as_ptr().wrapping_add(at).cast();
        // SAFETY: a prefetch reads nothing that a program can see, and no address makes it fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, at);
}
