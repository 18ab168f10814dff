//! Which SIMD instructions the kernels use: the widest of the machine, or fewer if the environment
//! limits them.

use pulp::Arch;
use std::sync::LazyLock;

/// The environment variable that limits the instructions: `avx2` or `scalar`. It is for tests and
/// benchmarks on a machine that has more. Other values, and `avx2` on another architecture, change
/// nothing.
const LIMIT: &str = "KALMIA_SIMD";

static ARCH: LazyLock<Arch> = LazyLock::new(|| limited(std::env::var(LIMIT).ok().as_deref()));

/// The instructions to use, the same during the whole process.
#[inline(always)]
pub(crate) fn arch() -> Arch {
    *ARCH
}

fn limited(limit: Option<&str>) -> Arch {
    match limit {
        Some("scalar") => Arch::Scalar,
        #[cfg(target_arch = "x86_64")]
        Some("avx2") => pulp::x86::V3::try_new().map_or(Arch::Scalar, Arch::V3),
        _ => Arch::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulp::{Simd, WithSimd};

    struct Lanes;

    impl WithSimd for Lanes {
        type Output = usize;

        fn with_simd<S: Simd>(self, _simd: S) -> usize {
            S::F64_LANES
        }
    }

    #[test]
    fn a_limit_is_kept() {
        let widest = Arch::new().dispatch(Lanes);
        assert_eq!(limited(Some("scalar")).dispatch(Lanes), 1);
        assert_eq!(limited(None).dispatch(Lanes), widest);
        assert_eq!(limited(Some("sse9")).dispatch(Lanes), widest);
        let avx2 = limited(Some("avx2")).dispatch(Lanes);
        assert_eq!(avx2, if cfg!(target_arch = "x86_64") { widest.min(4) } else { widest });
    }
}
