//! The little linear algebra that the recursion needs: aligned buffers, vector kernels, products
//! and triangular factors.

mod buffer;
mod cholesky;
pub(crate) mod lanes;
mod near;
mod product;
mod threads;
pub(crate) mod vector;

pub use buffer::Buffer;
pub use cholesky::{cholesky_lower, solve_lower, solve_lower_transposed};
pub(crate) use cholesky::{cholesky_upper, inverse, invert_upper};
pub(crate) use near::{Lines, Near};
pub use product::square_product;
pub(crate) use product::{View, ViewMut, multiply};
pub use threads::Threads;
pub(crate) use threads::cut;
