//! All suites of the library in one binary, so that the generic code they share is compiled once.

mod auto;
mod auto_priors;
mod auto_real;
mod blocks;
mod common;
mod conditioning;
mod conformance;
mod core_tail;
mod detection;
mod drift;
mod equivariance;
mod errors;
mod families;
mod file;
mod identities;
mod layers;
mod learners;
mod losses;
mod moment_match;
mod predictions;
mod projection;
mod sampling;
mod shrink;
mod sparse;
mod trajectories;
mod wide;
