//! The commands, each in a file of its own.

#[cfg(feature = "lab")]
pub mod bounds;
pub mod compare;
pub mod evaluate;
pub mod export;
pub mod fit;
pub mod inspect;
pub mod merge;
pub mod polish;
pub mod predict;
pub mod prune;
#[cfg(feature = "lab")]
pub mod reproduce;
#[cfg(feature = "serve")]
pub mod serve;
pub mod shell;
pub mod update;
