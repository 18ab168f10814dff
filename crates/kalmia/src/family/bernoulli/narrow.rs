//! Moments of the logistic function under a narrow belief, by their series in the variance: one
//! exponential, where an integral takes several.

use crate::math::Number;
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
pub(super) struct Narrow<N> {
    p: N,
    q: N,
    /// $Z = p(1 + q\,\text{bend})$.
    bend: N,
    /// $Z' = pq(1+b)$.
    b: N,
    /// $Z'' = pq(q-p)(1+c)$.
    c: N,
}

/// The probabilities of two labels without a belief's spread.
#[derive(Clone, Copy)]
pub(super) struct Odds<N> {
    pub p: N,
    pub q: N,
}

/// A moment-matching step, as [`Step`].
#[derive(Clone, Copy)]
pub(crate) struct StepOf<N> {
    pub gain: N,
    pub curvature: N,
    pub contraction: N,
}

/// The probabilities of two labels.
#[derive(Clone, Copy)]
pub(crate) struct LabelsOf<N> {
    pub own: N,
    pub other: N,
}

impl<N: Number> Narrow<N> {
    /// The series of `K` terms. Each term is a multiple of $v = pq$, so the tails keep their
    /// relative accuracy.
    #[inline(always)]
    pub fn series<const K: usize>(odds: Odds<N>, s: N) -> Self {
        let Odds { p, q } = odds;
        let [b, c, below] = sums::<K, N>(p * q, s.constant(0.5) * s);
        Self { p, q, bend: (q - p) * below, b, c }
    }

    /// The probabilities of labels 1 and 0.
    #[inline(always)]
    pub fn labels(&self) -> LabelsOf<N> {
        let Self { p, q, bend, .. } = *self;
        let one = p.constant(1.0);
        LabelsOf { own: p * (one + q * bend), other: q * (one - p * bend) }
    }

    /// The moment-matching step of a label 1: $g = q(1+b)/A$ with $A = 1 + q\,\text{bend}$, and the
    /// contraction $q(q(1+b)^2 - (q-p)A(1+c))/A^2$, where what does not cancel as $p \to 0$ is
    /// taken out first.
    #[inline(always)]
    pub fn step(&self, s: N) -> StepOf<N> {
        let Self { p, q, bend, b, c } = *self;
        let one = p.constant(1.0);
        let inverse = one / (one + q * bend);
        let cancelled = b + b + b * b - c - (q - p) * bend * (one + c);
        let contraction = q * (p * (one + c) + q * cancelled) * (inverse * inverse);
        StepOf {
            gain: q * (one + b) * inverse,
            curvature: contraction / (one - contraction * s),
            contraction,
        }
    }
}

impl Narrow<f64> {
    /// `None` if nine terms are not enough.
    #[inline(always)]
    pub fn new(m: f64, s: f64) -> Option<Self> {
        if s > MAX_VARIANCES[3] {
            return None;
        }
        let e = (-m.abs()).exp();
        let r = 1.0 / (1.0 + e);
        let odds = if m >= 0.0 { Odds { p: r, q: e * r } } else { Odds { p: e * r, q: r } };
        Some(if s <= MAX_VARIANCES[0] {
            Self::series::<2>(odds, s)
        } else if s <= MAX_VARIANCES[1] {
            Self::series::<4>(odds, s)
        } else if s <= MAX_VARIANCES[2] {
            Self::series::<6>(odds, s)
        } else {
            Self::series::<9>(odds, s)
        })
    }

    pub fn mean(&self) -> f64 {
        self.p + self.p * self.q * self.bend
    }

    /// The moments of a label 1.
    #[inline(always)]
    pub fn moments(&self, s: f64) -> Moments {
        let LabelsOf { own, other } = self.labels();
        let StepOf { gain, curvature, contraction } = self.step(s);
        Moments {
            evidence: Evidence::Label { own, other },
            slope: -self.q,
            step: Step { gain, curvature, contraction },
        }
    }
}

/// $\sum_{k=1}^K \frac{h^k}{k!}A_k$, $\sum_{k=1}^K \frac{h^k}{k!}B_k$ and $\sum_{k=1}^K
/// \frac{h^k}{k!}B_{k-1}$ at `v`.
#[inline(always)]
fn sums<const K: usize, N: Number>(v: N, h: N) -> [N; 3] {
    const { assert!(K <= TERMS) };
    let (a, b) = &DERIVATIVES;
    let zero = v.constant(0.0);
    let mut sums = [zero; 3];
    for k in (1..=K).rev() {
        let mut odd = v.constant(a[k][k]);
        let mut even = v.constant(b[k][k]);
        for j in (0..k).rev() {
            odd = v.constant(a[k][j]) + v * odd;
            even = v.constant(b[k][j]) + v * even;
        }
        // the same number of terms in each sum, so that they cancel in the tails
        let below =
            if k < K { h * (even * v.constant(1.0 / (k + 1) as f64) + sums[2]) } else { zero };
        sums = [h * (odd + sums[0]), h * (even + sums[1]), below];
    }
    [sums[0], sums[1], h * (v.constant(1.0) + sums[2])]
}
