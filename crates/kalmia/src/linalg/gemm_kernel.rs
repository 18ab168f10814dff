//! The matrix product of `gemm` for the instructions that our own kernels use.

use crate::math::arch;
use gemm_common::Parallelism;
use gemm_common::gemm::gemm_basic_generic;
use gemm_common::simd::MixedSimd;
use pulp::Arch;

/// A product: sizes `m`, `n`, `k`; the pointer and the strides (column, row) of the result, whether
/// it is kept, and those of the two factors; two scales; three conjugations; parallelism.
pub(super) type GemmKernel = unsafe fn(
    usize,
    usize,
    usize,
    *mut f64,
    isize,
    isize,
    bool,
    *const f64,
    isize,
    isize,
    *const f64,
    isize,
    isize,
    f64,
    f64,
    bool,
    bool,
    bool,
    Parallelism,
);

/// The kernel for the instructions in use. `gemm` takes the widest of the machine and no limit, so
/// a limited one is put together from its parts.
#[inline]
pub(super) fn chosen() -> GemmKernel {
    match arch() {
        #[cfg(target_arch = "x86_64")]
        Arch::V3(_) => avx2,
        Arch::Scalar => scalar,
        _ => gemm_f64::gemm::f64::get_gemm_fn(),
    }
}

/// The kernels that this machine can run.
#[cfg(test)]
pub(super) fn all() -> Vec<GemmKernel> {
    let mut kernels = vec![chosen(), scalar as GemmKernel];
    #[cfg(target_arch = "x86_64")]
    if pulp::x86::V3::try_new().is_some() {
        kernels.push(avx2);
    }
    kernels
}

macro_rules! kernel {
    ($name:ident, $module:ident, $simd:ident, $lanes:literal) => {
        /// # Safety
        ///
        /// The pointers must be valid for the sizes and strides.
        // the arguments of `gemm`
        #[allow(clippy::too_many_arguments)]
        unsafe fn $name(
            m: usize,
            n: usize,
            k: usize,
            dst: *mut f64,
            dst_cs: isize,
            dst_rs: isize,
            read_dst: bool,
            lhs: *const f64,
            lhs_cs: isize,
            lhs_rs: isize,
            rhs: *const f64,
            rhs_cs: isize,
            rhs_rs: isize,
            alpha: f64,
            beta: f64,
            conj_dst: bool,
            conj_lhs: bool,
            conj_rhs: bool,
            parallelism: Parallelism,
        ) {
            use gemm_f64::microkernel::$module::f64::{H_M, H_N, H_UKR, MR_DIV_N, NR, UKR};
            const LINES: usize = MR_DIV_N * $lanes;
            let simd = <gemm_common::simd::$simd as MixedSimd<f64, f64, f64, f64>>::try_new()
                .expect("the machine has these instructions");
            // SAFETY: the caller's.
            unsafe {
                gemm_basic_generic::<_, f64, $lanes, LINES, NR, MR_DIV_N, H_M, H_N>(
                    simd,
                    m,
                    n,
                    k,
                    dst,
                    dst_cs,
                    dst_rs,
                    read_dst,
                    lhs,
                    lhs_cs,
                    lhs_rs,
                    rhs,
                    rhs_cs,
                    rhs_rs,
                    alpha,
                    beta,
                    conj_dst,
                    conj_lhs,
                    conj_rhs,
                    |a, b, c| a * b + c,
                    &UKR,
                    &H_UKR,
                    false,
                    parallelism,
                );
            }
        }
    };
}

kernel!(scalar, scalar, Scalar, 1);
#[cfg(target_arch = "x86_64")]
kernel!(avx2, fma, V3, 4);
