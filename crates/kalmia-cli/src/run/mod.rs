//! The commands, each in a file of its own.

pub mod fit;
