//! The tests of readers and encoder, in one binary.

#[cfg(feature = "arrow")]
mod arrow;
mod common;
mod declared;
mod encoding;
mod formats;
mod hashed;
mod hostile;
mod reading;
mod recognition;
mod wide;
mod wide_stored;
