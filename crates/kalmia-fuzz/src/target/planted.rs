//! A target with a fault: a fuzzer that does not find it finds nothing.

use super::{Target, unchanged};

/// Allocates what its first eight bytes declare.
pub const PLANTED: Target = Target {
    name: "planted",
    seeds: || vec![vec![0; 16]],
    words: &[],
    finish: unchanged,
    run: |bytes| {
        let declared = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let memory: Vec<u8> = Vec::with_capacity((declared & (u64::MAX >> 1)) as usize);
        memory.capacity() as u64
    },
};
