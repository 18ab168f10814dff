//! The tests of readers and encoder, in one binary.

#[cfg(feature = "arrow")]
mod arrow;
mod common;
mod declared;
mod encoding;
mod formats;
mod hashed;
mod hostile;
mod json_lines;
mod parts;
mod reading;
mod recognition;
mod tables;
mod union;
mod wide;
mod wide_stored;
