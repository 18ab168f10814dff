//! A copy of a small matrix on the stack for the duration of a batch.

/// Numbers of the largest matrix that is copied.
const MAX_NUMBERS: usize = 32 * 32;
/// Rows of the shortest batch that repays the two copies.
const MIN_ROWS: usize = 16;

/// Numbers on the stack that start on a cache line.
#[repr(align(64))]
pub(crate) struct Lines<const N: usize>(pub [f64; N]);

/// A copy of a matrix next to the kernel's other locals, to avoid 4K aliasing: a load stalls on an
/// earlier store whose address matches modulo 4096. Without the copy, throughput halves or not
/// depending on where the allocator put the matrix.
pub(crate) struct StackCopy(Option<Lines<MAX_NUMBERS>>);

impl StackCopy {
    /// Copies the matrix if it is small and the batch has enough rows; otherwise the kernel works
    /// on the stored numbers.
    #[inline(always)]
    pub fn new(stored: &[f64], rows: usize) -> Self {
        if rows < MIN_ROWS || stored.len() > MAX_NUMBERS {
            return Self(None);
        }
        let mut lines = Lines([0.0; MAX_NUMBERS]);
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

    /// Writes the copy back.
    #[inline(always)]
    pub fn write_back(self, stored: &mut [f64]) {
        if let Some(lines) = self.0 {
            stored.copy_from_slice(&lines.0[..stored.len()]);
        }
    }
}
