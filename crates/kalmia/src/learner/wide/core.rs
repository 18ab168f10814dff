//! The core: the features that almost every row has, with a covariance, all members side by side.
//!
//! The dense form $P \mathrel{-}= c\,(Px)(Px)^\top$. The entries of all members for a pair of
//! features are neighbors, so a row of the matrix is one run of numbers whatever the number of
//! members.

use super::PerLane;
use super::lane_priors::RootStep;
use super::row::Entry;
use crate::error::Result;
use crate::linalg::{Buffer, require_memory};
use crate::math::arch;

/// Numbers that are updated at a time; a multiple of every number of lanes.
const RUN: usize = Buffer::LINE;

/// Relative growth of the variances per row. Rounding loses about $10^{-16}$ per row, so this
/// keeps the matrix positive definite, and it forgets nothing within $10^{10}$ rows.
const STABILIZER: f64 = 1e-11;

/// The beliefs of all members about the features of the core.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Core {
    lanes: usize,
    /// Features that fit.
    capacity: usize,
    /// Features in use.
    len: usize,
    /// Numbers between two rows of the matrix.
    stride: usize,
    p: Buffer,
    theta: Buffer,
    /// Scratch: $Px$ of the current row.
    px: Buffer,
}

impl Core {
    /// Room for `capacity` features, of which `len` are in use.
    pub fn new(capacity: usize, len: usize, lanes: usize) -> Result<Self> {
        require_memory(Self::bytes(capacity, lanes))?;
        let stride = Buffer::padded(capacity * lanes);
        Ok(Self {
            lanes,
            capacity,
            len,
            stride,
            p: Buffer::zeros(stride * capacity),
            theta: Buffer::zeros(stride),
            px: Buffer::zeros(stride),
        })
    }

    /// Bytes of so many features.
    pub fn bytes(capacity: usize, lanes: usize) -> usize {
        let stride = Buffer::padded(capacity.saturating_mul(lanes));
        stride.saturating_mul(capacity).saturating_mul(size_of::<f64>())
    }

    /// Features in use.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Back to the first `len` features, independent, with mean 0.
    pub fn clear(&mut self, len: usize) {
        self.len = len;
        self.p.fill(0.0);
        self.theta.fill(0.0);
    }

    /// Mean of feature `i` under member `k`.
    pub fn mean(&self, i: usize, k: usize) -> f64 {
        self.theta[i * self.lanes + k]
    }

    /// Entry $(i,j)$ of member `k`'s covariance.
    pub fn entry(&self, i: usize, j: usize, k: usize) -> f64 {
        self.p[i * self.stride + j * self.lanes + k]
    }

    /// Sets the belief of member `k` about feature `i`, which is independent of the others.
    pub fn set(&mut self, i: usize, k: usize, mean: f64, variance: f64) {
        self.theta[i * self.lanes + k] = mean;
        self.p[i * self.stride + i * self.lanes + k] = variance;
    }

    /// Appends a feature, independent of the others; returns its place. The caller sets its belief.
    pub fn push(&mut self) -> usize {
        debug_assert!(self.len < self.capacity);
        self.len += 1;
        self.len - 1
    }

    /// Takes means and the lower triangle of the covariance, as many as it has features.
    pub fn fill(&mut self, means: &[f64], covariance: &[f64]) {
        let lanes = self.lanes;
        self.theta[..means.len()].copy_from_slice(means);
        let mut entries = covariance.chunks_exact(lanes);
        for i in 0..self.len() {
            for (j, entry) in (0..=i).zip(&mut entries) {
                self.p[i * self.stride + j * lanes..][..lanes].copy_from_slice(entry);
                self.p[j * self.stride + i * lanes..][..lanes].copy_from_slice(entry);
            }
        }
    }

    /// Adds $\theta^\top z$ to `m` and $z^\top Pz$ to `s`, member by member, and keeps $Pz$ for
    /// [`take_step`](Self::take_step).
    pub fn add_sums(&mut self, entries: &[Entry], m: &mut PerLane, s: &mut PerLane) {
        let used = Buffer::padded(self.len() * self.lanes);
        let Self { lanes, stride, p, theta, px, .. } = self;
        arch().dispatch(Product { used, stride: *stride, p, entries, px });
        add_sums(*lanes, entries, theta, px, m, s);
    }

    /// $\theta \mathrel{+}= g\,Pz$ and $P \mathrel{-}= c\,(Pz)(Pz)^\top$, member by member, for the
    /// row of the last [`add_sums`](Self::add_sums).
    pub fn take_step(&mut self, gain: &PerLane, contraction: &PerLane) {
        let rows = self.len();
        let Self { lanes, stride, p, theta, px, .. } = self;
        arch().dispatch(Update {
            rows,
            lanes: *lanes,
            stride: *stride,
            p,
            theta,
            px,
            gain: repeated(gain, *lanes),
            contraction: repeated(contraction, *lanes),
        });
    }

    /// The step of a member with a root, whose matrix is diagonal.
    pub fn take_root_step(&mut self, entries: &[Entry], lane: usize, step: RootStep) {
        for &Entry { at, z } in entries {
            let i = at as usize;
            let after = step.variance(self.entry(i, i, lane), z).max(f64::MIN_POSITIVE);
            self.set(i, lane, self.mean(i, lane) + step.gain * after * z, after);
        }
    }

    /// Adds `variance` to each feature but the first `fixed` under member `k`, to at most `most`.
    pub fn walk(&mut self, k: usize, fixed: usize, variance: f64, most: f64) {
        for i in fixed..self.len() {
            let entry = &mut self.p[i * self.stride + i * self.lanes + k];
            *entry = (*entry + variance).min(most.max(*entry));
        }
    }

    /// $\theta^\top z$ and $z^\top Pz$ of a row under member `k`.
    pub fn belief(&self, entries: &[Entry], k: usize) -> (f64, f64) {
        let mut m = 0.0;
        let mut s = 0.0;
        for a in entries {
            m += self.mean(a.at as usize, k) * a.z;
            for b in entries {
                s += a.z * b.z * self.entry(a.at as usize, b.at as usize, k);
            }
        }
        (m, s)
    }

    /// Keeps these members alone.
    pub fn keep_lanes(&mut self, kept: &[usize]) -> Result<()> {
        let mut smaller = Self::new(self.capacity, self.len, kept.len())?;
        for i in 0..self.len() {
            for (k, &lane) in kept.iter().enumerate() {
                smaller.theta[i * kept.len() + k] = self.mean(i, lane);
                for j in 0..self.len() {
                    smaller.p[i * smaller.stride + j * kept.len() + k] = self.entry(i, j, lane);
                }
            }
        }
        *self = smaller;
        Ok(())
    }
}

/// A number per member, repeated over a run.
fn repeated(per_member: &PerLane, lanes: usize) -> [f64; RUN] {
    std::array::from_fn(|i| per_member[i % lanes])
}

#[inline(always)]
fn add_sums(
    lanes: usize,
    entries: &[Entry],
    theta: &[f64],
    px: &[f64],
    m: &mut PerLane,
    s: &mut PerLane,
) {
    for &Entry { at, z } in entries {
        let first = at as usize * lanes;
        let means = &theta[first..][..lanes];
        let products = &px[first..][..lanes];
        for k in 0..lanes {
            m[k] += means[k] * z;
            s[k] += products[k] * z;
        }
    }
}

/// $Pz$.
struct Product<'a> {
    used: usize,
    stride: usize,
    p: &'a [f64],
    entries: &'a [Entry],
    px: &'a mut [f64],
}

impl pulp::WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let Self { used, stride, p, entries, px } = self;
        let px = S::as_mut_simd_f64s(&mut px[..used]).0;
        px.fill(simd.splat_f64s(0.0));
        for &Entry { at, z } in entries {
            let row = S::as_simd_f64s(&p[at as usize * stride..][..used]).0;
            let z = simd.splat_f64s(z);
            for (px, p) in px.iter_mut().zip(row) {
                *px = simd.mul_add_f64s(z, *p, *px);
            }
        }
    }
}

/// The step of all members.
struct Update<'a> {
    rows: usize,
    lanes: usize,
    stride: usize,
    p: &'a mut [f64],
    theta: &'a mut [f64],
    px: &'a [f64],
    gain: [f64; RUN],
    contraction: [f64; RUN],
}

impl pulp::WithSimd for Update<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let Self { rows, lanes, stride, p, theta, px, gain, contraction } = self;
        let used = Buffer::padded(rows * lanes);
        add_product(simd, &gain, &px[..used], &mut theta[..used]);
        let factor = contraction.map(|c| -c);
        for i in 0..rows {
            let own = std::array::from_fn(|k| px[i * lanes + (k & (lanes - 1))]);
            let row = &mut p[i * stride..][..used];
            add_outer(simd, &factor, &own, &px[..used], row);
            for entry in &mut row[i * lanes..][..lanes] {
                *entry *= 1.0 + STABILIZER;
            }
        }
    }
}

/// Adds `factor * (own * x)` to `to`, factors and own numbers repeated from run to run. The product
/// of the two numbers comes first: entries $(i,j)$ and $(j,i)$ then stay equal to the last bit, and
/// a stored lower triangle is the whole matrix.
#[inline(always)]
fn add_outer<S: pulp::Simd>(
    simd: S,
    factor: &[f64; RUN],
    own: &[f64; RUN],
    x: &[f64],
    to: &mut [f64],
) {
    let factor = S::as_simd_f64s(factor).0;
    let own = S::as_simd_f64s(own).0;
    let runs = S::as_mut_simd_f64s(to).0.chunks_exact_mut(factor.len());
    for (to, x) in runs.zip(S::as_simd_f64s(x).0.chunks_exact(factor.len())) {
        for (((to, x), factor), own) in to.iter_mut().zip(x).zip(factor).zip(own) {
            *to = simd.mul_add_f64s(*factor, simd.mul_f64s(*own, *x), *to);
        }
    }
}

/// Adds `factor * x` to `to`, the factors repeated from run to run.
#[inline(always)]
fn add_product<S: pulp::Simd>(simd: S, factor: &[f64; RUN], x: &[f64], to: &mut [f64]) {
    let factor = S::as_simd_f64s(factor).0;
    let runs = S::as_mut_simd_f64s(to).0.chunks_exact_mut(factor.len());
    for (to, x) in runs.zip(S::as_simd_f64s(x).0.chunks_exact(factor.len())) {
        for ((to, x), factor) in to.iter_mut().zip(x).zip(factor) {
            *to = simd.mul_add_f64s(*factor, *x, *to);
        }
    }
}
