//! Integrals over a Gaussian belief $u \sim N(m, s)$.
//!
//! $Z = E[e^{-\ell(u)}]$ has two forms. [`integrate`] serves learning: it gives $\ln Z$ to
//! $10^{-9}$, with its derivatives in $m$, from as few evaluations as possible. [`ln_z`] serves
//! predictions: it gives $\ln Z$ alone, to $10^{-11}$ and for losses with kinks too, and takes its
//! time.

mod adaptive;
mod hermite;
mod smooth;
mod tables;
mod tilted;
mod trapezoid;

pub(crate) use adaptive::{REACH, expectation_split, gaussian_expectation, ln_z};
pub(crate) use smooth::{Node, smooth_average, smooth_nodes};
pub(crate) use tilted::{Tilt, Tilted, integrate};
