//! Eight replicates side by side: the vector type of the Monte Carlo kernels and its exponential.
//!
//! The arithmetic is written lane by lane on a fixed array. Inside [`dispatch`] it is compiled for
//! the widest vectors of the machine: a [`V`] is one AVX-512 register or two AVX2 registers.

use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// Replicates that run side by side.
pub const LANES: usize = 8;

/// One number per lane.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub struct V(pub [f64; LANES]);

/// Calls `task` compiled for the vectors of this machine; the closure must be `#[inline(always)]`,
/// else it is compiled for the baseline.
#[inline]
pub fn dispatch<R>(task: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        pulp::Arch::new().dispatch(task)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        task()
    }
}

impl V {
    /// Zero in every lane.
    pub const ZERO: V = V([0.0; LANES]);
    /// One in every lane.
    pub const ONE: V = V([1.0; LANES]);

    /// The same number in every lane.
    #[inline(always)]
    pub fn splat(value: f64) -> V {
        V([value; LANES])
    }

    /// Applies `f` to every lane.
    #[inline(always)]
    pub fn map(self, f: impl Fn(f64) -> f64) -> V {
        let mut out = self;
        for lane in &mut out.0 {
            *lane = f(*lane);
        }
        out
    }

    /// Applies `f` to the lanes of two vectors.
    #[inline(always)]
    pub fn zip(self, other: V, f: impl Fn(f64, f64) -> f64) -> V {
        let mut out = self;
        for (a, b) in out.0.iter_mut().zip(other.0) {
            *a = f(*a, b);
        }
        out
    }

    /// `self * b + c` with one rounding.
    #[inline(always)]
    pub fn mul_add(self, b: V, c: V) -> V {
        let mut out = self;
        for l in 0..LANES {
            out.0[l] = self.0[l].mul_add(b.0[l], c.0[l]);
        }
        out
    }

    /// `1 / self`.
    #[inline(always)]
    pub fn recip(self) -> V {
        self.map(|a| 1.0 / a)
    }

    /// The larger of two numbers.
    #[inline(always)]
    pub fn max(self, other: V) -> V {
        self.zip(other, |a, b| if a > b { a } else { b })
    }

    /// The smaller of two numbers.
    #[inline(always)]
    pub fn min(self, other: V) -> V {
        self.zip(other, |a, b| if a < b { a } else { b })
    }

    /// In each lane `yes` if `self >= 0`, else `no`.
    #[inline(always)]
    pub fn select(self, yes: V, no: V) -> V {
        let mut out = yes;
        for l in 0..LANES {
            out.0[l] = if self.0[l] >= 0.0 { yes.0[l] } else { no.0[l] };
        }
        out
    }

    /// $e^x$ for $x \le 0$, to 4 units in the last place; below -700 the value at -700, about
    /// $10^{-304}$.
    ///
    /// $x = n\ln 2 + r$, $|r| \le \ln 2/2$, with $n$ read from the bits of a number shifted to the
    /// integers, and a Taylor polynomial of degree 12 in $r$ (remainder below $2\cdot 10^{-16}$),
    /// summed as a tree to shorten the chain.
    #[inline(always)]
    pub fn exp_negative(self) -> V {
        const SHIFT: f64 = 6_755_399_441_055_744.0;
        let x = self.max(V::splat(-700.0));
        let shifted = x.mul_add(V::splat(std::f64::consts::LOG2_E), V::splat(SHIFT));
        let n = shifted - V::splat(SHIFT);
        let r = n.mul_add(V::splat(-6.931_471_803_691_238e-1), x);
        let r = n.mul_add(V::splat(-1.908_214_929_270_587_7e-10), r);
        let poly = exp_taylor(r);
        let mut out = poly;
        for l in 0..LANES {
            let scale = (shifted.0[l].to_bits() << 52).wrapping_add(1023 << 52);
            out.0[l] = poly.0[l] * f64::from_bits(scale);
        }
        out
    }

    /// $\sigma(x) = 1/(1+e^{-x})$.
    #[inline(always)]
    pub fn logistic(self) -> V {
        let e = (-self.map(f64::abs)).exp_negative();
        let r = (V::ONE + e).recip();
        self.select(r, e * r)
    }
}

/// $\sum_{k\le 12} r^k/k!$.
#[inline(always)]
fn exp_taylor(r: V) -> V {
    let c = |k: f64| V::splat(1.0 / k);
    let r2 = r * r;
    let pair = |low: V, high: V| high.mul_add(r, low);
    let r4 = r2 * r2;
    let a = pair(V::ONE, V::ONE);
    let b = pair(c(2.0), c(6.0));
    let d = pair(c(24.0), c(120.0));
    let e = pair(c(720.0), c(5040.0));
    let f = pair(c(40_320.0), c(362_880.0));
    let g = pair(c(3_628_800.0), c(39_916_800.0));
    let ab = b.mul_add(r2, a);
    let de = e.mul_add(r2, d);
    let fg = g.mul_add(r2, f);
    let top = c(479_001_600.0).mul_add(r4, fg);
    top.mul_add(r4, de).mul_add(r4, ab)
}

/// $x^\top y$ per lane.
#[inline(always)]
pub fn dot<const N: usize>(x: &[V; N], y: &[V; N]) -> V {
    let mut even = V::ZERO;
    let mut odd = V::ZERO;
    for i in 0..N {
        if i % 2 == 0 {
            even = x[i].mul_add(y[i], even);
        } else {
            odd = x[i].mul_add(y[i], odd);
        }
    }
    even + odd
}

impl Add for V {
    type Output = V;
    #[inline(always)]
    fn add(self, other: V) -> V {
        self.zip(other, |a, b| a + b)
    }
}

impl AddAssign for V {
    #[inline(always)]
    fn add_assign(&mut self, other: V) {
        *self = *self + other;
    }
}

impl Sub for V {
    type Output = V;
    #[inline(always)]
    fn sub(self, other: V) -> V {
        self.zip(other, |a, b| a - b)
    }
}

impl SubAssign for V {
    #[inline(always)]
    fn sub_assign(&mut self, other: V) {
        *self = *self - other;
    }
}

impl Mul for V {
    type Output = V;
    #[inline(always)]
    fn mul(self, other: V) -> V {
        self.zip(other, |a, b| a * b)
    }
}

impl Neg for V {
    type Output = V;
    #[inline(always)]
    fn neg(self) -> V {
        self.map(|a| -a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_and_logistic_agree_with_the_standard_library() {
        for step in 0..70_000 {
            let x = -0.01 * step as f64 + 1e-7 * (step % 97) as f64;
            let x = x.min(0.0);
            let got = dispatch(|| V::splat(x).exp_negative()).0;
            assert!(
                (got[3] / x.exp() - 1.0).abs() < 1e-14,
                "exp({x}) = {} against {}",
                got[3],
                x.exp()
            );
            for u in [x, -x] {
                let reference =
                    if u >= 0.0 { 1.0 / (1.0 + (-u).exp()) } else { u.exp() / (1.0 + u.exp()) };
                let got = dispatch(|| V::splat(u).logistic()).0[5];
                assert!(
                    (got / reference - 1.0).abs() < 1e-14,
                    "logistic({u}) = {got} against {reference}"
                );
            }
        }
        assert_eq!(V::ZERO.exp_negative(), V::ONE);
        assert!(V::splat(-1e9).exp_negative().0[0] < 1e-300);
    }
}
