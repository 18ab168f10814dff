//! The laboratory's tests. One binary, because each one is linked separately.

mod common;

mod experiments;
mod kernels;
mod library;
mod reproduce;
