//! A slice of `f64` that starts on a cache line and is padded with zeros to whole cache lines.

use std::ops::{Deref, DerefMut};

/// Numbers in a cache line, and the tile side of the packed symmetric layouts.
pub const LINE: usize = 8;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f64; LINE]);

/// A cache-line aligned slice; its length is rounded up to a multiple of [`Buffer::LINE`].
#[derive(Default)]
pub struct Buffer {
    lines: Vec<Line>,
}

impl Buffer {
    /// Numbers per cache line, the unit of length.
    pub const LINE: usize = LINE;

    /// `len` rounded up to whole cache lines.
    pub fn padded(len: usize) -> usize {
        len.next_multiple_of(LINE)
    }

    /// Distance between columns of `len` numbers: whole cache lines, but not a multiple of 2048
    /// bytes, which would cause 4K aliasing between columns (see [`super::StackCopy`]).
    pub(crate) fn column_stride(len: usize) -> usize {
        let padded = Self::padded(len);
        if padded.is_multiple_of(256) { padded + LINE } else { padded }
    }

    /// Bytes of a square matrix with this distance between columns; `usize::MAX` if they are more
    /// than an address can count.
    pub(crate) fn square_bytes(stride: usize) -> usize {
        stride.saturating_mul(stride).saturating_mul(size_of::<f64>())
    }

    /// At least `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Self { lines: vec![Line([0.0; LINE]); len.div_ceil(LINE)] }
    }

    /// The values, padded with zeros.
    pub fn from_slice(values: &[f64]) -> Self {
        let mut buffer = Self::zeros(values.len());
        buffer[..values.len()].copy_from_slice(values);
        buffer
    }

    /// Grows to at least `len`, filling with zeros; never shrinks.
    pub fn reserve(&mut self, len: usize) {
        let lines = len.div_ceil(LINE);
        if lines > self.lines.len() {
            self.lines.resize(lines, Line([0.0; LINE]));
        }
    }
}

/// `clone_from` allocates nothing when the lengths agree.
impl Clone for Buffer {
    fn clone(&self) -> Self {
        Self { lines: self.lines.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        self.lines.clone_from(&source.lines);
    }
}

impl Deref for Buffer {
    type Target = [f64];
    #[inline(always)]
    fn deref(&self) -> &[f64] {
        // SAFETY: `Line` is `repr(C)` over exactly LINE f64 values, without padding.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * LINE) }
    }
}

impl DerefMut for Buffer {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f64] {
        // SAFETY: as in `deref`, and the borrow is unique.
        unsafe {
            std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * LINE)
        }
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_padded_and_zero_filled() {
        for len in [0, 1, 7, 8, 9, 64] {
            let mut buffer = Buffer::zeros(len);
            assert_eq!(buffer.len(), Buffer::padded(len));
            assert_eq!(buffer.as_ptr() as usize % 64, 0);
            assert!(buffer.iter().all(|&v| v == 0.0));
            buffer.reserve(len + 20);
            assert!(buffer.len() >= len + 20 && buffer.iter().all(|&v| v == 0.0));
        }
        assert_eq!(&Buffer::from_slice(&[1.0, 2.0])[..3], &[1.0, 2.0, 0.0]);
    }
}
