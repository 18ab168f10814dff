//! The laboratory: every experiment and figure of the paper, reproduced.
pub mod kernel;
pub mod lanes;
pub mod random;
pub mod world;
