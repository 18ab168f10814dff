//! Mathematics that knows nothing of families or learners: special functions, roots, quadrature.

mod eigenvalue;
mod elementary;
mod half_normal;
mod invert;
mod law;
mod normal;
mod number;
mod potential;
pub(crate) mod quadrature;
mod simd;
mod smooth_step;
mod special;
mod student;

pub use eigenvalue::smallest_eigenvalue;
pub use elementary::{dot, logistic};
pub(crate) use elementary::{exp, exp_m1, ln_1p, ln_1p_unit, ln_ratio, softplus, twice_artanh};
pub(crate) use half_normal::HalfNormal;
pub(crate) use invert::smallest;
pub(crate) use law::{Law, with_laws};
pub(crate) use normal::{normal_cdf, normal_quantile};
pub(crate) use number::{MAX_LANES, Number, Register};
pub use potential::Likelihood;
pub(crate) use potential::{Mode, Potential, find_mode};
pub(crate) use simd::arch;
pub(crate) use smooth_step::{Normal, SmoothStep, StepExpectations, StepValue};
pub(crate) use special::{beta_regularized, digamma_ratio, gamma_pair, ln_gamma, ln_gamma_ratio};
pub(crate) use student::{student_cdf, student_log_density, student_quantile};
