//! Formulas that serve one number and the lanes of a register alike.

use pulp::Simd;
use std::ops::{Add, Div, Mul, Sub};

/// Lanes of the widest register that is supported.
pub(crate) const MAX_LANES: usize = 8;

/// A number, or a register of numbers that are computed with lane by lane.
pub(crate) trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// A number in all lanes.
    fn constant(self, value: f64) -> Self;

    /// The smaller of two numbers; either if one is NaN.
    fn at_most(self, other: Self) -> Self;

    /// The larger of two numbers; either if one is NaN.
    fn at_least(self, other: Self) -> Self;
}

impl Number for f64 {
    #[inline(always)]
    fn constant(self, value: f64) -> f64 {
        value
    }

    #[inline(always)]
    fn at_most(self, other: f64) -> f64 {
        self.min(other)
    }

    #[inline(always)]
    fn at_least(self, other: f64) -> f64 {
        self.max(other)
    }
}

/// A register of numbers with the instructions for it.
#[derive(Clone, Copy)]
pub(crate) struct Register<S: Simd> {
    pub simd: S,
    pub lanes: S::f64s,
}

macro_rules! lane_by_lane {
    ($operation:ident, $function:ident, $simd:ident) => {
        impl<S: Simd> $operation for Register<S> {
            type Output = Self;

            #[inline(always)]
            fn $function(self, other: Self) -> Self {
                Self { lanes: self.simd.$simd(self.lanes, other.lanes), ..self }
            }
        }
    };
}

lane_by_lane!(Add, add, add_f64s);
lane_by_lane!(Sub, sub, sub_f64s);
lane_by_lane!(Mul, mul, mul_f64s);
lane_by_lane!(Div, div, div_f64s);

impl<S: Simd> Number for Register<S> {
    #[inline(always)]
    fn constant(self, value: f64) -> Self {
        Self { lanes: self.simd.splat_f64s(value), ..self }
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> Self {
        Self { lanes: self.simd.min_f64s(self.lanes, other.lanes), ..self }
    }

    #[inline(always)]
    fn at_least(self, other: Self) -> Self {
        Self { lanes: self.simd.max_f64s(self.lanes, other.lanes), ..self }
    }
}

impl<S: Simd> Register<S> {
    /// The first numbers of a slice that has enough of them.
    #[inline(always)]
    pub fn load(simd: S, numbers: &[f64]) -> Self {
        Self { simd, lanes: S::as_simd_f64s(numbers).0[0] }
    }

    /// Writes the lanes to a slice that has enough room.
    #[inline(always)]
    pub fn store(self, numbers: &mut [f64]) {
        S::as_mut_simd_f64s(numbers).0[0] = self.lanes;
    }

    /// Lane by lane `yes` if the number is not negative, else `no`.
    #[inline(always)]
    pub fn if_not_negative(self, yes: Self, no: Self) -> Self {
        let zero = self.simd.splat_f64s(0.0);
        let mask = self.simd.greater_than_or_equal_f64s(self.lanes, zero);
        Self { lanes: self.simd.select_f64s(mask, yes.lanes, no.lanes), ..self }
    }

    /// The sum of all numbers.
    #[inline(always)]
    pub fn total(self) -> f64 {
        self.simd.reduce_sum_f64s(self.lanes)
    }

    /// The smallest number.
    #[inline(always)]
    pub fn smallest(self) -> f64 {
        self.simd.reduce_min_f64s(self.lanes)
    }

    /// The largest number.
    #[inline(always)]
    pub fn largest(self) -> f64 {
        self.simd.reduce_max_f64s(self.lanes)
    }
}
