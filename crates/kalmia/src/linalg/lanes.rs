//! Sums across the lanes of SIMD registers: running sums within one register, and the totals of
//! several registers in one.

pub(crate) use crate::math::MAX_LANES;
use pulp::Simd;

const INDEX: [f64; MAX_LANES] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
/// Positive in every other run of 1, 2 and 4 lanes.
const RUNS: [[f64; MAX_LANES]; 3] = [
    [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0],
    [1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0],
    [1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0],
];

/// Moves each lane up by `amount`, the last ones to the front. `pulp` rotates 4 lanes by a variable
/// amount, which takes eight instructions; by a constant amount it is one.
#[inline(always)]
fn rotate_right<S: Simd>(simd: S, x: S::f64s, amount: usize) -> S::f64s {
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = (&simd as &dyn std::any::Any).downcast_ref::<pulp::x86::V3>() {
        let x = pulp::bytemuck::cast(x);
        return pulp::bytemuck::cast(match amount % 4 {
            0 => x,
            1 => v3.avx2._mm256_permute4x64_pd::<0b10_01_00_11>(x),
            2 => v3.avx2._mm256_permute4x64_pd::<0b01_00_11_10>(x),
            _ => v3.avx2._mm256_permute4x64_pd::<0b00_11_10_01>(x),
        });
    }
    simd.rotate_right_f64s(x, amount)
}

/// Running sums within a register.
pub(crate) struct Scan<S: Simd> {
    /// The sums of the lanes below each lane.
    pub below: S::f64s,
    /// The sum of all lanes, in all lanes.
    pub total: S::f64s,
}

/// [`Lanes::scan`] with 4 lanes `a, b, c, d`: the two halves first, then what is below the second.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn scan_four<S: Simd>(simd: pulp::x86::V3, x: S::f64s) -> Scan<S> {
    let pulp::x86::V3 { avx, avx2, .. } = simd;
    let x = pulp::bytemuck::cast(x);
    let zero = avx._mm256_setzero_pd();
    // 0, a, 0, c and a, a + b, c, c + d
    let lower = avx._mm256_unpacklo_pd(zero, x);
    let pairs = avx._mm256_add_pd(lower, x);
    let first = avx2._mm256_permute4x64_pd::<0b01_01_01_01>(pairs);
    let second = avx2._mm256_permute4x64_pd::<0b11_11_11_11>(pairs);
    let carried = avx._mm256_blend_pd::<0b1100>(zero, first);
    Scan {
        below: pulp::bytemuck::cast(avx._mm256_add_pd(lower, carried)),
        total: pulp::bytemuck::cast(avx._mm256_add_pd(first, second)),
    }
}

/// [`Lanes::scan`] with 8 lanes: as with 4 in each half, then what is below the second half.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn scan_eight<S: Simd>(simd: pulp::x86::V4, x: S::f64s) -> Scan<S> {
    let avx512f = simd.avx512f;
    let x = pulp::bytemuck::cast(x);
    let zero = avx512f._mm512_setzero_pd();
    let lower = avx512f._mm512_unpacklo_pd(zero, x);
    let pairs = avx512f._mm512_add_pd(lower, x);
    let first = avx512f._mm512_permutex_pd::<0b01_01_01_01>(pairs);
    let second = avx512f._mm512_permutex_pd::<0b11_11_11_11>(pairs);
    let carried = avx512f._mm512_maskz_mov_pd(0b1100_1100, first);
    let lower = avx512f._mm512_add_pd(lower, carried);
    let halves = avx512f._mm512_add_pd(first, second);
    let first = avx512f._mm512_shuffle_f64x2::<0b00_00_00_00>(halves, halves);
    let second = avx512f._mm512_shuffle_f64x2::<0b10_10_10_10>(halves, halves);
    let carried = avx512f._mm512_maskz_mov_pd(0b1111_0000, first);
    Scan {
        below: pulp::bytemuck::cast(avx512f._mm512_add_pd(lower, carried)),
        total: pulp::bytemuck::cast(avx512f._mm512_add_pd(first, second)),
    }
}

/// The masks that the sums need; for registers of 4 or 8 lanes only.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<S: Simd> {
    simd: S,
    /// Lanes from 1, 2 and 4 on.
    from: [S::m64s; 3],
    runs: [S::m64s; 3],
}

impl<S: Simd> Lanes<S> {
    #[inline(always)]
    pub fn new(simd: S) -> Self {
        let index = S::as_simd_f64s(&INDEX).0[0];
        let zero = simd.splat_f64s(0.0);
        let from = |step: f64| simd.greater_than_or_equal_f64s(index, simd.splat_f64s(step));
        let run = |k: usize| simd.greater_than_f64s(S::as_simd_f64s(&RUNS[k]).0[0], zero);
        Self { simd, from: [from(1.0), from(2.0), from(4.0)], runs: [run(0), run(1), run(2)] }
    }

    /// The sums of the lanes below each lane.
    #[inline(always)]
    pub fn below(&self, x: S::f64s) -> S::f64s {
        let zero = self.simd.splat_f64s(0.0);
        let mut sum = self.simd.select_f64s(self.from[0], rotate_right(self.simd, x, 1), zero);
        macro_rules! step {
            ($k:literal, $lanes:literal) => {
                let moved = self.simd.select_f64s(
                    self.from[$k],
                    rotate_right(self.simd, sum, $lanes),
                    zero,
                );
                sum = self.simd.add_f64s(sum, moved);
            };
        }
        step!(0, 1);
        step!(1, 2);
        if S::F64_LANES == 8 {
            step!(2, 4);
        }
        sum
    }

    /// The sums of the lanes below each lane, and of all; in half of the instructions that
    /// [`Lanes::below`] and a total take, where the processor's own shuffles are known.
    #[inline(always)]
    pub fn scan(&self, x: S::f64s) -> Scan<S> {
        #[cfg(target_arch = "x86_64")]
        {
            let simd = &self.simd as &dyn std::any::Any;
            if let Some(v4) = simd.downcast_ref::<pulp::x86::V4>() {
                return scan_eight::<S>(*v4, x);
            }
            if let Some(v3) = simd.downcast_ref::<pulp::x86::V3>() {
                return scan_four::<S>(*v3, x);
            }
        }
        let total = self.simd.splat_f64s(self.simd.reduce_sum_f64s(x));
        Scan { below: self.below(x), total }
    }

    /// Returns `x` shifted up by one lane, its first lane taken from `first`, and `x` rotated by
    /// one lane, which has the last lane of `x` in its first.
    #[inline(always)]
    pub fn push(&self, x: S::f64s, first: S::f64s) -> (S::f64s, S::f64s) {
        let rotated = rotate_right(self.simd, x, 1);
        (self.simd.select_f64s(self.from[0], rotated, first), rotated)
    }

    /// The slot of [`Lanes::totals`] whose total ends in `lane`: the lane's bits reversed.
    #[inline(always)]
    pub fn slot(lane: usize) -> usize {
        const SLOTS: [usize; MAX_LANES] = [0, 4, 2, 6, 1, 5, 3, 7];
        SLOTS[lane] * S::F64_LANES / MAX_LANES
    }

    /// The totals of as many registers as a register has lanes, collected in one register.
    #[inline(always)]
    pub fn totals(&self, slots: &[S::f64s; MAX_LANES]) -> S::f64s {
        if S::F64_LANES == 8 {
            let pairs = [
                self.merge(2, slots[0], slots[1]),
                self.merge(2, slots[2], slots[3]),
                self.merge(2, slots[4], slots[5]),
                self.merge(2, slots[6], slots[7]),
            ];
            let fours = [self.merge(1, pairs[0], pairs[1]), self.merge(1, pairs[2], pairs[3])];
            return self.merge(0, fours[0], fours[1]);
        }
        let pairs = [self.merge(1, slots[0], slots[1]), self.merge(1, slots[2], slots[3])];
        self.merge(0, pairs[0], pairs[1])
    }

    /// Adds neighboring runs of $2^k$ lanes: those of `a` into the even runs, those of `b` into
    /// the odd ones.
    #[inline(always)]
    fn merge(&self, k: usize, a: S::f64s, b: S::f64s) -> S::f64s {
        let simd = self.simd;
        let even = self.runs[k];
        if 2 << k == S::F64_LANES {
            let crossed = rotate_right(simd, simd.select_f64s(even, b, a), 1 << k);
            return simd.add_f64s(simd.select_f64s(even, a, b), crossed);
        }
        let down = rotate_right(simd, a, S::F64_LANES - (1 << k));
        let up = rotate_right(simd, b, 1 << k);
        simd.add_f64s(simd.select_f64s(even, a, b), simd.select_f64s(even, down, up))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulp::{Arch, WithSimd};

    struct Check;

    impl WithSimd for Check {
        type Output = ();

        fn with_simd<S: Simd>(self, simd: S) {
            if ![4, 8].contains(&S::F64_LANES) {
                return;
            }
            let lanes = Lanes::new(simd);
            let width = S::F64_LANES;
            let value = |i: usize, j: usize| ((i * 37 + j * 11) % 23) as f64 - 9.0;
            let mut slots = [simd.splat_f64s(0.0); MAX_LANES];
            for j in 0..width {
                let column: Vec<f64> = (0..width).map(|i| value(i, j)).collect();
                let register = S::as_simd_f64s(&column).0[0];
                slots[Lanes::<S>::slot(j)] = register;
                let mut below = vec![0.0; width];
                let mut scanned = vec![0.0; width];
                let mut total = vec![0.0; width];
                let mut pushed = vec![0.0; width];
                let mut turned = vec![0.0; width];
                S::as_mut_simd_f64s(&mut below).0[0] = lanes.below(register);
                let scan = lanes.scan(register);
                S::as_mut_simd_f64s(&mut scanned).0[0] = scan.below;
                S::as_mut_simd_f64s(&mut total).0[0] = scan.total;
                (S::as_mut_simd_f64s(&mut pushed).0[0], S::as_mut_simd_f64s(&mut turned).0[0]) =
                    lanes.push(register, simd.splat_f64s(77.0));
                let sums: Vec<f64> = (0..width).map(|i| column[..i].iter().sum()).collect();
                assert_eq!(below, sums);
                assert_eq!(scanned, sums);
                assert_eq!(total, vec![column.iter().sum::<f64>(); width]);
                assert_eq!(
                    (pushed[0], &pushed[1..], turned[0]),
                    (77.0, &column[..width - 1], column[width - 1])
                );
            }
            let mut totals = vec![0.0; width];
            S::as_mut_simd_f64s(&mut totals).0[0] = lanes.totals(&slots);
            let sums: Vec<f64> =
                (0..width).map(|j| (0..width).map(|i| value(i, j)).sum()).collect();
            assert_eq!(totals, sums);
        }
    }

    #[test]
    fn sums_over_lanes() {
        Arch::new().dispatch(Check);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            pulp::Simd::vectorize(simd, Check2(simd));
        }
    }

    #[cfg(target_arch = "x86_64")]
    struct Check2(pulp::x86::V3);

    #[cfg(target_arch = "x86_64")]
    impl pulp::NullaryFnOnce for Check2 {
        type Output = ();

        fn call(self) {
            Check.with_simd(self.0);
        }
    }
}
