//! Reading as a user of the library meets it. One binary, because each one is linked separately;
//! `memory.rs` is another, because it replaces the allocator.

mod common;

mod encoding;
mod formats;
mod hostile;
