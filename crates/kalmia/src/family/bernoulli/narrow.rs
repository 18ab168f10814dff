//! Moments of the logistic function under a narrow belief, by their series in the variance: one
//! exponential, where an integral takes several.

use crate::step::{Evidence, Moments, Step};

/// Most terms of the series in $h = s/2$.
const TERMS: usize = 9;
/// Largest variances at which 2, 4, 6 and 9 terms give the moment-matching step to $10^{-10}$.
pub(super) const MAX_VARIANCES: [f64; 4] = [2e-4, 1e-2, 3e-2, 8e-2];
/// Largest variance at which nine terms give the mean to rounding.
pub(super) const MAX_MEAN_VARIANCE: f64 = 4e-3;
/// Largest $-m$, for an unexpected label: beyond it the terms of $c$ cancel too much.
pub(super) const MAX_SURPRISE: f64 = 16.0;

/// Polynomials in `v`, one per term.
type Polynomials = [[f64; TERMS + 1]; TERMS + 1];

/// With $p = \sigma(m)$, $q = 1-p$, $v = pq$ the derivatives of the logistic function are
/// $\sigma^{(2k+1)} = v\,A_k(v)$ and $\sigma^{(2k+2)} = v(q-p)\,B_k(v)$, $B_k = A_k + vA_k'$,
/// $A_{k+1} = (1-6v)B_k + v(1-4v)B_k'$; here are $A_k/k!$ and $B_k/k!$.
const DERIVATIVES: (Polynomials, Polynomials) = {
    let mut a = [[0.0; TERMS + 1]; TERMS + 1];
    let mut b = [[0.0; TERMS + 1]; TERMS + 1];
    a[0][0] = 1.0;
    let mut k = 0;
    while k <= TERMS {
        let mut j = 0;
        while j <= k {
            b[k][j] = (j + 1) as f64 * a[k][j];
            if k < TERMS {
                a[k + 1][j] += (j + 1) as f64 * b[k][j] / (k + 1) as f64;
                a[k + 1][j + 1] -= (6 + 4 * j) as f64 * b[k][j] / (k + 1) as f64;
            }
            j += 1;
        }
        k += 1;
    }
    (a, b)
};

/// $E[\sigma(u)]$ and its derivatives in $m$ for a narrow belief, by their series in $h$.
pub(super) struct Narrow {
    p: f64,
    q: f64,
    /// $Z = p(1 + q\,\text{bend})$.
    bend: f64,
    /// $Z' = pq(1+b)$.
    b: f64,
    /// $Z'' = pq(q-p)(1+c)$.
    c: f64,
}

impl Narrow {
    /// `None` if nine terms are not enough. Each term is a multiple of `v`, so the tails keep their
    /// relative accuracy.
    #[inline(always)]
    pub fn new(m: f64, s: f64) -> Option<Self> {
        if s > MAX_VARIANCES[3] {
            return None;
        }
        let e = (-m.abs()).exp();
        let r = 1.0 / (1.0 + e);
        let (p, q) = if m >= 0.0 { (r, e * r) } else { (e * r, r) };
        let v = e * r * r;
        let h = 0.5 * s;
        let [b, c, below] = if s <= MAX_VARIANCES[0] {
            sums::<2>(v, h)
        } else if s <= MAX_VARIANCES[1] {
            sums::<4>(v, h)
        } else if s <= MAX_VARIANCES[2] {
            sums::<6>(v, h)
        } else {
            sums::<9>(v, h)
        };
        Some(Self { p, q, bend: (q - p) * below, b, c })
    }

    pub fn mean(&self) -> f64 {
        self.p + self.p * self.q * self.bend
    }

    /// The moment-matching step of a label 1: $g = q(1+b)/A$ with $A = 1 + q\,\text{bend}$, and the
    /// contraction $q(q(1+b)^2 - (q-p)A(1+c))/A^2$, where what does not cancel as $p \to 0$ is
    /// taken out first.
    #[inline(always)]
    pub fn moments(&self, s: f64) -> Moments {
        let Self { p, q, bend, b, c } = *self;
        let a = 1.0 + q * bend;
        let inverse = 1.0 / a;
        let cancelled = 2.0 * b + b * b - c - (q - p) * bend * (1.0 + c);
        let contraction = q * (p * (1.0 + c) + q * cancelled) * (inverse * inverse);
        let step = Step {
            gain: q * (1.0 + b) * inverse,
            curvature: contraction / (1.0 - contraction * s),
            contraction,
        };
        Moments {
            evidence: Evidence::Label { own: p * a, other: q * (1.0 - p * bend) },
            slope: -q,
            step,
        }
    }
}

/// $\sum_{k=1}^K \frac{h^k}{k!}A_k$, $\sum_{k=1}^K \frac{h^k}{k!}B_k$ and $\sum_{k=1}^K
/// \frac{h^k}{k!}B_{k-1}$ at `v`.
#[inline(always)]
fn sums<const K: usize>(v: f64, h: f64) -> [f64; 3] {
    const { assert!(K <= TERMS) };
    let (a, b) = &DERIVATIVES;
    let mut sums = [0.0; 3];
    for k in (1..=K).rev() {
        let mut odd = a[k][k];
        let mut even = b[k][k];
        for j in (0..k).rev() {
            odd = a[k][j] + v * odd;
            even = b[k][j] + v * even;
        }
        // the same number of terms in each sum, so that they cancel in the tails
        let below = if k < K { h * (even * (1.0 / (k + 1) as f64) + sums[2]) } else { 0.0 };
        sums = [h * (odd + sums[0]), h * (even + sums[1]), below];
    }
    [sums[0], sums[1], h * (1.0 + sums[2])]
}
