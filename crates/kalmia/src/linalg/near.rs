//! A small matrix near at hand for the time of a batch.

/// Most numbers of a matrix that is worth it.
const MOST: usize = 32 * 32;
/// Fewest rows that pay for the copies.
const WORTH: usize = 16;

/// Numbers on the stack that start on a cache line.
#[repr(align(64))]
pub(crate) struct Lines<const N: usize>(pub [f64; N]);

/// A matrix copied beside what a kernel keeps on the stack. A processor takes addresses 4096 bytes
/// apart for alike, and lets a load wait for an earlier store that it has nothing to do with:
/// between heap and stack it is chance whether that happens, at half the speed.
pub(crate) struct Near(Option<Lines<MOST>>);

impl Near {
    /// A copy where the batch has the rows for it.
    #[inline(always)]
    pub fn new(stored: &[f64], rows: usize) -> Self {
        if rows < WORTH || stored.len() > MOST {
            return Self(None);
        }
        let mut lines = Lines([0.0; MOST]);
        lines.0[..stored.len()].copy_from_slice(stored);
        Self(Some(lines))
    }

    /// The numbers to work on.
    #[inline(always)]
    pub fn numbers<'a>(&'a mut self, stored: &'a mut [f64]) -> &'a mut [f64] {
        match &mut self.0 {
            Some(lines) => &mut lines.0[..stored.len()],
            None => stored,
        }
    }

    /// Back to where they came from.
    #[inline(always)]
    pub fn put_back(self, stored: &mut [f64]) {
        if let Some(lines) = self.0 {
            stored.copy_from_slice(&lines.0[..stored.len()]);
        }
    }
}
