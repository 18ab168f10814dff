//! The linear algebra of the recursion: aligned buffers, vector kernels, matrix products,
//! triangular factors, and the cores that share them.

mod buffer;
mod carried;
mod cholesky;
mod gemm_kernel;
pub(crate) mod lanes;
mod prefetch;
mod product;
mod require_memory;
mod rows;
mod scaled_cholesky;
mod stack_copy;
mod threads;
pub(crate) mod vector;

pub use buffer::Buffer;
pub(crate) use carried::{Carried, carry};
pub use cholesky::{cholesky_lower, inverse, solve_cholesky, solve_lower, solve_lower_transposed};
pub(crate) use cholesky::{cholesky_upper, invert_upper};
pub(crate) use prefetch::prefetch;
pub use product::square_product;
pub(crate) use product::{View, ViewMut, multiply};
pub(crate) use require_memory::require_memory;
pub(crate) use rows::row_products;
pub(crate) use scaled_cholesky::ScaledCholesky;
pub(crate) use stack_copy::{Lines, StackCopy};
pub use threads::Threads;
pub(crate) use threads::cut;
